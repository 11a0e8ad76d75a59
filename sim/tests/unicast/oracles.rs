//! The oracles speak up: a sound run, then each kind of lie; and the drawn
//! scenarios are worth judging.

use servent_core::choose::Choose;
use servent_core::time::{Duration, Instant};
use servent_core::trace::{NodeId, Record};
use servent_core::unicast::Event as Unicast;
use servent_sim::Oracle as _;
use servent_sim::unicast::check::UnicastOracles;
use servent_sim::unicast::{
    DatagramEvent, DatagramLoss, Event, MessagingEvent, Scenario, Send, UnicastAction,
    UnicastActionAt, presets, random,
};

use crate::presets::{run, ways};

fn verdict(s: &Scenario, records: &[Record<Event>]) -> Vec<&'static str> {
    let mut oracles = UnicastOracles::new(s).quiet_for(Duration::from_secs(1));
    records.iter().for_each(|record| oracles.observe(record));
    oracles.finish(Instant::ZERO + s.horizon);
    let mut keys: Vec<_> = oracles.violations().iter().map(|v| v.key).collect();
    keys.dedup();
    keys
}

/// Records of a preset with something changed.
fn doctored(change: impl FnOnce(&mut Vec<Record<Event>>)) -> Vec<&'static str> {
    let s = presets::find("lose-middle").expect("a preset");
    let mut records = run(&s).1;
    change(&mut records);
    verdict(&s, &records)
}

fn nth(records: &[Record<Event>], n: usize, what: impl Fn(&Event) -> bool) -> usize {
    let mut fitting = records.iter().enumerate().filter(|(_, record)| what(&record.event));
    fitting.nth(n).expect("so many of it").0
}

fn is_read(event: &Event) -> bool {
    matches!(event, Event::App(MessagingEvent::Read { .. }))
}

#[test]
fn presets_are_not_complained_of() {
    for s in presets::all() {
        for (_, s) in ways(&s) {
            assert_eq!(verdict(&s, &run(&s).1), [""; 0], "{}", s.title);
        }
    }
}

#[test]
fn a_message_read_twice_is_seen() {
    let keys = doctored(|records| {
        let read = records[nth(records, 3, is_read)].clone();
        records.push(read);
    });
    assert_eq!(keys, ["check.twice", "check.order"]);
}

#[test]
fn messages_out_of_order_are_seen() {
    let keys = doctored(|records| {
        // The gap was closed, and these are read together.
        let (a, b) = (nth(records, 5, is_read), nth(records, 6, is_read));
        records.swap(a, b);
    });
    assert_eq!(keys, ["check.order"]);
}

#[test]
fn a_message_that_is_never_read_is_seen_unless_it_is_named() {
    let lose = |records: &mut Vec<Record<Event>>| {
        records.remove(nth(records, 8, is_read));
    };
    assert_eq!(doctored(lose), ["check.lost_silently"]);
    let named = doctored(|records| {
        lose(records);
        let (peer, conn) = records
            .iter()
            .find_map(|record| match record.event {
                Event::Unicast(Unicast::Opened { peer, conn, .. }) => Some((peer, conn)),
                _ => None,
            })
            .expect("a connection");
        let event = Event::Unicast(Unicast::Undelivered { peer, conn, from: 9, to: 9 });
        let last = records.last().expect("records").clone();
        records.push(Record { event, ..last });
    });
    assert_eq!(named, [""; 0]);
}

#[test]
fn a_message_no_end_wrote_is_seen() {
    let keys = doctored(|records| {
        let at = nth(records, 8, is_read);
        if let Event::App(MessagingEvent::Read { n, .. }) = &mut records[at].event {
            *n = 99;
        }
    });
    assert_eq!(keys, ["check.never_written", "check.lost_silently"]);
}

#[test]
fn an_acknowledgement_beyond_what_was_sent_is_seen() {
    let keys = doctored(|records| {
        let acked = |event: &Event| matches!(event, Event::Unicast(Unicast::Acked { .. }));
        let at = nth(records, 2, acked);
        if let Event::Unicast(Unicast::Acked { highest_acked, .. }) = &mut records[at].event {
            *highest_acked = 50;
        }
    });
    assert!(keys.contains(&"check.ha_hs"), "{keys:?}");
}

#[test]
fn windows_that_burst_are_seen() {
    let s = presets::find("lose-middle").expect("a preset");
    let mut records = run(&s).1;
    for record in &mut records {
        match &mut record.event {
            Event::Unicast(Unicast::Sent { to, .. }) => *to += 70_000,
            Event::Unicast(Unicast::AckSent { newest, .. }) => *newest += 70_000,
            _ => {}
        }
    }
    let keys = verdict(&s, &records);
    assert!(keys.contains(&"check.send_window") && keys.contains(&"check.receive_window"));
}

#[test]
fn resending_without_end_is_seen() {
    let keys = doctored(|records| {
        let resent = |event: &Event| matches!(event, Event::Unicast(Unicast::Resent { .. }));
        let again = records[nth(records, 0, resent)].clone();
        records.extend(std::iter::repeat_n(again, 100));
    });
    assert_eq!(keys, ["check.endless"]);
}

#[test]
fn talking_to_the_end_and_waiting_for_ever_are_seen() {
    let end = Instant::ZERO + presets::find("lose-middle").expect("a preset").horizon;
    let keys = doctored(|records| {
        let sent = |event: &Event| matches!(event, Event::Datagram(DatagramEvent::Sent { .. }));
        let late = Record { at: end, ..records[nth(records, 0, sent)].clone() };
        let event = Event::App(MessagingEvent::Waits { to: NodeId(1), n: 10 });
        records.extend([late.clone(), Record { event, ..late }]);
    });
    assert_eq!(keys, ["check.waits", "check.noise"]);
}

#[test]
fn nothing_is_lost_silently_even_when_a_full_window_meets_a_dead_peer() {
    let mut s = presets::find("lose-middle").expect("a preset");
    s.config.send_messages = 8;
    s.config.unreachable = Duration::from_secs(1);
    s.config.conn_close = Duration::from_secs(1);
    s.horizon = Duration::from_secs(60);
    let send = UnicastAction::Send(Send { count: 30, ..Send::default() });
    s.script = vec![UnicastActionAt { at: Instant::from_secs(1), act: send }];
    s.faults = vec![UnicastActionAt {
        at: Instant::ZERO,
        act: UnicastAction::Cut { from: NodeId(0), to: NodeId(1) },
    }];
    for variant in ["unicast3", "adaptive"] {
        let s = s.variant(variant).expect("a variant");
        let records = run(&s).1;
        assert_eq!(verdict(&s, &records), [""; 0], "{variant}");
        let named = records.iter().map(|record| match record.event {
            Event::Unicast(Unicast::Undelivered { from, to, .. }) => to - from + 1,
            _ => 0,
        });
        let named: u64 = named.sum();
        assert_eq!(named, 30, "{variant}: every message is named");
    }
}

#[test]
fn drawn_scenarios_are_worth_judging() {
    let (mut read, mut lost, mut resent, mut named, mut crashed, mut asked) = (0, 0, 0, 0, 0, 0);
    for seed in 1..=200 {
        for record in run(&random::draw(&mut Choose::random(seed), seed)).1 {
            match record.event {
                Event::App(MessagingEvent::Read { .. }) => read += 1,
                Event::Datagram(DatagramEvent::Lost {
                    why: DatagramLoss::Chance | DatagramLoss::Burst,
                    ..
                }) => {
                    lost += 1;
                }
                Event::Unicast(Unicast::Resent { .. }) => resent += 1,
                Event::Unicast(Unicast::Undelivered { .. }) => named += 1,
                Event::Unicast(Unicast::FirstRequested { .. }) => asked += 1,
                Event::World(servent_sim::unicast::UnicastIncident::Crashed) => crashed += 1,
                _ => {}
            }
        }
    }
    let all = [read, lost, resent, named, crashed, asked];
    println!("{all:?}");
    let least = [2_000, 200, 200, 5, 40, 20];
    assert!(all.iter().zip(least).all(|(have, least)| *have >= least), "{all:?}");
}
