//! WebSockets (RFC 6455): a page cannot open a plain connection, so a servent
//! answers an upgrade at `/servent`, and what travels inside binary
//! messages is the byte stream of an ordinary connection. The node is told of an
//! accepted connection and its bytes, and does not know.
//!
//! Framing, masks and the closing handshake are tungstenite's, which does no
//! input and output of its own and so fits between a socket and its reader as
//! TLS does.

//!
//! Pages cannot be connected to either: `relay` puts them through to each other.

mod handshake;
mod relay;
mod relaying;

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{Buf as _, Bytes};
use tokio::net::TcpStream;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{CloseFrame, Role, WebSocketConfig, WebSocketContext};
use tungstenite::{Error, Message};

use super::stream::Now;

pub use self::handshake::Origins;
pub(super) use self::handshake::{Entry, Said, Upgrade, put_out};
pub(super) use self::relay::Wish;
pub use self::relay::{RelayLimits, Relayed};
pub(super) use self::relaying::{Switchboard, run as put_through};

/// Bytes of a message of a peer. A larger one is refused when it is announced.
const MESSAGE: usize = 256 * 1024;
/// Bytes of a message of ours. A page is told of each message, so they should
/// not be small; none is sent before it is whole, so they should not be large.
const OURS: usize = 64 * 1024;
/// Bytes read from the socket at a time.
const READ: usize = 16 * 1024;
/// Messages without bytes for us (pings, empty ones) that are read before other
/// connections get their turn.
const EMPTY: usize = 64;

/// The frames of one connection.
pub(super) struct WebSocket(Mutex<Frames>);

struct Frames {
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

impl WebSocket {
    /// After the handshake. `early` was received behind its head.
    fn new(early: Vec<u8>) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ)
            .max_message_size(Some(MESSAGE))
            .max_frame_size(Some(MESSAGE));
        let context = WebSocketContext::from_partially_read(early, Role::Server, Some(config));
        let unread = Bytes::new();
        Self(Mutex::new(Frames { context, unread, behind: false, ended: false, refused: false }))
    }

    fn frames(&self) -> MutexGuard<'_, Frames> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is something to read. What is still unsent is sent
    /// meanwhile.
    pub(super) async fn readable(&self, tcp: &TcpStream) -> io::Result<()> {
        loop {
            let filled = self.frames().fill(tcp)?;
            if filled && !self.is_refused() {
                return Ok(());
            }
            if self.frames().behind {
                tokio::select! {
                    ready = tcp.writable() => {
                        ready?;
                        self.frames().flush(tcp)?;
                    }
                    ready = tcp.readable() => ready?,
                }
            } else {
                tcp.readable().await?;
            }
            if self.is_refused() {
                return Ok(());
            }
        }
    }

    /// Reads what is there; 0 at the peer's end.
    pub(super) fn try_read(&self, tcp: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
        let mut frames = self.frames();
        if frames.refused {
            return tcp.try_read(buffer); // To be discarded, until the peer closes too.
        }
        if !frames.fill(tcp)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let n = frames.unread.len().min(buffer.len());
        frames.unread.copy_to_slice(&mut buffer[..n]);
        Ok(n)
    }

    /// Puts as much as fits into one message and sends it as far as the socket
    /// accepts it; nothing while an earlier one is unsent.
    pub(super) fn try_write(&self, tcp: &TcpStream, data: &[u8]) -> io::Result<usize> {
        let mut frames = self.frames();
        if !frames.flush(tcp)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let data = &data[..data.len().min(OURS)];
        let message = Message::binary(Bytes::copy_from_slice(data));
        sent(frames.context.write(&mut Now(tcp), message))?;
        frames.flush(tcp)?;
        Ok(data.len())
    }

    /// Sends what is unsent; true when all of it was.
    pub(super) fn flush(&self, tcp: &TcpStream) -> io::Result<bool> {
        self.frames().flush(tcp)
    }

    /// Says goodbye: nothing else follows.
    pub(super) fn farewell(&self, tcp: &TcpStream) {
        let mut frames = self.frames();
        if !frames.ended {
            frames.close(tcp, CloseCode::Normal);
        }
    }

    /// True when a mistake of the peer has ended the connection, and it should
    /// learn which one.
    pub(super) fn is_refused(&self) -> bool {
        self.frames().refused
    }
}

impl Frames {
    /// Receives until there are bytes to deliver, or the end; false when the
    /// socket has no more.
    fn fill(&mut self, tcp: &TcpStream) -> io::Result<bool> {
        for _ in 0..EMPTY {
            if self.refused || self.ended || self.unread.has_remaining() {
                return Ok(true);
            }
            match self.context.read(&mut Now(tcp)) {
                Ok(Message::Binary(data)) => self.unread = data,
                Ok(Message::Text(_)) => self.refuse(tcp, CloseCode::Unsupported),
                Ok(_) => self.behind = true, // Its answer, if it has one.
                Err(Error::Io(why)) if why.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(Error::Io(why)) => return Err(why),
                Err(Error::Capacity(_)) => self.refuse(tcp, CloseCode::Size),
                Err(Error::Utf8(_)) => self.refuse(tcp, CloseCode::Unsupported),
                Err(Error::ConnectionClosed | Error::AlreadyClosed) => self.ended = true,
                Err(Error::Protocol(
                    tungstenite::error::ProtocolError::ResetWithoutClosingHandshake,
                )) => self.ended = true,
                Err(_) => self.refuse(tcp, CloseCode::Protocol),
            }
        }
        Ok(false)
    }

    fn flush(&mut self, tcp: &TcpStream) -> io::Result<bool> {
        let flushed = sent(self.context.flush(&mut Now(tcp)))?;
        self.behind = !flushed;
        Ok(flushed)
    }

    fn refuse(&mut self, tcp: &TcpStream, code: CloseCode) {
        self.close(tcp, code);
        self.refused = true;
    }

    fn close(&mut self, tcp: &TcpStream, code: CloseCode) {
        let why = CloseFrame { code, reason: "".into() };
        // One that cannot be sent at once is sent by the next flush.
        self.behind = !sent(self.context.close(&mut Now(tcp), Some(why))).unwrap_or(true);
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
