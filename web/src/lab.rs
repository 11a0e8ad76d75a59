//! The class the page talks to.

use js_sys::Uint32Array;
use servent_core::json::{Json, read};
use servent_core::queue::server::Windows;
use servent_core::sim::{FaultAt, Scenario};
use servent_core::time::Instant;
use servent_core::trace::pcapng::Exporter;
use servent_core::trace::reel::Reel;
use servent_core::trace::{NodeId, qlog, tape, why};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::answers::{Board, Part, fits, json};
use crate::panics;
use crate::scenario::ScenarioLab;
use crate::trace::TraceLab;

/// The most records one question is answered with.
const RECORDS: u32 = 10_000;

#[allow(clippy::large_enum_variant)] // There is one of it, behind a pointer of wasm-bindgen.
enum Inner {
    Scenario(ScenarioLab),
    Trace(TraceLab),
}

/// A scenario being simulated, or a trace being re-executed.
#[wasm_bindgen]
pub struct Lab {
    inner: Inner,
}

#[wasm_bindgen]
impl Lab {
    /// `[{id, title, text, scenario}]`.
    #[must_use]
    pub fn presets() -> String {
        panics::report();
        ScenarioLab::presets()
    }

    /// A lab over a scenario.
    ///
    /// # Errors
    /// A sentence that says what makes no sense in it.
    #[wasm_bindgen(js_name = fromScenario)]
    pub fn from_scenario(json: &str) -> Result<Lab, JsError> {
        panics::report();
        let scenario = Scenario::parse(json).map_err(|e| JsError::new(&e))?;
        Ok(Self { inner: Inner::Scenario(ScenarioLab::new(scenario, None)) })
    }

    /// A lab over a `.sqlog` file.
    ///
    /// # Errors
    /// When there is not one line of ours in it.
    #[wasm_bindgen(js_name = fromTrace)]
    pub fn from_trace(bytes: &[u8]) -> Result<Lab, JsError> {
        panics::report();
        let mut reel = Reel::new();
        reel.append(bytes);
        if let Some(scenario) = reel.scenario() {
            let lab = ScenarioLab::new(scenario.clone(), reel.claim().cloned());
            return Ok(Self { inner: Inner::Scenario(lab) });
        }
        if let Some(version) = reel.report().unknown_version {
            let known = tape::VERSION;
            let text =
                format!("this is a tape of version {version}; this page reads version {known}");
            return Err(JsError::new(&text));
        }
        if reel.start().is_none() && reel.count() == 0 && !bytes.is_empty() {
            return Err(JsError::new("this file is not a trace of a servent"));
        }
        Ok(Self { inner: Inner::Trace(TraceLab::new(reel)) })
    }

    /// More of a growing trace; nothing for a scenario.
    pub fn append(&mut self, bytes: &[u8]) {
        if let Inner::Trace(lab) = &mut self.inner {
            lab.reel.append(bytes);
        }
    }

    /// `scenario` or `trace`.
    #[must_use]
    pub fn kind(&self) -> String {
        String::from(match self.inner {
            Inner::Scenario(_) => "scenario",
            Inner::Trace(_) => "trace",
        })
    }

    /// The core's version.
    #[must_use]
    pub fn version(&self) -> String {
        String::from(env!("CARGO_PKG_VERSION"))
    }

    /// The scenario, with the faults of the current branch; `null` for a
    /// trace.
    #[must_use]
    pub fn scenario(&self) -> String {
        match &self.inner {
            Inner::Scenario(lab) => json(&lab.played()),
            Inner::Trace(_) => String::from("null"),
        }
    }

    /// Where the timeline ends.
    #[must_use]
    pub fn horizon(&self) -> f64 {
        match &self.inner {
            Inner::Scenario(lab) => us(lab.horizon()),
            Inner::Trace(lab) => us(lab.reel.frontier()),
        }
    }

    /// How far it is known.
    #[must_use]
    pub fn frontier(&self) -> f64 {
        match &self.inner {
            Inner::Scenario(lab) => us(lab.timeline.frontier()),
            Inner::Trace(lab) => us(lab.reel.frontier()),
        }
    }

    /// Runs the frontier on; true when the horizon is reached.
    pub fn explore(&mut self, max_events: u32) -> bool {
        match &mut self.inner {
            Inner::Scenario(lab) => lab.explore(u64::from(max_events)),
            Inner::Trace(_) => true,
        }
    }

    /// The cursor's instant.
    #[must_use]
    pub fn now(&self) -> f64 {
        match &self.inner {
            Inner::Scenario(lab) => us(lab.timeline.now()),
            Inner::Trace(lab) => us(lab.reel.now()),
        }
    }

    /// Records up to the cursor.
    #[must_use]
    pub fn index(&self) -> u32 {
        match &self.inner {
            Inner::Scenario(lab) => lab.timeline.index() as u32,
            Inner::Trace(lab) => lab.reel.index() as u32,
        }
    }

    /// Records known.
    #[must_use]
    pub fn count(&self) -> u32 {
        match &self.inner {
            Inner::Scenario(lab) => lab.timeline.count() as u32,
            Inner::Trace(lab) => lab.reel.count() as u32,
        }
    }

    /// Goes on to an instant, at most so many events; the instant reached.
    pub fn advance(&mut self, to: f64, max_events: u32) -> f64 {
        match &mut self.inner {
            Inner::Scenario(lab) => us(lab.timeline.advance(instant(to), u64::from(max_events))),
            Inner::Trace(lab) => {
                lab.reel.seek(instant(to));
                us(lab.reel.now())
            }
        }
    }

    /// Goes to an instant.
    pub fn seek(&mut self, to: f64) {
        match &mut self.inner {
            Inner::Scenario(lab) => lab.timeline.seek(instant(to)),
            Inner::Trace(lab) => lab.reel.seek(instant(to)),
        }
    }

    /// Goes to just after record `i`.
    #[wasm_bindgen(js_name = seekEvent)]
    pub fn seek_event(&mut self, i: u32) -> bool {
        match &mut self.inner {
            Inner::Scenario(lab) => {
                let horizon = lab.horizon();
                lab.timeline.seek_record(u64::from(i), horizon)
            }
            Inner::Trace(lab) => lab.reel.seek_record(i as usize),
        }
    }

    /// One record on, or back.
    pub fn step(&mut self, by: i32) -> bool {
        match &mut self.inner {
            Inner::Scenario(lab) => {
                let horizon = lab.horizon();
                lab.timeline.step(by > 0, horizon)
            }
            Inner::Trace(lab) => lab.step(by > 0),
        }
    }

    /// One record of one node on, or back.
    #[wasm_bindgen(js_name = stepNode)]
    pub fn step_node(&mut self, node: u32, by: i32) -> bool {
        match &mut self.inner {
            Inner::Scenario(lab) => {
                let horizon = lab.horizon();
                lab.timeline.step_node(NodeId(node), by > 0, horizon)
            }
            Inner::Trace(lab) => lab.step(by > 0),
        }
    }

    /// `[{id, name, role, dialect, up}]`.
    #[must_use]
    pub fn nodes(&self) -> String {
        match &self.inner {
            Inner::Scenario(lab) => lab.nodes(),
            Inner::Trace(lab) => lab.nodes(),
        }
    }

    /// `{at, queue, clients, tally, done}`.
    #[must_use]
    pub fn board(&self, node: u32, from: u32, count: u32) -> String {
        json(&self.part(node, Part::Positions(from, count)))
    }

    /// The same with `lanes`, the totals of the lanes, and as cards a window
    /// of each lane, of so many cards: which is the first, counted from 0.
    #[must_use]
    pub fn lanes(&self, node: u32, sync: u32, asynchronous: u32, grace: u32, count: u32) -> String {
        let (sync, asynchronous, grace) = ((sync, count), (asynchronous, count), (grace, count));
        json(&self.part(node, Part::Lanes(Windows { sync, asynchronous, grace })))
    }

    fn part(&self, node: u32, part: Part) -> Board {
        match &self.inner {
            Inner::Scenario(lab) => lab.board(NodeId(node), part),
            Inner::Trace(lab) => lab.board(part),
        }
    }

    /// A node's state; `null` while it is down.
    #[must_use]
    pub fn inspect(&self, node: u32) -> String {
        match &self.inner {
            Inner::Scenario(lab) => lab.inspect(NodeId(node)),
            Inner::Trace(lab) => lab.inspect(),
        }
    }

    /// `[{path, before, after}]` against one record earlier.
    #[must_use]
    pub fn diff(&self, node: u32) -> String {
        match &self.inner {
            Inner::Scenario(lab) => lab.diff(NodeId(node)),
            Inner::Trace(lab) => lab.diff(),
        }
    }

    /// A record with names; `null` when there is none.
    #[must_use]
    pub fn record(&self, i: u32) -> String {
        self.named(u64::from(i)).map_or_else(|| String::from("null"), |named| named.json())
    }

    /// Records from the `from`th on, at most so many, that fit a filter.
    #[must_use]
    pub fn records(&self, from: u32, count: u32, filter: &str) -> String {
        let mut list = Vec::new();
        let mut i = u64::from(from);
        while let Some(named) = self.named(i) {
            if list.len() as u32 >= count.min(RECORDS) {
                break;
            }
            if fits(filter, &named) {
                list.push(named.json());
            }
            i += 1;
        }
        format!("[{}]", list.join(","))
    }

    /// `{key, args, id, clause, cause}`; `null` when there is no such record.
    #[must_use]
    pub fn why(&self, i: u32) -> String {
        json(&self.named(u64::from(i)).map(|named| why::of_event(&named.event, named.cause)))
    }

    /// Records per bin, from the beginning to the horizon.
    pub fn density(&mut self, bins: u32) -> Uint32Array {
        let density = match &mut self.inner {
            Inner::Scenario(lab) => lab.survey().density(bins),
            Inner::Trace(lab) => lab.survey().density(bins),
        };
        Uint32Array::from(density.as_slice())
    }

    /// `[{at, seq, kind, key, args}]`.
    pub fn pins(&mut self) -> String {
        json(match &mut self.inner {
            Inner::Scenario(lab) => &lab.survey().pins,
            Inner::Trace(lab) => &lab.survey().pins,
        })
    }

    /// A fault now; the branch it is in.
    ///
    /// # Errors
    /// When it is no fault, names no node, or this is a trace.
    pub fn fault(&mut self, json: &str) -> Result<u32, JsError> {
        let Inner::Scenario(lab) = &mut self.inner else {
            return Err(JsError::new("what was recorded cannot be changed"));
        };
        let fault = Json::parse(json).and_then(|tree| read::<FaultAt>(&tree));
        let fault = fault.map_err(|wrong| JsError::new(&String::from(wrong)))?;
        lab.fault(fault).map(|b| b as u32).map_err(|e| JsError::new(&e))
    }

    /// `[{id, parent, at, name}]`.
    #[must_use]
    pub fn branches(&self) -> String {
        match &self.inner {
            Inner::Scenario(lab) => lab.branches(),
            Inner::Trace(_) => String::from(r#"[{"id":0,"parent":null,"at":0,"name":"main"}]"#),
        }
    }

    /// Looks at another branch at the same instant.
    #[wasm_bindgen(js_name = useBranch)]
    pub fn use_branch(&mut self, id: u32) -> bool {
        match &mut self.inner {
            Inner::Scenario(lab) => lab.timeline.use_branch(id as usize),
            Inner::Trace(_) => id == 0,
        }
    }

    /// The first record in which two branches differ.
    #[must_use]
    pub fn divergence(&self, a: u32, b: u32) -> Option<u32> {
        match &self.inner {
            Inner::Scenario(lab) => {
                lab.timeline.divergence(a as usize, b as usize).map(|i| i as u32)
            }
            Inner::Trace(_) => None,
        }
    }

    /// The fingerprint of everything up to the cursor, 16 hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> String {
        match &self.inner {
            Inner::Scenario(lab) => format!("{:016x}", lab.timeline.world().digest()),
            Inner::Trace(lab) => format!("{:016x}", lab.reel.digest()),
        }
    }

    /// `{checked, total, diverged_at, text}`.
    #[must_use]
    pub fn verified(&self) -> String {
        json(&match &self.inner {
            Inner::Scenario(lab) => lab.verified(),
            Inner::Trace(lab) => lab.verified(),
        })
    }

    /// The current branch, or the trace, as a `.sqlog` file.
    #[wasm_bindgen(js_name = exportSqlog)]
    #[must_use]
    pub fn export_sqlog(&self) -> Vec<u8> {
        match &self.inner {
            Inner::Scenario(lab) => lab.sqlog(),
            Inner::Trace(lab) => {
                lab.reel.lines().iter().map(|l| qlog::frame(l)).collect::<String>().into_bytes()
            }
        }
    }

    /// The trace's connections as a pcapng capture.
    ///
    /// # Errors
    /// For a scenario: its links carry no packets.
    #[wasm_bindgen(js_name = exportPcapng)]
    pub fn export_pcapng(&self) -> Result<Vec<u8>, JsError> {
        let Inner::Trace(lab) = &self.inner else {
            return Err(JsError::new("only what was recorded has packets to export"));
        };
        let mut exporter = Exporter::new();
        for line in lab.reel.lines() {
            if let Ok(qlog::Read::Line(line)) = qlog::read(line.as_bytes()) {
                exporter.feed(Ok(*line));
            }
        }
        Ok(exporter.finish())
    }
}

impl Lab {
    fn named(&self, i: u64) -> Option<crate::answers::NamedRecord<'_>> {
        match &self.inner {
            Inner::Scenario(lab) => lab.named(i),
            Inner::Trace(lab) => lab.named(i),
        }
    }
}

/// An instant as the page knows it.
fn us(at: Instant) -> f64 {
    at.as_micros() as f64
}

/// An instant from the page; what is no instant is the beginning.
fn instant(us: f64) -> Instant {
    Instant::from_micros(us as u64)
}
