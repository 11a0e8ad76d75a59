//! The connections of recorded servents as streams of bytes: which of two recordings
//! are the same connection, and which of one's writes the other has read when.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use servent_core::engine::Effect;
use servent_core::id::ConnId;
use servent_core::node::{ConnInput, ConnOutput, Input, Output};
use servent_core::time::Instant;
use servent_core::trace::again::ReplayStep;

/// The first bytes of a connection that are kept, in each direction: with a
/// handshake and a few messages, whose numbers are drawn, no two are alike.
const HEAD: usize = 2048;
/// By these first bytes connections are looked up; what said less is not compared.
const LOOKED_UP: usize = 64;

/// Of which recording, and which connection there.
pub(crate) type StreamEnd = (usize, ConnId);

/// A step that wrote, or read, a stream up to a byte.
#[derive(Debug, Clone, Copy)]
struct StreamMark {
    upto: u64,
    at: Instant,
    step: usize,
    /// The newest record by then.
    record: u64,
}

/// One direction of a connection.
#[derive(Debug, Clone, Default)]
struct StreamDirection {
    head: Vec<u8>,
    length: u64,
    marks: Vec<StreamMark>,
}

impl StreamDirection {
    fn add(&mut self, data: &[u8], (at, step, record): (Instant, usize, u64)) {
        let room = HEAD.saturating_sub(self.head.len()).min(data.len());
        self.head.extend_from_slice(&data[..room]);
        self.length += data.len() as u64;
        self.marks.push(StreamMark { upto: self.length, at, step, record });
    }
}

/// The connections of a tape.
#[derive(Debug, Clone, Default)]
pub(crate) struct Streams {
    /// What was said on each, and what was heard.
    all: BTreeMap<ConnId, [StreamDirection; 2]>,
}

impl Streams {
    /// Takes up a step of the tape.
    pub(crate) fn observe(&mut self, step: &ReplayStep<'_>) {
        if let Some(Input::Connection(conn, ConnInput::Bytes { data })) = step.input {
            let way = &mut self.all.entry(*conn).or_default()[1];
            way.add(data, (step.at, step.number, 0));
        }
        for (record, effect) in step.numbered() {
            match effect {
                Effect::Output(Output::Connection(conn, ConnOutput::Write { data })) => {
                    let way = &mut self.all.entry(*conn).or_default()[0];
                    way.add(data, (step.at, step.number, record));
                }
                // The bytes of files are on no recording, but they are between others.
                Effect::Output(Output::Connection(conn, ConnOutput::Serve { start, end, .. })) => {
                    self.all.entry(*conn).or_default()[0].length += end.saturating_sub(*start);
                }
                Effect::Output(Output::Connection(
                    conn,
                    ConnOutput::Store { start, end, early, .. },
                )) => {
                    let known = start.saturating_add(early.len() as u64);
                    self.all.entry(*conn).or_default()[1].length += end.saturating_sub(known);
                }
                _ => {}
            }
        }
    }

    /// The bytes that a step has read: on which connection, and up to where.
    fn read(&self, step: usize, conn: ConnId) -> Option<&StreamMark> {
        let [_, heard] = self.all.get(&conn)?;
        let i = heard.marks.binary_search_by_key(&step, |mark| mark.step).ok()?;
        heard.marks.get(i)
    }

    /// The write that has the byte before this one.
    fn write(&self, conn: ConnId, upto: u64) -> Option<&StreamMark> {
        let [said, _] = self.all.get(&conn)?;
        said.marks.get(said.marks.partition_point(|mark| mark.upto < upto))
    }
}

/// What a step read, as the other end of its connection wrote it: its newest record
/// by then.
pub(crate) fn written(
    tapes: &[&Streams],
    ends: &BTreeMap<StreamEnd, StreamEnd>,
    end: StreamEnd,
    step: usize,
) -> Option<(usize, u64)> {
    let (tape, conn) = end;
    let read = tapes.get(tape)?.read(step, conn)?;
    let (there, other) = ends.get(&end)?;
    let wrote = tapes.get(*there)?.write(*other, read.upto)?;
    Some((*there, wrote.record))
}

/// The shortest ways of bytes from one recording to another, by their own clocks.
pub(crate) fn ways(
    tapes: &[&Streams],
    ends: &BTreeMap<StreamEnd, StreamEnd>,
) -> BTreeMap<(usize, usize), i64> {
    let mut ways = BTreeMap::new();
    for ((to, conn), (from, other)) in ends {
        let Some([_, heard]) = tapes[*to].all.get(conn) else { continue };
        for read in &heard.marks {
            let Some(wrote) = tapes[*from].write(*other, read.upto) else { continue };
            let way = read.at.as_micros() as i64 - wrote.at.as_micros() as i64;
            let least = ways.entry((*from, *to)).or_insert(way);
            *least = way.min(*least);
        }
    }
    ways
}

/// A connection, with what was said on it and what was heard.
type Begun<'a> = (StreamEnd, &'a [StreamDirection; 2]);

/// Connections of two recordings that are the same one: what one end said is what the
/// other heard.
pub(crate) fn pairs(tapes: &[&Streams]) -> BTreeMap<StreamEnd, StreamEnd> {
    let mut dialed: BTreeMap<[&[u8]; 2], Vec<Begun<'_>>> = BTreeMap::new();
    let mut accepted = Vec::new();
    for (k, streams) in tapes.iter().enumerate() {
        for (conn, ways) in &streams.all {
            let [said, heard] = ways;
            let key = [said, heard].map(|way| way.head.get(..LOOKED_UP).unwrap_or_default());
            if key.contains(&&[][..]) {
                continue;
            }
            if conn.is_inbound() {
                accepted.push(([key[1], key[0]], (k, *conn), ways));
            } else {
                dialed.entry(key).or_default().push(((k, *conn), ways));
            }
        }
    }
    let mut fitting = Vec::new();
    for (key, there, [answered, asked]) in accepted {
        for (end, [said, heard]) in dialed.get(&key).into_iter().flatten() {
            let same = alike(said, asked).zip(alike(answered, heard));
            if let Some((to, from)) = same.filter(|_| end.0 != there.0) {
                let begun = [said, asked]
                    .map(|way| way.marks.first().map_or(0, |mark| mark.at.as_micros()));
                let apart = begun[0].abs_diff(begun[1]);
                fitting.push((core::cmp::Reverse(to + from), apart, *end, there));
            }
        }
    }
    fitting.sort_unstable();
    let mut pairs = BTreeMap::new();
    for (.., end, there) in fitting {
        if !pairs.contains_key(&end) && !pairs.contains_key(&there) {
            pairs.insert(end, there);
            pairs.insert(there, end);
        }
    }
    pairs
}

/// How many bytes two ends agree on; `None` where they differ.
fn alike(said: &StreamDirection, heard: &StreamDirection) -> Option<usize> {
    let both = said.head.len().min(heard.head.len());
    (said.head[..both] == heard.head[..both]).then_some(both)
}
