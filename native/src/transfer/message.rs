//! The messages of a transfer. Each is one message of the unicast; its first
//! byte says what it is, numbers are big-endian.
//!
//! | byte | from | then |
//! |---|---|---|
//! | 0 hello | sender | version (1), length (8; all ones: unknown), name in UTF-8 |
//! | 1 data | sender | bytes |
//! | 2 end | sender | length (8), SHA-256 (32) |
//! | 3 alive | sender | nothing: more is to come, there is none yet |
//! | 4 stopped | sender | why, in UTF-8 |
//! | 16 whole | receiver | length (8): the same length and sum arrived |
//! | 17 failed | receiver | length that arrived (8), why in UTF-8 |

use servent_core::unicast::Payload;

/// The version in a hello.
pub(super) const VERSION: u8 = 1;
/// The head of a data message.
pub(super) const DATA: u8 = 1;
/// Bytes of data in one message, at most.
pub(super) const CHUNK: usize = 60_000;
/// Bytes of a text from the other side that are looked at.
const TEXT: usize = 512;
const UNKNOWN: u64 = u64::MAX;

/// What one side tells the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Message {
    Hello { length: Option<u64>, name: String },
    Data(Payload),
    End { length: u64, sum: [u8; 32] },
    Alive,
    Stopped { why: String },
    Whole { length: u64 },
    Failed { length: u64, why: String },
}

impl Message {
    /// As it is sent. [`Message::Data`] is made where it is read, with its
    /// first byte in place.
    pub(super) fn encode(&self) -> Payload {
        let mut out = Vec::new();
        match self {
            Self::Hello { length, name } => {
                out.extend([0, VERSION]);
                out.extend(length.unwrap_or(UNKNOWN).to_be_bytes());
                out.extend(text(name).bytes());
            }
            Self::Data(bytes) => {
                out.push(DATA);
                out.extend_from_slice(bytes);
            }
            Self::End { length, sum } => {
                out.push(2);
                out.extend(length.to_be_bytes());
                out.extend(sum);
            }
            Self::Alive => out.push(3),
            Self::Stopped { why } => {
                out.push(4);
                out.extend(text(why).bytes());
            }
            Self::Whole { length } => {
                out.push(16);
                out.extend(length.to_be_bytes());
            }
            Self::Failed { length, why } => {
                out.push(17);
                out.extend(length.to_be_bytes());
                out.extend(text(why).bytes());
            }
        }
        out.into()
    }

    /// Reads one; `None` when it is none of this version.
    pub(super) fn parse(payload: &Payload) -> Option<Self> {
        let (kind, rest) = payload.split_first()?;
        let number = |rest: &[u8]| rest.first_chunk().map(|n| u64::from_be_bytes(*n));
        let words = |rest: &[u8]| text(&String::from_utf8_lossy(rest)).to_owned();
        Some(match kind {
            0 => {
                let (version, rest) = rest.split_first()?;
                let length = number(rest).filter(|_| *version == VERSION)?;
                let name = words(&rest[8..]);
                Self::Hello { length: (length != UNKNOWN).then_some(length), name }
            }
            &DATA => Self::Data(payload.slice(1..)),
            2 => Self::End { length: number(rest)?, sum: rest[8..].try_into().ok()? },
            3 => Self::Alive,
            4 => Self::Stopped { why: words(rest) },
            16 => Self::Whole { length: number(rest)? },
            17 => Self::Failed { length: number(rest)?, why: words(&rest[8..]) },
            _ => return None,
        })
    }
}

/// The beginning of a text: no longer than is looked at.
fn text(whole: &str) -> &str {
    &whole[..whole.floor_char_boundary(TEXT)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for message in [
            Message::Hello { length: Some(7), name: "häh.ogg".into() },
            Message::Hello { length: None, name: String::new() },
            Message::Data(Payload::from_static(b"abc")),
            Message::End { length: 3, sum: [9; 32] },
            Message::Alive,
            Message::Stopped { why: "the disk burns".into() },
            Message::Whole { length: 3 },
            Message::Failed { length: 2, why: "full".into() },
        ] {
            assert_eq!(Message::parse(&message.encode()), Some(message));
        }
    }

    #[test]
    fn what_is_cut_short_is_nothing() {
        let whole = [
            Message::Hello { length: Some(7), name: String::new() },
            Message::End { length: 3, sum: [9; 32] },
            Message::Whole { length: 3 },
            Message::Failed { length: 2, why: String::new() },
        ];
        for message in whole {
            let bytes = message.encode();
            for end in 0..bytes.len() {
                assert_eq!(Message::parse(&bytes.slice(..end)), None, "{message:?} {end}");
            }
        }
        assert_eq!(Message::parse(&Payload::from_static(&[0, 9, 0, 0, 0, 0, 0, 0, 0, 0])), None);
        assert_eq!(Message::parse(&Payload::from_static(&[99])), None);
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let name = "ä".repeat(TEXT);
        let Some(Message::Hello { name, .. }) =
            Message::parse(&Message::Hello { length: None, name }.encode())
        else {
            panic!("no hello");
        };
        assert_eq!(name, "ä".repeat(TEXT / 2));
    }
}
