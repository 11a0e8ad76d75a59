//! A recording re-executed once more for a picture, with every message as an event.

use super::player::Player;
use super::tape::Start;
use crate::engine::{Effect, Engine as _, Fx};
use crate::node::{Event, Input, Node, Output};
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
    /// Records on the recording before it.
    records: u64,
}

impl ReplayStep<'_> {
    /// All that came of it, each with the number of the newest record by then.
    pub fn numbered(&self) -> impl Iterator<Item = (u64, &Effect<Output, Event>)> {
        let mut next = self.records;
        self.effects.iter().map(move |effect| {
            if let Effect::Event(event) = effect {
                next += u64::from(!is_traced(event));
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

/// True for events that are only there because they are traced.
const fn is_traced(event: &Event) -> bool {
    use crate::{routing, unicast};
    match event {
        Event::Routing(event) => matches!(
            event,
            routing::Event::Judged { .. }
                | routing::Event::Sent { .. }
                | routing::Event::Overflow { .. }
        ),
        Event::Unicast(event) => matches!(
            event,
            unicast::Event::Sent { .. }
                | unicast::Event::Received { .. }
                | unicast::Event::Delivered { .. }
                | unicast::Event::Acked { .. }
                | unicast::Event::AckSent { .. }
                | unicast::Event::Rtt { .. }
                | unicast::Event::Task { .. }
        ),
        _ => false,
    }
}

/// The node of a recording, as far as it has been re-executed.
#[derive(Debug, Clone)]
pub struct Again {
    node: Node,
    done: usize,
    records: u64,
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
        Self { node: Node::new(config, start.seed), done: 0, records: 0 }
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
            let (number, records) = (self.done, self.records);
            let step = ReplayStep { at, number, input, effects: fx.as_slice(), records };
            see(&step);
            self.records += step.events().filter(|(_, event)| !is_traced(event)).count() as u64;
            fx.drain().for_each(drop);
            self.done += 1;
        }
        self.done > before
    }
}
