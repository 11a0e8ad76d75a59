//! Who gets an upload slot, and who waits how long.

mod io;
mod view;

pub use self::io::{Input, Output, Request, Verdict};
pub use self::view::{Lane, PlaceView, UploadView, View};
use super::{Config, Event};
use crate::engine::{Engine, FxOf};
use crate::rng::Rng;
use crate::time::Instant;

/// The upload queue: one line in front of the slots.
#[derive(Debug, Clone)]
pub struct Server {
    config: Config,
}

impl Server {
    /// An empty line. `rng` draws the ids and the hash keys.
    #[must_use]
    pub fn new(config: Config, _rng: Rng) -> Self {
        Self { config }
    }

    /// Its configuration.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Places in the line.
    #[must_use]
    pub fn length(&self) -> u32 {
        0
    }

    /// True when a stranger would find a place: while it is false, query
    /// hits say busy (AQ-12).
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.length() < self.config.capacity
    }

    /// The lanes: all slots, and `count` places from position `from` on.
    #[must_use]
    pub fn view(&self, from: u32, _count: u32, _now: Instant) -> View {
        View { slots: self.config.slots, from, capacity: self.config.capacity, ..View::default() }
    }
}

impl Engine for Server {
    type Input = Input;
    type Output = Output;
    type Event = Event;

    fn handle(&mut self, _now: Instant, _input: Input, _fx: &mut FxOf<Self>) {}
    fn handle_timeout(&mut self, _now: Instant, _fx: &mut FxOf<Self>) {}
    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        None
    }
}
