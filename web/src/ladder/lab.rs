//! The class the page talks to.

use servent_core::json::{Json, read};
use servent_core::sim::ladder::{Act, ActAt, Scenario, World, presets, why};
use servent_core::sim::{Course as _, Keyframes, Timeline};
use servent_core::time::Instant;
use servent_core::trace::{NodeId, Record, qlog};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use super::answers::{NodeInfo, role};
use super::survey::Survey;
use crate::common::{BranchInfo, NamedRecord, Verified, diff, instant, json, listed, us};
use crate::panics;

/// The most records, arrows or marks one question is answered with.
const MOST: u32 = 10_000;

/// A world of messengers being simulated.
#[wasm_bindgen]
pub struct Ladder {
    scenario: Scenario,
    timeline: Timeline<World>,
    survey: Survey,
}

#[wasm_bindgen]
impl Ladder {
    /// `[{id, title, text, scenario}]`.
    #[must_use]
    pub fn presets() -> String {
        panics::report();
        let entry = |s: Scenario| {
            let (id, title, text) = (json(&s.id), json(&s.title), json(&s.text));
            format!(r#"{{"id":{id},"title":{title},"text":{text},"scenario":{}}}"#, json(&s))
        };
        list(presets::all().map(entry))
    }

    /// A ladder over a scenario.
    ///
    /// # Errors
    /// A sentence that says what makes no sense in it.
    #[wasm_bindgen(js_name = fromScenario)]
    pub fn from_scenario(json: &str) -> Result<Ladder, JsError> {
        panics::report();
        let scenario = Scenario::parse(json).map_err(|e| JsError::new(&e))?;
        let timeline = Timeline::new(&scenario, Keyframes { every: 512, ..Keyframes::default() });
        Ok(Self { scenario, timeline, survey: Survey::default() })
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
        self.timeline.explore(self.end(), max_events.into())
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

    /// `[{id, name, role, profile, addr, up}]`.
    #[must_use]
    pub fn nodes(&self) -> String {
        let info = |(i, party): (usize, &'_ servent_core::sim::ladder::Party)| {
            let id = NodeId(i as u32);
            json(&NodeInfo {
                id,
                name: &party.name,
                role: role(&self.scenario, id),
                profile: self.scenario.profile,
                addr: json(&World::address(id)).trim_matches('"').to_owned(),
                up: self.timeline.world().node(id).is_some(),
            })
        };
        list(self.scenario.nodes.iter().enumerate().map(info))
    }

    /// HA, HS and the windows of a node; `null` when there is no such node.
    #[must_use]
    pub fn margins(&self, node: u32) -> String {
        json(&self.timeline.world().margins(NodeId(node)))
    }

    /// The same as [`Ladder::margins`].
    #[must_use]
    pub fn inspect(&self, node: u32) -> String {
        self.margins(node)
    }

    /// `[{path, before, after}]` against one record earlier.
    #[must_use]
    pub fn diff(&self, node: u32) -> String {
        let Some(last) = self.timeline.index().checked_sub(1) else { return String::from("[]") };
        let before = self.timeline.world_at(last.checked_sub(1)).margins(NodeId(node));
        json(&diff(&before, &self.timeline.world().margins(NodeId(node))))
    }

    /// Datagrams on their way between two instants, as far as they are known.
    pub fn arrows(&mut self, from: f64, to: f64, most: u32) -> String {
        let sheet = &self.surveyed().sheet;
        list(sheet.arrows(instant(from), instant(to), most.min(MOST) as usize).map(json))
    }

    /// What happened on the lifelines between two instants.
    pub fn marks(&mut self, from: f64, to: f64, most: u32) -> String {
        let sheet = &self.surveyed().sheet;
        json(&sheet.marks(instant(from), instant(to), most.min(MOST) as usize))
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
        let act = Json::parse(text).and_then(|tree| read::<ActAt>(&tree));
        let act = act.map_err(|wrong| JsError::new(&String::from(wrong)))?;
        self.scenario.admits(&act.act).map_err(JsError::new)?;
        if let Act::Drop { from, to, n }
        | Act::Delay { from, to, n, .. }
        | Act::Duplicate { from, to, n, .. } = &act.act
            && !self.timeline.world().can_rule(*from, *to, *n)
        {
            return Err(JsError::new("that datagram has arrived, or is lost already"));
        }
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
        out += &qlog::frame(&qlog::line(zero, zero, "servent:ladder", &scenario));
        let mut i = 0;
        while let Some(record) = self.timeline.record(i) {
            out += &qlog::frame(&qlog::record(record, zero));
            i += 1;
        }
        out.into_bytes()
    }
}

impl Ladder {
    fn end(&self) -> Instant {
        Instant::ZERO + self.scenario.horizon
    }

    fn played(&self) -> Scenario {
        Scenario { faults: self.timeline.faults().to_vec(), ..self.scenario.clone() }
    }

    fn name(&self, node: NodeId) -> &str {
        self.scenario.nodes.get(node.0 as usize).map_or("", |party| &party.name)
    }

    fn named(&self, i: u64) -> Option<NamedRecord<'_>> {
        let record = self.timeline.record(i)?;
        let who = self.timeline.world().other(&record.event).map(|node| self.name(node));
        let Record { seq, at, node, cause, .. } = *record;
        let event = json(&record.event).into();
        Some(NamedRecord { seq, at, node, cause, event, node_name: self.name(node), who })
    }

    /// Everything gathered from the records known by now.
    fn surveyed(&mut self) -> &Survey {
        let branch = self.timeline.branches().1;
        let end = self.end().max(self.timeline.frontier());
        if !self.survey.serves(branch, end) {
            self.survey = Survey::new(branch, end, &self.scenario);
        }
        while let Some(record) = self.timeline.record(self.survey.columns.seen()) {
            self.survey.see(self.timeline.world(), record);
        }
        &self.survey
    }
}

/// Texts of JSON as a list.
fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    format!("[{}]", items.join(","))
}
