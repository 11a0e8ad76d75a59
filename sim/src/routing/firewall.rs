//! Nodes that no other can connect to. They connect to others, and a node that wants a
//! file of theirs asks them to, by push.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::event::{Event, RoutingIncident, SearchEvent};
use super::world::RoutingWorld;
use servent_core::trace::{NodeId, RecordCause};

/// Who is behind a firewall, and what that prevents.
#[derive(Debug, Clone, Default)]
pub(super) struct Firewalls {
    closed: BTreeSet<u32>,
    /// Links that wait for one of their ends to open.
    waiting: BTreeSet<u32>,
}

impl RoutingWorld {
    /// True while no other can connect to a node.
    #[must_use]
    #[doc(hidden)]
    pub fn is_closed(&self, node: u32) -> bool {
        self.net.firewalls.closed.contains(&node)
    }

    /// A firewall is closed; or opened, and neighbours connect that could not
    /// before.
    pub(super) fn firewall(&mut self, node: NodeId, close: bool) {
        let firewalls = Arc::make_mut(&mut self.net.firewalls);
        let changed =
            if close { firewalls.closed.insert(node.0) } else { firewalls.closed.remove(&node.0) };
        if !changed {
            return;
        }
        Arc::make_mut(&mut self.net.lines).changed();
        let happening = RoutingIncident::Firewall { closed: close };
        let seq = self.note(node.0, None, Event::World(happening));
        if close {
            return;
        }
        let stage = Arc::clone(&self.net.stage);
        let waits = |wire: &u32| self.net.firewalls.waiting.contains(wire);
        let wires: Vec<u32> = stage.net.around(node.0).iter().copied().filter(waits).collect();
        for wire in wires {
            Arc::make_mut(&mut self.net.firewalls).waiting.remove(&wire);
            self.join(wire, Some(seq));
        }
    }

    /// Connects the ends of a link, whichever can; false when each is behind a
    /// firewall.
    pub(super) fn is_let_in(&mut self, wire: u32, cause: RecordCause) -> bool {
        let link = self.net.stage.net.wires()[wire as usize];
        if !self.is_closed(link.a) || self.dial(link.a, link.b, cause).is_ok() {
            return true;
        }
        Arc::make_mut(&mut self.net.firewalls).waiting.insert(wire);
        false
    }

    /// A node connects to another one.
    ///
    /// # Errors
    /// The record which says that a firewall refused it.
    pub(super) fn dial(&mut self, from: u32, to: u32, cause: RecordCause) -> Result<(), u64> {
        if !self.is_closed(to) {
            return Ok(());
        }
        Err(self.said(from, SearchEvent::Refused { by: NodeId(to) }, cause))
    }

    /// A node wants what it has found; `told` when the answer said that no node
    /// can connect to that servent. Then it is asked to connect itself, and so
    /// is one that refuses.
    pub(super) fn want(&mut self, node: u32, (of, told): (NodeId, bool), found: u64) {
        let refused = if told { Err(found) } else { self.dial(node, of.0, Some(found)) };
        if let Err(seq) = refused {
            self.push(NodeId(node), of, Some(seq));
        }
    }
}
