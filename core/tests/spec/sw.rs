//! The transfer manager, requirement by requirement: who may have a piece.

use crate::swarm_support;

use std::net::IpAddr;

use servent_core::swarm::{Config, Event, Input, Pick, SwarmPolicy, SwarmRefusal};
use servent_core::time::Duration;
use servent_core::wire::pdtp::{PdtpMessage, Reason, Span, TransferMethod};
use swarm_support::{Swarm, from_source, ip, piece_of, source, span, url};

fn seed() -> Config {
    Config { policy: SwarmPolicy::Seed2004, ..Config::default() }
}

fn one_at_a_time(policy: SwarmPolicy) -> Config {
    Config { policy, default_download: 1, default_upload: 1, ..Config::default() }
}

#[test]
fn sw_1_pieces_go_from_the_source_to_one_client_and_from_it_to_the_next() {
    let mut swarm = Swarm::new(Config::default(), 4);
    swarm.comes(1, 7_001);
    swarm.wants(1);
    swarm.comes(2, 7_002);
    swarm.wants(2);
    swarm.obey();
    assert!(swarm.complete(1) && swarm.complete(2));
    let peers = swarm.saw(|e| matches!(e, Event::Confirmed { up: Some(_), .. }).then_some(()));
    assert!(!peers.is_empty(), "something went from peer to peer");
}

#[test]
fn sw_2_a_passive_client_is_only_ever_told_to_connect() {
    let mut swarm = Swarm::new(Config::default(), 2);
    swarm.comes(1, 0);
    swarm.has(1, 0..2);
    swarm.comes(2, 7_002);
    swarm.wants(2);
    assert!(swarm.orders(2).is_empty(), "no peer connects to the passive one");
    for order in swarm.orders(1) {
        assert_eq!(
            (order.method, order.port, order.about.peer),
            (TransferMethod::Put, 7_002, ip(2))
        );
    }
    assert!(!swarm.view(1).active && swarm.view(2).active);
}

/// A swarm in which client 2 is told to fetch from the active client 1.
fn fetching_from_one() -> (Swarm, servent_core::wire::pdtp::TransferOrder) {
    let mut swarm = Swarm::with_source(one_at_a_time(SwarmPolicy::Adaptive), 8, 0);
    swarm.comes(1, 7_001);
    swarm.has(1, 0..8);
    swarm.comes(2, 7_002);
    swarm.wants(2);
    let order = swarm.order(2);
    assert_eq!(order.about.peer, ip(1));
    (swarm, order)
}

#[test]
fn sw_3_an_authorization_before_the_error_shows_that_the_listener_can_be_reached() {
    let (mut swarm, order) = fetching_from_one();
    swarm.asks(1, 2, &order);
    assert_eq!(swarm.saw(|e| matches!(e, Event::Accepted { .. }).then_some(())).len(), 1);
    let heard = swarm.heard(1);
    assert!(matches!(heard[..], [PdtpMessage::TellVerify { authorized: true, .. }]), "{heard:?}");
    swarm.failed(2, &order, Reason::Connect);
    let counts = swarm.saw(|e| matches!(e, Event::ConnectFailures { .. }).then_some(()));
    assert!(counts.is_empty(), "who has accepted before is not suspected");
}

#[test]
fn sw_3_an_authorization_after_the_error_takes_the_failure_back() {
    let (mut swarm, order) = fetching_from_one();
    swarm.failed(2, &order, Reason::Connect);
    swarm.asks(1, 2, &order);
    let counts = swarm
        .saw(|e| if let Event::ConnectFailures { count, .. } = e { Some(*count) } else { None });
    assert_eq!(counts, [1, 0]);
    let heard = swarm.heard(1);
    assert!(matches!(heard[..], [PdtpMessage::TellVerify { authorized: false, .. }]), "{heard:?}");
}

/// So many clients fail to connect to client 1.
fn failed_connects(count: u64) -> Swarm {
    let mut swarm = Swarm::with_source(one_at_a_time(SwarmPolicy::Adaptive), 8, 0);
    swarm.comes(1, 7_001);
    swarm.has(1, 0..8);
    for client in 2..2 + count {
        swarm.comes(client, 7_000);
        swarm.wants_piece(client, 0);
        let order = swarm.order(client);
        swarm.failed(client, &order, Reason::Connect);
    }
    swarm
}

#[test]
fn sw_4_the_fifth_failed_connect_makes_a_client_passive() {
    assert!(failed_connects(4).view(1).active, "four are borne");
    let mut swarm = failed_connects(5);
    assert!(!swarm.view(1).active);
    swarm.comes(20, 7_020);
    swarm.wants_piece(20, 1);
    assert_eq!(swarm.order(1).method, TransferMethod::Put, "from now on it connects");
}

#[test]
fn sw_5_a_transfer_counts_when_both_have_confirmed() {
    let (mut swarm, order) = fetching_from_one();
    swarm.comes(3, 7_003);
    swarm.wants(3);
    swarm.gave(1, 2, &order);
    assert_eq!((swarm.view(1).uploads, swarm.view(2).downloads), (0, 0));
    swarm.got(2, &order);
    assert_eq!(swarm.view(1).uploads, 1);
    let rows = (swarm.rows[&ip(1)].bytes_up, swarm.rows[&ip(2)].bytes_down);
    assert_eq!(rows, (100, 100));
}

#[test]
fn sw_6_failed_pieces_are_tried_again_in_the_order_they_were_first_chosen() {
    let mut swarm =
        Swarm::with_source(Config { default_download: 2, default_upload: 2, ..seed() }, 2, 2);
    swarm.comes(1, 7_001);
    swarm.wants(1);
    let first: Vec<_> = swarm.orders(1);
    assert_eq!(first.len(), 2);
    swarm.input(Input::Source { addr: source(), slots: 0 });
    swarm.failed(1, &first[1], Reason::Data);
    swarm.failed(1, &first[0], Reason::Data);
    assert_eq!(swarm.view(1).failed, 2);
    swarm.input(Input::Source { addr: source(), slots: 1 });
    let again = swarm.order(1);
    let lower = piece_of(first[0].about.span).min(piece_of(first[1].about.span));
    // Both were chosen at the same instant: then the piece decides.
    assert_eq!(piece_of(again.about.span), lower);
}

#[test]
fn sw_7_a_client_without_any_piece_has_one_free() {
    let mut swarm = Swarm::new(seed(), 8);
    swarm.comes(1, 7_001);
    swarm.comes(2, 7_002);
    swarm.wants(1);
    swarm.orders(1).iter().for_each(|_| {});
    swarm.wants(2);
    assert_eq!(swarm.orders(2).len(), 1, "one piece, and no second");
    assert!(swarm.rows[&ip(2)].free, "which is written down before it is told");
}

#[test]
fn sw_7_a_client_that_brings_pieces_has_none_free() {
    let mut swarm = Swarm::new(seed(), 8);
    swarm.comes(1, 7_001);
    swarm.wants(1);
    swarm.comes(2, 7_002);
    swarm.has(2, 0..1);
    swarm.wants(2);
    assert!(swarm.orders(2).is_empty());
    assert!(swarm.view(2).stalled.is_some());
}

/// Client 2 takes its free piece beside client 1 and leaves; it comes again
/// after so many seconds. Its orders then.
fn comes_again_after(secs: u64, again: IpAddr, first: IpAddr) -> usize {
    let mut swarm = Swarm::new(seed(), 8);
    swarm.comes(1, 7_001);
    swarm.wants(1);
    swarm.comes_from(2, first, 7_002);
    swarm.wants(2);
    let order = swarm.orders(2).remove(0);
    swarm.got(2, &order);
    swarm.goes(2);
    swarm.secs(secs);
    swarm.comes_from(3, again, 7_002);
    swarm.wants(3);
    swarm.orders(3).len()
}

#[test]
fn sw_8_an_absent_client_is_remembered_for_1800_seconds() {
    let v4 = ip(2);
    assert_eq!(comes_again_after(1_799, v4, v4), 0, "no second free piece");
    assert_eq!(comes_again_after(1_801, v4, v4), 1, "it is forgotten");
    let v6 = |last: u16| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, last]);
    assert_eq!(comes_again_after(10, v6(2), v6(1)), 0, "a /64 is one client");
}

#[test]
fn sw_8_the_ledger_stands_when_the_coordinator_is_killed() {
    let mut before = Swarm::new(seed(), 8);
    before.comes(1, 7_001);
    before.wants(1);
    before.comes(2, 7_002);
    before.wants(2);
    let order = before.orders(2).remove(0);
    before.got(2, &order);
    let mut after = Swarm::new(seed(), 8);
    for row in before.rows.values() {
        after.input(Input::Restore(row.clone()));
    }
    after.comes(1, 7_001);
    after.wants(1);
    after.comes(2, 7_002);
    after.has(2, piece_of(order.about.span)..piece_of(order.about.span) + 1);
    after.wants(2);
    assert!(after.orders(2).is_empty(), "it has had its free piece");
    assert_eq!((after.view(2).held, after.view(2).downloads), (1, 1));
}

#[test]
fn sw_9_the_only_client_is_served_by_source_and_proxies_and_pays_nothing() {
    let mut swarm = Swarm::with_source(seed(), 8, 2);
    let proxy = std::net::SocketAddr::from(([8, 8, 8, 8], 80));
    swarm.input(Input::Source { addr: proxy, slots: 2 });
    swarm.comes(1, 7_001);
    swarm.wants(1);
    let orders = swarm.orders(1);
    let proxied = orders.iter().filter(|order| order.about.peer == proxy.ip()).count();
    assert_eq!((orders.len(), proxied), (4, 2), "the least loaded first");
    for order in &orders {
        swarm.got(1, order);
    }
    swarm.obey();
    assert!(swarm.complete(1));
    assert_eq!(swarm.view(1).downloads, 0, "solo pieces are not charged");
}

#[test]
fn sw_10_two_downloads_for_an_upload() {
    let mut swarm = Swarm::with_source(seed(), 20, 0);
    swarm.comes(1, 7_001);
    swarm.say(1, PdtpMessage::SetConcurrency { max_download: None, max_upload: Some(16) });
    swarm.has(1, 0..20);
    swarm.comes(2, 7_002);
    swarm.comes(3, 7_003);
    swarm.wants(3);
    swarm.wants(2);
    // Both take their free piece, and there is no more for them.
    while let Some(order) = swarm.orders(2).pop() {
        swarm.both(2, &order);
    }
    assert!(swarm.view(2).stalled.is_some());
    assert_eq!((swarm.view(2).credit, swarm.view(2).held), (0, 1));
    let held = swarm.view(2).have;
    // It uploads one piece to a newcomer who lacks just that.
    let piece = (0..20).find(|p| held[0].as_str() == format!("{:016x}", 1_u64 << p)).unwrap();
    swarm.goes(1);
    swarm.comes(4, 7_004);
    swarm.wants_piece(4, piece);
    let order = swarm.order(4);
    assert_eq!(order.about.peer, ip(2), "the stalled one is asked");
    swarm.both(4, &order);
    assert_eq!(swarm.view(2).credit, 2);
}

#[test]
fn sw_11_the_ratio_rises_while_stalled_clients_would_leave_slots_idle() {
    let mut swarm = Swarm::with_source(Config::default(), 64, 0);
    swarm.comes(1, 7_001);
    swarm.has(1, 0..64);
    for client in 2..5 {
        swarm.comes(client, 7_000);
        swarm.wants(client);
    }
    for _ in 0..12 {
        for client in 2..5 {
            for order in swarm.orders(client) {
                swarm.pass(Duration::from_millis(300));
                swarm.both(client, &order);
            }
        }
    }
    let ratios =
        swarm.saw(|e| if let Event::Ratio { ratio, .. } = e { Some(*ratio) } else { None });
    assert!(ratios.iter().any(|ratio| *ratio > 2_000), "{ratios:?}");
    swarm.obey();
    swarm.comes(9, 7_009);
    swarm.wants_piece(9, 0);
    assert!((2..5).all(|client| swarm.complete(client)));
}

#[test]
fn sw_11_the_ratio_falls_while_credit_finds_nothing_to_take_and_comes_back() {
    let mut swarm = Swarm::with_source(Config::default(), 4, 0);
    for client in [1, 2] {
        swarm.comes(client, 7_000);
        swarm.wants_piece(client, 3);
    }
    let ratio = |swarm: &Swarm| swarm.manager.pace(0).expect("the file").0;
    let mut expected = 2_000;
    for _ in 0..12 {
        assert_eq!(ratio(&swarm), expected);
        swarm.secs(8);
        expected = (expected - expected / 10).max(1_000);
    }
    // A client could give, if another wanted what it has.
    swarm.comes(3, 7_003);
    swarm.has(3, 0..1);
    for _ in 0..12 {
        assert_eq!(ratio(&swarm), expected);
        swarm.secs(8);
        expected = expected - expected / 8 + 2_000 / 8;
    }
    assert!((1_700..2_000).contains(&expected), "{expected}");
}

#[test]
fn sw_12_a_client_sets_its_limits_below_the_hard_one() {
    let mut swarm = Swarm::new(Config::default(), 64);
    swarm.comes(1, 7_001);
    let set = |down| PdtpMessage::SetConcurrency { max_download: Some(down), max_upload: None };
    swarm.say(1, set(2));
    swarm.wants(1);
    assert_eq!(swarm.orders(1).len(), 2, "never more than it said");
    swarm.say(1, set(17));
    let heard = swarm.heard(1);
    assert!(
        matches!(&heard[..], [PdtpMessage::Error { reason, .. }] if reason == "above_hard_limit"),
        "{heard:?}"
    );
    assert_eq!(swarm.view(1).receiving, 2, "the earlier value stands");
    swarm.input(Input::Source { addr: source(), slots: 20 });
    swarm.say(1, set(16));
    assert_eq!(swarm.orders(1).len(), 14, "the hard limit itself is allowed");
}

#[test]
fn sw_13_an_upload_earns_the_next_download_at_once() {
    let mut swarm = Swarm::with_source(seed(), 8, 8);
    swarm.comes(1, 7_001);
    swarm.wants(1);
    swarm.comes(2, 7_002);
    swarm.wants(2);
    let order = swarm.orders(2).remove(0);
    swarm.got(2, &order);
    assert!(swarm.orders(2).is_empty());
    let piece = piece_of(order.about.span);
    swarm.comes(3, 7_003);
    swarm.wants_piece(3, piece);
    let give = swarm.order(3);
    assert_eq!(give.about.peer, ip(2));
    swarm.both(3, &give);
    assert_eq!(swarm.orders(2).len(), 2, "two rights from one upload");
}

#[test]
fn sw_14_a_failed_piece_comes_first_and_from_another_peer() {
    let mut swarm = Swarm::with_source(one_at_a_time(SwarmPolicy::Seed2004), 4, 0);
    swarm.comes(1, 7_001);
    swarm.has(1, 0..4);
    swarm.comes(2, 7_002);
    swarm.has(2, 0..4);
    swarm.comes(3, 7_003);
    swarm.wants(3);
    let first = swarm.order(3);
    swarm.failed(3, &first, Reason::Data);
    let second = swarm.order(3);
    assert_eq!(second.about.span, first.about.span, "the same piece");
    assert_ne!(second.about.peer, first.about.peer, "of the other uploader");
    swarm.failed(3, &second, Reason::Data);
    assert!(swarm.orders(3).is_empty(), "no other peer has it");
    swarm.input(Input::Source { addr: source(), slots: 1 });
    let third = swarm.order(3);
    assert!(from_source(&third) && third.about.span == first.about.span);
    assert_eq!(swarm.last_pick(), Some(Pick::Retry));
}

#[test]
fn sw_15_an_active_client_is_served_by_passive_ones_first() {
    let mut swarm = Swarm::with_source(one_at_a_time(SwarmPolicy::Seed2004), 4, 4);
    swarm.comes(1, 7_001);
    swarm.has(1, 0..4);
    swarm.comes(2, 0);
    swarm.has(2, 0..4);
    swarm.comes(3, 7_003);
    swarm.wants(3);
    assert_eq!(swarm.order(2).method, TransferMethod::Put);
    swarm.comes(4, 7_004);
    swarm.wants(4);
    assert_eq!(swarm.order(4).about.peer, ip(1), "then the active one");
    swarm.comes(5, 7_005);
    swarm.wants(5);
    assert!(from_source(&swarm.order(5)), "then the source");
}

#[test]
fn sw_15_a_passive_client_is_served_by_active_ones_only() {
    for policy in [SwarmPolicy::Seed2004, SwarmPolicy::Adaptive] {
        let mut swarm = Swarm::with_source(one_at_a_time(policy), 4, 0);
        swarm.comes(1, 0);
        swarm.has(1, 0..4);
        swarm.comes(2, 0);
        swarm.wants(2);
        assert!(swarm.orders(1).is_empty() && swarm.orders(2).is_empty());
        swarm.comes(3, 7_003);
        swarm.has(3, 0..4);
        swarm.wants_piece(2, 0);
        swarm.goes(2);
        swarm.comes(4, 0);
        swarm.wants(4);
        assert_eq!(swarm.order(4).about.peer, ip(3));
    }
}

#[test]
fn sw_16_the_source_gives_what_no_peer_has_before_anything_else() {
    let mut swarm = Swarm::with_source(one_at_a_time(SwarmPolicy::Adaptive), 40, 1);
    swarm.comes(1, 7_001);
    swarm.has(1, 0..39);
    swarm.comes(2, 7_002);
    swarm.wants(2);
    let picks = swarm.saw(|e| match e {
        Event::Assigned { why: Pick::Unseen, piece, .. } => Some(*piece),
        _ => None,
    });
    assert_eq!(picks, [39]);
}

#[test]
fn sw_16_a_piece_from_the_source_is_drawn_at_random() {
    let mut swarm = Swarm::with_source(one_at_a_time(SwarmPolicy::Seed2004), 20, 1);
    swarm.comes(1, 7_001);
    swarm.wants(1);
    swarm.obey();
    let drawn = swarm.saw(|e| match e {
        Event::Assigned { why: Pick::Source, piece, .. } => Some(*piece),
        _ => None,
    });
    assert_eq!(drawn.len(), 20);
    assert!(!drawn.is_sorted() && !drawn.iter().rev().is_sorted(), "{drawn:?}");
}

#[test]
fn sw_17_a_client_becomes_passive_and_active_by_its_port() {
    let mut swarm = failed_connects(5);
    assert!(!swarm.view(1).active);
    swarm.say(1, PdtpMessage::ChangePort { listen_port: Some(8_001) });
    assert!(swarm.view(1).active, "it may force itself back");
    swarm.say(1, PdtpMessage::ChangePort { listen_port: None });
    assert!(!swarm.view(1).active);
    swarm.heard(1);
    swarm.say(1, PdtpMessage::ChangePort { listen_port: Some(8_001) });
    let refused =
        |e: &Event| matches!(e, Event::Refused { why: SwarmRefusal::TooSoon, .. }).then_some(());
    assert_eq!(swarm.saw(refused).len(), 1, "but not again and again");
    swarm.pass(Duration::from_micros(9_999_999));
    swarm.say(1, PdtpMessage::ChangePort { listen_port: Some(8_001) });
    assert_eq!(swarm.saw(refused).len(), 2, "not before ten seconds");
    swarm.pass(Duration::from_micros(1));
    swarm.say(1, PdtpMessage::ChangePort { listen_port: Some(8_001) });
    assert!(swarm.view(1).active);
}

#[test]
fn sw_18_whose_pieces_do_not_meet_the_needs_is_no_uploader() {
    for policy in [SwarmPolicy::Seed2004, SwarmPolicy::Adaptive] {
        let mut swarm = Swarm::with_source(one_at_a_time(policy), 4, 0);
        swarm.comes(1, 7_001);
        swarm.has(1, 0..2);
        swarm.comes(2, 7_002);
        swarm.has(2, 3..4);
        swarm.comes(3, 7_003);
        swarm.wants_piece(3, 3);
        assert_eq!(swarm.order(3).about.peer, ip(2));
    }
}

#[test]
fn sw_21_the_piece_is_one_of_the_rarest_or_any() {
    let mut swarm = Swarm::with_source(one_at_a_time(SwarmPolicy::Adaptive), 8, 0);
    swarm.comes(1, 7_001);
    swarm.has(1, 0..8);
    swarm.comes(2, 0);
    swarm.has(2, 0..7);
    swarm.goes(2);
    swarm.comes(3, 7_003);
    swarm.has(3, 0..7);
    swarm.say(3, PdtpMessage::SetConcurrency { max_download: None, max_upload: Some(0) });
    swarm.comes(4, 7_004);
    swarm.wants(4);
    assert_eq!(piece_of(swarm.order(4).about.span), 7, "everything else has two copies");
    assert_eq!(span(7), Span::new(700, 800));
    assert_eq!(&*url(), "http://origin/file");
}
