//! The messages of a transfer. Each is one unicast message; its first byte is
//! its type, numbers are big-endian, texts are UTF-8.
//!
//! | byte | from | then |
//! |---|---|---|
//! | 0 hello | sender | version (1), its half of the key exchange, if it has a code |
//! | 1 data | sender | bytes of the current file |
//! | 2 end | sender | length (8) and BLAKE3 digest (32) of the whole file |
//! | 3 alive | both | nothing: a keep-alive |
//! | 4 stopped | sender | why; `it has gone to as many receivers as it was for` is for good |
//! | 5 offer | sender | entries: length (8; all ones: unknown), flags (1), seconds since 1970 (8), nanoseconds (4), bytes of the name (2), name |
//! | 6 offered | sender | number of entries (4): the end of the offer |
//! | 7 proof | sender | entry (4), length (8), keyed BLAKE3 (32) of that much of it ([`super::proof`]) |
//! | 8 begin | sender | entry (4), starting offset (8) |
//! | 9 done | sender | nothing: everything was sent; all receivers have the parcel |
//! | 11 lacks | sender | entry (4; all ones: it was not offered), 1 when it changed while it was read (1), bytes of the name (2), name, why |
//! | 10 parcel | sender | TCP port of its swarm (2), key (32), SHA-256 (32), name: the label of a parcel |
//! | 13 turn | sender | 0: the same receiver is served on another connection, and this one waits; 1: its turn has come (1) |
//! | 12 visit | caller | version (1), its half of the key exchange ([`super::streams`]) |
//! | 16 whole | receiver | nothing: everything was received |
//! | 17 failed | receiver | why |
//! | 18 has | receiver | entry (4), length (8), key (32): that much of it may exist; asks for a proof |
//! | 19 go | receiver | nothing: the offer is accepted |
//! | 20 from | receiver | entry (4), starting offset (8) |
//! | 21 kept | receiver | entry (4): it is stored under its name |
//! | 22 there | receiver | entry (4): it exists completely |
//! | 23 meeting | receiver | its half of the key exchange |
//! | 24 join | receiver | version (1), its half of the key exchange, if it has a code |
//! | 26 full | receiver | why: as failed, and its disk is full |
//! | 27 blocked | receiver | entry (4), why: the name is not free there, and the others go on |
//! | 25 myself | receiver | number (16): the same whenever it comes to this sender |
//! | 32 stream | both | stream (4), and what is said about it ([`super::streams`]) |
//!
//! The sender offers everything, the receiver says which of it seems to exist
//! already, the sender proves that it is the same, and what is missing follows,
//! file by file. A name ending in `/` is a folder. Names are bytes, for not every
//! system has names of text. The flags of an entry are 1: it may be run, 2: the time
//! of its last change is known. What cannot be read, or changes while it is read, is
//! told as lacking, and the rest goes on. After a meeting, which is a
//! key exchange (`secret`), every message is encrypted and authenticated. A receiver that
//! has come to its sender by a link says who it is (myself, then alive) before it answers the
//! offer, and waits for the sender's alive; or for its turn, if the sender says that.
//!
//! Where one sends to several (`many`), it is the receiver that connects: it
//! joins, both meet, it says who it is, the sender offers everything with
//! the label of the parcel; the receiver says go, and whole once it has all, and
//! the sender says done once all receivers have.

use std::ffi::OsString;
use std::fmt;

use servent_core::id::Guid;
use servent_core::unicast::UnicastPayload;

use super::offer::{LackKind, Lacking, OfferEntry};
use super::streams::{STREAM, StreamPart};
use crate::files::FileAttributes;
use crate::sys::os_string;

/// The protocol version in a hello.
pub(super) const VERSION: u8 = 4;
/// The type byte of a data message.
pub(super) const DATA: u8 = 1;
/// The most data bytes in one message.
pub(super) const CHUNK: usize = 60_000;
/// The most bytes of a text from the other side that are used.
const TEXT: usize = 512;
/// The longest name in bytes.
pub(super) const NAME: usize = 4_096;
const UNKNOWN: u64 = u64::MAX;
/// The number of what was not offered.
const NOT_OFFERED: u32 = u32::MAX;
/// The flags of an entry.
const EXECUTABLE: u8 = 1;
const DATED: u8 = 2;

/// A message from one side to the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TransferMessage {
    Hello { meeting: Vec<u8> },
    Data(UnicastPayload),
    End { length: u64, sum: [u8; 32] },
    Alive,
    Stopped { why: String },
    Offer(Vec<OfferEntry>),
    Offered { entries: u32 },
    Proof { entry: u32, length: u64, sum: [u8; 32] },
    Begin { entry: u32, from: u64 },
    Done,
    Lacks { entry: Option<u32>, lacking: Lacking },
    Whole,
    Failed { why: String },
    Has { entry: u32, length: u64, key: [u8; 32] },
    Go,
    From { entry: u32, from: u64 },
    Kept { entry: u32 },
    There { entry: u32 },
    Meeting { told: Vec<u8> },
    Join { meeting: Vec<u8> },
    Full { why: String },
    Blocked { entry: u32, why: String },
    Parcel(Label),
    Myself { number: Guid },
    Turn { now: bool },
    Visit { meeting: Vec<u8> },
    Stream { stream: u32, part: StreamPart },
}

/// What a receiver needs to fetch a parcel and to open it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Label {
    /// Where the swarm listens, over TCP.
    pub(super) port: u16,
    pub(super) key: [u8; 32],
    /// The SHA-256 of the encrypted file.
    pub(super) sum: [u8; 32],
    /// Its name in the swarm.
    pub(super) name: String,
}

/// Hides the key: debug output ends up in logs.
impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Label")
    }
}

impl TransferMessage {
    /// That the name of an entry is not free at the receiver.
    pub(super) fn blocked(entry: usize, it: &Lacking) -> Self {
        Self::Blocked { entry: number(entry), why: it.why.clone() }
    }

    /// Encodes it. [`TransferMessage::Data`] is built where the data is read, with its
    /// type byte in place.
    pub(super) fn encode(&self) -> Vec<u8> {
        let numbered = |kind: u8, entry: u32, number: u64| {
            [&[kind][..], &entry.to_be_bytes(), &number.to_be_bytes()].concat()
        };
        match self {
            Self::Hello { meeting } => [&[0, VERSION], &meeting[..]].concat(),
            Self::Data(bytes) => [&[DATA], &bytes[..]].concat(),
            Self::End { length, sum } => [&[2][..], &length.to_be_bytes(), sum].concat(),
            Self::Alive => vec![3],
            Self::Stopped { why } => [&[4], text(why).as_bytes()].concat(),
            Self::Offer(entries) => entries.iter().fold(vec![5], put_entry),
            Self::Offered { entries } => [&[6][..], &entries.to_be_bytes()].concat(),
            Self::Proof { entry, length, sum } => [&numbered(7, *entry, *length)[..], sum].concat(),
            Self::Begin { entry, from } => numbered(8, *entry, *from),
            Self::Done => vec![9],
            Self::Lacks { entry, lacking } => put_lacking(*entry, lacking),
            Self::Full { why } => [&[26], text(why).as_bytes()].concat(),
            Self::Blocked { entry, why } => {
                [&[27][..], &entry.to_be_bytes(), text(why).as_bytes()].concat()
            }
            Self::Whole => vec![16],
            Self::Failed { why } => [&[17], text(why).as_bytes()].concat(),
            Self::Has { entry, length, key } => [&numbered(18, *entry, *length)[..], key].concat(),
            Self::Go => vec![19],
            Self::From { entry, from } => numbered(20, *entry, *from),
            Self::Kept { entry } => [&[21][..], &entry.to_be_bytes()].concat(),
            Self::There { entry } => [&[22][..], &entry.to_be_bytes()].concat(),
            Self::Meeting { told } => [&[23], &told[..]].concat(),
            Self::Join { meeting } => [&[24, VERSION], &meeting[..]].concat(),
            Self::Visit { meeting } => [&[12, VERSION], &meeting[..]].concat(),
            Self::Stream { stream, part } => part.encode(*stream),
            Self::Myself { number } => [&[25], &number.0[..]].concat(),
            Self::Turn { now } => vec![13, u8::from(*now)],
            Self::Parcel(Label { port, key, sum, name }) => {
                [&[10][..], &port.to_be_bytes(), key, sum, text(name).as_bytes()].concat()
            }
        }
    }

    /// Decodes one; `None` when it is not valid in this version.
    pub(super) fn parse(payload: &UnicastPayload) -> Option<Self> {
        let (kind, mut rest) = payload.split_first()?;
        let words = |rest: &[u8]| text(&String::from_utf8_lossy(rest)).to_owned();
        Some(match kind {
            0 => Self::Hello { meeting: rest.strip_prefix(&[VERSION])?.to_vec() },
            &DATA => Self::Data(payload.slice(1..)),
            2 => Self::End { length: long(&mut rest)?, sum: rest.try_into().ok()? },
            3 => Self::Alive,
            4 => Self::Stopped { why: words(rest) },
            5 => Self::Offer(entries(rest)?),
            6 => Self::Offered { entries: short(&mut rest)? },
            7 => {
                let (entry, length) = (short(&mut rest)?, long(&mut rest)?);
                Self::Proof { entry, length, sum: rest.try_into().ok()? }
            }
            8 => Self::Begin { entry: short(&mut rest)?, from: long(&mut rest)? },
            9 => Self::Done,
            11 => lacks(rest)?,
            26 => Self::Full { why: words(rest) },
            27 => Self::Blocked { entry: short(&mut rest)?, why: words(rest) },
            16 => Self::Whole,
            17 => Self::Failed { why: words(rest) },
            18 => {
                let (entry, length) = (short(&mut rest)?, long(&mut rest)?);
                Self::Has { entry, length, key: rest.try_into().ok()? }
            }
            19 => Self::Go,
            20 => Self::From { entry: short(&mut rest)?, from: long(&mut rest)? },
            21 => Self::Kept { entry: short(&mut rest)? },
            22 => Self::There { entry: short(&mut rest)? },
            10 => {
                let port = u16::from_be_bytes(*rest.split_off(..2)?.first_chunk()?);
                let key = *rest.split_off(..32)?.first_chunk()?;
                let sum = *rest.split_off(..32)?.first_chunk()?;
                Self::Parcel(Label { port, key, sum, name: words(rest) })
            }
            23 => Self::Meeting { told: rest.to_vec() },
            25 => Self::Myself { number: Guid(rest.try_into().ok()?) },
            13 => match rest {
                [0] => Self::Turn { now: false },
                [1] => Self::Turn { now: true },
                _ => return None,
            },
            12 => Self::Visit { meeting: rest.strip_prefix(&[VERSION])?.to_vec() },
            &STREAM => {
                let (stream, part) = StreamPart::parse(&payload.slice(1..))?;
                Self::Stream { stream, part }
            }
            24 => Self::Join { meeting: rest.strip_prefix(&[VERSION])?.to_vec() },
            _ => return None,
        })
    }
}

pub(super) fn put_entry(mut out: Vec<u8>, entry: &OfferEntry) -> Vec<u8> {
    let FileAttributes { modified, executable } = entry.attributes;
    let dated = if modified.is_some() { DATED } else { 0 };
    let (seconds, nanos) = modified.unwrap_or_default();
    out.extend(entry.length.unwrap_or(UNKNOWN).to_be_bytes());
    out.push(dated | if executable { EXECUTABLE } else { 0 });
    out.extend(seconds.to_be_bytes());
    out.extend(nanos.to_be_bytes());
    put_name(&mut out, entry.name.as_encoded_bytes());
    out
}

fn put_name(out: &mut Vec<u8>, name: &[u8]) {
    let name = &name[..name.len().min(NAME)];
    out.extend(u16::try_from(name.len()).unwrap_or(0).to_be_bytes());
    out.extend(name);
}

fn put_lacking(entry: Option<u32>, lacking: &Lacking) -> Vec<u8> {
    let mut out = vec![11];
    out.extend(entry.unwrap_or(NOT_OFFERED).to_be_bytes());
    out.push(u8::from(lacking.kind == LackKind::Changed));
    put_name(&mut out, lacking.name.as_encoded_bytes());
    out.extend(text(&lacking.why).as_bytes());
    out
}

fn lacks(mut rest: &[u8]) -> Option<TransferMessage> {
    let entry = short(&mut rest)?;
    let [changed] = *rest.split_off(..1)?.first_chunk()?;
    let name = name(&mut rest)?;
    let why = text(&String::from_utf8_lossy(rest)).to_owned();
    let kind = if changed == 0 { LackKind::Unreadable } else { LackKind::Changed };
    let lacking = Lacking { name, why, kind };
    Some(TransferMessage::Lacks {
        entry: Some(entry).filter(|entry| *entry != NOT_OFFERED),
        lacking,
    })
}

pub(super) fn entries(mut rest: &[u8]) -> Option<Vec<OfferEntry>> {
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let length = long(&mut rest)?;
        let [flags] = *rest.split_off(..1)?.first_chunk()?;
        let seconds = i64::from_be_bytes(*rest.split_off(..8)?.first_chunk()?);
        let modified = (flags & DATED != 0).then_some((seconds, short(&mut rest)?));
        let attributes = FileAttributes { modified, executable: flags & EXECUTABLE != 0 };
        let name = name(&mut rest)?;
        entries.push(OfferEntry {
            name,
            length: (length != UNKNOWN).then_some(length),
            attributes,
        });
    }
    Some(entries)
}

fn name(rest: &mut &[u8]) -> Option<OsString> {
    let named = usize::from(u16::from_be_bytes(*rest.split_off(..2)?.first_chunk()?));
    let name = rest.split_off(..named).filter(|name| name.len() <= NAME)?;
    Some(os_string(name.to_vec()))
}

fn short(rest: &mut &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(*rest.split_off(..4)?.first_chunk()?))
}

fn long(rest: &mut &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*rest.split_off(..8)?.first_chunk()?))
}

/// The number of an entry in messages. There are far fewer.
pub(super) fn number(entry: usize) -> u32 {
    u32::try_from(entry).unwrap_or(u32::MAX)
}

/// The start of a text, cut to the length that is used.
fn text(whole: &str) -> &str {
    &whole[..whole.floor_char_boundary(TEXT)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<TransferMessage> {
        let entry = |name: &[u8], length: Option<u64>| {
            let attributes = FileAttributes {
                modified: length.map(|length: u64| (-1, length as u32)),
                executable: length.is_none(),
            };
            OfferEntry { name: os_string(name.to_vec()), length, attributes }
        };
        let lacking = |kind| Lacking { name: "a\n".into(), why: "gone".into(), kind };
        vec![
            TransferMessage::Hello { meeting: Vec::new() },
            TransferMessage::Hello { meeting: vec![7; 33] },
            TransferMessage::Data(UnicastPayload::from_static(b"abc")),
            TransferMessage::End { length: 3, sum: [9; 32] },
            TransferMessage::Alive,
            TransferMessage::Stopped { why: "the disk burns".into() },
            TransferMessage::Offer(vec![
                entry("häh/a.ogg".as_bytes(), Some(7)),
                entry(b"\xff", None),
            ]),
            TransferMessage::Offered { entries: 2 },
            TransferMessage::Proof { entry: 1, length: 7, sum: [8; 32] },
            TransferMessage::Begin { entry: 1, from: 5 },
            TransferMessage::Done,
            TransferMessage::Lacks { entry: Some(1), lacking: lacking(LackKind::Changed) },
            TransferMessage::Lacks { entry: None, lacking: lacking(LackKind::Unreadable) },
            TransferMessage::Full { why: "no room".into() },
            TransferMessage::Blocked { entry: 7, why: "a is a file there".into() },
            TransferMessage::Whole,
            TransferMessage::Failed { why: "full".into() },
            TransferMessage::Has { entry: 1, length: 7, key: [4; 32] },
            TransferMessage::Go,
            TransferMessage::From { entry: 1, from: 5 },
            TransferMessage::Kept { entry: 1 },
            TransferMessage::There { entry: 1 },
            TransferMessage::Meeting { told: vec![8; 33] },
            TransferMessage::Join { meeting: Vec::new() },
            TransferMessage::Join { meeting: vec![6; 33] },
            TransferMessage::Myself { number: Guid([5; 16]) },
            TransferMessage::Turn { now: false },
            TransferMessage::Turn { now: true },
            TransferMessage::Parcel(Label {
                port: 7,
                key: [1; 32],
                sum: [2; 32],
                name: "ab".into(),
            }),
        ]
    }

    #[test]
    fn what_is_written_is_read_back() {
        for message in all() {
            assert_eq!(TransferMessage::parse(&message.encode().into()), Some(message));
        }
    }

    #[test]
    fn what_is_cut_short_is_never_taken_for_the_whole() {
        for message in all() {
            let bytes = UnicastPayload::from(message.encode());
            for end in 0..bytes.len() {
                assert_ne!(
                    TransferMessage::parse(&bytes.slice(..end)),
                    Some(message.clone()),
                    "{end}"
                );
            }
        }
        assert_eq!(TransferMessage::parse(&UnicastPayload::from_static(&[0, 9])), None);
        assert_eq!(TransferMessage::parse(&UnicastPayload::from_static(&[99])), None);
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let why = "ä".repeat(TEXT);
        let cut = TransferMessage::parse(&TransferMessage::Failed { why }.encode().into());
        assert_eq!(cut, Some(TransferMessage::Failed { why: "ä".repeat(TEXT / 2) }));
    }
}
