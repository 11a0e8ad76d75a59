//! Downloads: one file from several sources, resumed, checked, remembered.
//!
//! An engine of its own between [`crate::queue::client`], which holds one
//! place at one server, and the node, which owns the connections.

mod config;
mod event;
mod io;

use alloc::string::String;
use alloc::vec::Vec;

pub use self::config::Config;
pub use self::event::{Event, FetchFailure, SourceTrouble};
pub use self::io::{Input, Output};
use crate::engine::{Engine, FxOf};
use crate::node::FetchView;
use crate::queue::Dialect;
use crate::time::Instant;

/// All downloads of a node.
#[derive(Debug, Clone)]
pub struct Fetches {
    config: Config,
}

impl Fetches {
    /// No downloads yet. `agent` goes into `User-Agent`; `dialect` is the
    /// queueing language we announce.
    #[must_use]
    pub fn new(config: Config, _agent: String, _dialect: Dialect) -> Self {
        Self { config }
    }

    /// What the downloads look like, by number.
    #[must_use]
    pub fn view(&self) -> Vec<FetchView> {
        Vec::with_capacity(self.config.fetches.min(1) as usize)
    }
}

impl Engine for Fetches {
    type Input = Input;
    type Output = Output;
    type Event = Event;

    fn handle(&mut self, _now: Instant, _input: Input, _fx: &mut FxOf<Self>) {}
    fn handle_timeout(&mut self, _now: Instant, _fx: &mut FxOf<Self>) {}
    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        None
    }
}
