//! What the page and the command line show of an overlay.

pub(super) mod chart;
pub(super) mod numbers;
pub(super) mod tables;
pub(super) mod tally;
pub(super) mod totals;
pub(super) mod why;
