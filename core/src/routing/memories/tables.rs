//! The one list of the router's tables, each with its name.

use super::memory::Memory;
use crate::routing::{Router, Which};

/// The number of tables.
const COUNT: usize = 9;

/// All tables, borrowed as the first tokens say.
macro_rules! all {
    ($($borrowed:tt)+) => {
        [
            (Which::Queries, $($borrowed)+.queries),
            (Which::Servents, $($borrowed)+.servents),
            (Which::Holders, $($borrowed)+.holders),
            (Which::Pings, $($borrowed)+.pings),
            (Which::Pongs, $($borrowed)+.pongs),
            (Which::Hits, $($borrowed)+.hits),
            (Which::Pushes, $($borrowed)+.pushes),
            (Which::Answers, $($borrowed)+.answers),
            (Which::Probed, $($borrowed)+.probed),
        ]
    };
}

impl Router {
    /// For reading, in the order of views.
    pub(crate) const fn tables(&self) -> [(Which, &Memory); COUNT] {
        all!(&self)
    }

    /// For running their timers.
    pub(crate) const fn tables_mut(&mut self) -> [(Which, &mut Memory); COUNT] {
        all!(&mut self)
    }
}
