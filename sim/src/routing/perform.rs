//! Carrying out the actions and faults of a scenario.

use alloc::format;

use super::action::RoutingAction;
use super::event::{Event, MessageLoss, RoutingIncident, SearchEvent};
use super::host::address;
use super::world::{RoutingPlan, RoutingWorld};
use crate::error::{ScenarioError, ScenarioMistake};
use servent_core::id::FileIndex;
use servent_core::routing::Input;
use servent_core::time::Duration;
use servent_core::trace::{NodeId, RecordCause};
use servent_core::wire::gnutella::{
    MessageBody, OverlayMessage, OverlayPayload, Push, Query, Wishes,
};

impl RoutingWorld {
    /// Performs the action with this index in the script or the faults.
    pub(super) fn act(&mut self, fault: bool, index: u32) {
        let acts = if fault { self.faults() } else { &self.net.stage.plan.script };
        match acts[index as usize].act.clone() {
            RoutingAction::Search { node, words } => {
                if self.node(node).is_some() {
                    let wishes = Wishes { firewalled: self.is_closed(node.0), ..Wishes::default() };
                    let (guid, query) = (self.fresh_guid(), Query::new(wishes, &words, &[]));
                    let seq = self.said(node.0, SearchEvent::Searched { guid, words }, None);
                    self.give(node.0, Input::Search { guid, query }, Some(seq));
                }
            }
            RoutingAction::Push { node, of } => self.push(node, of, None),
            RoutingAction::Flood { count, .. } => self.flood(fault, index, count),
            RoutingAction::Kill { node } => {
                self.crash(node.0);
            }
            RoutingAction::Restart { node } => self.restart(node.0),
            RoutingAction::Cut { from, to } => self.cut(from, to),
            RoutingAction::Heal { from, to } => self.heal(from, to),
            RoutingAction::Firewall { node, closed } => self.firewall(node, closed),
        }
    }

    /// Checks that an action is possible in this world now.
    pub(super) fn is_possible(&self, act: &RoutingAction) -> Result<(), ScenarioError> {
        let down = |node: &NodeId| self.node(*node).is_none();
        match act {
            RoutingAction::Search { node, .. }
            | RoutingAction::Push { node, .. }
            | RoutingAction::Flood { node, .. }
                if down(node) =>
            {
                Err(ScenarioMistake::Down { node: node.0 }.into())
            }
            RoutingAction::Kill { node } if down(node) => {
                Err(ScenarioMistake::DownAlready { node: node.0 }.into())
            }
            RoutingAction::Cut { from, to } | RoutingAction::Heal { from, to } => {
                let wire = self.net.stage.net.between(from.0, to.0);
                wire.map(|_| ()).ok_or(ScenarioMistake::NoLink { a: from.0, b: to.0 }.into())
            }
            _ => Ok(()),
        }
    }

    /// A node asks another one to connect to it, by push.
    pub(super) fn push(&mut self, node: NodeId, of: NodeId, cause: RecordCause) {
        if self.node(node).is_none() {
            return;
        }
        let guid = self.fresh_guid();
        let index = self.net.stage.shares.get(&of.0).and_then(|files| files.first().copied());
        let push = Push {
            servent: self.net.stage.servents[of.0 as usize],
            index: index.unwrap_or(FileIndex(0)),
            at: address(node.0),
            ggep: OverlayPayload::new(),
        };
        // The neighbour that brought the hit should know the route if this node
        // does not.
        let brought = self.own(node.0).brought.get(&of.0);
        let wire = brought.and_then(|neighbour| self.net.stage.net.between(node.0, *neighbour));
        let via =
            wire.filter(|wire| self.net.lines.is_open(*wire)).map(|wire| self.net.lines.conn(wire));
        let seq = self.said(node.0, SearchEvent::Asked { guid, of }, cause);
        self.give(node.0, Input::Push { guid, push, via }, Some(seq));
    }

    /// Sends queries past the node's own router, which would not create them;
    /// `left` is how many remain.
    pub(super) fn flood(&mut self, fault: bool, index: u32, left: u32) {
        let acts = if fault { self.faults() } else { &self.net.stage.plan.script };
        let RoutingAction::Flood { node, every, count } = acts[index as usize].act else { return };
        let now = if every == Duration::ZERO { left } else { left.min(1) };
        for n in 0..now {
            if self.node(node).is_none() {
                return;
            }
            let guid = self.fresh_guid();
            let number = count - left + n;
            let words = format!("flood {number}");
            let body = MessageBody::Query(Query::new(Wishes::default(), &words, &[]));
            let ttl = self.net.stage.config.max_ttl;
            let data = OverlayPayload::from(OverlayMessage { guid, ttl, hops: 0, body }.to_bytes());
            let seq = self.said(node.0, SearchEvent::Flooded { guid }, None);
            let stage = alloc::sync::Arc::clone(&self.net.stage);
            for wire in stage.net.around(node.0) {
                if self.net.lines.is_open(*wire) {
                    self.launch(node.0, *wire, data.clone(), Some(seq));
                }
            }
        }
        if left > now {
            let left = left - now;
            self.plan(self.now() + every, RoutingPlan::Flood { fault, index, left });
        }
    }

    fn cut(&mut self, from: NodeId, to: NodeId) {
        let Some(wire) = self.net.stage.net.between(from.0, to.0) else { return };
        if self.mark_severed(wire, true) {
            let seq = self.note(from.0, None, Event::World(RoutingIncident::Cut { to }));
            self.sever(wire, MessageLoss::Cut, Some(seq));
        }
    }

    fn heal(&mut self, from: NodeId, to: NodeId) {
        let Some(wire) = self.net.stage.net.between(from.0, to.0) else { return };
        if self.mark_severed(wire, false) {
            let seq = self.note(from.0, None, Event::World(RoutingIncident::Healed { to }));
            self.join(wire, Some(seq));
        }
    }
}
