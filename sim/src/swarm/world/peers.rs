//! The clients of a swarm's world.

use alloc::collections::BTreeMap;
use core::net::{IpAddr, Ipv4Addr};

use super::super::event::{Event, SwarmIncident, connection};
use super::super::host::{self, HostEvent};
use super::super::{FIRST, PeerGroup};
use super::{SOURCE, SwarmMachine, SwarmPlan, SwarmTransfer, SwarmWorld, url};
use crate::links::piece::AccessLink;
use servent_core::engine::Effect;
use servent_core::id::ConnId;
use servent_core::swarm::Input as ServerInput;
use servent_core::swarm::bits::PieceSet;
use servent_core::swarm::client::{self, Input, Output};
use servent_core::time::Instant;
use servent_core::trace::{NodeId, RecordCause};
use servent_core::wire::pdtp::{Reason, TransferMethod};

/// The most inputs that wait for a stalled client.
const INBOX: usize = 1_024;

impl SwarmMachine {
    /// A client's machine before the client arrives.
    pub(super) fn new(group: &PeerGroup, pieces: u32) -> Self {
        Self {
            link: AccessLink::new(group.up, group.down),
            disk: BTreeMap::new(),
            kept: PieceSet::none(pieces),
            held: 0,
            life: 0,
            online: false,
            came: false,
            done: None,
            habit: group.habit,
            passive: group.passive,
            firewalled: group.firewalled,
            last: None,
        }
    }
}

impl SwarmWorld {
    /// A client's address. Clients of a group behind one address have that of
    /// the first.
    pub(in super::super) fn address(&self, client: u32) -> IpAddr {
        let first = match self.net.scenario.group(NodeId(client)) {
            Some((group, index)) if group.nat => client - index,
            _ => client,
        };
        IpAddr::V4(Ipv4Addr::from_bits(FIRST + first))
    }

    /// The client that accepts connections at an address.
    pub(super) fn listens_at(&self, ip: IpAddr) -> Option<u32> {
        let IpAddr::V4(ip) = ip else { return None };
        let first = ip.to_bits().checked_sub(FIRST)?;
        let (group, index) = self.net.scenario.group(NodeId(first))?;
        let last = if group.nat { first + group.count - index } else { first + 1 };
        let open = |client: &u32| {
            let peer = self.peer(*client);
            self.up(*client) && !peer.passive && !peer.firewalled
        };
        (first..last).find(open)
    }

    pub(in super::super) fn connection(&self, client: u32) -> ConnId {
        connection(client, self.peer(client).life)
    }

    pub(super) fn alive(&self, client: u32, life: u16) -> bool {
        let peer = self.peer(client);
        self.up(client) && peer.online && peer.life == life
    }

    /// A client arrives, unless it was started meanwhile.
    pub(super) fn arrive(&mut self, at: u32) {
        if !self.up(at) {
            self.boot(at, None);
        }
    }

    /// A client runs, with what it has on disk.
    pub(super) fn came(&mut self, at: u32) {
        let (now, chunk) = (self.now(), self.net.scenario.chunk);
        let peer = self.peer_mut(at);
        let first = !core::mem::replace(&mut peer.came, true);
        peer.life = peer.life.wrapping_add(1);
        peer.link.clear(now);
        let (held, life) = (peer.held, peer.life);
        let have = peer.kept.iter().collect();
        let seq = self.happened(at, SwarmIncident::Came { held });
        if let Some(after) = self.group(at).vanishes
            && first
        {
            self.plan(now + after, SwarmPlan::Vanish { client: at, life });
        }
        self.client(at, Input::Want { url: url(), chunk, have }, Some(seq));
    }

    /// A client has ended; what is on its disk stays.
    pub(super) fn vanished(&mut self, at: u32, cause: RecordCause) {
        let peer = self.peer_mut(at);
        peer.last = cause;
        let online = core::mem::take(&mut peer.online);
        self.break_wires(|wire| wire.touches(at));
        if online {
            let conn = self.connection(at);
            self.server(ServerInput::Closed { conn }, cause);
        }
    }

    /// A client that left as planned comes back, if that is planned too.
    pub(super) fn comes_again(&mut self, at: u32) {
        let done = self.peer(at).done.is_some();
        if let Some(after) = self.group(at).returns.filter(|_| !done) {
            self.plan(self.now() + after, SwarmPlan::Arrive(at));
        }
    }

    /// Passes an input to a client; when too many wait for a stalled one, they
    /// are lost.
    pub(super) fn client(&mut self, at: u32, input: Input, cause: RecordCause) {
        if self.slot(at).inbox.len() < INBOX {
            self.give(at, host::Input::Client(input), cause);
        }
    }

    /// Carries out the outputs of a client.
    pub(super) fn follow(&mut self, at: u32, cause: RecordCause) {
        let mut fx = core::mem::take(&mut self.fx);
        let mut latest = cause;
        let mut says = false;
        for effect in fx.drain() {
            // The messages of one turn share a frame.
            if let Effect::Output(host::Output::Client(Output::Send(_))) = &effect
                && !core::mem::replace(&mut says, true)
            {
                self.net.frames += 1;
            }
            match effect {
                Effect::Output(host::Output::Client(output)) => self.output(at, output, latest),
                Effect::Event(HostEvent::Client(event)) if says_more(&event) => {
                    latest = Some(self.tell(at, cause, Event::Client(event)));
                }
                _ => {}
            }
        }
        self.fx = fx;
    }

    fn output(&mut self, at: u32, output: Output, cause: RecordCause) {
        match output {
            Output::Connect => {
                self.peer_mut(at).online = true;
                let (conn, peer) = (self.connection(at), self.address(at));
                self.server(ServerInput::Opened { conn, peer }, cause);
                self.client(at, Input::Online { coordinator: SOURCE.ip() }, cause);
            }
            Output::Send(message) => {
                let due = self.now() + self.group(at).latency;
                let life = self.peer(at).life;
                self.plan(due, SwarmPlan::ToServer { client: at, life, message, cause });
            }
            Output::Fetch { job, from, url, span, .. } if from == SOURCE => {
                self.download(at, job, &url, span);
            }
            Output::Fetch { job, from, url, span, .. } => {
                self.connect(at, job, from, (url, span), TransferMethod::Get);
            }
            Output::Push { job, to, url, span } => {
                self.connect(at, job, to, (url, span), TransferMethod::Put)
            }
            Output::Serve { job, conn, .. } | Output::Take { job, conn, .. } => {
                self.transmit(at, job, conn.0);
            }
            Output::Refuse { conn, .. } => self.break_wire(conn.0, Reason::Data),
            Output::Abort { job } => {
                let of =
                    |wire: &SwarmTransfer| wire.began == (at, job) || wire.other == Some((at, job));
                self.break_wires(of);
            }
            Output::Keep { piece, .. } => {
                let peer = self.peer_mut(at);
                peer.held += u32::from(peer.kept.insert(piece));
                peer.disk.remove(&piece);
            }
            Output::Done { .. } => self.done(at),
            // There is one coordinator here, which redirects no client.
            Output::Leave { .. } | Output::Others { .. } => {}
            Output::Info { .. } | Output::Failed { .. } | Output::Withdrawn { .. } => {}
        }
    }

    /// A client has the whole file.
    fn done(&mut self, at: u32) {
        let (now, expected) = (self.now(), self.expected(at));
        let peer = self.peer_mut(at);
        if peer.done.is_none() {
            peer.done = Some(now);
            self.net.served += u32::from(expected);
        }
        let life = self.peer(at).life;
        if let Some(stays) = self.group(at).stays {
            self.plan(now + stays, SwarmPlan::Vanish { client: at, life });
        }
    }

    /// True when a client that is present must get the file and is not
    /// complete.
    #[must_use]
    pub(crate) fn any_peer_waits(&self) -> bool {
        let mut all = (0..).zip(self.peers());
        all.any(|(at, peer)| self.up(at) && peer.done.is_none() && self.expected(at))
    }

    /// Pieces with wrong bytes on a client's disk.
    pub(in super::super) fn wrong(&self, client: u32) -> impl Iterator<Item = u32> {
        let disk = self.peer(client).disk.iter();
        disk.filter(|(_, content)| content.is_wrong()).map(|(piece, _)| *piece)
    }

    /// When a client had the whole file.
    #[must_use]
    pub fn done_at(&self, client: u32) -> Option<Instant> {
        self.nodes.get(client as usize)?.own.as_ref()?.done
    }
}

/// Events that the coordinator does not report, or only later.
const fn says_more(event: &client::Event) -> bool {
    use client::Event as E;
    matches!(
        event,
        E::Wrong { .. }
            | E::Overdue { .. }
            | E::Refused { .. }
            | E::Ignored { .. }
            | E::Complaint { .. }
            | E::Moved { .. }
            | E::Astray { .. }
            | E::Offline { .. }
    )
}
