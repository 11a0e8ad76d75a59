//! Histories that are wrong in one way each, and the oracle that says so.

use servent_core::time::Instant;
use servent_core::trace::{NodeId, Record};
use servent_sim::Oracle as _;
use servent_sim::meet::{Event, MeetOracles, PacketEvent, PersonEvent, presets};

use crate::presets::preset;

/// What the oracles say of a preset's records, changed.
fn told(id: &str, change: impl Fn(&mut Record<Event>) -> bool) -> Vec<&'static str> {
    let scenario = presets::find(id).expect("a preset");
    let mut oracles = MeetOracles::new(&scenario);
    for mut record in preset(id).1 {
        if change(&mut record) {
            oracles.observe(&record);
        }
    }
    oracles.finish(Instant::from_secs(30));
    let mut told: Vec<_> = oracles.violations().iter().map(|it| it.key).collect();
    told.dedup();
    told
}

#[test]
fn nothing_is_said_of_what_happened() {
    for scenario in presets::all() {
        assert_eq!(told(&scenario.id, |_| true), [""; 0], "{}", scenario.id);
    }
}

#[test]
fn a_datagram_to_a_stranger_is_seen() {
    let stray = |record: &mut Record<Event>| {
        if let Event::Packet(PacketEvent::Sent { id: 9, to, .. }) = &mut record.event {
            *to = "198.18.0.1:7".parse().expect("an address");
            record.node = NodeId(0);
        }
        true
    };
    assert_eq!(told("two-doors", stray), ["check.stranger"]);
}

#[test]
fn a_path_that_was_missed_and_one_that_cannot_be_are_seen() {
    let never = |record: &mut Record<Event>| match record.event {
        Event::Person(PersonEvent::Came { .. }) => true,
        Event::Person(_) => false,
        _ => true,
    };
    assert_eq!(told("two-doors", never), ["check.path_missed"]);
    let found = |record: &mut Record<Event>| {
        if let Event::Person(PersonEvent::Alone { other, .. }) = record.event {
            let peer = "198.51.100.1:20007".parse().expect("an address");
            record.event = Event::Person(PersonEvent::Connected { other, peer, relayed: false });
        }
        true
    };
    assert_eq!(told("two-symmetric", found), ["check.path_made_up"]);
}

#[test]
fn a_path_that_came_too_late_and_messages_that_did_not_come_are_seen() {
    let late = |record: &mut Record<Event>| {
        if let Event::Person(PersonEvent::Connected { .. }) = record.event {
            record.at = Instant::from_secs(11);
        }
        true
    };
    assert_eq!(told("two-doors", late), ["check.path_late"]);
    let lost = |record: &mut Record<Event>| {
        !matches!(record.event, Event::Person(PersonEvent::Read { n: 20, .. }))
    };
    assert_eq!(told("two-doors", lost), ["check.unread"]);
    let twice = |record: &mut Record<Event>| {
        if let Event::Person(PersonEvent::Read { n, .. }) = &mut record.event
            && *n == 4
        {
            *n = 3;
        }
        true
    };
    assert_eq!(told("two-doors", twice), ["check.order"]);
}
