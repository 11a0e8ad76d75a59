//! A node that only speaks reliable unicast: datagrams in, datagrams out.
//!
//! It joins [`wire::unicast`](crate::wire::unicast), which knows bytes and no
//! time, with a [`unicast::Endpoint`], which knows time and no
//! bytes. Everything else is the host's: sockets, who reads and who writes.
//!
//! What a host says is an [`Input`]; the messenger answers with [`Output`]s to
//! be carried out in their order. Several inputs make a turn, which
//! [`Input::Flush`] ends; a host that never says so gets the same from
//! [`Engine::handle_timeout`], whose deadline is the present until then.

mod event;
mod io;

use core::net::SocketAddr;

pub use self::event::{Event, NodeEvent};
pub use self::io::{Command, Input, Output};
use crate::engine::{Effect, Engine, Fx, FxOf};
use crate::rng::Rng;
use crate::time::Instant;
use crate::unicast::{self, Config, Endpoint};
use crate::wire::unicast::{Packet, Payload};

/// An endpoint behind bytes.
#[derive(Debug, Clone)]
pub struct Messenger {
    endpoint: Endpoint,
    /// Empty between two calls: kept for its memory alone.
    inner: Fx<unicast::Output, unicast::Event>,
}

impl Messenger {
    /// Without a peer. Ids and tokens follow from `seed`.
    #[must_use]
    pub fn new(config: Config, seed: u64) -> Self {
        Self { endpoint: Endpoint::new(config, Rng::new(seed)), inner: Fx::new() }
    }

    /// The protocol, to be looked at.
    #[must_use]
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn datagram(&mut self, now: Instant, from: SocketAddr, data: &Payload, fx: &mut FxOf<Self>) {
        let bytes = u32::try_from(data.len()).unwrap_or(u32::MAX);
        match Packet::parse(data, &self.endpoint.config().seal) {
            Ok(packet) => {
                let input = unicast::Input::Packet { peer: from, packet, bytes };
                self.endpoint.handle(now, input, &mut self.inner);
            }
            Err(why) => fx.event(Event::Node(NodeEvent::Garbled { from, bytes, why })),
        }
    }

    fn command(&mut self, now: Instant, command: Command) {
        let input = match command {
            Command::Send { to: peer, order, data: payload } => {
                unicast::Input::Send { peer, payload, order }
            }
            Command::Taken { from: peer, messages, bytes } => {
                unicast::Input::Taken { peer, messages, bytes }
            }
            Command::Close { to: peer } => unicast::Input::Close { peer },
            Command::Forget { peer, side } => unicast::Input::Forget { peer, side },
        };
        self.endpoint.handle(now, input, &mut self.inner);
    }

    /// Turns what the endpoint wants into bytes.
    fn print(&mut self, fx: &mut FxOf<Self>) {
        let seal = &self.endpoint.config().seal;
        for effect in self.inner.drain() {
            match effect {
                Effect::Event(event) => fx.event(Event::Unicast(event)),
                Effect::Output(output) => fx.output(match output {
                    unicast::Output::Packet { peer: to, packet } => {
                        let mut data = alloc::vec::Vec::new();
                        packet.encode(seal, &mut data);
                        Output::Datagram { to, data: data.into() }
                    }
                    unicast::Output::Deliver { peer: from, conn, order, payload: data } => {
                        Output::Deliver { from, conn, order, data }
                    }
                    unicast::Output::Refused { peer: to, order, payload: data, why } => {
                        Output::Refused { to, order, data, why }
                    }
                    unicast::Output::Writable { peer: to } => Output::Writable { to },
                }),
            }
        }
    }
}

impl Engine for Messenger {
    type Input = Input;
    type Output = Output;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input, fx: &mut FxOf<Self>) {
        match input {
            Input::Start => fx.event(Event::Node(NodeEvent::Started)),
            Input::Datagram { from, data } => self.datagram(now, from, &data, fx),
            Input::Command(command) => self.command(now, command),
            Input::Flush => self.endpoint.handle(now, unicast::Input::Flush, &mut self.inner),
        }
        self.print(fx);
    }

    fn handle_timeout(&mut self, now: Instant, fx: &mut FxOf<Self>) {
        self.endpoint.handle_timeout(now, &mut self.inner);
        self.print(fx);
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.endpoint.poll_timeout()
    }
}
