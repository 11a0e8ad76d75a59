//! PDTP version 2: how clients and the coordinator of a swarm talk.
//!
//! A frame is a big-endian `u16` and so many bytes of JSON, the list
//! `["type", {arguments}]`. Between peers the pieces themselves travel by HTTP;
//! [`peer`] has the heads that go with them. What is ours and not of the
//! published version stands in `docs/wire-pdtp.md` under "Extensions".

mod frame;
mod parse;
#[doc(hidden)]
pub mod peer;
mod print;
mod url;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use serde::{Deserialize, Serialize};

pub use self::frame::{FrameError, Reader, encode};

pub(crate) use self::url::url_from;

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::url::{target_of, url_of};

/// The port the coordinator listens on unless told otherwise.
#[doc(hidden)]
pub const PORT: u16 = 6086;

/// Texts of one message, shared by whoever keeps them.
pub type Text = Arc<str>;

/// What a message may have at most. The frame itself ends at 65 535 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Bytes of a client's id; the protocol says fewer than 4 096.
    pub id: u32,
    /// Bytes of a URL.
    pub url: u32,
    /// Messages in one frame.
    pub messages: u32,
    /// Bytes of a sentence for people; longer ones are cut.
    pub sentence: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { id: 4_095, url: 2_048, messages: 256, sentence: 500 }
    }
}

/// Bytes `start..end` of a file; without an end to the end of the file. On
/// the wire `{"min":start,"max":end-1}`, both inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u64,
    /// The first byte that is not meant any more.
    pub end: Option<u64>,
}

impl Span {
    /// The whole of a file, however long it is.
    pub const ALL: Self = Self { start: 0, end: None };

    /// `start..end`.
    #[must_use]
    pub const fn new(start: u64, end: u64) -> Self {
        Self { start, end: Some(end) }
    }
}

/// The SHA-256 of a piece, 64 lower-case digits on the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// From 64 hexadecimal digits of either case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?;
        Some(Self(bytes.try_into().ok()?))
    }
}
impl Serialize for Hash {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("64 hexadecimal digits expected"))
    }
}
impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&HEXLOWER.encode_display(&self.0), f)
    }
}
impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Which way the connecting side moves the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// It fetches.
    Get,
    /// It sends: the uploader is passive and connects out.
    Put,
}

/// Whose fault a transfer that failed is (SW-23). Our extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// No connection came about: the listener's.
    Connect,
    /// The bytes did not come: the uploader's.
    Data,
    /// The bytes are not those of the file: the uploader's, or of whoever
    /// sent the beginning.
    Hash,
}

/// A piece on its way between two clients, as both ends and the coordinator
/// name it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct About {
    /// The address of the other side.
    pub peer: IpAddr,
    /// The file.
    pub url: Text,
    /// Which bytes of it.
    pub span: Span,
    /// The id of the other side; empty for the source.
    pub peer_id: Text,
}

/// `completed`: one side's report on a transfer (SW-5).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Completed {
    /// The transfer.
    pub about: About,
    /// The receiver's digest of the whole piece; without it the receiver
    /// says that it failed.
    pub hash: Option<Hash>,
    /// Bytes of the piece that are there already although it failed, or that
    /// were there before. Extension.
    pub offset: Option<u64>,
    /// Why it failed. Extension.
    pub reason: Option<Reason>,
    /// Microseconds from the first byte to the last. Extension.
    pub took: Option<u64>,
}

/// `transfer`: connect there and move these bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// With whom.
    pub about: About,
    /// Where it listens.
    pub port: u16,
    /// Which way.
    pub method: Method,
    /// What the piece hashes to. Extension.
    pub hash: Option<Hash>,
}

/// What our extensions are called when they are agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Extensions {
    /// `merge`: a frame may hold several messages.
    pub merge: bool,
    /// `early`: the listener is told whom to let in before anybody connects,
    /// and `transfer` brings the hash.
    pub early: bool,
}

/// Everything that is said between a client and the coordinator.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Message {
    /// Client: who it is; must be first. Without a port it is passive.
    Register {
        /// Unique among the clients of the coordinator.
        client_id: Text,
        /// Where it accepts its peers.
        listen_port: Option<u16>,
        /// What it understands beyond the published version.
        extensions: Extensions,
    },
    /// Coordinator: the extensions in use. Extension.
    Extensions(Extensions),
    /// Client: what is this file?
    AskInfo {
        /// The file.
        url: Text,
    },
    /// Coordinator: the answer; without a size there is no such file.
    TellInfo {
        /// The file.
        url: Text,
        /// Its bytes.
        size: Option<u64>,
        /// Bytes of every piece but the last.
        chunk_size: Option<u64>,
        /// It still grows.
        streaming: bool,
        /// The SHA-256 of all of it. Extension.
        sha256: Option<Hash>,
        /// Why there is no such file any more, a sentence for people. Said
        /// without being asked. Extension.
        gone: Option<String>,
    },
    /// Client: these bytes are wanted; adds to what was wanted before.
    Request {
        /// The file.
        url: Text,
        /// Which bytes.
        span: Span,
    },
    /// Client: these are not wanted any more.
    Unrequest {
        /// The file.
        url: Text,
        /// Which bytes.
        span: Span,
    },
    /// Client: these bytes are here for others.
    Provide {
        /// The file.
        url: Text,
        /// Which bytes.
        span: Span,
    },
    /// Client: these are not here any more.
    Unprovide {
        /// The file.
        url: Text,
        /// Which bytes.
        span: Span,
    },
    /// Coordinator, to the side that connects.
    Transfer(Transfer),
    /// Client: may this connection that came do that?
    AskVerify(About),
    /// Coordinator: the answer, or with `early` before the question.
    TellVerify {
        /// What was asked.
        about: About,
        /// Let it in.
        authorized: bool,
    },
    /// Client: a transfer ended.
    Completed(Completed),
    /// Coordinator: whether the receiver's digest is right.
    HashVerify {
        /// The file.
        url: Text,
        /// The piece.
        span: Span,
        /// The piece may be kept.
        hash_ok: bool,
    },
    /// Coordinator: the client broke the protocol.
    ProtocolError {
        /// A sentence for people.
        message: String,
    },
    /// Client: it accepts peers elsewhere; without a port not at all
    /// (SW-17). Extension.
    ChangePort {
        /// The new port.
        listen_port: Option<u16>,
    },
    /// Client: how many transfers at once (SW-12). Extension.
    SetConcurrency {
        /// Downloads, if that changes.
        max_download: Option<u32>,
        /// Uploads, if that changes.
        max_upload: Option<u32>,
    },
    /// Coordinator: a message was not taken, and the connection goes on.
    /// Extension.
    Error {
        /// One word for programs.
        reason: String,
        /// A sentence for people.
        message: String,
    },
}

/// Why a message cannot be read. The sentence is what the other side is told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The frame is not text.
    #[error("a frame that is not UTF-8")]
    NotText,
    /// The frame is not JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// The frame is JSON, but no message.
    #[error("a frame must be a list of a type and its arguments")]
    NotAMessage,
    /// A type that does not exist.
    #[error("unknown message type `{0}`")]
    Unknown(String),
    /// An argument that must be there is not.
    #[error("`{0}` without `{1}`")]
    Missing(&'static str, &'static str),
    /// An argument is not what it should be.
    #[error("`{0}`: `{1}` is wrong")]
    Wrong(&'static str, &'static str),
    /// More messages than a frame may have.
    #[error("too many messages in a frame")]
    TooMany,
}

/// Reads what a frame holds: one message, or several behind one another.
///
/// # Errors
/// When any of them cannot be read: a frame is taken whole or not at all.
pub fn parse(body: &[u8], limits: &Limits) -> Result<Vec<Message>, MessageError> {
    parse::body(body, limits)
}
