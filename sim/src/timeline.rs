//! Time travel: keyframes, a cursor, and branches.
//!
//! A keyframe is a clone of the world, and clones share what neither changes.
//! Seeking restores the nearest keyframe and runs again, which gives exactly
//! the same world because nothing in it depends on anything outside. A fault in
//! the past opens a branch; the known future stays.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::action::At;
use crate::error::ScenarioError;
use crate::world::{Protocol, World};
use servent_core::time::Instant;
use servent_core::trace::{Digest, NodeId, Record};

/// A record of a protocol's world.
type RecordOf<P> = Record<<P as Protocol>::Event>;

/// The spacing and number of keyframes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keyframes {
    /// Calendar events between two keyframes, initially.
    pub every: u64,
    /// The most keyframes of one branch. Beyond that, every second one is
    /// dropped and the spacing doubles.
    pub most: usize,
}

impl Default for Keyframes {
    fn default() -> Self {
        Self { every: 4_096, most: 128 }
    }
}

/// One line of history.
#[derive(Debug, Clone)]
pub struct Branch<P: Protocol> {
    /// The branch it forked from, its first own record, and the instant.
    pub parent: Option<(usize, u64, Instant)>,
    /// Its name.
    pub name: String,
    frontier: World<P>,
    records: Vec<RecordOf<P>>,
    keyframes: Vec<World<P>>,
    every: u64,
}

/// A world with its past and its possible futures.
#[derive(Debug, Clone)]
pub struct Timeline<P: Protocol> {
    branches: Vec<Branch<P>>,
    pace: Keyframes,
    branch: usize,
    cursor: World<P>,
    /// How many records have happened at the cursor: the last ones of the
    /// cursor's last batch may still be to come.
    index: u64,
    now: Instant,
    scratch: Vec<RecordOf<P>>,
}

impl<P: Protocol> Timeline<P> {
    /// The most branches at one time.
    pub const BRANCHES: usize = 16;

    /// A timeline at the start of a scenario.
    ///
    /// # Panics
    /// When no world can be made from it; [`Timeline::try_new`] returns an
    /// error instead.
    #[must_use]
    pub fn new(scenario: &P::Scenario, pace: Keyframes) -> Self {
        Self::at_start(World::new(scenario), pace)
    }

    /// A timeline at the start of a scenario.
    ///
    /// # Errors
    /// The first value that is invalid.
    pub fn try_new(scenario: &P::Scenario, pace: Keyframes) -> Result<Self, ScenarioError> {
        Ok(Self::at_start(World::try_new(scenario)?, pace))
    }

    fn at_start(world: World<P>, pace: Keyframes) -> Self {
        let root = Branch {
            parent: None,
            name: String::from("main"),
            frontier: world.clone(),
            records: Vec::new(),
            keyframes: alloc::vec![world.clone()],
            every: pace.every,
        };
        Self {
            branches: alloc::vec![root],
            pace,
            branch: 0,
            cursor: world,
            index: 0,
            now: Instant::ZERO,
            scratch: Vec::new(),
        }
    }

    /// The world at the cursor.
    #[must_use]
    pub const fn world(&self) -> &World<P> {
        &self.cursor
    }

    /// The instant of the cursor.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// How many records have happened at the cursor.
    #[must_use]
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// How many records of this branch are known.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.branches[self.branch].frontier.records()
    }

    /// How far this branch has been explored.
    #[must_use]
    pub fn frontier(&self) -> Instant {
        self.branches[self.branch].frontier.now()
    }

    /// The world at the end of what is known of this branch.
    #[must_use]
    pub fn farthest(&self) -> &World<P> {
        &self.branches[self.branch].frontier
    }

    /// How many keyframes are kept, on all branches.
    #[must_use]
    pub fn keyframes(&self) -> usize {
        self.branches.iter().map(|b| b.keyframes.len()).sum()
    }

    /// The branches, and the number of the current one.
    #[must_use]
    pub fn branches(&self) -> (&[Branch<P>], usize) {
        (&self.branches, self.branch)
    }

    /// The faults of the current branch, those of the scenario first.
    #[must_use]
    pub fn faults(&self) -> &[At<P::Fault>] {
        self.branches[self.branch].frontier.faults()
    }

    /// A record of the current branch.
    #[must_use]
    pub fn record(&self, i: u64) -> Option<&RecordOf<P>> {
        self.record_of(self.branch, i)
    }

    /// A record of any branch.
    #[must_use]
    pub fn record_of(&self, mut branch: usize, i: u64) -> Option<&RecordOf<P>> {
        loop {
            let b = self.branches.get(branch)?;
            let Some((parent, base, _)) = b.parent else {
                return b.records.get(usize::try_from(i).ok()?);
            };
            if i >= base {
                return b.records.get(usize::try_from(i - base).ok()?);
            }
            branch = parent;
        }
    }

    /// The first record in which two branches differ; `None` while they agree
    /// as far as both are known.
    #[must_use]
    pub fn divergence(&self, a: usize, b: usize) -> Option<u64> {
        let known = |branch: usize| self.branches.get(branch).map(|b| b.frontier.records());
        let both = known(a)?.min(known(b)?);
        // By fingerprint: comparing all kinds of events field by field would
        // need code for this alone.
        let print = |branch: usize, i: u64| {
            let mut digest = Digest::default();
            if let Some(record) = self.record_of(branch, i) {
                digest.add(record);
            }
            digest.value()
        };
        (self.fork_of(a, b)..both).find(|i| print(a, *i) != print(b, *i))
    }

    /// The first record after which two branches are separate.
    fn fork_of(&self, a: usize, b: usize) -> u64 {
        let line = |mut branch: usize| {
            let mut line = alloc::vec![(branch, u64::MAX)];
            while let Some((parent, base, _)) = self.branches[branch].parent {
                let shared = base.min(line[line.len() - 1].1);
                line.push((parent, shared));
                branch = parent;
            }
            line
        };
        let (of_a, of_b) = (line(a), line(b));
        of_a.iter()
            .filter_map(|(x, i)| of_b.iter().find(|(y, _)| x == y).map(|(_, j)| *i.min(j)))
            .max()
            .unwrap_or(0)
    }

    /// Runs the frontier on, for at most `most` calendar events and not beyond
    /// `until`; true when it is there.
    pub fn explore(&mut self, until: Instant, most: u64) -> bool {
        let branch = &mut self.branches[self.branch];
        for _ in 0..most {
            if branch.frontier.next_at().is_none_or(|at| at > until) {
                branch.frontier.run_until(until, &mut branch.records);
                return true;
            }
            branch.frontier.step(&mut branch.records);
            branch.keep(self.pace.most);
        }
        false
    }

    /// Moves the cursor to an instant: everything up to it has happened,
    /// nothing after.
    pub fn seek(&mut self, to: Instant) {
        self.explore(to, u64::MAX);
        let start = self.nearest(|w| w.now() <= to);
        self.take_up(start, |w| w.now() <= to);
        self.scratch.clear();
        self.cursor.run_until(to, &mut self.scratch);
        self.index = self.cursor.records();
        self.now = to;
    }

    /// Moves the cursor forward to an instant, by at most `most` calendar
    /// events; returns the instant reached.
    pub fn advance(&mut self, to: Instant, most: u64) -> Instant {
        let mut left = most;
        while left > 0 && self.cursor.next_at().is_some_and(|at| at <= to) {
            if self.cursor.now() >= self.frontier() {
                let at = self.cursor.next_at().unwrap_or(to);
                if !self.explore(at, left) {
                    break;
                }
            }
            self.scratch.clear();
            self.cursor.step(&mut self.scratch);
            left -= 1;
        }
        if self.cursor.next_at().is_none_or(|at| at > to) {
            self.explore(to, u64::MAX);
            self.scratch.clear();
            self.cursor.run_until(to, &mut self.scratch);
            self.now = self.now.max(to);
        } else {
            self.now = self.now.max(self.cursor.now());
        }
        self.index = self.cursor.records();
        self.now
    }

    /// Moves the cursor to just after record `i`; false when there is no such
    /// record before `until`.
    pub fn seek_record(&mut self, i: u64, until: Instant) -> bool {
        while self.record(i).is_none() {
            if self.explore(until, 256) && self.record(i).is_none() {
                return false;
            }
        }
        let start = self.nearest(|w| w.records() <= i);
        self.take_up(start, |w| w.records() <= i);
        self.scratch.clear();
        while self.cursor.records() <= i && self.cursor.step(&mut self.scratch) {}
        self.index = i + 1;
        self.now = self.record(i).map_or(self.now, |r| r.at);
        true
    }

    /// The world just after record `i` of this branch, or before all records,
    /// without moving the cursor.
    #[must_use]
    pub fn world_at(&self, i: Option<u64>) -> World<P> {
        let faults = self.branches[self.branch].frontier.faults();
        let records = i.map_or(0, |i| i + 1);
        let start = self.nearest(|w| w.records() < records.max(1));
        let mut world = self.keyframe(start).clone();
        world.adopt(faults);
        let mut scratch = Vec::new();
        while world.records() < records && world.step(&mut scratch) {}
        world
    }

    /// The world just before the event that makes record `i` of this branch,
    /// and maybe others with it, without moving the cursor.
    #[must_use]
    pub fn world_before(&self, i: u64) -> World<P> {
        let made = self.world_at(i.checked_sub(1));
        if made.records() <= i {
            return made;
        }
        let start = self.nearest(|w| w.records() <= i);
        let mut world = self.keyframe(start).clone();
        world.adopt(self.branches[self.branch].frontier.faults());
        let mut scratch = Vec::new();
        while world.events() + 1 < made.events() && world.step(&mut scratch) {}
        world
    }

    /// Moves one record forward or back; false at either end.
    pub fn step(&mut self, forward: bool, until: Instant) -> bool {
        if forward {
            return self.seek_record(self.index, until);
        }
        match self.index {
            0 => false,
            1 => {
                self.rewind();
                true
            }
            i => self.seek_record(i - 2, until),
        }
    }

    /// Moves one record of a node forward or back; false when there is none.
    ///
    /// # Panics
    /// When the world has no such node.
    pub fn step_node(&mut self, node: NodeId, forward: bool, until: Instant) -> bool {
        let _ = self.cursor.known(node); // Panics with a sentence if there is none.
        if forward {
            let mut i = self.index;
            loop {
                match self.record(i).map(|r| r.node == node) {
                    Some(true) => return self.seek_record(i, until),
                    Some(false) => i += 1,
                    None => {
                        if self.explore(until, 256) && self.record(i).is_none() {
                            return false;
                        }
                    }
                }
            }
        }
        let own = |i: &u64| self.record(*i).is_some_and(|r| r.node == node);
        let mut before = (0..self.index).rev().filter(own);
        match (before.next(), before.next()) {
            (None, _) => false,
            (Some(_), Some(i)) => self.seek_record(i, until),
            (Some(0), None) => {
                self.rewind();
                true
            }
            (Some(i), None) => self.seek_record(i - 1, until),
        }
    }

    /// Injects a fault now. If the future is already known it opens a branch,
    /// otherwise it becomes part of this one. Returns its branch; `None` when
    /// there are [`Timeline::BRANCHES`] already.
    ///
    /// # Panics
    /// When it names a node that does not exist, or exceeds a limit;
    /// [`World::possible`] returns an error instead.
    pub fn inject(&mut self, fault: P::Fault) -> Option<usize> {
        let base = self.cursor.records();
        let known = self.cursor.now() < self.frontier() || base < self.count();
        if known && self.branches.len() >= Self::BRANCHES {
            return None;
        }
        self.index = base;
        if !known {
            let frontier = &mut self.branches[self.branch].frontier;
            frontier.inject(At { at: self.now, act: fault });
            self.cursor.adopt(frontier.faults());
            return Some(self.branch);
        }
        self.cursor.inject(At { at: self.now, act: fault });
        let name = format!("what-if {}", self.branches.len());
        let branch = Branch {
            parent: Some((self.branch, base, self.now)),
            name,
            frontier: self.cursor.clone(),
            records: Vec::new(),
            keyframes: alloc::vec![self.cursor.clone()],
            every: self.pace.every,
        };
        self.branches.push(branch);
        self.branch = self.branches.len() - 1;
        Some(self.branch)
    }

    /// Switches to another branch, at the same instant; false when there is
    /// none of that number.
    pub fn use_branch(&mut self, branch: usize) -> bool {
        if branch >= self.branches.len() {
            return false;
        }
        self.branch = branch;
        let now = self.now;
        self.seek(now);
        true
    }

    fn rewind(&mut self) {
        self.cursor = self.keyframe((0, 0)).clone();
        self.cursor.adopt(self.branches[self.branch].frontier.faults());
        self.index = 0;
        self.now = Instant::ZERO;
    }

    fn keyframe(&self, (branch, i): (usize, usize)) -> &World<P> {
        &self.branches[branch].keyframes[i]
    }

    /// The last keyframe of this branch and those it forked from for which
    /// `before` holds.
    fn nearest(&self, before: impl Fn(&World<P>) -> bool) -> (usize, usize) {
        let mut branch = self.branch;
        loop {
            let b = &self.branches[branch];
            let n = b.keyframes.partition_point(&before);
            match (n.checked_sub(1), b.parent) {
                (Some(i), _) => return (branch, i),
                (None, Some((parent, ..))) => branch = parent,
                (None, None) => return (0, 0),
            }
        }
    }

    /// Moves the cursor to a keyframe, unless it is already between that
    /// keyframe and the goal, on this branch. A keyframe from before a fault
    /// was injected is told of that fault here.
    fn take_up(&mut self, start: (usize, usize), before: impl Fn(&World<P>) -> bool) {
        let faults = self.branches[self.branch].frontier.faults();
        let frame = self.keyframe(start);
        let here = Arc::ptr_eq(self.cursor.faults(), faults);
        if !(here && before(&self.cursor) && self.cursor.events() >= frame.events()) {
            let mut world = frame.clone();
            world.adopt(faults);
            self.cursor = world;
        }
    }
}

impl<P: Protocol> Branch<P> {
    /// How many calendar events this branch is known for.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.frontier.events()
    }

    /// How far it is known: the instant, and the number of records.
    #[must_use]
    pub fn known(&self) -> (Instant, u64) {
        (self.frontier.now(), self.frontier.records())
    }

    /// The fingerprint of everything known of it.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.frontier.digest()
    }

    /// Keeps a keyframe when the last one is far enough back.
    fn keep(&mut self, most: usize) {
        let last = self.keyframes.last().map_or(0, World::events);
        if self.frontier.events() < last + self.every {
            return;
        }
        self.keyframes.push(self.frontier.clone());
        if self.keyframes.len() > most {
            let mut odd = false;
            self.keyframes.retain(|_| {
                odd = !odd;
                odd
            });
            self.every *= 2;
        }
    }
}
