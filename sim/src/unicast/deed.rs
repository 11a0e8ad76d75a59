//! What is done to a world: by its script, and by faults.

use alloc::vec::Vec;

use super::act::{Act, Send};
use super::event::{AppEvent, DatagramEvent, Event, Happening, Loss};
use super::host::Unsent;
use super::way::Rule;
use super::world::{Due, World, address};
use servent_core::node::messenger::{Command, Input};
use servent_core::time::Duration;
use servent_core::trace::{NodeId, Record};
use servent_core::unicast::Side;

impl World {
    /// Does what stands at a place of the script or of the faults.
    pub(super) fn act(&mut self, fault: bool, index: u32, out: &mut Vec<Record<Event>>) {
        let acts = if fault { self.agenda.faults() } else { &self.plan.script };
        match acts[index as usize].act.clone() {
            Act::Send(send) => self.messages(fault, index, send.count, out),
            Act::Close { from, to } => {
                self.hosts[from.0 as usize].talks[to.0 as usize].closes = true;
                self.settle(from.0, None, out);
            }
            Act::Read { node, on } => {
                self.hosts[node.0 as usize].reads = on;
                self.note(node.0, None, Event::App(AppEvent::Reads { on }), out);
                self.settle(node.0, None, out);
            }
            Act::Forget { node, peer, side } => self.forget(node, peer, side, out),
            Act::Drop { from, to, n } => self.rule(from, to, n, Rule::Drop, out),
            Act::Delay { from, to, n, by } => self.rule(from, to, n, Rule::Delay(by), out),
            Act::Duplicate { from, to, n, by } => {
                self.rule(from, to, n, Rule::Duplicate(by), out);
            }
            Act::Cut { from, to } => self.cut(from, to, true, out),
            Act::Heal { from, to } => self.cut(from, to, false, out),
            Act::Crash { node } => self.crash(node.0, out),
            Act::Restart { node } => {
                self.crash(node.0, out);
                self.boot(node.0, out);
            }
            Act::Stall { node } => {
                let host = &mut self.hosts[node.0 as usize];
                if host.messenger.is_some() && !host.stalled {
                    host.stalled = true;
                    self.note(node.0, None, Event::World(Happening::Stalled), out);
                }
            }
            Act::Resume { node } => self.resume(node.0, out),
        }
    }

    /// Messages of the script: so many are left.
    pub(super) fn messages(
        &mut self,
        fault: bool,
        index: u32,
        left: u32,
        out: &mut Vec<Record<Event>>,
    ) {
        let acts = if fault { self.agenda.faults() } else { &self.plan.script };
        let Act::Send(Send { from, to, size, every, order, .. }) = acts[index as usize].act else {
            return;
        };
        let now = if every == Duration::ZERO { left } else { left.min(1) };
        let host = &mut self.hosts[from.0 as usize];
        if host.messenger.is_some() {
            let talk = &mut host.talks[to.0 as usize];
            for _ in 0..now {
                talk.numbered += 1;
                talk.outbox.push_back(Unsent { n: talk.numbered, size, order });
            }
            self.settle(from.0, None, out);
        }
        if left > now {
            let left = left - now;
            self.plan(self.agenda.now() + every, Due::Messages { fault, index, left });
        }
    }

    fn forget(&mut self, node: NodeId, peer: NodeId, side: Side, out: &mut Vec<Record<Event>>) {
        if self.hosts[node.0 as usize].messenger.is_some() {
            let seq = self.note(node.0, None, Event::World(Happening::Forgot { peer, side }), out);
            let command = Command::Forget { peer: address(peer), side };
            self.give(node.0, Input::Command(command), Some(seq), out);
        }
    }

    /// Decides about the `n`-th datagram of a direction: one under way, or one
    /// that is still to come.
    fn rule(&mut self, from: NodeId, to: NodeId, n: u32, rule: Rule, out: &mut Vec<Record<Event>>) {
        let way = &mut self.ways[from.0 as usize * self.hosts.len() + to.0 as usize];
        if n > way.count {
            way.rules.insert(n, rule);
            return;
        }
        let id = super::DatagramId::new(from, to, n);
        let Some((&serial, flight)) = self.flights.iter().find(|(_, flight)| flight.id == id)
        else {
            return; // It has arrived, or was lost already.
        };
        let (cause, due) = (Some(flight.seq), flight.due);
        match rule {
            Rule::Drop => {
                self.flights.remove(&serial);
                let lost = DatagramEvent::Lost { id, to, why: Loss::Drop };
                self.note(from.0, cause, Event::Datagram(lost), out);
            }
            Rule::Delay(by) => {
                let due = due + by;
                if let Some(flight) = self.flights.get_mut(&serial) {
                    flight.due = due;
                }
                self.plan(due, Due::Arrive { serial });
                let delayed = DatagramEvent::Delayed { id, to, due };
                self.note(from.0, cause, Event::Datagram(delayed), out);
            }
            Rule::Duplicate(by) => {
                let flight = flight.clone();
                self.copy(flight, due + by, out);
            }
        }
    }

    fn cut(&mut self, from: NodeId, to: NodeId, cut: bool, out: &mut Vec<Record<Event>>) {
        let way = &mut self.ways[from.0 as usize * self.hosts.len() + to.0 as usize];
        if way.cut != cut {
            way.cut = cut;
            let happening = if cut { Happening::Cut { to } } else { Happening::Healed { to } };
            self.note(from.0, None, Event::World(happening), out);
        }
    }

    fn crash(&mut self, host: u32, out: &mut Vec<Record<Event>>) {
        let h = &mut self.hosts[host as usize];
        if h.messenger.is_some() {
            h.crash();
            self.note(host, None, Event::World(Happening::Crashed), out);
        }
    }

    fn resume(&mut self, host: u32, out: &mut Vec<Record<Event>>) {
        let h = &mut self.hosts[host as usize];
        if !h.stalled {
            return;
        }
        h.stalled = false;
        let inbox = core::mem::take(&mut h.inbox);
        let seq = self.note(host, None, Event::World(Happening::Resumed), out);
        for (input, cause) in inbox {
            self.give(host, input, cause, out);
        }
        self.hosts[host as usize].armed = None;
        self.settle(host, Some(seq), out);
    }
}
