//! The world: a clock, a calendar, nodes, and the links between them.
//!
//! Everything that is the same for all protocols is here: nodes start, get
//! inputs, have timers, stall, crash and restart; events are numbered and
//! recorded; faults can be planned while the world runs; and a clone of a world
//! is a keyframe, which has the same future.

mod protocol;
mod slot;

use alloc::sync::Arc;
use alloc::vec::Vec;

use servent_core::engine::{Engine as _, FxOf};
use servent_core::time::Instant;
use servent_core::trace::{NodeId, Record, RecordCause, Recorder};

pub use self::protocol::{Life, Protocol};
pub(crate) use self::slot::{InputOf, Slot};
use crate::action::At;
use crate::calendar::Calendar;
use crate::error::ScenarioError;

/// A planned event.
#[derive(Debug, Clone)]
pub(crate) enum WorldPlan<D> {
    /// A fault, by its index in the list.
    Fault(u32),
    /// A node's own timer.
    Timer(u32),
    /// An event planned by the protocol.
    Own(D),
}

/// A world of nodes. A clone is a keyframe: it shares with the original
/// whatever neither of them changes afterwards.
#[derive(Debug)]
pub struct World<P: Protocol> {
    now: Instant,
    calendar: Calendar<WorldPlan<P::Due>>,
    pub(crate) nodes: Vec<Arc<Slot<P>>>,
    /// The links between the nodes.
    pub(crate) net: P,
    faults: Arc<Vec<At<P::Fault>>>,
    recorder: Recorder,
    events: u64,
    /// Effects of the last input. Empty between two events, and kept only to
    /// reuse its memory.
    pub(crate) fx: FxOf<P::Host>,
    /// Records of the current event; empty between two.
    log: Vec<Record<P::Event>>,
}

impl<P: Protocol> Clone for World<P> {
    fn clone(&self) -> Self {
        Self {
            now: self.now,
            calendar: self.calendar.clone(),
            nodes: self.nodes.clone(),
            net: self.net.clone(),
            faults: Arc::clone(&self.faults),
            recorder: self.recorder.clone(),
            events: self.events,
            fx: FxOf::<P::Host>::default(),
            log: Vec::new(),
        }
    }
}

impl<P: Protocol> World<P> {
    /// The world of a scenario, before anything has happened.
    ///
    /// # Panics
    /// When none can be made from it; [`World::try_new`] returns an error
    /// instead.
    #[must_use]
    pub fn new(scenario: &P::Scenario) -> Self {
        Self::try_new(scenario).unwrap_or_else(|wrong| panic!("{wrong}"))
    }

    /// The world of a scenario, before anything has happened.
    ///
    /// # Errors
    /// The first value that is invalid.
    pub fn try_new(scenario: &P::Scenario) -> Result<Self, ScenarioError> {
        P::check(scenario)?;
        Ok(Self::unchecked(scenario))
    }

    /// The same for a scenario that need not be valid: nodes may be added
    /// later.
    pub(crate) fn unchecked(scenario: &P::Scenario) -> Self {
        let (net, nodes) = P::new(scenario);
        let faults = P::faults(scenario).to_vec();
        let mut world = Self {
            now: Instant::ZERO,
            calendar: Calendar::default(),
            nodes: nodes.into_iter().map(|own| Arc::new(Slot::new(own))).collect(),
            net,
            faults: Arc::new(Vec::new()),
            recorder: Recorder::default(),
            events: 0,
            fx: FxOf::<P::Host>::default(),
            log: Vec::new(),
        };
        for (i, fault) in faults.iter().enumerate() {
            world.calendar.plan_first(fault.at, WorldPlan::Fault(i as u32));
        }
        world.faults = Arc::new(faults);
        P::begin(&mut world);
        world
    }

    /// The scenario it was made from.
    #[must_use]
    pub fn scenario(&self) -> &P::Scenario {
        self.net.scenario()
    }

    /// The world's clock.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The fingerprint of all records so far.
    #[must_use]
    pub const fn digest(&self) -> u64 {
        self.recorder.digest().value()
    }

    /// The number of records so far.
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.recorder.next()
    }

    /// The number of calendar events so far.
    #[must_use]
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// The instant of the next event; `None` when there is none.
    #[must_use]
    pub fn next_at(&self) -> Option<Instant> {
        self.calendar.next()
    }

    /// The number of planned events.
    #[must_use]
    pub fn planned(&self) -> usize {
        self.calendar.len()
    }

    /// The number of nodes, up or down; they are numbered from 0.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// A node's engine; `None` before the node arrives and while it is down.
    ///
    /// # Panics
    /// When the world has no such node.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<&P::Host> {
        self.known(id).engine.as_ref()
    }

    /// True when a node has arrived and runs.
    ///
    /// # Panics
    /// When the world has no such node.
    #[must_use]
    pub fn is_up(&self, id: NodeId) -> bool {
        self.known(id).engine.is_some()
    }

    /// The faults so far: those of the scenario, then the injected ones in the
    /// order in which they were planned.
    #[must_use]
    pub const fn faults(&self) -> &Arc<Vec<At<P::Fault>>> {
        &self.faults
    }

    /// Runs the next event and appends its records to `out`; false when there
    /// is none.
    pub fn step(&mut self, out: &mut Vec<Record<P::Event>>) -> bool {
        let Some((at, due)) = self.calendar.pop() else { return false };
        debug_assert!(at >= self.now);
        self.now = at;
        self.events += 1;
        core::mem::swap(out, &mut self.log);
        match due {
            WorldPlan::Fault(index) => P::strike(self, index),
            WorldPlan::Timer(node) => self.timer(node),
            WorldPlan::Own(due) => P::happen(self, due),
        }
        core::mem::swap(out, &mut self.log);
        true
    }

    /// Runs all events up to and including the instant `until`, and moves the
    /// clock there.
    pub fn run_until(&mut self, until: Instant, out: &mut Vec<Record<P::Event>>) {
        while self.calendar.next().is_some_and(|at| at <= until) {
            self.step(out);
        }
        self.now = self.now.max(until);
    }

    /// Runs all events up to and including the instant `until`, or until the
    /// world is `done`; `see` is shown every record.
    pub fn watch(
        &mut self,
        until: Instant,
        mut done: impl FnMut(&Self) -> bool,
        mut see: impl FnMut(&Record<P::Event>),
    ) {
        let mut fresh = Vec::new();
        while !done(self) && self.calendar.next().is_some_and(|at| at <= until) {
            self.step(&mut fresh);
            fresh.drain(..).for_each(|record| see(&record));
        }
    }

    /// Plans a fault. One for the past, or for now, happens in the next
    /// microsecond. Returns it with the instant at which it happens: a scenario
    /// with this fault at that instant gives the same run.
    ///
    /// # Panics
    /// When it names a node that does not exist, or exceeds a limit;
    /// [`Self::possible`] returns an error instead.
    pub fn inject(&mut self, fault: At<P::Fault>) -> At<P::Fault> {
        if let Err(wrong) = P::admits(self, &fault.act) {
            panic!("{wrong}")
        }
        let fault =
            At { at: fault.at.max(Instant::from_micros(self.now.as_micros() + 1)), ..fault };
        let index = self.faults.len() as u32;
        Arc::make_mut(&mut self.faults).push(fault.clone());
        self.calendar.plan_first(fault.at, WorldPlan::Fault(index));
        fault
    }

    /// Checks that an action is possible in this world now.
    ///
    /// # Errors
    /// When it names nodes that do not exist or exceeds a limit, a node that
    /// must be running is down, or it is too late.
    pub fn possible(&self, fault: &P::Fault) -> Result<(), ScenarioError> {
        P::admits(self, fault)?;
        P::is_possible(self, fault)
    }

    /// Adds faults that were planned after this world was cloned; all of them
    /// are in its future.
    pub(crate) fn adopt(&mut self, faults: &Arc<Vec<At<P::Fault>>>) {
        for (i, fault) in faults.iter().enumerate().skip(self.faults.len()) {
            debug_assert!(fault.at > self.now);
            self.calendar.plan_first(fault.at, WorldPlan::Fault(i as u32));
        }
        self.faults = Arc::clone(faults);
    }

    /// The node that a caller names.
    ///
    /// # Panics
    /// When the world has no such node.
    pub(crate) fn known(&self, id: NodeId) -> &Slot<P> {
        let count = self.nodes.len();
        let Some(slot) = self.nodes.get(id.0 as usize) else {
            panic!("there is no node {}: there are {count}, numbered from 0", id.0)
        };
        slot
    }

    // Used by the protocols.

    /// Does something between two events, appending its records to `out`.
    pub(crate) fn between<T>(
        &mut self,
        out: &mut Vec<Record<P::Event>>,
        act: impl FnOnce(&mut Self) -> T,
    ) -> T {
        core::mem::swap(out, &mut self.log);
        let done = act(self);
        core::mem::swap(out, &mut self.log);
        done
    }

    // Used while the timing is open: what happens next is chosen, not planned.

    /// Does something, and returns its records. Timers and faults do not stay
    /// planned, and what the protocol has planned only if it `keeps` that.
    pub(crate) fn choose(
        &mut self,
        keeps: bool,
        act: impl FnOnce(&mut Self),
    ) -> Vec<Record<P::Event>> {
        let mut records = Vec::new();
        self.between(&mut records, act);
        if keeps {
            self.calendar.retain(|due| matches!(due, WorldPlan::Own(_)));
        } else {
            self.calendar = Calendar::default();
        }
        records
    }

    /// What the protocol has planned, in order: a number, the instant, and what.
    pub(crate) fn plans(&self) -> impl Iterator<Item = (u64, Instant, &P::Due)> {
        self.calendar.entries().filter_map(|(number, at, due)| match due {
            WorldPlan::Own(due) => Some((number, at, due)),
            _ => None,
        })
    }

    /// Lets something planned happen now.
    pub(crate) fn happen_now(&mut self, number: u64) {
        if let Some((_, WorldPlan::Own(due))) = self.calendar.take(number) {
            P::happen(self, due);
        }
    }

    /// Moves the clock to the instant of something planned, and lets it happen.
    pub(crate) fn happen_in_time(&mut self, number: u64) {
        if let Some((at, WorldPlan::Own(due))) = self.calendar.take(number) {
            self.now = self.now.max(at);
            P::happen(self, due);
        }
    }

    /// When a node's timer is due.
    pub(crate) fn due(&self, node: u32) -> Option<Instant> {
        let slot = self.slot(node);
        let (at, _) = slot.engine.as_ref().and_then(P::Host::poll_timeout)?;
        slot.stalled.is_none().then(|| slot.clock.in_world(at, self.now))
    }

    /// Moves the clock to the deadline of a node's timer, and runs it.
    pub(crate) fn run_timer(&mut self, node: u32) {
        if let Some(at) = self.due(node) {
            self.now = at;
            self.slot_mut(node).armed = Some(at);
            self.timer(node);
        }
    }

    /// Adds a node that has not started; returns its number.
    pub(crate) fn append(&mut self, own: P::Node) -> u32 {
        self.nodes.push(Arc::new(Slot::new(own)));
        self.count() - 1
    }

    /// Plans an event.
    pub(crate) fn plan(&mut self, at: Instant, due: P::Due) {
        self.calendar.plan(at, WorldPlan::Own(due));
    }

    pub(crate) fn slot(&self, node: u32) -> &Slot<P> {
        &self.nodes[node as usize]
    }

    /// A node, mutable: from now on no keyframe shares it.
    pub(crate) fn slot_mut(&mut self, node: u32) -> &mut Slot<P> {
        Arc::make_mut(&mut self.nodes[node as usize])
    }

    /// The protocol's part of a node.
    pub(crate) fn own(&self, node: u32) -> &P::Node {
        &self.nodes[node as usize].own
    }

    /// The protocol's part of a node, mutable.
    pub(crate) fn own_mut(&mut self, node: u32) -> &mut P::Node {
        &mut self.slot_mut(node).own
    }

    /// Records an event about a node; returns the record's number.
    pub(crate) fn note(&mut self, node: u32, cause: RecordCause, event: P::Event) -> u64 {
        self.recorder.record(self.now, NodeId(node), cause, event, &mut self.log)
    }

    /// The number of the next record.
    pub(crate) const fn next_record(&self) -> u64 {
        self.recorder.next()
    }

    /// Starts a node; `cause` is the record of its restart, if it is one.
    pub(crate) fn boot(&mut self, node: u32, cause: RecordCause) {
        let start = self.slot(node).starts + 1;
        let engine = P::engine(self, node, start);
        let slot = self.slot_mut(node);
        slot.starts = start;
        slot.engine = Some(engine);
        slot.stalled = None;
        P::started(self, node, cause);
    }

    /// Passes an input to a node, or keeps it while the node is stalled.
    pub(crate) fn give(&mut self, node: u32, input: InputOf<P>, cause: RecordCause) {
        if self.nodes[node as usize].stalled.is_some() {
            self.slot_mut(node).inbox.push((input, cause));
            return;
        }
        self.handle(node, input);
        self.settle(node, cause);
    }

    /// Lets an engine handle an input, and no more: the effects are in `fx`
    /// afterwards.
    pub(crate) fn handle(&mut self, node: u32, input: InputOf<P>) {
        let slot = Arc::make_mut(&mut self.nodes[node as usize]);
        if let Some(engine) = &mut slot.engine {
            engine.handle(slot.clock.read(self.now), input, &mut self.fx);
        }
    }

    fn timer(&mut self, node: u32) {
        let now = self.now;
        if self.nodes[node as usize].armed != Some(now) {
            return; // Superseded by an earlier one.
        }
        let slot = Arc::make_mut(&mut self.nodes[node as usize]);
        slot.armed = None;
        if slot.stalled.is_some() {
            return;
        }
        let local = slot.clock.read(now);
        if let Some(engine) = &mut slot.engine
            && engine.poll_timeout().is_some_and(|(at, _)| at <= local)
        {
            engine.handle_timeout(local, &mut self.fx);
        }
        self.settle(node, None);
    }

    /// Carries out a node's effects, then plans its next timer.
    pub(crate) fn settle(&mut self, node: u32, cause: RecordCause) {
        P::carry_out(self, node, cause);
        self.arm(node);
    }

    /// Plans a node's next timer, unless an earlier one is planned.
    pub(crate) fn arm(&mut self, node: u32) {
        let slot = &self.nodes[node as usize];
        if slot.stalled.is_some() {
            return;
        }
        let Some((at, _)) = slot.engine.as_ref().and_then(P::Host::poll_timeout) else { return };
        let at = slot.clock.in_world(at, self.now);
        if slot.armed.is_none_or(|armed| at < armed) {
            self.slot_mut(node).armed = Some(at);
            self.calendar.plan(at, WorldPlan::Timer(node));
        }
    }

    /// Changes a node's clock error: its timers are planned again.
    pub(crate) fn set_clock(&mut self, node: u32, offset: i64) {
        let now = self.now;
        let slot = self.slot_mut(node);
        slot.clock.offset = offset;
        slot.armed = Some(now);
        self.calendar.plan(now, WorldPlan::Timer(node));
    }

    /// A node dies without notice; false when it was down already.
    pub(crate) fn crash(&mut self, node: u32) -> bool {
        if self.slot(node).engine.is_none() {
            return false;
        }
        let cause = Some(self.note(node, None, P::told(Life::Crashed)));
        self.end(node, cause);
        true
    }

    /// Removes a node's engine and the inputs waiting for it.
    pub(crate) fn end(&mut self, node: u32, cause: RecordCause) {
        let slot = self.slot_mut(node);
        slot.engine = None;
        slot.armed = None;
        slot.stalled = None;
        slot.inbox.clear();
        P::crashed(self, node, cause);
    }

    /// Restarts a node; a running one crashes first.
    pub(crate) fn restart(&mut self, node: u32) {
        self.crash(node);
        let cause = Some(self.note(node, None, P::told(Life::Restarted)));
        self.boot(node, cause);
    }

    /// Stalls a node: it processes no input, and its timers wait.
    pub(crate) fn stall(&mut self, node: u32) {
        let slot = self.slot(node);
        if slot.engine.is_none() || slot.stalled.is_some() {
            return;
        }
        let cause = Some(self.note(node, None, P::told(Life::Stalled)));
        self.slot_mut(node).stalled = Some(self.now);
        P::stalled(self, node, cause);
    }

    /// Ends a node's stall: the inputs that arrived meanwhile come first.
    pub(crate) fn resume(&mut self, node: u32) {
        let Some(since) = self.slot(node).stalled else { return };
        let cause = Some(self.note(node, None, P::told(Life::Resumed)));
        let slot = self.slot_mut(node);
        slot.stalled = None;
        slot.armed = None;
        let inbox = core::mem::take(&mut slot.inbox);
        P::resumed(self, node, since, cause);
        for (input, why) in inbox {
            self.give(node, input, why.or(cause));
        }
        self.settle(node, cause);
    }
}
