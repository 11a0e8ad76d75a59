//! Whether to take what is sent: the questions that are open, and what was
//! agreed to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::watch;

/// The questions that are being asked, all withdrawn together.
#[derive(Clone, Default)]
pub(crate) struct Questions {
    /// Those without an answer.
    pub(crate) open: Counted,
    /// Transfers that were agreed to and have not ended.
    pub(crate) agreed: Counted,
    /// Connections on which we wait for our turn, before anything is asked, as the sender serves
    /// one that it takes for us; whether that was said.
    pub(crate) turns: Counted,
    pub(crate) said_turn: Arc<AtomicBool>,
    withdrawn: watch::Sender<bool>,
}

/// How many of something there are.
#[derive(Clone, Default)]
pub(crate) struct Counted(Arc<AtomicUsize>);

/// One of them, until it is dropped.
pub(crate) struct One(Counted);

impl Counted {
    pub(crate) fn one(&self) -> One {
        self.0.fetch_add(1, Ordering::Relaxed);
        One(self.clone())
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for One {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Questions {
    /// Withdraws them and says how many there were.
    pub(crate) fn withdraw(&self) -> usize {
        self.withdrawn.send_replace(true);
        self.open.count()
    }

    /// Waits until they are withdrawn.
    pub(crate) async fn withdrawn(&self) {
        // The sender is ours: it does not go away.
        let _ = self.withdrawn.subscribe().wait_for(|withdrawn| *withdrawn).await;
    }
}
