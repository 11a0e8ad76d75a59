//! Messages of the Gnutella overlay, its handshake and its streams.
//!
//! A header of 23 bytes, then a payload of some kind; integers are
//! little-endian and IPv4 addresses in network order. The next message cannot
//! be found after a damaged one, so an invalid header ends the connection.
//!
//! A message that is forwarded keeps its payload unchanged: [`Query`] and
//! [`QueryHit`] store their payload and read it through accessors.
//!
//! | file | what it holds |
//! |---|---|
//! | `header`, `frame` | the 23 bytes; frames from a stream that may be split anywhere |
//! | `message` | a message with its payload, and the kinds of payload |
//! | `ping`, `push`, `query`, `hit`, `qrp`, `vendor` | the payloads |
//! | `ggep` | extension blocks, with COBS and deflate |
//! | `plain` | the same messages without extension blocks |
//! | `words`, `keywords` | words of a query; keyword tables and their hash |
//! | `deflate` | compressed links |
//! | `handshake` | the three heads before the first message |

mod deflate;
mod frame;
#[doc(hidden)]
pub mod ggep;
mod handshake;
mod header;
mod hit;
mod keywords;
mod meeting;
mod message;
mod ping;
mod plain;
mod push;
mod qrp;
mod query;
mod vendor;
mod words;

pub use self::frame::{Framer, MessageFrameError};
pub use self::handshake::{HandshakeOffer, HandshakeReply, Hello};
pub use self::header::{MessageHeader, MessageKind};
pub use self::hit::{HitBuilder, Quality, QueryHit};
pub use self::meeting::HitMeeting;
pub use self::message::{MessageBody, OverlayMessage, PayloadError};
pub use self::ping::{Bye, Ping, Pong};
pub use self::push::Push;
pub use self::qrp::Qrp;
pub use self::query::{Query, QueryExtensions, Wishes};

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::{
    deflate::{Deflater, InflateError, InflateLimits, Inflater},
    frame::{FrameLimits, MessageFrame},
    handshake::parse_tries,
    header::HEADER,
    hit::HitResult,
    keywords::{Keywords, KeywordsError, KeywordsLimits, keyword_hash},
    ping::code,
    qrp::Compressor,
    query::{EVERYTHING, Extension},
    vendor::Vendor,
    words::{fold, matches, words},
};

/// The bytes of a payload: cheap to clone and to slice.
pub type OverlayPayload = bytes::Bytes;

/// The default port of servents.
pub(crate) const DEFAULT_PORT: u16 = 6346;

/// Reads little-endian fields from the front of a payload.
#[derive(Debug, Clone, Copy)]
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], PayloadError> {
        let (field, rest) = self.0.split_first_chunk().ok_or(PayloadError::Short)?;
        self.0 = rest;
        Ok(*field)
    }
    fn u8(&mut self) -> Result<u8, PayloadError> {
        self.take::<1>().map(|[b]| b)
    }
    fn u16(&mut self) -> Result<u16, PayloadError> {
        self.take().map(u16::from_le_bytes)
    }
    fn u32(&mut self) -> Result<u32, PayloadError> {
        self.take().map(u32::from_le_bytes)
    }
    fn ip(&mut self) -> Result<core::net::Ipv4Addr, PayloadError> {
        self.take::<4>().map(core::net::Ipv4Addr::from)
    }
    /// The bytes up to the next NUL, which is skipped.
    fn text(&mut self) -> Result<&'a [u8], PayloadError> {
        let end = self.0.iter().position(|b| *b == 0).ok_or(PayloadError::Unterminated)?;
        let (text, rest) = (&self.0[..end], &self.0[end + 1..]);
        self.0 = rest;
        Ok(text)
    }
}
