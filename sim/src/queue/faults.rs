//! Carrying out faults.

use alloc::string::String;
use alloc::vec::Vec;

use super::fault::Fault;
use super::world::{Guest, Queue, QueuePlan};
use crate::links::stream::{LinkRef, Side};
use crate::world::World;
use servent_core::node::WorldEvent;
use servent_core::node::{FetchCommand, Input, NodeCommand};
use servent_core::trace::{Event, NodeId, RecordCause};

impl<N: Guest> World<Queue<N>> {
    /// Carries out a fault.
    pub(super) fn perform(&mut self, fault: Fault) {
        match fault {
            Fault::Cut { a, b } => self.cut(a, b),
            Fault::Crash { node } if self.net.is_member(node.0) => self.kill_member(node.0),
            Fault::Restart { node } if self.net.is_member(node.0) => {
                self.kill_member(node.0);
                self.tell(node, WorldEvent::Restarted);
                self.rise(node.0);
            }
            Fault::Crash { node } => {
                self.crash(node.0);
            }
            Fault::Restart { node } => {
                // A node that has not arrived yet arrives when the scenario
                // says so.
                if self.net.plan.profile(node.0).arrives <= self.now() {
                    self.restart(node.0);
                }
            }
            Fault::Stall { node } => self.stall(node.0),
            Fault::Resume { node } => self.resume(node.0),
            Fault::Firewall { node, closed } => {
                self.tell(node, WorldEvent::Firewall { closed });
                self.own_mut(node.0).firewalled = closed;
            }
            Fault::Clock { node, offset } => {
                self.tell(node, WorldEvent::Clock { offset });
                self.set_clock(node.0, offset);
            }
            Fault::Store { away, silent } => {
                self.tell(NodeId(0), WorldEvent::Store { away });
                self.set_store(away, silent);
            }
            Fault::Apart { node, apart } => {
                self.tell(node, WorldEvent::Apart { apart });
                self.set_apart(node.0, apart);
            }
            Fault::Change { node, size } => {
                self.tell(node, WorldEvent::Changed { size });
                self.change_files(node.0, size);
            }
            Fault::AskNow { node } => {
                let cause = self.tell(node, user("ask_now"));
                self.command(node, cause, |fetch| {
                    NodeCommand::Fetch(FetchCommand::AskNow { fetch })
                });
            }
            Fault::Sleep { node, length } => {
                let cause = self.tell(node, user("sleep"));
                self.command(node, cause, |fetch| {
                    NodeCommand::Fetch(FetchCommand::Sleep { fetch, length })
                });
            }
        }
    }

    /// Records what the world did to a node.
    fn tell(&mut self, node: NodeId, event: WorldEvent) -> RecordCause {
        Some(self.note(node.0, None, Event::World(event)))
    }

    fn command(
        &mut self,
        node: NodeId,
        cause: RecordCause,
        make: impl Fn(servent_core::id::FetchId) -> NodeCommand,
    ) {
        for fetch in self.own(node.0).fetches.clone() {
            self.give(node.0, Input::Command(make(fetch)), cause);
        }
    }

    fn cut(&mut self, a: NodeId, b: NodeId) {
        let between: Vec<(LinkRef, Side)> = self
            .own(a.0)
            .conns
            .values()
            .filter(|(at, side)| {
                self.net.links.get(*at).is_some_and(|l| {
                    let (here, there) = (l.end(*side), l.end(side.other()));
                    here.known && there.known && there.host == b.0
                })
            })
            .copied()
            .collect();
        let cause = self.tell(a, WorldEvent::Cut { other: b });
        for (at, side) in between {
            for side in [side, side.other()] {
                if let Some(link) = self.net.links.get_mut(at) {
                    link.end_mut(side).wire.clear();
                }
            }
            for side in [side, side.other()] {
                self.gone(at, side, cause);
            }
        }
    }

    /// Ends a node's connections; its disk loses what was not flushed.
    pub(super) fn disconnect(&mut self, node: u32) {
        let now = self.now();
        let machine = self.own_mut(node);
        machine.disk.crash(now);
        machine.causes = servent_core::trace::Causes::default();
        machine.unsent.clear();
        for (at, side) in core::mem::take(&mut machine.conns).into_values() {
            self.stop_flow(at, side);
            let Some(link) = self.net.links.get_mut(at) else { continue };
            let end = link.end_mut(side);
            end.known = false;
            end.closed = true;
            end.to_send.clear();
            let latency = link.latency;
            self.plan(now + latency, QueuePlan::Gone { link: at, side: side.other() });
        }
    }

    /// Delivers what waited in the links of a node that was stalled.
    pub(super) fn release(&mut self, node: u32) {
        let now = self.now();
        let conns: Vec<(LinkRef, Side)> = self.own(node).conns.values().copied().collect();
        for (link, side) in conns {
            let Some(l) = self.net.links.get_mut(link) else { continue };
            for _ in 0..core::mem::take(&mut l.end_mut(side).held) {
                self.plan(now, QueuePlan::Deliver { link, from: side.other() });
            }
        }
        self.share_around(node);
    }

    /// Recomputes the rates of everything a node sends or receives.
    pub(super) fn share_around(&mut self, node: u32) {
        self.share_out(node, node);
    }
}

fn user(action: &str) -> WorldEvent {
    WorldEvent::User { action: String::from(action) }
}
