//! The tape of a [`Messenger`]: everything it was given, what it said, and
//! checkpoints, in the same lines as the [tape](super::tape) of a node. Only
//! its start has another name, [`START`].

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::qlog::{self, Envelope, InputLine, OnlyAt};
use super::replay::Report;
use super::tape::{CHECKPOINT, Checkpoint, Running, VERSION};
use super::{NodeId, Record};
use crate::engine::{Effect, Engine as _, Fx, FxOf};
use crate::node::messenger::{Input, Messenger};
use crate::time::Instant;
use crate::unicast::Config;

/// The name of the line it begins with.
pub const START: &str = "servent:unicast";

type Effects = [Effect<<Messenger as crate::engine::Engine>::Output, Event>];
type Event = <Messenger as crate::engine::Engine>::Event;

/// How it begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    version: u32,
    core: String,
    /// For people.
    pub name: String,
    /// Given to [`Messenger::new`].
    #[serde(with = "crate::hex::number")]
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
        let Ok(Envelope { name, data }) = serde_json::from_slice(line) else {
            return self.damaged();
        };
        let (Some(name), Some(data)) = (name, data) else {
            return; // The header.
        };
        if self.line(&name, data.get()).is_err() {
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

    fn line(&mut self, name: &str, data: &str) -> serde_json::Result<()> {
        match name {
            START => {
                let qlog::Version { version } = serde_json::from_str(data)?;
                if version == u64::from(VERSION) {
                    let start: Start = serde_json::from_str(data)?;
                    self.report = Report { name: Some(start.name), ..Report::default() };
                    self.running = Running::default();
                    self.messenger = Some(Messenger::new(start.config, start.seed));
                } else {
                    self.report.unknown_version = Some(version);
                }
            }
            "servent:input" => {
                let InputLine { us: at, input } = serde_json::from_str::<InputLine<Input>>(data)?;
                self.run(at, |it, fx| it.handle(at, input, fx));
            }
            "servent:timeout" => {
                let OnlyAt { us: at } = serde_json::from_str(data)?;
                self.run(at, |it, fx| it.handle_timeout(at, fx));
            }
            "servent:checkpoint" => {
                let checkpoint: Checkpoint = serde_json::from_str(data)?;
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

#[cfg(test)]
mod tests {
    use core::iter::successors;

    use super::*;
    use crate::node::messenger::Command;
    use crate::unicast::{Order, Payload, Side};

    /// One of every kind, each followed by the next: whoever adds a kind is
    /// made to give it a place here.
    fn next(input: &Input) -> Option<Input> {
        let at = "[::1]:7".parse().unwrap();
        let data = Payload::from_static(b"\x00\xff");
        Some(match input {
            Input::Start => Input::Datagram { from: at, data },
            Input::Datagram { .. } => {
                Input::Command(Command::Send { to: at, order: Order::AtOnce, data })
            }
            Input::Command(Command::Send { .. }) => {
                Input::Command(Command::Taken { from: at, messages: 2, bytes: u64::MAX })
            }
            Input::Command(Command::Taken { .. }) => Input::Command(Command::Close { to: at }),
            Input::Command(Command::Close { .. }) => {
                Input::Command(Command::Forget { peer: at, side: Side::Receiver })
            }
            Input::Command(Command::Forget { .. }) => Input::Flush,
            Input::Flush => return None,
        })
    }

    #[test]
    fn every_input_comes_back_from_its_text() {
        for input in successors(Some(Input::Start), next) {
            let text = serde_json::to_string(&input).unwrap();
            assert_eq!(serde_json::from_str::<Input>(&text).unwrap(), input, "{text}");
        }
    }
}
