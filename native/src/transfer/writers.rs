//! Who writes to which part, so that a sender that was killed and has come
//! back can go on with what its former self still seems to write to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;

use super::message::Message;
use super::talk::Talk;

/// How long a former sender may take to show that it lives.
const SIGN_OF_LIFE: Duration = Duration::from_secs(3);
/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The transfers that write to parts.
#[derive(Debug, Default)]
pub struct Writers(Mutex<BTreeMap<PathBuf, Weak<Writer>>>);

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
    /// From now on this one writes to a part.
    pub(super) fn enter(&self, part: &Path, writer: &Arc<Writer>) {
        let mut writers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writers.retain(|_, writer| writer.strong_count() > 0);
        writers.insert(part.to_owned(), Arc::downgrade(writer));
    }

    /// Ends the transfer that writes to a part, if its sender is dead. True
    /// when nobody of this process writes to it any more.
    pub(super) async fn take_over(&self, part: &Path) -> bool {
        let former = {
            let writers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            writers.get(part).cloned()
        };
        let Some(former) = former else { return false };
        if let Some(writer) = former.upgrade() {
            if writer.lives().await {
                return false;
            }
            writer.over.send_replace(true);
        }
        let gone = async {
            while former.strong_count() > 0 {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::time::timeout(SIGN_OF_LIFE, gone).await.is_ok()
    }
}
