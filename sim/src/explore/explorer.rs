//! The walk over all states, breadth first (EX-2).

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::choice::ExploredProtocol;
use super::state::ExploredState;
use crate::registry::{Choice, Ended, Explored, Limits};
use crate::{ScenarioError, Violation};

/// A state that follows another one.
#[derive(Debug)]
pub struct Successor<P: ExploredProtocol> {
    choice: Choice,
    print: u128,
    /// Absent where it was known before.
    state: Option<ExploredState<P>>,
}

/// A state whose successors are to be found, with its number.
#[derive(Debug)]
struct Open<P: ExploredProtocol> {
    number: u32,
    state: ExploredState<P>,
}

/// A walk over all states.
#[derive(Debug)]
pub struct Explorer<P: ExploredProtocol> {
    limits: Limits,
    seen: BTreeSet<u128>,
    /// How each state was reached first: from which, and by what.
    parents: Vec<(u32, Choice)>,
    /// The states of this depth.
    level: Vec<Open<P>>,
    next: Vec<Open<P>>,
    found: Explored,
}

impl<P: ExploredProtocol> Explorer<P> {
    /// A walk that begins where a scenario does.
    ///
    /// # Errors
    /// When no world can be made from it.
    pub fn new(scenario: &P::Scenario, limits: Limits) -> Result<Self, ScenarioError> {
        let state = ExploredState::begin(scenario, &limits)?;
        let mut seen = BTreeSet::new();
        seen.insert(state.fingerprint().value());
        let found = Explored {
            states: 1,
            transitions: 0,
            depth: 0,
            ends: 0,
            ended: Ended::Complete,
            violation: None,
            story: Vec::new(),
        };
        let parents = alloc::vec![(0, Choice::Timer { node: 0 })];
        let level = alloc::vec![Open { number: 0, state }];
        Ok(Self { limits, seen, parents, level, next: Vec::new(), found })
    }

    /// What was found so far.
    #[must_use]
    pub const fn found(&self) -> &Explored {
        &self.found
    }

    /// The number of states of this depth whose successors are not known.
    #[must_use]
    pub const fn waiting(&self) -> usize {
        self.level.len()
    }

    /// The successors of the states in a part of this depth, for
    /// [`Self::absorb`]. Changes nothing, so parts can be given to several cores.
    #[must_use]
    pub fn expand(&self, part: core::ops::Range<usize>) -> Vec<Vec<Successor<P>>> {
        let part = self.level.get(part).unwrap_or_default();
        part.iter().map(|open| self.successors(&open.state)).collect()
    }

    fn successors(&self, state: &ExploredState<P>) -> Vec<Successor<P>> {
        let enabled = state.enabled(&self.limits);
        let mut all: Vec<Successor<P>> = Vec::with_capacity(enabled.len());
        for choice in enabled {
            let (state, _) = state.after(choice);
            let print = state.fingerprint().value();
            // Most states are reached in several ways: a known one needs no
            // memory.
            let state = (!self.seen.contains(&print)).then_some(state);
            all.push(Successor { choice, print, state });
        }
        all
    }

    /// Takes the successors of the first states of this depth, in their order.
    /// Returns how the walk ended, if it did.
    pub fn absorb(&mut self, parts: Vec<Vec<Successor<P>>>) -> Option<Ended> {
        let opened: Vec<Open<P>> = self.level.drain(..parts.len()).collect();
        for (mut open, successors) in opened.into_iter().zip(parts) {
            if successors.is_empty() {
                self.found.ends += 1;
                open.state.finish();
                if let Some(violation) = open.state.violation() {
                    return Some(self.broken(open.number, violation.clone()));
                }
            }
            for Successor { choice, print, state } in successors {
                self.found.transitions += 1;
                let Some(state) = state.filter(|_| self.seen.insert(print)) else { continue };
                let number = self.parents.len() as u32;
                self.parents.push((open.number, choice));
                self.found.states += 1;
                if let Some(violation) = state.violation() {
                    let violation = violation.clone();
                    return Some(self.broken(number, violation));
                }
                self.next.push(Open { number, state });
                if self.found.states >= self.limits.states {
                    return Some(self.end(Ended::States));
                }
            }
        }
        if !self.level.is_empty() {
            return None;
        }
        if self.next.is_empty() {
            return Some(self.end(Ended::Complete));
        }
        if self.found.depth >= self.limits.depth {
            return Some(self.end(Ended::Depth));
        }
        self.found.depth += 1;
        self.level = core::mem::take(&mut self.next);
        None
    }

    /// Walks on until the end, on this core; `goes_on` is asked after every few
    /// states.
    pub fn run(&mut self, mut goes_on: impl FnMut(&Explored) -> bool) -> &Explored {
        /// States between two questions.
        const PART: usize = 64;
        loop {
            let parts = self.expand(0..PART.min(self.waiting()));
            if self.absorb(parts).is_some() {
                break;
            }
            if !goes_on(&self.found) {
                self.end(Ended::Cancelled);
                break;
            }
        }
        &self.found
    }

    fn end(&mut self, ended: Ended) -> Ended {
        self.found.ended = ended;
        ended
    }

    fn broken(&mut self, number: u32, violation: Violation) -> Ended {
        self.found.violation = Some(violation);
        let mut at = number;
        while at != 0 {
            let (parent, choice) = self.parents[at as usize];
            self.found.story.push(choice);
            at = parent;
        }
        self.found.story.reverse();
        self.end(Ended::Broken)
    }
}
