//! Datagrams from strangers, to an endpoint that talks to a peer meanwhile:
//! nothing is read two ways, and no stranger holds more than the limits.
#![no_main]

use std::net::SocketAddr;

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::unicast::{
    Config, Congestion, DeliveryOrder, Endpoint, Event, Input, Output, Profile, Side,
    UnicastConnId, UnicastPayload,
};
use servent_core::wire::unicast::{
    ConnBlock, Data, MessageFragment, Packet, Seal, begins_with_messages,
};

/// Most effects of one input.
const EFFECTS: usize = 5_000;
/// Peers there are.
const PEERS: u8 = 4;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let datagram = UnicastPayload::copy_from_slice(data);
    for seal in [Seal::None, Seal::Checksum, Seal::Key(1, 2)] {
        if let Ok(packet) = Packet::parse(&datagram, &seal) {
            reads_back(&packet, &seal);
        }
    }
    Play::new(data).run();
});

fn reads_back(packet: &Packet, seal: &Seal) {
    let mut bytes = Vec::new();
    packet.encode(seal, &mut bytes);
    let again =
        Packet::parse(&UnicastPayload::from(bytes), seal).expect("what we write can be read");
    assert_eq!(&again, packet, "it reads back as it was");
}

struct Play<'a> {
    data: &'a [u8],
    endpoint: Endpoint,
    now: Instant,
    /// Ids that were seen on datagrams of the endpoint.
    known: Vec<UnicastConnId>,
    /// What it has asked of addresses: a token cannot be guessed, but the host that
    /// is there reads it.
    asked: Vec<(SocketAddr, ConnBlock)>,
}

impl<'a> Play<'a> {
    fn new(mut data: &'a [u8]) -> Self {
        let choice = byte(&mut data).unwrap_or_default();
        let profile = match choice & 1 {
            0 => Profile::Adaptive,
            _ => Profile::Unicast3,
        };
        // With a floor the size of datagrams is searched for.
        let mtu_floor = u32::from(choice & 2) * 100;
        // Marks of congestion reach the one controller or the other.
        let congestion = if choice & 4 == 0 { Congestion::Bbr } else { Congestion::Cubic };
        let config = Config {
            profile,
            congestion,
            prove: choice & 8 != 0,
            mtu_floor,
            max_message: 300,
            send_messages: 20,
            send_bytes: 4_000,
            recv_messages: 20,
            recv_bytes: 2_000,
            recv_total: 3_000,
            peers: u32::from(PEERS) - 1,
            tombstones: 3,
            ..Config::default()
        };
        let endpoint = Endpoint::new(config, Rng::new(1));
        let now = Instant::from_secs(1);
        Self { data, endpoint, now, known: Vec::new(), asked: Vec::new() }
    }

    fn run(mut self) {
        while let Some(op) = byte(&mut self.data) {
            let peer = SocketAddr::from(([10, 0, 0, op >> 5 & (PEERS - 1)], 9));
            match op & 7 {
                0..=2 => self.datagram(peer),
                3 if op & 8 == 0 => self.say(peer),
                3 => self.answer(peer),
                4 if op & 24 == 0 => self.give(Input::Close { peer }),
                4 if op & 8 == 0 => self.give(Input::Abandon { peer }),
                4 if op & 16 == 0 => self.give(Input::Marked { peer, datagrams: 2 }),
                4 => self.give(Input::TestMarks { peer, datagrams: 2 }),
                5 if op & 8 != 0 => {
                    let bytes = u32::from(byte(&mut self.data).unwrap_or_default()) * 8;
                    self.give(Input::TooLarge { peer, bytes });
                }
                5 => self.give(Input::Taken { peer, messages: 5, bytes: 500 }),
                6 => {
                    let side = if op & 8 == 0 { Side::Sender } else { Side::Receiver };
                    self.give(Input::Forget { peer, side });
                }
                _ => self.wait(),
            }
            self.give(Input::Flush);
            let Config { recv_total, tombstones, peers, .. } = self.endpoint.config();
            assert!(self.endpoint.held() <= *recv_total, "more is held than may be");
            assert!(self.endpoint.tombstones() <= *tombstones as usize);
            assert!(self.endpoint.view().len() <= *peers as usize);
        }
    }

    /// The next bytes as a datagram; its first id may be one that we know.
    fn datagram(&mut self, peer: SocketAddr) {
        let (Some(which), Some(length)) = (byte(&mut self.data), byte(&mut self.data)) else {
            return;
        };
        let length = usize::from(length).min(self.data.len());
        let (bytes, rest) = self.data.split_at(length);
        self.data = rest;
        let mut bytes = bytes.to_vec();
        if let (Some(conn), Some(place)) = (self.known.get(usize::from(which)), bytes.get_mut(1..9))
        {
            place.copy_from_slice(&conn.0.to_be_bytes());
        }
        let length = bytes.len() as u32;
        if let Ok(packet) = Packet::parse(&UnicastPayload::from(bytes), &Seal::None) {
            self.give(Input::Packet { peer, packet, bytes: length });
        }
    }

    /// An address answers what it was asked last: it gives the token back, or has got
    /// the probe of a size.
    fn answer(&mut self, peer: SocketAddr) {
        let Some(at) = self.asked.iter().rposition(|(to, _)| *to == peer) else { return };
        let answer = match self.asked.remove(at).1 {
            ConnBlock::Challenge { conn, token } => ConnBlock::Response { conn, token },
            ConnBlock::SizeProbe { conn, size } => ConnBlock::SizeFound { conn, size },
            ConnBlock::Request(it) => {
                let order = DeliveryOrder::InOrder;
                let payload = UnicastPayload::from_static(b"first");
                let message = MessageFragment { order, continues: false, more: false, payload };
                let (messages, token) = (vec![message], Some(it.token));
                let data =
                    Data { conn: it.conn, seq: 1, first: true, again: true, token, messages };
                ConnBlock::Data(data)
            }
            _ => return,
        };
        let packet = Packet { blocks: vec![answer] };
        self.give(Input::Packet { peer, packet, bytes: 1_200 });
    }

    fn say(&mut self, peer: SocketAddr) {
        let length = byte(&mut self.data).unwrap_or_default();
        let order = if length % 2 == 0 { DeliveryOrder::InOrder } else { DeliveryOrder::AtOnce };
        let payload = UnicastPayload::from(vec![length; usize::from(length) * 2]);
        self.give(Input::Send { peer, payload, order });
    }

    fn wait(&mut self) {
        let steps = u64::from(byte(&mut self.data).unwrap_or_default());
        let until = self.now + Duration::from_millis(steps * steps);
        for _ in 0..100 {
            let Some((at, _)) = self.endpoint.poll_timeout().filter(|(at, _)| *at <= until) else {
                break;
            };
            self.now = self.now.max(at);
            let mut fx = Fx::new();
            self.endpoint.handle_timeout(self.now, &mut fx);
            self.look(fx);
        }
        self.now = self.now.max(until);
    }

    fn give(&mut self, input: Input) {
        let mut fx = Fx::new();
        self.endpoint.handle(self.now, input, &mut fx);
        self.look(fx);
    }

    fn look(&mut self, mut fx: Fx<Output, Event>) {
        let mut effects = 0;
        let mtu = self.endpoint.config().mtu as usize;
        for effect in fx.drain() {
            effects += 1;
            if let Effect::Output(Output::Packet { peer, packet }) = effect {
                let mut bytes = Vec::new();
                packet.encode(&Seal::None, &mut bytes);
                assert!(bytes.len() <= mtu, "a datagram of {} bytes", bytes.len());
                reads_back(&packet, &Seal::None);
                let data = matches!(packet.blocks[0], ConnBlock::Data(_));
                assert_eq!(begins_with_messages(&bytes), data, "it may be marked, or not");
                for block in &packet.blocks {
                    let asks = matches!(
                        block,
                        ConnBlock::Challenge { .. }
                            | ConnBlock::SizeProbe { .. }
                            | ConnBlock::Request(_)
                    );
                    if asks && self.asked.len() < 64 {
                        self.asked.push((peer, block.clone()));
                    }
                }
                for conn in packet.blocks.iter().map(ConnBlock::conn) {
                    if self.known.len() < 256 && !self.known.contains(&conn) {
                        self.known.push(conn);
                    }
                }
            }
        }
        assert!(effects <= EFFECTS, "one input has {effects} effects");
    }
}

fn byte(data: &mut &[u8]) -> Option<u8> {
    let (first, rest) = data.split_first()?;
    *data = rest;
    Some(*first)
}
