//! Reliable, ordered messages over two UDP sockets of our own (UNICAST3): the engine
//! decides, and this host of forty lines moves bytes and reads the clock.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration as Pause, Instant as Clock};

use servent_core::engine::{Effect, Engine, Fx};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::unicast::{
    Config, DeliveryOrder, Endpoint, Event, Input, Output, UnicastPayload,
};
use servent_core::wire::unicast::{Packet, Seal};

struct Host {
    socket: UdpSocket,
    endpoint: Endpoint,
    fx: Fx<Output, Event>,
    delivered: Vec<UnicastPayload>,
}

impl Host {
    fn new(seed: u64) -> std::io::Result<Self> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.set_read_timeout(Some(Pause::from_millis(1)))?;
        let endpoint = Endpoint::new(Config::default(), Rng::new(seed));
        Ok(Self { socket, endpoint, fx: Fx::new(), delivered: Vec::new() })
    }

    fn send(&mut self, now: Instant, peer: SocketAddr, text: String) {
        let (payload, order) = (UnicastPayload::from(text), DeliveryOrder::InOrder);
        self.endpoint.handle(now, Input::Send { peer, payload, order }, &mut self.fx);
    }

    /// One turn: what was received, what is due, then whatever is to be done.
    fn turn(&mut self, now: Instant) -> std::io::Result<()> {
        let mut buffer = [0; 2_048];
        if let Ok((length, peer)) = self.socket.recv_from(&mut buffer) {
            let datagram = UnicastPayload::copy_from_slice(&buffer[..length]);
            if let Ok(packet) = Packet::parse(&datagram, &Seal::None) {
                let input = Input::Packet { peer, packet, bytes: length as u32 };
                self.endpoint.handle(now, input, &mut self.fx);
            }
        }
        self.endpoint.handle(now, Input::Flush, &mut self.fx);
        if self.endpoint.poll_timeout().is_some_and(|(due, _)| due <= now) {
            self.endpoint.handle_timeout(now, &mut self.fx);
        }
        let mut taken = Vec::new();
        for effect in self.fx.drain() {
            match effect {
                Effect::Output(Output::Packet { peer, packet }) => {
                    let mut datagram = Vec::new();
                    packet.encode(&Seal::None, &mut datagram);
                    self.socket.send_to(&datagram, peer)?;
                }
                Effect::Output(Output::Deliver { peer, payload, .. }) => {
                    taken.push(Input::Taken { peer, messages: 1, bytes: payload.len() as u64 });
                    self.delivered.push(payload);
                }
                Effect::Output(other) => println!("to do: {other:?}"),
                Effect::Event(_) => {} // For logs and metrics.
            }
        }
        // Without this the window of the peer closes.
        taken.into_iter().for_each(|input| self.endpoint.handle(now, input, &mut self.fx));
        Ok(())
    }
}

#[allow(clippy::disallowed_methods)] // A host reads the clock; here it is this function.
pub(crate) fn main() -> std::io::Result<()> {
    let (mut alice, mut bob) = (Host::new(1)?, Host::new(2)?);
    let begun = Clock::now();
    let clock =
        || Instant::from_secs(1_000) + Duration::from_micros(begun.elapsed().as_micros() as u64);
    let to = bob.socket.local_addr()?;
    (1..=100).for_each(|n| alice.send(clock(), to, format!("message {n}")));
    while bob.delivered.len() < 100 && begun.elapsed() < Pause::from_secs(10) {
        alice.turn(clock())?;
        bob.turn(clock())?;
    }
    let whole = (1..=100).zip(&bob.delivered).all(|(n, it)| *it == format!("message {n}"));
    assert!(whole && bob.delivered.len() == 100, "each once, in order");
    println!("100 messages, each once and in order, in {:?}", begun.elapsed());
    Ok(())
}
