//! Endpoints on bad links, with small windows, strangers and applications that
//! do not read.

use std::fmt::Write as _;
use std::net::SocketAddr;

use servent_core::rng::Rng;
use servent_core::time::Duration;
use servent_core::unicast::{
    Config, Congestion, DeliveryOrder, Input, Profile, Side, UnicastConnId, UnicastPayload,
};
use servent_core::wire::unicast::{
    Ack, AckCounts, Close, ConnBlock, Data, FirstMessageRequest, MessageFragment, Packet,
};

use crate::unicast_support::{Fate, Link, World, addr, config};

struct Life {
    world: World,
    dice: Rng,
    nodes: u64,
    sent: u64,
}

fn drawn(dice: &mut Rng, profile: Profile) -> Config {
    let congestion = [Congestion::None, Congestion::Cubic, Congestion::Fixed(4_000)];
    let mut config = Config { congestion: *dice.pick(&congestion).unwrap(), ..config(profile) };
    config.mtu = *dice.pick(&[200, 576, 1_400]).unwrap();
    config.prove = dice.chance(1, 3);
    config.trace_messages = dice.chance(1, 2);
    config.unreachable = Duration::from_secs(dice.between(4, 12));
    config.conn_expiry = Duration::from_secs(dice.between(0, 2) * 20);
    config.conn_close = Duration::from_secs(dice.between(2, 20));
    config.tombstones = dice.between(1, 6) as u32;
    config.tombstone_time = Duration::from_secs(dice.between(5, 60));
    config.farewells = dice.between(1, 3) as u32;
    config.peers = dice.between(2, 6) as u32;
    config.peers_per_ip = dice.between(1, 3) as u32;
    config.reorder = dice.between(0, 4) as u32;
    config.answer_messages = dice.between(2, 40) as u32;
    config.request_ranges = dice.between(1, 20) as u32;
    config.request_packets = dice.between(1, 3) as u32;
    config.initial_messages = dice.between(4, 60) as u32;
    config.initial_flight = dice.between(2_000, 20_000);
    config.recv_total = dice.between(4_000, 40_000);
    config.time_scale = if dice.chance(1, 6) { 3 } else { 1 };
    if dice.chance(1, 2) {
        config.send_messages = 40;
        config.send_bytes = 8_000;
        config.recv_messages = 20;
        config.recv_bytes = 6_000;
        config.max_message = 2_000;
    }
    config
}

impl Life {
    fn new(seed: u64, profile: Profile) -> Self {
        let mut dice = Rng::new(seed);
        let config = drawn(&mut dice, profile);
        let nodes = dice.between(2, 3);
        let mut world = World::new(config, nodes as usize, seed);
        world.link = Link {
            delay: Duration::from_micros(dice.between(50, 80_000)),
            jitter: Duration::from_micros(dice.below(40_000)),
            loss: dice.below(200),
            twice: dice.below(100),
        };
        let mut late = dice.fork("late", 0);
        world.hook(move |_, _| match late.below(40) {
            0 => Fate::Late(Duration::from_millis(late.below(900))),
            1 => Fate::Drop,
            _ => Fate::Pass,
        });
        Self { world, dice, nodes, sent: 0 }
    }

    fn pair(&mut self) -> (usize, usize) {
        let from = self.dice.below(self.nodes);
        let to = (from + self.dice.between(1, self.nodes - 1)) % self.nodes;
        (from as usize, to as usize)
    }

    fn send(&mut self) {
        let (from, to) = self.pair();
        let stranger = self.dice.chance(1, 40);
        let peer = if stranger { addr(20 + self.dice.below(3) as usize) } else { addr(to) };
        for _ in 0..self.dice.between(1, 20) {
            let length = match self.dice.below(40) {
                0 => 300_000,
                1 | 2 => self.dice.below(1_900),
                _ => self.dice.below(60),
            };
            self.sent += 1;
            let payload = UnicastPayload::from(vec![self.sent as u8; length as usize + 8]);
            let order =
                if self.dice.chance(1, 8) { DeliveryOrder::AtOnce } else { DeliveryOrder::InOrder };
            self.world.input(from, Input::Send { peer, payload, order });
        }
        self.world.flush(from);
    }

    /// A block about a connection that exists, or about none.
    fn block(&mut self, at: usize) -> ConnBlock {
        let senders: Vec<(UnicastConnId, u64)> = (0..self.nodes as usize)
            .filter_map(|other| self.world.nodes[other].endpoint.sending(addr(at)))
            .chain((0..9).filter_map(|n| self.world.nodes[at].endpoint.sending(addr(n))))
            .collect();
        let unknown = (UnicastConnId(self.dice.below(3)), 9);
        let (conn, last) = self.dice.pick(&senders).copied().unwrap_or(unknown);
        let near = last.saturating_sub(self.dice.below(6)) + self.dice.below(9);
        match self.dice.below(9) {
            0..3 => {
                let mut message = || MessageFragment {
                    order: if self.dice.chance(1, 4) {
                        DeliveryOrder::AtOnce
                    } else {
                        DeliveryOrder::InOrder
                    },
                    continues: self.dice.chance(1, 6),
                    more: self.dice.chance(1, 6),
                    payload: vec![1; self.dice.below(90) as usize].into(),
                };
                let messages = vec![message(), message()];
                let (first, again) = (self.dice.chance(1, 3), self.dice.chance(1, 3));
                let token = Some(self.dice.below(4)).filter(|_| self.dice.chance(1, 4));
                ConnBlock::Data(Data { conn, seq: near + 1, first, again, token, messages })
            }
            3..6 => {
                let newest = near + self.dice.below(4);
                let wanted = if newest > near { vec![(near + 1, newest)] } else { Vec::new() };
                let (messages, bytes) = (self.dice.below(40), self.dice.below(9_000));
                let delay = self.dice.below(5_000);
                ConnBlock::Ack(Ack {
                    conn,
                    upto: near,
                    newest,
                    delay,
                    messages,
                    bytes,
                    wanted,
                    counts: AckCounts::default(),
                })
            }
            6 => ConnBlock::Request(FirstMessageRequest { conn, token: self.dice.below(4) }),
            7 => ConnBlock::Close(Close { conn, last: near, abandoned: self.dice.chance(1, 2) }),
            _ if self.dice.chance(1, 2) => ConnBlock::Closed { conn, upto: near },
            _ => ConnBlock::Probe { conn, sent: near },
        }
    }

    /// What no honest peer would say.
    fn injects(&mut self) {
        let (at, of) = self.pair();
        let blocks = (0..self.dice.between(1, 3)).map(|_| self.block(at)).collect();
        let known = self.dice.chance(2, 3);
        let from = if known { addr(of) } else { self.stranger() };
        self.world.inject(at, from, Packet { blocks });
    }

    fn stranger(&mut self) -> SocketAddr {
        SocketAddr::from(([10, 0, 1, self.dice.below(2) as u8], 7_000 + self.dice.below(3) as u16))
    }

    fn fault(&mut self) {
        let (at, of) = self.pair();
        let peer = addr(of);
        match self.dice.below(9) {
            0 | 1 => self.world.input(at, Input::Close { peer }),
            2 => self.world.input(at, Input::Forget { peer, side: Side::Receiver }),
            3 => self.world.input(at, Input::Forget { peer, side: Side::Sender }),
            4 if self.dice.chance(1, 3) => self.world.restart(at),
            5 => self.world.link.loss = self.dice.below(500),
            6 => self.world.link.loss = 0,
            7 => self.world.nodes[at].takes = false,
            _ => {
                self.world.nodes[at].takes = true;
                let (messages, bytes) = (self.dice.below(60), self.dice.below(9_000));
                self.world.input(at, Input::Taken { peer, messages, bytes });
                self.world.flush(at);
            }
        }
    }

    fn look(&mut self) {
        let digest = &mut self.world.digest;
        for node in &self.world.nodes {
            let endpoint = &node.endpoint;
            digest.add(&serde_json::to_string(&endpoint.view()).expect("a view is data"));
            digest.add(endpoint.config());
            digest.add(&(endpoint.counters(), endpoint.held(), endpoint.tombstones()));
            for peer in (0..self.world.nodes.len()).map(addr) {
                digest.add(&(endpoint.room(peer), endpoint.rtt(peer), endpoint.sending(peer)));
                digest.add(&format!("{:?}", endpoint.window(peer, 7)));
            }
        }
    }

    fn live(mut self, steps: u64) -> u64 {
        for _ in 0..steps {
            for _ in 0..self.dice.below(4) {
                self.send();
            }
            if self.dice.chance(1, 7) {
                self.fault();
            }
            if self.dice.chance(1, 9) {
                self.injects();
            }
            let long = self.dice.chance(1, 30);
            let most = if long { 40_000_000 } else { 300_000 };
            let pause = self.dice.below(most);
            self.world.run(Duration::from_micros(pause));
            self.look();
        }
        self.world.run_secs(100);
        self.look();
        self.world.digest.value()
    }
}

#[test]
fn drawn_endpoints_repair_as_they_did() {
    let mut now = String::new();
    for (profile, name) in [(Profile::Adaptive, "adaptive"), (Profile::Unicast3, "unicast3")] {
        for seed in 0..14 {
            writeln!(now, "{name} {seed} {:016x}", Life::new(seed, profile).live(60)).unwrap();
        }
    }
    super::compare("unicast", include_str!("unicast.txt"), &now);
}
