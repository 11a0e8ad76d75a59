//! Checking pieces against the hash tree (THEX).
//!
//! Each piece that is whole is hashed by the host as it is on disk. One that is
//! wrong is thrown away and fetched again; a source that alone gave it is named
//! and dropped. What several gave is fetched once more from a single one.
//!
//! The tree is a stranger's word too, and the SHA-1 has the last one: when that
//! does not agree though every piece does, the tree is of another file.
//! Whoever told its root is dropped then, and who was dropped for its sake is
//! asked again.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::cx::Cx;
use super::download::{Download, State};
use super::ranges::{Range, RangeSet, common};
use super::source::Src;
use super::tree::Asking;
use super::{Config, Event, Output, SourceTrouble, keys_where};
use crate::id::Tth;
use crate::thex::Tree;

/// What the tree of a download has shown so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Checks {
    pub(super) tree: Option<Arc<Tree>>,
    /// Who gave it, when one of this run did.
    from: Option<u32>,
    /// It is on its way.
    pub(super) asking: Option<Asking>,
    /// Roots of trees that are of another file.
    pub(super) refuted: Vec<Tth>,
    /// The host cannot hash: trees are of no use.
    pub(super) blind: bool,
    /// Pieces that are right.
    right: RangeSet,
    /// Pieces the host is hashing, and whether they are still as they were.
    hashing: BTreeMap<u32, bool>,
    /// Wrong pieces of several sources: the next time one alone gives them.
    alone: BTreeSet<u32>,
    /// The SHA-1 did not agree, and the pieces are to say why.
    pub(super) doubted: bool,
    /// A piece was right that somebody else gave than who gave the tree.
    vouched: bool,
}

impl Checks {
    /// From now on pieces are checked against this tree.
    pub(super) fn take(&mut self, from: Option<u32>, tree: Arc<Tree>) {
        (self.tree, self.from) = (Some(tree), from);
        self.know_nothing();
        self.vouched = false;
    }

    /// Forgets which pieces are right.
    pub(super) fn know_nothing(&mut self) {
        self.right = RangeSet::default();
        self.hashing.values_mut().for_each(|same| *same = false);
    }

    /// Nothing is being hashed any more.
    pub(super) fn stop(&mut self) {
        self.hashing.clear();
    }

    /// True while the host hashes a piece.
    pub(super) fn hashes(&self) -> bool {
        !self.hashing.is_empty()
    }

    /// Of what is there, what may be relied on as far as anybody can tell.
    pub(super) const fn trusted<'a>(&'a self, have: &'a RangeSet) -> &'a RangeSet {
        if self.tree.is_some() { &self.right } else { have }
    }

    /// These bytes were written: pieces they are in have to be checked anew.
    pub(super) fn written(&mut self, (start, end): Range) {
        let Some(tree) = &self.tree else { return };
        let piece = tree.piece();
        for (no, same) in &mut self.hashing {
            *same &= common(tree.span(*no), (start, end)).is_none();
        }
        if self.right.meets((start, end)) {
            self.right.remove((start / piece * piece, end.next_multiple_of(piece)));
        }
    }

    /// Where a request that begins at `start` had best end, so that pieces are
    /// of one source.
    pub(super) fn cut(&self, (start, end): Range, config: &Config) -> Range {
        let most = start.saturating_add(config.chunk);
        let Some(piece) = self.tree.as_ref().map(|tree| tree.piece()) else {
            return (start, end.min(most));
        };
        let next = (start / piece + 1).saturating_mul(piece);
        (start, end.min(next.max(most / piece * piece)))
    }

    /// The middle of a range, where a piece begins if one does in it.
    pub(super) fn middle(&self, (start, end): Range) -> u64 {
        let middle = start + (end - start) / 2;
        let begins = self.tree.as_ref().map(|tree| middle.next_multiple_of(tree.piece()));
        begins.filter(|at| *at < end).unwrap_or(middle)
    }
}

/// A source gave some of these bytes.
fn gave(src: &Src, span: Range) -> bool {
    src.wrote.meets(span)
}

impl Download {
    /// Every byte is on disk.
    pub(super) fn has_all(&self) -> bool {
        self.size.is_some_and(|size| self.have.gaps((0, size)).is_empty())
    }

    /// The pieces of a whole file are right, or nobody knows better. When they
    /// are right and the SHA-1 says otherwise, the tree was wrong.
    pub(super) fn pieces_agree(&mut self, size: u64, cx: &mut Cx<'_>) -> bool {
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

    /// Has pieces that are whole hashed, a few at a time.
    pub(super) fn check(&mut self, cx: &mut Cx<'_>) {
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

    /// A piece is hashed; `None` when the host cannot do that.
    pub(super) fn hashed(&mut self, start: u64, found: Option<Tth>, cx: &mut Cx<'_>) {
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
    fn throw_away(&mut self, no: u32, span: Range, cx: &mut Cx<'_>) {
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
        // That explains the SHA-1.
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

    /// Throws away what a source gave of pieces that are not whole: they could
    /// not be told from what others add.
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

    /// A piece that is to be of one source alone begins anew when that one has
    /// left it.
    pub(super) fn begin_pieces_anew(&mut self) {
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

    /// The SHA-1 does not agree: the pieces are to say why, if there is a tree
    /// or may be one. False when there is not.
    pub(super) fn ask_the_pieces(&mut self, cx: &mut Cx<'_>) -> bool {
        if self.checks.tree.is_none() && !self.may_have_tree() {
            return false;
        }
        // Bytes may have come over a piece after it was checked.
        self.checks.know_nothing();
        self.checks.doubted = true;
        self.state = State::Running;
        self.ask_for_tree(cx);
        self.check(cx);
        true
    }

    /// Every piece agrees and the SHA-1 does not: the tree is of another file.
    fn refute(&mut self, cx: &mut Cx<'_>) {
        let Some(root) = self.give_up_tree(cx) else { return };
        self.have = RangeSet::default();
        self.resumed = false;
        for src in self.sources.values_mut() {
            src.forget();
        }
        let told = |src: &Src| src.thex.as_ref().map(|uri| uri.root) == Some(root);
        // Nothing is asked for before all who told it are known.
        self.state = State::Resting;
        for no in keys_where(&self.sources, |src| told(src)) {
            self.lose(no, SourceTrouble::Corrupt, cx);
        }
        self.doubt_size();
        self.save(cx);
        self.begin(cx);
    }

    /// Nobody is left, and the tree may be to blame for it: whoever was dropped
    /// on its word is asked after all, if it told of another tree, or if nobody
    /// but the giver of this one had a piece that agrees with it. False when
    /// nobody was.
    pub(super) fn doubt_tree(&mut self, cx: &mut Cx<'_>) -> bool {
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

    /// Does without the tree, and takes those back who were dropped on the word
    /// of others.
    fn give_up_tree(&mut self, cx: &mut Cx<'_>) -> Option<Tth> {
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

    /// The host cannot hash: all is as it is without a tree.
    fn go_blind(&mut self, cx: &mut Cx<'_>) {
        (self.checks.blind, self.checks.tree) = (true, None);
        self.checks.stop();
        if core::mem::take(&mut self.checks.doubted) {
            self.refetch(cx);
        } else {
            self.finish_if_whole(cx);
        }
    }
}
