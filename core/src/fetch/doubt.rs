//! Finds sources that send wrong data.
//!
//! When a hash of the whole file is known and does not match, one of the
//! sources that sent bytes is left out: its bytes are downloaded from the
//! others, and everything is hashed again. If the hash matches now, the source
//! left out has lied; it is reported and dropped, and everything else was kept.
//! The sources the user named last are left out first; the one named first is
//! last.
//!
//! Without a hash, errors cannot be found afterwards, so nothing is mixed: the
//! file comes from the first source that sends bytes, and others join only when
//! they report the same `ETag` or `Last-Modified` and a probe of their bytes
//! matches (`probe`). The rest are kept in reserve, to start again when that
//! source is lost.

use alloc::string::String;
use alloc::vec::Vec;

use super::cx::FetchCx;
use super::download::{Download, State};
use super::probe::Probe;
use super::ranges::RangeSet;
use super::{Event, FetchFailure, SourceTrouble, keys_where};
use crate::wire::http::ResponseHead;

/// What is known or suspected about the sources.
#[derive(Debug, Clone, Default)]
pub(super) struct Doubt {
    /// The source left out, whose bytes are downloaded from others.
    without: Option<u32>,
    /// Sources that were left out without making the hash match.
    cleared: Vec<u32>,
    /// How the source that the file comes from identifies its version.
    kind: Option<ValidatorKind>,
    /// The comparison in progress (`probe`).
    pub(super) probe: Option<Probe>,
}

/// The validators by which a server tells one version of a file from another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ValidatorKind {
    etag: Option<String>,
    modified: Option<String>,
}

impl ValidatorKind {
    fn from_head(head: &ResponseHead) -> Self {
        let text = |name| head.headers.get(name).map(String::from);
        Self { etag: text("ETag"), modified: text("Last-Modified") }
    }

    /// True when both give at least one validator, and the same ones.
    fn agrees(&self, other: &Self) -> bool {
        let same = |a: &Option<String>, b: &Option<String>| a.is_some() && a == b;
        same(&self.etag, &other.etag) || same(&self.modified, &other.modified)
    }
}

impl Download {
    /// The bytes are wrong. If several sources sent them, each is left out in
    /// turn. Otherwise, or when that did not help, all bytes are discarded and
    /// downloaded once more, from sources that sent none of them if there are
    /// any. When a single source sent every byte, asking it again is useless.
    pub(super) fn refetch(&mut self, cx: &mut FetchCx<'_>) {
        if self.try_without(cx) {
            return;
        }
        self.corrupt += 1;
        self.doubt_size();
        let guilty = keys_where(&self.sources, |s| s.gave);
        let others = self.sources.values().any(|s| !s.gave && s.usable());
        let certain = guilty.len() == 1 && !self.resumed;
        if self.corrupt > 1 || (certain && !others) {
            return self.fail(FetchFailure::Corrupt, cx);
        }
        (self.have, self.resumed) = (RangeSet::default(), false);
        self.state = State::Resting;
        for no in guilty {
            if others {
                self.lose(no, SourceTrouble::Corrupt, cx);
            }
            if let Some(src) = self.sources.get_mut(&no) {
                src.forget();
            }
        }
        self.save(cx);
        self.begin(cx);
    }

    /// Leaves out the next of several sources. False when that is useless, or
    /// has been tried with all.
    fn try_without(&mut self, cx: &mut FetchCx<'_>) -> bool {
        if let Some(no) = self.doubt.without.take() {
            // Without this source the hash did not match either.
            self.doubt.cleared.push(no);
            self.take_back(no);
        }
        let givers = keys_where(&self.sources, |s| !s.touched.is_empty());
        if givers.len() + usize::from(self.resumed) < 2 {
            return false;
        }
        let others = |no: u32| self.sources.iter().any(|(&n, s)| n != no && s.usable());
        let next = givers.iter().rev().find(|no| !self.doubt.cleared.contains(no) && others(**no));
        match next {
            Some(&no) => {
                let Some(src) = self.sources.get_mut(&no) else { return false };
                src.left_out = true;
                self.have.remove_all(&src.forget());
                self.doubt.without = Some(no);
                // The others have told the same size.
                self.size_from = self.size_from.filter(|from| *from != no);
            }
            None if self.resumed => {
                // It is not known who sent the rest.
                self.resumed = false;
                let mut known = RangeSet::default();
                for src in self.sources.values() {
                    src.touched.as_slice().iter().for_each(|range| known.insert(*range));
                }
                let mut unknown = self.have.clone();
                unknown.remove_all(&known);
                self.have.remove_all(&unknown);
            }
            None => return false,
        }
        self.state = State::Resting;
        self.save(cx);
        self.begin(cx);
        true
    }

    /// The hash matches: the source left out has lied.
    pub(super) fn convict(&mut self, cx: &mut FetchCx<'_>) {
        if let Some(no) = self.doubt.without.take() {
            self.lose(no, SourceTrouble::Corrupt, cx);
        }
    }

    fn take_back(&mut self, no: u32) {
        if let Some(src) = self.sources.get_mut(&no) {
            src.left_out = false;
        }
    }

    /// No other source is left: asks those that were left out after all. False
    /// when there are none.
    pub(super) fn ask_those_left_out(&mut self, cx: &mut FetchCx<'_>) -> bool {
        let reserve = keys_where(&self.sources, |s| s.left_out && s.lost.is_none());
        if reserve.is_empty() {
            return false;
        }
        if let Some(no) = self.doubt.without.take() {
            self.doubt.cleared.push(no);
            reserve.iter().for_each(|no| self.take_back(*no));
            self.wake(cx);
            return true;
        }
        // Their file may be another one: the download starts again.
        reserve.iter().for_each(|no| self.take_back(*no));
        self.doubt = Doubt::default();
        self.checks.know_nothing();
        (self.have, self.resumed) = (RangeSet::default(), false);
        for src in self.sources.values_mut() {
            src.forget();
        }
        self.doubt_size();
        self.state = State::Resting;
        self.save(cx);
        self.begin(cx);
        true
    }

    /// True when the bytes of a source may be mixed with those already there.
    pub(super) fn goes_with_the_others(&mut self, no: u32, head: &ResponseHead) -> bool {
        let alone = self.sources.iter().all(|(&n, s)| n == no || !s.gave && !s.receives());
        if self.sha1.is_some() || alone {
            self.doubt.kind = Some(ValidatorKind::from_head(head));
            let first = self.proven().is_empty();
            if let Some(src) = self.sources.get_mut(&no) {
                src.joined |= first;
            }
            return true;
        }
        self.doubt.kind.as_ref().is_some_and(|kind| kind.agrees(&ValidatorKind::from_head(head)))
    }

    /// Keeps a source that may have another file in reserve.
    pub(super) fn keep_back(&mut self, no: u32, cx: &mut FetchCx<'_>) {
        self.release(no, cx);
        let Some(src) = self.sources.get_mut(&no) else { return };
        src.left_out = true;
        let (fetch, at, why) = (self.id, src.at(), SourceTrouble::Unlike);
        cx.fx.event(Event::KeptBack { fetch, at, why });
        self.client(no, crate::queue::client::Input::Rest, cx);
        self.wake(cx);
        self.fail_if_lonely(cx);
    }

    /// Forgets the size. A source that seemed to lie about it may have been
    /// honest.
    pub(super) fn doubt_size(&mut self) {
        (self.size, self.size_from) = (None, None);
        for src in self.sources.values_mut() {
            if src.lost == Some(SourceTrouble::LengthLie) && !src.pushed {
                (src.lost, src.failures) = (None, 0);
            }
        }
    }
}
