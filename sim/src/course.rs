//! What a timeline asks of a world.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hash;

use crate::queue::FaultAt;
use crate::queue::Scenario;
use crate::queue::{Guest, World};
use servent_core::time::Instant;
use servent_core::trace::{self, Record};

/// A world that depends on nothing but its scenario, its faults and its own
/// past. A clone has the same future.
pub trait Course: Clone {
    /// What it is made of.
    type Scenario;
    /// What can be done to it while it runs.
    type Fault: Clone;
    /// What it says of itself.
    type Event: Clone + Hash + Debug;

    /// The world of a scenario, before anything has happened.
    fn begin(scenario: &Self::Scenario) -> Self;
    /// Its clock.
    fn now(&self) -> Instant;
    /// When the next thing happens; `None` when nothing ever will.
    fn next_at(&self) -> Option<Instant>;
    /// How many things on its calendar have happened.
    fn events(&self) -> u64;
    /// How many records there were.
    fn records(&self) -> u64;
    /// The fingerprint of everything recorded.
    fn digest(&self) -> u64;
    /// Lets the next thing happen; false when nothing ever will.
    fn step(&mut self, out: &mut Vec<Record<Self::Event>>) -> bool;

    /// Lets everything happen that is due until `until`, and moves the clock
    /// there.
    fn run_until(&mut self, until: Instant, out: &mut Vec<Record<Self::Event>>);
    /// Its faults: those of the scenario, then the others in their order.
    fn faults(&self) -> &Arc<Vec<Self::Fault>>;
    /// Plans a fault for an instant that is not past.
    fn inject(&mut self, at: Instant, fault: Self::Fault);
    /// Learns of faults that were planned after this world was kept; all of
    /// them are still to come for it.
    fn adopt(&mut self, faults: &Arc<Vec<Self::Fault>>);
}

impl<N: Guest> Course for World<N> {
    type Scenario = Scenario;
    type Fault = FaultAt;
    type Event = trace::Event;

    fn begin(scenario: &Scenario) -> Self {
        Self::with(scenario)
    }
    fn now(&self) -> Instant {
        self.now()
    }
    fn next_at(&self) -> Option<Instant> {
        self.next_at()
    }
    fn events(&self) -> u64 {
        self.events()
    }
    fn records(&self) -> u64 {
        self.records()
    }
    fn digest(&self) -> u64 {
        self.digest()
    }
    fn step(&mut self, out: &mut Vec<Record>) -> bool {
        self.step(out)
    }
    fn run_until(&mut self, until: Instant, out: &mut Vec<Record>) {
        self.run_until(until, out);
    }
    fn faults(&self) -> &Arc<Vec<FaultAt>> {
        &self.faults
    }
    fn inject(&mut self, at: Instant, fault: FaultAt) {
        self.inject(FaultAt { at, ..fault });
    }
    fn adopt(&mut self, faults: &Arc<Vec<FaultAt>>) {
        self.adopt(faults);
    }
}
