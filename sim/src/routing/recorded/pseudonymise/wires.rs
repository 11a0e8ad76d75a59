//! What servents said to each other, before and under other names: what one says
//! now is what the other hears.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use servent_core::engine::Effect;
use servent_core::id::ConnId;
use servent_core::node::{ConnOutput, Event, MessageOutput, Output};
use servent_core::unicast::UnicastPayload;

type RecordedEffects<'a> = &'a [Effect<Output, Event>];

/// What one end of a connection has said.
#[derive(Debug, Default)]
pub(super) struct WrittenStream {
    pieces: Vec<Piece>,
    /// Bytes so far, as they were.
    upto: u64,
    /// It said something else than before: the rest means nothing any more.
    broken: bool,
}

#[derive(Debug)]
struct Piece {
    from: u64,
    upto: u64,
    /// Under other names; `None` for bytes of a file, which are on no tape.
    now: Option<Vec<u8>>,
}

/// What a chunk that was read has become.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Chunk {
    Heard(Vec<u8>),
    /// It has not been said yet.
    Later,
    /// It is not said any more.
    Never,
}

impl WrittenStream {
    fn say(&mut self, length: u64, now: Option<Vec<u8>>) {
        let from = self.upto;
        self.upto += length;
        self.pieces.push(Piece { from, upto: self.upto, now });
    }

    /// The bytes from there on that were `chunk`. A piece whose length has changed,
    /// as one that is packed, is heard when its last byte is.
    pub(super) fn heard(&self, from: u64, chunk: &[u8]) -> Chunk {
        let upto = from + chunk.len() as u64;
        if self.broken {
            return Chunk::Never;
        }
        if self.upto < upto {
            return Chunk::Later;
        }
        let mut heard = Vec::new();
        let first = self.pieces.partition_point(|piece| piece.upto <= from);
        for piece in self.pieces[first..].iter().take_while(|piece| piece.from < upto) {
            let (start, end) = (from.max(piece.from), upto.min(piece.upto));
            let within = |base: u64| (start - base) as usize..(end - base) as usize;
            match &piece.now {
                None => heard.extend_from_slice(&chunk[within(from)]),
                Some(now) if now.len() as u64 == piece.upto - piece.from => {
                    heard.extend_from_slice(&now[within(piece.from)]);
                }
                Some(now) if end == piece.upto => heard.extend_from_slice(now),
                Some(_) => {}
            }
        }
        Chunk::Heard(heard)
    }
}

/// What a node has said on its connections.
#[derive(Debug, Default)]
pub(super) struct Wires {
    said: BTreeMap<ConnId, WrittenStream>,
    /// What was written on a channel from page to page goes out as messages, each of
    /// at most [`MESSAGE`] bytes.
    messages: BTreeMap<Vec<u8>, UnicastPayload>,
}

/// Bytes of a message on a channel.
const MESSAGE: usize = 64 * 1024;

impl Wires {
    pub(super) fn on(&self, conn: ConnId) -> Option<&WrittenStream> {
        self.said.get(&conn)
    }

    /// A message of a channel. Bytes of files are as they were.
    pub(super) fn message(&self, data: &UnicastPayload) -> UnicastPayload {
        self.messages.get(&data[..]).unwrap_or(data).clone()
    }

    /// Takes up what a step says: as it was, and as it is now.
    pub(super) fn take(&mut self, before: RecordedEffects<'_>, now: RecordedEffects<'_>) {
        let mut said = written(now);
        for (conn, pieces) in written(before) {
            let wire = self.said.entry(conn).or_default();
            let others = said.remove(&conn).unwrap_or_default();
            let alike = |(one, other): (&Written<'_>, &Written<'_>)| match (one, other) {
                (Written::Bytes(_), Written::Bytes(_)) => true,
                (Written::File(one), Written::File(other)) => one == other,
                _ => false,
            };
            wire.broken |= pieces.len() != others.len() || !pieces.iter().zip(&others).all(alike);
            for (piece, other) in pieces.into_iter().zip(others) {
                match (piece, other) {
                    (Written::File(length), _) => wire.say(length, None),
                    (Written::Bytes(one), Written::Bytes(other)) => {
                        let parts = one.chunks(MESSAGE).zip(other.chunks(MESSAGE));
                        let part = |(one, other): (&[u8], &[u8])| {
                            (one.into(), UnicastPayload::copy_from_slice(other))
                        };
                        self.messages.extend(parts.map(part));
                        wire.say(one.len() as u64, Some(other.into()));
                    }
                    (Written::Bytes(_), Written::File(_)) => {}
                }
            }
        }
        // Nothing else of it is read in the other recordings.
        said.into_keys().for_each(|conn| self.said.entry(conn).or_default().broken = true);
    }
}

enum Written<'a> {
    Bytes(&'a [u8]),
    File(u64),
}

fn written(effects: RecordedEffects<'_>) -> BTreeMap<ConnId, Vec<Written<'_>>> {
    let mut all: BTreeMap<ConnId, Vec<Written<'_>>> = BTreeMap::new();
    for effect in effects {
        match effect {
            Effect::Output(Output::Connection(conn, ConnOutput::Write { data })) => {
                all.entry(*conn).or_default().push(Written::Bytes(data));
            }
            Effect::Output(Output::Connection(conn, ConnOutput::Serve { start, end, .. })) => {
                let length = end.saturating_sub(*start);
                all.entry(*conn).or_default().push(Written::File(length));
            }
            _ => {}
        }
    }
    all
}

/// The datagrams of a step.
fn sent(effects: RecordedEffects<'_>) -> Vec<&[u8]> {
    let all = effects.iter().filter_map(|effect| match effect {
        Effect::Output(Output::Messages(MessageOutput::Datagrams { segment, data, .. })) => {
            Some(data.chunks((*segment).max(1) as usize))
        }
        _ => None,
    });
    all.flatten().collect()
}

/// What was sent in datagrams: before, and under other names.
#[derive(Debug, Default)]
pub(super) struct Datagrams(BTreeMap<Vec<u8>, Vec<u8>>);

impl Datagrams {
    /// Takes up what a step sends.
    pub(super) fn take(&mut self, before: RecordedEffects<'_>, now: RecordedEffects<'_>) {
        let (before, now) = (sent(before), sent(now));
        if before.len() == now.len() {
            let pairs = before.into_iter().zip(now);
            self.0.extend(pairs.map(|(one, other)| (one.into(), other.into())));
        }
    }

    /// Datagrams that arrived, and the length of each; `None` while one of them was
    /// not sent.
    pub(super) fn arrived(&self, data: &[u8], segment: u32) -> Option<(Vec<u8>, u32)> {
        let all = data.chunks(segment.max(1) as usize).map(|one| self.0.get(one));
        let all = all.collect::<Option<Vec<_>>>()?;
        let segment = all.first()?.len();
        // All but the last one have to be of one length.
        let even = all.iter().rev().skip(1).all(|one| one.len() == segment);
        even.then(|| (all.into_iter().flatten().copied().collect(), segment as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(data: &[u8]) -> Effect<Output, Event> {
        Effect::Output(Output::Connection(ConnId(2), ConnOutput::Write { data: data.to_vec() }))
    }

    #[test]
    fn what_one_says_under_other_names_is_what_the_other_hears() {
        let mut wires = Wires::default();
        wires.take(&[write(b"GET song"), write(b"packed!")], &[write(b"GET abcd"), write(b"pa")]);
        let said = wires.on(ConnId(2)).unwrap();
        assert_eq!(said.heard(0, b"GET so"), Chunk::Heard(b"GET ab".to_vec()));
        assert_eq!(said.heard(6, b"ngpack"), Chunk::Heard(b"cd".to_vec()));
        assert_eq!(said.heard(12, b"ed!"), Chunk::Heard(b"pa".to_vec()));
        assert_eq!(said.heard(12, b"ed! and"), Chunk::Later);
    }

    #[test]
    fn bytes_of_a_file_stay_and_what_is_not_said_any_more_is_not_heard() {
        let file = |end| {
            let file = servent_core::node::FileRef::Shared(servent_core::id::FileIndex(0));
            Effect::Output(Output::Connection(ConnId(2), ConnOutput::Serve { file, start: 0, end }))
        };
        let mut wires = Wires::default();
        wires.take(&[write(b"head"), file(4)], &[write(b"haed"), file(4)]);
        let heard = wires.on(ConnId(2)).unwrap().heard(2, b"adfile");
        assert_eq!(heard, Chunk::Heard(b"edfile".to_vec()));
        wires.take(&[write(b"x")], &[]);
        assert_eq!(wires.on(ConnId(2)).unwrap().heard(0, b"he"), Chunk::Never);
    }
}
