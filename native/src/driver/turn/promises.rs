//! What a turn promises is saved before it is said.
//!
//! While the database of a site is away nothing new is promised: the node is
//! told, and answers accordingly. What it had promised before it knew is held
//! back, and so is everything later on the same connections. A client does not
//! wait for that for ever: after [`ANSWER_WITHIN`] the node says something else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use servent_core::id::ConnId;
use servent_core::node::{ConnInput, ConnOutput, Input, SiteInput};
use servent_core::time::{Duration as Span, Instant};

use super::outputs::TurnOutput;
use super::{Loop, TURN};
use crate::counters::add;
use crate::error::{RunError, StoreFailure};
use crate::net::Report;
use crate::store::{CommitOutcome, Store};

/// How long flushing the sockets may take after the node has stopped.
const STOP_WAIT: Duration = Duration::from_secs(3);
/// How long a reply that promises something waits for a database that is away.
/// Longer than the store itself waits for an answer, so that a short pause costs
/// no client a second request.
const ANSWER_WITHIN: Span = Span::from_secs(4);

/// What waits for a database that is away. The node is told at once, so there
/// is little per connection, and the number of connections is limited.
#[derive(Debug, Default)]
pub(super) struct PendingPromises {
    away: bool,
    outputs: Vec<TurnOutput>,
    /// The connections of these, and when those that may be answered otherwise
    /// are.
    conns: BTreeMap<ConnId, Option<Instant>>,
}

impl PendingPromises {
    /// Holds an output back when it promises something that is not saved, or
    /// follows one that does on the same connection.
    fn park(&mut self, now: Instant, (promises, output): (bool, TurnOutput)) -> Option<TurnOutput> {
        let conn = conn_of(&output);
        if !promises && !conn.is_some_and(|conn| self.conns.contains_key(&conn)) {
            return Some(output);
        }
        if let Some(conn) = conn {
            let until = self.conns.entry(conn).or_default();
            if until.is_none() && is_write(&output) {
                *until = Some(now + ANSWER_WITHIN);
            }
        }
        self.outputs.push(output);
        None
    }

    /// When a client has waited long enough.
    pub(super) fn due(&self) -> Option<Instant> {
        self.conns.values().flatten().min().copied()
    }

    /// Those who have waited long enough at `now`.
    fn late(&self, now: Instant) -> Vec<ConnId> {
        let late = |until: &Option<Instant>| until.is_some_and(|until| until <= now);
        self.conns.iter().filter(|(_, until)| late(until)).map(|(conn, _)| *conn).collect()
    }

    /// What is held back on a connection may not be given up.
    fn insist(&mut self, conn: ConnId) {
        self.conns.insert(conn, None);
    }

    /// Gives up what is held back on a connection; returns how many writes that
    /// were.
    fn give_up(&mut self, conn: ConnId) -> usize {
        self.conns.remove(&conn);
        let its = |output: &mut TurnOutput| conn_of(output) == Some(conn);
        let gone = self.outputs.extract_if(.., its);
        gone.filter(is_write).count()
    }
}

/// The connection an output is about.
const fn conn_of(output: &TurnOutput) -> Option<ConnId> {
    match output {
        TurnOutput::Connection(conn, _) => Some(*conn),
        TurnOutput::Fetch(_) | TurnOutput::Swarm(_) | TurnOutput::Answer(_) => None,
    }
}

const fn is_write(output: &TurnOutput) -> bool {
    matches!(output, TurnOutput::Connection(_, ConnOutput::Write { .. }))
}

impl Loop {
    /// Saves what the turn promises, then carries out the outputs.
    pub(super) async fn finish_turn(&mut self, now: Instant) -> Result<(), StoreFailure> {
        add(&self.host.outside.counters.turns, 1);
        let away = self.promises.held.away || self.disk.store.as_ref().is_some_and(Store::is_away);
        if away || !self.promises.changes.is_empty() {
            let kept = self.commit().await?;
            if (kept == CommitOutcome::Later) != self.promises.held.away {
                self.store_changed(now, kept).await?;
            }
        }
        for output in std::mem::take(&mut self.promises.outputs) {
            let output = if self.promises.held.away {
                self.promises.held.park(now, output)
            } else {
                Some(output.1)
            };
            if let Some(output) = output {
                self.carry_out(output);
            }
        }
        if !self.promises.held.away || self.disk.store.as_ref().is_some_and(Store::has_own) {
            for (outcome, told) in self.promises.wished.drain(..) {
                let _ = told.send(Ok(outcome)); // The asker may be gone.
            }
        }
        self.end_datagrams(now);
        for conn in self.sockets.taken.drain(..) {
            if let Some(outbox) = self.sockets.conns.get(&conn) {
                outbox.taken();
            }
        }
        if let Some(tape) = &mut self.host.tape {
            add(&self.host.outside.counters.trace_lines_dropped, tape.turn(now));
        }
        Ok(())
    }

    /// A client that has waited long enough for a promise gets another reply.
    pub(super) fn unsay(&mut self, now: Instant) {
        for conn in self.promises.held.late(now) {
            if self.host.node.may_retract(conn) {
                let several = self.promises.held.give_up(conn) > 1;
                self.feed(now, Input::Connection(conn, ConnInput::Retracted { several }));
            } else {
                self.promises.held.insist(conn);
            }
        }
    }

    /// The database went away, or it is back: tells the node, and says what was
    /// held back.
    async fn store_changed(
        &mut self,
        now: Instant,
        kept: CommitOutcome,
    ) -> Result<(), StoreFailure> {
        self.promises.held.away = kept == CommitOutcome::Later;
        self.tell_lag(now);
        add(&self.host.outside.counters.store_outages, u64::from(self.promises.held.away));
        if self.promises.held.away {
            self.feed(now, Input::Site(SiteInput::StoreUnavailable));
            return Ok(());
        }
        let PendingPromises { outputs, .. } = std::mem::take(&mut self.promises.held);
        for output in outputs {
            self.carry_out(output);
        }
        self.feed(now, Input::Site(SiteInput::StoreAvailable));
        self.promises.held.away = self.commit().await? == CommitOutcome::Later;
        self.tell_lag(now);
        if self.promises.held.away {
            self.feed(now, Input::Site(SiteInput::StoreUnavailable));
        }
        Ok(())
    }

    /// Tells other tasks whether everything is saved, and if not, since when.
    fn tell_lag(&self, now: Instant) {
        self.host.outside.unsaved.tell(self.promises.held.away.then_some(now));
    }

    async fn commit(&mut self) -> Result<CommitOutcome, StoreFailure> {
        let Some(store) = &mut self.disk.store else {
            self.promises.changes.clear();
            return Ok(CommitOutcome::Durable);
        };
        let counters = Arc::clone(&self.host.outside.counters);
        let changes = self.promises.changes.len() as u64;
        let begun = self.host.clock.now();
        let kept = store.commit(&mut self.promises.changes).await?;
        if changes > 0 {
            add(&counters.commits, 1);
            add(&counters.changes, changes);
            add(&counters.commit_micros, self.host.clock.now().since(begun).as_micros());
        }
        Ok(kept)
    }

    /// Sends datagrams, and drops the endpoint when everything has been sent.
    fn end_datagrams(&mut self, now: Instant) {
        if let Some(mut messaging) = self.host.messaging.take()
            && !messaging.end_turn(now, self)
        {
            self.host.messaging = Some(messaging);
        }
        self.said.clear(); // Left over when there is no endpoint.
    }

    /// Flushes the store to disk without making a connection wait.
    pub(super) fn flush_aside(&self) {
        let Some(flusher) = self.disk.store.as_ref().and_then(Store::flusher) else { return };
        tokio::task::spawn_blocking(move || {
            if let Err(why) = flusher.flush() {
                tracing::warn!(%why, "cannot flush the state to the disk");
            }
        });
    }

    /// Lets the sockets flush what the node sent last, within a time limit, and
    /// saves.
    pub(super) async fn wind_up(&mut self, batch: &mut Vec<Report>) -> Result<(), RunError> {
        let deadline = self.host.clock.now();
        let deadline = self.host.clock.wake_at(deadline) + STOP_WAIT;
        while !self.sockets.conns.is_empty() {
            let more = self.mail.reported.recv_many(batch, TURN);
            if tokio::time::timeout_at(deadline, more).await.is_err() {
                break;
            }
            let now = self.host.clock.now();
            batch.drain(..).for_each(|report| self.report(now, report));
            self.finish_turn(now).await?;
        }
        let Some(store) = &mut self.disk.store else { return Ok(()) };
        while store.commit(&mut self.promises.changes).await? == CommitOutcome::Later {
            // What is pending was announced to no client, so none loses anything.
            match tokio::time::timeout_at(deadline, store.news()).await {
                Ok(news) => drop(news?),
                Err(_) => return Ok(()),
            }
        }
        store.leave().await;
        let Some(flusher) = store.flusher() else { return Ok(()) };
        let flushed = tokio::task::spawn_blocking(move || flusher.flush());
        let flushed = flushed.await.map_err(|_| RunError::Gone)?;
        flushed.map_err(|why| RunError::Store(store.io_error(why)))
    }
}
