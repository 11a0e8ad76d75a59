//! The frames of a connection after the handshake, without its socket: whatever
//! is read and written goes through what the caller passes in.

use std::io::{self, Read, Write};

use bytes::{Buf as _, Bytes};
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{CloseFrame, Role, WebSocketConfig, WebSocketContext};
use tungstenite::{Error, Message};

/// Bytes of a message of a peer. A larger one is refused when it is announced.
pub(crate) const MESSAGE: usize = 256 * 1024;
/// Bytes of a message of ours. A page is told of each message, which costs its
/// browser a tenth of a millisecond, so they should not be small; none is sent
/// before it is whole, so they should not be large.
pub(crate) const OURS: usize = 128 * 1024;
/// Bytes read from the socket at a time.
const READ: usize = 16 * 1024;
/// Messages without bytes for us (pings, empty ones) that are read before other
/// connections get their turn.
const EMPTY: usize = 64;

/// The frames of one connection.
pub(crate) struct Frames {
    context: WebSocketContext,
    /// What was received of a message and not read yet.
    unread: Bytes,
    /// Something is still to be sent.
    behind: bool,
    /// The peer has said goodbye, or its connection has ended.
    ended: bool,
    /// We have said why we close; what still arrives is not read as frames.
    refused: bool,
}

impl Frames {
    /// After the handshake. `early` was received behind its head.
    pub(crate) fn new(early: Vec<u8>) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ)
            .max_message_size(Some(MESSAGE))
            .max_frame_size(Some(MESSAGE));
        let context = WebSocketContext::from_partially_read(early, Role::Server, Some(config));
        Self { context, unread: Bytes::new(), behind: false, ended: false, refused: false }
    }

    /// Reads what is there; 0 at the peer's end.
    ///
    /// # Errors
    /// Those of the socket; `WouldBlock` when there is nothing yet.
    pub(crate) fn read(
        &mut self,
        socket: &mut (impl Read + Write),
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        if self.refused {
            return socket.read(buffer); // To be discarded, until the peer closes too.
        }
        if !self.fill(socket)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let n = self.unread.len().min(buffer.len());
        self.unread.copy_to_slice(&mut buffer[..n]);
        Ok(n)
    }

    /// Puts as much as fits into one message and sends it as far as the socket
    /// accepts it; nothing while an earlier one is unsent.
    ///
    /// # Errors
    /// Those of the socket; `WouldBlock` when nothing was taken.
    pub(crate) fn write(
        &mut self,
        socket: &mut (impl Read + Write),
        data: &[u8],
    ) -> io::Result<usize> {
        if !self.flush(socket)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let data = &data[..data.len().min(OURS)];
        sent(self.context.write(socket, Message::binary(Bytes::copy_from_slice(data))))?;
        self.flush(socket)?;
        Ok(data.len())
    }

    /// Receives until there are bytes to deliver, or the end; false when the
    /// socket has no more.
    ///
    /// # Errors
    /// Those of the socket.
    pub(crate) fn fill(&mut self, socket: &mut (impl Read + Write)) -> io::Result<bool> {
        for _ in 0..EMPTY {
            if self.refused || self.ended || self.unread.has_remaining() {
                return Ok(true);
            }
            match self.context.read(socket) {
                Ok(Message::Binary(data)) => self.unread = data,
                Ok(Message::Text(_)) => self.refuse(socket, CloseCode::Unsupported),
                Ok(_) => self.behind = true, // Its answer, if it has one.
                Err(Error::Io(why)) if why.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(Error::Io(why)) => return Err(why),
                Err(Error::Capacity(_)) => self.refuse(socket, CloseCode::Size),
                Err(Error::Utf8(_)) => self.refuse(socket, CloseCode::Unsupported),
                Err(Error::ConnectionClosed | Error::AlreadyClosed) => self.ended = true,
                Err(Error::Protocol(
                    tungstenite::error::ProtocolError::ResetWithoutClosingHandshake,
                )) => self.ended = true,
                Err(_) => self.refuse(socket, CloseCode::Protocol),
            }
        }
        Ok(false)
    }

    /// Sends what is unsent; true when all of it was.
    ///
    /// # Errors
    /// Those of the socket.
    pub(crate) fn flush(&mut self, socket: &mut (impl Read + Write)) -> io::Result<bool> {
        let flushed = sent(self.context.flush(socket))?;
        self.behind = !flushed;
        Ok(flushed)
    }

    /// Says goodbye, with a code of RFC 6455 §7.4: nothing else follows.
    pub(crate) fn farewell(&mut self, socket: &mut (impl Read + Write), code: u16) {
        if !self.ended {
            self.close(socket, code.into());
        }
    }

    /// True while something is still to be sent.
    pub(crate) const fn is_behind(&self) -> bool {
        self.behind
    }

    /// True when a mistake of the peer has ended the connection, and it should
    /// learn which one.
    pub(crate) const fn is_refused(&self) -> bool {
        self.refused
    }

    fn refuse(&mut self, socket: &mut (impl Read + Write), code: CloseCode) {
        self.close(socket, code);
        self.refused = true;
    }

    fn close(&mut self, socket: &mut (impl Read + Write), code: CloseCode) {
        let why = CloseFrame { code, reason: "".into() };
        // One that cannot be sent at once is sent by the next flush.
        self.behind = !sent(self.context.close(socket, Some(why))).unwrap_or(true);
    }
}

/// What a write or flush says: whether all of it was sent.
fn sent(result: tungstenite::Result<()>) -> io::Result<bool> {
    match result {
        Ok(()) | Err(Error::ConnectionClosed | Error::AlreadyClosed) => Ok(true),
        Err(Error::Io(why)) if why.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(Error::Io(why)) => Err(why),
        Err(why) => Err(io::Error::new(io::ErrorKind::InvalidData, why)),
    }
}
