//! Hand-over at full scale: how well one slot is used by polite clients.

use servent_core::queue::{Config, Dialect, Event as Queue};
use servent_core::sim::{Group, Scenario, Server};
use servent_core::time::{Duration, Instant};
use servent_core::trace::{Event, Record};

use crate::presets::judge;

const CLIENTS: u32 = 6;
const SIZE: u64 = 3_000_000;
const RATE: u64 = 720_000;

/// 6 clients × 3 MB over one slot at about 4 s a file: 25 s of transfers, all
/// of it asked for within the first second.
fn scenario() -> Scenario {
    let queue = Config { slots: 1, bandwidth: RATE, ..Config::default() };
    Scenario {
        id: "hand-over".into(),
        horizon: Duration::from_secs(1_200),
        servers: vec![Server { queue, up: RATE, ..Server::default() }],
        clients: vec![Group {
            count: CLIENTS,
            dialect: Dialect::Parq,
            size: SIZE,
            down: 10 * RATE,
            spacing: Duration::from_millis(100),
            ..Group::default()
        }],
        ..Scenario::default()
    }
}

/// When the slot was given, and when it fell free.
fn turns(records: &[Record]) -> Vec<(Instant, Instant)> {
    let mut turns: Vec<(Instant, Instant)> = Vec::new();
    for r in records {
        match r.event {
            Event::Queue(Queue::Started { .. }) => turns.push((r.at, r.at)),
            Event::Queue(Queue::Finished { .. }) => {
                turns.last_mut().expect("it was started").1 = r.at;
            }
            _ => {}
        }
    }
    turns
}

/// What the poll schedule allows: whenever the slot falls free, the earliest
/// instant from then on at which any client waiting at that moment was told
/// it may ask (`not_before`), plus what a question takes: the polite two
/// seconds that clients wait beyond it and one way over the wire. The slot
/// cannot be given any earlier than that, whoever is in charge.
fn allowed(records: &[Record], turns: &[(Instant, Instant)]) -> Duration {
    let question = Duration::from_millis(2_150);
    let mut idle = Duration::ZERO;
    for pair in turns.windows(2) {
        let (free, given) = (pair[0].1, pair[1].0);
        let mut told = std::collections::BTreeMap::new();
        for r in records.iter().take_while(|r| r.at <= given) {
            match r.event {
                Event::Queue(Queue::Told { ticket, not_before, .. }) if r.at <= free => {
                    told.insert(ticket, not_before);
                }
                Event::Queue(Queue::Started { ticket, .. }) if r.at <= free => {
                    told.remove(&ticket);
                }
                _ => {}
            }
        }
        let soonest = told.values().min().expect("somebody waits");
        idle = idle + (*soonest + question).max(free).since(free);
    }
    idle
}

#[test]
fn one_slot_is_used_as_well_as_the_poll_schedule_allows() {
    let (_, records) = judge(&scenario());
    let turns = turns(&records);
    assert_eq!(turns.len(), CLIENTS as usize, "each is served once and whole");
    let busy: u64 = turns.iter().map(|(from, to)| to.since(*from).as_micros()).sum();
    let whole = turns[turns.len() - 1].1.since(turns[0].0).as_micros();
    let ideal = busy + allowed(&records, &turns).as_micros();
    println!("busy {busy} µs of {whole} µs; the schedule allows {ideal} µs");
    assert!(ideal * 100 >= whole * 90, "used {busy} of {whole}, allowed in {ideal} µs");
}
