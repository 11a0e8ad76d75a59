//! Mutants by *schemata*: all of them are compiled in at once, and one is
//! switched on for each run of a test. Building every mutant by itself would
//! take a night.

mod list;
mod rewrite;
mod scratch;
mod sites;
mod tests;
mod trial;

pub(crate) use list::{FOLDERS, Mutant, all};
pub(crate) use scratch::prepare;
pub(crate) use tests::reached;
pub(crate) use trial::{Verdict, judge};
