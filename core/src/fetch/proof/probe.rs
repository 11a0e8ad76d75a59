//! Combining sources without a common hash.
//!
//! That two servers report the same validators (`doubt`) is not enough to mix
//! their bytes. A source that is not proven sends one chunk; then it is asked
//! for bytes that are already there, and the host hashes that range before and
//! after. If the hash is the same, the source has joined; if not, everything it
//! sent is discarded and it is kept in reserve. What an earlier run has left is
//! treated like the bytes of a first source.

use crate::fetch::cx::FetchCx;
use crate::fetch::download::{Download, State};
use crate::fetch::ranges::{ByteRange, RangeSet, common};
use crate::fetch::source::Src;
use crate::fetch::{Config, Output, SourceTrouble};
use crate::id::Tth;
use crate::queue::client;

/// A range that is requested once more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Probe {
    no: u32,
    range: ByteRange,
    stage: ProbeStage,
}

impl Probe {
    /// The source that is compared.
    pub(crate) const fn source(self) -> u32 {
        self.no
    }

    /// True while the host hashes the range.
    pub(crate) const fn waits_for_hash(self) -> bool {
        matches!(self.stage, ProbeStage::Before | ProbeStage::After(_))
    }
}

/// The progress of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProbeStage {
    /// The host is hashing the bytes that are there.
    Before,
    /// The source may be asked for the range.
    Ready(Tth),
    /// The source is sending its bytes.
    Storing(Tth),
    /// The host is hashing the bytes that are there now.
    After(Tth),
}

/// What a source may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProbeChoice {
    /// Anything.
    Free,
    /// Only this range, to compare it.
    Only(ByteRange),
    /// Nothing yet.
    Nothing,
}

impl Download {
    /// True for a source whose bytes are not known to match the others'.
    pub(crate) fn is_unproven(&self, src: &Src) -> bool {
        self.sha1.is_none() && !src.joined
    }

    /// What is there of one and the same file, as far as anybody can tell.
    pub(crate) fn proven(&self) -> RangeSet {
        let mut proven = self.have.clone();
        if let Some(Probe { range, stage: ProbeStage::Storing(_) | ProbeStage::After(_), .. }) =
            self.doubt.probe
        {
            proven.remove(range);
        }
        for src in self.sources.values().filter(|src| self.is_unproven(src)) {
            proven.remove_all(&src.wrote);
        }
        proven
    }

    /// What to ask an unproven source for: the probe; or anything while there
    /// is nothing to compare it with; or nothing.
    pub(crate) fn choose_probe(&self, no: u32) -> ProbeChoice {
        let Some(src) = self.sources.get(&no).filter(|src| self.is_unproven(src)) else {
            return ProbeChoice::Free;
        };
        match self.doubt.probe {
            Some(Probe { no: of, range, stage: ProbeStage::Ready(_) }) if of == no => {
                ProbeChoice::Only(range)
            }
            _ if src.wrote.is_empty() && self.proven().is_empty() => ProbeChoice::Free,
            _ => ProbeChoice::Nothing,
        }
    }

    /// Starts to compare an unproven source, if there is one and enough to
    /// compare it with.
    pub(crate) fn probe(&mut self, cx: &mut FetchCx<'_>) {
        self.end_broken_probe();
        let Some(size) = self.size.filter(|_| self.doubt.probe.is_none()) else { return };
        let fits = |src: &Src| src.usable() && self.is_unproven(src);
        let Some((&no, _)) = self.sources.iter().find(|(_, src)| fits(src)) else { return };
        let Some(range) = self.comparable(no, size, cx.config) else { return };
        self.doubt.probe = Some(Probe { no, range, stage: ProbeStage::Before });
        cx.fx.output(Output::Hash { fetch: self.id, start: range.0, end: range.1 });
    }

    /// When no bytes are proven and no source is asked, each would wait to be compared
    /// with the others for ever: the source that gave most is taken for the first one, and
    /// what the others may have written is dropped.
    pub(crate) fn end_stalemate(&mut self, cx: &mut FetchCx<'_>) {
        if self.sha1.is_some()
            || self.state != State::Running
            || self.doubt.probe.is_some()
            || self.have.is_empty()
            || !self.sources.values().all(|src| src.link.is_quiet())
            || !self.proven().is_empty()
        {
            return;
        }
        let gave = self.sources.iter().filter(|(_, src)| src.usable() && !src.wrote.is_empty());
        let Some(first) = gave.max_by_key(|(_, src)| src.wrote.bytes()).map(|(&no, _)| no) else {
            return;
        };
        for (_, src) in self.sources.iter_mut().filter(|(no, _)| **no != first) {
            let given = src.forget();
            self.have.remove_all(&given);
        }
        if let Some(src) = self.sources.get_mut(&first) {
            src.joined = true;
        }
        self.wake(cx);
    }

    /// The end of the longest proven range, if it is long enough to tell files
    /// apart, or will not get longer.
    fn comparable(&self, no: u32, size: u64, config: &Config) -> Option<ByteRange> {
        let proven = self.proven();
        let longest = proven.as_slice().iter().max_by_key(|(start, end)| end - start)?;
        let others = self.sources.iter().any(|(&n, src)| n != no && src.usable() && src.joined);
        let grows = others && !self.has_all();
        let least = if grows { config.probe.min(size / 2) } else { 1 };
        let (start, end) = *longest;
        (end - start >= least).then(|| (start.max(end.saturating_sub(config.probe)), end))
    }

    /// A source starts to send. If it sends again all those bytes whose source
    /// is unknown, it need not be compared with them.
    pub(crate) fn probe_begins(&mut self, no: u32, given: ByteRange) {
        let mut sources = self.sources.iter();
        // What was named instead of an expired link is compared in any case.
        let anew = !self.relinked
            && self.sources.get(&no).is_some_and(|src| self.is_unproven(src))
            && self.have.as_slice().iter().all(|range| given.0 <= range.0 && range.1 <= given.1)
            && sources.all(|(n, src)| *n == no || src.wrote.is_empty() && !src.receives());
        if anew {
            (self.have, self.doubt.probe) = (RangeSet::default(), None);
            if let Some(src) = self.sources.get_mut(&no) {
                src.joined = true;
            }
            return;
        }
        if let Some(probe) = self.doubt.probe.as_mut().filter(|probe| probe.no == no)
            && let ProbeStage::Ready(before) = probe.stage
            && common(probe.range, given).is_some()
        {
            probe.stage = ProbeStage::Storing(before);
        }
    }

    /// The whole range of the probe is on disk.
    pub(crate) fn probe_stored(&mut self, no: u32, cx: &mut FetchCx<'_>) {
        if let Some(probe) = self.doubt.probe.as_mut().filter(|probe| probe.no == no)
            && let ProbeStage::Storing(before) = probe.stage
        {
            probe.stage = ProbeStage::After(before);
            let (start, end) = probe.range;
            cx.fx.output(Output::Hash { fetch: self.id, start, end });
        }
    }

    /// The host hashed the range; when it cannot hash, the source is trusted.
    /// False when no probe was waiting for it.
    pub(crate) fn probe_hashed(
        &mut self,
        start: u64,
        found: Option<Tth>,
        cx: &mut FetchCx<'_>,
    ) -> bool {
        let Some(probe) = self.doubt.probe.filter(|probe| probe.range.0 == start) else {
            return false;
        };
        let Probe { no, range, stage } = probe;
        match (stage, found) {
            (ProbeStage::Ready(_) | ProbeStage::Storing(_), _) => return false,
            (ProbeStage::Before, Some(before)) => {
                self.doubt.probe = Some(Probe { stage: ProbeStage::Ready(before), ..probe });
                self.client(no, client::Input::Want, cx);
                return true;
            }
            (ProbeStage::After(before), Some(after)) if before != after => {
                self.doubt.probe = None;
                self.have.remove(range);
                self.drop_unproven(no);
                self.save(cx);
                self.keep_back(no, SourceTrouble::Unlike, cx);
            }
            (ProbeStage::After(_), _) | (ProbeStage::Before, None) => {
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

    /// A source that was being compared is lost: it may have overwritten
    /// correct bytes.
    fn end_broken_probe(&mut self) {
        let Some(Probe { no, range, stage }) = self.doubt.probe else { return };
        let src = self.sources.get(&no).filter(|src| src.usable());
        match stage {
            ProbeStage::Ready(_) if src.is_none() => self.doubt.probe = None,
            ProbeStage::Storing(_) if !src.is_some_and(|src| src.receives()) => {
                self.doubt.probe = None;
                self.have.remove(range);
                // Else it would wait for a comparison with bytes that are gone.
                self.drop_unproven(no);
                if self.have.is_empty() {
                    // No source's bytes are left: the next source to send is the first.
                    self.sources.values_mut().filter(|src| !src.receives()).for_each(|src| {
                        src.forget();
                    });
                }
            }
            _ => {}
        }
    }

    /// Discards what an unproven source sent.
    pub(crate) fn drop_unproven(&mut self, no: u32) {
        let Some(src) = self.sources.get_mut(&no) else { return };
        if self.sha1.is_none() && !src.joined {
            let given = src.forget();
            self.have.remove_all(&given);
        }
    }

    /// True when all bytes that are there may be mixed.
    pub(crate) fn all_proven(&self) -> bool {
        self.sha1.is_some() || self.proven() == self.have
    }
}
