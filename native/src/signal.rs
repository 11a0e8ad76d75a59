//! Ctrl-C and similar signals.

use servent::sys::Interrupts;

use crate::exit::{Exit, Failure, error_text};

/// Resolves at the first request to end. After that a second one ends the
/// program at once, in case the user does not want to wait for saving.
pub(crate) struct Signals(Interrupts);

impl Signals {
    /// Installs the handlers; to be called before anything is promised.
    pub(crate) fn new() -> Result<Self, Failure> {
        Interrupts::new().map(Self).map_err(|e| {
            Failure::new(Exit::Failed, format!("cannot watch for signals: {}", error_text(&e)))
        })
    }

    /// Waits for the first signal.
    pub(crate) async fn first(&mut self) {
        self.0.next().await;
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
