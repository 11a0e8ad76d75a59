//! The engines of a swarm: clients, and the coordinator as the last node.

use alloc::boxed::Box;

use servent_core::engine::{Effect, Engine, Fx, FxOf};
use servent_core::swarm::{self, Manager, client};
use servent_core::time::Instant;

/// What stands behind a node: as in the program, a client or the coordinator.
#[derive(Debug, Clone)]
pub enum Host {
    /// Somebody who wants the file.
    Client(Box<client::Client>),
    /// Who says what is sent where.
    Coordinator(Box<Manager>),
}

/// What can happen to either.
#[derive(Debug, Clone)]
pub enum Input {
    /// To a client.
    Client(client::Input),
    /// To the coordinator.
    Coordinator(swarm::Input),
}

/// What either asks for.
#[derive(Debug, Clone)]
pub enum Output {
    /// A client.
    Client(client::Output),
    /// The coordinator.
    Coordinator(swarm::Output),
}

/// What either tells.
#[derive(Debug, Clone)]
pub enum Told {
    /// A client.
    Client(client::Event),
    /// The coordinator.
    Coordinator(swarm::Event),
}

/// Hands on the effects of one of the two as those of a host.
fn pass<O, E>(
    mut from: Fx<O, E>,
    to: &mut Fx<Output, Told>,
    output: fn(O) -> Output,
    event: fn(E) -> Told,
) {
    for effect in from.drain() {
        match effect {
            Effect::Output(it) => to.output(output(it)),
            Effect::Event(it) => to.event(event(it)),
        }
    }
}

impl Engine for Host {
    type Input = Input;
    type Output = Output;
    type Event = Told;

    fn handle(&mut self, now: Instant, input: Input, fx: &mut FxOf<Self>) {
        match (self, input) {
            (Self::Client(client), Input::Client(input)) => {
                let mut own = Fx::new();
                client.handle(now, input, &mut own);
                pass(own, fx, Output::Client, Told::Client);
            }
            (Self::Coordinator(coordinator), Input::Coordinator(input)) => {
                let mut own = Fx::new();
                coordinator.handle(now, input, &mut own);
                pass(own, fx, Output::Coordinator, Told::Coordinator);
            }
            (host, input) => panic!("{input:?} is not for {host:?}"),
        }
    }

    fn handle_timeout(&mut self, now: Instant, fx: &mut FxOf<Self>) {
        match self {
            Self::Client(client) => {
                let mut own = Fx::new();
                client.handle_timeout(now, &mut own);
                pass(own, fx, Output::Client, Told::Client);
            }
            Self::Coordinator(coordinator) => {
                let mut own = Fx::new();
                coordinator.handle_timeout(now, &mut own);
                pass(own, fx, Output::Coordinator, Told::Coordinator);
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
