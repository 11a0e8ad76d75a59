//! A tape re-executed once more for a picture, with every message as an event.

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::node::{Event, Input, Node, Output};
use servent_core::time::Instant;
use servent_core::trace::player::Player;
use servent_core::trace::tape::Start;

/// One step of the node.
pub(super) struct Step<'a> {
    pub(super) at: Instant,
    /// What it was given; `None` where its timers were run.
    pub(super) input: Option<&'a Input>,
    pub(super) effects: &'a [Effect<Output, Event>],
}

/// The node of a tape, as far as it has been re-executed.
pub(super) struct Again {
    node: Node,
    done: usize,
}

impl Again {
    /// Tracing adds events and changes nothing else.
    pub(super) fn new(start: &Start) -> Self {
        let mut config = start.config.clone();
        config.overlay.router.trace_messages = true;
        if let Some(datagrams) = &mut config.datagrams {
            datagrams.trace_messages = true;
        }
        Self { node: Node::new(config, start.seed), done: 0 }
    }

    /// Re-executes what is new on the tape; false when there is nothing.
    pub(super) fn go_on(&mut self, player: &Player, mut see: impl FnMut(&Step<'_>)) -> bool {
        let (before, mut fx) = (self.done, Fx::new());
        while let Some((at, input)) = player.given(self.done) {
            match input {
                Some(input) => self.node.handle(at, input.clone(), &mut fx),
                None => self.node.handle_timeout(at, &mut fx),
            }
            see(&Step { at, input, effects: fx.as_slice() });
            fx.drain().for_each(drop);
            self.done += 1;
        }
        self.done > before
    }
}
