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

use alloc::vec::Vec;

use super::probe::Probe;
use crate::fetch::cx::FetchCx;
use crate::fetch::download::{Download, State};
use crate::fetch::ranges::RangeSet;
use crate::fetch::source::Src;
use crate::fetch::{Event, FetchFailure, FileVersion, SourceTrouble, keys_where};
use crate::wire::http::ResponseHead;

/// What is known or suspected about the sources.
#[derive(Debug, Clone, Default)]
pub(crate) struct Doubt {
    /// The source left out, whose bytes are downloaded from others.
    without: Option<u32>,
    /// Sources that were left out without making the hash match.
    cleared: Vec<u32>,
    /// The comparison in progress (`probe`).
    pub(crate) probe: Option<Probe>,
}

impl Download {
    /// The bytes are wrong. If several sources sent them, each is left out in
    /// turn. Otherwise, or when that did not help, all bytes are discarded and
    /// downloaded once more, from sources that sent none of them if there are
    /// any. When a single source sent every byte, asking it again is useless.
    pub(crate) fn refetch(&mut self, cx: &mut FetchCx<'_>) {
        if self.try_without(cx) {
            return;
        }
        self.corrupt += 1;
        self.doubt_size();
        let guilty = keys_where(&self.sources, |s| s.gave);
        let others = self.sources.values().any(|s| !s.gave && s.usable());
        let certain = guilty.len() == 1 && !self.resumed;
        // Where all is of one source, the others are asked, however often it was wrong.
        let hopeless = if certain { !others } else { self.corrupt > 1 };
        if hopeless {
            if self.lost_its_hash(cx) {
                return;
            }
            return self.fail(FetchFailure::Corrupt, cx);
        }
        (self.have, self.resumed) = (RangeSet::default(), false);
        // It may have been bytes of an earlier run that spoilt every trial.
        self.doubt = Doubt::default();
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

    /// The user named no hash, and the source that told one has no such file any more:
    /// the others cannot be blamed for having another, and the download begins anew.
    /// False when that is not so.
    fn lost_its_hash(&mut self, cx: &mut FetchCx<'_>) -> bool {
        let lost = self.sources.values().find(|src| src.unhashed && self.version.learnt);
        let Some(at) = lost.map(|src| src.at()) else { return false };
        cx.fx.event(Event::VersionChanged { fetch: self.id, at, dropped: self.have.bytes() });
        self.forget_version(cx);
        self.sources.values_mut().for_each(|src| src.unhashed = false);
        (self.corrupt, self.state) = (0, State::Resting);
        self.save(cx);
        self.begin(cx);
        true
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
        // Nothing is there any more of what those sent that were left out.
        let cleared = self.doubt.cleared.iter().filter(|no| !givers.contains(no)).count();
        if givers.len() + cleared + usize::from(self.resumed) < 2 {
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
    pub(crate) fn convict(&mut self, cx: &mut FetchCx<'_>) {
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
    pub(crate) fn ask_those_left_out(&mut self, cx: &mut FetchCx<'_>) -> bool {
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
        let dropped = self.have.bytes();
        if let Some(src) =
            reserve.first().and_then(|no| self.sources.get(no)).filter(|_| dropped > 0)
        {
            cx.fx.event(Event::VersionChanged { fetch: self.id, at: src.at(), dropped });
        }
        self.forget_version(cx);
        self.state = State::Resting;
        self.save(cx);
        self.begin(cx);
        true
    }

    /// True when nothing goes on or will: every source that is left has to be
    /// compared first, and what is there can be compared with none of them.
    pub(crate) fn is_stuck(&self) -> bool {
        let waits = |src: &Src| src.idle() && self.is_unproven(src);
        let mut usable = self.sources.values().filter(|src| src.usable()).peekable();
        self.state == State::Running
            && self.due().is_none()
            && !self.doubt.probe.is_some_and(Probe::waits_for_hash)
            && !self.checks.hashes()
            && usable.peek().is_some()
            && usable.all(|src| waits(src))
    }

    /// The download starts again with one source; the others stay in reserve.
    pub(crate) fn begin_anew_with_one(&mut self, cx: &mut FetchCx<'_>) {
        let usable = keys_where(&self.sources, |src| src.usable());
        let Some((&one, others)) = usable.split_first() else { return };
        let (fetch, at, dropped) = (self.id, self.sources[&one].at(), self.have.bytes());
        cx.fx.event(Event::VersionChanged { fetch, at, dropped });
        for no in others {
            if let Some(src) = self.sources.get_mut(no) {
                src.left_out = true;
                let (at, why) = (src.at(), SourceTrouble::Unlike);
                cx.fx.event(Event::KeptBack { fetch, at, why });
            }
        }
        self.forget_version(cx);
        self.save(cx);
        self.wake(cx);
    }

    /// True when the bytes of a source may be mixed with those already there.
    pub(crate) fn goes_with_the_others(&self, no: u32, head: &ResponseHead) -> bool {
        let reply = FileVersion::parse(head);
        let own = self.sources.get(&no).and_then(|src| src.version.as_ref());
        let agrees = self.version.agrees(&reply) || own.is_some_and(|own| own.agrees(&reply));
        let unknown = self.have.is_empty() || self.version.is_silent() || self.only(no);
        self.sha1.is_some() || agrees || unknown && self.came_alone(no)
    }

    /// True when no other source sends bytes, or sent some in this run that are
    /// still there.
    pub(crate) fn came_alone(&self, no: u32) -> bool {
        let gone = self.have.is_empty();
        self.sources.iter().all(|(&n, src)| n == no || !src.receives() && (gone || !src.gave))
    }

    /// Keeps a source that may have another file in reserve.
    pub(crate) fn keep_back(&mut self, no: u32, why: SourceTrouble, cx: &mut FetchCx<'_>) {
        if self.relinked && self.only(no) {
            return self.lose(no, why, cx);
        }
        self.say_goodbye(no, cx);
        self.release(no, cx);
        // What it sent before was never compared, and will not be.
        self.drop_unproven(no);
        let Some(src) = self.sources.get_mut(&no) else { return };
        src.left_out = true;
        let (fetch, at) = (self.id, src.at());
        if !self.only(no) {
            // The only source is asked again at once, for another version.
            cx.fx.event(Event::KeptBack { fetch, at, why });
        }
        self.client(no, crate::queue::client::Input::Rest, cx);
        self.wake(cx);
        self.fail_if_lonely(cx);
    }

    /// Forgets the size. A source that seemed to lie about it may have been
    /// honest.
    pub(crate) fn doubt_size(&mut self) {
        (self.size, self.size_from) = (None, None);
        for src in self.sources.values_mut() {
            if src.lost == Some(SourceTrouble::LengthLie) && !src.pushed {
                (src.lost, src.failures) = (None, 0);
            }
        }
    }
}
