//! What is said about one stream, behind its number: a byte for the kind, and the rest.
//!
//! | byte | then |
//! |---|---|
//! | 0 open | nothing: the caller has one more connection |
//! | 1 bytes | bytes, at most as many as the other side has room for |
//! | 2 end | nothing: no more bytes come in this direction |
//! | 3 cut | nothing: the connection is broken off |
//! | 4 room | number (4): so many more bytes may come |

use servent_core::unicast::UnicastPayload;

/// The type byte of a message about a stream.
pub(in crate::transfer) const STREAM: u8 = 32;
/// Bytes of such a message before those of the stream: two types and a number.
pub(super) const HEAD: usize = 6;
/// The kind of bytes.
const BYTES: u8 = 1;

/// What is said about one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::transfer) enum StreamPart {
    Open,
    Bytes(UnicastPayload),
    End,
    Cut,
    Room(u32),
}

impl StreamPart {
    /// The message.
    pub(in crate::transfer) fn encode(&self, stream: u32) -> Vec<u8> {
        let mut out = head(stream, self.kind()).to_vec();
        match self {
            Self::Bytes(bytes) => out.extend_from_slice(bytes),
            Self::Room(bytes) => out.extend(bytes.to_be_bytes()),
            Self::Open | Self::End | Self::Cut => {}
        }
        out
    }

    /// Decodes a message without its type byte: the stream, and what is said about it.
    pub(in crate::transfer) fn parse(rest: &UnicastPayload) -> Option<(u32, Self)> {
        let (stream, behind) = rest.split_first_chunk()?;
        let (kind, behind) = behind.split_first()?;
        let part = match (*kind, behind) {
            (0, []) => Self::Open,
            (BYTES, [_, ..]) => Self::Bytes(rest.slice(HEAD - 1..)),
            (2, []) => Self::End,
            (3, []) => Self::Cut,
            (4, bytes) => Self::Room(u32::from_be_bytes(bytes.try_into().ok()?)),
            _ => return None,
        };
        Some((u32::from_be_bytes(*stream), part))
    }

    const fn kind(&self) -> u8 {
        match self {
            Self::Open => 0,
            Self::Bytes(_) => BYTES,
            Self::End => 2,
            Self::Cut => 3,
            Self::Room(_) => 4,
        }
    }
}

/// The beginning of a message with bytes, which are read in behind it.
pub(super) fn head_of_bytes(stream: u32) -> [u8; HEAD] {
    head(stream, BYTES)
}

fn head(stream: u32, kind: u8) -> [u8; HEAD] {
    let [a, b, c, d] = stream.to_be_bytes();
    [STREAM, a, b, c, d, kind]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_parsed_and_nothing_else() {
        let parts = [
            StreamPart::Open,
            StreamPart::Bytes(UnicastPayload::from_static(b"words")),
            StreamPart::End,
            StreamPart::Cut,
            StreamPart::Room(70_000),
        ];
        for part in parts {
            let message = UnicastPayload::from(part.encode(7));
            assert_eq!(message[0], STREAM);
            assert_eq!(StreamPart::parse(&message.slice(1..)), Some((7, part)));
        }
        for wrong in [&b""[..], b"\0\0\0", b"\0\0\0\x07", b"\0\0\0\x07\x09", b"\0\0\0\x07\x04\0"] {
            assert_eq!(StreamPart::parse(&UnicastPayload::from_static(wrong)), None, "{wrong:?}");
        }
    }
}
