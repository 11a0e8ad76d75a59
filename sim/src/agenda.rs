//! The clock of a world, what is due in it, and what is done to it.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::act::At;
use servent_core::time::Instant;

/// What has to wait for faults of the same instant.
const AFTER_FAULTS: u64 = 1 << 63;

/// What happens in a world, and when. What is due together happens in the
/// order in which it was planned, but faults first: so a fault that is added
/// while the world runs happens where it would have happened had it been
/// planned from the beginning.
#[derive(Debug, Clone)]
pub(crate) struct Agenda<D, A> {
    now: Instant,
    due: BTreeMap<(Instant, u64), D>,
    planned: u64,
    events: u64,
    faults: Arc<Vec<At<A>>>,
    /// How a fault is planned, by its place in the list.
    fault: fn(u32) -> D,
}

impl<D, A: Clone> Agenda<D, A> {
    /// Nothing but these faults.
    pub(crate) fn new(faults: &[At<A>], fault: fn(u32) -> D) -> Self {
        let (now, due, none) = (Instant::ZERO, BTreeMap::new(), Arc::default());
        let mut agenda = Self { now, due, planned: 0, events: 0, faults: none, fault };
        agenda.adopt(&Arc::new(faults.to_vec()));
        agenda
    }

    pub(crate) const fn now(&self) -> Instant {
        self.now
    }

    /// How many things have happened.
    pub(crate) const fn events(&self) -> u64 {
        self.events
    }

    pub(crate) const fn faults(&self) -> &Arc<Vec<At<A>>> {
        &self.faults
    }

    /// When the next thing is due.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.due.first_key_value().map(|((at, _), _)| *at)
    }

    /// Plans something that is no fault.
    pub(crate) fn plan(&mut self, at: Instant, due: D) {
        self.insert(at, AFTER_FAULTS, due);
    }

    /// Goes on to the next thing.
    pub(crate) fn pop(&mut self) -> Option<D> {
        let ((at, _), due) = self.due.pop_first()?;
        self.now = at;
        self.events += 1;
        Some(due)
    }

    /// Lets time pass in which nothing is due.
    pub(crate) fn pass(&mut self, until: Instant) {
        self.now = self.now.max(until);
    }

    /// Plans a fault; one for the past, or for now, for the next microsecond.
    pub(crate) fn inject(&mut self, at: Instant, fault: At<A>) {
        let at = at.max(Instant::from_micros(self.now.as_micros() + 1));
        let index = self.faults.len() as u32;
        Arc::make_mut(&mut self.faults).push(At { at, ..fault });
        self.insert(at, 0, (self.fault)(index));
    }

    /// Learns of faults that were planned after this agenda was kept.
    pub(crate) fn adopt(&mut self, faults: &Arc<Vec<At<A>>>) {
        for (i, fault) in faults.iter().enumerate().skip(self.faults.len()) {
            self.insert(fault.at, 0, (self.fault)(i as u32));
        }
        self.faults = Arc::clone(faults);
    }

    fn insert(&mut self, at: Instant, class: u64, due: D) {
        self.due.insert((at, self.planned | class), due);
        self.planned += 1;
    }
}

/// What a world with an `agenda` and a `recorder` answers to a timeline.
macro_rules! by_agenda {
    () => {
        fn now(&self) -> Instant {
            self.agenda.now()
        }

        fn next_at(&self) -> Option<Instant> {
            self.agenda.next_at()
        }

        fn events(&self) -> u64 {
            self.agenda.events()
        }

        fn records(&self) -> u64 {
            self.recorder.next()
        }

        fn digest(&self) -> u64 {
            self.recorder.digest().value()
        }

        fn run_until(&mut self, until: Instant, out: &mut Vec<Record<Self::Event>>) {
            while self.agenda.next_at().is_some_and(|at| at <= until) {
                self.step(out);
            }
            self.agenda.pass(until);
        }

        fn faults(&self) -> &Arc<Vec<Self::Fault>> {
            self.agenda.faults()
        }

        fn inject(&mut self, at: Instant, fault: Self::Fault) {
            self.agenda.inject(at, fault);
        }

        fn adopt(&mut self, faults: &Arc<Vec<Self::Fault>>) {
            self.agenda.adopt(faults);
        }
    };
}
pub(crate) use by_agenda;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_broken_by_the_order_of_planning_and_faults_come_first() {
        let (at, fault) = (Instant::from_secs(1), |n| 100 + n);
        let mut agenda = Agenda::new(&[At { at, act: () }], fault);
        agenda.plan(at, 1);
        agenda.plan(at, 2);
        agenda.inject(at, At { at, act: () });
        agenda.plan(Instant::ZERO, 3);
        let order: Vec<u32> = core::iter::from_fn(|| agenda.pop()).collect();
        assert_eq!(order, [3, 100, 101, 1, 2]);
        assert_eq!((agenda.now(), agenda.events()), (at, 5));
    }
}
