//! Reliable unicast between two processes over loopback, beside others that
//! carry the same messages; and on simulated lines.

mod engine;
mod idle;
mod lines;
pub(crate) mod process;
mod repair;
mod silence;
mod tail;
mod through;
pub(crate) mod words;

use anyhow::Result;

use crate::report::Report;

/// Everything about the unicast.
pub(crate) fn run(report: &mut Report, quick: bool) -> Result<()> {
    engine::run(report, quick);
    lines::run(report, quick);
    idle::run(report)?;
    through::run(report, quick)?;
    repair::run(report, quick)?;
    tail::run(report, quick)?;
    silence::run(report, quick)
}
