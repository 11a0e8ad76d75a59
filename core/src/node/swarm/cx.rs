//! What both parts of the swarm use of the node: its connections, its effects,
//! and the messages that one call produces.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::SocketAddr;

use super::config::SwarmLimits;
use super::peers::SwarmPeers;
use crate::id::ConnId;
use crate::node::connections::{Connections, NewDial, Owner};
use crate::node::{self, ConnEvent, ConnOutput, NodeEffects, NodeOp, Output, tell};
use crate::time::{Duration, Instant};
use crate::wire::http::HeadLimits;
use crate::wire::pdtp::{AgreedExtensions, PdtpMessage, encode};

/// The context of one call into the swarm.
pub(super) struct SwarmCx<'a> {
    pub(super) now: Instant,
    pub(super) io: &'a mut Connections,
    pub(super) limits: SwarmLimits,
    pub(super) fx: &'a mut NodeEffects,
    /// The messages of this call for each connection, so that they can share
    /// frames; with some of them the connection ends.
    says: BTreeMap<ConnId, Vec<PdtpMessage>>,
    pub(super) ends: Vec<(ConnId, &'static str)>,
    /// Peers whose next request may have been received already.
    pub(super) again: Vec<ConnId>,
}

impl<'a> SwarmCx<'a> {
    pub(super) fn new(
        now: Instant,
        io: &'a mut Connections,
        limits: SwarmLimits,
        fx: &'a mut NodeEffects,
    ) -> Self {
        let (says, ends, again) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { now, io, limits, fx, says, ends, again }
    }

    pub(super) fn tell(&mut self, event: ConnEvent) {
        tell(self.fx, event);
    }

    pub(super) fn output(&mut self, output: super::io::Output) {
        self.fx.output(Output::Swarm(output));
    }

    pub(super) fn persist(&mut self, op: super::io::SwarmOp) {
        self.fx.output(Output::Persist(NodeOp::Swarm(op)));
    }

    pub(super) fn answer(&mut self, answer: super::io::SwarmAnswer) {
        self.fx.output(Output::Answer(node::NodeAnswer::Swarm(answer)));
    }

    pub(super) fn write(&mut self, conn: ConnId, data: Vec<u8>) {
        self.fx.output(Output::Connection(conn, ConnOutput::Write { data }));
    }

    pub(super) fn say(&mut self, conn: ConnId, message: PdtpMessage) {
        self.says.entry(conn).or_default().push(message);
    }

    /// An instant after `wait`, later than now even if that is zero.
    pub(super) fn after(&self, wait: Duration) -> Instant {
        self.now + wait.max(Duration::from_micros(1))
    }

    pub(super) const fn head_limits(&self) -> HeadLimits {
        super::head_limits(&self.limits)
    }

    /// Connects to a peer that the coordinator named, unless a limit forbids
    /// it.
    pub(super) fn dial_for_stranger(&mut self, to: SocketAddr) -> Option<ConnId> {
        let dial = NewDial { conn: self.io.number(), to, owner: Owner::Swarm };
        self.io.dial_for_stranger(self.now, dial, self.fx).then_some(dial.conn)
    }

    /// Connects to our coordinator, unless a limit forbids it.
    pub(super) fn dial(&mut self, to: SocketAddr) -> Option<ConnId> {
        let dial = NewDial { conn: self.io.number(), to, owner: Owner::Swarm };
        self.io.dial(dial, self.fx).then_some(dial.conn)
    }

    /// Closes a connection that the swarm does not need any more.
    pub(super) fn close(&mut self, conn: ConnId, flush: bool, why: &str) {
        self.io.close(conn, flush, why, self.fx);
    }

    /// Writes the messages of this call, then closes connections where that was
    /// requested. What had to be persisted first is earlier in the list.
    pub(super) fn finish(&mut self, peers: &mut SwarmPeers) {
        for (conn, messages) in core::mem::take(&mut self.says) {
            let Some(link) = peers.link(conn) else { continue };
            let mut data = Vec::new();
            encode(&messages, link.merge, &mut data);
            let agreed = messages.iter().rev().find_map(|message| match message {
                PdtpMessage::Extensions(AgreedExtensions { merge, .. }) => Some(*merge),
                _ => None,
            });
            link.merge = agreed.unwrap_or(link.merge);
            self.write(conn, data);
        }
        for (conn, why) in core::mem::take(&mut self.ends) {
            peers.remove(conn);
            self.close(conn, true, why);
        }
    }
}
