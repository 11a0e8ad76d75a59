//! The transfer manager, requirement by requirement: which peer a piece comes from
//! and how a transfer ends.

use crate::swarm_support;

use servent_core::swarm::{Config, Event, Failure, Pick, SwarmPolicy, SwarmRefusal};
use servent_core::time::Duration;
use servent_core::wire::pdtp::{
    Hash, PdtpMessage, Reason, SiteAnnouncement, Span, TransferKey, TransferMethod,
};
use swarm_support::{Swarm, from_source, hash, ip, name, number, piece_of, url};

fn config(policy: SwarmPolicy) -> Config {
    Config { policy, default_download: 1, default_upload: 1, ..Config::default() }
}

/// Clients 2 and 3, with one piece each, are stalled one after the other;
/// client 1 has everything and is not.
fn two_stalled(policy: SwarmPolicy) -> Swarm {
    let mut swarm = Swarm::with_source(config(policy), 8, 0);
    swarm.comes(1, 7_001);
    for client in [2, 3] {
        swarm.comes(client, 7_000);
        swarm.has(client, 0..1);
    }
    swarm.comes(9, 7_009);
    swarm.wants_piece(9, 7);
    for client in [3, 2] {
        swarm.wants_piece(client, 6);
        swarm.secs(1);
    }
    swarm.has(1, 0..1);
    swarm
}

#[test]
fn sw_19_the_longest_stalled_is_asked_first() {
    for policy in [SwarmPolicy::Seed2004, SwarmPolicy::Adaptive] {
        let mut swarm = two_stalled(policy);
        assert!(swarm.view(3).stalled < swarm.view(2).stalled);
        swarm.comes(4, 7_004);
        swarm.wants_piece(4, 0);
        assert_eq!(swarm.order(4).about.peer, ip(3));
        assert_eq!(swarm.last_pick(), Some(Pick::Stalled));
        swarm.comes(5, 7_005);
        swarm.wants_piece(5, 0);
        assert_eq!(swarm.order(5).about.peer, ip(2), "then the next");
        swarm.comes(6, 7_006);
        swarm.wants_piece(6, 0);
        assert_eq!(swarm.order(6).about.peer, ip(1), "then those within their ratio");
    }
}

#[test]
fn sw_20_else_the_fastest_is_asked() {
    let mut swarm = Swarm::with_source(config(SwarmPolicy::Seed2004), 8, 0);
    for client in [1, 2] {
        swarm.comes(client, 7_000);
        swarm.has(client, 0..8);
    }
    // One piece from each; the second one is ten times as fast.
    for (client, millis) in [(3, 1_000), (4, 100)] {
        swarm.comes(client, 7_000);
        swarm.wants_piece(client, 0);
        let order = swarm.order(client);
        swarm.pass(Duration::from_millis(millis));
        swarm.both(client, &order);
        if client == 3 {
            // No other peer is free for the next.
            let slow = swarm_support::number(&order.about.peer_id).unwrap();
            swarm
                .say(slow, PdtpMessage::SetConcurrency { max_download: None, max_upload: Some(0) });
        }
    }
    for client in [1, 2] {
        swarm.say(client, PdtpMessage::SetConcurrency { max_download: None, max_upload: Some(1) });
    }
    let fast = if swarm.view(1).rate > swarm.view(2).rate { 1 } else { 2 };
    swarm.comes(5, 7_005);
    swarm.wants_piece(5, 1);
    assert_eq!(swarm.order(5).about.peer, ip(fast));
    assert_eq!(swarm.last_pick(), Some(Pick::Fastest));
}

/// Client 3 fetches from client 1, others want the file too.
fn fetching(config: Config) -> (Swarm, servent_core::wire::pdtp::TransferOrder) {
    let mut swarm = Swarm::with_source(config, 4, 0);
    swarm.comes(1, 7_001);
    swarm.has(1, 0..4);
    swarm.comes(3, 7_003);
    swarm.wants(3);
    let order = swarm.order(3);
    (swarm, order)
}

#[test]
fn sw_22_after_the_uploaders_word_the_downloader_waits_until_it_reports() {
    let two = Config { default_download: 2, strict: true, ..config(SwarmPolicy::Adaptive) };
    let (mut swarm, order) = fetching(two);
    swarm.gave(1, 3, &order);
    assert!(swarm.orders(3).is_empty(), "strict: nothing more although there is room");
    assert_eq!(swarm.view(1).uploads, 0);
    swarm.got(3, &order);
    assert_eq!(swarm.view(1).uploads, 1);
    assert!(!swarm.orders(3).is_empty());
}

#[test]
fn sw_22_without_strict_only_the_slot_is_taken() {
    let two = Config { default_download: 2, ..config(SwarmPolicy::Adaptive) };
    let (mut swarm, order) = fetching(two);
    swarm.gave(1, 3, &order);
    assert_eq!(swarm.orders(3).len(), 1, "the other slot is free");
}

#[test]
fn sw_23_a_failure_goes_to_the_uploader_and_the_piece_to_another_peer() {
    let (mut swarm, order) = fetching(config(SwarmPolicy::Adaptive));
    swarm.comes(2, 7_002);
    swarm.has(2, 0..4);
    swarm.failed(3, &order, Reason::Data);
    assert_eq!(swarm.view(1).failures, 1);
    let again = swarm.order(3);
    assert_eq!((again.about.span, again.about.peer), (order.about.span, ip(2)));
}

#[test]
fn sw_23_a_client_that_leaves_is_not_to_blame() {
    let (mut swarm, order) = fetching(config(SwarmPolicy::Adaptive));
    swarm.comes(2, 7_002);
    swarm.has(2, 0..4);
    swarm.goes(1);
    assert_eq!(swarm.order(3).about.span, order.about.span);
    assert!(swarm.saw(|e| matches!(e, Event::Blamed { .. }).then_some(())).is_empty());
}

/// Client 1 sends the first 40 bytes of a piece and breaks off, client 2 the
/// rest; then the hash is wrong and the beginning is fetched again.
fn two_uploaders() -> (Swarm, servent_core::wire::pdtp::TransferOrder) {
    let (mut swarm, first) = fetching(config(SwarmPolicy::Adaptive));
    swarm.comes(2, 7_002);
    swarm.has(2, 0..4);
    swarm.report(3, &first.about, None, Some(40), Some(Reason::Data));
    let rest = swarm.order(3);
    let start = first.about.span.start;
    assert_eq!(rest.about.span, Span::new(start + 40, start + 100), "resumed at the offset");
    assert_eq!(rest.about.peer, ip(2));
    swarm.gave(2, 3, &rest);
    swarm.report(3, &rest.about, Some(Hash([255; 32])), None, None);
    let again = swarm.order(3);
    assert_eq!(again.about.span, Span::new(start, start + 40), "the beginning once more");
    assert_eq!(again.about.peer, ip(2), "from the current one");
    (swarm, again)
}

#[test]
fn sw_24_if_the_hash_is_right_then_the_earlier_uploader_failed() {
    let (mut swarm, again) = two_uploaders();
    let before = swarm.view(1).failures;
    swarm.gave(2, 3, &again);
    swarm.report(3, &again.about, Some(hash(piece_of(again.about.span))), None, None);
    assert_eq!(swarm.view(2).failures, 0);
    assert!(swarm.events.iter().any(|e| matches!(e, Event::Refetch { offset: 40, .. })));
    let blamed = swarm.saw(|e| match e {
        Event::Blamed { client, .. } => Some(client.0),
        _ => None,
    });
    assert_eq!(blamed, [1, 1], "for breaking off, and for what it had sent");
    assert!(swarm.view(1).failures >= before);
    assert_eq!(swarm.view(2).uploads, 1, "two reports of success, one credit");
}

#[test]
fn sw_24_a_peer_that_added_nothing_to_a_piece_is_not_held_for_its_beginning() {
    let (mut swarm, first) = fetching(config(SwarmPolicy::Adaptive));
    for client in [2, 4] {
        swarm.comes(client, 7_000);
        swarm.has(client, 0..4);
    }
    swarm.report(3, &first.about, None, Some(40), Some(Reason::Data));
    let rest = swarm.order(3);
    // The second breaks off before its first byte; the third sends the rest.
    swarm.report(3, &rest.about, None, Some(40), Some(Reason::Data));
    let last = swarm.order(3);
    assert_eq!(last.about.span, rest.about.span);
    let third = number(&last.about.peer_id).unwrap();
    swarm.gave(third, 3, &last);
    swarm.report(3, &last.about, Some(Hash([255; 32])), None, None);
    let again = swarm.order(3);
    swarm.gave(third, 3, &again);
    swarm.got(3, &again);
    let blamed = swarm.saw(|e| match e {
        Event::Blamed { client, .. } => Some(client.0),
        _ => None,
    });
    assert_eq!(blamed.iter().filter(|client| **client == 1).count(), 2, "{blamed:?}");
}

#[test]
fn sw_23_a_piece_that_is_all_there_and_failed_begins_anew() {
    for (offset, from) in [(99, 99), (100, 0), (150, 0), (0, 0)] {
        let (mut swarm, first) = fetching(config(SwarmPolicy::Adaptive));
        swarm.comes(2, 7_002);
        swarm.has(2, 0..4);
        swarm.report(3, &first.about, None, Some(offset), Some(Reason::Data));
        let start = first.about.span.start;
        assert_eq!(swarm.order(3).about.span, Span::new(start + from, start + 100), "{offset}");
    }
}

#[test]
fn sw_24_if_it_is_still_wrong_then_the_current_one_failed() {
    let (mut swarm, again) = two_uploaders();
    swarm.gave(2, 3, &again);
    swarm.report(3, &again.about, Some(Hash([255; 32])), None, None);
    assert_eq!((swarm.view(2).failures, swarm.view(2).uploads), (1, 0));
    assert_eq!(swarm.view(3).held, 0);
}

#[test]
fn sw_25_a_transfer_neither_side_reports_ends() {
    let (mut swarm, order) = fetching(config(SwarmPolicy::Adaptive));
    swarm.secs(119);
    assert_eq!(swarm.view(3).receiving, 1);
    swarm.secs(2);
    let silent = swarm.saw(|e| match e {
        Event::Failed { why, .. } => Some(*why),
        _ => None,
    });
    assert_eq!(silent, [Failure::DownloaderSilent]);
    assert_eq!(swarm.view(1).failures, 0, "one word is missing, no client is convicted");
    assert_eq!(swarm.view(3).failed, 1, "{order:?}");
}

#[test]
fn sw_25_an_uploader_that_does_not_confirm_is_not_credited_and_the_piece_stays() {
    let (mut swarm, order) = fetching(config(SwarmPolicy::Adaptive));
    swarm.got(3, &order);
    swarm.secs(31);
    assert_eq!((swarm.view(1).uploads, swarm.view(3).held), (0, 1));
}

#[test]
fn sw_25_three_reporters_bring_quarantine_and_time_ends_it() {
    let mut swarm = Swarm::with_source(config(SwarmPolicy::Adaptive), 4, 0);
    swarm.comes(1, 7_001);
    swarm.has(1, 0..4);
    for client in 3..6 {
        swarm.comes(client, 7_000);
        swarm.wants_piece(client, 0);
        let order = swarm.order(client);
        swarm.failed(client, &order, Reason::Data);
    }
    assert!(swarm.view(1).quarantined);
    swarm.comes(6, 7_006);
    swarm.wants_piece(6, 1);
    assert!(swarm.orders(6).is_empty(), "it does not count as a client that has the piece");
    swarm.secs(700);
    assert!(!swarm.view(1).quarantined, "failures fade");
    assert_eq!(swarm.order(6).about.peer, ip(1));
}

#[test]
fn sw_25_failures_that_fade_at_once_bring_quarantine_for_no_time() {
    let fades = Config { failure_decay: Duration::ZERO, ..config(SwarmPolicy::Adaptive) };
    let mut swarm = Swarm::with_source(fades, 4, 0);
    swarm.comes(1, 7_001);
    swarm.has(1, 0..4);
    for client in 3..6 {
        swarm.comes(client, 7_000);
        swarm.wants_piece(client, 0);
        let order = swarm.order(client);
        swarm.failed(client, &order, Reason::Data);
    }
    assert!(swarm.view(1).quarantined);
    swarm.pass(Duration::from_micros(1));
    assert!(!swarm.view(1).quarantined);
}

#[test]
fn sw_25_one_liar_convicts_no_peer() {
    let mut swarm = Swarm::with_source(config(SwarmPolicy::Adaptive), 64, 64);
    swarm.comes(1, 7_001);
    swarm.has(1, 0..64);
    swarm.comes(2, 7_002);
    swarm.wants(2);
    for _ in 0..40 {
        for order in swarm.orders(2) {
            swarm.failed(2, &order, Reason::Data);
        }
    }
    assert!(!swarm.view(1).quarantined);
}

#[test]
fn sw_25_a_client_that_breaks_the_protocol_is_told_and_no_other_is_disturbed() {
    let mut swarm = Swarm::new(Config::default(), 4);
    swarm.comes(1, 7_001);
    swarm.wants(1);
    swarm.comes_from(2, ip(2), 7_002);
    let refusals = |swarm: &Swarm| {
        swarm.saw(|e| if let Event::Refused { why, .. } = e { Some(*why) } else { None })
    };
    let nothing =
        TransferKey { peer: ip(7), url: url(), span: Span::new(0, 100), peer_id: name(7) };
    swarm.say(2, PdtpMessage::Request { url: "no/such".into(), span: Span::ALL });
    swarm.say(2, PdtpMessage::Request { url: url(), span: Span::new(0, 401) });
    swarm.say(2, PdtpMessage::Provide { url: url(), span: Span::new(300, 500) });
    swarm.report(2, &nothing, Some(hash(0)), None, None);
    swarm.report(2, &nothing, None, None, Some(Reason::Hash));
    let expected = [
        SwarmRefusal::UnknownFile,
        SwarmRefusal::BadRange,
        SwarmRefusal::BadRange,
        SwarmRefusal::UnknownTransfer,
        SwarmRefusal::UnknownTransfer,
    ];
    assert_eq!(refusals(&swarm), expected);
    let errors = swarm.heard(2).iter().filter(|m| matches!(m, PdtpMessage::Error { .. })).count();
    assert_eq!((errors, swarm.closed.len()), (5, 0));
    let (size, chunk_size, sha256, gone) = (None, None, None, None);
    let told = PdtpMessage::TellInfo {
        url: url(),
        size,
        chunk_size,
        streaming: false,
        sha256,
        gone,
        site: SiteAnnouncement::default(),
    };
    swarm.say(2, told);
    assert_eq!(swarm.closed, [2], "what only the coordinator says ends it");
    swarm.comes_from(3, ip(3), 7_003);
    swarm.say(
        3,
        PdtpMessage::Register {
            client_id: name(3),
            listen_port: None,
            extensions: Default::default(),
        },
    );
    assert_eq!(swarm.closed, [2, 3], "registered twice");
    swarm.comes_from(4, ip(4), 7_004);
    swarm.input(servent_core::swarm::Input::Opened {
        conn: servent_core::id::ConnId(5),
        peer: ip(5),
    });
    swarm.say(
        5,
        PdtpMessage::Register {
            client_id: name(4),
            listen_port: None,
            extensions: Default::default(),
        },
    );
    assert_eq!(swarm.closed, [2, 3, 5], "another client's id");
    swarm.obey();
    assert!(swarm.complete(1));
}

#[test]
fn sw_25_a_client_that_does_not_register_is_hung_up_on() {
    let mut swarm = Swarm::new(Config::default(), 4);
    let conn = servent_core::id::ConnId(1);
    swarm.input(servent_core::swarm::Input::Opened { conn, peer: ip(1) });
    swarm.secs(29);
    assert!(swarm.closed.is_empty());
    swarm.secs(2);
    assert_eq!(swarm.closed, [1]);
}

#[test]
fn sw_15_a_passive_uploader_connects_out_and_both_report() {
    let mut swarm = Swarm::with_source(config(SwarmPolicy::Adaptive), 4, 0);
    swarm.comes(1, 0);
    swarm.has(1, 0..4);
    swarm.comes(2, 7_002);
    swarm.wants(2);
    let order = swarm.order(1);
    assert_eq!((order.method, order.about.peer), (TransferMethod::Put, ip(2)));
    swarm.told.entry(1).or_default().push(PdtpMessage::Transfer(order));
    swarm.obey();
    assert!(swarm.complete(2));
    assert_eq!(swarm.view(1).uploads, 4);
    assert!(!from_source(&fetching(config(SwarmPolicy::Adaptive)).1));
}
