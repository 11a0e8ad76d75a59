//! The coordinator of a swarm's world.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::event::{Event, SwarmIncident, client_of};
use super::super::host::{self, HostEvent};
use super::super::scenario::Habit;
use super::{AssignedTransfer, SOURCE, SwarmPlan, SwarmWorld, right, url};
use servent_core::engine::Effect;
use servent_core::swarm::bits::PieceSet;
use servent_core::swarm::{self, FileSpec, Input, LedgerRow, Output, client};
use servent_core::trace::RecordCause;
use servent_core::wire::pdtp::{Hash, PdtpMessage};

impl SwarmWorld {
    /// The coordinator is killed and restarts: all clients are disconnected,
    /// and only the store is kept.
    pub(super) fn open_again(&mut self) {
        let coordinator = self.coordinator().0;
        let cause = Some(self.happened(coordinator, SwarmIncident::Coordinator));
        self.end(coordinator, cause);
        self.boot(coordinator, cause);
    }

    /// The coordinator has started: it gets its stored state and the files it
    /// serves.
    pub(super) fn opened(&mut self, cause: RecordCause) {
        let scenario = Arc::clone(&self.net.scenario);
        let hashes: Arc<[Hash]> = (0..scenario.pieces).map(right).collect();
        let chunk = scenario.chunk;
        let size = u64::from(scenario.pieces) * chunk;
        let rows: Vec<LedgerRow> = self.net.store.values().cloned().collect();
        rows.into_iter().for_each(|row| self.server(Input::Restore(row), cause));
        self.server(
            Input::Serve(FileSpec { url: url(), size, chunk, hashes, sha256: None }),
            cause,
        );
        self.server(Input::Source { addr: SOURCE, slots: scenario.source_slots }, cause);
        for at in 0..self.coordinator().0 {
            if core::mem::take(&mut self.peer_mut(at).online) {
                let peer = self.peer_mut(at);
                peer.life = peer.life.wrapping_add(1);
                self.client(at, client::Input::Offline, cause);
            }
        }
    }

    /// A client's message has arrived.
    pub(super) fn deliver(&mut self, at: u32, life: u16, message: PdtpMessage, cause: RecordCause) {
        let silent = self.peer(at).habit == Habit::Silent;
        if !self.alive(at, life) || (silent && matches!(message, PdtpMessage::Completed(_))) {
            return;
        }
        let conn = self.connection(at);
        self.server(Input::Message { conn, message }, cause);
    }

    /// The coordinator's messages to one client in one turn share a frame, as
    /// the program writes them; a turn is everything that happens at one
    /// instant.
    fn count_frame(&mut self, client: u32) {
        if self.net.turn != self.now() {
            self.net.turn = self.now();
            self.net.told = PieceSet::default();
        }
        self.net.frames += u64::from(self.net.told.insert(client));
    }

    pub(super) fn server(&mut self, input: Input, cause: RecordCause) {
        self.give(self.coordinator().0, host::Input::Coordinator(input), cause);
    }

    /// Carries out effects in order. The cause of an event is the input, or the
    /// last event about the same client; the cause of a message is the last
    /// event.
    pub(super) fn follow_server(&mut self, cause: RecordCause) {
        let mut fx = core::mem::take(&mut self.fx);
        let mut latest = cause;
        for effect in fx.drain() {
            let output = match effect {
                Effect::Event(HostEvent::Coordinator(event)) => {
                    latest = Some(self.said(event, cause));
                    continue;
                }
                Effect::Output(host::Output::Coordinator(output)) => output,
                _ => continue,
            };
            match output {
                Output::Send { conn, message } => {
                    let (client, life) = (client_of(conn), conn.0 as u16);
                    self.count_frame(client);
                    let at = self.now() + self.group(client).latency;
                    self.plan(at, SwarmPlan::ToClient { client, life, message, cause: latest });
                }
                Output::Close { conn } => {
                    let (client, life) = (client_of(conn), conn.0 as u16);
                    if self.alive(client, life) {
                        self.peer_mut(client).online = false;
                        self.client(client, client::Input::Offline, latest);
                    }
                }
                Output::Save(row) => {
                    self.net.store.insert(row.owner, row);
                }
                Output::Forget(owner) => {
                    self.net.store.remove(&owner);
                }
            }
        }
        self.fx = fx;
    }

    /// Records an event of the coordinator and updates the active transfers
    /// from it.
    fn said(&mut self, event: swarm::Event, cause: RecordCause) -> u64 {
        use swarm::Event as E;
        let event = Event::Swarm(event);
        let about = event.clients().0.unwrap_or_else(|| self.coordinator().0);
        let cause = cause.or_else(|| self.own(about).as_ref().and_then(|peer| peer.last));
        let Event::Swarm(told) = &event else { return 0 };
        let told = told.clone();
        let seq = self.tell(about, cause, event);
        match told {
            E::Assigned { piece, down, up, put, .. } => {
                let (giver, at) = (up.map(client_of), self.now());
                let running =
                    AssignedTransfer { id: seq, giver, put, at, flows: None, arrived: false };
                self.net.running.insert((client_of(down), piece), running);
            }
            E::Arrived { piece, down, .. } => {
                if let Some(running) = self.net.running.get_mut(&(client_of(down), piece)) {
                    running.arrived = true;
                }
            }
            E::Confirmed { piece, down, .. } | E::Failed { piece, down, .. } => {
                self.net.running.remove(&(client_of(down), piece));
            }
            _ => {}
        }
        seq
    }
}
