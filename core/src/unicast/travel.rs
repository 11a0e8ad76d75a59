//! Peers that change their address (PA-9).
//!
//! A datagram of a known connection from another address proves nothing:
//! any host may have copied it. So that address is sent a challenge, which is
//! derived from it and our key, so that nothing is remembered; what comes back
//! proves that the peer is there now. Until then nothing is accepted from there,
//! and nothing longer is sent than what came.
//!
//! Nor does that proof show that the peer has left: a host that reads the line knows the
//! connection, and proves its own address. So a peer goes elsewhere only when it is silent
//! where it was, and back whence it came at any time.

use core::net::SocketAddr;

use super::cx::UnicastCx;
use super::peer::PathChange;
use super::{
    Endpoint, Event, Output, Rejection, UnicastConnId, UnicastEffects, UnicastPeer, token,
};
use crate::time::Instant;
use crate::wire::unicast::{ConnBlock, Packet, block_len};

/// Unknown addresses that are looked at in one turn: each costs a walk over all
/// peers.
const LOOKS: u32 = 16;

impl Endpoint {
    /// The name of the peer that sent a datagram; `None` when there is nothing
    /// more to be done with it.
    pub(super) fn name_of(
        &mut self,
        now: Instant,
        (addr, packet, bytes): (SocketAddr, &Packet, u32),
        fx: &mut UnicastEffects,
    ) -> Option<SocketAddr> {
        let name = self.peers.name(addr);
        if name != addr {
            // Its old address is another peer's now, if that one begins.
            return Some(name);
        }
        let begins = |block: &&ConnBlock| matches!(block, ConnBlock::Data(it) if it.first);
        let begun = packet.blocks.iter().find(begins);
        let first = begun.or_else(|| packet.blocks.first())?;
        let conn = first.conn();
        if let Some(at) = self.peers.find(addr) {
            let (_, peer) = self.peers.at(at);
            let route = peer.route;
            if route.is_none() || !peer.has(conn) {
                return Some(addr);
            }
        }
        let proof = match first {
            ConnBlock::Response { token: told, .. } => Some(*told == token(&self.key, addr, conn)),
            _ => None,
        };
        if self.looked_at != now {
            (self.looks, self.looked_at) = (0, now);
        }
        // What a flood used up keeps no peer from its move: a proof is cheap to check.
        if self.looks >= LOOKS && proof != Some(true) {
            // Most that begin are of other peers, which are asked for their own proof, and
            // none of them may be kept out by a flood. Anything else, taken for a
            // stranger's, would be asked for its first message, and a second connection
            // would begin. Whatever it is, it comes again.
            return begun.is_some().then_some(addr);
        }
        self.looks += 1;
        // One that begins a connection we do not know is of another peer, which has
        // drawn its id. One that begins a connection we know is sent again, because
        // the first did not reach us or its acknowledgement was lost on the way.
        let Some(at) = self.peers.with_conn(conn) else { return Some(addr) };
        match proof {
            Some(true) => {
                self.peers.at(at).1.candidate = Some(addr);
                self.look_for(now, at, fx);
                self.mark(now, at);
            }
            Some(false) => {}
            None => self.challenge_from(addr, (first, bytes), fx),
        }
        None
    }

    /// A peer that is silent where it was is where it may be.
    pub(super) fn look_for(&mut self, now: Instant, at: u32, fx: &mut UnicastEffects) {
        let candidate = self.peers.at(at).1.candidate;
        let Some(to) = candidate.filter(|to| self.peers.may_travel(now, at, *to)) else { return };
        let same = self.peers.whereabouts(at).ip() == to.ip();
        let change = if same { PathChange::Port } else { PathChange::Address };
        self.travel(now, (at, to, change), fx);
    }

    fn challenge_from(
        &mut self,
        addr: SocketAddr,
        (first, bytes): (&ConnBlock, u32),
        fx: &mut UnicastEffects,
    ) {
        let conn = first.conn();
        self.counters.rejected += 1;
        fx.event(Event::Rejected { peer: addr, conn, why: Rejection::Unproven });
        let challenge = ConnBlock::Challenge { conn, token: token(&self.key, addr, conn) };
        if block_len(&challenge) + self.config.seal.len() <= bytes as usize {
            self.counters.packets_out += 1;
            let packet = Packet { blocks: alloc::vec![challenge] };
            fx.output(Output::Packet { peer: addr, packet });
        }
    }

    /// A peer is known to be at another address, though no datagram of it has said
    /// so (PA-13). What was at that address before is another peer: it is gone.
    pub(super) fn route(
        &mut self,
        now: Instant,
        peer: SocketAddr,
        to: SocketAddr,
        fx: &mut UnicastEffects,
    ) {
        for other in [self.peers.name(to), to] {
            if other != peer && self.peers.displace(other, to) {
                self.with(now, other, fx, UnicastPeer::displaced);
            }
        }
        match self.peers.find(peer) {
            Some(at) => self.travel(now, (at, to, PathChange::Route), fx),
            None => {
                self.peers.expect(peer, to);
                fx.event(Event::Moved { peer, conn: UnicastConnId::default(), to });
            }
        }
    }

    fn travel(
        &mut self,
        now: Instant,
        (at, to, change): (u32, SocketAddr, PathChange),
        fx: &mut UnicastEffects,
    ) {
        let same = self.peers.whereabouts(at) == to;
        self.peers.travel(at, to, change);
        let (peer, mut cx, _) = self.lend(now, at, fx);
        if !same {
            peer.arrived_elsewhere(change, &mut cx);
        }
        tell(&mut cx, peer, to);
        self.mark(now, at);
    }
}

fn tell(cx: &mut UnicastCx<'_>, peer: &UnicastPeer, to: SocketAddr) {
    let conn = peer.conn().unwrap_or_default();
    cx.fx.event(Event::Moved { peer: cx.peer, conn, to });
}
