//! What the lab gathers from a world's records, and what it answers with.

use serde::Serialize;
use serde_json::Value;
use servent_core::time::Instant;
use servent_core::trace::Record;
use servent_sim::registry::{Drawing as _, RunEnd};
use servent_sim::{Oracle as _, RegisteredProtocol, Violation, World};

/// Data gathered from the records of one branch, once, as they become known.
pub(crate) struct Survey<P: RegisteredProtocol> {
    /// What the view draws.
    pub(crate) drawing: P::Drawing,
    oracles: P::Oracles,
}

impl<P: RegisteredProtocol> Survey<P> {
    pub(crate) fn new(scenario: &P::Scenario) -> Self {
        Self { drawing: P::Drawing::new(scenario), oracles: P::oracles(scenario, RunEnd::Open) }
    }

    /// Processes the next record.
    pub(crate) fn observe(&mut self, world: &World<P>, record: &Record<P::Event>) {
        self.drawing.observe(world, record);
        self.oracles.observe(record);
    }

    /// The violations that the oracles have found so far.
    pub(crate) fn violations(&self) -> &[Violation] {
        self.oracles.violations()
    }
}

/// A preset in a list.
#[derive(Serialize)]
pub(crate) struct Preset<S> {
    /// Its id.
    pub(crate) id: String,
    /// Its title.
    pub(crate) title: String,
    /// What there is to see.
    pub(crate) text: String,
    /// The whole scenario.
    pub(crate) scenario: S,
}

/// A mark on the timeline.
#[derive(Serialize)]
pub(crate) struct Pin {
    /// When.
    pub(crate) at: Instant,
    /// The record it belongs to.
    pub(crate) seq: u64,
    /// Its kind.
    pub(crate) kind: PinKind,
    /// The key of its sentence.
    pub(crate) key: String,
    /// The arguments of the sentence.
    pub(crate) args: Value,
}

/// The kind of a mark.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PinKind {
    /// A fault or an action.
    Fault,
    /// An oracle found a violation.
    Violation,
    /// Inputs are missing, or no checkpoint covers what follows.
    Gap,
}

/// A branch in a list.
#[derive(Serialize)]
pub(crate) struct BranchInfo<'a> {
    /// Its number.
    pub(crate) id: usize,
    /// The branch it forked from.
    pub(crate) parent: Option<usize>,
    /// When it forked.
    pub(crate) at: Instant,
    /// Its name.
    pub(crate) name: &'a str,
}

/// How far the checkpoints of a file have been verified.
#[derive(Default, Serialize)]
pub(crate) struct Verified {
    /// Checkpoints that were confirmed.
    pub(crate) checked: u64,
    /// Checkpoints in total.
    pub(crate) total: u64,
    /// The instant of the first one that is wrong.
    pub(crate) diverged_at: Option<Instant>,
    /// Where inputs are missing; nothing after it is run again.
    pub(crate) gap_at: Option<Instant>,
    /// Lines that could not be read.
    pub(crate) damaged: u64,
    /// Inputs that no checkpoint covers.
    pub(crate) unverified: u64,
    /// Of several recorded nodes: how many did all that is on their recordings again,
    /// and how many there are.
    pub(crate) nodes: Option<[u32; 2]>,
    /// The result as one sentence.
    pub(crate) text: String,
}
