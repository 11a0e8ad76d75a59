//! The transfer manager in a crowd: every client that could give or take is found, however
//! many could not.

use crate::swarm_support;

use servent_core::swarm::{Config, Event, FileSpec, Input, LedgerRow, SwarmPolicy};
use servent_core::time::Instant;
use servent_core::wire::pdtp::{Hash, PdtpMessage, Reason, Span, TransferMethod};
use swarm_support::{CHUNK, Swarm, hash, ip, url};

const CROWD: std::ops::Range<u64> = 2..150;
/// One of the crowd, wherever the order puts it.
const ONES: [u64; 6] = [2, 31, 60, 89, 118, 149];

fn swarm(config: &Config) -> Swarm {
    Swarm::with_source(config.clone(), 4, 0)
}

/// Every client has the first piece, and one of them the last one instead.
fn one_has_the_last(one: u64, port: u16, config: &Config) -> Swarm {
    let mut swarm = swarm(config);
    for client in CROWD {
        swarm.comes(client, port);
        swarm.has(client, if client == one { 3..4 } else { 0..1 });
    }
    swarm
}

#[test]
fn sw_18_the_only_one_with_a_needed_piece_is_found_in_any_crowd() {
    for rarest in [true, false] {
        let config = Config { rarest, ..Config::default() };
        for one in ONES {
            let mut swarm = one_has_the_last(one, 7_000, &config);
            swarm.comes(1, 7_001);
            swarm.has(1, 0..1);
            swarm.wants_piece(1, 3);
            assert_eq!(swarm.order(1).about.peer, ip(one), "an active one");
            let mut swarm = one_has_the_last(one, 0, &config);
            swarm.comes(1, 7_001);
            swarm.has(1, 0..1);
            swarm.wants_piece(1, 3);
            let order = swarm.order(one);
            assert_eq!(
                (order.method, order.about.peer),
                (TransferMethod::Put, ip(1)),
                "a passive one"
            );
        }
    }
}

#[test]
fn sw_18_to_the_letter_the_crowd_is_searched_to_its_end() {
    let seed = Config { policy: SwarmPolicy::Seed2004, ..Config::default() };
    for one in ONES {
        let mut swarm = one_has_the_last(one, 7_000, &seed);
        swarm.comes(1, 7_001);
        swarm.wants_piece(1, 3);
        assert_eq!(swarm.order(1).about.peer, ip(one));
    }
}

#[test]
fn sw_13_the_only_one_that_waits_for_a_piece_is_found_in_any_crowd() {
    // With credit, and without.
    for free_pieces in [1, 0] {
        let config = Config { free_pieces, ..Config::default() };
        for one in ONES {
            let mut swarm = swarm(&config);
            for client in CROWD {
                swarm.comes(client, 7_000);
                swarm.wants_piece(client, if client == one { 1 } else { 2 });
            }
            swarm.comes(1, 7_001);
            swarm.has(1, 1..2);
            assert_eq!(swarm.order(one).about.peer, ip(1), "{free_pieces}");
        }
    }
}

#[test]
fn sw_15_in_a_crowd_too_a_passive_client_gets_nothing_from_passive_ones() {
    let mut swarm = swarm(&Config::default());
    for client in CROWD {
        let passive = client % 2 == 0;
        swarm.comes(client, if passive { 0 } else { 7_000 });
        swarm.has(client, if passive { 3..4 } else { 0..1 });
    }
    swarm.comes(1, 0);
    swarm.has(1, 0..1);
    swarm.wants_piece(1, 3);
    assert!(swarm.orders(1).is_empty() && CROWD.into_iter().all(|n| swarm.orders(n).is_empty()));
    swarm.comes(200, 7_200);
    swarm.has(200, 3..4);
    assert_eq!(swarm.order(1).about.peer, ip(200), "an active one came");
}

#[test]
fn sw_15_a_search_that_finds_only_passive_clients_does_not_lose_them_for_active_ones() {
    for one in ONES {
        let mut swarm = swarm(&Config::default());
        for client in CROWD {
            let passive = client % 2 == one % 2;
            swarm.comes(client, if passive { 0 } else { 7_000 });
            swarm.has(client, if client == one { 3..4 } else { 0..1 });
        }
        swarm.comes(1, 0);
        swarm.has(1, 0..1);
        swarm.wants_piece(1, 3);
        assert!(swarm.orders(one).is_empty());
        swarm.comes(200, 7_200);
        swarm.has(200, 0..1);
        swarm.wants_piece(200, 3);
        assert_eq!(swarm.order(one).about.peer, ip(200));
    }
}

#[test]
fn sw_15_in_a_crowd_too_a_passive_client_gives_to_active_ones_only() {
    for one in ONES {
        let mut swarm = swarm(&Config::default());
        for client in CROWD {
            swarm.comes(client, if client == one { 7_000 } else { 0 });
            swarm.wants_piece(client, 1);
        }
        swarm.comes(1, 0);
        swarm.has(1, 1..2);
        assert_eq!(swarm.order(1).about.peer, ip(one));
    }
}

#[test]
fn sw_15_a_passive_giver_that_finds_no_taker_takes_nothing_from_an_active_one() {
    for one in ONES {
        let mut swarm = swarm(&Config::default());
        for client in CROWD {
            swarm.comes(client, if client == one { 0 } else { 7_000 });
            swarm.wants_piece(client, if client == one { 1 } else { 2 });
        }
        swarm.comes(1, 0);
        swarm.has(1, 1..2);
        assert!(swarm.orders(1).is_empty());
        swarm.comes(200, 7_200);
        swarm.has(200, 1..2);
        assert_eq!(swarm.order(one).about.peer, ip(200));
    }
}

#[test]
fn sw_14_in_a_crowd_too_a_failed_piece_comes_from_another_peer_that_has_it() {
    for other in ONES.into_iter().filter(|one| *one != 77) {
        let mut swarm = swarm(&Config::default());
        for client in CROWD {
            swarm.comes(client, 7_000);
            swarm.has(client, if client == 77 { 3..4 } else { 0..1 });
        }
        swarm.comes(1, 7_001);
        swarm.has(1, 0..1);
        swarm.wants_piece(1, 3);
        let order = swarm.order(1);
        assert_eq!(order.about.peer, ip(77));
        swarm.failed(1, &order, Reason::Data);
        assert!(swarm.orders(1).is_empty(), "no other peer has it");
        swarm.has(other, 3..4);
        assert_eq!(swarm.order(1).about.peer, ip(other));
    }
}

/// The events of free pieces.
fn free(swarm: &Swarm) -> usize {
    swarm.saw(|event| matches!(event, Event::Free { .. }).then_some(())).len()
}

/// A second file, of two pieces.
fn with_another_file() -> Swarm {
    let mut swarm = Swarm::new(Config::default(), 4);
    let hashes: Vec<Hash> = (0..2).map(hash).collect();
    let (url, size) = ("other".into(), 2 * CHUNK);
    let spec = FileSpec { url, size, chunk: CHUNK, hashes: hashes.into(), sha256: None };
    swarm.input(Input::Serve(spec));
    swarm.comes(1, 7_001);
    swarm
}

#[test]
fn sw_7_a_client_that_has_a_piece_of_any_file_has_none_free() {
    let mut swarm = with_another_file();
    swarm.say(1, PdtpMessage::Provide { url: "other".into(), span: Span::ALL });
    swarm.wants(1);
    assert_eq!(free(&swarm), 0);
    swarm.comes(2, 7_002);
    swarm.wants(2);
    swarm.say(2, PdtpMessage::Request { url: "other".into(), span: Span::ALL });
    assert_eq!(free(&swarm), 1, "and no client has two");
}

/// What is stored of an address that did nothing.
fn row(address: u64, seen: Instant) -> LedgerRow {
    LedgerRow {
        owner: ip(address),
        bytes_down: 0,
        bytes_up: 0,
        downloads: 0,
        uploads: 0,
        grants: 0,
        free: false,
        failures: 0,
        reporters: Vec::new(),
        faded: seen,
        seen,
    }
}

#[test]
fn sw_30_rows_are_restored_once_each_and_no_more_than_may_be_remembered() {
    let (mut swarm, seen) =
        (Swarm::new(Config { ledger: 2, ..Config::default() }, 4), Instant::from_secs(999));
    for (address, uploads) in [(1, 1), (1, 2), (2, 3), (3, 4)] {
        swarm.input(Input::Restore(LedgerRow { uploads, ..row(address, seen) }));
    }
    let rows: Vec<_> = swarm.manager.rows().iter().map(|row| (row.owner, row.uploads)).collect();
    assert_eq!(rows, [(ip(1), 1), (ip(2), 3)]);
}

#[test]
fn sw_30_a_row_from_a_clock_that_was_ahead_is_kept_no_longer_than_any_other() {
    let mut swarm = Swarm::new(Config::default(), 4);
    let ahead = swarm.now + servent_core::time::Duration::from_secs(9_000);
    swarm.input(Input::Restore(row(1, ahead)));
    swarm.secs(1_799);
    assert_eq!(swarm.manager.rows().len(), 1);
    swarm.secs(1);
    assert!(swarm.manager.rows().is_empty());
}

#[test]
fn sw_7_an_address_that_gave_or_took_before_has_none_free() {
    for (downloads, uploads) in [(1, 0), (0, 1)] {
        let mut swarm = Swarm::new(Config::default(), 4);
        let seen = Instant::from_secs(999);
        swarm.input(Input::Restore(LedgerRow { downloads, uploads, ..row(1, seen) }));
        swarm.comes(1, 7_001);
        swarm.wants(1);
        assert_eq!(free(&swarm), 0, "{downloads} {uploads}");
    }
}

#[test]
fn sw_27_a_piece_from_elsewhere_ends_the_transfer_of_that_piece_alone() {
    let mut swarm = with_another_file();
    swarm.wants(1);
    let (first, second) = {
        let orders = swarm.orders(1);
        (orders[0].clone(), orders[1].clone())
    };
    // The same number in another file, and another number in this one.
    swarm.say(1, PdtpMessage::Provide { url: "other".into(), span: Span::new(0, 2 * CHUNK) });
    let failed = |swarm: &Swarm| swarm.saw(|e| matches!(e, Event::Failed { .. }).then_some(()));
    assert!(failed(&swarm).is_empty());
    swarm.say(1, PdtpMessage::Provide { url: url(), span: first.about.span });
    assert_eq!(failed(&swarm).len(), 1);
    swarm.got(1, &second);
    assert_eq!(failed(&swarm).len(), 1);
    // What is known to be here and waits for the uploader's word goes on too.
    let mut swarm = Swarm::with_source(Config::default(), 4, 0);
    swarm.comes(2, 7_002);
    swarm.has(2, 0..4);
    swarm.comes(3, 7_003);
    swarm.wants_piece(3, 1);
    let order = swarm.order(3);
    swarm.got(3, &order);
    swarm.has(3, 1..2);
    swarm.gave(2, 3, &order);
    assert_eq!((failed(&swarm).len(), swarm.view(2).uploads), (0, 1));
}

#[test]
fn a_file_is_served_only_with_a_hash_for_each_of_its_pieces_and_no_more_than_there_may_be() {
    let cases = [
        (2 * CHUNK, CHUNK, 2, true),
        (2 * CHUNK - 1, CHUNK, 2, true),
        (2 * CHUNK + 1, CHUNK, 3, false),
        (2 * CHUNK, CHUNK, 1, false),
        (2, 0, 2, false),
        (0, CHUNK, 0, true),
    ];
    for (size, chunk, hashes, served) in cases {
        let config = Config { pieces: 2, ..Config::default() };
        let mut swarm = Swarm::new(config, 1);
        let hashes: Vec<Hash> = (0..hashes).map(hash).collect();
        let spec =
            FileSpec { url: "other".into(), size, chunk, hashes: hashes.into(), sha256: None };
        swarm.input(Input::Serve(spec));
        swarm.comes(1, 7_001);
        swarm.say(1, PdtpMessage::AskInfo { url: "other".into() });
        let told = swarm.heard(1);
        let known = told.iter().any(|m| matches!(m, PdtpMessage::TellInfo { size: Some(_), .. }));
        assert_eq!(known, served, "{size} by {chunk}");
        let limits = swarm.saw(|e| matches!(e, Event::Limit { .. }).then_some(()));
        assert_eq!(limits.is_empty(), served);
    }
}
