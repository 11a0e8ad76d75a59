//! Whole lives of two or three endpoints, drawn from a seed: bad links,
//! forgotten entries, closes, restarts, applications that do not read. First
//! with faults, then without: by then everything is delivered or named.

use crate::unicast_support;

use std::collections::{BTreeMap, BTreeSet};

use servent_core::rng::Rng;
use servent_core::time::Duration;
use servent_core::unicast::{
    Config, Congestion, DeliveryOrder, Event, Input, Side, UnicastConnId, UnicastPayload,
};
use unicast_support::{Link, PROFILES, World, addr, config, number};

struct Life {
    world: World,
    dice: Rng,
    /// The next message of each pair.
    next: BTreeMap<(usize, usize), u64>,
    /// One end lost all memory, so a message may come twice or go missing.
    restarted: bool,
}

fn draw(seed: u64, restarts: bool) -> Life {
    let mut dice = Rng::new(seed);
    let profile = *dice.pick(&PROFILES).unwrap();
    let small = dice.chance(1, 3);
    let congestion =
        *dice.pick(&[Congestion::None, Congestion::Cubic, Congestion::Fixed(4_000)]).unwrap();
    let mut config = Config { congestion, ..config(profile) };
    config.mtu = *dice.pick(&[200, 576, 1_400, 9_000]).unwrap();
    config.unreachable = Duration::from_secs(30);
    if small {
        config.send_messages = 40;
        config.send_bytes = 8_000;
        config.recv_messages = 20;
        config.recv_bytes = 6_000;
        config.max_message = 2_000;
    }
    let nodes = 2 + dice.below(2) as usize;
    let mut world = World::new(config, nodes, seed);
    world.link = Link {
        delay: Duration::from_micros(dice.between(50, 80_000)),
        jitter: Duration::from_micros(dice.below(40_000)),
        loss: dice.below(300),
        twice: dice.below(100),
    };
    let restarted = restarts && dice.chance(1, 2);
    Life { world, dice, next: BTreeMap::new(), restarted }
}

impl Life {
    fn pair(&mut self) -> (usize, usize) {
        let nodes = self.world.nodes.len() as u64;
        let from = self.dice.below(nodes);
        let to = (from + self.dice.between(1, nodes - 1)) % nodes;
        (from as usize, to as usize)
    }

    fn send(&mut self) {
        let (from, to) = self.pair();
        for _ in 0..self.dice.between(1, 20) {
            let n = self.next.entry((from, to)).or_default();
            let long = self.dice.chance(1, 20);
            let length = 8 + if long { self.dice.below(1_900) } else { self.dice.below(40) };
            let mut bytes = vec![*n as u8; length as usize];
            bytes[..8].copy_from_slice(&n.to_be_bytes());
            let order =
                if self.dice.chance(1, 8) { DeliveryOrder::AtOnce } else { DeliveryOrder::InOrder };
            let payload = UnicastPayload::from(bytes);
            let refused = self.world.nodes[from].refused.len();
            self.world.input(from, Input::Send { peer: addr(to), payload, order });
            *n += u64::from(self.world.nodes[from].refused.len() == refused);
        }
        self.world.flush(from);
    }

    fn fault(&mut self) {
        let (at, of) = self.pair();
        match self.dice.below(5) {
            0 => self.world.input(at, Input::Close { peer: addr(of) }),
            1 => {
                let side = Side::Receiver;
                self.world.input(at, Input::Forget { peer: addr(of), side });
            }
            2 if self.restarted => self.world.restart(at),
            3 => self.world.link.loss = self.dice.below(500),
            _ => self.world.nodes[at].takes = false,
        }
    }

    fn live(&mut self) {
        for _ in 0..40 {
            for _ in 0..self.dice.below(4) {
                self.send();
            }
            if self.dice.chance(1, 10) {
                self.fault();
            }
            let pause = self.dice.below(400_000);
            self.world.run(Duration::from_micros(pause));
        }
        // No more faults; all ends read again.
        self.world.link.loss = 0;
        self.world.link.twice = 0;
        for n in 0..self.world.nodes.len() {
            self.world.nodes[n].takes = true;
            for other in 0..self.world.nodes.len() {
                let (messages, bytes) = (u64::MAX, u64::MAX);
                self.world.input(n, Input::Taken { peer: addr(other), messages, bytes });
            }
            self.world.flush(n);
        }
        self.world.run_secs(150);
    }

    /// In order and once for each connection, and everything is there.
    fn judge(&self, seed: u64) {
        for (at, node) in self.world.nodes.iter().enumerate() {
            let mut in_order: BTreeMap<(usize, UnicastConnId), u64> = BTreeMap::new();
            let mut seen = BTreeSet::new();
            for got in &node.got {
                let n = number(&got.payload);
                let whole = got.payload[8..].iter().all(|byte| *byte == n as u8);
                assert!(whole, "{seed}: message {n} is damaged");
                if got.order == DeliveryOrder::InOrder
                    && let Some(before) = in_order.insert((got.from, got.conn), n)
                {
                    assert!(before < n, "{seed}: {n} after {before}");
                }
                let new = seen.insert((got.from, got.conn, n));
                assert!(new, "{seed}: {n} from {} twice at {at}", got.from);
            }
        }
        if !self.restarted {
            self.judge_complete(seed);
        }
    }

    fn judge_complete(&self, seed: u64) {
        for (&(from, to), &sent) in &self.next {
            let got: BTreeSet<u64> = self.world.numbers(to, from).into_iter().collect();
            let copies = self.world.numbers(to, from).len();
            assert_eq!(copies, got.len(), "{seed}: exactly once");
            let named = self.world.found(from, |event| match event {
                Event::Undelivered { peer, from, to: last, .. } if *peer == addr(to) => {
                    Some(last - from + 1)
                }
                _ => None,
            });
            let named: u64 = named.into_iter().map(|(_, count)| count).sum();
            let torn =
                |e: &Event| matches!(e, Event::Undelivered { peer, .. } if *peer == addr(from));
            let named = named + self.world.count(to, torn) as u64;
            let missing = sent - got.len() as u64;
            assert!(missing <= named, "{seed}: {missing} of {sent} missing, {named} named");
            assert_eq!(self.world.unacked(from, to), 0, "{seed}: {from} to {to}");
        }
    }

    /// No end sends for ever.
    fn rest(&mut self, seed: u64) {
        self.world.run_secs(200);
        let quiet = self.world.datagrams;
        self.world.run_secs(2_000);
        assert_eq!(self.world.datagrams, quiet, "{seed}: it never becomes quiet");
        for node in &self.world.nodes {
            assert!(node.endpoint.view().is_empty(), "{seed}: {:?}", node.endpoint.view());
            assert_eq!(node.endpoint.held(), 0);
        }
    }
}

fn lives(seeds: std::ops::Range<u64>, restarts: bool) {
    for seed in seeds {
        let mut life = draw(seed, restarts);
        life.live();
        life.judge(seed);
        life.rest(seed);
        life.judge(seed);
    }
}

#[test]
fn everything_is_delivered_or_named() {
    lives(0..SEEDS, false);
}

#[test]
fn restarts_do_not_disturb_the_order_of_others() {
    lives(10_000..10_000 + SEEDS / 2, true);
}

const SEEDS: u64 = 60;
