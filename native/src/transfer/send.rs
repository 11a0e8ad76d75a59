//! The sending side of a transfer.

mod agree;
mod turn;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use blake3::Hasher;
use servent_core::unicast::UnicastPayload;
use thiserror::Error;

pub use self::turn::ReceiverTurn;
use super::acknowledged::AcknowledgedPart;
use super::ahead::{Ahead, Next};
use super::grouped::{GroupedFiles, ReadFile};
use super::message::{TransferMessage, number};
use super::offer::{LackKind, Lacking, Offer, OfferEntry, Source, said};
use super::secret::{Meeting, TransferCode};
use super::talk::{Silence, TELL_EVERY, Talk};
use super::target::blocking;
use super::{Carried, TransferProgress};
use crate::net::Rate;
use crate::unicast::{Connection, Lost, PeerSilence, PeerWhereabouts, SendProgress};

/// Why a file that changed does not arrive.
const CHANGED: &str = "it has changed since it was offered";

/// Why a transfer did not complete.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SendFailure {
    /// The receiver never answered.
    #[error("no receiver answers")]
    Unanswered,
    /// The receiver's system says that nothing listens on that port.
    #[error("no receiver listens there")]
    Closed,
    /// The connection to the receiver was lost.
    #[error("the receiver is gone: {why}")]
    Gone {
        /// How it was lost.
        why: Lost,
    },
    /// The receiver does not want it, or could not store it.
    #[error("the receiver says: {why}")]
    Refused {
        /// It had accepted it before.
        begun: bool,
        /// The receiver's reason.
        why: String,
    },
    /// The receiver's disk, or what it may hold, has no room for it.
    #[error("the receiver has no room: {0}")]
    Full(String),
    /// The stream to be sent cannot be read.
    #[error("cannot read {}: {why}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system error.
        why: io::Error,
    },
    /// The two sides have different codes.
    #[error("the code is wrong")]
    WrongCode,
    /// The same receiver is served on another connection, and this one does not wait for that.
    #[error("the same receiver is served already")]
    Served,
    /// It sends too.
    #[error("the other side is a sender, too")]
    Sends,
    /// It answers, but speaks another protocol.
    #[error("the other side is no receiver of this version")]
    Foreign,
}

/// A connection to a receiver.
pub struct TransferSender {
    talk: Talk,
    rate: Option<Rate>,
    /// Bytes of what is offered that the receiver had before.
    before: AtomicU64,
    turn: ReceiverTurn,
}

/// One transfer over the connection.
struct Sending<'a> {
    talk: &'a Talk,
    offer: &'a Offer,
    before: &'a AtomicU64,
    /// What the receiver has of each entry.
    there: BTreeMap<usize, Start>,
    /// How much the receiver has of the file of which something was sent last.
    latest: AcknowledgedPart,
    /// Sent, but not yet confirmed as stored.
    pending: BTreeMap<usize, Carried>,
    begun: bool,
    rate: Option<Rate>,
    turn: &'a ReceiverTurn,
}

/// Where sending an entry starts.
enum Start {
    /// After this many bytes, with their digest so far.
    From(u64, Box<Hasher>),
    /// Nowhere: the receiver has all of it.
    Whole,
    /// Nowhere: the receiver knows that it is lacking.
    Lacks,
}

impl TransferSender {
    /// A sender that uses this connection.
    #[must_use]
    pub fn over(connection: Connection) -> Self {
        let (talk, turn) = (Talk::over(connection), ReceiverTurn::default());
        Self { talk, rate: None, before: AtomicU64::new(0), turn }
    }

    /// The same where a receiver that has said its number may have to wait.
    #[must_use]
    pub fn in_turn(self, turn: ReceiverTurn) -> Self {
        Self { turn, ..self }
    }

    /// Sends no faster than this.
    #[must_use]
    pub fn limited(self, rate: Option<Rate>) -> Self {
        Self { rate, ..self }
    }

    /// Where the receiver is, from now on.
    #[must_use]
    pub fn whereabouts(&self) -> PeerWhereabouts {
        self.talk.connection.whereabouts()
    }

    /// How long the receiver has been silent, from now on.
    #[must_use]
    pub fn silence(&self) -> PeerSilence {
        self.talk.connection.silence()
    }

    /// How much of what was sent is acknowledged.
    #[must_use]
    pub fn progress(&self) -> SendProgress {
        self.talk.connection.progress()
    }

    /// About how many bytes of what is offered have reached the receiver, also those that
    /// it had before.
    #[must_use]
    pub fn reached(&self) -> u64 {
        self.progress().acknowledged.saturating_add(self.before.load(Ordering::Relaxed))
    }

    /// Sends everything the receiver does not have, and waits for its
    /// confirmation that it has the same bytes. Without a code every host on the
    /// path can read it.
    ///
    /// # Errors
    /// Why it did not complete.
    pub async fn send(
        &self,
        offer: &Offer,
        code: Option<&TransferCode>,
        mut told: impl FnMut(TransferProgress),
    ) -> Result<(), SendFailure> {
        let (there, pending) = (BTreeMap::new(), BTreeMap::new());
        let mut sending = Sending {
            talk: &self.talk,
            offer,
            before: &self.before,
            there,
            latest: AcknowledgedPart::default(),
            pending,
            begun: false,
            rate: self.rate.clone(),
            turn: &self.turn,
        };
        sending.meet(code).await?;
        tokio::select! {
            done = sending.all(&mut told) => done?,
            silence = self.talk.stay() => return Err(failure(&self.talk, silence)),
        }
        self.talk.end().await;
        Ok(())
    }

    /// Ends the connection, because the receiver was found again: what it has not
    /// acknowledged travels on the next one, and here no more.
    pub fn give_up(&self) {
        self.talk.connection.give_up();
    }

    /// Tells the receiver that nothing more will be sent.
    pub async fn stop(&self, why: &str) {
        self.talk.stop(why.to_owned()).await;
    }
}

impl Sending<'_> {
    async fn all(&mut self, told: &mut impl FnMut(TransferProgress)) -> Result<(), SendFailure> {
        self.offer().await?;
        self.agree(told).await?;
        self.files(told).await?;
        self.whole(told).await
    }

    /// Sends hello, and exchanges keys if there is a code.
    async fn meet(&self, code: Option<&TransferCode>) -> Result<(), SendFailure> {
        let Some(code) = code else {
            return self.put(&TransferMessage::Hello { meeting: Vec::new() }).await;
        };
        let (ours, meeting) = Meeting::new(code, true);
        self.put(&TransferMessage::Hello { meeting }).await?;
        match self.next().await? {
            TransferMessage::Meeting { told } => {
                let keys = ours.finish(&told).ok_or(SendFailure::Foreign)?;
                self.talk.seal(keys).await;
                Ok(())
            }
            TransferMessage::Hello { .. } => Err(SendFailure::Sends),
            other => Err(self.early(other)),
        }
    }

    async fn offer(&self) -> Result<(), SendFailure> {
        let said = self.talk.offer(self.offer.entries()).await;
        said.map_err(|silence| failure(self.talk, silence))
    }

    /// Sends what is missing.
    async fn files(&mut self, told: &mut impl FnMut(TransferProgress)) -> Result<(), SendFailure> {
        let mut small = self.small_files();
        for (at, entry) in self.offer.entries().iter().enumerate() {
            if let Some(read) = self.meanwhile(small.take(at), told).await? {
                self.small((at, entry), read, told).await?;
                continue;
            }
            let (from, hash) = match self.there.remove(&at) {
                Some(Start::Whole | Start::Lacks) => continue,
                _ if entry.is_folder() => continue,
                Some(Start::From(from, hash)) => (from, *hash),
                None => (0, Hasher::new()),
            };
            match self.open(at, from).await {
                Ok(Some(file)) => self.file((at, entry), file, (from, hash), told).await?,
                Ok(None) => self.lacks(at, None, told).await?,
                Err(why) => self.lacks(at, Some(why), told).await?,
            }
        }
        for lacking in &self.offer.lacking {
            let message = TransferMessage::Lacks { entry: None, lacking: lacking.clone() };
            self.say(message.encode().into(), told).await?;
            told(TransferProgress::Lacks(lacking.clone()));
        }
        self.say(TransferMessage::Done.encode().into(), told).await
    }

    /// The small files of which the receiver has nothing.
    fn small_files(&self) -> GroupedFiles {
        let mut small = GroupedFiles::default();
        for (at, entry) in self.offer.entries().iter().enumerate() {
            if !entry.is_folder() && !self.there.contains_key(&at) {
                small.add(at, self.offer.source(at), entry.length);
            }
        }
        small
    }

    /// Sends a file that was read as a whole.
    async fn small(
        &mut self,
        (at, entry): (usize, &OfferEntry),
        read: io::Result<Option<ReadFile>>,
        told: &mut impl FnMut(TransferProgress),
    ) -> Result<(), SendFailure> {
        let file = match read {
            Ok(Some(file)) => file,
            Ok(None) => return self.lacks(at, None, told).await,
            Err(why) => return self.lacks(at, Some(why), told).await,
        };
        let begin = TransferMessage::Begin { entry: number(at), from: 0 };
        self.say(begin.encode().into(), told).await?;
        told(TransferProgress::Begun { entry: at, from: 0 });
        let mut so_far = 0;
        self.data(at, file.messages, &mut so_far, told).await?;
        let length = entry.length.unwrap_or(so_far);
        self.end(at, (0, length), file.sum, told).await
    }

    /// Sends data messages.
    async fn data(
        &mut self,
        at: usize,
        messages: Vec<UnicastPayload>,
        so_far: &mut u64,
        told: &mut impl FnMut(TransferProgress),
    ) -> Result<(), SendFailure> {
        for message in messages {
            let bytes = message.len() as u64 - 1;
            *so_far += bytes;
            self.say(message, told).await?;
            self.latest.sent(at, *so_far);
            if let Some(pause) = self.rate.as_ref().map(|Rate(pace)| pace.after(bytes)) {
                self.meanwhile(tokio::time::sleep(pause), told).await?;
            }
            self.tell_acknowledged(told);
        }
        Ok(())
    }

    /// Tells how much of the latest file the receiver has acknowledged.
    fn tell_acknowledged(&mut self, told: &mut impl FnMut(TransferProgress)) {
        if let Some((entry, so_far)) = self.latest.now(self.talk.connection.progress()) {
            told(TransferProgress::Bytes { entry, so_far });
        }
    }

    /// Says that all of a file was sent.
    async fn end(
        &mut self,
        entry: usize,
        (from, length): (u64, u64),
        sum: [u8; 32],
        told: &mut impl FnMut(TransferProgress),
    ) -> Result<(), SendFailure> {
        let carried = Carried { entry, length, carried: length - from, sum, file: None };
        self.pending.insert(entry, carried);
        self.say(TransferMessage::End { length, sum }.encode().into(), told).await
    }

    /// Sends a file from its starting offset to its end.
    async fn file(
        &mut self,
        (at, entry): (usize, &OfferEntry),
        file: File,
        (from, hash): (u64, Hasher),
        told: &mut impl FnMut(TransferProgress),
    ) -> Result<(), SendFailure> {
        let begin = TransferMessage::Begin { entry: number(at), from };
        self.say(begin.encode().into(), told).await?;
        told(TransferProgress::Begun { entry: at, from });
        let left = entry.length.map(|length| length.saturating_sub(from));
        let mut ahead = Ahead::begin((file, self.offer.source(at).cloned()), hash, left);
        let mut so_far = from;
        let sum = loop {
            let messages = match self.meanwhile(ahead.next(), told).await? {
                Ok(Next::Messages(messages)) => messages,
                Ok(Next::End(sum)) => break sum,
                Ok(Next::Changed) => return self.lacks(at, None, told).await,
                Err(why) => return self.lacks(at, Some(why), told).await,
            };
            self.data(at, messages, &mut so_far, told).await?;
        };
        self.end(at, (from, so_far), sum, told).await
    }

    /// Opens a file where it goes on; `None` when it is another one than was
    /// offered.
    async fn open(&self, entry: usize, from: u64) -> io::Result<Option<File>> {
        let source = self.offer.source(entry).cloned();
        blocking(move || {
            let Some(Source { path, stamp }) = source else {
                return crate::sys::input().map(Some);
            };
            let mut file = File::open(&path)?;
            if let Some(stamp) = stamp {
                if !stamp.holds(&file, &path)? {
                    return Ok(None);
                }
                file.seek(io::SeekFrom::Start(from))?;
            }
            Ok(Some(file))
        })
        .await
    }

    /// Tells both sides that a file does not arrive: it cannot be read, or it has
    /// changed. The others go on; a stream is alone.
    async fn lacks(
        &mut self,
        entry: usize,
        unreadable: Option<io::Error>,
        told: &mut impl FnMut(TransferProgress),
    ) -> Result<(), SendFailure> {
        let Some(source) = self.offer.source(entry) else {
            let why = unreadable.unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into());
            // The read error is the one to report.
            let _ = self.put(&TransferMessage::Stopped { why: said(&why) }).await;
            return Err(SendFailure::Read { path: "standard input".into(), why });
        };
        let (why, kind) = match &unreadable {
            Some(why) => (said(why), LackKind::Unreadable),
            None => (CHANGED.to_owned(), LackKind::Changed),
        };
        tracing::debug!(path = %source.path.display(), why, "a file is not sent");
        self.latest.forget(entry);
        let name = self.offer.entries()[entry].name.clone();
        let lacking = Lacking { name, why, kind };
        let message =
            TransferMessage::Lacks { entry: Some(number(entry)), lacking: lacking.clone() };
        self.say(message.encode().into(), told).await?;
        told(TransferProgress::Lacks(lacking));
        Ok(())
    }

    /// Waits for the receiver's final confirmation.
    async fn whole(&mut self, told: &mut impl FnMut(TransferProgress)) -> Result<(), SendFailure> {
        loop {
            let said = tokio::select! {
                said = self.next() => said?,
                () = tokio::time::sleep(TELL_EVERY) => {
                    self.tell_acknowledged(told);
                    continue;
                }
            };
            match said {
                TransferMessage::Whole if self.pending.is_empty() => return Ok(()),
                other => self.receive(other, told)?,
            }
        }
    }

    /// Does something while handling the receiver's messages. That may take long: what the
    /// receiver acknowledges meanwhile is told too.
    async fn meanwhile<T>(
        &mut self,
        work: impl Future<Output = T>,
        told: &mut impl FnMut(TransferProgress),
    ) -> Result<T, SendFailure> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                said = self.talk.next() => {
                    let said = said.map_err(|silence| failure(self.talk, silence))?;
                    self.receive(said, told)?;
                }
                () = tokio::time::sleep(TELL_EVERY) => self.tell_acknowledged(told),
            }
        }
    }

    /// Sends a message while files are being sent.
    async fn say(
        &mut self,
        bytes: UnicastPayload,
        told: &mut impl FnMut(TransferProgress),
    ) -> Result<(), SendFailure> {
        let talk = self.talk;
        let said = self.meanwhile(talk.put_bytes(bytes), told).await?;
        said.map_err(|silence| failure(talk, silence))
    }

    /// Handles a message received while files are being sent.
    fn receive(
        &mut self,
        said: TransferMessage,
        told: &mut impl FnMut(TransferProgress),
    ) -> Result<(), SendFailure> {
        match said {
            TransferMessage::Alive => Ok(()),
            TransferMessage::Kept { entry } => {
                let kept = self.pending.remove(&(entry as usize)).ok_or(SendFailure::Foreign)?;
                self.latest.forget(kept.entry);
                told(TransferProgress::There(kept));
                Ok(())
            }
            other => Err(self.early(other)),
        }
    }

    /// The receiver's next message. Its disk, its pipe or its owner may be
    /// slow.
    async fn next(&self) -> Result<TransferMessage, SendFailure> {
        self.talk.next().await.map_err(|silence| failure(self.talk, silence))
    }

    async fn put(&self, message: &TransferMessage) -> Result<(), SendFailure> {
        let said = self.talk.put(message).await;
        said.map_err(|silence| failure(self.talk, silence))
    }

    fn early(&self, said: TransferMessage) -> SendFailure {
        match said {
            TransferMessage::Failed { why } => SendFailure::Refused { begun: self.begun, why },
            TransferMessage::Full { why } => SendFailure::Full(why),
            _ => SendFailure::Foreign,
        }
    }
}

fn failure(talk: &Talk, silence: Silence) -> SendFailure {
    match silence {
        Silence::Foreign => SendFailure::Foreign,
        Silence::WrongCode => SendFailure::WrongCode,
        Silence::Gone(Lost::Refused) => SendFailure::Closed,
        Silence::Gone(_) if talk.connection.progress().acknowledged == 0 => SendFailure::Unanswered,
        Silence::Gone(why) => SendFailure::Gone { why },
    }
}
