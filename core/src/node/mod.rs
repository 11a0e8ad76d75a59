//! A node: the engines joined behind one byte boundary.
//!
//! Simulator, native driver, replayer, fuzzer and page are hosts of the very
//! same [`Node`] through the very same [`Input`] and [`Output`]. A node is a
//! pure function of its config, its seed and the instants and inputs it was
//! given.

mod catalog;
mod config;
mod event;
mod io;
mod page;
mod view;

pub use self::config::{Config, Limits};
pub use self::event::{ConnEvent, Limit};
pub use self::io::{
    Answer, Command, DialError, FileInfo, FileRef, Get, Input, Op, Output, PartRow, Restored,
    Source, StoreError, Ticket,
};
pub use self::view::{Card, FetchView, Lane, NodeView, QueueView, SlotCard, SourceView};
use crate::engine::{Engine, FxOf};
use crate::time::Instant;
use crate::trace::Event;

/// A servent, whole.
#[derive(Debug, Clone)]
pub struct Node {
    config: Config,
}

impl Node {
    /// A node that has not been started; give it [`Input::Start`] first.
    #[must_use]
    pub fn new(config: Config, _seed: u64) -> Self {
        Self { config }
    }

    /// Its configuration.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }
}

impl Engine for Node {
    type Input = Input;
    type Output = Output;
    type Event = Event;

    fn handle(&mut self, _now: Instant, _input: Input, _fx: &mut FxOf<Self>) {}
    fn handle_timeout(&mut self, _now: Instant, _fx: &mut FxOf<Self>) {}
    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        None
    }
}
