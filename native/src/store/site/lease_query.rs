//! What holding a lease and dividing a site share: an engine of core that runs in
//! time, and the connection over which it asks the database, beside the one for
//! writing.

use std::sync::Arc;

use servent_core::engine::{Effect, Engine, FxOf};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::error::Elapsed;
use tokio_postgres::Client;

use super::Database;
use super::log_dedup::LogDedup;
use crate::clock::Clock;
use crate::error::StoreFailure;

/// An engine whose questions the database answers.
pub(super) trait Attends: Send + Sized {
    /// The engine.
    type Engine: Engine<Input: Send, Output: Send, Event: Send>;

    fn clock(&self) -> &Clock;

    fn engine(&mut self) -> &mut Self::Engine;

    /// Says what happened.
    fn note(&self, event: &<Self::Engine as Engine>::Event);

    /// Does what the engine wants; what it asked is answered.
    ///
    /// # Errors
    /// We are not in the site any more.
    fn carry_out(
        &mut self,
        output: <Self::Engine as Engine>::Output,
    ) -> impl Future<Output = Result<Option<<Self::Engine as Engine>::Input>, StoreFailure>> + Send;

    /// Does all that the engine wants, and whatever it wants after the answers.
    ///
    /// # Errors
    /// We are not in the site any more.
    fn obey(
        &mut self,
        mut fx: FxOf<Self::Engine>,
    ) -> impl Future<Output = Result<(), StoreFailure>> + Send {
        async move {
            loop {
                let effects: Vec<_> = fx.drain().collect();
                if effects.is_empty() {
                    return Ok(());
                }
                for effect in effects {
                    match effect {
                        Effect::Event(event) => self.note(&event),
                        Effect::Output(output) => {
                            if let Some(answer) = self.carry_out(output).await? {
                                let now = self.clock().now();
                                self.engine().handle(now, answer, &mut fx);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The connection for questions, opened when there is none.
pub(super) struct LeaseQuery {
    pub(super) database: Database,
    client: Option<(Client, AbortHandle)>,
    /// Why the last question was not answered.
    trouble: watch::Sender<Option<Arc<StoreFailure>>>,
    /// It is said here when the database is away. While this servent serves (`None`),
    /// that is said where it writes.
    pub(super) said: Option<LogDedup>,
}

impl LeaseQuery {
    pub(super) fn new(database: Database) -> Self {
        Self { database, client: None, trouble: watch::Sender::new(None), said: None }
    }

    /// Is told when the database cannot be asked.
    pub(super) fn troubles(&self) -> QueryTroubles {
        QueryTroubles(self.trouble.subscribe())
    }

    /// The connection. One that was closed says nothing of the database; whether
    /// another can be opened does.
    pub(super) async fn client(&mut self) -> Result<&Client, StoreFailure> {
        if self.client.as_ref().is_none_or(|(client, _)| client.is_closed()) {
            self.hang_up();
            self.client = Some(self.database.connect().await?);
        }
        let Some((client, _)) = &self.client else { unreachable!("it was connected just now") };
        Ok(client)
    }

    /// What became of a question; `None`: the database is away.
    ///
    /// # Errors
    /// The site is not one that we may be in.
    pub(super) fn receive<T>(
        &mut self,
        answer: Result<Result<T, StoreFailure>, Elapsed>,
    ) -> Result<Option<T>, StoreFailure> {
        let why = match answer {
            Ok(Ok(answer)) => {
                self.trouble.send_if_modified(|before| before.take().is_some());
                if let Some(said) = &mut self.said {
                    said.report_available(&self.database);
                }
                return Ok(Some(answer));
            }
            Ok(Err(
                other @ (StoreFailure::NewerSite { .. }
                | StoreFailure::OtherMode { .. }
                | StoreFailure::Alien { .. }),
            )) => return Err(other),
            Ok(Err(why)) => why,
            Err(_) => self.database.unavailable("it does not answer"),
        };
        self.hang_up();
        if let Some(said) = &mut self.said {
            said.report_unavailable(&why, "trying again");
        }
        let why = Arc::new(why);
        // The writer may have found it again before us: it hears of the first time.
        self.trouble.send_if_modified(|before| before.replace(why).is_none());
        Ok(None)
    }

    fn hang_up(&mut self) {
        if let Some((_, task)) = self.client.take() {
            task.abort();
        }
    }
}

impl Drop for LeaseQuery {
    fn drop(&mut self) {
        self.hang_up();
    }
}

/// Hears when a question is not answered after those before were.
#[derive(Debug)]
pub(super) struct QueryTroubles(watch::Receiver<Option<Arc<StoreFailure>>>);

impl QueryTroubles {
    /// Waits for the next time, and says why.
    pub(super) async fn next(&mut self) -> Arc<StoreFailure> {
        while self.0.changed().await.is_ok() {
            if let Some(why) = self.0.borrow_and_update().clone() {
                return why;
            }
        }
        std::future::pending().await // No task asks any more.
    }
}
