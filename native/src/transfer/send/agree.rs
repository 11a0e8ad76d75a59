//! What the receiver takes of an offer, and what it has of that.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use blake3::Hasher;

use super::{SendFailure, Sending, Start};
use crate::transfer::message::TransferMessage;
use crate::transfer::offer::{LackKind, Lacking};
use crate::transfer::proof::ProofKey;
use crate::transfer::target::{blocking, digest_of};
use crate::transfer::{Carried, TransferProgress};

/// How long a receiver may take to answer an offer that it has before that is told.
const ANSWERS_SOON: Duration = Duration::from_secs(1);

impl Sending<'_> {
    /// Waits until the offer is accepted, and proves what the receiver may
    /// have.
    pub(super) async fn agree(
        &mut self,
        told: &mut impl FnMut(TransferProgress),
    ) -> Result<(), SendFailure> {
        let mut first = Some(self.answer_to_offer(told).await?);
        // Proofs the receiver has not answered.
        let mut proofs = BTreeMap::new();
        while !self.begun || !proofs.is_empty() {
            let answer = match first.take() {
                Some(answer) => answer,
                None => self.next().await?,
            };
            match answer {
                TransferMessage::Alive => {}
                TransferMessage::Go => self.begun = true,
                TransferMessage::Has { entry, length, key } => {
                    let hash = match self.prove(entry as usize, length).await? {
                        Ok(hash) => hash,
                        Err(why) => {
                            self.lacks(entry as usize, Some(why), told).await?;
                            self.there.insert(entry as usize, Start::Lacks);
                            continue;
                        }
                    };
                    let sum = ProofKey(key).prove(&hash);
                    self.put(&TransferMessage::Proof { entry, length, sum }).await?;
                    proofs.insert(entry, (length, hash));
                }
                TransferMessage::From { entry, from } => {
                    let start = match (proofs.remove(&entry), from) {
                        (Some(_), 0) => Start::From(0, Box::default()),
                        (Some((length, hash)), from) if from == length => {
                            self.before.fetch_add(from, Ordering::Relaxed);
                            Start::From(from, Box::new(hash))
                        }
                        _ => return Err(SendFailure::Foreign),
                    };
                    self.there.insert(entry as usize, start);
                }
                TransferMessage::There { entry } => {
                    let (length, hash) = proofs.remove(&entry).ok_or(SendFailure::Foreign)?;
                    let (entry, sum) = (entry as usize, hash.finalize().into());
                    self.there.insert(entry, Start::Whole);
                    self.before.fetch_add(length, Ordering::Relaxed);
                    told(TransferProgress::There(Carried {
                        entry,
                        length,
                        carried: 0,
                        sum,
                        file: None,
                    }));
                }
                TransferMessage::Blocked { entry, why } => {
                    told(TransferProgress::Lacks(self.blocked(entry as usize, why)?));
                }
                other => return Err(self.early(other)),
            }
        }
        Ok(())
    }

    /// The receiver's first answer to the offer.
    async fn answer_to_offer(
        &self,
        told: &mut impl FnMut(TransferProgress),
    ) -> Result<TransferMessage, SendFailure> {
        use TransferMessage::{Alive, Blocked, Go, Has, Myself};
        let (mut known, mut numbered, mut late) = (false, false, false);
        loop {
            let said = tokio::select! {
                said = self.next() => said?,
                () = tokio::time::sleep(ANSWERS_SOON), if !late => {
                    late = self.talk.connection.progress().acknowledged > 0;
                    if late {
                        told(TransferProgress::Offered);
                    }
                    continue;
                }
            };
            if !std::mem::replace(&mut known, true) {
                told(TransferProgress::Known);
            }
            match said {
                Alive => {}
                Myself { number } if !std::mem::replace(&mut numbered, true) => {
                    told(TransferProgress::Numbered(number));
                    self.take_turn().await?;
                }
                answer => {
                    if matches!(answer, Go | Has { .. } | Blocked { .. }) {
                        told(TransferProgress::Accepted);
                    }
                    return Ok(answer);
                }
            }
        }
    }

    /// The receiver cannot give an entry its name.
    fn blocked(&mut self, entry: usize, why: String) -> Result<Lacking, SendFailure> {
        let of = self.offer.entries().get(entry).ok_or(SendFailure::Foreign)?;
        match self.there.insert(entry, Start::Lacks) {
            None => Ok(Lacking { name: of.name.clone(), why, kind: LackKind::Blocked }),
            Some(_) => Err(SendFailure::Foreign),
        }
    }

    /// The digest of the start of a file, to be continued; the inner error is of the
    /// file.
    async fn prove(&self, entry: usize, length: u64) -> Result<io::Result<Hasher>, SendFailure> {
        let of = self.offer.entries().get(entry).and_then(|entry| entry.length);
        let path = self.offer.path(entry).filter(|_| of.is_some_and(|of| length <= of));
        let path = path.ok_or(SendFailure::Foreign)?.to_owned();
        let digest = blocking(move || digest_of(File::open(path)?, length)).await;
        Ok(digest.and_then(|hash| hash.ok_or_else(shorter)))
    }
}

fn shorter() -> io::Error {
    io::Error::other("it has become shorter since it was offered")
}
