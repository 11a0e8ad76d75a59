//! The sender's side: admits receivers, tells them of the parcel, and waits
//! until all of them have it.

use std::collections::BTreeMap;
use std::mem::replace;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use servent_core::id::Guid;
use servent_core::swarm;
use servent_core::wire::pdtp::Hash;
use tokio::sync::watch;

use super::super::greet::{admit, next};
use super::super::message::{Label, TransferMessage};
use super::super::refusal::fail;
use super::super::secret::SecretDoor;
use super::super::talk::Talk;
use super::{ManyError, Parcel};
use crate::store::Durability;
use crate::swarm::{CHUNK, CoordinatorServer, ServeOptions, SwarmError, serve};
use crate::unicast::Connection;

/// Pieces of a parcel that the swarm is asked for at most; larger parcels have
/// larger pieces.
const PIECES: u64 = 8_192;

/// How a parcel is given.
#[derive(Debug, Clone)]
pub struct GiveOptions {
    /// The number of receivers that are to have it.
    pub receivers: u32,
    /// Where the swarm listens, over TCP.
    pub listen: SocketAddr,
    /// Bytes per second that are sent from here; `None`: no limit.
    pub upload_rate: Option<u64>,
    /// The rules of the swarm.
    pub swarm: swarm::Config,
    /// What kind of crash the swarm's ledger survives.
    pub durability: Durability,
}

/// What happens with a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiverStep {
    /// It knows the code.
    Joined,
    /// It takes the parcel.
    Agreed,
    /// It has all of it, checked. So many have it now.
    Has(u32),
}

/// A parcel that is being given.
pub struct Giver {
    parcel: Parcel,
    door: SecretDoor,
    server: CoordinatorServer,
    label: Label,
    receivers: u32,
    seats: Mutex<ReceiverSeats>,
    /// How many have it.
    have: watch::Sender<u32>,
    /// The user has stopped it.
    stopped: watch::Sender<bool>,
}

/// The receivers that are connected, or have it, by their numbers.
type ReceiverSeats = BTreeMap<Guid, TakenSeats>;

/// Who sits there.
#[derive(Debug, Default)]
struct TakenSeats {
    /// How many times it has come; only the last connection counts, because
    /// those before may be dead without our knowing.
    times: u32,
    has_it: bool,
}

/// One receiver's seat; free again when it is dropped, unless the receiver has
/// the parcel or has come again.
struct ReceiverSeat<'a> {
    of: &'a Giver,
    number: Guid,
    times: u32,
}

impl Drop for ReceiverSeat<'_> {
    fn drop(&mut self) {
        let mut seats = self.of.seats();
        if seats.get(&self.number).is_some_and(|it| !it.has_it && it.times == self.times) {
            seats.remove(&self.number);
        }
    }
}

impl Giver {
    /// Starts the swarm.
    ///
    /// # Errors
    /// The parcel cannot be read, or nothing can listen there.
    pub async fn start(
        parcel: Parcel,
        door: SecretDoor,
        options: GiveOptions,
    ) -> Result<Self, SwarmError> {
        let GiveOptions { receivers, listen, upload_rate, swarm, durability } = options;
        let size = std::fs::metadata(&parcel.file).map_or(0, |about| about.len());
        let chunk = size.div_ceil(PIECES).max(CHUNK).next_power_of_two();
        let ledger = parcel.folder.join("ledger");
        let server = serve(ServeOptions {
            listen: vec![listen],
            chunk,
            upload_rate,
            swarm,
            durability,
            ..ServeOptions::under(ledger, parcel.file.clone())
        })
        .await?;
        let port = server.addrs().first().map_or(0, SocketAddr::port);
        let Hash(sum) = server.files().first().map_or(Hash([0; 32]), |(_, hashed)| hashed.whole);
        let label = Label { port, key: parcel.key, sum, name: parcel.name() };
        let (seats, have) = (Mutex::default(), watch::Sender::new(0));
        let stopped = watch::Sender::new(false);
        Ok(Self { parcel, door, server, label, receivers, seats, have, stopped })
    }

    /// The swarm's coordinator and source.
    #[must_use]
    pub const fn server(&self) -> &CoordinatorServer {
        &self.server
    }

    /// Waits until all receivers have it.
    pub async fn all_have_it(&self) {
        let all = |have: &u32| *have >= self.receivers;
        let _ = self.have.subscribe().wait_for(all).await; // We are its sender.
    }

    /// How many have it.
    #[must_use]
    pub fn have(&self) -> u32 {
        *self.have.borrow()
    }

    /// Tells all receivers that they get no more of it; each [`Giver::serve`] ends then.
    pub fn tell_stopped(&self) {
        self.stopped.send_replace(true);
    }

    /// Serves one receiver until all of them have the parcel.
    ///
    /// # Errors
    /// It is not admitted, does not want it, or is gone before it had it.
    pub async fn serve(
        &self,
        connection: Connection,
        mut told: impl FnMut(ReceiverStep),
    ) -> Result<(), ManyError> {
        let talk = Talk::over(connection);
        let seat = match self.greet(&talk).await {
            Ok(seat) => seat,
            Err(why) => {
                if let Some(why) = self.refusal(&why) {
                    fail(&talk, why).await;
                }
                return Err(why);
            }
        };
        told(ReceiverStep::Joined);
        tokio::select! {
            how = self.give(&talk, seat, &mut told) => how,
            silence = talk.stay() => Err(ManyError::silence(&talk, silence)),
            () = self.is_stopped() => {
                let why = String::from("the sender was stopped");
                talk.stop(why.clone()).await;
                Err(ManyError::Refused(why))
            }
        }
    }

    async fn is_stopped(&self) {
        let _ = self.stopped.subscribe().wait_for(|stopped| *stopped).await; // We are its sender.
    }

    /// What a receiver that is not admitted is told.
    fn refusal(&self, why: &ManyError) -> Option<&'static str> {
        Some(match why {
            ManyError::Foreign => "this sender sends to several: `servent receive --from` joins it",
            // The receiver cannot decrypt an answer, and finds out that way.
            ManyError::WrongCode => "the code is wrong",
            ManyError::OneCode if self.door.code().is_some() => {
                "it wants the code that it shows: receive without --open"
            }
            ManyError::OneCode => "it gives to every receiver: receive with --open",
            ManyError::Guesses => "there were too many wrong codes; try again in a minute",
            ManyError::Enough(_) => "as many as it is for are there already",
            _ => return None,
        })
    }

    async fn greet(&self, talk: &Talk) -> Result<ReceiverSeat<'_>, ManyError> {
        // One who looks for our best address knocks first.
        let meeting = loop {
            match next(talk).await? {
                TransferMessage::Alive => {}
                TransferMessage::Join { meeting } => break meeting,
                _ => return Err(ManyError::Foreign),
            }
        };
        let guess = admit(talk, (&self.door, talk.connection.peer().ip()), &meeting, true).await?;
        let TransferMessage::Myself { number } = next(talk).await? else {
            return Err(ManyError::Foreign);
        };
        if let Some(guess) = guess {
            self.door.opened(guess);
        }
        let mut seats = self.seats();
        if !seats.contains_key(&number) && seats.len() >= self.receivers as usize {
            return Err(ManyError::Enough(self.receivers));
        }
        let taken = seats.entry(number).or_default();
        taken.times += 1;
        Ok(ReceiverSeat { of: self, number, times: taken.times })
    }

    async fn give(
        &self,
        talk: &Talk,
        seat: ReceiverSeat<'_>,
        told: &mut impl FnMut(ReceiverStep),
    ) -> Result<(), ManyError> {
        let lost = |silence| ManyError::silence(talk, silence);
        talk.offer(self.parcel.entries()).await.map_err(lost)?;
        for lacking in self.parcel.lacking().iter().cloned() {
            talk.put(&TransferMessage::Lacks { entry: None, lacking }).await.map_err(lost)?;
        }
        talk.put(&TransferMessage::Parcel(self.label.clone())).await.map_err(lost)?;
        loop {
            match next(talk).await? {
                TransferMessage::Alive => {}
                TransferMessage::Go => told(ReceiverStep::Agreed),
                TransferMessage::Whole => break,
                TransferMessage::Failed { why } | TransferMessage::Full { why } => {
                    return Err(ManyError::Refused(why));
                }
                _ => return Err(ManyError::Foreign),
            }
        }
        if !self.seats().get_mut(&seat.number).is_none_or(|it| replace(&mut it.has_it, true)) {
            self.have.send_modify(|have| *have += 1);
        }
        told(ReceiverStep::Has(self.have()));
        // It passes pieces on until all have them, or until it wants to end.
        let stays = async { while let Ok(TransferMessage::Alive) = next(talk).await {} };
        tokio::select! {
            () = stays => {}
            () = self.all_have_it() => {
                if talk.put(&TransferMessage::Done).await.is_ok() {
                    let _ = talk.connection.close().await; // It may be gone.
                }
            }
        }
        Ok(())
    }

    fn seats(&self) -> MutexGuard<'_, ReceiverSeats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the swarm and removes the parcel.
    ///
    /// # Errors
    /// It had ended with an error.
    pub async fn stop(self) -> Result<(), SwarmError> {
        self.server.stop().await
    }
}
