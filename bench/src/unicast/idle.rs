//! What peers cost that have nothing to say, and what a word costs: without sockets and in
//! virtual time.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::unicast::{
    Config, DeliveryOrder, Endpoint, Event, Input, Output, UnicastPayload,
};
use servent_core::wire::unicast::Seal;
use stats_alloc::INSTRUMENTED_SYSTEM;

use crate::report::{Report, Target};

const PEERS: u16 = 1_000;
/// Messages by which windows grow, and their bytes.
const MANY: u32 = 400;
const LONG: usize = 50_000;
/// After so long without a word a window is given back.
const IDLE: Duration = Duration::from_secs(11);
/// The turns of a network without delay.
const TURN: Duration = Duration::from_millis(1);
/// The bytes of a word, and how many are sent.
const WORD: usize = 20;
const WORDS: u32 = 1_000;
/// Bytes of datagrams for a word and its acknowledgement on an open connection, and
/// datagrams: what it cost when this was written, and a twentieth.
const WORD_COSTS: (f64, f64) = (52.9 * 1.05, 2.01 * 1.05);

/// Memory of idle peers, and words.
pub(super) fn run(report: &mut Report) -> Result<()> {
    report.note("a thousand idle peers");
    let [fresh, idle] = [(1, WORD), (MANY, LONG)].map(|(messages, bytes)| rested(messages, bytes));
    let (fresh, idle) = (fresh?, idle?);
    let case = format!("{PEERS} idle peers, {} MB behind each: memory of one", MANY / 20);
    let beside = ("one that has said a word", Some(fresh));
    report.add(("unicast", case, "bytes"), idle, beside, &Target::RatioAtMost(1.1));
    let (bytes, datagrams) = words();
    let case = format!("a word of {WORD} bytes on an open connection, and its acknowledgement");
    for (unit, figure, most) in
        [("bytes", bytes, WORD_COSTS.0), ("datagrams", datagrams, WORD_COSTS.1)]
    {
        report.add(("unicast", &*case, unit), figure, ("", None), &Target::AtMost(most));
    }
    Ok(())
}

/// Bytes that both ends keep of a connection that has been idle, after so many messages.
fn rested(messages: u32, bytes: usize) -> Result<f64> {
    let before = live();
    let mut crowd = IdlePeers::new();
    let payload = UnicastPayload::from(vec![7; bytes]);
    let mut grown = 0;
    for peer in 0..PEERS {
        crowd.talk(peer, messages, &payload);
        grown = grown.max(crowd.server.grown());
    }
    ensure!((grown > 0) == (messages > 1), "a window has grown by {grown} bytes");
    crowd.rest();
    ensure!(crowd.server.view().len() == usize::from(PEERS), "one was forgotten");
    ensure!(crowd.server.grown() == 0, "a window was not given back");
    Ok((live() - before) / f64::from(PEERS))
}

/// Bytes allocated now.
fn live() -> f64 {
    let stats = INSTRUMENTED_SYSTEM.stats();
    stats.bytes_allocated as f64 - stats.bytes_deallocated as f64
}

/// Bytes and datagrams for a word, both ways.
fn words() -> (f64, f64) {
    let mut crowd = IdlePeers::new();
    let payload = UnicastPayload::from(vec![7; WORD]);
    crowd.talk(0, 1, &payload);
    (crowd.bytes, crowd.datagrams) = (0, 0);
    for _ in 0..WORDS {
        crowd.talk(0, 1, &payload);
        crowd.now += Duration::from_millis(20);
    }
    (crowd.bytes as f64 / f64::from(WORDS), crowd.datagrams as f64 / f64::from(WORDS))
}

/// A server and its clients, on a network without delay.
struct IdlePeers {
    server: Endpoint,
    clients: Vec<Endpoint>,
    now: Instant,
    /// What the datagrams had, ever.
    bytes: u64,
    datagrams: u64,
}

fn server() -> SocketAddr {
    ([10, 0, 0, 1], 7_000).into()
}

fn client(number: u16) -> SocketAddr {
    let [high, low] = number.to_be_bytes();
    ([10, 1, high, low], 7_000).into()
}

impl IdlePeers {
    fn new() -> Self {
        let end = |seed| Endpoint::new(Config { mtu: 60_000, ..Config::default() }, Rng::new(seed));
        let clients = (0..u64::from(PEERS)).map(|number| end(number + 2)).collect();
        let now = Instant::from_secs(1);
        Self { server: end(1), clients, now, bytes: 0, datagrams: 0 }
    }

    /// A client sends so many messages, until all are acknowledged.
    fn talk(&mut self, from: u16, messages: u32, payload: &UnicastPayload) {
        let (mut fx, mut left, order) = (Fx::new(), messages, DeliveryOrder::InOrder);
        loop {
            let end = &mut self.clients[usize::from(from)];
            while left > 0 && end.room(server()).bytes >= payload.len() as u64 {
                let (peer, payload) = (server(), payload.clone());
                end.handle(self.now, Input::Send { peer, payload, order }, &mut fx);
                left -= 1;
            }
            self.turn(from, &mut fx);
            if left == 0 && self.clients[usize::from(from)].unacknowledged(server()).0 == 0 {
                return;
            }
            self.now += TURN;
        }
    }

    /// Everything that has to be said is said, and heard.
    fn turn(&mut self, from: u16, there: &mut Fx<Output, Event>) {
        let (now, mut back) = (self.now, Fx::new());
        loop {
            let Self { server: end, clients, .. } = self;
            let one = &mut clients[usize::from(from)];
            one.handle(now, Input::Flush, there);
            one.handle_timeout(now, there);
            end.handle(now, Input::Flush, &mut back);
            end.handle_timeout(now, &mut back);
            if there.is_empty() && back.is_empty() {
                return;
            }
            self.carry((client(from), there), None, &mut back);
            self.carry((server(), &mut back), Some(from), there);
        }
    }

    /// Hands over what one end has said; to a client, or to the server.
    fn carry(
        &mut self,
        (peer, said): (SocketAddr, &mut Fx<Output, Event>),
        to: Option<u16>,
        answers: &mut Fx<Output, Event>,
    ) {
        let (mut taken, mut buffer) = ((0, 0), Vec::new());
        for effect in said.drain() {
            match effect {
                Effect::Output(Output::Packet { packet, .. }) => {
                    buffer.clear();
                    packet.encode(&Seal::None, &mut buffer);
                    let bytes = buffer.len() as u32;
                    (self.bytes, self.datagrams) =
                        (self.bytes + u64::from(bytes), self.datagrams + 1);
                    let end = match to {
                        Some(number) => &mut self.clients[usize::from(number)],
                        None => &mut self.server,
                    };
                    end.handle(self.now, Input::Packet { peer, packet, bytes }, answers);
                }
                Effect::Output(Output::Deliver { payload, .. }) => {
                    taken = (taken.0 + 1, taken.1 + payload.len() as u64);
                }
                _ => {}
            }
        }
        if let (Some(number), (messages @ 1.., bytes)) = (to, taken) {
            // The server's application has consumed it.
            let peer = client(number);
            self.server.handle(self.now, Input::Taken { peer, messages, bytes }, answers);
        }
    }

    /// Nothing is said for long.
    fn rest(&mut self) {
        let until = self.now + IDLE;
        let mut fx = Fx::new();
        for end in self.clients.iter_mut().chain([&mut self.server]) {
            while let Some((at, _)) = end.poll_timeout().filter(|(at, _)| *at <= until) {
                end.handle_timeout(at.max(self.now), &mut fx);
                fx.drain().for_each(drop);
            }
        }
        self.now = until;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_costs_what_it_cost() {
        let (bytes, datagrams) = words();
        assert!((1.0..=WORD_COSTS.1).contains(&datagrams), "{datagrams} datagrams");
        assert!((WORD_COSTS.0 / 1.2..=WORD_COSTS.0).contains(&bytes), "{bytes} bytes");
    }

    #[test]
    fn idle_peers_cost_what_fresh_ones_cost() {
        let mut crowd = IdlePeers::new();
        let payload = UnicastPayload::from(vec![7; LONG]);
        crowd.talk(0, MANY, &payload);
        assert!(crowd.server.grown() > 0);
        crowd.rest();
        assert_eq!((crowd.server.grown(), crowd.server.view().len()), (0, 1));
    }
}
