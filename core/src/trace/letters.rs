//! The tape of a [`Messenger`]: everything it was given, what it said, and
//! checkpoints, in the same lines as the [tape](super::tape) of a node. Only
//! its start has another name, [`START`].

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::Serialize;

use super::replay::Report;
use super::tape::{CHECKPOINT, Checkpoint, Hex, Running, VERSION};
use super::{NodeId, Record, qlog};
use crate::engine::{Effect, Engine as _, Fx, FxOf};
use crate::json::{self, Fill, FromJson as _, Json, Rule, Wrong};
use crate::node::messenger::{Input, Messenger};
use crate::time::Instant;
use crate::unicast::Config;

/// The name of the line it begins with.
pub const START: &str = "servent:unicast";

type Effects = [Effect<<Messenger as crate::engine::Engine>::Output, Event>];
type Event = <Messenger as crate::engine::Engine>::Event;

/// How it begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Start {
    version: u32,
    core: String,
    /// For people.
    pub name: String,
    /// Given to [`Messenger::new`].
    #[serde(serialize_with = "qlog::hex_u64")]
    pub seed: u64,
    /// Given to it too.
    pub config: Config,
}

impl Start {
    /// The beginning of a tape written now.
    #[must_use]
    pub fn new(name: &str, seed: u64, config: Config) -> Self {
        let core = env!("CARGO_PKG_VERSION").to_string();
        Self { version: VERSION, core, name: name.to_string(), seed, config }
    }
}

impl Fill for Start {
    fn fill(&mut self, from: &Json) -> Result<(), Wrong> {
        let Self { version, core, name, seed, config } = self;
        json::fields(
            from,
            Rule::Whole,
            &mut [
                ("version", version),
                ("core", core),
                ("name", name),
                ("seed", &mut Hex(seed)),
                ("config", config),
            ],
        )
    }
}

/// Writes a tape, line by line, without framing (see [`qlog::frame`]): for
/// every input [`Writer::input`] or [`Writer::timeout`], then what the
/// messenger answers to [`Writer::effects`].
#[derive(Debug, Clone)]
pub struct Writer {
    reference: Instant,
    inputs: u64,
    records: u64,
    running: Running,
}

impl Writer {
    /// Begins a tape at `at`, writing the header and the start line.
    #[must_use]
    pub fn new(at: Instant, start: &Start, lines: &mut Vec<String>) -> Self {
        lines.push(qlog::header(&start.name, at));
        lines.push(qlog::line(at, at, START, &qlog::At { us: at, data: start }));
        Self { reference: at, inputs: 0, records: 0, running: Running::default() }
    }

    /// The messenger is about to be given `input`.
    pub fn input(&mut self, at: Instant, input: &Input, lines: &mut Vec<String>) {
        let data = qlog::InputLine { us: at, input };
        lines.push(qlog::line(at, self.reference, "servent:input", &data));
    }

    /// Its timers are about to be run.
    pub fn timeout(&mut self, at: Instant, lines: &mut Vec<String>) {
        lines.push(qlog::line(at, self.reference, "servent:timeout", &qlog::OnlyAt { us: at }));
    }

    /// It has answered the last input or timeout with these effects.
    pub fn effects(&mut self, at: Instant, effects: &Effects, lines: &mut Vec<String>) {
        self.running.add(at, effects);
        for effect in effects {
            let Effect::Event(event) = effect else { continue };
            let (seq, event) = (self.records, event.clone());
            let record = Record { seq, at, node: NodeId(0), cause: None, event };
            lines.push(qlog::record(&record, self.reference));
            self.records += 1;
        }
        self.inputs += 1;
        if self.inputs.is_multiple_of(CHECKPOINT) {
            self.checkpoint(at, lines);
        }
    }

    /// Says what the run looks like now; the last line of a whole tape.
    pub fn checkpoint(&self, at: Instant, lines: &mut Vec<String>) {
        let (inputs, records, digest) = (self.inputs, self.records, self.running.value());
        let data = Checkpoint { at, inputs, records, digest };
        lines.push(qlog::line(at, self.reference, "servent:checkpoint", &data));
    }
}

/// Re-executes a tape as its lines come in.
#[derive(Debug, Clone, Default)]
pub struct Replay {
    messenger: Option<Messenger>,
    running: Running,
    report: Report,
}

impl Replay {
    /// Takes the next line; one that is no line of such a tape is skipped.
    pub fn feed(&mut self, line: &[u8]) {
        let whole = core::str::from_utf8(line).ok().and_then(|text| Json::parse(text).ok());
        let Some(line) = whole else { return self.damaged() };
        let (Some(name), Some(data)) = (line.get("name").and_then(Json::as_str), line.get("data"))
        else {
            return; // The header.
        };
        if self.line(name, data).is_err() {
            self.damaged();
        }
    }

    /// What was found so far.
    #[must_use]
    pub const fn report(&self) -> &Report {
        &self.report
    }

    /// What was on that line is lost, so what follows proves nothing.
    fn damaged(&mut self) {
        self.report.damaged += 1;
        self.messenger = None;
        self.report.gap_at.get_or_insert(self.report.verified_at.unwrap_or(Instant::ZERO));
    }

    fn line(&mut self, name: &str, data: &Json) -> Result<(), Wrong> {
        let mut at = Instant::ZERO;
        match name {
            START => {
                let version = data.get("version").and_then(Json::as_u64).unwrap_or_default();
                if version == u64::from(VERSION) {
                    let mut start = Start::new("", 0, Config::default());
                    start.fill(data)?;
                    self.report = Report { name: Some(start.name), ..Report::default() };
                    self.running = Running::default();
                    self.messenger = Some(Messenger::new(start.config, start.seed));
                } else {
                    self.report.unknown_version = Some(version);
                }
            }
            "servent:input" => {
                let mut input = Input::blank();
                json::fields(data, Rule::Whole, &mut [("us", &mut at), ("input", &mut input)])?;
                self.run(at, |it, fx| it.handle(at, input, fx));
            }
            "servent:timeout" => {
                json::fields(data, Rule::Whole, &mut [("us", &mut at)])?;
                self.run(at, |it, fx| it.handle_timeout(at, fx));
            }
            "servent:checkpoint" => {
                let checkpoint: Checkpoint = json::read(data)?;
                if self.messenger.is_some() {
                    self.report.compare(&checkpoint, self.running);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn run(&mut self, at: Instant, go: impl FnOnce(&mut Messenger, &mut FxOf<Messenger>)) {
        let Some(messenger) = &mut self.messenger else { return };
        let mut fx = Fx::new();
        go(messenger, &mut fx);
        self.running.add(at, fx.as_slice());
        self.report.inputs += 1;
        self.report.unverified_inputs += 1;
        self.report.records += fx.events().count() as u64;
    }
}
