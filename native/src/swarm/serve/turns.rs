//! The task that owns the coordinator.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::id::ConnId;
use servent_core::swarm::{Event, Input, Manager, Output};
use servent_core::wire::pdtp::{Message, encode};
use tokio::sync::mpsc;

use super::super::error::SwarmError;
use super::super::link::{self, Heard};
use super::tally::Tally;
use super::{ASKS, Ask};
use crate::clock::Clock;
use crate::store::{Put, Rows};

/// How often the store is flushed to the disk.
const FLUSH_EVERY: Duration = Duration::from_secs(5);

/// A client's connection, as the coordinator's task knows it.
struct Open {
    local: IpAddr,
    out: link::Out,
    merge: bool,
}

/// The coordinator's task, beside the coordinator.
pub(super) struct Turns {
    clock: Clock,
    rows: Rows,
    fx: Fx<Output, Event>,
    open: BTreeMap<ConnId, Open>,
    puts: Vec<Put>,
    /// What is to be said, and to whom nothing more.
    says: BTreeMap<ConnId, Vec<Message>>,
    closes: Vec<ConnId>,
    gone: Vec<ConnId>,
    tally: Tally,
}

impl Turns {
    pub(super) fn new(clock: Clock, rows: Rows) -> Self {
        Self {
            clock,
            rows,
            fx: Fx::new(),
            open: BTreeMap::new(),
            puts: Vec::new(),
            says: BTreeMap::new(),
            closes: Vec::new(),
            gone: Vec::new(),
            tally: Tally::default(),
        }
    }

    pub(super) const fn rows(&self) -> &Rows {
        &self.rows
    }

    pub(super) async fn run(mut self, mut manager: Manager, mut asked: mpsc::Receiver<Ask>) {
        let mut batch = Vec::with_capacity(ASKS);
        let mut flush = tokio::time::interval(FLUSH_EVERY);
        loop {
            let due = manager.poll_timeout().map(|(at, _)| self.clock.wake_at(at));
            let timer = async {
                match due {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = asked.recv_many(&mut batch, ASKS) => {}
                () = timer => {}
                _ = flush.tick() => self.flush(),
            }
            for ask in batch.drain(..) {
                if let Ask::Stop { reply } = ask {
                    let _ = self.rows.flush(); // The rows are with the system already.
                    let _ = reply.send(()); // Nobody may wait.
                    return;
                }
                self.take(&mut manager, ask);
            }
            self.timers(&mut manager);
            if let Err(why) = self.finish_turn() {
                return tracing::error!(%why, "the coordinator cannot go on");
            }
            for conn in std::mem::take(&mut self.gone) {
                self.feed(&mut manager, Input::Closed { conn });
            }
        }
    }

    /// Brings the store to the disk, elsewhere: nobody waits for that.
    fn flush(&self) {
        let flusher = self.rows.flusher();
        tokio::task::spawn_blocking(move || {
            if let Err(why) = flusher.flush() {
                tracing::error!(%why, "the ledger does not reach the disk");
            }
        });
    }

    fn timers(&mut self, manager: &mut Manager) {
        let now = self.clock.now();
        while manager.poll_timeout().is_some_and(|(at, _)| at <= now) {
            manager.handle_timeout(now, &mut self.fx);
            self.gather();
        }
    }

    fn take(&mut self, manager: &mut Manager, ask: Ask) {
        match ask {
            Ask::Opened { conn, peer, local, out } => {
                self.open.insert(conn, Open { local, out, merge: false });
                self.feed(manager, Input::Opened { conn, peer });
            }
            Ask::Heard { conn, heard: Heard::Messages(messages) } => {
                for message in messages {
                    self.feed(manager, Input::Message { conn, message });
                }
            }
            Ask::Heard { conn, heard: Heard::Unreadable(why) } => {
                self.feed(manager, Input::Unreadable { conn, why });
            }
            Ask::Closed { conn } => {
                // What is still to be said is said first.
                self.closes.push(conn);
                self.feed(manager, Input::Closed { conn });
            }
            Ask::MayServe { peer_id, url, span, reply } => {
                let _ = reply.send(manager.source_may_serve(&peer_id, &url, span));
            }
            Ask::View { clients, reply } => {
                let view = manager.view(0, clients, self.clock.now());
                let _ = reply.send((view, self.tally.clone()));
            }
            Ask::Stop { .. } => {}
        }
    }

    pub(super) fn feed(&mut self, manager: &mut Manager, input: Input) {
        let now = self.clock.now();
        manager.handle(now, input, &mut self.fx);
        self.gather();
    }

    fn gather(&mut self) {
        for effect in self.fx.drain() {
            match effect {
                Effect::Event(event) => {
                    tracing::debug!(?event);
                    self.tally.count(&event);
                }
                Effect::Output(Output::Save(row)) => {
                    let key = row.owner.to_string().into_bytes();
                    self.puts.push((key, Some(serde_json::to_vec(&row).unwrap_or_default())));
                }
                Effect::Output(Output::Forget(owner)) => {
                    self.puts.push((owner.to_string().into_bytes(), None));
                }
                Effect::Output(Output::Send { conn, message }) => {
                    self.says.entry(conn).or_default().push(message);
                }
                Effect::Output(Output::Close { conn }) => self.closes.push(conn),
            }
        }
    }

    /// Saves what the turn promises, then says it.
    pub(super) fn finish_turn(&mut self) -> Result<(), SwarmError> {
        if !self.puts.is_empty() {
            self.rows.commit(&self.puts)?;
            self.puts.clear();
        }
        for (conn, mut messages) in std::mem::take(&mut self.says) {
            let Some(open) = self.open.get_mut(&conn) else { continue };
            messages.iter_mut().for_each(|message| from_here(message, open.local));
            let mut bytes = Vec::new();
            encode(&messages, open.merge, &mut bytes);
            let agreed = messages.iter().rev().find_map(|message| match message {
                Message::Extensions(extensions) => Some(extensions.merge),
                _ => None,
            });
            open.merge = agreed.unwrap_or(open.merge);
            if !open.out.say(bytes) {
                // It reads too slowly, or has gone.
                self.open.remove(&conn);
                self.gone.push(conn);
            }
        }
        for conn in self.closes.drain(..) {
            self.open.remove(&conn);
        }
        Ok(())
    }
}

/// Our own source is where the client has found us.
fn from_here(message: &mut Message, local: IpAddr) {
    if let Message::Transfer(transfer) = message
        && transfer.about.peer_id.is_empty()
        && transfer.about.peer.is_unspecified()
    {
        transfer.about.peer = local;
    }
}
