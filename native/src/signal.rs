//! Ctrl-C and its relatives.

use tokio::signal::unix::{SignalKind, signal};

use crate::exit::{Exit, Failure, said};

/// Resolves at the first SIGINT or SIGTERM. From then on a second one ends
/// the program at once, in case saving takes longer than patience.
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    /// Takes the signals over; to be called before anything is promised.
    pub(crate) fn new() -> Result<Self, Failure> {
        let take = |kind| {
            signal(kind).map_err(|e| {
                Failure::new(Exit::Failed, format!("cannot watch for signals: {}", said(&e)))
            })
        };
        Ok(Self {
            interrupt: take(SignalKind::interrupt())?,
            terminate: take(SignalKind::terminate())?,
        })
    }

    /// Waits for the first one.
    pub(crate) async fn first(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Ends the program at the next one.
    pub(crate) fn end_at_next(mut self) {
        tokio::spawn(async move {
            self.first().await;
            std::process::exit(Exit::Interrupted as i32);
        });
    }
}
