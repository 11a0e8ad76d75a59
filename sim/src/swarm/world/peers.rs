//! The clients in their world.

use alloc::collections::BTreeMap;
use core::net::{IpAddr, Ipv4Addr};

use super::super::FIRST;
use super::super::event::{Event, Happening, connection};
use super::{Due, Effects, Peer, SOURCE, Wire, World, url};
use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::id::ConnId;
use servent_core::swarm::Input as ServerInput;
use servent_core::swarm::bits::Bits;
use servent_core::swarm::client::{self, Client, Input, Output};
use servent_core::time::Instant;
use servent_core::trace::{Cause, NodeId};
use servent_core::wire::pdtp::{Method, Reason};

/// Where a client listens.
const PORT: u16 = 1_000;
/// What may wait for a client that stands still.
const INBOX: usize = 1_024;

impl World {
    /// A client's machine before it comes.
    pub(super) fn machine(&self, client: u32) -> Peer {
        let group = self.group(client);
        Peer {
            engine: self.engine(client, group.passive),
            link: super::super::link::Link::new(group.up, group.down),
            disk: BTreeMap::new(),
            kept: Bits::none(self.plan.pieces),
            held: 0,
            life: 0,
            boot: 0,
            up: false,
            online: false,
            came: false,
            done: None,
            armed: None,
            habit: group.habit,
            passive: group.passive,
            stalled: None,
            last: None,
        }
    }

    fn engine(&self, client: u32, passive: bool) -> Client {
        let most = self.group(client).most;
        Client::new(client::Config {
            id: alloc::format!("c{client}").into(),
            listen_port: Some(PORT).filter(|_| !passive),
            max_download: most.map(|(down, _)| down),
            max_upload: most.map(|(_, up)| up),
            ..client::Config::default()
        })
    }

    /// A client's address. Those of a group behind one address have the first
    /// one's.
    #[must_use]
    pub fn address(&self, client: u32) -> IpAddr {
        let first = match self.plan.group(NodeId(client)) {
            Some((group, index)) if group.nat => client - index,
            _ => client,
        };
        IpAddr::V4(Ipv4Addr::from_bits(FIRST + first))
    }

    /// Who can be connected to at an address.
    pub(super) fn listens_at(&self, ip: IpAddr) -> Option<u32> {
        let IpAddr::V4(ip) = ip else { return None };
        let first = ip.to_bits().checked_sub(FIRST)?;
        let (group, index) = self.plan.group(NodeId(first))?;
        let last = if group.nat { first + group.count - index } else { first + 1 };
        let open = |client: &u32| {
            let peer = &self.peers[*client as usize];
            peer.up && !peer.passive && !group.firewalled
        };
        (first..last).find(open)
    }

    pub(in super::super) fn connection(&self, client: u32) -> ConnId {
        connection(client, self.peers[client as usize].life)
    }

    pub(super) fn alive(&self, client: u32, life: u16) -> bool {
        let peer = &self.peers[client as usize];
        peer.up && peer.online && peer.life == life
    }

    /// A client comes, with what it has.
    pub(super) fn arrive(&mut self, at: u32) {
        let (now, chunk) = (self.agenda.now(), self.plan.chunk);
        if self.peers[at as usize].up {
            return; // Somebody started it meanwhile.
        }
        let passive = self.peers[at as usize].passive;
        let engine = self.engine(at, passive);
        let peer = &mut self.peers[at as usize];
        peer.engine = engine;
        let first = !core::mem::replace(&mut peer.came, true);
        peer.up = true;
        peer.life = peer.life.wrapping_add(1);
        peer.boot += 1;
        peer.armed = None;
        peer.stalled = None;
        peer.link.clear(now);
        let (held, life) = (peer.held, peer.life);
        let have = peer.kept.iter().collect();
        let seq = self.happened(at, Happening::Came { held });
        if let Some(after) = self.group(at).vanishes
            && first
        {
            self.plan(now + after, Due::Vanish { client: at, life });
        }
        self.client(at, Input::Want { url: url(), chunk, have }, Some(seq));
    }

    /// A client ends; what is on its disk stays.
    pub(super) fn vanish(&mut self, at: u32) {
        let peer = &mut self.peers[at as usize];
        if !core::mem::take(&mut peer.up) {
            return;
        }
        peer.stalled = None;
        peer.armed = None;
        let cause = peer.last;
        let online = core::mem::take(&mut peer.online);
        self.break_wires(|wire| wire.touches(at));
        if online {
            let conn = self.connection(at);
            self.server(ServerInput::Closed { conn }, cause);
        }
    }

    /// A client that went as planned comes again, if that is planned too.
    pub(super) fn comes_again(&mut self, at: u32) {
        let done = self.peers[at as usize].done.is_some();
        if let Some(after) = self.group(at).returns.filter(|_| !done) {
            self.plan(self.agenda.now() + after, Due::Arrive(at));
        }
    }

    /// Hands an input to a client, or keeps it while that stands still.
    pub(super) fn client(&mut self, at: u32, input: Input, cause: Cause) {
        let peer = &mut self.peers[at as usize];
        if let Some((_, inbox)) = &mut peer.stalled {
            if inbox.len() < INBOX {
                inbox.push((input, cause));
            }
            return;
        }
        let mut fx = Fx::new();
        peer.engine.handle(self.agenda.now(), input, &mut fx);
        self.follow(at, fx, cause);
    }

    pub(super) fn timer(&mut self, at: u32) {
        let peer = &mut self.peers[at as usize];
        if peer.armed != Some(self.agenda.now()) {
            return; // An earlier one took its place.
        }
        peer.armed = None;
        let mut fx = Fx::new();
        let due = peer.engine.poll_timeout().is_some_and(|(due, _)| due <= self.agenda.now());
        if peer.up && due && peer.stalled.is_none() {
            peer.engine.handle_timeout(self.agenda.now(), &mut fx);
        }
        self.follow(at, fx, None);
    }

    fn follow(&mut self, at: u32, mut fx: Effects<Output, client::Event>, cause: Cause) {
        let mut latest = cause;
        let mut says = false;
        for effect in fx.drain() {
            // What it says in one turn shares a frame.
            if let Effect::Output(Output::Send(_)) = &effect
                && !core::mem::replace(&mut says, true)
            {
                self.frames += 1;
            }
            match effect {
                Effect::Output(output) => self.carry_out(at, output, latest),
                Effect::Event(event) if says_more(&event) => {
                    latest = Some(self.note(at, cause, Event::Client(event)));
                }
                Effect::Event(_) => {}
            }
        }
        self.arm(at);
    }

    /// Plans a client's next timer.
    pub(super) fn arm(&mut self, at: u32) {
        let (now, peer) = (self.agenda.now(), &mut self.peers[at as usize]);
        if !peer.up || peer.stalled.is_some() {
            return;
        }
        let Some((due, _)) = peer.engine.poll_timeout() else { return };
        let due = due.max(now);
        if peer.armed.is_none_or(|armed| due < armed) {
            peer.armed = Some(due);
            self.plan(due, Due::Timer { client: at });
        }
    }

    fn carry_out(&mut self, at: u32, output: Output, cause: Cause) {
        match output {
            Output::Connect => {
                self.peers[at as usize].online = true;
                let (conn, peer) = (self.connection(at), self.address(at));
                self.server(ServerInput::Opened { conn, peer }, cause);
                self.client(at, Input::Online { coordinator: SOURCE.ip() }, cause);
            }
            Output::Send(message) => {
                let due = self.agenda.now() + self.group(at).latency;
                let life = self.peers[at as usize].life;
                self.plan(due, Due::ToServer { client: at, life, message, cause });
            }
            Output::Fetch { job, from, url, span, .. } if from == SOURCE => {
                self.download(at, job, &url, span);
            }
            Output::Fetch { job, from, url, span, .. } => {
                self.knock(at, job, from, (url, span), Method::Get);
            }
            Output::Push { job, to, url, span } => {
                self.knock(at, job, to, (url, span), Method::Put)
            }
            Output::Serve { job, conn, .. } | Output::Take { job, conn, .. } => {
                self.transmit(at, job, conn.0);
            }
            Output::Refuse { conn, .. } => self.break_wire(conn.0, Reason::Data),
            Output::Abort { job } => {
                let of = |wire: &Wire| wire.began == (at, job) || wire.other == Some((at, job));
                self.break_wires(of);
            }
            Output::Keep { piece, .. } => {
                let peer = &mut self.peers[at as usize];
                peer.held += u32::from(peer.kept.insert(piece));
                peer.disk.remove(&piece);
            }
            Output::Done { .. } => self.done(at),
            Output::Info { .. } | Output::Failed { .. } => {}
        }
    }

    /// It has everything.
    fn done(&mut self, at: u32) {
        let (now, expected) = (self.agenda.now(), self.expected(at));
        let peer = &mut self.peers[at as usize];
        if peer.done.is_none() {
            peer.done = Some(now);
            self.served += u32::from(expected);
        }
        let life = self.peers[at as usize].life;
        if let Some(stays) = self.group(at).stays {
            self.plan(now + stays, Due::Vanish { client: at, life });
        }
    }

    /// True when a client that must get everything is there and has not.
    #[must_use]
    pub fn somebody_waits(&self) -> bool {
        let all = (0..).zip(&self.peers);
        all.into_iter().any(|(at, peer)| peer.up && peer.done.is_none() && self.expected(at))
    }

    /// Pieces of which some of what lies on a client's disk is wrong.
    pub(in super::super) fn wrong(&self, client: u32) -> impl Iterator<Item = u32> {
        let disk = self.peers[client as usize].disk.iter();
        disk.filter(|(_, content)| content.is_wrong()).map(|(piece, _)| *piece)
    }

    /// When a client had everything.
    #[must_use]
    pub fn done_at(&self, client: u32) -> Option<Instant> {
        self.peers.get(client as usize)?.done
    }
}

/// What the coordinator does not say itself, or only later.
const fn says_more(event: &client::Event) -> bool {
    use client::Event as E;
    matches!(
        event,
        E::Wrong { .. }
            | E::Overdue { .. }
            | E::Refused { .. }
            | E::Ignored { .. }
            | E::Complaint { .. }
            | E::Offline { .. }
    )
}
