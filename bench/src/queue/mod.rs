//! The upload queue: decisions in memory, answers and uploads over TCP.

mod busy;
mod decision;
mod handover;
mod held;
pub(crate) mod holder;
mod journeys;
mod upload;

use anyhow::Result;

use crate::report::Report;

/// Everything about the queue.
pub(crate) fn run(report: &mut Report, quick: bool) -> Result<()> {
    decision::run(report, quick);
    handover::run(report)?;
    journeys::run(report, quick)?;
    busy::run(report, quick)?;
    upload::run(report, quick)?;
    held::run(report, quick)
}
