//! The messages over one connection, plain or encrypted.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use servent_core::unicast::UnicastPayload;

use super::message::{TransferMessage, number};
use super::offer::OfferEntry;
use super::secret::Half;
use crate::unicast::{Connection, Lost, SendError};

/// How often each side sends a keep-alive, whatever else it sends.
const ALIVE_EVERY: Duration = Duration::from_secs(5);
/// When nothing came for so long, the other side, or the path, is not there: each side says
/// more often than that that it is.
pub const SILENT: Duration = Duration::from_secs(7);
/// How often it is told how much has arrived, while no more is sent, or comes.
pub(super) const TELL_EVERY: Duration = Duration::from_millis(500);
/// How long to wait for the other end's close.
pub(super) const GOODBYE_WAIT: Duration = Duration::from_secs(2);
/// How long a user who stops it waits until the other side has heard why.
const STOP_WAIT: Duration = Duration::from_millis(300);
/// Bytes of a knock.
const KNOCK: usize = 128;
/// How often a knock looks for its answer.
const KNOCK_EVERY: Duration = Duration::from_millis(5);
/// Approximate size in bytes of one message of an offer.
const OFFER: usize = 32_000;

/// Waits until the peer of a new connection shows that it is there; what is sent for
/// that begins nothing. Nothing else may have been sent or received.
///
/// # Errors
/// It does not answer.
pub async fn knock(connection: &Connection) -> Result<(), Lost> {
    let mut alive = TransferMessage::Alive.encode();
    // A peer answers a stranger with no more than it was sent.
    alive.resize(KNOCK, 0);
    let sent = connection.send(alive).await;
    sent.map_err(|why| if let SendError::Lost(why) = why { why } else { Lost::Closed })?;
    let answered = async {
        while connection.progress().acknowledged == 0 {
            tokio::time::sleep(KNOCK_EVERY).await;
        }
    };
    tokio::select! {
        () = answered => Ok(()),
        said = connection.recv() => said.map(|_| ()),
    }
}

/// Waits for something, and says now and then how much is here: no more comes meanwhile.
pub(super) async fn telling<T>(
    mut work: Pin<&mut impl Future<Output = T>>,
    mut tell: impl FnMut(),
) -> T {
    loop {
        if let Ok(done) = tokio::time::timeout(TELL_EVERY, work.as_mut()).await {
            return done;
        }
        tell();
    }
}

/// One side of a transfer.
pub(super) struct Talk {
    pub(super) connection: Connection,
    said: tokio::sync::Mutex<SendingHalf>,
    heard: Mutex<Heard>,
}

/// The sending direction.
#[derive(Default)]
struct SendingHalf {
    seal: Option<Half>,
    /// Encrypted, but not yet passed to the connection, because the future was
    /// dropped. It goes before the next message: the receiver counts.
    unsent: Option<UnicastPayload>,
}

/// The receiving direction.
#[derive(Default)]
struct Heard {
    seal: Option<Half>,
    /// A message was decrypted: the other side knows the code.
    known: bool,
}

/// Why there is no next message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// The connection was lost.
    Gone(Lost),
    /// The message is unknown in this version, or was changed on the way.
    Foreign,
    /// The other side does not know the code.
    WrongCode,
}

impl Talk {
    pub(super) fn over(connection: Connection) -> Self {
        Self { connection, said: Default::default(), heard: Mutex::default() }
    }

    /// From now on all messages are encrypted, both ways.
    pub(super) async fn seal(&self, (said, heard): (Half, Half)) {
        self.said.lock().await.seal = Some(said);
        let mut into = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        *into = Heard { seal: Some(heard), known: false };
    }

    /// Sends a message.
    pub(super) async fn put(&self, message: &TransferMessage) -> Result<(), Silence> {
        self.put_bytes(message.encode().into()).await
    }

    /// Offers these entries.
    pub(super) async fn offer(&self, entries: &[OfferEntry]) -> Result<(), Silence> {
        let (mut part, mut bytes) = (Vec::new(), 0);
        for entry in entries {
            bytes += entry.name.len();
            part.push(OfferEntry::clone(entry));
            if bytes > OFFER || part.len() * 24 > OFFER {
                bytes = 0;
                self.put(&TransferMessage::Offer(std::mem::take(&mut part))).await?;
            }
        }
        self.put(&TransferMessage::Offer(part)).await?;
        self.put(&TransferMessage::Offered { entries: number(entries.len()) }).await
    }

    /// Says why it ends here, and ends it. What was said before goes first; where that takes
    /// longer, as on a slow line, the other side hears at once that the rest does not come.
    pub(super) async fn stop(&self, why: String) {
        let said = async {
            if self.put(&TransferMessage::Stopped { why }).await.is_ok() {
                let _ = self.connection.close().await; // It is over either way.
            }
        };
        if tokio::time::timeout(STOP_WAIT, said).await.is_err() {
            self.connection.abandon();
        }
    }

    /// Ends the talk when all is said: closes our half and waits for the other.
    pub(super) async fn end(&self) {
        // The result is known to both: a failing close changes nothing.
        let _ = self.connection.close().await;
        self.closed().await;
    }

    /// Stays until the other end has closed its half, so that what it is still
    /// unsure of gets acknowledged. Waits for that at most [`GOODBYE_WAIT`].
    pub(super) async fn closed(&self) {
        let closed = async { while let Ok(Some(_)) = self.connection.recv().await {} };
        let _ = tokio::time::timeout(GOODBYE_WAIT, closed).await;
    }

    /// Sends a message that is already encoded.
    pub(super) async fn put_bytes(&self, bytes: UnicastPayload) -> Result<(), Silence> {
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

    async fn hand_over(&self, bytes: UnicastPayload) -> Result<(), Silence> {
        self.connection.send(bytes).await.map_err(|error| match error {
            SendError::Lost(why) => Silence::Gone(why),
            SendError::TooLong { .. } => Silence::Foreign,
        })
    }

    /// Sends keep-alives, so that neither a slow disk nor a slow answer looks
    /// like a lost connection. Returns when the connection is lost.
    pub(super) async fn stay(&self) -> Silence {
        loop {
            tokio::time::sleep(ALIVE_EVERY).await;
            if let Err(silence) = self.put(&TransferMessage::Alive).await {
                return silence;
            }
        }
    }

    /// The next message from the other side. Dropping the future loses nothing.
    pub(super) async fn next(&self) -> Result<TransferMessage, Silence> {
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
        TransferMessage::parse(&payload).ok_or(Silence::Foreign)
    }
}
