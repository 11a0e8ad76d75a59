//! qlog as JSON text sequences: how a tape is written and read.
//!
//! A file is 0x1E, a JSON object and a newline, again and again. The header
//! carries the keys of both qlog generations: older viewers look for
//! `qlog_format`, newer ones for `file_schema`. Instants stand twice: `time`
//! in milliseconds since the tape began, for viewers, and `us` in `data`,
//! exact, for us.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};

use serde::{Serialize, Serializer};
use thiserror::Error;

use super::tape::Line;
use super::{Cause, Event, NodeId, Record};
use crate::json::{self, Fill, FromJson as _, Json, Rule, Wrong};
use crate::node::Input;
use crate::time::Instant;

/// What begins a record of a JSON text sequence.
pub const SEPARATOR: u8 = 0x1e;
/// The longest line that is read; a longer one is damaged. The longest that
/// is written says what a servent with a large library or line began with.
pub const LINE_LIMIT: usize = 64 << 20;

/// Why a line cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LineError {
    /// Not JSON, or cut off.
    #[error("not a whole JSON object")]
    Damaged,
    /// JSON, but not what its name says.
    #[error("`{name}` does not have the fields it should: {why}")]
    Fields {
        /// The event's name.
        name: String,
        /// What is missing or wrong.
        why: String,
    },
}

/// The header line. `title` is for people, `at` the instant that `time`
/// counts from.
#[must_use]
pub fn header(title: &str, at: Instant) -> String {
    let title = Json::Text(title.into()).print();
    let (ms, us) = (at.as_micros() / 1_000, at.as_micros() % 1_000);
    format!(
        concat!(
            r#"{{"file_schema":"urn:ietf:params:qlog:file:sequential","#,
            r#""serialization_format":"application/qlog+json-seq","#,
            r#""qlog_version":"0.3","qlog_format":"JSON-SEQ","title":{0},"#,
            r#""trace":{{"title":{0},"vantage_point":{{"name":{0},"type":"server"}},"#,
            r#""event_schemas":["urn:servent:qlog:1"],"#,
            r#""common_fields":{{"time_format":"relative","reference_time":{1}.{2:03}}}}}}}"#
        ),
        title, ms, us
    )
}

/// One event line.
#[must_use]
pub fn line(at: Instant, reference: Instant, name: &str, data: &impl Serialize) -> String {
    event_line(at, reference, name, &json::print(data))
}

/// A record as a line: the event's engine and name become the line's name,
/// its fields stand in `data` beside `seq`, `us`, `node` and `trigger`.
#[must_use]
pub fn record<E: Serialize>(record: &Record<E>, reference: Instant) -> String {
    // The event prints as {"queue":{"what":"told",…}}: the tag always first.
    let event = json::print(&record.event);
    let mut quoted = event.splitn(7, '"');
    let space = quoted.nth(1).unwrap_or_default();
    let what = quoted.nth(3).unwrap_or_default();
    let rest = quoted.next().unwrap_or_default();
    let rest = rest.strip_suffix('}').unwrap_or(rest);
    let trigger = record.cause.map(|c| format!(r#","trigger":{c}"#)).unwrap_or_default();
    let data = format!(
        r#"{{"seq":{},"us":{},"node":{}{trigger}{rest}"#,
        record.seq,
        record.at.as_micros(),
        record.node.0
    );
    event_line(record.at, reference, &format!("{space}:{what}"), &data)
}

fn event_line(at: Instant, reference: Instant, name: &str, data: &str) -> String {
    let us = at.since(reference).as_micros();
    format!(r#"{{"time":{}.{:03},"name":"{name}","data":{data}}}"#, us / 1_000, us % 1_000)
}

/// A line framed for a file.
#[must_use]
pub fn frame(line: &str) -> String {
    let mut out = String::with_capacity(line.len() + 2);
    out.push(char::from(SEPARATOR));
    out.push_str(line);
    out.push('\n');
    out
}

/// Cuts a file, or as much of one as there is, into its lines. A last line
/// without its newline is left out: [`Split::rest`] says where it begins.
#[derive(Debug, Clone)]
pub struct Split<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Split<'a> {
    /// Over these bytes.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
    /// Where the part begins that is not a whole line yet.
    #[must_use]
    pub const fn rest(&self) -> usize {
        self.at
    }
}

impl<'a> Iterator for Split<'a> {
    type Item = &'a [u8];
    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            let from = self.bytes.get(self.at..)?;
            let end = from.iter().position(|b| *b == b'\n')?;
            self.at += end + 1;
            let line = from[..end].trim_ascii();
            let line = line.strip_prefix(&[SEPARATOR]).unwrap_or(line);
            if !line.is_empty() {
                return Some(line);
            }
        }
    }
}

/// A record as it stands in a file: its event still text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawRecord {
    /// Its number.
    pub seq: u64,
    /// When.
    pub at: Instant,
    /// Where.
    pub node: NodeId,
    /// The record that led here.
    pub cause: Cause,
    /// What, as the JSON of an [`Event`].
    pub event: String,
}

/// What stands on a line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // Read and looked at one at a time.
pub enum Read {
    /// Something the node said.
    Record(RawRecord),
    /// Anything else.
    Line(Box<Line>),
}

/// Reads one line, leaving a record's event as it is.
///
/// # Errors
/// When it is not JSON, or one of ours with the wrong fields.
pub fn read(line: &[u8]) -> Result<Read, LineError> {
    if line.len() > LINE_LIMIT {
        return Err(LineError::Damaged);
    }
    let Some(Json::Object(fields)) =
        core::str::from_utf8(line).ok().and_then(|l| Json::parse(l).ok())
    else {
        return Err(LineError::Damaged);
    };
    let (mut name, mut data) = (None, None);
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("name", Json::Text(text)) => name = Some(text),
            ("data", value) => data = Some(value),
            _ => {}
        }
    }
    let (Some(name), Some(data)) = (name, data) else {
        return Ok(Read::Line(Box::new(Line::Header)));
    };
    let wrong = |name: &str, why: String| LineError::Fields { name: name.to_string(), why };
    match name.split_once(':') {
        Some(("servent", what)) => of_tape(what, &data)
            .map(|l| Read::Line(Box::new(l)))
            .map_err(|why| wrong(&name, why.into())),
        Some((space @ ("conn" | "queue" | "fetch" | "world" | "unicast"), what)) => {
            let record = of_record(space, what, data);
            record.map(Read::Record).map_err(|why| wrong(&name, why.into()))
        }
        _ => Ok(Read::Line(Box::new(Line::Foreign))),
    }
}

/// Understands one line.
///
/// # Errors
/// When it is not JSON, or one of ours with the wrong fields.
pub fn parse(line: &[u8]) -> Result<Line, LineError> {
    let RawRecord { seq, at, node, cause, event } = match read(line)? {
        Read::Line(line) => return Ok(*line),
        Read::Record(raw) => raw,
    };
    let event: Event = serde_json::from_str(&event)
        .map_err(|why| LineError::Fields { name: event, why: why.to_string() })?;
    Ok(Line::Record(Record { seq, at, node, cause, event }))
}

fn of_tape(what: &str, data: &Json) -> Result<Line, Wrong> {
    let mut at = Instant::ZERO;
    Ok(match what {
        "start" => {
            let version = data.get("version").and_then(Json::as_u64).unwrap_or_default();
            if version != u64::from(super::tape::VERSION) {
                // A start of another version need not have our fields.
                return Ok(Line::Unknown(version));
            }
            Line::Start(json::read(data)?)
        }
        "world" => Line::World(data.clone()),
        "input" => {
            let mut input = Input::blank();
            json::fields(data, Rule::Whole, &mut [("us", &mut at), ("input", &mut input)])?;
            Line::Input { at, input }
        }
        "timeout" => {
            json::fields(data, Rule::Whole, &mut [("us", &mut at)])?;
            Line::Timeout { at }
        }
        "checkpoint" => Line::Checkpoint(json::read(data)?),
        "gap" => {
            let mut why = String::new();
            json::fields(data, Rule::Whole, &mut [("us", &mut at), ("why", &mut why)])?;
            Line::Gap { at, why }
        }
        _ => Line::Foreign,
    })
}

fn of_record(space: &str, what: &str, data: Json) -> Result<RawRecord, Wrong> {
    let (mut seq, mut at, mut node, mut cause) = (0, Instant::ZERO, None, None);
    let head: &mut [(&str, &mut dyn Fill)] =
        &mut [("seq", &mut seq), ("us", &mut at), ("node", &mut node), ("trigger", &mut cause)];
    json::fields(&data, Rule::Whole, head)?;
    let Json::Object(mut fields) = data else { return Err(json::expected("an object")) };
    fields.retain(|(name, _)| !matches!(name.as_str(), "seq" | "us" | "node" | "trigger"));
    fields.insert(0, (String::from("what"), Json::Text(what.into())));
    let event = Json::Object([(String::from(space), Json::Object(fields))].into()).print();
    Ok(RawRecord { seq, at, node: node.unwrap_or_default(), cause, event })
}

#[derive(Serialize)]
pub(super) struct At<'a, T: Serialize> {
    pub(super) us: Instant,
    #[serde(flatten)]
    pub(super) data: &'a T,
}
#[derive(Serialize)]
pub(super) struct InputLine<'a, I: Serialize> {
    pub(super) us: Instant,
    pub(super) input: &'a I,
}
#[derive(Serialize)]
pub(super) struct OnlyAt {
    pub(super) us: Instant,
}
#[derive(Serialize)]
pub(super) struct GapLine<'a> {
    pub(super) us: Instant,
    pub(super) why: &'a str,
}
/// A 64-bit number as 16 hexadecimal digits: JavaScript cannot hold it.
///
/// # Errors
/// Those of the serializer.
pub fn hex_u64<S: Serializer>(v: &u64, s: S) -> Result<S::Ok, S::Error> {
    s.collect_str(&format_args!("{v:016x}"))
}
