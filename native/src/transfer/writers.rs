//! Who writes to which part, so that a sender that was killed and has come
//! back can go on with what its former self still seems to write to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::future::join_all;
use tokio::sync::watch;

use super::message::Message;
use super::talk::Talk;

/// How long a former sender may take to show that it lives.
const SIGN_OF_LIFE: Duration = Duration::from_secs(3);
/// How often it is looked at.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The transfers that write to parts.
#[derive(Debug, Default)]
pub struct Writers(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// All that are under way.
    all: Vec<Weak<Writer>>,
    /// Who writes to which part.
    parts: BTreeMap<PathBuf, Weak<Writer>>,
}

/// One transfer that writes.
pub(super) struct Writer {
    talk: Arc<Talk>,
    /// Somebody else goes on with it.
    over: watch::Sender<bool>,
}

impl Writer {
    pub(super) fn new(talk: Arc<Talk>) -> Arc<Self> {
        Arc::new(Self { talk, over: watch::Sender::new(false) })
    }

    /// Waits until somebody else goes on with what this one writes.
    pub(super) async fn taken_over(&self) {
        // The sender of the news is this writer itself, so it does not end.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }

    /// Whether its sender still acknowledges what it is told.
    async fn lives(&self) -> bool {
        let said = async {
            if self.talk.put(&Message::Alive).await.is_err() {
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
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A transfer begins. Those whose senders are dead end first: what such a
    /// sender said last may still be on its way to the disk.
    pub(super) async fn join(&self, writer: &Arc<Writer>) {
        let others: Vec<Arc<Writer>> = {
            let mut known = self.known();
            known.all.retain(|other| other.strong_count() > 0);
            let others = known.all.iter().filter_map(Weak::upgrade).collect();
            known.all.push(Arc::downgrade(writer));
            others
        };
        join_all(others.into_iter().map(end_if_dead)).await;
    }

    /// From now on this one writes to a part.
    pub(super) fn enter(&self, part: &Path, writer: &Arc<Writer>) {
        let mut known = self.known();
        known.parts.retain(|_, writer| writer.strong_count() > 0);
        known.parts.insert(part.to_owned(), Arc::downgrade(writer));
    }

    /// Ends the transfer that writes to a part, if its sender is dead. True
    /// when nobody of this process writes to it any more.
    pub(super) async fn take_over(&self, part: &Path) -> bool {
        let former = self.known().parts.get(part).cloned();
        match former.map(|former| former.upgrade()) {
            None => false,
            Some(None) => true,
            Some(Some(writer)) => end_if_dead(writer).await,
        }
    }
}

/// Ends a transfer whose sender is dead. True when it is over.
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
