//! The receiving side of a transfer.

mod before;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use servent_core::unicast::UnicastPayload;

use super::behind::PATIENCE;
use super::greet::{DARK, meet, next_within, offered};
use super::inbox::{Candidate, ExistingFile, TransferInbox};
use super::message::{TransferMessage, number};
use super::offer::{ENTRIES, Lacking, NAMES, OfferEntry, said};
use super::proof::{ProofCheck, ProofKey};
use super::receive_error::{ReceiveError, is_full};
use super::refusal::{fail, last};
use super::secret::{GuessesExhausted, SecretDoor};
use super::shelf::Shelf;
use super::small::{SMALL, SmallFile, SmallGroup};
use super::talk::{Talk, telling};
use super::target::{Begun, OpenFile, blocking, digest, whole};
use super::writers::{LOOK_EVERY, Writer};
use super::{Carried, TransferProgress};
use crate::unicast::{Connection, Lost, PeerSilence, PeerWhereabouts};

/// How often to retry a partial file that another transfer seems to write to.
const TRIES: u32 = 10;

/// A transfer that has been offered.
pub struct OfferedTransfer {
    talk: Arc<Talk>,
    proofs: ProofCheck,
    writer: Arc<Writer>,
    entries: Vec<OfferEntry>,
    /// What may exist of each entry.
    candidates: Vec<Option<Candidate>>,
    /// Existing bytes that were verified: their length, and the digest so far.
    begun: BTreeMap<usize, (u64, Begun)>,
    /// Entries that are complete, or known not to come.
    whole: usize,
    /// How many are not to come, and the bytes of their names.
    lacking: usize,
    lacking_names: usize,
    /// Bytes that are here.
    here: u64,
    open: Option<OpenFile>,
    /// The small file being received.
    small: Option<SmallFile>,
    group: SmallGroup,
}

impl OfferedTransfer {
    /// Waits for the offer on a connection, if its sender is admitted.
    ///
    /// # Errors
    /// It offers nothing, or is not admitted.
    pub async fn hello(
        connection: Connection,
        door: &Arc<SecretDoor>,
    ) -> Result<Self, ReceiveError> {
        let talk = Talk::over(connection);
        let met = match meet(&talk, door).await {
            Ok(guess) => offered(&talk, guess.map(|guess| (&**door, guess))).await,
            Err(why) => Err(why),
        };
        let proofs = ProofCheck::new(door, talk.connection.peer().ip());
        match met.and_then(|entries| Ok((entries, proofs.map_err(ReceiveError::Write)?))) {
            Ok((entries, proofs)) => {
                let talk = Arc::new(talk);
                let writer = Writer::new(Arc::clone(&talk));
                let candidates = vec![None; entries.len()];
                Ok(Self {
                    talk,
                    proofs,
                    writer,
                    entries,
                    candidates,
                    begun: BTreeMap::new(),
                    whole: 0,
                    lacking: 0,
                    lacking_names: 0,
                    here: 0,
                    open: None,
                    small: None,
                    group: SmallGroup::default(),
                })
            }
            Err(why) => {
                if let Some(refusal) = why.refusal(door) {
                    fail(&talk, refusal).await;
                }
                Err(why)
            }
        }
    }

    /// Where the sender is, from now on.
    #[must_use]
    pub fn whereabouts(&self) -> PeerWhereabouts {
        self.talk.connection.whereabouts()
    }

    /// How long the sender has been silent, from now on.
    #[must_use]
    pub fn silence(&self) -> PeerSilence {
        self.talk.connection.silence()
    }

    /// The offered entries.
    #[must_use]
    pub fn entries(&self) -> &[OfferEntry] {
        &self.entries
    }

    /// Bytes of what is offered that are here, also those that were before.
    #[must_use]
    pub const fn here(&self) -> u64 {
        self.here
    }

    /// The incomplete file, if any of it exists.
    #[must_use]
    pub fn part(&self) -> Option<PathBuf> {
        let open = self.open.as_ref().filter(|open| open.length > 0)?;
        Some(open.target.part()?.to_owned())
    }

    /// Receives what does not exist yet.
    ///
    /// # Errors
    /// Why the transfer did not complete; [`OfferedTransfer::here`] says how much
    /// arrived.
    pub async fn receive(
        &mut self,
        inbox: TransferInbox,
        mut told: impl FnMut(TransferProgress),
    ) -> Result<(), ReceiveError> {
        let writer = Arc::clone(&self.writer);
        let inbox = Shelf(Arc::new(Mutex::new(inbox)));
        let talk = Arc::clone(&self.talk);
        let how = tokio::select! {
            how = self.take(&inbox, &mut told) => how,
            silence = talk.stay() => Err(silence.into()),
            () = writer.taken_over() => Err(ReceiveError::Gone(Lost::Replaced)),
        };
        // What has arrived need not come again.
        let (spilled, group) = (self.spill(&inbox).await, self.group.settle(&inbox.0).await);
        if let Err(why) = spilled.and(group.map_err(ReceiveError::Write)) {
            tracing::debug!(%why, "the last files are not written");
        }
        if let Some(open) = &mut self.open
            && let Err(why) = open.target.settle().await
        {
            tracing::debug!(%why, "the last bytes are not written");
        }
        let answer = match &how {
            Ok(()) => TransferMessage::Whole,
            Err(ReceiveError::Write(why)) if is_full(why) => {
                TransferMessage::Full { why: said(why) }
            }
            Err(why) => TransferMessage::Failed { why: why.to_string() },
        };
        match &how {
            // The result is known to both: a failing close changes nothing.
            Ok(()) if self.talk.put(&answer).await.is_ok() => {
                let _ = self.talk.connection.close().await;
            }
            Ok(()) | Err(ReceiveError::Gone(_)) => {}
            Err(_) => last(&self.talk, &answer).await,
        }
        how
    }

    /// Stays until the sender has closed too, so that what it is still unsure of
    /// gets acknowledged; at most two seconds. To be called when the result has
    /// been reported.
    pub async fn goodbye(&self) {
        self.talk.closed().await;
    }

    async fn take(
        &mut self,
        inbox: &Shelf,
        told: &mut impl FnMut(TransferProgress),
    ) -> Result<(), ReceiveError> {
        inbox.writers().join(&self.writer).await;
        self.survey(inbox, told).await?;
        let quota = inbox.quota();
        loop {
            match self.next_or_write(inbox, told).await? {
                TransferMessage::Proof { entry, length, sum } => {
                    self.proven(inbox, entry, (length, sum), told).await?;
                }
                TransferMessage::Begin { entry, from }
                    if self.open.is_none() && self.small.is_none() =>
                {
                    self.begin(inbox, entry, from).await?;
                    self.here += from;
                    told(TransferProgress::Begun { entry: entry as usize, from });
                }
                TransferMessage::Data(bytes) => {
                    if let Some(quota) = &quota {
                        quota.take(bytes.len() as u64).map_err(ReceiveError::Write)?;
                    }
                    self.here += bytes.len() as u64;
                    let (entry, so_far) = self.data(bytes).await?;
                    told(TransferProgress::Bytes { entry, so_far });
                }
                TransferMessage::End { length, sum } => {
                    self.end(inbox, length, sum, told).await?;
                }
                TransferMessage::Alive | TransferMessage::Turn { .. } => {}
                TransferMessage::Stopped { why } => return Err(ReceiveError::Stopped(why)),
                TransferMessage::Lacks { entry, lacking } => {
                    self.lacks(entry, &lacking).await?;
                    told(TransferProgress::Lacks(lacking));
                }
                TransferMessage::Done => return self.done(inbox, told).await,
                _ => return Err(ReceiveError::Foreign),
            }
        }
    }

    /// The sender has sent everything.
    async fn done(
        &mut self,
        inbox: &Shelf,
        told: &mut impl FnMut(TransferProgress),
    ) -> Result<(), ReceiveError> {
        self.write_group(inbox, told).await?;
        self.group_written(told).await?;
        if self.open.is_some() || self.small.is_some() || self.whole != self.entries.len() {
            return Err(ReceiveError::Foreign);
        }
        let entries = std::mem::take(&mut self.entries);
        let date = move |inbox: &mut TransferInbox| {
            inbox.date_folders(&entries);
            Ok(())
        };
        inbox.with(date).await
    }

    /// Takes bytes of the current file; returns which it is, and how much of it is here.
    async fn data(&mut self, bytes: UnicastPayload) -> Result<(usize, u64), ReceiveError> {
        if let Some(small) = &mut self.small {
            if !small.take(&bytes) {
                return Err(ReceiveError::Different);
            }
            return Ok((small.entry, small.length()));
        }
        let open = self.open.as_mut().ok_or(ReceiveError::Foreign)?;
        open.length += bytes.len() as u64;
        open.target.write(bytes).await.map_err(|why| open.target.failure(why))?;
        Ok((open.entry, open.length))
    }

    /// Has the small files that are here written; those before are on the disk then.
    async fn write_group(
        &mut self,
        inbox: &Shelf,
        told: &mut impl FnMut(TransferProgress),
    ) -> Result<(), ReceiveError> {
        self.group_written(told).await?;
        self.group.write(Arc::clone(&inbox.0));
        Ok(())
    }

    /// Waits for the small files that are being written, and tells the sender of them.
    async fn group_written(
        &mut self,
        told: &mut impl FnMut(TransferProgress),
    ) -> Result<(), ReceiveError> {
        for carried in self.group.written().await.map_err(ReceiveError::Write)? {
            self.whole += 1;
            let entry = number(carried.entry);
            self.talk.put(&TransferMessage::Kept { entry }).await?;
            told(TransferProgress::There(carried));
        }
        Ok(())
    }

    /// Tells the sender what may exist of the files.
    async fn survey(
        &mut self,
        inbox: &Shelf,
        told: &mut impl FnMut(TransferProgress),
    ) -> Result<(), ReceiveError> {
        let survey = inbox.survey(self.entries.clone()).await?;
        for (at, it) in survey.blocked {
            self.talk.put(&TransferMessage::blocked(at, &it)).await?;
            told(TransferProgress::Lacks(it));
        }
        self.candidates = survey.candidates;
        self.whole = self.candidates.iter().filter(|found| found.is_none()).count();
        for (at, found) in self.candidates.iter().enumerate() {
            if let Some(found) = found {
                self.has(at, found).await?;
            }
        }
        Ok(self.talk.put(&TransferMessage::Go).await?)
    }

    /// Tells the sender how much of an entry may exist, if any.
    async fn has(&self, at: usize, found: &Candidate) -> Result<(), ReceiveError> {
        let Some(length) = self.to_prove(at, found) else { return Ok(()) };
        let ProofKey(key) = self.proofs.key;
        Ok(self.talk.put(&TransferMessage::Has { entry: number(at), length, key }).await?)
    }

    /// How many bytes a proof has to cover: all that exist.
    fn to_prove(&self, at: usize, found: &Candidate) -> Option<u64> {
        match found.there {
            ExistingFile::Nothing => None,
            ExistingFile::Part(length) => Some(length),
            ExistingFile::Whole => self.entries[at].length,
        }
    }

    /// Compares what exists with the sender's digest.
    async fn proven(
        &mut self,
        inbox: &Shelf,
        entry: u32,
        (length, sum): (u64, [u8; 32]),
        told: &mut impl FnMut(TransferProgress),
    ) -> Result<(), ReceiveError> {
        let at = entry as usize;
        let of = self.entries.get(at).ok_or(ReceiveError::Foreign)?.clone();
        let found = self.candidates.get(at).cloned().flatten();
        let found = found.filter(|found| self.to_prove(at, found) == Some(length));
        let found = found.ok_or(ReceiveError::Foreign)?;
        if let Some(grown) = self.grown(inbox, &found, &of, length).await? {
            self.has(at, &grown).await?;
            self.candidates[at] = Some(grown);
            return Ok(());
        }
        let (digest, guess) = match self.proofs.count_guess() {
            Ok(guess) => (self.digest(&found, length).await.map_err(ReceiveError::Write)?, guess),
            Err(GuessesExhausted) => (None, None),
        };
        let accepts = |begun: &Begun| self.proofs.accept(&begun.hash, sum, guess);
        let Some(begun) = digest.filter(accepts) else {
            let next = inbox.with(move |inbox| inbox.look(&of, found.n)).await?;
            self.has(at, &next).await?;
            if next.there == ExistingFile::Nothing {
                self.talk.put(&TransferMessage::From { entry, from: 0 }).await?;
            }
            self.candidates[at] = Some(next);
            return Ok(());
        };
        if found.there == ExistingFile::Whole && of.length == Some(length) {
            self.talk.put(&TransferMessage::There { entry }).await?;
            self.whole += 1;
            self.here += length;
            self.candidates[at] = None;
            let sum = begun.hash.finalize().into();
            told(TransferProgress::There(Carried {
                entry: at,
                length,
                carried: 0,
                sum,
                file: found.name,
            }));
            return Ok(());
        }
        self.begun.insert(at, (length, begun));
        Ok(self.talk.put(&TransferMessage::From { entry, from: length }).await?)
    }

    /// Takes a partial file over from a transfer whose sender is dead; returns
    /// what exists then, if its last messages have made it longer.
    async fn grown(
        &self,
        inbox: &Shelf,
        found: &Candidate,
        of: &OfferEntry,
        length: u64,
    ) -> Result<Option<Candidate>, ReceiveError> {
        let (ExistingFile::Part(_), Some(path)) = (found.there, found.path()) else {
            return Ok(None);
        };
        if !inbox.writers().take_over(&path).await {
            return Ok(None);
        }
        // It may have been renamed meanwhile; the comparison will show that.
        let now = blocking(move || Ok(std::fs::symlink_metadata(path).map_or(0, |at| at.len())));
        let now = now.await.map_err(ReceiveError::Write)?;
        let more = now > length && of.length.is_some_and(|whole| now <= whole);
        Ok(more.then(|| Candidate { there: ExistingFile::Part(now), ..found.clone() }))
    }

    /// The digest of what exists, if no other transfer is writing to it.
    async fn digest(&self, found: &Candidate, length: u64) -> io::Result<Option<Begun>> {
        let Some(path) = found.path() else { return Ok(None) };
        if found.there == ExistingFile::Whole {
            return blocking(move || whole(&path, length)).await;
        }
        match blocking(move || digest(&path, length)).await {
            // Another transfer has completed it.
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
            digest => digest,
        }
    }

    /// A file does not arrive. What has arrived of it is kept unless it is of no use.
    async fn lacks(&mut self, entry: Option<u32>, it: &Lacking) -> Result<(), ReceiveError> {
        self.lacking += 1;
        self.lacking_names += it.name.len() + it.why.len();
        if self.lacking > ENTRIES || self.lacking_names > NAMES {
            return Err(ReceiveError::Foreign);
        }
        let Some(at) = entry.map(|entry| entry as usize) else { return Ok(()) };
        if let Some(small) = self.small.take() {
            self.whole += 1;
            return if small.entry == at { Ok(()) } else { Err(ReceiveError::Foreign) };
        }
        match self.open.take() {
            Some(open) if open.entry == at && it.leaves_nothing(open.length) => {
                open.target.discard().await;
            }
            Some(mut open) if open.entry == at => {
                open.target.settle().await.map_err(ReceiveError::Write)?;
            }
            Some(_) => return Err(ReceiveError::Foreign),
            None => {
                let found = self.candidates.get_mut(at).and_then(Option::take);
                found.ok_or(ReceiveError::Foreign)?;
                self.begun.remove(&at);
            }
        }
        self.whole += 1;
        Ok(())
    }

    async fn begin(&mut self, inbox: &Shelf, entry: u32, from: u64) -> Result<(), ReceiveError> {
        let at = entry as usize;
        let found = self.candidates.get_mut(at).and_then(Option::take);
        let (Some(found), Some(of)) = (found, self.entries.get(at)) else {
            return Err(ReceiveError::Foreign);
        };
        let (length, begun) = self.begun.remove(&at).unzip();
        if length.unwrap_or(0) != from {
            return Err(ReceiveError::Foreign);
        }
        let fresh = found.there == ExistingFile::Nothing && found.name.is_some();
        if fresh && of.length.is_some_and(|length| length <= SMALL) {
            self.small = Some(SmallFile::new(at, of.clone(), found));
            return Ok(());
        }
        self.open(inbox, at, found, (from, begun)).await
    }

    /// Opens a file to write to it as its bytes arrive.
    async fn open(
        &mut self,
        inbox: &Shelf,
        at: usize,
        found: Candidate,
        (from, begun): (u64, Option<Begun>),
    ) -> Result<(), ReceiveError> {
        let of = self.entries.get(at).ok_or(ReceiveError::Foreign)?;
        let begin = || {
            let (of, found, begun) = (of.clone(), found.clone(), begun.clone());
            inbox.with(move |inbox| inbox.begin(&of, found, (from, begun.as_ref())))
        };
        let mut tries = 0;
        let target = loop {
            match (begin().await, found.path()) {
                // A file is unlocked only once the last write to it is on the
                // disk.
                (Err(ReceiveError::Write(why)), Some(part))
                    if why.kind() == io::ErrorKind::AlreadyExists && tries < TRIES =>
                {
                    tries += 1;
                    inbox.writers().take_over(&part).await;
                    tokio::time::sleep(LOOK_EVERY).await;
                }
                (target, _) => break target?,
            }
        };
        target
            .check_room(of.length.unwrap_or(0).saturating_sub(from))
            .map_err(ReceiveError::Write)?;
        if let Some(part) = target.part() {
            inbox.writers().enter(part, &self.writer);
        }
        self.open = Some(OpenFile { entry: at, from, length: from, target });
        Ok(())
    }

    async fn end(
        &mut self,
        inbox: &Shelf,
        length: u64,
        sum: [u8; 32],
        told: &mut impl FnMut(TransferProgress),
    ) -> Result<(), ReceiveError> {
        if let Some(small) = self.small.take() {
            if length != small.length() || sum != small.digest() {
                return Err(ReceiveError::Different);
            }
            self.group.push(small, sum);
            return if self.group.is_full() { self.write_group(inbox, told).await } else { Ok(()) };
        }
        let open = self.open.as_mut().ok_or(ReceiveError::Foreign)?;
        let written = open.target.settle().await.map_err(ReceiveError::Write)?;
        if length != open.length || sum != written {
            return Err(ReceiveError::Different);
        }
        let Some(OpenFile { entry, from, target, .. }) = self.open.take() else {
            return Err(ReceiveError::Foreign);
        };
        let attributes = self.entries.get(entry).map(|it| it.attributes).unwrap_or_default();
        let file = target.finish(length, attributes).await.map_err(ReceiveError::Write)?;
        self.whole += 1;
        self.talk.put(&TransferMessage::Kept { entry: number(entry) }).await?;
        told(TransferProgress::There(Carried { entry, length, carried: length - from, sum, file }));
        Ok(())
    }

    /// The next message, or why there will be none. While the sender pauses,
    /// what has come is written.
    async fn next_or_write(
        &mut self,
        inbox: &Shelf,
        told: &mut impl FnMut(TransferProgress),
    ) -> Result<TransferMessage, ReceiveError> {
        let talk = Arc::clone(&self.talk);
        let next = next_within(&talk, DARK);
        tokio::pin!(next);
        if let Ok(message) = tokio::time::timeout(PATIENCE, &mut next).await {
            return message;
        }
        if let Some(open) = &mut self.open {
            open.target.hurry().await.map_err(ReceiveError::Write)?;
        }
        if !self.group.is_empty() {
            self.write_group(inbox, told).await?;
            self.group_written(told).await?;
        }
        // What comes slowly is not small: what is here of it must survive a crash.
        self.spill(inbox).await?;
        let here = self.open.as_ref().map(|open| (open.entry, open.length));
        let mut tell = |(entry, so_far)| told(TransferProgress::Bytes { entry, so_far });
        telling(next, || _ = here.map(&mut tell)).await
    }

    /// Writes what is here of a small file as that of any other.
    async fn spill(&mut self, inbox: &Shelf) -> Result<(), ReceiveError> {
        if let Some((at, data, found)) = self.small.take().map(SmallFile::into_parts) {
            self.open(inbox, at, found, (0, None)).await?;
            self.data(data).await?;
        }
        Ok(())
    }
}

/// An empty partial file is removed.
impl Drop for OfferedTransfer {
    fn drop(&mut self) {
        if let Some(open) = self.open.take().filter(|open| open.length == 0)
            && let Some(part) = open.target.part()
            && let Err(why) = std::fs::remove_file(part)
        {
            tracing::warn!(part = %part.display(), %why, "an empty part stays");
        }
    }
}
