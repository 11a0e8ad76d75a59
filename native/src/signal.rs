//! Ctrl-C and similar signals.

use tokio::signal::unix::{SignalKind, signal};

use crate::exit::{Exit, Failure, error_text};

/// Resolves at the first SIGINT or SIGTERM. After that a second one ends the
/// program at once, in case the user does not want to wait for saving.
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    /// Installs the handlers; to be called before anything is promised.
    pub(crate) fn new() -> Result<Self, Failure> {
        let take = |kind| {
            signal(kind).map_err(|e| {
                Failure::new(Exit::Failed, format!("cannot watch for signals: {}", error_text(&e)))
            })
        };
        Ok(Self {
            interrupt: take(SignalKind::interrupt())?,
            terminate: take(SignalKind::terminate())?,
        })
    }

    /// Waits for the first signal.
    pub(crate) async fn first(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Waits for `last`; the next signal until then ends the program. Those that
    /// come later are for what follows.
    pub(crate) async fn end_before<T>(mut self, last: impl Future<Output = T>) -> T {
        tokio::select! {
            last = last => last,
            () = self.first() => std::process::exit(Exit::Interrupted as i32),
        }
    }

    /// Ends the program at the next signal, whenever that comes.
    pub(crate) fn end_at_next(mut self) {
        tokio::spawn(async move {
            self.first().await;
            std::process::exit(Exit::Interrupted as i32);
        });
    }
}
