//! What is said over one connection, message by message.

use std::time::Duration;

use servent_core::unicast::Payload;

use super::message::Message;
use crate::unicast::{Connection, Lost, SendError};

/// How often each side says that it is there, whatever else it does.
const ALIVE_EVERY: Duration = Duration::from_secs(5);

/// One side of a transfer.
pub(super) struct Talk {
    pub(super) connection: Connection,
}

/// What came instead of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// The other side is gone.
    Gone(Lost),
    /// It says what this version does not know.
    Foreign,
}

impl Talk {
    pub(super) const fn over(connection: Connection) -> Self {
        Self { connection }
    }

    /// Says something.
    pub(super) async fn put(&self, message: &Message) -> Result<(), Silence> {
        self.put_bytes(message.encode().into()).await
    }

    /// Says what is encoded already.
    pub(super) async fn put_bytes(&self, bytes: Payload) -> Result<(), Silence> {
        self.connection.send(bytes).await.map_err(|error| match error {
            SendError::Lost(why) => Silence::Gone(why),
            SendError::TooLong { .. } => Silence::Foreign,
        })
    }

    /// Says again and again that we are there, so that neither a slow disk nor
    /// a slow answer is taken for our end. Comes back when nobody listens.
    pub(super) async fn stay(&self) -> Silence {
        loop {
            tokio::time::sleep(ALIVE_EVERY).await;
            if let Err(silence) = self.put(&Message::Alive).await {
                return silence;
            }
        }
    }

    /// The next thing the other side says. Dropped while it waits, nothing is
    /// lost.
    pub(super) async fn next(&self) -> Result<Message, Silence> {
        match self.connection.recv().await {
            Err(why) => Err(Silence::Gone(why)),
            Ok(None) => Err(Silence::Gone(Lost::Abandoned)),
            Ok(Some(payload)) => Message::parse(&payload).ok_or(Silence::Foreign),
        }
    }
}
