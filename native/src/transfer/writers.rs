//! Which transfer writes to which partial file, so that a sender that was
//! killed and restarted can continue a file that its previous connection still
//! seems to write to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::future::join_all;
use tokio::sync::watch;

use super::message::TransferMessage;
use super::talk::{SILENT, Talk};

/// How long a sender has to show that it is still alive.
const SIGN_OF_LIFE: Duration = Duration::from_secs(3);
/// How often that is checked.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The transfers that write to partial files.
#[derive(Debug, Default)]
pub struct Writers(Mutex<KnownRanges>);

#[derive(Debug, Default)]
struct KnownRanges {
    /// All active transfers.
    all: Vec<Weak<Writer>>,
    /// Which transfer writes to which partial file.
    parts: BTreeMap<PathBuf, Weak<Writer>>,
}

impl KnownRanges {
    /// All active transfers.
    fn active(&mut self) -> Vec<Arc<Writer>> {
        self.all.retain(|other| other.strong_count() > 0);
        self.all.iter().filter_map(Weak::upgrade).collect()
    }
}

/// A transfer that writes.
pub(super) struct Writer {
    talk: Arc<Talk>,
    /// Another transfer has taken over.
    over: watch::Sender<bool>,
}

impl Writer {
    pub(super) fn new(talk: Arc<Talk>) -> Arc<Self> {
        Arc::new(Self { talk, over: watch::Sender::new(false) })
    }

    /// Waits until another transfer takes over; the sender is dead then.
    pub(super) async fn taken_over(&self) {
        // The channel's sender is part of this writer, so it is not dropped.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
        self.talk.connection.give_up();
    }

    /// True when its sender still acknowledges messages.
    async fn lives(&self) -> bool {
        if self.talk.connection.silence().length() >= SILENT {
            return false; // It is not asked any more.
        }
        let said = async {
            if self.talk.put(&TransferMessage::Alive).await.is_err() {
                return false;
            }
            let told = self.talk.connection.progress().accepted;
            while self.talk.connection.progress().acknowledged < told {
                tokio::time::sleep(LOOK_EVERY).await;
            }
            true
        };
        tokio::time::timeout(SIGN_OF_LIFE, said).await.unwrap_or(false)
    }
}

impl Writers {
    fn known(&self) -> MutexGuard<'_, KnownRanges> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A transfer begins. Those whose senders are dead are ended first: their
    /// last messages may still be on the way to the disk.
    pub(super) async fn join(&self, writer: &Arc<Writer>) {
        let others = {
            let mut known = self.known();
            let others = known.active();
            known.all.push(Arc::downgrade(writer));
            others
        };
        join_all(others.into_iter().map(end_if_dead)).await;
    }

    /// Ends the transfers whose senders are dead, which takes three seconds. True when
    /// all have ended.
    pub async fn end_dead(&self) -> bool {
        let others = self.known().active();
        join_all(others.into_iter().map(end_if_dead)).await.iter().all(|ended| *ended)
    }

    /// From now on this transfer writes to a partial file.
    pub(super) fn enter(&self, part: &Path, writer: &Arc<Writer>) {
        let mut known = self.known();
        known.parts.retain(|_, writer| writer.strong_count() > 0);
        known.parts.insert(part.to_owned(), Arc::downgrade(writer));
    }

    /// Ends the transfer that writes to a partial file, if its sender is dead.
    /// True when it was a transfer of this process and has ended.
    pub(super) async fn take_over(&self, part: &Path) -> bool {
        let former = self.known().parts.get(part).cloned();
        match former.map(|former| former.upgrade()) {
            None => false,
            Some(None) => true,
            Some(Some(writer)) => end_if_dead(writer).await,
        }
    }
}

/// Ends a transfer whose sender is dead. True when it has ended.
async fn end_if_dead(writer: Arc<Writer>) -> bool {
    if writer.lives().await {
        return false;
    }
    writer.over.send_replace(true);
    let former = Arc::downgrade(&writer);
    drop(writer);
    let gone = async {
        while former.strong_count() > 0 {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    tokio::time::timeout(SIGN_OF_LIFE, gone).await.is_ok()
}
