//! Messages a second without sockets: both ends in one thread, with and
//! without the bytes of the datagrams.

use std::collections::VecDeque;
use std::hint::black_box;
use std::net::SocketAddr;
use std::time::Instant as Clock;

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::unicast::{
    Config, Congestion, DeliveryOrder, Endpoint, Event, Input, Output, UnicastPayload,
};
use servent_core::wire::unicast::Packet;

use crate::measure::{median, now};
use crate::report::{Report, Target};

/// Messages in one turn of the sender.
const TURN: u64 = 512;
/// The least part of the messages a second that only pass two queues, as both ends have
/// them: a figure that is much the same on a fast and on a slow machine.
const OF_A_QUEUE: f64 = 0.1;

struct Pair {
    ends: [Endpoint; 2],
    addrs: [SocketAddr; 2],
    now: Instant,
    /// Through bytes, not only through packets.
    coded: bool,
    buffer: Vec<u8>,
    fx: Fx<Output, Event>,
    delivered: u64,
    /// Messages of this turn that the sender had no room for.
    refused: u64,
    /// It has none until it says that it has.
    full: bool,
}

impl Pair {
    fn new(mtu: u32, coded: bool) -> Self {
        let config = Config { mtu, congestion: Congestion::None, ..Config::default() };
        let end = |seed| Endpoint::new(config.clone(), Rng::new(seed));
        let addr = |n: u8| SocketAddr::from(([10, 0, 0, n], 7_000));
        Self {
            ends: [end(1), end(2)],
            addrs: [addr(1), addr(2)],
            now: Instant::from_secs(1),
            coded,
            buffer: Vec::new(),
            fx: Fx::new(),
            delivered: 0,
            refused: 0,
            full: false,
        }
    }

    /// Carries out everything the ends want, until they want nothing.
    fn settle(&mut self, from: usize, fx: &mut Fx<Output, Event>) {
        let mut back = Fx::new();
        let (mut messages, mut bytes) = (0, 0);
        for effect in fx.drain() {
            match effect {
                Effect::Output(Output::Packet { packet, .. }) => {
                    let (packet, length) = self.carry(packet);
                    let input = Input::Packet { peer: self.addrs[from], packet, bytes: length };
                    self.ends[1 - from].handle(self.now, input, &mut back);
                }
                Effect::Output(Output::Deliver { payload, .. }) => {
                    messages += 1;
                    bytes += payload.len() as u64;
                }
                Effect::Output(Output::Refused { .. }) => {
                    (self.refused, self.full) = (self.refused + 1, true);
                }
                Effect::Output(Output::Writable { .. }) => self.full = false,
                Effect::Event(_) => {}
            }
        }
        self.delivered += messages;
        if messages > 0 {
            let input = Input::Taken { peer: self.addrs[1 - from], messages, bytes };
            self.ends[from].handle(self.now, input, &mut back);
        }
        self.ends[1 - from].handle(self.now, Input::Flush, &mut back);
        if !back.is_empty() {
            self.settle(1 - from, &mut back);
        }
    }

    fn carry(&mut self, packet: Packet) -> (Packet, u32) {
        if !self.coded {
            return (packet, 1_400);
        }
        self.buffer.clear();
        let seal = &self.ends[0].config().seal;
        packet.encode(seal, &mut self.buffer);
        let datagram = UnicastPayload::copy_from_slice(&self.buffer);
        let packet = Packet::parse(&datagram, seal).expect("our own datagram");
        (packet, datagram.len() as u32)
    }

    fn run(&mut self, messages: u64, payload: &UnicastPayload) {
        let mut sent = 0;
        while self.delivered < messages {
            let mut fx = core::mem::take(&mut self.fx);
            let turn = if self.full { 0 } else { TURN.min(messages - sent) };
            for _ in 0..turn {
                let (peer, payload) = (self.addrs[1], payload.clone());
                let input = Input::Send { peer, payload, order: DeliveryOrder::InOrder };
                self.ends[0].handle(self.now, input, &mut fx);
                sent += 1;
            }
            self.ends[0].handle(self.now, Input::Flush, &mut fx);
            self.settle(0, &mut fx);
            self.fx = fx;
            sent -= core::mem::take(&mut self.refused);
            self.now += Duration::from_micros(50);
            for end in 0..2 {
                if self.ends[end].poll_timeout().is_some_and(|(at, _)| at <= self.now) {
                    let mut fx = Fx::new();
                    self.ends[end].handle_timeout(self.now, &mut fx);
                    self.settle(end, &mut fx);
                }
            }
        }
    }
}

/// Seconds this thread has had a processor, so that a busy machine does not
/// count; the plain clock where the system does not say.
fn seconds(since: Clock) -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = stat.split(' ').next().and_then(|n| n.parse::<f64>().ok());
    nanos.map_or_else(|| since.elapsed().as_secs_f64(), |nanos| nanos / 1e9)
}

/// By blocks, and through bytes.
pub(super) fn run(report: &mut Report, quick: bool) {
    report.note("the engine without sockets");
    let messages = if quick { 500_000 } else { 2_000_000 };
    for (size, mtu, coded) in
        [(100, 65_000, false), (100, 65_000, true), (100, 1_400, true), (1_024, 65_000, true)]
    {
        let (mut rates, mut queued): (Vec<f64>, Vec<f64>) =
            (0..3).map(|_| (rate(size, mtu, coded, messages), queue_rate(size, messages))).unzip();
        let what = if coded { "through bytes" } else { "blocks only" };
        let case = format!("engine, both ends in a thread, {size} B, {mtu} B datagrams, {what}");
        let target = if coded { Target::None } else { Target::RatioAtLeast(OF_A_QUEUE) };
        let beside = ("two queues, which they only pass", Some(median(&mut queued)));
        report.add(("unicast", case, "messages/s"), median(&mut rates), beside, &target);
    }
}

fn rate(size: usize, mtu: u32, coded: bool, messages: u64) -> f64 {
    let start = now();
    let payload = UnicastPayload::from(vec![7; size]);
    let mut pair = Pair::new(mtu, coded);
    pair.run(100_000, &payload);
    let begin = seconds(start);
    pair.delivered = 0;
    pair.run(messages, &payload);
    messages as f64 / (seconds(start) - begin)
}

/// Messages a second that do no more than wait in two queues, one after the other.
fn queue_rate(size: usize, messages: u64) -> f64 {
    let start = now();
    let payload = UnicastPayload::from(vec![7; size]);
    let (mut sent, mut arrived) = (VecDeque::new(), VecDeque::new());
    let begin = seconds(start);
    for _ in 0..messages / TURN {
        sent.extend((0..TURN).map(|_| payload.clone()));
        arrived.extend(sent.drain(..));
        arrived.drain(..).for_each(|message| drop(black_box(message)));
    }
    (messages / TURN * TURN) as f64 / (seconds(start) - begin)
}
