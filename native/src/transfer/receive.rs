//! The receiving side of a transfer.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::message::Message;
use super::target::Target;
use crate::unicast::{Connection, Lost};

/// A sender that says nothing for so long is gone.
const SILENCE: Duration = Duration::from_secs(30);

/// A transfer that has arrived whole and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    /// Bytes.
    pub length: u64,
    /// Their SHA-256.
    pub sum: [u8; 32],
    /// The file it is in now; `None` for standard output.
    pub file: Option<std::path::PathBuf>,
}

/// Why a transfer did not arrive whole.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The sender stopped, or is not heard any more.
    #[error("the sender is gone: {0}")]
    Gone(Lost),
    /// The sender says why it stopped.
    #[error("the sender stopped: {0}")]
    Stopped(String),
    /// What was sent and what arrived differ.
    #[error("the bytes that arrived are not those that were sent")]
    Different,
    /// It cannot be written.
    #[error("cannot write: {0}")]
    Write(io::Error),
    /// It is no transfer of this version.
    #[error("it sends something that is no transfer of this version")]
    Foreign,
}

/// A transfer that has said hello.
pub struct Transfer {
    connection: Connection,
    /// How long it will be, if the sender knows.
    pub length: Option<u64>,
    /// What the sender calls it; may be empty.
    pub name: String,
    received: u64,
}

/// Tells a sender that it is not wanted now.
pub async fn refuse(connection: Connection, why: &str) {
    let failed = Message::Failed { length: 0, why: why.to_owned() };
    if connection.send(failed.encode()).await.is_ok() {
        let _ = connection.close().await; // It may be gone already.
    }
}

impl Transfer {
    /// Waits for the first message of a connection.
    ///
    /// # Errors
    /// It is no hello.
    pub async fn hello(connection: Connection) -> Result<Self, ReceiveError> {
        match next(&connection).await {
            Ok(Message::Hello { length, name }) => {
                Ok(Self { connection, length, name, received: 0 })
            }
            Ok(_) => {
                refuse(connection, "that is no transfer").await;
                Err(ReceiveError::Foreign)
            }
            Err(why) => Err(why),
        }
    }

    /// Where it comes from.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.connection.peer()
    }

    /// Bytes that have been written.
    #[must_use]
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// Tells the sender that it is not wanted.
    pub async fn refuse(self, why: &str) {
        refuse(self.connection, why).await;
    }

    /// Takes all of it. `told` is called with the bytes that arrived so far.
    ///
    /// # Errors
    /// Why not all of it arrived; [`Transfer::received`] says how much did.
    pub async fn receive(
        &mut self,
        target: &mut Target,
        mut told: impl FnMut(u64),
    ) -> Result<Arrived, ReceiveError> {
        let mut hash = Sha256::new();
        let how = loop {
            match next(&self.connection).await {
                Ok(Message::Data(bytes)) => {
                    hash.update(&bytes);
                    if let Err(why) = target.write(&bytes).await {
                        break Err(ReceiveError::Write(why));
                    }
                    self.received += bytes.len() as u64;
                    told(self.received);
                }
                Ok(Message::Alive) => {}
                Ok(Message::End { length, sum }) => {
                    let whole = length == self.received && sum == *hash.finalize();
                    break self.keep(target, whole, length, sum).await;
                }
                Ok(Message::Stopped { why }) => break Err(ReceiveError::Stopped(why)),
                Ok(_) => break Err(ReceiveError::Foreign),
                Err(why) => break Err(why),
            }
        };
        let answer = match &how {
            Ok(arrived) => Message::Whole { length: arrived.length },
            Err(why) => Message::Failed { length: self.received, why: why.to_string() },
        };
        if self.connection.send(answer.encode()).await.is_ok() {
            // What matters is decided; a sender that does not hear it asks.
            let _ = self.connection.close().await;
        }
        how
    }

    async fn keep(
        &self,
        target: &mut Target,
        whole: bool,
        length: u64,
        sum: [u8; 32],
    ) -> Result<Arrived, ReceiveError> {
        if !whole {
            return Err(ReceiveError::Different);
        }
        let file = target.finish().await.map_err(ReceiveError::Write)?;
        Ok(Arrived { length, sum, file })
    }
}

/// The next message, or why there will be none.
async fn next(connection: &Connection) -> Result<Message, ReceiveError> {
    match tokio::time::timeout(SILENCE, connection.recv()).await {
        Err(_) => Err(ReceiveError::Gone(Lost::Unreachable)),
        Ok(Err(why)) => Err(ReceiveError::Gone(why)),
        Ok(Ok(None)) => Err(ReceiveError::Gone(Lost::Abandoned)),
        Ok(Ok(Some(payload))) => Message::parse(&payload).ok_or(ReceiveError::Foreign),
    }
}
