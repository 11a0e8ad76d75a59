//! The coordinator in its world.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::event::{Event, Happening, client_of};
use super::super::scenario::Habit;
use super::{Due, Effects, Running, SOURCE, World, right, url};
use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::rng::Rng;
use servent_core::swarm::bits::Bits;
use servent_core::swarm::{self, FileSpec, Input, Manager, Output, Row, client};
use servent_core::trace::Cause;
use servent_core::wire::pdtp::{Hash, Message};

impl World {
    /// The coordinator begins; when again, everybody is cut off and only the
    /// store is as it was.
    pub(super) fn open(&mut self, again: bool) {
        let seed = self.plan.seed;
        let rng = Rng::new(seed).fork("coordinator", self.starts);
        self.starts += 1;
        let cause = again.then(|| self.happened(self.coordinator().0, Happening::Coordinator));
        if again {
            self.manager = Manager::new(self.plan.swarm.clone(), &rng);
            self.armed = None;
            self.running.clear();
        }
        let hashes: Arc<[Hash]> = (0..self.plan.pieces).map(right).collect();
        let chunk = self.plan.chunk;
        let size = u64::from(self.plan.pieces) * chunk;
        let rows: Vec<Row> = self.store.values().cloned().collect();
        rows.into_iter().for_each(|row| self.server(Input::Restore(row), cause));
        self.server(Input::Serve(FileSpec { url: url(), size, chunk, hashes }), cause);
        self.server(Input::Source { addr: SOURCE, slots: self.plan.source_slots }, cause);
        if again {
            for at in 0..self.peers.len() as u32 {
                if core::mem::take(&mut self.peers[at as usize].online) {
                    let peer = &mut self.peers[at as usize];
                    peer.life = peer.life.wrapping_add(1);
                    self.client(at, client::Input::Offline, cause);
                }
            }
        }
    }

    /// A message of a client has arrived.
    pub(super) fn deliver(&mut self, at: u32, life: u16, message: Message, cause: Cause) {
        let silent = self.peers[at as usize].habit == Habit::Silent;
        if !self.alive(at, life) || (silent && matches!(message, Message::Completed(_))) {
            return;
        }
        let conn = self.connection(at);
        self.server(Input::Message { conn, message }, cause);
    }

    /// What the coordinator says to one client in one turn shares a frame, as
    /// the program writes it; a turn is all that happens at one instant.
    fn count_frame(&mut self, client: u32) {
        if self.turn != self.agenda.now() {
            self.turn = self.agenda.now();
            self.told = Bits::default();
        }
        self.frames += u64::from(self.told.insert(client));
    }

    pub(super) fn server(&mut self, input: Input, cause: Cause) {
        let mut fx = Fx::new();
        self.manager.handle(self.agenda.now(), input, &mut fx);
        self.follow_server(fx, cause);
    }

    pub(super) fn server_timer(&mut self) {
        if self.armed != Some(self.agenda.now()) {
            return; // An earlier one took its place.
        }
        self.armed = None;
        let mut fx = Fx::new();
        if self.manager.poll_timeout().is_some_and(|(at, _)| at <= self.agenda.now()) {
            self.manager.handle_timeout(self.agenda.now(), &mut fx);
        }
        self.follow_server(fx, None);
    }

    /// Carries out effects in their order. What it says has as its cause what
    /// it was told, or what was said last about the same client; what it
    /// sends, what it said last.
    fn follow_server(&mut self, mut fx: Effects<Output, swarm::Event>, cause: Cause) {
        let mut latest = cause;
        for effect in fx.drain() {
            match effect {
                Effect::Event(event) => latest = Some(self.said(event, cause)),
                Effect::Output(Output::Send { conn, message }) => {
                    let (client, life) = (client_of(conn), conn.0 as u16);
                    self.count_frame(client);
                    let at = self.agenda.now() + self.group(client).latency;
                    self.plan(at, Due::ToClient { client, life, message, cause: latest });
                }
                Effect::Output(Output::Close { conn }) => {
                    let (client, life) = (client_of(conn), conn.0 as u16);
                    if self.alive(client, life) {
                        self.peers[client as usize].online = false;
                        self.client(client, client::Input::Offline, latest);
                    }
                }
                Effect::Output(Output::Save(row)) => {
                    self.store.insert(row.owner, row);
                }
                Effect::Output(Output::Forget(owner)) => {
                    self.store.remove(&owner);
                }
            }
        }
        let Some((at, _)) = self.manager.poll_timeout() else { return };
        let at = at.max(self.agenda.now());
        if self.armed.is_none_or(|armed| at < armed) {
            self.armed = Some(at);
            self.plan(at, Due::ServerTimer);
        }
    }

    /// The coordinator says something: it is recorded, and what runs is known
    /// from it.
    fn said(&mut self, event: swarm::Event, cause: Cause) -> u64 {
        use swarm::Event as E;
        let event = Event::Swarm(event);
        let about = event.clients().0.unwrap_or_else(|| self.coordinator().0);
        let cause = cause.or_else(|| self.peers.get(about as usize).and_then(|peer| peer.last));
        let Event::Swarm(told) = &event else { return 0 };
        let told = told.clone();
        let seq = self.note(about, cause, event);
        match told {
            E::Assigned { piece, down, up, put, .. } => {
                let (giver, at) = (up.map(client_of), self.agenda.now());
                let running = Running { id: seq, giver, put, at, flows: None, arrived: false };
                self.running.insert((client_of(down), piece), running);
            }
            E::Arrived { piece, down, .. } => {
                if let Some(running) = self.running.get_mut(&(client_of(down), piece)) {
                    running.arrived = true;
                }
            }
            E::Confirmed { piece, down, .. } | E::Failed { piece, down, .. } => {
                self.running.remove(&(client_of(down), piece));
            }
            _ => {}
        }
        seq
    }
}
