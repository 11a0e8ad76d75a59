//! The engines of a swarm: the clients, and the coordinator as the last node.

use alloc::boxed::Box;

use servent_core::engine::{Effect, Engine, Fx, FxOf};
use servent_core::swarm::{self, Manager, client};
use servent_core::time::Instant;

/// The engine of a node: as in the program, a client or the coordinator.
#[derive(Debug, Clone)]
pub enum SwarmHost {
    /// A client that wants the file.
    Client(Box<client::SwarmClient>),
    /// The coordinator, which assigns transfers.
    Coordinator(Box<Manager>),
}

/// The inputs of both.
#[derive(Debug, Clone)]
pub enum Input {
    /// For a client.
    Client(client::Input),
    /// For the coordinator.
    Coordinator(swarm::Input),
}

/// The outputs of both.
#[derive(Debug, Clone)]
pub enum Output {
    /// Of a client.
    Client(client::Output),
    /// Of the coordinator.
    Coordinator(swarm::Output),
}

/// The events of both.
#[derive(Debug, Clone)]
pub enum HostEvent {
    /// Of a client.
    Client(client::Event),
    /// Of the coordinator.
    Coordinator(swarm::Event),
}

/// Converts the effects of one of the two into those of a host.
fn pass<O, E>(
    mut from: Fx<O, E>,
    to: &mut Fx<Output, HostEvent>,
    output: fn(O) -> Output,
    event: fn(E) -> HostEvent,
) {
    for effect in from.drain() {
        match effect {
            Effect::Output(it) => to.output(output(it)),
            Effect::Event(it) => to.event(event(it)),
        }
    }
}

impl Engine for SwarmHost {
    type Input = Input;
    type Output = Output;
    type Event = HostEvent;

    fn handle(&mut self, now: Instant, input: Input, fx: &mut FxOf<Self>) {
        match (self, input) {
            (Self::Client(client), Input::Client(input)) => {
                let mut own = Fx::new();
                client.handle(now, input, &mut own);
                pass(own, fx, Output::Client, HostEvent::Client);
            }
            (Self::Coordinator(coordinator), Input::Coordinator(input)) => {
                let mut own = Fx::new();
                coordinator.handle(now, input, &mut own);
                pass(own, fx, Output::Coordinator, HostEvent::Coordinator);
            }
            (host, input) => panic!("{input:?} is not for {host:?}"),
        }
    }

    fn handle_timeout(&mut self, now: Instant, fx: &mut FxOf<Self>) {
        match self {
            Self::Client(client) => {
                let mut own = Fx::new();
                client.handle_timeout(now, &mut own);
                pass(own, fx, Output::Client, HostEvent::Client);
            }
            Self::Coordinator(coordinator) => {
                let mut own = Fx::new();
                coordinator.handle_timeout(now, &mut own);
                pass(own, fx, Output::Coordinator, HostEvent::Coordinator);
            }
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        match self {
            Self::Client(client) => client.poll_timeout(),
            Self::Coordinator(coordinator) => coordinator.poll_timeout(),
        }
    }
}
