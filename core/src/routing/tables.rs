//! The router's tables, each with its name: the one list of them.

use super::memory::Memory;
use super::{Router, Which};

/// How many there are.
const COUNT: usize = 9;

/// All of them, borrowed as the first words say.
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
    /// To look at, in the order a view has them.
    pub(super) const fn tables(&self) -> [(Which, &Memory); COUNT] {
        all!(&self)
    }

    /// To run.
    pub(super) const fn tables_mut(&mut self) -> [(Which, &mut Memory); COUNT] {
        all!(&mut self)
    }
}
