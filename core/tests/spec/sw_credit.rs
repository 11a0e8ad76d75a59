//! Credit that cannot be had by a word alone, and credit that is not left
//! waiting: SW-27, SW-28, and SW-30 for what a restart keeps of it.

use crate::swarm_support;

use std::collections::BTreeSet;

use servent_core::swarm::{Config, Event, Failure, Input, SwarmPolicy};
use servent_core::wire::pdtp::{PdtpMessage, Reason, Span, TransferOrder};
use swarm_support::{Swarm, from_source, ip, name, piece_of, source, span, url};

const PIECES: u32 = 30;

fn rules(policy: SwarmPolicy) -> Config {
    Config { policy, default_download: 2, default_upload: 2, ..Config::default() }
}

/// What a client that lies does with an order: it has the bytes, and says
/// that they did not come.
fn feigns(swarm: &mut Swarm, client: u64, order: &TransferOrder) -> u32 {
    swarm.failed(client, order, Reason::Data);
    piece_of(order.about.span)
}

/// A seeder with two slots, an honest client and one that reports every piece
/// as failed. The distinct pieces the latter was sent before the former had
/// all, and whether the former got there.
fn beside_a_feigning_leech(policy: SwarmPolicy) -> (usize, bool) {
    let mut swarm = Swarm::with_source(rules(policy), PIECES, 0);
    swarm.comes(1, 7_001);
    swarm.has(1, 0..PIECES);
    swarm.comes(2, 7_002);
    swarm.comes(3, 7_003);
    // The first on a file pays nothing (SW-9): that is the honest one.
    swarm.wants(2);
    swarm.wants(3);
    let mut feigned = BTreeSet::new();
    for second in 0..1_000 {
        for order in swarm.orders(3) {
            feigned.insert(feigns(&mut swarm, 3, &order));
        }
        for order in swarm.orders(2) {
            swarm.both(2, &order);
        }
        // A client that lacks what the honest one has, so that it earns.
        let newcomer = 10 + second;
        if let (Some(piece), true) = (swarm.view(2).held.checked_sub(1), second < 20) {
            swarm.comes(newcomer, 7_010);
            swarm.wants_piece(newcomer, piece % PIECES);
            for order in swarm.orders(newcomer) {
                swarm.both(newcomer, &order);
            }
            swarm.goes(newcomer);
        }
        if swarm.complete(2) {
            return (feigned.len(), true);
        }
        swarm.secs(1);
    }
    (feigned.len(), false)
}

#[test]
fn sw_27_a_client_that_reports_every_piece_as_failed_gets_what_is_free_and_no_more() {
    let (feigned, _) = beside_a_feigning_leech(SwarmPolicy::Seed2004);
    assert!(feigned <= 1, "{feigned} pieces for one that is free");
    let (feigned, complete) = beside_a_feigning_leech(SwarmPolicy::Adaptive);
    assert!(complete, "the honest one is served");
    assert!(feigned <= PIECES as usize / 5, "{feigned} of {PIECES} by saying that they failed");
}

/// A client beside others, which has been sent its free piece.
fn with_its_free_piece() -> (Swarm, TransferOrder) {
    let one = Config { default_download: 1, ..rules(SwarmPolicy::Seed2004) };
    let mut swarm = Swarm::with_source(one, 8, 0);
    swarm.comes(1, 7_001);
    swarm.has(1, 0..8);
    swarm.comes(2, 7_002);
    swarm.wants(2);
    swarm.comes(3, 7_003);
    swarm.wants(3);
    let order = swarm.order(3);
    (swarm, order)
}

#[test]
fn sw_27_a_failed_piece_stays_charged_until_it_is_here() {
    let (mut swarm, order) = with_its_free_piece();
    assert_eq!(swarm.view(3).credit, 0);
    swarm.failed(3, &order, Reason::Data);
    assert_eq!((swarm.view(3).credit, swarm.view(3).failed), (0, 1));
    // It is tried again without new credit, and paid for once.
    swarm.comes(4, 7_004);
    swarm.has(4, 0..8);
    let again = swarm.order(3);
    assert_eq!((again.about.span, again.about.peer), (order.about.span, ip(4)));
    swarm.both(3, &again);
    assert_eq!((swarm.view(3).credit, swarm.view(3).downloads, swarm.view(3).failed), (0, 1, 0));
}

#[test]
fn sw_27_a_client_that_says_it_failed_and_then_has_it_or_drops_it_has_paid() {
    type Turn = fn(&mut Swarm, Span);
    let turns: [Turn; 3] = [
        |swarm, span| swarm.say(3, PdtpMessage::Provide { url: url(), span }),
        |swarm, span| swarm.say(3, PdtpMessage::Unrequest { url: url(), span }),
        |swarm, _| {
            swarm.goes(3);
            swarm.comes(3, 7_003);
            swarm.wants(3);
        },
    ];
    for turn in turns {
        let (mut swarm, order) = with_its_free_piece();
        swarm.failed(3, &order, Reason::Data);
        turn(&mut swarm, order.about.span);
        assert_eq!((swarm.view(3).credit, swarm.view(3).downloads), (0, 1));
        assert!(swarm.orders(3).is_empty(), "nothing is earned by it");
    }
}

#[test]
fn sw_27_a_client_that_has_a_piece_by_another_way_waits_for_no_transfer_of_it() {
    let one = Config { default_download: 1, ..rules(SwarmPolicy::Adaptive) };
    let mut swarm = Swarm::with_source(one, 8, 1);
    swarm.comes(2, 7_002);
    swarm.wants(2);
    // Its only slot and the source's are taken, for a piece that has just come
    // from a client that left.
    let order = swarm.order(2);
    swarm.say(2, PdtpMessage::Provide { url: url(), span: order.about.span });
    let next = swarm.order(2);
    assert!(from_source(&next));
    assert_ne!(next.about.span, order.about.span);
    let failed = swarm.saw(|event| match event {
        Event::Failed { why, .. } => Some(*why),
        _ => None,
    });
    assert_eq!(failed, [Failure::Elsewhere]);
    // Said of a transfer that counts it is paid for, for only it says so.
    let (mut swarm, order) = with_its_free_piece();
    swarm.say(3, PdtpMessage::Provide { url: url(), span: order.about.span });
    let view = swarm.view(3);
    assert_eq!((view.credit, view.downloads, view.failed), (0, 1, 0));
    // And if the other one has sent it all, that counts for it.
    let (mut swarm, order) = with_its_free_piece();
    let before = swarm.view(1).uploads;
    swarm.gave(1, 3, &order);
    swarm.say(3, PdtpMessage::Provide { url: url(), span: order.about.span });
    assert_eq!((swarm.view(3).downloads, swarm.view(1).uploads), (1, before + 1));
}

#[test]
fn sw_27_an_uploader_that_leaves_costs_the_downloader_nothing() {
    let (mut swarm, _) = with_its_free_piece();
    swarm.goes(1);
    assert_eq!((swarm.view(3).credit, swarm.view(3).failed), (0, 1));
    swarm.goes(3);
    swarm.comes(3, 7_003);
    swarm.wants(3);
    assert_eq!((swarm.view(3).credit, swarm.view(3).downloads), (1, 0), "its free piece is free");
}

#[test]
fn sw_28_a_client_that_has_credit_is_asked_again_when_a_peers_slot_frees() {
    let one = Config { default_upload: 1, ..rules(SwarmPolicy::Seed2004) };
    let mut swarm = Swarm::with_source(one, 8, 0);
    swarm.comes(1, 7_001);
    swarm.has(1, 0..8);
    swarm.comes(2, 7_002);
    swarm.wants(2);
    let first = swarm.order(2);
    swarm.comes(3, 7_003);
    swarm.wants(3);
    assert!(swarm.orders(3).is_empty(), "the only slot is taken");
    assert!(swarm.view(3).stalled.is_none(), "and it has credit");
    // No slot of a source frees, none is there.
    swarm.gave(1, 2, &first);
    assert_eq!(swarm.order(3).about.peer, ip(1), "the peer's slot is free");
}

#[test]
fn sw_28_a_failed_piece_that_is_served_lets_the_rest_be_asked_for() {
    let mut swarm = Swarm::with_source(rules(SwarmPolicy::Seed2004), 8, 1);
    swarm.comes(2, 7_002);
    swarm.wants(2);
    let first = swarm.order(2);
    swarm.input(Input::Source { addr: source(), slots: 0 });
    swarm.failed(2, &first, Reason::Data);
    assert!(swarm.orders(2).is_empty(), "the failed one comes first, and no peer has it");
    swarm.input(Input::Source { addr: source(), slots: 2 });
    let orders = swarm.orders(2);
    assert!(orders.iter().all(from_source));
    assert_eq!(orders.len(), 2, "the failed one, and the next");
    assert_eq!(orders[0].about.span, first.about.span);
}

#[test]
fn sw_22_to_the_letter_a_client_that_has_not_confirmed_gets_nothing() {
    let mut swarm = Swarm::with_source(rules(SwarmPolicy::Seed2004), 8, 0);
    swarm.comes(1, 7_001);
    swarm.has(1, 0..8);
    swarm.comes(2, 7_002);
    swarm.wants(2);
    let orders = swarm.orders(2);
    assert_eq!(orders.len(), 2);
    swarm.gave(1, 2, &orders[0]);
    swarm.got(2, &orders[1]);
    swarm.gave(1, 2, &orders[1]);
    assert!(swarm.orders(2).is_empty(), "one is unconfirmed");
    swarm.got(2, &orders[0]);
    assert_eq!(swarm.orders(2).len(), 2);
}

/// Client 2 was told to fetch from 1; it fails without saying why.
fn fails_without_a_reason(asked: bool) -> Swarm {
    let one = Config { default_upload: 1, default_download: 1, ..Config::default() };
    let mut swarm = Swarm::with_source(one, 8, 0);
    swarm.comes(1, 7_001);
    swarm.has(1, 0..8);
    swarm.comes(2, 7_002);
    swarm.wants(2);
    let order = swarm.order(2);
    if asked {
        swarm.asks(1, 2, &order);
    }
    swarm.report(2, &order.about, None, None, None);
    swarm
}

#[test]
fn sw_3_without_our_extension_the_order_of_arrival_tells_a_firewall_from_a_broken_transfer() {
    let counts = |swarm: &Swarm| {
        swarm
            .saw(|e| if let Event::ConnectFailures { count, .. } = e { Some(*count) } else { None })
    };
    let blamed =
        |swarm: &Swarm| swarm.saw(|e| matches!(e, Event::Blamed { .. }).then_some(())).len();
    let unreached = fails_without_a_reason(false);
    assert_eq!((counts(&unreached), blamed(&unreached)), (vec![1], 0), "no peer got through");
    let broken = fails_without_a_reason(true);
    assert_eq!((counts(&broken), blamed(&broken)), (vec![], 1), "it was reached, and failed");
}

#[test]
fn sw_30_ledger_credit_and_quarantine_survive_the_coordinators_restart() {
    let mut before = Swarm::with_source(rules(SwarmPolicy::Adaptive), PIECES, 0);
    before.comes(1, 7_001);
    before.has(1, 0..PIECES);
    before.comes(2, 7_002);
    before.wants(2);
    before.comes(3, 7_003);
    before.wants(3);
    for _ in 0..5 {
        for client in [2, 3] {
            for order in before.orders(client) {
                before.both(client, &order);
            }
        }
        before.secs(1);
    }
    // A liar, as three say.
    before.comes(9, 7_009);
    before.has(9, 0..1);
    before.goes(1);
    for reporter in [20, 21, 22] {
        before.comes(reporter, 7_000);
        before.wants_piece(reporter, 0);
        for order in before.orders(reporter) {
            if order.about.peer == ip(9) {
                before.failed(reporter, &order, Reason::Hash);
            } else {
                before.both(reporter, &order);
            }
        }
        before.goes(reporter);
    }
    let held = before.view(2).held;
    assert!(held > 2 && before.view(2).downloads > 0);

    let mut after = Swarm::with_source(rules(SwarmPolicy::Adaptive), PIECES, 0);
    for row in before.rows.values() {
        after.input(Input::Restore(row.clone()));
    }
    for client in [2, 3, 9] {
        after.comes(client, 7_000);
        for piece in before.held(client) {
            after.say(client, PdtpMessage::Provide { url: url(), span: span(piece) });
        }
    }
    let known = |swarm: &Swarm, client| {
        let view = swarm.view(client);
        (view.held, view.uploads, view.downloads, view.quarantined)
    };
    for client in [2, 3, 9] {
        assert_eq!(known(&after, client), known(&before, client), "{}", name(client));
    }
}
