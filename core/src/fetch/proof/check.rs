//! Checks pieces against the hash tree (THEX).
//!
//! Each complete piece is hashed by the host as it is on disk. A wrong piece is
//! discarded and downloaded again; when a single source sent all of it, that
//! source is reported and dropped. A wrong piece sent by several sources is
//! downloaded once more from a single one.
//!
//! The tree comes from a stranger too, and the SHA-1 has the last word: when it
//! does not match although every piece does, the tree belongs to another file.
//! Then the sources that named its root are dropped, and those dropped because
//! of it are asked again.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::tree::TreeRequest;
use crate::fetch::cx::FetchCx;
use crate::fetch::download::{Download, State};
use crate::fetch::ranges::{ByteRange, RangeSet, common};
use crate::fetch::source::Src;
use crate::fetch::{Config, Event, Output, SourceTrouble, keys_where};
use crate::id::Tth;
use crate::thex::Tree;

/// The state of checking a download against its tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct Checks {
    pub(crate) tree: Option<Arc<Tree>>,
    /// The source of the tree, if it came in this run.
    from: Option<u32>,
    /// The tree is being requested.
    pub(crate) asking: Option<TreeRequest>,
    /// Roots of trees that belong to other files.
    pub(crate) refuted: Vec<Tth>,
    /// The host cannot hash: trees are useless.
    pub(crate) blind: bool,
    /// Pieces that are correct.
    right: RangeSet,
    /// Pieces the host is hashing, and whether they are unchanged since it
    /// started.
    hashing: BTreeMap<u32, bool>,
    /// Wrong pieces of several sources: next time a single source sends each.
    alone: BTreeSet<u32>,
    /// The SHA-1 did not match, and checking the pieces is to show why.
    pub(crate) doubted: bool,
    /// A correct piece came from another source than the tree did.
    vouched: bool,
}

impl Checks {
    /// Checks pieces against this tree from now on.
    pub(crate) fn take(&mut self, from: Option<u32>, tree: Arc<Tree>) {
        (self.tree, self.from) = (Some(tree), from);
        self.know_nothing();
        self.vouched = false;
    }

    /// Forgets which pieces are correct.
    pub(crate) fn know_nothing(&mut self) {
        self.right = RangeSet::default();
        self.hashing.values_mut().for_each(|same| *same = false);
    }

    /// Forgets the tree and everything about it: the file is another one.
    pub(crate) fn forget(&mut self) {
        let blind = self.blind;
        *self = Self { blind, ..Self::default() };
    }

    /// Forgets the pieces being hashed.
    pub(crate) fn stop(&mut self) {
        self.hashing.clear();
    }

    /// True while the host is hashing a piece.
    pub(crate) fn hashes(&self) -> bool {
        !self.hashing.is_empty()
    }

    /// The part of `have` that can be trusted, as far as anybody can tell.
    pub(crate) const fn trusted<'a>(&'a self, have: &'a RangeSet) -> &'a RangeSet {
        if self.tree.is_some() { &self.right } else { have }
    }

    /// These bytes were written: the pieces they belong to must be checked
    /// again.
    pub(crate) fn written(&mut self, (start, end): ByteRange) {
        let Some(tree) = &self.tree else { return };
        let piece = tree.piece();
        for (no, same) in &mut self.hashing {
            *same &= common(tree.span(*no), (start, end)).is_none();
        }
        if self.right.meets((start, end)) {
            self.right.remove((start / piece * piece, end.next_multiple_of(piece)));
        }
    }

    /// Where a request that begins at `start` should end, so that each piece
    /// comes from one source.
    pub(crate) fn cut(&self, (start, end): ByteRange, config: &Config) -> ByteRange {
        let most = start.saturating_add(config.chunk);
        let Some(piece) = self.tree.as_ref().map(|tree| tree.piece()) else {
            return (start, end.min(most));
        };
        let next = (start / piece + 1).saturating_mul(piece);
        (start, end.min(next.max(most / piece * piece)))
    }

    /// The middle of a range, at a piece boundary if there is one.
    pub(crate) fn middle(&self, (start, end): ByteRange) -> u64 {
        let middle = start + (end - start) / 2;
        let begins = self.tree.as_ref().map(|tree| middle.next_multiple_of(tree.piece()));
        begins.filter(|at| *at < end).unwrap_or(middle)
    }
}

/// True when a source sent some of these bytes.
fn gave(src: &Src, span: ByteRange) -> bool {
    src.wrote.meets(span)
}

impl Download {
    /// True when every byte is on disk.
    pub(crate) fn has_all(&self) -> bool {
        self.size.is_some_and(|size| self.have.gaps((0, size)).is_empty())
    }

    /// True when all pieces of a complete file are correct, or cannot be
    /// checked. When they are correct and the SHA-1 does not match, the tree
    /// was wrong.
    pub(crate) fn pieces_agree(&mut self, size: u64, cx: &mut FetchCx<'_>) -> bool {
        if self.checks.tree.is_none() {
            return !self.checks.doubted;
        }
        if !self.checks.right.gaps((0, size)).is_empty() {
            self.check(cx);
            return false;
        }
        if self.checks.doubted {
            self.refute(cx);
            return false;
        }
        true
    }

    /// Has complete pieces hashed, a few at a time.
    pub(crate) fn check(&mut self, cx: &mut FetchCx<'_>) {
        let Checks { tree: Some(tree), right, hashing, .. } = &mut self.checks else { return };
        if self.state != State::Running {
            return;
        }
        let (fetch, piece, most) = (self.id, tree.piece(), cx.config.checks as usize);
        let have = self.have.as_slice().iter();
        for (start, end) in have.flat_map(|range| right.gaps(*range)) {
            for no in (start.div_ceil(piece) as u32)..(end.div_ceil(piece) as u32) {
                if hashing.len() >= most {
                    return;
                }
                let (start, last) = tree.span(no);
                if last <= end && !hashing.contains_key(&no) {
                    hashing.insert(no, true);
                    cx.fx.output(Output::Hash { fetch, start, end: last });
                }
            }
        }
    }

    /// A piece was hashed; `None` when the host cannot hash.
    pub(crate) fn hashed(&mut self, start: u64, found: Option<Tth>, cx: &mut FetchCx<'_>) {
        if self.state == State::Running && self.probe_hashed(start, found, cx) {
            return;
        }
        let Some(tree) = self.checks.tree.clone() else { return };
        let no = (start / tree.piece()) as u32;
        let Some(same) = self.checks.hashing.remove(&no) else { return };
        let Some(found) = found else { return self.go_blind(cx) };
        let span = tree.span(no);
        if same && self.have.gaps(span).is_empty() {
            if tree.pieces().get(no as usize) == Some(&found) {
                self.checks.right.insert(span);
                self.checks.alone.remove(&no);
                let from = self.checks.from;
                let mut sources = self.sources.iter();
                self.checks.vouched |=
                    sources.any(|(of, src)| Some(*of) != from && gave(src, span));
            } else {
                self.throw_away(no, span, cx);
            }
        }
        if !self.finish_if_whole(cx) {
            self.check(cx);
        }
    }

    /// A piece is wrong.
    fn throw_away(&mut self, no: u32, span: ByteRange, cx: &mut FetchCx<'_>) {
        let (fetch, (start, end)) = (self.id, span);
        cx.fx.event(Event::PieceWrong { fetch, start, end });
        self.have.remove(span);
        let mut known = RangeSet::default();
        let givers = keys_where(&self.sources, |src| src.wrote.meets(span));
        for giver in &givers {
            if let Some(src) = self.sources.get_mut(giver) {
                src.wrote.as_slice().iter().for_each(|range| known.insert(*range));
                src.wrote.remove(span);
            }
        }
        // That explains why the SHA-1 did not match.
        self.checks.doubted = false;
        match givers[..] {
            [giver] if known.gaps(span).is_empty() => {
                self.drop_unchecked(giver);
                let named = self.sources[&giver].lost == Some(SourceTrouble::Mismatch);
                if !named {
                    self.lose(giver, SourceTrouble::Mismatch, cx);
                }
            }
            _ => _ = self.checks.alone.insert(no),
        }
        self.save(cx);
        self.wake(cx);
    }

    /// Discards what a source sent of incomplete pieces: those bytes could not
    /// be told from what others add.
    fn drop_unchecked(&mut self, no: u32) {
        let Some(tree) = self.checks.tree.clone() else { return };
        let Some(src) = self.sources.get_mut(&no) else { return };
        let mut given = src.wrote.clone();
        given.remove_all(&self.checks.right);
        for range in given.as_slice() {
            let pieces = range.0 / tree.piece()..range.1.div_ceil(tree.piece());
            for span in pieces.map(|piece| tree.span(piece as u32)) {
                let whole = self.have.gaps(span).is_empty();
                if let Some(part) = common(*range, span).filter(|_| !whole) {
                    self.have.remove(part);
                    src.wrote.remove(part);
                }
            }
        }
    }

    /// A piece that must come from a single source is restarted when that
    /// source has left it.
    pub(crate) fn begin_pieces_anew(&mut self) {
        let Some(tree) = &self.checks.tree else { return };
        for no in &self.checks.alone {
            let span = tree.span(*no);
            let comes = |src: &Src| src.link.in_flight().and_then(|r| common(r, span));
            let left = !self.have.gaps(span).is_empty() && self.have.meets(span);
            if left && !self.sources.values().any(|src| comes(src).is_some()) {
                self.have.remove(span);
                self.sources.values_mut().for_each(|src| src.wrote.remove(span));
            }
        }
    }

    /// The SHA-1 does not match: checks the pieces to find out why, if there is
    /// a tree or may be one. False when there is none.
    pub(crate) fn ask_the_pieces(&mut self, cx: &mut FetchCx<'_>) -> bool {
        if self.checks.tree.is_none() && !self.may_have_tree() {
            return false;
        }
        // A piece may have been overwritten after it was checked.
        self.checks.know_nothing();
        self.checks.doubted = true;
        self.state = State::Running;
        self.ask_for_tree(cx);
        self.check(cx);
        true
    }

    /// Every piece matches and the SHA-1 does not: the tree belongs to another
    /// file.
    fn refute(&mut self, cx: &mut FetchCx<'_>) {
        let Some(root) = self.give_up_tree(cx) else { return };
        self.have = RangeSet::default();
        self.resumed = false;
        for src in self.sources.values_mut() {
            src.forget();
        }
        let told = |src: &Src| src.thex.as_ref().map(|uri| uri.root) == Some(root);
        // No request is sent before all sources that named the tree are known.
        self.state = State::Resting;
        for no in keys_where(&self.sources, |src| told(src)) {
            self.lose(no, SourceTrouble::Corrupt, cx);
        }
        self.doubt_size();
        self.save(cx);
        self.begin(cx);
    }

    /// No source is left, and the tree may be the reason: sources that were
    /// dropped because of it are asked again, if they named another tree, or if
    /// only the source of this tree sent a piece that matches it. False
    /// when there are none.
    pub(crate) fn doubt_tree(&mut self, cx: &mut FetchCx<'_>) -> bool {
        let Some(root) = self.checks.tree.as_ref().map(|tree| tree.root()) else { return false };
        let vouched = self.checks.vouched;
        let wronged = |src: &Src| {
            let told = src.thex.as_ref().map(|uri| uri.root);
            let fits = told.map_or(!vouched, |told| told != root);
            src.lost == Some(SourceTrouble::Mismatch) && fits
        };
        if !self.sources.values().any(|src| wronged(src)) {
            return false;
        }
        self.give_up_tree(cx);
        self.wake(cx);
        self.ask_for_tree(cx);
        self.sources.values().any(|src| src.usable())
    }

    /// Stops using the tree, and takes back the sources that were dropped
    /// because of it.
    fn give_up_tree(&mut self, cx: &mut FetchCx<'_>) -> Option<Tth> {
        let root = self.checks.tree.take()?.root();
        self.checks.refuted.push(root);
        self.checks.know_nothing();
        self.checks.doubted = false;
        for src in self.sources.values_mut() {
            let said_so = src.thex.as_ref().is_some_and(|uri| uri.root == root);
            if src.lost == Some(SourceTrouble::Mismatch) && !src.pushed && !said_so {
                (src.lost, src.failures) = (None, 0);
            }
        }
        cx.fx.output(Output::SaveTree(self.id, None));
        Some(root)
    }

    /// The host cannot hash: continues as if there were no tree.
    fn go_blind(&mut self, cx: &mut FetchCx<'_>) {
        (self.checks.blind, self.checks.tree) = (true, None);
        self.checks.stop();
        if core::mem::take(&mut self.checks.doubted) {
            self.refetch(cx);
        } else {
            self.finish_if_whole(cx);
        }
    }
}
