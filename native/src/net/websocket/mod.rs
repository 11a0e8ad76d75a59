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

mod door;
mod relaying;

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::net::TcpStream;

use super::stream::Now;

pub(super) use self::door::frames::{Frames, OURS};
pub use self::door::handshake::Origins;
pub(super) use self::door::handshake::{FirstBytes, OpeningBytes, Upgrade, put_out, uninvited};
pub(super) use self::door::relay::Wish;
pub use self::door::relay::{RelayLimits, Relayed};
pub(super) use self::relaying::{Switchboard, run as put_through};

/// The frames of one connection, and their socket.
pub(super) struct WebSocket(Mutex<Box<Frames>>);

impl WebSocket {
    /// After the handshake.
    pub(super) const fn new(frames: Box<Frames>) -> Self {
        Self(Mutex::new(frames))
    }

    fn frames(&self) -> MutexGuard<'_, Box<Frames>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is something to read, or until the peer has broken a
    /// rule. What is still unsent is sent meanwhile.
    pub(super) async fn readable(&self, tcp: &TcpStream) -> io::Result<()> {
        loop {
            let known = self.is_refused();
            let filled = self.frames().fill(&mut Now(tcp))?;
            if filled && !known {
                return Ok(());
            }
            if self.frames().is_behind() {
                tokio::select! {
                    ready = tcp.writable() => {
                        ready?;
                        self.flush(tcp)?;
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
        self.frames().read(&mut Now(tcp), buffer)
    }

    /// Puts as much as fits into one message and sends it as far as the socket
    /// accepts it; nothing while an earlier one is unsent.
    pub(super) fn try_write(&self, tcp: &TcpStream, data: &[u8]) -> io::Result<usize> {
        self.frames().write(&mut Now(tcp), data)
    }

    /// Sends what is unsent; true when all of it was.
    pub(super) fn flush(&self, tcp: &TcpStream) -> io::Result<bool> {
        self.frames().flush(&mut Now(tcp))
    }

    /// Says goodbye, with a code: nothing else follows.
    pub(super) fn farewell(&self, tcp: &TcpStream, code: u16) {
        self.frames().farewell(&mut Now(tcp), code);
    }

    /// True when a mistake of the peer has ended the connection, and it should
    /// learn which one.
    pub(super) fn is_refused(&self) -> bool {
        self.frames().is_refused()
    }
}
