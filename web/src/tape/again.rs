//! A tape re-executed once more for a picture, with every message as an event.

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::node::{Event, Input, Node, Output};
use servent_core::time::Instant;
use servent_core::trace::player::Player;
use servent_core::trace::tape::Start;

/// One step of the node.
pub(super) struct Step<'a> {
    pub(super) at: Instant,
    /// Its number.
    pub(super) number: usize,
    /// What it was given; `None` where its timers were run.
    pub(super) input: Option<&'a Input>,
    pub(super) effects: &'a [Effect<Output, Event>],
    /// Records on the tape before it.
    records: u64,
}

impl Step<'_> {
    /// Its events, each with the number of its record; one that is not on the
    /// tape has that of the record before it.
    pub(super) fn events(&self) -> impl Iterator<Item = (u64, &Event)> {
        let mut next = self.records;
        self.effects.iter().filter_map(move |effect| {
            let Effect::Event(event) = effect else { return None };
            next += u64::from(!is_traced(event));
            Some((next.saturating_sub(1), event))
        })
    }
}

/// True for events that are only there because they are traced.
const fn is_traced(event: &Event) -> bool {
    use servent_core::{routing, unicast};
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

/// The node of a tape, as far as it has been re-executed.
pub(super) struct Again {
    node: Node,
    done: usize,
    records: u64,
}

impl Again {
    /// Tracing adds events and changes nothing else.
    pub(super) fn new(start: &Start) -> Self {
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
    pub(super) const fn node(&self) -> &Node {
        &self.node
    }

    /// Re-executes what is new on the tape; false when there is nothing.
    pub(super) fn go_on(&mut self, player: &Player, mut see: impl FnMut(&Step<'_>)) -> bool {
        let (before, mut fx) = (self.done, Fx::new());
        while let Some((at, input)) = player.given(self.done) {
            match input {
                Some(input) => self.node.handle(at, input.clone(), &mut fx),
                None => self.node.handle_timeout(at, &mut fx),
            }
            let (number, records) = (self.done, self.records);
            let step = Step { at, number, input, effects: fx.as_slice(), records };
            see(&step);
            self.records += step.events().filter(|(_, event)| !is_traced(event)).count() as u64;
            fx.drain().for_each(drop);
            self.done += 1;
        }
        self.done > before
    }
}
