//! What somebody does to the world.

use super::super::act::Act;
use super::super::event::Happening;
use super::super::scenario::Habit;
use super::{Due, World};
use servent_core::swarm::client::Input;
use servent_core::trace::NodeId;

/// Where a client listens when it is told to.
const PORT: u16 = 1_000;

/// Two clients as one key, whoever is named first.
fn pair(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

impl World {
    pub(super) fn act(&mut self, index: u32) {
        let act = self.agenda.faults()[index as usize].act.clone();
        match act {
            Act::Kill { client } => self.kill(client.0),
            Act::Restart { client } => {
                self.vanish(client.0);
                self.happened(client.0, Happening::Restarted);
                self.arrive(client.0);
            }
            Act::Stall { client } => self.stall(client.0),
            Act::Resume { client } => self.resume(client.0),
            Act::Passive { client } => self.set_passive(client.0, true),
            Act::Active { client } => self.set_passive(client.0, false),
            Act::Habit { client, habit } => self.set_habit(client.0, habit),
            Act::Cut { from, to } => self.cut(from, to),
            Act::Heal { from, to } => {
                if self.cuts.remove(&pair(from.0, to.0)) {
                    self.happened(from.0, Happening::Healed { to });
                }
            }
            Act::RestartCoordinator {} => self.open(true),
        }
    }

    fn kill(&mut self, at: u32) {
        if self.peers[at as usize].up {
            self.happened(at, Happening::Killed);
            self.vanish(at);
        }
    }

    /// Everything of a client stands still, its bytes too.
    fn stall(&mut self, at: u32) {
        let now = self.agenda.now();
        let peer = &mut self.peers[at as usize];
        if !peer.up || peer.stalled.is_some() {
            return;
        }
        peer.stalled = Some((now, alloc::vec::Vec::new()));
        self.hold_wires(at);
        self.happened(at, Happening::Stalled);
    }

    fn resume(&mut self, at: u32) {
        let Some((since, inbox)) = self.peers[at as usize].stalled.take() else { return };
        let seq = self.happened(at, Happening::Resumed);
        let by = self.agenda.now().since(since);
        self.peers[at as usize].link.delay(by);
        self.release_wires(at);
        for (input, cause) in inbox {
            self.client(at, input, cause.or(Some(seq)));
        }
        self.arm(at);
    }

    /// A client opens or closes its door, and says so.
    fn set_passive(&mut self, at: u32, passive: bool) {
        if core::mem::replace(&mut self.peers[at as usize].passive, passive) == passive {
            return;
        }
        let event = if passive { Happening::Passive } else { Happening::Active };
        let seq = self.happened(at, event);
        if self.peers[at as usize].up {
            let port = Some(PORT).filter(|_| !passive);
            self.client(at, Input::Listen { port }, Some(seq));
        }
    }

    fn set_habit(&mut self, at: u32, habit: Habit) {
        if core::mem::replace(&mut self.peers[at as usize].habit, habit) != habit {
            self.happened(at, Happening::Habit { habit });
        }
    }

    fn cut(&mut self, from: NodeId, to: NodeId) {
        if self.cuts.insert(pair(from.0, to.0)) {
            self.happened(from.0, Happening::Cut { to });
            self.break_wires(|wire| wire.touches(from.0) && wire.touches(to.0));
        }
    }

    pub(super) fn is_cut(&self, a: u32, b: u32) -> bool {
        self.cuts.contains(&pair(a, b))
    }

    /// Transfers of a client that stands still wait where they are.
    fn hold_wires(&mut self, at: u32) {
        let now = self.agenda.now();
        for wire in self.wires.values_mut() {
            if wire.touches(at) {
                wire.held.get_or_insert(now);
            }
        }
    }

    /// They go on, unless the other end stands still too.
    fn release_wires(&mut self, at: u32) {
        let now = self.agenda.now();
        let still = |peer: Option<u32>| {
            peer.is_some_and(|peer| self.peers[peer as usize].stalled.is_some())
        };
        let free = self.wires.iter().filter(|(_, wire)| {
            wire.held.is_some() && wire.touches(at) && !still(wire.from) && !still(Some(wire.to))
        });
        let free: alloc::vec::Vec<u64> = free.map(|(number, _)| *number).collect();
        for number in free {
            let Some(wire) = self.wires.get_mut(&number) else { continue };
            let Some(since) = wire.held.take() else { continue };
            if let Some((begin, end)) = wire.flows {
                let by = now.since(since);
                let flows = (begin + by, end + by);
                self.flow(number, flows);
                self.plan(flows.1, Due::Left { wire: number });
            }
        }
    }
}
