//! Tunnels through a proxy (RFC 9110 §9.3.6): before TLS begins, the proxy connects
//! us to the host. What it answers when it does not is passed to the node as the
//! reply of the source, reduced to its status: nothing else that a proxy says is
//! from the host we asked.

use std::io;
use std::time::Duration;

use servent_core::wire::http::{HeadLimits, ResponseHead};

use crate::net::conn::{Conn, ConnectionOver};

/// The longest head of a proxy's reply.
const LIMITS: HeadLimits = HeadLimits { bytes: 16 * 1024, lines: 64 };
/// How long a proxy may take to connect.
const DEADLINE: Duration = Duration::from_secs(30);

impl Conn {
    /// Has the proxy connect us. False when it refuses, and the node was told.
    pub(crate) async fn open_tunnel(&mut self, request: Vec<u8>) -> Result<bool, ConnectionOver> {
        self.write_plain(&request).await?;
        let head = tokio::select! {
            head = tokio::time::timeout(DEADLINE, self.read_head()) => {
                head.map_err(|_| ConnectionOver)??
            }
            () = self.given_up() => return Err(ConnectionOver),
        };
        match head.status {
            200..=299 => Ok(true),
            status @ 400..=599 => {
                let end = "Content-Length: 0\r\nConnection: close\r\n\r\n";
                self.deliver(format!("HTTP/1.1 {status} Proxy\r\n{end}").into_bytes()).await?;
                Ok(false)
            }
            _ => Err(ConnectionOver),
        }
    }

    async fn write_plain(&self, mut rest: &[u8]) -> Result<(), ConnectionOver> {
        while !rest.is_empty() {
            self.writable().await?;
            match self.stream.tcp().try_write(rest) {
                Ok(n) => rest = &rest[n..],
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Err(ConnectionOver),
            }
        }
        Ok(())
    }

    /// Reads a head and no byte behind it: what follows belongs to TLS, in which the
    /// server does not speak first.
    async fn read_head(&self) -> Result<ResponseHead, ConnectionOver> {
        let mut bytes = Vec::new();
        let mut buffer = [0; 2048];
        loop {
            let tcp = self.stream.tcp();
            tcp.readable().await.map_err(|_| ConnectionOver)?;
            match tcp.try_read(&mut buffer) {
                Ok(0) => return Err(ConnectionOver),
                Ok(n) => bytes.extend_from_slice(&buffer[..n]),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => continue,
                Err(_) => return Err(ConnectionOver),
            }
            match ResponseHead::parse(&bytes, &LIMITS) {
                Ok(None) => {}
                Ok(Some((head, used))) if used == bytes.len() || head.status >= 300 => {
                    return Ok(head);
                }
                _ => return Err(ConnectionOver),
            }
        }
    }

    /// Returns when the node gives up this connection.
    async fn given_up(&self) {
        while !self.outbox.is_cut() {
            self.outbox.changed().await;
        }
    }
}
