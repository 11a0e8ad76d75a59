//! A recording re-executed once more for a picture, with every message as an event.

use super::player::Player;
use super::tape::Start;
use crate::engine::{Effect, Engine as _, Fx};
use crate::node::{Config, Event, Input, Node, Output};
use crate::time::Instant;

/// One step of the node.
#[derive(Debug)]
pub struct ReplayStep<'a> {
    /// When.
    pub at: Instant,
    /// Its number.
    pub number: usize,
    /// What it was given; `None` where its timers were run.
    pub input: Option<&'a Input>,
    /// What came of it, in order.
    pub effects: &'a [Effect<Output, Event>],
    /// Records on the recording before it, and which of its events are there.
    records: u64,
    traced: TracedEvents,
}

impl ReplayStep<'_> {
    /// All that came of it, each with the number of the newest record by then.
    pub fn numbered(&self) -> impl Iterator<Item = (u64, &Effect<Output, Event>)> {
        let mut next = self.records;
        self.effects.iter().map(move |effect| {
            if let Effect::Event(event) = effect {
                next += u64::from(self.traced.recorded(event));
            }
            (next.saturating_sub(1), effect)
        })
    }

    /// Its events, each with the number of its record; one that is not on the
    /// recording has that of the record before it.
    pub fn events(&self) -> impl Iterator<Item = (u64, &Event)> {
        self.numbered().filter_map(|(record, effect)| match effect {
            Effect::Event(event) => Some((record, event)),
            Effect::Output(_) => None,
        })
    }
}

/// Of which protocols a recording has every message, because its node traced them.
#[derive(Debug, Clone, Copy)]
struct TracedEvents {
    routing: bool,
    unicast: bool,
}

impl TracedEvents {
    fn new(Config { overlay, datagrams, .. }: &Config) -> Self {
        Self {
            routing: overlay.router.trace_messages,
            unicast: datagrams.as_ref().is_some_and(|config| config.trace_messages),
        }
    }

    /// False for events that happen only because they are traced, and were not traced when
    /// the recording was made.
    const fn recorded(self, event: &Event) -> bool {
        use crate::{routing, unicast};
        match event {
            Event::Routing(
                routing::Event::Judged { .. }
                | routing::Event::Sent { .. }
                | routing::Event::Overflow { .. },
            ) => self.routing,
            Event::Unicast(
                unicast::Event::Sent { .. }
                | unicast::Event::Received { .. }
                | unicast::Event::Delivered { .. }
                | unicast::Event::Acked { .. }
                | unicast::Event::AckSent { .. }
                | unicast::Event::Rtt { .. }
                | unicast::Event::Controlled { .. }
                | unicast::Event::Task { .. },
            ) => self.unicast,
            _ => true,
        }
    }
}

/// The node of a recording, as far as it has been re-executed.
#[derive(Debug, Clone)]
pub struct Again {
    node: Node,
    done: usize,
    records: u64,
    traced: TracedEvents,
}

impl Again {
    /// Tracing adds events and changes nothing else.
    #[must_use]
    pub fn new(start: &Start) -> Self {
        let mut config = start.config.clone();
        config.overlay.router.trace_messages = true;
        if let Some(datagrams) = &mut config.datagrams {
            datagrams.trace_messages = true;
        }
        if let Some(coordinator) = &mut config.swarm.coordinator {
            coordinator.explain = true;
        }
        let traced = TracedEvents::new(&start.config);
        Self { node: Node::new(config, start.seed), done: 0, records: 0, traced }
    }

    /// The node as far as it has been re-executed.
    #[must_use]
    pub const fn node(&self) -> &Node {
        &self.node
    }

    /// Re-executes what is new on the recording; false when there is nothing.
    pub fn go_on(&mut self, player: &Player, mut see: impl FnMut(&ReplayStep<'_>)) -> bool {
        let (before, mut fx) = (self.done, Fx::new());
        while let Some((at, input)) = player.given(self.done) {
            match input {
                Some(input) => self.node.handle(at, input.clone(), &mut fx),
                None => self.node.handle_timeout(at, &mut fx),
            }
            let Self { done: number, records, traced, .. } = *self;
            let step = ReplayStep { at, number, input, effects: fx.as_slice(), records, traced };
            see(&step);
            self.records +=
                step.events().filter(|(_, event)| traced.recorded(event)).count() as u64;
            fx.drain().for_each(drop);
            self.done += 1;
        }
        self.done > before
    }
}
