//! Carrying out faults.

use alloc::string::String;
use alloc::vec::Vec;

use super::calendar::Due;
use super::fault::Fault;
use super::link::{LinkRef, Side};
use super::world::{Guest, World};
use servent_core::node::WorldEvent;
use servent_core::node::{Command, Input};
use servent_core::trace::{Cause, Event, NodeId, Record};

impl<N: Guest> World<N> {
    /// A fault of the list happens.
    pub(super) fn fault(&mut self, index: u32, out: &mut Vec<Record>) {
        let Some(fault) = self.faults.get(index as usize).map(|f| f.fault) else { return };
        match fault {
            Fault::Cut { a, b } => self.cut(a, b, out),
            Fault::Crash { node } => self.crash(node, out),
            Fault::Restart { node } => self.restart(node, out),
            Fault::Stall { node } => self.stall(node, out),
            Fault::Resume { node } => self.resume(node, out),
            Fault::Firewall { node, closed } => {
                self.tell(node, WorldEvent::Firewall { closed }, out);
                self.host_mut(node.0).firewalled = closed;
            }
            Fault::Clock { node, offset } => self.clock(node, offset, out),
            Fault::AskNow { node } => {
                let cause = self.tell(node, user("ask_now"), out);
                self.command(node, cause, out, |fetch| Command::AskNow { fetch });
            }
            Fault::Sleep { node, length } => {
                let cause = self.tell(node, user("sleep"), out);
                self.command(node, cause, out, |fetch| Command::Sleep { fetch, length });
            }
        }
    }

    /// Records what the world did to a node.
    fn tell(&mut self, node: NodeId, event: WorldEvent, out: &mut Vec<Record>) -> Cause {
        Some(self.recorder.record(self.now, node, None, Event::World(event), out))
    }

    fn command(
        &mut self,
        node: NodeId,
        cause: Cause,
        out: &mut Vec<Record>,
        make: impl Fn(servent_core::id::FetchId) -> Command,
    ) {
        for fetch in self.host(node).fetches.clone() {
            self.give(node.0, Input::Command(make(fetch)), cause, out);
        }
    }

    fn cut(&mut self, a: NodeId, b: NodeId, out: &mut Vec<Record>) {
        let between: Vec<(LinkRef, Side)> = self
            .host(a)
            .conns
            .values()
            .filter(|(at, side)| {
                self.links.get(*at).is_some_and(|l| {
                    let (here, there) = (l.end(*side), l.end(side.other()));
                    here.known && there.known && there.host == b.0
                })
            })
            .copied()
            .collect();
        let cause = self.tell(a, WorldEvent::Cut { other: b }, out);
        for (at, side) in between {
            for side in [side, side.other()] {
                if let Some(link) = self.links.get_mut(at) {
                    link.end_mut(side).wire.clear();
                }
            }
            for side in [side, side.other()] {
                self.gone(at, side, cause, out);
            }
        }
    }

    fn crash(&mut self, node: NodeId, out: &mut Vec<Record>) {
        if self.host(node).node.is_none() {
            return;
        }
        let now = self.now;
        self.tell(node, WorldEvent::Crashed, out);
        let h = self.host_mut(node.0);
        h.disk.crash(now);
        h.node = None;
        h.boot += 1; // What was under way for the old life means nothing to the next.
        h.armed = None;
        h.stalled = false;
        h.inbox.clear();
        h.causes = servent_core::trace::Causes::default();
        for (at, side) in core::mem::take(&mut h.conns).into_values() {
            self.stop_flow(at, side);
            let Some(link) = self.links.get_mut(at) else { continue };
            let end = link.end_mut(side);
            end.known = false;
            end.closed = true;
            end.to_send.clear();
            let latency = link.latency;
            self.calendar.plan(now + latency, Due::Gone { link: at, side: side.other() });
        }
    }

    fn restart(&mut self, node: NodeId, out: &mut Vec<Record>) {
        let arrived = self.plan.profile(node.0).arrives <= self.now;
        if !arrived {
            return;
        }
        self.crash(node, out);
        self.tell(node, WorldEvent::Restarted, out);
        self.boot(node.0, out);
    }

    fn stall(&mut self, node: NodeId, out: &mut Vec<Record>) {
        if self.host(node).node.is_none() || self.host(node).stalled {
            return;
        }
        self.tell(node, WorldEvent::Stalled, out);
        self.host_mut(node.0).stalled = true;
        self.share_around(node);
    }

    fn resume(&mut self, node: NodeId, out: &mut Vec<Record>) {
        if !self.host(node).stalled {
            return;
        }
        self.tell(node, WorldEvent::Resumed, out);
        let now = self.now;
        let h = self.host_mut(node.0);
        h.stalled = false;
        let inbox = core::mem::take(&mut h.inbox);
        // Its timers are looked at again at once.
        h.armed = Some(now);
        let conns: Vec<(LinkRef, Side)> = h.conns.values().copied().collect();
        self.calendar.plan(now, Due::Timer { host: node.0 });
        for (input, cause) in inbox {
            self.give(node.0, input, cause, out);
        }
        for (link, side) in conns {
            let Some(l) = self.links.get_mut(link) else { continue };
            for _ in 0..core::mem::take(&mut l.end_mut(side).held) {
                self.calendar.plan(now, Due::Deliver { link, from: side.other() });
            }
        }
        self.share_around(node);
    }

    /// Works out the rates anew of everything a node sends or receives.
    fn share_around(&mut self, node: NodeId) {
        self.share_out(node.0, node.0);
    }

    fn clock(&mut self, node: NodeId, offset: i64, out: &mut Vec<Record>) {
        self.tell(node, WorldEvent::Clock { offset }, out);
        let now = self.now;
        let h = self.host_mut(node.0);
        h.offset = offset;
        h.armed = Some(now);
        self.calendar.plan(now, Due::Timer { host: node.0 });
    }
}

fn user(action: &str) -> WorldEvent {
    WorldEvent::User { action: String::from(action) }
}
