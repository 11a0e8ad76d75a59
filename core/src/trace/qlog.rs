//! qlog as JSON text sequences: the format of recordings.
//!
//! A file is a sequence of 0x1E, a JSON object and a newline. The header has
//! the keys of both qlog generations: older viewers look for `qlog_format`,
//! newer ones for `file_schema`. Times are given twice: `time` in milliseconds
//! since the recording began, for viewers, and `us` in `data`, exact, for us.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};

use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use thiserror::Error;

use super::tape::RecordingLine;
use super::{Event, NodeId, Record, RecordCause, why};
use crate::time::{Duration, Instant};

/// The first byte of a record of a JSON text sequence.
pub(crate) const SEPARATOR: u8 = 0x1e;
/// The longest line that is read; a longer one counts as damaged. The longest
/// ones written are the start of a servent with a large library or queue.
pub const LINE_LIMIT: usize = 64 << 20;

/// Why a line cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
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

/// The header line. `title` is for people; `time` counts from `at`.
#[must_use]
pub fn header(title: &str, at: Instant) -> String {
    text(&QlogHeader {
        file_schema: "urn:ietf:params:qlog:file:sequential",
        serialization_format: "application/qlog+json-seq",
        qlog_version: "0.3",
        qlog_format: "JSON-SEQ",
        title,
        trace: Trace {
            title,
            vantage_point: VantagePoint { name: title, kind: "server" },
            event_schemas: ["urn:servent:qlog:1"],
            common_fields: CommonFields {
                time_format: "relative",
                reference_time: at.since(Instant::ZERO),
            },
        },
    })
}

/// One event line.
#[must_use]
pub fn line(at: Instant, reference: Instant, name: &str, data: &impl Serialize) -> String {
    text(&EventLine { time: at.since(reference), name, data })
}

/// A record as a line: engine and event name become the name of the line; the
/// event's fields are in `data`, with `seq`, `us`, `node` and `trigger`.
#[must_use]
pub fn record<E: Serialize>(record: &Record<E>, reference: Instant) -> String {
    let (space, mut fields) = why::parts(&record.event);
    let what = fields.as_object_mut().and_then(|fields| fields.remove("what"));
    let what = what.as_ref().and_then(Value::as_str).unwrap_or_default();
    let name = format!("{space}:{what}");
    let Record { seq, at, node, cause: trigger, .. } = *record;
    line(at, reference, &name, &RecordData { seq, us: at, node, trigger, fields })
}

/// What we write has strings as keys and no floats, so it can always be JSON.
fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("names and whole numbers are JSON")
}

/// A line with its framing for a file.
#[must_use]
pub fn frame(line: &str) -> String {
    let mut out = String::with_capacity(line.len() + 2);
    out.push(char::from(SEPARATOR));
    out.push_str(line);
    out.push('\n');
    out
}

/// Splits a file, or the part of it that is there, into lines. A last line
/// without its newline is left out: [`Split::rest`] says where it begins.
#[derive(Debug, Clone)]
pub struct Split<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Split<'a> {
    /// Splits these bytes.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
    /// Where the incomplete last line begins.
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

/// A record as in a file, with its event still as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawRecord {
    /// Its number.
    pub seq: u64,
    /// When it happened.
    pub at: Instant,
    /// The node it happened to.
    pub node: NodeId,
    /// The record that caused it.
    pub cause: RecordCause,
    /// The event, as the JSON of an [`Event`].
    pub event: String,
}

/// The content of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // Read and looked at one at a time.
pub enum QlogLine {
    /// A record.
    Record(RawRecord),
    /// Anything else.
    Line(Box<RecordingLine>),
}

/// Parses one line, leaving a record's event as text.
///
/// # Errors
/// When it is not JSON, or one of ours with wrong fields.
pub fn read(line: &[u8]) -> Result<QlogLine, LineError> {
    if line.len() > LINE_LIMIT {
        return Err(LineError::Damaged);
    }
    let Envelope { name, data } = serde_json::from_slice(line).map_err(|_| LineError::Damaged)?;
    let (Some(name), Some(data)) = (name, data) else {
        return Ok(QlogLine::Line(Box::new(RecordingLine::Header)));
    };
    let wrong = |why: serde_json::Error| fields(&name, &why);
    match name.split_once(':') {
        Some(("servent", what)) => {
            of_tape(what, data.get()).map(|l| QlogLine::Line(Box::new(l))).map_err(wrong)
        }
        Some((
            space @ ("conn" | "queue" | "fetch" | "world" | "routing" | "unicast" | "swarm"
            | "meet" | "client"),
            what,
        )) => of_record(space, what, data.get()).map(QlogLine::Record).map_err(wrong),
        _ => Ok(QlogLine::Line(Box::new(RecordingLine::Foreign))),
    }
}

/// Parses one line.
///
/// # Errors
/// When it is not JSON, or one of ours with wrong fields.
pub fn parse(line: &[u8]) -> Result<RecordingLine, LineError> {
    match read(line)? {
        QlogLine::Line(line) => Ok(*line),
        QlogLine::Record(raw) => typed(&raw),
    }
}

/// Parses the event of a record, too.
///
/// # Errors
/// When it is no event of ours.
pub fn typed(raw: &RawRecord) -> Result<RecordingLine, LineError> {
    let RawRecord { seq, at, node, cause, event } = raw;
    let event: Event = serde_json::from_str(event).map_err(|why| fields(event, &why))?;
    Ok(RecordingLine::Record(Record { seq: *seq, at: *at, node: *node, cause: *cause, event }))
}

fn fields(name: &str, why: &serde_json::Error) -> LineError {
    LineError::Fields { name: name.to_string(), why: why.to_string() }
}

fn of_tape(what: &str, data: &str) -> serde_json::Result<RecordingLine> {
    Ok(match what {
        "start" => {
            // A start of another version need not have the same fields.
            let QlogVersion { version } = serde_json::from_str(data)?;
            if version != u64::from(super::tape::VERSION) {
                return Ok(RecordingLine::Unknown(version));
            }
            RecordingLine::Start(serde_json::from_str(data)?)
        }
        "queue" | "routing" | "unicast" | "swarm" => RecordingLine::World {
            protocol: what.to_string(),
            scenario: serde_json::from_str(data)?,
        },
        "input" => {
            let InputLine { us: at, input } = serde_json::from_str(data)?;
            RecordingLine::Input { at, input }
        }
        "timeout" => {
            let OnlyAt { us: at } = serde_json::from_str(data)?;
            RecordingLine::Timeout { at }
        }
        "checkpoint" => RecordingLine::Checkpoint(serde_json::from_str(data)?),
        "gap" => {
            let GapLine { us: at, why } = serde_json::from_str(data)?;
            RecordingLine::Gap { at, why: why.into_owned() }
        }
        _ => RecordingLine::Foreign,
    })
}

fn of_record(space: &str, what: &str, data: &str) -> serde_json::Result<RawRecord> {
    let RecordData { seq, us: at, node, trigger: cause, mut fields } =
        serde_json::from_str::<RecordData<Map<String, Value>>>(data)?;
    fields.insert("what".into(), what.into());
    let event = Value::from_iter([(space, fields)]);
    Ok(RawRecord { seq, at, node, cause, event: event.to_string() })
}

#[derive(Serialize)]
struct QlogHeader<'a> {
    file_schema: &'a str,
    serialization_format: &'a str,
    qlog_version: &'a str,
    qlog_format: &'a str,
    title: &'a str,
    trace: Trace<'a>,
}
#[derive(Serialize)]
struct Trace<'a> {
    title: &'a str,
    vantage_point: VantagePoint<'a>,
    event_schemas: [&'a str; 1],
    common_fields: CommonFields<'a>,
}
#[derive(Serialize)]
struct VantagePoint<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
}
#[derive(Serialize)]
struct CommonFields<'a> {
    time_format: &'a str,
    #[serde(serialize_with = "milliseconds")]
    reference_time: Duration,
}
#[derive(Serialize)]
struct EventLine<'a, T> {
    #[serde(serialize_with = "milliseconds")]
    time: Duration,
    name: &'a str,
    data: &'a T,
}

/// The common fields of all lines; those of other programs have more.
#[derive(Deserialize)]
pub(super) struct Envelope<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) data: Option<&'a RawValue>,
}
#[derive(Deserialize)]
pub(super) struct QlogVersion {
    #[serde(default)]
    pub(super) version: u64,
}
#[derive(Serialize)]
pub(super) struct At<'a, T: Serialize> {
    pub(super) us: Instant,
    #[serde(flatten)]
    pub(super) data: &'a T,
}
#[derive(Serialize, Deserialize)]
pub(super) struct InputLine<I> {
    pub(super) us: Instant,
    pub(super) input: I,
}
#[derive(Serialize, Deserialize)]
pub(super) struct OnlyAt {
    pub(super) us: Instant,
}
#[derive(Serialize, Deserialize)]
pub(super) struct GapLine<'a> {
    pub(super) us: Instant,
    pub(super) why: Cow<'a, str>,
}
#[derive(Serialize, Deserialize)]
struct RecordData<F> {
    seq: u64,
    us: Instant,
    #[serde(default)]
    node: NodeId,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: RecordCause,
    #[serde(flatten)]
    fields: F,
}

/// Milliseconds with the microseconds as decimals, computed without floats.
fn milliseconds<S: Serializer>(time: &Duration, s: S) -> Result<S::Ok, S::Error> {
    let us = time.as_micros();
    let text = format!("{}.{:03}", us / 1_000, us % 1_000);
    serde_json::from_str::<&RawValue>(&text).map_err(S::Error::custom)?.serialize(s)
}
