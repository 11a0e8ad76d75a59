//! A world being watched: its past and its possible futures, with what every
//! view asks of them. Worlds differ in what [`Watched`] says.

use std::fmt::Debug;
use std::hash::Hash;

use serde::Serialize;
use serde_json::Value;
use servent_core::time::{Duration, Instant};
use servent_core::trace::why::Why;
use servent_core::trace::{NodeId, Record, qlog};
use servent_sim::Violation;
use servent_sim::{At, Keyframes, Protocol, Timeline, World};

use super::lists::list;
use super::room::{self, Room};
use super::{BranchInfo, Columns, NamedRecord, Pin, Verified, diff_of, json, listed};

/// What a view has to know of a world.
pub(crate) trait Watched: Protocol<Scenario: Serialize, Event: Serialize> {
    /// What is gathered from the records.
    type Survey: Survey<Self>;
    /// What its scenario is called in a file.
    const SCHEMA: &'static str;

    fn horizon(scenario: &Self::Scenario) -> Duration;
    fn title(scenario: &Self::Scenario) -> &str;
    /// What all nodes are called.
    fn names(scenario: &Self::Scenario) -> Vec<String>;
    fn with_faults(scenario: &Self::Scenario, faults: Vec<At<Self::Fault>>) -> Self::Scenario;
    fn keyframes(scenario: &Self::Scenario) -> Keyframes;
    /// Reads what is to be done to this world.
    fn admit(world: &World<Self>, text: &str) -> Result<Self::Fault, String>;
    /// The other node a record is about.
    fn other(world: &World<Self>, record: &Record<Self::Event>) -> Option<NodeId>;
    fn is_fault(event: &Self::Event) -> bool;
    fn why(record: &Record<Self::Event>) -> Why;
    /// A node's state as JSON.
    fn look(world: &World<Self>, node: NodeId) -> String;
}

/// What is gathered from the records of one branch, once, as they become
/// known.
pub(crate) trait Survey<W: Watched> {
    fn new(scenario: &W::Scenario) -> Self;
    fn see(&mut self, world: &World<W>, record: &Record<W::Event>);
    /// What the oracles found so far.
    fn violations(&self) -> &[Violation];
}

/// A world, watched.
pub(crate) struct Watch<W: Watched> {
    pub(crate) scenario: W::Scenario,
    pub(crate) names: Vec<String>,
    pub(crate) timeline: Timeline<W>,
    room: Room,
    branch: usize,
    columns: Columns,
    pins: Vec<Pin>,
    survey: W::Survey,
}

impl<W: Watched> Watch<W>
where
    W::Event: Clone + Hash + Debug,
{
    pub(crate) fn new(scenario: W::Scenario) -> Self {
        let timeline = Timeline::new(&scenario, W::keyframes(&scenario));
        let (names, survey) = (W::names(&scenario), W::Survey::new(&scenario));
        let columns = Columns::new(Instant::ZERO, Instant::ZERO + W::horizon(&scenario));
        let (room, pins) = (Room::default(), Vec::new());
        Self { scenario, names, timeline, room, branch: 0, columns, pins, survey }
    }

    pub(crate) fn world(&self) -> &World<W> {
        self.timeline.world()
    }

    pub(crate) fn played(&self) -> W::Scenario {
        W::with_faults(&self.scenario, self.timeline.faults().to_vec())
    }

    pub(crate) fn horizon(&self) -> Instant {
        Instant::ZERO + W::horizon(&self.scenario)
    }

    pub(crate) fn explore(&mut self, max_events: u32) -> bool {
        let mut left = u64::from(max_events);
        while left > 0 {
            let some = left.min(room::STEP);
            self.room.look();
            if self.timeline.explore(self.horizon(), some) {
                return true;
            }
            left -= some;
        }
        false
    }

    pub(crate) fn inspect(&self, node: u32) -> String {
        W::look(self.world(), NodeId(node))
    }

    pub(crate) fn diff(&self, node: u32) -> String {
        let Some(last) = self.timeline.index().checked_sub(1) else { return String::from("[]") };
        let before = W::look(&self.timeline.world_at(last.checked_sub(1)), NodeId(node));
        json(&diff_of(&before, &self.inspect(node)))
    }

    fn name(&self, node: NodeId) -> &str {
        self.names.get(node.0 as usize).map_or("", String::as_str)
    }

    pub(crate) fn named(&self, i: u64) -> Option<NamedRecord<'_>> {
        let record = self.timeline.record(i)?;
        let who = W::other(self.world(), record).map(|node| self.name(node));
        let Record { seq, at, node, cause, .. } = *record;
        let event = json(&record.event).into();
        Some(NamedRecord { seq, at, node, cause, event, node_name: self.name(node), who })
    }

    pub(crate) fn records(&self, from: u32, count: u32, filter: &str) -> String {
        listed(filter, count, from, &|i| self.named(i.into()))
    }

    pub(crate) fn why(&self, i: u32) -> String {
        json(&self.timeline.record(u64::from(i)).map(W::why))
    }

    /// Everything gathered from the records known by now.
    pub(crate) fn surveyed(&mut self) -> &W::Survey {
        let branch = self.timeline.branches().1;
        let end = self.horizon().max(self.timeline.frontier());
        if self.branch != branch || !self.columns.serves(end) {
            self.branch = branch;
            self.columns = Columns::new(Instant::ZERO, end);
            self.pins.clear();
            self.survey = W::Survey::new(&self.scenario);
        }
        while let Some(record) = self.timeline.record(self.columns.seen()) {
            self.columns.count(record.at);
            let found = self.survey.violations().len();
            self.survey.see(self.timeline.world(), record);
            for v in &self.survey.violations()[found..] {
                self.pins.push(violated(v));
            }
            if W::is_fault(&record.event) {
                self.pins.push(fault(record.node, record.at, record.seq, W::why(record)));
            }
        }
        &self.survey
    }

    /// The same, as far as it was gathered last.
    pub(crate) const fn survey(&self) -> &W::Survey {
        &self.survey
    }

    pub(crate) fn density(&mut self, bins: u32) -> Vec<u32> {
        self.surveyed();
        self.columns.density(bins)
    }

    pub(crate) fn pins(&mut self) -> String {
        self.surveyed();
        json(&self.pins)
    }

    pub(crate) fn fault(&mut self, text: &str) -> Result<u32, String> {
        let fault = W::admit(self.world(), text)?;
        let branch = self.timeline.inject(fault);
        branch
            .map(|branch| branch as u32)
            .ok_or_else(|| format!("there are {} branches already", Timeline::<W>::BRANCHES))
    }

    pub(crate) fn branches(&self) -> String {
        let (branches, _) = self.timeline.branches();
        list(branches.iter().enumerate().map(|(id, branch)| {
            let parent = branch.parent.map(|(parent, ..)| parent);
            let at = branch.parent.map_or(Instant::ZERO, |(.., at)| at);
            json(&BranchInfo { id, parent, at, name: &branch.name })
        }))
    }

    pub(crate) fn verified(&self) -> String {
        json(&Verified::default())
    }

    pub(crate) fn sqlog(&self) -> Vec<u8> {
        let (scenario, zero) = (self.played(), Instant::ZERO);
        let mut out = qlog::frame(&qlog::header(W::title(&scenario), zero));
        out += &qlog::frame(&qlog::line(zero, zero, W::SCHEMA, &scenario));
        let mut i = 0;
        while let Some(record) = self.timeline.record(i) {
            out += &qlog::frame(&qlog::record(record, zero));
            i += 1;
        }
        out.into_bytes()
    }
}

fn violated(v: &Violation) -> Pin {
    let args = v.args.iter().map(|(k, v)| (*k, v.as_str())).collect();
    Pin { at: v.at, seq: v.seq, kind: "violation", key: v.key.to_owned(), args }
}

fn fault(node: NodeId, at: Instant, seq: u64, why: Why) -> Pin {
    let mut args = why.args;
    if let Value::Object(fields) = &mut args {
        fields.insert(String::from("node"), node.0.into());
    }
    Pin { at, seq, kind: "fault", key: why.key, args }
}

/// Declares a class for the page over a [`Watch`]: what every world answers
/// alike. What its view asks besides stands in an `impl` of its own.
macro_rules! world_class {
    ($(#[$about:meta])* $class:ident over $sim:ident::$protocol:ident) => {
        $(#[$about])*
        #[wasm_bindgen::prelude::wasm_bindgen]
        pub struct $class {
            watch: $crate::common::watch::Watch<servent_sim::$sim::$protocol>,
        }

        #[wasm_bindgen::prelude::wasm_bindgen]
        impl $class {
            /// `[{id, title, text, scenario}]`.
            #[must_use]
            pub fn presets() -> String {
                let entry = |s: servent_sim::$sim::Scenario| {
                    $crate::common::lists::preset([&s.id, &s.title, &s.text], &s)
                };
                let all = servent_sim::$sim::presets::all();
                $crate::common::lists::list(all.into_iter().map(entry))
            }

            /// One over a scenario.
            ///
            /// # Errors
            /// A sentence that says what makes no sense in it.
            #[wasm_bindgen(js_name = fromScenario)]
            pub fn from_scenario(json: &str) -> Result<$class, wasm_bindgen::JsError> {
                let scenario = servent_sim::$sim::Scenario::parse(json)
                    .map_err(|why| wasm_bindgen::JsError::new(&why))?;
                Ok(Self { watch: $crate::common::watch::Watch::new(scenario) })
            }

            /// `scenario`.
            #[must_use]
            pub fn kind(&self) -> String {
                String::from("scenario")
            }

            /// The core's version.
            #[must_use]
            pub fn version(&self) -> String {
                String::from(env!("CARGO_PKG_VERSION"))
            }

            /// The scenario, with the faults of the current branch.
            #[must_use]
            pub fn scenario(&self) -> String {
                $crate::common::json(&self.watch.played())
            }

            /// Where the timeline ends.
            #[must_use]
            pub fn horizon(&self) -> f64 {
                $crate::common::us(self.watch.horizon())
            }

            /// How far it is known.
            #[must_use]
            pub fn frontier(&self) -> f64 {
                $crate::common::us(self.watch.timeline.frontier())
            }

            /// Runs the frontier on; true when the horizon is reached.
            pub fn explore(&mut self, max_events: u32) -> bool {
                self.watch.explore(max_events)
            }

            /// The cursor's instant.
            #[must_use]
            pub fn now(&self) -> f64 {
                $crate::common::us(self.watch.timeline.now())
            }

            /// Records up to the cursor.
            #[must_use]
            pub fn index(&self) -> u32 {
                self.watch.timeline.index() as u32
            }

            /// Records known.
            #[must_use]
            pub fn count(&self) -> u32 {
                self.watch.timeline.count() as u32
            }

            /// Goes on to an instant, at most so many events; the instant
            /// reached.
            pub fn advance(&mut self, to: f64, max_events: u32) -> f64 {
                let to = $crate::common::instant(to);
                $crate::common::us(self.watch.timeline.advance(to, u64::from(max_events)))
            }

            /// Goes to an instant.
            pub fn seek(&mut self, to: f64) {
                self.watch.timeline.seek($crate::common::instant(to));
            }

            /// Goes to just after record `i`.
            #[wasm_bindgen(js_name = seekEvent)]
            pub fn seek_event(&mut self, i: u32) -> bool {
                let end = self.watch.horizon();
                self.watch.timeline.seek_record(u64::from(i), end)
            }

            /// One record on, or back.
            pub fn step(&mut self, by: i32) -> bool {
                let end = self.watch.horizon();
                self.watch.timeline.step(by > 0, end)
            }

            /// One record of one node on, or back.
            #[wasm_bindgen(js_name = stepNode)]
            pub fn step_node(&mut self, node: u32, by: i32) -> bool {
                let (end, node) = (self.watch.horizon(), servent_core::trace::NodeId(node));
                self.watch.timeline.step_node(node, by > 0, end)
            }

            /// A node's state; `null` while it is down.
            #[must_use]
            pub fn inspect(&self, node: u32) -> String {
                self.watch.inspect(node)
            }

            /// `[{path, before, after}]` against one record earlier.
            #[must_use]
            pub fn diff(&self, node: u32) -> String {
                self.watch.diff(node)
            }

            /// A record with names; `null` when there is none.
            #[must_use]
            pub fn record(&self, i: u32) -> String {
                let named = self.watch.named(i.into());
                named.map_or_else(|| String::from("null"), |named| named.json())
            }

            /// Records from the `from`th on, at most so many, that fit a
            /// filter.
            #[must_use]
            pub fn records(&self, from: u32, count: u32, filter: &str) -> String {
                self.watch.records(from, count, filter)
            }

            /// `{key, args, id, clause, cause}`; `null` when there is no such
            /// record.
            #[must_use]
            pub fn why(&self, i: u32) -> String {
                self.watch.why(i)
            }

            /// Records per bin, from the beginning to the horizon.
            pub fn density(&mut self, bins: u32) -> Vec<u32> {
                self.watch.density(bins)
            }

            /// `[{at, seq, kind, key, args}]`.
            pub fn pins(&mut self) -> String {
                self.watch.pins()
            }

            /// A fault, or anything else a script may say, now; the branch it
            /// is in.
            ///
            /// # Errors
            /// When it is none, or names what is not there.
            pub fn fault(&mut self, text: &str) -> Result<u32, wasm_bindgen::JsError> {
                self.watch.fault(text).map_err(|why| wasm_bindgen::JsError::new(&why))
            }

            /// `[{id, parent, at, name}]`.
            #[must_use]
            pub fn branches(&self) -> String {
                self.watch.branches()
            }

            /// Looks at another branch at the same instant.
            #[wasm_bindgen(js_name = useBranch)]
            pub fn use_branch(&mut self, id: u32) -> bool {
                self.watch.timeline.use_branch(id as usize)
            }

            /// The first record in which two branches differ.
            #[must_use]
            pub fn divergence(&self, a: u32, b: u32) -> Option<u32> {
                self.watch.timeline.divergence(a as usize, b as usize).map(|i| i as u32)
            }

            /// The fingerprint of everything up to the cursor, 16 hexadecimal
            /// digits.
            #[must_use]
            pub fn digest(&self) -> String {
                                format!("{:016x}", self.watch.world().digest())
            }

            /// `{checked, total, diverged_at, text}`: there is nothing to
            /// verify.
            #[must_use]
            pub fn verified(&self) -> String {
                self.watch.verified()
            }

            /// The current branch as a `.sqlog` file: its scenario and every
            /// record known.
            #[wasm_bindgen(js_name = exportSqlog)]
            #[must_use]
            pub fn export_sqlog(&self) -> Vec<u8> {
                self.watch.sqlog()
            }
        }
    };
}

pub(crate) use world_class;
