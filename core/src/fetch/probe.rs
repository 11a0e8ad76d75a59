//! Joining sources without a common hash.
//!
//! That two servers say the same of their files (`doubt`) is not enough to mix
//! their bytes. Whoever is not proven gives one chunk; then it is asked for
//! bytes that are there already, and the host hashes that range before and
//! after. If it is the same, the source has joined; if not, all that it gave is
//! thrown away and it is kept in reserve. What an earlier run has left counts
//! as the first source does.

use super::cx::Cx;
use super::download::Download;
use super::ranges::{Range, RangeSet, common};
use super::source::Src;
use super::{Config, Output};
use crate::id::Tth;
use crate::queue::client;

/// A range that is asked for once more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    no: u32,
    range: Range,
    stage: Stage,
}

/// How far a probe is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The host hashes what is there.
    Before,
    /// The source may be asked.
    Ready(Tth),
    /// Its bytes come in.
    Storing(Tth),
    /// The host hashes what is there now.
    After(Tth),
}

/// What a source may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// Anything.
    Free,
    /// This, to compare it.
    Only(Range),
    /// Nothing yet.
    Nothing,
}

impl Download {
    /// A source whose bytes are not known to go with the others.
    pub(super) fn is_unproven(&self, src: &Src) -> bool {
        self.sha1.is_none() && !src.joined
    }

    /// What is there and of one file, as far as anybody can tell.
    pub(super) fn proven(&self) -> RangeSet {
        let mut proven = self.have.clone();
        if let Some(Probe { range, stage: Stage::Storing(_) | Stage::After(_), .. }) =
            self.doubt.probe
        {
            proven.remove(range);
        }
        for src in self.sources.values().filter(|src| self.is_unproven(src)) {
            proven.remove_all(&src.wrote);
        }
        proven
    }

    /// What to ask an unproven source for: the probe; or anything, as long as
    /// there is nothing to compare it with; or nothing.
    pub(super) fn choose_probe(&self, no: u32) -> Choice {
        let Some(src) = self.sources.get(&no).filter(|src| self.is_unproven(src)) else {
            return Choice::Free;
        };
        match self.doubt.probe {
            Some(Probe { no: of, range, stage: Stage::Ready(_) }) if of == no => {
                Choice::Only(range)
            }
            _ if src.wrote.is_empty() && self.proven().is_empty() => Choice::Free,
            _ => Choice::Nothing,
        }
    }

    /// Begins to compare an unproven source, if there is one and enough to
    /// compare it with.
    pub(super) fn probe(&mut self, cx: &mut Cx<'_>) {
        self.end_broken_probe();
        let Some(size) = self.size.filter(|_| self.doubt.probe.is_none()) else { return };
        let fits = |src: &Src| src.usable() && self.is_unproven(src);
        let Some((&no, _)) = self.sources.iter().find(|(_, src)| fits(src)) else { return };
        let Some(range) = self.comparable(no, size, cx.config) else { return };
        self.doubt.probe = Some(Probe { no, range, stage: Stage::Before });
        cx.fx.output(Output::Hash { fetch: self.id, start: range.0, end: range.1 });
    }

    /// The end of the longest stretch that is proven, if it is long enough to
    /// tell files apart, or will not become longer.
    fn comparable(&self, no: u32, size: u64, config: &Config) -> Option<Range> {
        let proven = self.proven();
        let longest = proven.as_slice().iter().max_by_key(|(start, end)| end - start)?;
        let others = self.sources.iter().any(|(&n, src)| n != no && src.usable() && src.joined);
        let least = if others { config.probe.min(size / 2) } else { 1 };
        let (start, end) = *longest;
        (end - start >= least).then(|| (start.max(end.saturating_sub(config.probe)), end))
    }

    /// A source begins to give. Whoever gives all anew that nobody knows whom it
    /// is of need not be compared with that.
    pub(super) fn probe_begins(&mut self, no: u32, given: Range) {
        let mut sources = self.sources.iter();
        let anew = self.sources.get(&no).is_some_and(|src| self.is_unproven(src))
            && self.have.as_slice().iter().all(|range| given.0 <= range.0 && range.1 <= given.1)
            && sources.all(|(n, src)| *n == no || src.wrote.is_empty());
        if anew {
            (self.have, self.doubt.probe) = (RangeSet::default(), None);
            if let Some(src) = self.sources.get_mut(&no) {
                src.joined = true;
            }
            return;
        }
        if let Some(probe) = self.doubt.probe.as_mut().filter(|probe| probe.no == no)
            && let Stage::Ready(before) = probe.stage
            && common(probe.range, given).is_some()
        {
            probe.stage = Stage::Storing(before);
        }
    }

    /// All of it is on disk.
    pub(super) fn probe_stored(&mut self, no: u32, cx: &mut Cx<'_>) {
        if let Some(probe) = self.doubt.probe.as_mut().filter(|probe| probe.no == no)
            && let Stage::Storing(before) = probe.stage
        {
            probe.stage = Stage::After(before);
            let (start, end) = probe.range;
            cx.fx.output(Output::Hash { fetch: self.id, start, end });
        }
    }

    /// The host has hashed the range; a host that cannot has to believe. False
    /// when it was not asked to.
    pub(super) fn probe_hashed(&mut self, start: u64, found: Option<Tth>, cx: &mut Cx<'_>) -> bool {
        let Some(probe) = self.doubt.probe.filter(|probe| probe.range.0 == start) else {
            return false;
        };
        let Probe { no, range, stage } = probe;
        match (stage, found) {
            (Stage::Ready(_) | Stage::Storing(_), _) => return false,
            (Stage::Before, Some(before)) => {
                self.doubt.probe = Some(Probe { stage: Stage::Ready(before), ..probe });
                self.client(no, client::Input::Want, cx);
                return true;
            }
            (Stage::After(before), Some(after)) if before != after => {
                self.doubt.probe = None;
                self.have.remove(range);
                self.drop_unproven(no);
                self.save(cx);
                self.keep_back(no, cx);
            }
            (Stage::After(_), _) | (Stage::Before, None) => {
                self.doubt.probe = None;
                if let Some(src) = self.sources.get_mut(&no) {
                    src.joined = true;
                }
                self.wake(cx);
            }
        }
        self.probe(cx);
        self.finish_if_whole(cx);
        true
    }

    /// A source that was to be compared has gone: bytes of it may have come
    /// over those that were right.
    fn end_broken_probe(&mut self) {
        let Some(Probe { no, range, stage }) = self.doubt.probe else { return };
        let src = self.sources.get(&no).filter(|src| src.usable());
        match stage {
            Stage::Ready(_) if src.is_none() => self.doubt.probe = None,
            Stage::Storing(_) if !src.is_some_and(|src| src.receives()) => {
                self.doubt.probe = None;
                self.have.remove(range);
            }
            _ => {}
        }
    }

    /// Throws away what an unproven source gave.
    pub(super) fn drop_unproven(&mut self, no: u32) {
        let Some(src) = self.sources.get_mut(&no) else { return };
        if self.sha1.is_none() && !src.joined {
            let given = src.forget();
            self.have.remove_all(&given);
        }
    }

    /// Every byte that is there may stand beside the others.
    pub(super) fn all_proven(&self) -> bool {
        self.sha1.is_some() || self.proven() == self.have
    }
}
