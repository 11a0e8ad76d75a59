//! PDTP version 2: the protocol between clients and the coordinator of a swarm.
//!
//! A frame is a big-endian `u16` and so many bytes of JSON, the list
//! `["type", {arguments}]`. Pieces are transferred between peers by HTTP; [`peer`] has
//! the heads for that. Additions of ours to the published version are described
//! in `docs/wire-pdtp.md` under "Extensions".

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
use core::net::{IpAddr, SocketAddr};

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use serde::{Deserialize, Serialize};

pub use self::frame::{FrameReader, PdtpFrameError, encode};

pub(crate) use self::url::url_from;

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::url::{target_of, url_of};

/// The default port of the coordinator.
#[doc(hidden)]
pub const PORT: u16 = 6086;

/// The texts of a message, shared by all that keep them.
pub type Text = Arc<str>;

/// The limits of a message. A frame has at most 65 535 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct PdtpLimits {
    /// Bytes of a client's id; the protocol requires fewer than 4 096.
    pub id: u32,
    /// Bytes of a URL.
    pub url: u32,
    /// Messages in one frame.
    pub messages: u32,
    /// Bytes of a sentence for people; longer ones are truncated.
    pub sentence: u32,
    /// Other coordinators of a site that are named; further ones are ignored.
    pub others: u32,
}

impl Default for PdtpLimits {
    fn default() -> Self {
        Self { id: 4_095, url: 2_048, messages: 256, sentence: 500, others: 32 }
    }
}

/// The bytes `start..end` of a file; without an end, up to the end of the file.
/// On the wire `{"min":start,"max":end-1}`, both inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u64,
    /// The first byte after the span.
    pub end: Option<u64>,
}

impl Span {
    /// The whole file, whatever its size.
    pub const ALL: Self = Self { start: 0, end: None };

    /// `start..end`.
    #[must_use]
    pub const fn new(start: u64, end: u64) -> Self {
        Self { start, end: Some(end) }
    }
}

/// A SHA-256 digest; 64 lower-case digits on the wire.
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

/// The direction of a transfer, as seen by the connecting side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TransferMethod {
    /// It downloads.
    Get,
    /// It uploads: the uploader is passive and connects to the downloader.
    Put,
}

/// Why a transfer failed, and so whose fault it is (SW-23). Our extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// No connection was established: the listener's fault.
    Connect,
    /// The bytes were not received: the uploader's fault.
    Data,
    /// The bytes have the wrong hash: the fault of the uploader, or of the host that
    /// sent the beginning.
    Hash,
}

/// A transfer between two clients, as both ends and the coordinator name it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TransferKey {
    /// The address of the other side.
    pub peer: IpAddr,
    /// The file.
    pub url: Text,
    /// The range.
    pub span: Span,
    /// The id of the other side; empty for the source.
    pub peer_id: Text,
}

/// `completed`: the report of one side on a transfer (SW-5).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Completed {
    /// The transfer.
    pub about: TransferKey,
    /// The receiver's digest of the whole piece; a receiver without it reports
    /// a failure.
    pub hash: Option<Hash>,
    /// Bytes of the piece that the receiver has in spite of the failure.
    /// Extension.
    pub offset: Option<u64>,
    /// Why it failed. Extension.
    pub reason: Option<Reason>,
    /// Microseconds from the first byte to the last. Extension.
    pub took: Option<u64>,
}

/// `transfer`: connect to a peer and transfer these bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TransferOrder {
    /// The transfer.
    pub about: TransferKey,
    /// The port on which the peer listens.
    pub port: u16,
    /// The direction.
    pub method: TransferMethod,
    /// The digest that the piece must have. Extension.
    pub hash: Option<Hash>,
}

/// Our extensions of the protocol, as far as they are agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct AgreedExtensions {
    /// `merge`: a frame may hold several messages.
    pub merge: bool,
    /// `early`: the listener is told which peer to admit before it connects,
    /// and `transfer` carries the hash.
    pub early: bool,
}

/// What a coordinator that is a member of a divided site tells of the others (ST-4).
/// Our extension.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SiteAnnouncement {
    /// The coordinator of the file, when it is another one: who is told that goes
    /// there.
    pub moved: Option<SocketAddr>,
    /// Where else the site answers, for when this member does not any more.
    pub others: Vec<SocketAddr>,
}

/// Where there is nothing, nothing is hashed: what was said before there were sites
/// has the digest it had.
impl core::hash::Hash for SiteAnnouncement {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        if *self != Self::default() {
            self.moved.hash(state);
            self.others.hash(state);
        }
    }
}

/// All messages between a client and the coordinator.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PdtpMessage {
    /// Client: introduces itself; must be the first message. Without a port the
    /// client is passive.
    Register {
        /// Unique among the clients of the coordinator.
        client_id: Text,
        /// The port on which it accepts peers.
        listen_port: Option<u16>,
        /// The extensions it supports.
        extensions: AgreedExtensions,
    },
    /// Coordinator: the extensions in use. Extension.
    Extensions(AgreedExtensions),
    /// Client: requests information about a file.
    AskInfo {
        /// The file.
        url: Text,
    },
    /// Coordinator: answers `AskInfo`; without a size there is no such file.
    TellInfo {
        /// The file.
        url: Text,
        /// Its size in bytes.
        size: Option<u64>,
        /// Size of every piece but the last.
        chunk_size: Option<u64>,
        /// The file still grows.
        streaming: bool,
        /// The SHA-256 of the whole file. Extension.
        sha256: Option<Hash>,
        /// Why the file is no longer available, a sentence for people. Sent
        /// unasked. Extension.
        gone: Option<String>,
        /// What a member of a divided site adds. Extension.
        site: SiteAnnouncement,
    },
    /// Client: wants these bytes too, in addition to earlier requests.
    Request {
        /// The file.
        url: Text,
        /// The range.
        span: Span,
    },
    /// Client: does not want these bytes any more.
    Unrequest {
        /// The file.
        url: Text,
        /// The range.
        span: Span,
    },
    /// Client: offers these bytes to others.
    Provide {
        /// The file.
        url: Text,
        /// The range.
        span: Span,
    },
    /// Client: does not offer these bytes any more.
    Unprovide {
        /// The file.
        url: Text,
        /// The range.
        span: Span,
    },
    /// Coordinator: orders a transfer, to the side that connects.
    Transfer(TransferOrder),
    /// Client: asks whether a connection to it is authorized.
    AskVerify(TransferKey),
    /// Coordinator: answers `AskVerify`, or with `early` before the question.
    TellVerify {
        /// The transfer in question.
        about: TransferKey,
        /// The connection is authorized.
        authorized: bool,
    },
    /// Client: reports the end of a transfer.
    Completed(Completed),
    /// Coordinator: says whether the receiver's digest is correct.
    HashVerify {
        /// The file.
        url: Text,
        /// The piece.
        span: Span,
        /// The digest is correct: the piece may be kept.
        hash_ok: bool,
    },
    /// Coordinator: reports a violation of the protocol.
    ProtocolError {
        /// A sentence for people.
        message: String,
    },
    /// Client: accepts peers on another port, or without a port not at all
    /// (SW-17). Extension.
    ChangePort {
        /// The new port.
        listen_port: Option<u16>,
    },
    /// Client: requests numbers of concurrent transfers (SW-12). Extension.
    SetConcurrency {
        /// Downloads, if to be changed.
        max_download: Option<u32>,
        /// Uploads, if to be changed.
        max_upload: Option<u32>,
    },
    /// Coordinator: a message was refused, and the connection continues.
    /// Extension.
    Error {
        /// One word for programs.
        reason: String,
        /// A sentence for people.
        message: String,
    },
}

impl PdtpMessage {
    /// The message about a file that no client can have here: why, if it was here, and
    /// where else it may be.
    pub(crate) const fn no_file(url: Text, gone: Option<String>, site: SiteAnnouncement) -> Self {
        let (size, chunk_size, sha256) = (None, None, None);
        Self::TellInfo { url, size, chunk_size, streaming: false, sha256, gone, site }
    }
}

/// Why a message cannot be parsed. Its text is sent to the other side.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The frame is not text.
    #[error("a frame that is not UTF-8")]
    NotText,
    /// The frame is not JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// The frame is JSON, but not a message.
    #[error("a frame must be a list of a type and its arguments")]
    NotAMessage,
    /// An unknown type.
    #[error("unknown message type `{0}`")]
    Unknown(String),
    /// A required argument is missing.
    #[error("`{0}` without `{1}`")]
    Missing(&'static str, &'static str),
    /// An argument has a wrong type or value.
    #[error("`{0}`: `{1}` is wrong")]
    Wrong(&'static str, &'static str),
    /// More messages than a frame may have.
    #[error("too many messages in a frame")]
    TooMany,
}

/// Parses the content of a frame: one message, or several in a row.
///
/// # Errors
/// When any of them cannot be parsed: a frame is accepted as a whole or not at
/// all.
pub fn parse(body: &[u8], limits: &PdtpLimits) -> Result<Vec<PdtpMessage>, MessageError> {
    parse::body(body, limits)
}
