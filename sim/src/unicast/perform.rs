//! Carrying out the actions and faults of a scenario.

use super::action::{Send, UnicastAction};
use super::event::{DatagramEvent, Event, MessagingEvent, UnicastIncident};
use super::host::Unsent;
use super::world::{UnicastPlan, UnicastWorld, address};
use crate::links::datagram::DatagramLoss;
use crate::links::datagram::Rule;
use servent_core::node::{Input, MessageCommand, NodeCommand};
use servent_core::time::Duration;
use servent_core::trace::NodeId;
use servent_core::unicast::Side;

impl UnicastWorld {
    /// Performs the action with this index in the script or the faults.
    pub(super) fn act(&mut self, fault: bool, index: u32) {
        let acts = if fault { self.faults() } else { &self.net.scenario.script };
        match acts[index as usize].act.clone() {
            UnicastAction::Send(send) => self.messages(fault, index, send.count),
            UnicastAction::Close { from, to } => {
                self.own_mut(from.0).talks[to.0 as usize].closes = true;
                self.settle(from.0, None);
            }
            UnicastAction::Read { node, on } => {
                self.own_mut(node.0).reads = on;
                self.note(node.0, None, Event::App(MessagingEvent::Reads { on }));
                self.settle(node.0, None);
            }
            UnicastAction::Forget { node, peer, side } => self.forget(node, peer, side),
            UnicastAction::Drop { from, to, n } => self.rule(from, to, n, Rule::Drop),
            UnicastAction::Delay { from, to, n, by } => self.rule(from, to, n, Rule::Delay(by)),
            UnicastAction::Duplicate { from, to, n, by } => {
                self.rule(from, to, n, Rule::Duplicate(by));
            }
            UnicastAction::Cut { from, to } => self.cut(from, to, true),
            UnicastAction::Heal { from, to } => self.cut(from, to, false),
            UnicastAction::Crash { node } => {
                self.crash(node.0);
            }
            UnicastAction::Restart { node } => self.restart(node.0),
            UnicastAction::Stall { node } => self.stall(node.0),
            UnicastAction::Resume { node } => self.resume(node.0),
        }
    }

    /// Sends messages of the script; `left` is how many remain.
    pub(super) fn messages(&mut self, fault: bool, index: u32, left: u32) {
        let acts = if fault { self.faults() } else { &self.net.scenario.script };
        let UnicastAction::Send(Send { from, to, size, every, order, .. }) =
            acts[index as usize].act
        else {
            return;
        };
        let now = if every == Duration::ZERO { left } else { left.min(1) };
        if self.is_up(from) {
            let talk = &mut self.own_mut(from.0).talks[to.0 as usize];
            for _ in 0..now {
                talk.numbered += 1;
                talk.outbox.push_back(Unsent { n: talk.numbered, size, order });
            }
            self.settle(from.0, None);
        }
        if left > now {
            let left = left - now;
            self.plan(self.now() + every, UnicastPlan::Messages { fault, index, left });
        }
    }

    fn forget(&mut self, node: NodeId, peer: NodeId, side: Side) {
        if self.is_up(node) {
            let seq = self.note(node.0, None, Event::World(UnicastIncident::Forgot { peer, side }));
            let command =
                NodeCommand::Messages(MessageCommand::Forget { peer: address(peer), side });
            self.give(node.0, Input::Command(command), Some(seq));
        }
    }

    /// Decides about the `n`-th datagram of a direction, in transit or not yet
    /// sent.
    fn rule(&mut self, from: NodeId, to: NodeId, n: u32, rule: Rule) {
        let way = &mut self.net.ways[from.0 as usize * self.nodes.len() + to.0 as usize];
        if n > way.count {
            way.rules.insert(n, rule);
            return;
        }
        let id = super::DatagramId::new(from, to, n);
        let Some((&serial, flight)) = self.net.flights.iter().find(|(_, flight)| flight.id == id)
        else {
            return; // It has arrived or was lost.
        };
        let (cause, due) = (Some(flight.seq), flight.due);
        match rule {
            Rule::Drop => {
                self.net.flights.remove(&serial);
                let lost = DatagramEvent::Lost { id, to, why: DatagramLoss::Drop };
                self.note(from.0, cause, Event::Datagram(lost));
            }
            Rule::Delay(by) => {
                let due = due + by;
                if let Some(flight) = self.net.flights.get_mut(&serial) {
                    flight.due = due;
                }
                self.plan(due, UnicastPlan::Arrive { serial });
                let delayed = DatagramEvent::Delayed { id, to, due };
                self.note(from.0, cause, Event::Datagram(delayed));
            }
            Rule::Duplicate(by) => {
                let flight = flight.clone();
                self.copy(flight, due + by);
            }
        }
    }

    fn cut(&mut self, from: NodeId, to: NodeId, cut: bool) {
        let way = &mut self.net.ways[from.0 as usize * self.nodes.len() + to.0 as usize];
        if way.cut != cut {
            way.cut = cut;
            let happening =
                if cut { UnicastIncident::Cut { to } } else { UnicastIncident::Healed { to } };
            self.note(from.0, None, Event::World(happening));
        }
    }
}
