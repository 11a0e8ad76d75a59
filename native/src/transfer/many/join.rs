//! A receiver's side: proves that it knows the code, learns of the parcel,
//! fetches it from the swarm, and takes it apart.

use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use data_encoding::HEXLOWER;
use servent_core::wire::pdtp::{Hash, url_of};

use super::super::greet::{next, offered};
use super::super::inbox::TransferInbox;
use super::super::message::{Label, TransferMessage};
use super::super::offer::ENTRIES;
use super::super::refusal::fail;
use super::super::secret::{Meeting, TransferCode};
use super::super::talk::Talk;
use super::super::{Lacking, OfferEntry, TransferProgress};
use super::ManyError;
use super::parcel::number_for;
use super::unpack::{SealedBytes, Unpacking};
use crate::net::udp::any_address;
use crate::store::Durability;
use crate::swarm::{Fetch, GetOptions, get};
use crate::sys::OwnerOnly as _;
use crate::unicast::Connection;

/// How long pieces are passed on if the sender never says that all have them.
const SEED_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// The most receivers that one state folder can have at once.
const PLACES: u32 = 1_000;

/// Which of the receivers it is that use one state folder: each is one of its own to the
/// sender, also when one user runs all of them.
#[derive(Debug)]
pub struct ReceiverPlace {
    state: PathBuf,
    number: u32,
    /// Locked as long as it is used. One that was killed finds its place again.
    _lock: File,
}

impl ReceiverPlace {
    /// The first one below `state` that no process has.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn take(state: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).private().create(state)?;
        for number in 0..PLACES {
            let lock = File::create(state.join(format!("receiver-{number}")))?;
            match lock.try_lock() {
                Ok(()) => return Ok(Self { state: state.to_owned(), number, _lock: lock }),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(why)) => return Err(why),
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }
}

/// A receiver that was admitted.
pub struct Guest {
    talk: Talk,
    entries: Vec<OfferEntry>,
    lacking: Vec<Lacking>,
    label: Label,
    /// Where the parcel is while it is incomplete.
    folder: PathBuf,
}

/// Joins a sender. What it knows us by when we come again follows from a secret
/// of our place.
///
/// # Errors
/// It does not answer, or does not admit us; or the secret cannot be made.
pub async fn join(
    connection: Connection,
    code: Option<&TransferCode>,
    place: &ReceiverPlace,
) -> Result<Guest, ManyError> {
    let number = number_for(connection.peer(), &place.state, place.number);
    let number = number.map_err(ManyError::Write)?;
    let talk = Talk::over(connection);
    let lost = |silence| ManyError::silence(&talk, silence);
    match code {
        None => talk.put(&TransferMessage::Join { meeting: Vec::new() }).await.map_err(lost)?,
        Some(code) => {
            let (ours, meeting) = Meeting::new(code, false);
            talk.put(&TransferMessage::Join { meeting }).await.map_err(lost)?;
            match talk.next().await.map_err(lost)? {
                TransferMessage::Meeting { told } => {
                    talk.seal(ours.finish(&told).ok_or(ManyError::Foreign)?).await;
                }
                other => return Err(early(other)),
            }
        }
    }
    // The first encrypted message shows that we know the code.
    talk.put(&TransferMessage::Myself { number }).await.map_err(lost)?;
    let entries = match offered(&talk, None).await {
        // It cannot read ours, so what it says is about that.
        Err(why) => return Err(why.into()),
        Ok(entries) => entries,
    };
    let mut lacking = Vec::new();
    loop {
        match next(&talk).await? {
            TransferMessage::Lacks { lacking: it, .. } if lacking.len() < ENTRIES => {
                lacking.push(it)
            }
            TransferMessage::Parcel(label) => {
                let mut name = HEXLOWER.encode(&label.sum[..16]);
                if place.number > 0 {
                    name.push_str(&format!("-{}", place.number));
                }
                let folder = place.state.join(name);
                return Ok(Guest { talk, entries, lacking, label, folder });
            }
            other => return Err(early(other)),
        }
    }
}

fn early(said: TransferMessage) -> ManyError {
    match said {
        TransferMessage::Stopped { why }
        | TransferMessage::Failed { why }
        | TransferMessage::Full { why } => ManyError::Refused(why),
        _ => ManyError::Foreign,
    }
}

impl Guest {
    /// The sender's address.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.talk.connection.peer()
    }

    /// What is in the parcel.
    #[must_use]
    pub fn entries(&self) -> &[OfferEntry] {
        &self.entries
    }

    /// What the sender could not read, and is not in it.
    #[must_use]
    pub fn lacking(&self) -> &[Lacking] {
        &self.lacking
    }

    /// The folder for the parcel while it is incomplete. It is the same for the same
    /// parcel, so that a later run goes on.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps the connection alive and waits until the sender says that all
    /// receivers have the parcel.
    ///
    /// # Errors
    /// The sender stopped or is gone.
    pub async fn done(&self) -> Result<(), ManyError> {
        let listen = async {
            loop {
                match next(&self.talk).await? {
                    TransferMessage::Alive => {}
                    TransferMessage::Done => return Ok(()),
                    other => return Err(early(other)),
                }
            }
        };
        tokio::select! {
            how = listen => how,
            silence = self.talk.stay() => Err(ManyError::silence(&self.talk, silence)),
        }
    }

    /// Tells the sender that the parcel is not wanted, or could not be kept.
    pub async fn refuse(&self, why: &str) {
        fail(&self.talk, why).await;
    }

    /// Takes the parcel: begins to fetch it into [`Guest::folder`], which goes
    /// on passing pieces to others once it is there. `None`: an earlier run has
    /// fetched all of it.
    ///
    /// # Errors
    /// The folder cannot be made, or the swarm does not start.
    pub async fn fetch(&self, durability: Durability) -> Result<Option<Fetch>, ManyError> {
        let lost = |silence| ManyError::silence(&self.talk, silence);
        self.talk.put(&TransferMessage::Go).await.map_err(lost)?;
        let folder = self.folder();
        DirBuilder::new().recursive(true).private().create(folder).map_err(ManyError::Write)?;
        let target = folder.join("parcel");
        if target.exists() {
            return Ok(None);
        }
        let peer = self.peer();
        let coordinator = SocketAddr::new(peer.ip(), self.label.port);
        let options = GetOptions {
            sha256: Some(Hash(self.label.sum)),
            listen: Some(any_address(peer)),
            seed_for: SEED_FOR,
            durability,
            ..GetOptions::under(
                &folder.join("swarm"),
                coordinator,
                url_of(&self.label.name),
                target,
            )
        };
        Ok(Some(get(options).await?))
    }

    /// Takes the fetched parcel apart.
    ///
    /// # Errors
    /// A file cannot be written, or is not what was sent.
    pub async fn unpack(
        &self,
        inbox: TransferInbox,
        told: impl FnMut(TransferProgress),
    ) -> Result<(), ManyError> {
        let sealed = SealedBytes::open(&self.folder().join("parcel"), &self.label.key);
        let unpacking = Unpacking::new(sealed.map_err(ManyError::Write)?, inbox);
        unpacking.aside(self.entries.clone(), told).await.map_err(ManyError::Write)
    }

    /// Tells the sender that everything is stored.
    ///
    /// # Errors
    /// The sender is gone.
    pub async fn has_it(&self) -> Result<(), ManyError> {
        let lost = |silence| ManyError::silence(&self.talk, silence);
        self.talk.put(&TransferMessage::Whole).await.map_err(lost)
    }
}
