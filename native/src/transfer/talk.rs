//! What is said over one connection, message by message, in the open or
//! sealed.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use servent_core::unicast::Payload;

use super::message::Message;
use super::secret::Half;
use crate::unicast::{Connection, Lost, SendError};

/// How often each side says that it is there, whatever else it does.
const ALIVE_EVERY: Duration = Duration::from_secs(5);

/// One side of a transfer.
pub(super) struct Talk {
    pub(super) connection: Connection,
    said: tokio::sync::Mutex<Said>,
    heard: Mutex<Heard>,
}

/// What is said.
#[derive(Default)]
struct Said {
    seal: Option<Half>,
    /// Sealed, and not yet handed to the connection, because whoever said it
    /// did not wait. It goes before what is said next: the other side counts.
    unsent: Option<Payload>,
}

/// What is heard.
#[derive(Default)]
struct Heard {
    seal: Option<Half>,
    /// Something sealed was opened: the other side knows the code.
    known: bool,
}

/// What came instead of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// The other side is gone.
    Gone(Lost),
    /// It says what this version does not know, or what somebody changed.
    Foreign,
    /// It does not know the code.
    WrongCode,
}

impl Talk {
    pub(super) fn over(connection: Connection) -> Self {
        Self { connection, said: Default::default(), heard: Mutex::default() }
    }

    /// From now on everything is sealed, both ways.
    pub(super) async fn seal(&self, (said, heard): (Half, Half)) {
        self.said.lock().await.seal = Some(said);
        let mut into = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        *into = Heard { seal: Some(heard), known: false };
    }

    /// Says something.
    pub(super) async fn put(&self, message: &Message) -> Result<(), Silence> {
        self.put_bytes(message.encode().into()).await
    }

    /// Says what is encoded already.
    pub(super) async fn put_bytes(&self, bytes: Payload) -> Result<(), Silence> {
        let mut said = self.said.lock().await;
        if let Some(unsent) = said.unsent.clone() {
            self.hand_over(unsent).await?;
            said.unsent = None;
        }
        let Some(seal) = &mut said.seal else { return self.hand_over(bytes).await };
        let sealed = seal.seal(bytes).ok_or(Silence::Foreign)?;
        said.unsent = Some(sealed.clone());
        self.hand_over(sealed).await?;
        said.unsent = None;
        Ok(())
    }

    async fn hand_over(&self, bytes: Payload) -> Result<(), Silence> {
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
        let payload = match self.connection.recv().await {
            Err(why) => return Err(Silence::Gone(why)),
            Ok(None) => return Err(Silence::Gone(Lost::Abandoned)),
            Ok(Some(payload)) => payload,
        };
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let payload = match &mut heard.seal {
            None => payload,
            Some(seal) => match seal.open(payload) {
                Some(opened) => opened,
                None if heard.known => return Err(Silence::Foreign),
                None => return Err(Silence::WrongCode),
            },
        };
        heard.known = true;
        drop(heard);
        Message::parse(&payload).ok_or(Silence::Foreign)
    }
}
