//! The oracles see what is wrong: runs whose records are changed by hand.

use servent_core::routing::{self, DropReason, Which};
use servent_core::time::Instant;
use servent_core::trace::{NodeId, Record};
use servent_core::wire::gnutella::MessageKind;
use servent_sim::Oracle as _;
use servent_sim::routing::check::RoutingOracles;
use servent_sim::routing::{
    Event, MessageEvent, MessageOutcome, RoutingWorld, Scenario, SearchEvent, presets,
};

use crate::presets::Records;

fn records(s: &Scenario) -> Records {
    let mut world = RoutingWorld::new(s);
    let mut records = Vec::new();
    world.run_until(Instant::ZERO + s.horizon, &mut records);
    records
}

/// What the oracles say of a ring's records after a change.
fn said(change: impl FnOnce(&mut Records)) -> Vec<&'static str> {
    let s = presets::find("ring").expect("a preset");
    let mut all = records(&s);
    change(&mut all);
    let mut oracles = RoutingOracles::new(&s);
    all.iter().for_each(|record| oracles.observe(record));
    oracles.finish(Instant::ZERO + s.horizon);
    let mut keys: Vec<_> = oracles.violations().iter().map(|v| v.key).collect();
    keys.dedup();
    keys
}

fn place(records: &Records, wanted: impl Fn(&Event) -> bool) -> usize {
    records.iter().position(|record: &Record<Event>| wanted(&record.event)).expect("such a record")
}

fn is_sent(event: &Event, of: MessageKind, more: u8) -> bool {
    matches!(event, Event::Message(MessageEvent::Sent { kind, hops, .. }) if *kind == of && *hops == more)
}

fn is_judged(event: &Event, of: MessageKind, wanted: MessageOutcome) -> bool {
    matches!(event, Event::Message(MessageEvent::Judged { kind, verdict, .. })
        if *kind == of && *verdict == wanted)
}

#[test]
fn an_honest_run_is_silent() {
    assert_eq!(said(|_| {}), [""; 0]);
}

#[test]
fn a_query_that_travels_too_far_is_seen() {
    let keys = said(|records| {
        let at = place(records, |event| is_sent(event, MessageKind::Query, 1));
        if let Event::Message(MessageEvent::Sent { ttl, .. }) = &mut records[at].event {
            *ttl = 7;
        }
    });
    assert!(keys.contains(&"check.too_far") && keys.contains(&"check.changed"), "{keys:?}");
}

#[test]
fn what_is_dropped_and_sent_all_the_same_is_seen() {
    let keys = said(|records| {
        let at =
            place(records, |event| is_judged(event, MessageKind::Query, MessageOutcome::Forwarded));
        if let Event::Message(MessageEvent::Judged { verdict, why, .. }) = &mut records[at].event {
            (*verdict, *why) = (MessageOutcome::Dropped, Some(DropReason::Quota));
        }
    });
    assert!(keys.contains(&"check.dropped_and_sent"), "{keys:?}");
}

#[test]
fn a_duplicate_that_is_taken_is_seen() {
    let keys = said(|records| {
        let at =
            place(records, |event| is_judged(event, MessageKind::Query, MessageOutcome::Dropped));
        if let Event::Message(MessageEvent::Judged { verdict, why, .. }) = &mut records[at].event {
            (*verdict, *why) = (MessageOutcome::Local, None);
        }
    });
    assert_eq!(keys, ["check.twice"]);
}

#[test]
fn a_hit_on_another_way_than_its_query_is_seen() {
    let keys = said(|records| {
        let at = place(records, |event| is_sent(event, MessageKind::Hit, 0));
        if let Event::Message(MessageEvent::Sent { to, .. }) = &mut records[at].event {
            *to = NodeId(6);
        }
    });
    assert!(keys.contains(&"check.not_the_way"), "{keys:?}");
}

#[test]
fn a_route_forgotten_too_early_is_seen() {
    let keys = said(|records| {
        let at =
            place(records, |event| is_judged(event, MessageKind::Hit, MessageOutcome::Forwarded));
        if let Event::Message(MessageEvent::Judged { verdict, why, .. }) = &mut records[at].event {
            (*verdict, *why) = (MessageOutcome::Dropped, Some(DropReason::NoRoute));
        }
    });
    assert!(keys.contains(&"check.forgotten"), "{keys:?}");
}

#[test]
fn a_drop_without_a_reason_is_seen() {
    let keys = said(|records| {
        let at =
            place(records, |event| is_judged(event, MessageKind::Query, MessageOutcome::Dropped));
        if let Event::Message(MessageEvent::Judged { why, .. }) = &mut records[at].event {
            *why = None;
        }
    });
    assert!(keys.contains(&"check.no_reason"), "{keys:?}");
}

#[test]
fn a_message_that_vanishes_is_seen() {
    let keys = said(|records| {
        let at =
            place(records, |event| is_judged(event, MessageKind::Query, MessageOutcome::Dropped));
        records.remove(at);
    });
    assert_eq!(keys, ["check.vanished"]);
}

#[test]
fn an_answer_for_a_node_that_did_not_ask_is_seen() {
    let keys = said(|records| {
        let at = place(records, |event| matches!(event, Event::App(SearchEvent::Found { .. })));
        records[at].node = NodeId(7);
    });
    assert_eq!(keys, ["check.not_asked"]);
}

/// Says of the first message of a kind that went on what is not true.
fn lies(of: MessageKind, lie: DropReason) -> Vec<&'static str> {
    said(|records| {
        let at = place(records, |event| is_judged(event, of, MessageOutcome::Forwarded));
        if let Event::Message(MessageEvent::Judged { verdict, why, .. }) = &mut records[at].event {
            (*verdict, *why) = (MessageOutcome::Dropped, Some(lie));
        }
    })
}

#[test]
fn a_first_message_called_a_duplicate_is_seen() {
    let keys = lies(MessageKind::Query, DropReason::Duplicate);
    assert!(keys.contains(&"check.never_seen"), "{keys:?}");
}

#[test]
fn a_way_given_up_while_it_is_there_is_seen() {
    let keys = lies(MessageKind::Hit, DropReason::RouteGone);
    assert!(keys.contains(&"check.still_there"), "{keys:?}");
}

#[test]
fn a_message_that_no_node_sent_is_seen() {
    let keys = said(|records| {
        let at =
            place(records, |event| is_judged(event, MessageKind::Query, MessageOutcome::Dropped));
        if let Event::Message(MessageEvent::Judged { id, .. }) = &mut records[at].event {
            *id = u64::MAX;
        }
    });
    assert_eq!(keys, ["check.never_sent", "check.vanished", "check.sum"]);
}

#[test]
fn two_messages_of_one_number_are_seen_and_do_not_add_up() {
    let keys = said(|records| {
        let at = place(records, |event| is_sent(event, MessageKind::Query, 1));
        records.insert(at, records[at].clone());
    });
    assert!(keys.contains(&"check.sent_twice") && keys.contains(&"check.sum"), "{keys:?}");
}

#[test]
fn a_message_that_goes_back_is_seen() {
    let keys = said(|records| {
        let at =
            place(records, |event| is_judged(event, MessageKind::Query, MessageOutcome::Forwarded));
        let Event::Message(MessageEvent::Judged { from, .. }) = records[at].event else {
            unreachable!();
        };
        let seq = records[at].seq;
        let on = records.iter_mut().filter(|record| record.cause == Some(seq));
        for record in on {
            if let Event::Message(MessageEvent::Sent { to, .. }) = &mut record.event {
                *to = from;
            }
        }
    });
    assert!(keys.contains(&"check.sent_back"), "{keys:?}");
}

#[test]
fn a_table_beyond_its_limit_is_seen() {
    let keys = said(|records| {
        let turned = routing::Event::Turned { table: Which::Queries, entries: u64::MAX };
        let last = records.last().expect("a record").clone();
        records.push(Record { event: Event::Routing(turned), ..last });
    });
    assert_eq!(keys, ["check.too_many"]);
}
