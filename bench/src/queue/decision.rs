//! What a decision costs and what a place weighs, with a thousand and with a
//! million places in the line.

use core::net::{IpAddr, Ipv4Addr};
use std::time::Duration as StdDuration;

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::id::{ConnId, Guid};
use servent_core::queue::server::{Input, Output, QueueRequest, QueueServer, QueueVerdict};
use servent_core::queue::{Config, Dialect, Event, FileKey, StoredEntry};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use stats_alloc::Region;

use crate::measure::{median, now, percentile};
use crate::report::{Report, Target};

/// Entries below this position keep a connection; the measured ones do not.
const FIRST: usize = 64;

/// Fills of which the fastest counts for each request, so that what the
/// machine does beside this is not taken for a pause of ours.
const FILLS: usize = 3;

/// Addresses remembered beside the line where the memory of a place is measured: the
/// table of those that ask too often is as large as its limit says, however long the
/// line is, and no part of a place.
const ADDRESSES: u32 = 1_024;

/// A client of the line under measurement.
#[derive(Clone)]
struct Waiting {
    ticket: Guid,
    told: u32,
    not_before: Instant,
    peer: IpAddr,
}

struct Line {
    server: QueueServer,
    fx: Fx<Output, Event>,
    clients: Vec<Waiting>,
    conns: u64,
    now: Instant,
    bytes: usize,
}

pub(crate) fn run(report: &mut Report, quick: bool) {
    let (large, samples) = if quick { (100_000, 20_000) } else { (1_000_000, 200_000) };
    report.note("decisions of the queue");
    let mut medians = Vec::new();
    longest(report, large);
    memory(report, large);
    for length in [1_000, large] {
        let mut line = Line::build(length, Config::default().hammer_table, &mut Vec::new());
        let mut times = line.decide(samples);
        let p50 = median(&mut times);
        let scan = line.scan(if length > 1_000 { 200 } else { 5_000 });
        let case = |what: &str| format!("{what}, {length} in line");
        let beside = ("position by a scan of the line", Some(scan));
        report.add(
            ("queue", case("request to reply, p50"), "µs"),
            p50,
            beside,
            &Target::AtMost(2.0),
        );
        let p99 = percentile(&mut times, 99);
        report.add(("queue", case("request to reply, p99"), "µs"), p99, ("", None), &Target::None);
        medians.push(p50);
    }
    report.add(
        ("queue", format!("request to reply, {large} against 1000 in line"), "µs"),
        medians[1],
        ("1000 in line", Some(medians[0])),
        &Target::RatioAtMost(4.0),
    );
}

/// What a place weighs, and what is remembered of the addresses beside it.
fn memory(report: &mut Report, length: u32) {
    let bytes = |addresses| Line::build(length, addresses, &mut Vec::new()).bytes as f64;
    let (places, addresses) = (bytes(ADDRESSES), Config::default().hammer_table);
    report.add(
        ("queue", format!("memory of a place, {length} in line"), "bytes"),
        places / f64::from(length),
        ("the facts alone (a stored row)", Some(size_of::<StoredEntry>() as f64)),
        &Target::AtMost(200.0),
    );
    let beside = bytes(addresses) - places;
    let case = format!("memory of {addresses} addresses that ask, {length} in line");
    report.add(("queue", case, "bytes"), beside, ("", None), &Target::None);
}

/// The longest single decision while the line fills, and while every client in
/// it loses the place and takes a new one at the end.
fn longest(report: &mut Report, length: u32) {
    let (mut filling, mut rejoining) = (Vec::new(), Vec::new());
    for _ in 0..FILLS {
        let table = Config::default().hammer_table;
        Line::build(length, table, &mut filling).rejoin(&mut rejoining);
    }
    for (what, times) in [("filling", filling), ("rejoining", rejoining)] {
        let longest = times.into_iter().max().unwrap_or_default().as_secs_f64() * 1e6;
        let case = format!("longest decision of {length} clients {what}");
        report.add(("queue", case, "µs"), longest, ("", None), &Target::AtMost(2_000.0));
    }
}

/// Notes what request number `at` took, if it was never faster.
fn note(times: &mut Vec<StdDuration>, at: usize, took: StdDuration) {
    match times.get_mut(at) {
        Some(best) => *best = took.min(*best),
        None => times.push(took),
    }
}

impl Line {
    /// A busy server with `length` PARQ clients in line, which remembers so many
    /// addresses; what each client took.
    fn build(length: u32, hammer_table: u32, times: &mut Vec<StdDuration>) -> Self {
        times.reserve(length as usize);
        let (capacity, hammer_requests) = (length, u32::MAX);
        let config =
            Config { slots: 1, capacity, hammer_requests, hammer_table, ..Config::default() };
        let mut line = Self {
            server: QueueServer::new(config, Rng::new(1)),
            fx: Fx::new(),
            clients: Vec::with_capacity(length as usize),
            conns: 0,
            now: Instant::from_secs(1),
            bytes: 0,
        };
        assert!(line.ask(0, None).is_none(), "an empty server starts the first transfer");
        let region = Region::new(crate::ALLOCATOR);
        for n in 1..=length {
            let began = now();
            let client = line.ask(n, None).expect("there is room in the line");
            note(times, n as usize - 1, began.elapsed());
            line.clients.push(client);
        }
        let grown = region.change();
        // The list of clients was made before and is not counted.
        line.bytes = grown.bytes_allocated - grown.bytes_deallocated;
        line
    }

    /// A request of client `n`; the place it is told, `None` when it starts.
    fn ask(&mut self, n: u32, known: Option<&Waiting>) -> Option<Waiting> {
        let peer = known.map_or_else(|| IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + n)), |w| w.peer);
        self.conns += 2;
        let request = QueueRequest {
            conn: ConnId(self.conns),
            peer,
            dialect: Dialect::Parq,
            file: FileKey(7),
            bytes: 1_000_000,
            rest: 0,
            ticket: known.map(|w| w.ticket),
            told: known.map(|w| w.told),
            callback: None,
            waits: false,
            sleeps: false,
        };
        self.server.handle(self.now, Input::Request(request), &mut self.fx);
        let mut place = None;
        for effect in self.fx.drain() {
            match effect {
                Effect::Output(Output::Reply { verdict: QueueVerdict::Wait(told), .. }) => {
                    place = Some(told);
                }
                Effect::Output(Output::Reply { verdict: QueueVerdict::Start { .. }, .. }) => {}
                Effect::Output(Output::Reply { verdict, .. }) => panic!("refused: {verdict:?}"),
                _ => {}
            }
        }
        place.map(|told| Waiting {
            ticket: told.ticket,
            told: told.position,
            not_before: self.now + told.retry_after,
            peer,
        })
    }

    /// Every client asks too early, which costs its place (PQ-7), and a fifth of
    /// them again; what each took.
    fn rejoin(&mut self, times: &mut Vec<StdDuration>) {
        let length = self.clients.len();
        times.reserve(length * 6 / 5);
        for n in 0..length * 6 / 5 {
            let known = self.clients[n % length].clone();
            let began = now();
            let told = self.ask(0, Some(&known)).expect("there is room in the line");
            note(times, n, began.elapsed());
            assert_eq!(told.told as usize, length, "its place is the last now");
            self.clients[n % length] = told;
        }
    }

    /// Lets clients ask again, each inside its window, in random order;
    /// microseconds a decision.
    fn decide(&mut self, samples: usize) -> Vec<f64> {
        let mut rng = Rng::new(2);
        let mut times = Vec::with_capacity(samples);
        while times.len() < samples {
            // Every client may ask now: the longest Retry-After is 600 s, the
            // shortest lifetime of those measured is longer.
            let due = self.clients.iter().map(|c| c.not_before).max().unwrap_or_default();
            self.now = due + Duration::from_secs(1);
            let mut order: Vec<usize> = (FIRST..self.clients.len()).collect();
            for i in (1..order.len()).rev() {
                order.swap(i, rng.below(i as u64 + 1) as usize);
            }
            order.truncate(samples - times.len());
            for client in order {
                let known = self.clients[client].clone();
                let began = now();
                let told = self.ask(0, Some(&known));
                times.push(began.elapsed().as_secs_f64() * 1e6);
                self.clients[client] = told.expect("a client inside its window keeps its place");
            }
        }
        times
    }

    /// What a position costs when the line is a plain list: microseconds.
    fn scan(&self, samples: usize) -> f64 {
        let line: Vec<Guid> = self.clients.iter().map(|c| c.ticket).collect();
        let mut rng = Rng::new(3);
        let mut times = Vec::with_capacity(samples);
        for _ in 0..samples {
            let wanted = line[rng.below(line.len() as u64) as usize];
            let began = now();
            let found = std::hint::black_box(&line).iter().position(|ticket| *ticket == wanted);
            times.push(began.elapsed().as_secs_f64() * 1e6);
            assert!(std::hint::black_box(found).is_some());
        }
        median(&mut times)
    }
}
