//! The class the page talks to.

use servent_core::sim::pieces::{ActAt, Event, Habit, Scenario, World, name, presets, why};
use servent_core::sim::{Course as _, Keyframes, Timeline};
use servent_core::time::Instant;
use servent_core::trace::{NodeId, Record, qlog};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use super::answers::{NodeInfo, Selection, Totals};
use super::picture;
use super::survey::Survey;
use crate::common::room::{self, Room};
use crate::common::{BranchInfo, NamedRecord, Verified, diff, instant, json, listed, us};
use crate::panics;

/// The most rows one question is answered with.
const MOST: u32 = 10_000;
/// The most points of the progress.
const POINTS: u32 = 2_000;
/// Clients from which on a keyframe is large, so that fewer are kept.
const CROWD: u32 = 200;

/// A swarm being simulated.
#[wasm_bindgen]
pub struct Matrix {
    scenario: Scenario,
    names: Vec<String>,
    timeline: Timeline<World>,
    survey: Survey,
    room: Room,
}

#[wasm_bindgen]
impl Matrix {
    /// `[{id, title, text, scenario}]`.
    #[must_use]
    pub fn presets() -> String {
        panics::report();
        let entry = |s: Scenario| {
            let (id, title, text) = (json(&s.id), json(&s.title), json(&s.text));
            format!(r#"{{"id":{id},"title":{title},"text":{text},"scenario":{}}}"#, json(&s))
        };
        list(presets::all().into_iter().map(entry))
    }

    /// A matrix over a scenario.
    ///
    /// # Errors
    /// A sentence that says what makes no sense in it.
    #[wasm_bindgen(js_name = fromScenario)]
    pub fn from_scenario(json: &str) -> Result<Matrix, JsError> {
        panics::report();
        let scenario = Scenario::parse(json).map_err(|e| JsError::new(&e))?;
        let pace = if scenario.count() > CROWD {
            Keyframes { every: 16_384, most: 24 }
        } else {
            Keyframes { every: 1_024, most: 64 }
        };
        let timeline = Timeline::new(&scenario, pace);
        let survey = Survey::new(0, Instant::ZERO + scenario.horizon, &scenario);
        let coordinator = String::from("coordinator");
        let names = (0..scenario.count()).map(name).chain([coordinator]).collect();
        Ok(Self { scenario, names, timeline, survey, room: Room::default() })
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
        json(&self.played())
    }

    /// Where the timeline ends.
    #[must_use]
    pub fn horizon(&self) -> f64 {
        us(self.end())
    }

    /// How far it is known.
    #[must_use]
    pub fn frontier(&self) -> f64 {
        us(self.timeline.frontier())
    }

    /// Runs the frontier on; true when the horizon is reached.
    pub fn explore(&mut self, max_events: u32) -> bool {
        let mut left = u64::from(max_events);
        while left > 0 {
            let some = left.min(room::STEP);
            self.room.look();
            if self.timeline.explore(self.end(), some) {
                return true;
            }
            left -= some;
        }
        false
    }

    /// The cursor's instant.
    #[must_use]
    pub fn now(&self) -> f64 {
        us(self.timeline.now())
    }

    /// Records up to the cursor.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.timeline.index() as u32
    }

    /// Records known.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.timeline.count() as u32
    }

    /// Goes on to an instant, at most so many events; the instant reached.
    pub fn advance(&mut self, to: f64, max_events: u32) -> f64 {
        us(self.timeline.advance(instant(to), u64::from(max_events)))
    }

    /// Goes to an instant.
    pub fn seek(&mut self, to: f64) {
        self.timeline.seek(instant(to));
    }

    /// Goes to just after record `i`.
    #[wasm_bindgen(js_name = seekEvent)]
    pub fn seek_event(&mut self, i: u32) -> bool {
        let end = self.end();
        self.timeline.seek_record(u64::from(i), end)
    }

    /// One record on, or back.
    pub fn step(&mut self, by: i32) -> bool {
        let end = self.end();
        self.timeline.step(by > 0, end)
    }

    /// One record of one node on, or back.
    #[wasm_bindgen(js_name = stepNode)]
    pub fn step_node(&mut self, node: u32, by: i32) -> bool {
        let end = self.end();
        self.timeline.step_node(NodeId(node), by > 0, end)
    }

    /// `[{id, name, role, up}]`, the coordinator last.
    #[must_use]
    pub fn nodes(&self) -> String {
        let world = self.timeline.world();
        let client = |client: u32| {
            let glance = world.glance(client);
            let (up, habit) = glance.map_or((false, Habit::Honest), |g| (g.up, g.habit));
            let (id, role) = (NodeId(client), picture::role(habit));
            json(&NodeInfo { id, name: self.name(id), role, up })
        };
        let id = world.coordinator();
        let coordinator = NodeInfo { id, name: self.name(id), role: "coordinator", up: true };
        list((0..world.size().0).map(client).chain([json(&coordinator)]))
    }

    /// A client from near, or the coordinator; `null` when there is no such
    /// node.
    #[must_use]
    pub fn inspect(&self, node: u32) -> String {
        look(self.timeline.world(), NodeId(node))
    }

    /// `[{path, before, after}]` against one record earlier.
    #[must_use]
    pub fn diff(&self, node: u32) -> String {
        let Some(last) = self.timeline.index().checked_sub(1) else { return String::from("[]") };
        let before = self.timeline.world_at(last.checked_sub(1));
        let (now, node) = (self.timeline.world(), NodeId(node));
        if node == now.coordinator() {
            return json(&diff(&before.coordinator_view(), &now.coordinator_view()));
        }
        json(&diff(&before.client_view(node.0), &now.client_view(node.0)))
    }

    /// `[clients, pieces]`.
    #[must_use]
    pub fn size(&self) -> Vec<u32> {
        let (clients, pieces) = self.timeline.world().size();
        vec![clients, pieces]
    }

    /// A number that differs whenever anything drawn may differ.
    #[must_use]
    pub fn changes(&self) -> f64 {
        const BRANCH: f64 = (1_u64 << 44) as f64;
        let branch = self.timeline.branches().1;
        self.timeline.world().events() as f64 + branch as f64 * BRANCH
    }

    /// Every piece at every client, row by row: see `Cell`.
    #[must_use]
    pub fn cells(&self) -> Vec<u8> {
        self.timeline.world().cells()
    }

    /// Rows of clients from one on, 14 numbers each.
    #[must_use]
    pub fn rows(&self, from: u32, count: u32) -> Vec<f64> {
        picture::rows(self.timeline.world(), from, count)
    }

    /// The same for people: a list of objects.
    #[must_use]
    pub fn clients(&self, from: u32, count: u32) -> String {
        let world = self.timeline.world();
        let to = from.saturating_add(count.min(MOST)).min(world.size().0);
        list((from..to).filter_map(|client| world.row(client)).map(|row| json(&row)))
    }

    /// Transfers at the cursor, 10 numbers each.
    #[must_use]
    pub fn transfers(&self) -> Vec<f64> {
        picture::transfers(self.timeline.world(), self.timeline.now())
    }

    /// Copies of each piece among the clients.
    #[must_use]
    pub fn rarity(&self) -> Vec<u32> {
        let world = self.timeline.world();
        (0..world.size().1).map(|piece| world.manager().copies(0, piece)).collect()
    }

    /// Totals at the cursor.
    #[must_use]
    pub fn counters(&self) -> String {
        json(&Totals::of(self.timeline.world()))
    }

    /// How a transfer was chosen, by the number of its record; `null` when
    /// that is no assignment.
    #[must_use]
    pub fn funnel(&self, transfer: f64) -> String {
        let Some(record) = self.timeline.record(transfer as u64) else {
            return String::from("null");
        };
        if let Some(selection) = Selection::of(record) {
            return json(&selection);
        }
        json(&self.explained(record.seq).as_ref().and_then(Selection::of))
    }

    /// `[at, held, the most that could be]` from the beginning on.
    pub fn progress(&mut self, bins: u32) -> Vec<f64> {
        let bins = bins.clamp(1, POINTS);
        let bound = Instant::ZERO + self.scenario.bound();
        let known = self.timeline.frontier();
        let curve = self.scenario.most_held_until(known.max(bound), bins);
        let tally = &self.surveyed().tally;
        let point = |(at, most): (Instant, u64)| {
            let held = if at <= known { tally.arrived_by(at) as f64 } else { -1.0 };
            [us(at), held, most as f64 / 1_000.0]
        };
        curve.into_iter().flat_map(point).collect()
    }

    /// The least time everybody needs.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.scenario.bound().as_micros() as f64
    }

    /// How it goes, as far as it is known.
    pub fn outcome(&mut self) -> String {
        self.surveyed();
        json(&self.survey.tally.result(self.timeline.farthest()))
    }

    /// A record with names; `null` when there is none.
    #[must_use]
    pub fn record(&self, i: u32) -> String {
        self.named(u64::from(i)).map_or_else(|| String::from("null"), |named| named.json())
    }

    /// Records from the `from`th on, at most so many, that fit a filter.
    #[must_use]
    pub fn records(&self, from: u32, count: u32, filter: &str) -> String {
        listed(filter, count, from, &|i| self.named(i.into()))
    }

    /// `{key, args, id, clause, cause}`; `null` when there is no such record.
    #[must_use]
    pub fn why(&self, i: u32) -> String {
        json(&self.timeline.record(u64::from(i)).map(why::of))
    }

    /// Records per bin, from the beginning to the horizon.
    pub fn density(&mut self, bins: u32) -> Vec<u32> {
        self.surveyed().columns.density(bins)
    }

    /// `[{at, seq, kind, key, args}]`.
    pub fn pins(&mut self) -> String {
        json(&self.surveyed().pins)
    }

    /// A fault, or anything else a script may say, now; the branch it is in.
    ///
    /// # Errors
    /// When it is none, names what is not there, or comes too late.
    pub fn fault(&mut self, text: &str) -> Result<u32, JsError> {
        let act = ActAt::parse(text).map_err(|wrong| JsError::new(&wrong))?;
        self.scenario.admits(&act.act).map_err(JsError::new)?;
        let branch = self.timeline.inject(act);
        branch.map(|branch| branch as u32).ok_or_else(|| {
            JsError::new(&format!("there are {} branches already", Timeline::<World>::BRANCHES))
        })
    }

    /// `[{id, parent, at, name}]`.
    #[must_use]
    pub fn branches(&self) -> String {
        let (branches, _) = self.timeline.branches();
        list(branches.iter().enumerate().map(|(id, branch)| {
            let parent = branch.parent.map(|(parent, ..)| parent);
            let at = branch.parent.map_or(Instant::ZERO, |(.., at)| at);
            json(&BranchInfo { id, parent, at, name: &branch.name })
        }))
    }

    /// Looks at another branch at the same instant.
    #[wasm_bindgen(js_name = useBranch)]
    pub fn use_branch(&mut self, id: u32) -> bool {
        self.timeline.use_branch(id as usize)
    }

    /// The first record in which two branches differ.
    #[must_use]
    pub fn divergence(&self, a: u32, b: u32) -> Option<u32> {
        self.timeline.divergence(a as usize, b as usize).map(|i| i as u32)
    }

    /// The fingerprint of everything up to the cursor, 16 hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> String {
        format!("{:016x}", self.timeline.world().digest())
    }

    /// `{checked, total, diverged_at, text}`: there is nothing to verify.
    #[must_use]
    pub fn verified(&self) -> String {
        json(&Verified::default())
    }

    /// The current branch as a `.sqlog` file: its scenario and every record
    /// known.
    #[wasm_bindgen(js_name = exportSqlog)]
    #[must_use]
    pub fn export_sqlog(&self) -> Vec<u8> {
        let (scenario, zero) = (self.played(), Instant::ZERO);
        let mut out = qlog::frame(&qlog::header(&scenario.title, zero));
        out += &qlog::frame(&qlog::line(zero, zero, "servent:pieces", &scenario));
        let mut i = 0;
        while let Some(record) = self.timeline.record(i) {
            out += &qlog::frame(&qlog::record(record, zero));
            i += 1;
        }
        out.into_bytes()
    }
}

impl Matrix {
    fn end(&self) -> Instant {
        Instant::ZERO + self.scenario.horizon
    }

    fn played(&self) -> Scenario {
        Scenario { faults: self.timeline.faults().to_vec(), ..self.scenario.clone() }
    }

    fn name(&self, node: NodeId) -> &str {
        self.names.get(node.0 as usize).map_or("", String::as_str)
    }

    fn named(&self, i: u64) -> Option<NamedRecord<'_>> {
        let record = self.timeline.record(i)?;
        let who = record.event.clients().1.map(|client| self.name(NodeId(client)));
        let Record { seq, at, node, cause, .. } = *record;
        let event = json(&record.event).into();
        Some(NamedRecord { seq, at, node, cause, event, node_name: self.name(node), who })
    }

    /// A record made again, with the reasons of its choice: the same run from
    /// the nearest keyframe, only more is said.
    fn explained(&self, seq: u64) -> Option<Record<Event>> {
        let mut world = self.timeline.world_at(seq.checked_sub(1));
        world.explain();
        let mut records = Vec::new();
        while world.records() <= seq && world.step(&mut records) {}
        records.into_iter().find(|record| record.seq == seq)
    }

    /// Everything gathered from the records known by now.
    fn surveyed(&mut self) -> &Survey {
        let branch = self.timeline.branches().1;
        let end = self.end().max(self.timeline.frontier());
        if !self.survey.serves(branch, end) {
            self.survey = Survey::new(branch, end, &self.scenario);
        }
        while let Some(record) = self.timeline.record(self.survey.columns.seen()) {
            self.survey.see(record);
        }
        &self.survey
    }
}

/// A node from near, told.
fn look(world: &World, node: NodeId) -> String {
    if node == world.coordinator() {
        return json(&world.coordinator_view());
    }
    json(&world.client_view(node.0))
}

/// Texts of JSON as a list.
fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    format!("[{}]", items.join(","))
}
