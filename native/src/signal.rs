//! Ctrl-C and similar signals.

use servent::Clock;
use servent::sys::{Hangups, Interrupts};
use servent_core::time::{Duration, Instant};

use crate::exit::{Exit, Failure, error_text};

/// Signals that come within this time are one request: a terminal and `timeout` send
/// theirs to the program and to its group.
const ONE_REQUEST: Duration = Duration::from_millis(300);

/// Resolves at the first request to end. After that a second one ends the
/// program at once, in case the user does not want to wait for saving.
pub(crate) struct Signals {
    interrupts: Interrupts,
    clock: Clock,
    /// When the first one came.
    first_at: Option<Instant>,
}

impl Signals {
    /// Installs the handlers; to be called before anything is promised.
    pub(crate) fn new() -> Result<Self, Failure> {
        let interrupts = Interrupts::new().map_err(|e| {
            Failure::new(Exit::Failed, format!("cannot watch for signals: {}", error_text(&e)))
        })?;
        Ok(Self { interrupts, clock: Clock::new(), first_at: None })
    }

    /// The requests to read the settings again, where SIGHUP means that.
    pub(crate) fn split_hangups(&mut self) -> Option<Hangups> {
        self.interrupts.split_hangups()
    }

    /// Waits for the first signal.
    pub(crate) async fn first(&mut self) {
        self.interrupts.next().await;
        self.first_at.get_or_insert(self.clock.now());
    }

    /// Waits for the next request.
    async fn another(&mut self) {
        loop {
            self.interrupts.next().await;
            if self.first_at.is_none_or(|at| self.clock.now().since(at) >= ONE_REQUEST) {
                return;
            }
        }
    }

    /// Waits for `last`; the next signal until then ends the program. Those that
    /// come later are for what follows.
    pub(crate) async fn end_before<T>(mut self, last: impl Future<Output = T>) -> T {
        tokio::select! {
            last = last => last,
            () = self.another() => std::process::exit(Exit::Interrupted as i32),
        }
    }

    /// Ends the program at the next signal, whenever that comes.
    pub(crate) fn end_at_next(mut self) {
        tokio::spawn(async move {
            self.another().await;
            std::process::exit(Exit::Interrupted as i32);
        });
    }
}
