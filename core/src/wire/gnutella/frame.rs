//! Frames of messages, from a stream that may be split anywhere.

use alloc::vec::Vec;

use bytes::Buf as _;
use thiserror::Error;

use super::{HEADER, MessageHeader, MessageKind, OverlayPayload};

/// The maximum size of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FrameLimits {
    /// Bytes of payload.
    pub payload: u32,
}

/// Why a stream cannot be parsed any further. It is the peer's fault, and
/// nothing that follows can be trusted to be the beginning of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum MessageFrameError {
    /// A payload longer than [`FrameLimits::payload`].
    #[error("a payload of {0} bytes")]
    TooLong(u32),
    /// An unknown kind of message.
    #[error("a message of the unknown kind {0:#04x}")]
    Kind(u8),
}

/// A message whose payload is not parsed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageFrame {
    /// Its header.
    pub header: MessageHeader,
    /// Its kind.
    pub kind: MessageKind,
    /// Its payload; shares memory with the received bytes if they contained all
    /// of it.
    pub payload: OverlayPayload,
}

/// Splits a stream into messages. Keeps at most one incomplete message, and the
/// bytes pushed last.
///
/// ```
/// use servent_core::id::Guid;
/// use servent_core::wire::gnutella::{
///     MessageBody, FrameLimits, Framer, OverlayMessage, OverlayPayload, Query, Wishes,
/// };
///
/// let body = MessageBody::Query(Query::new(Wishes::default(), "blue moon", &[]));
/// let message = OverlayMessage { guid: Guid([7; 16]), ttl: 4, hops: 0, body };
/// let bytes = message.to_bytes();
///
/// // A stream brings it in two parts.
/// let mut framer = Framer::new(FrameLimits { payload: 65_536 });
/// framer.push(OverlayPayload::copy_from_slice(&bytes[..10]));
/// assert_eq!(framer.next_frame(), Ok(None));
/// framer.push(OverlayPayload::copy_from_slice(&bytes[10..]));
/// let frame = framer.next_frame().unwrap().unwrap();
/// assert_eq!(OverlayMessage::parse(frame), Ok(message));
/// ```
#[derive(Debug, Clone)]
pub struct Framer {
    limits: FrameLimits,
    chunk: OverlayPayload,
    part: Vec<u8>,
    /// Why the stream cannot be parsed any further.
    stuck: Option<MessageFrameError>,
}

impl Framer {
    /// A reader for a new stream.
    #[must_use]
    pub const fn new(limits: FrameLimits) -> Self {
        Self { limits, chunk: OverlayPayload::new(), part: Vec::new(), stuck: None }
    }

    /// Adds received bytes. Call `next_frame` until it returns `None` before
    /// the next call.
    pub fn push(&mut self, bytes: OverlayPayload) {
        if !self.chunk.is_empty() {
            self.part.extend_from_slice(&self.chunk);
        }
        self.chunk = bytes;
    }

    /// The next message; `None` when more bytes are needed.
    ///
    /// # Errors
    /// When the stream cannot be parsed any further; all later calls fail too.
    pub fn next_frame(&mut self) -> Result<Option<MessageFrame>, MessageFrameError> {
        if let Some(error) = self.stuck {
            return Err(error);
        }
        let next = if self.part.is_empty() { self.whole() } else { self.joined() };
        if let Err(error) = next {
            self.stuck = Some(error);
            (self.part, self.chunk) = (Vec::new(), OverlayPayload::new());
        }
        next
    }

    /// Bytes of the incomplete message.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.part.len() + self.chunk.len()
    }

    /// The next message, if it is completely in the bytes pushed last.
    fn whole(&mut self) -> Result<Option<MessageFrame>, MessageFrameError> {
        if let Some(bytes) = self.chunk.first_chunk() {
            let (header, kind) = header(bytes, self.limits)?;
            let end = HEADER + header.length as usize;
            if self.chunk.len() >= end {
                let payload = self.chunk.slice(HEADER..end);
                self.chunk.advance(end);
                return Ok(Some(MessageFrame { header, kind, payload }));
            }
        }
        self.part = self.chunk.to_vec();
        self.chunk = OverlayPayload::new();
        Ok(None)
    }

    /// The next message, if it began in earlier bytes.
    fn joined(&mut self) -> Result<Option<MessageFrame>, MessageFrameError> {
        self.fill(HEADER);
        let Some(bytes) = self.part.first_chunk() else { return Ok(None) };
        let (header, kind) = header(bytes, self.limits)?;
        let end = HEADER + header.length as usize;
        self.fill(end);
        if self.part.len() < end {
            return Ok(None);
        }
        let rest = self.part.split_off(end);
        let part = OverlayPayload::from(core::mem::replace(&mut self.part, rest));
        Ok(Some(MessageFrame { header, kind, payload: part.slice(HEADER..) }))
    }

    /// Extends the incomplete message to so many bytes, as far as available.
    fn fill(&mut self, wanted: usize) {
        let more = wanted.saturating_sub(self.part.len()).min(self.chunk.len());
        self.part.extend_from_slice(&self.chunk[..more]);
        self.chunk.advance(more);
    }
}

fn header(
    bytes: &[u8; HEADER],
    limits: FrameLimits,
) -> Result<(MessageHeader, MessageKind), MessageFrameError> {
    let header = MessageHeader::parse(bytes);
    let kind = header.kind.ok_or(MessageFrameError::Kind(header.code))?;
    if header.length > limits.payload {
        return Err(MessageFrameError::TooLong(header.length));
    }
    Ok((header, kind))
}
