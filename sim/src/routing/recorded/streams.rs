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
    /// The bytes of a file follow the head. They are not in the recording of the servent
    /// that sends them; the receiver's recording has those that came along with a head.
    whole: bool,
    length: u64,
    marks: Vec<StreamMark>,
}

/// The instant of a step, its number, and the newest record by then.
type StepStamp = (Instant, usize, u64);

impl StreamDirection {
    fn add(&mut self, data: &[u8], stamp: StepStamp) {
        if !self.whole {
            let room = HEAD.saturating_sub(self.head.len()).min(data.len());
            self.head.extend_from_slice(&data[..room]);
        }
        self.mark(data.len() as u64, stamp);
    }

    fn serve(&mut self, bytes: u64, stamp: StepStamp) {
        self.whole = true;
        self.mark(bytes, stamp);
    }

    fn mark(&mut self, bytes: u64, (at, step, record): StepStamp) {
        self.length += bytes;
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
                    let way = &mut self.all.entry(*conn).or_default()[0];
                    way.serve(end.saturating_sub(*start), (step.at, step.number, record));
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

/// How many bytes of the heads two ends agree on; `None` where they differ. What was
/// heard may go on with bytes of a file, which the head that was said does not have.
fn alike(said: &StreamDirection, heard: &StreamDirection) -> Option<usize> {
    let both = said.head.len().min(heard.head.len());
    (said.head[..both] == heard.head[..both]).then_some(both)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const CONN: ConnId = ConnId(1);
    const THERE: ConnId = ConnId(2);

    fn stamp(millis: u64, step: usize) -> StepStamp {
        (Instant::from_micros(millis * 1_000), step, step as u64)
    }

    /// A client asks twice on one connection, and reads the first response together with
    /// the first 400 bytes of the file.
    #[test]
    fn bytes_of_a_file_that_came_with_a_head_keep_no_ends_apart() {
        let [mut said, mut asked, mut answered, mut heard] =
            [(); 4].map(|()| StreamDirection::default());
        let (request, response) = ([b'?'; 100], [b'!'; 120]);
        for (way, late) in [(&mut said, 0), (&mut asked, 10)] {
            way.add(&request, stamp(late, 1));
            way.add(&request, stamp(500 + late, 5));
        }
        answered.add(&response, stamp(20, 2));
        answered.serve(1_000, stamp(20, 2));
        answered.add(&response, stamp(520, 6));
        answered.serve(1_000, stamp(520, 6));
        let mut first = response.to_vec();
        first.extend([7; 400]);
        heard.add(&first, stamp(30, 2));
        heard.length += 600;
        heard.add(&response, stamp(530, 7));

        let client = Streams { all: [(CONN, [said, heard])].into() };
        let server = Streams { all: [(THERE, [answered, asked])].into() };
        let tapes = [&client, &server];
        let ends = pairs(&tapes);
        assert_eq!(ends.get(&(0, CONN)), Some(&(1, THERE)));
        // All bytes take 10 ms: no clock is ahead.
        let ways: Vec<_> = super::ways(&tapes, &ends).into_iter().collect();
        assert_eq!(ways, vec![((0, 1), 10_000), ((1, 0), 10_000)]);
        let caused = [2, 7].map(|step| written(&tapes, &ends, (0, CONN), step));
        assert_eq!(caused, [Some((1, 2)), Some((1, 6))]);
    }
}
