//! Carrying out actions and faults.

use super::super::action::SwarmAction;
use super::super::event::SwarmIncident;
use super::super::scenario::Habit;
use super::{PORT, SwarmPlan, SwarmWorld};
use servent_core::swarm::client::Input;
use servent_core::trace::NodeId;

/// Two clients as one key, in any order.
fn pair(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

impl SwarmWorld {
    pub(super) fn act(&mut self, index: u32) {
        let act = self.faults()[index as usize].act.clone();
        match act {
            SwarmAction::Kill { client } => {
                self.crash(client.0);
            }
            SwarmAction::Restart { client } => self.restart(client.0),
            SwarmAction::Stall { client } => self.stall(client.0),
            SwarmAction::Resume { client } => self.resume(client.0),
            SwarmAction::Passive { client } => self.set_passive(client.0, true),
            SwarmAction::Active { client } => self.set_passive(client.0, false),
            SwarmAction::Habit { client, habit } => self.set_habit(client.0, habit),
            SwarmAction::Cut { from, to } => self.cut(from, to),
            SwarmAction::Heal { from, to } => {
                if self.net.cuts.remove(&pair(from.0, to.0)) {
                    self.happened(from.0, SwarmIncident::Healed { to });
                }
            }
            SwarmAction::RestartCoordinator {} => self.open_again(),
            SwarmAction::Firewall { client, closed } => {
                if core::mem::replace(&mut self.peer_mut(client.0).firewalled, closed) != closed {
                    self.happened(client.0, SwarmIncident::Firewall { closed });
                }
            }
        }
    }

    /// A client starts or stops accepting connections, and says so.
    fn set_passive(&mut self, at: u32, passive: bool) {
        if core::mem::replace(&mut self.peer_mut(at).passive, passive) == passive {
            return;
        }
        let event = if passive { SwarmIncident::Passive } else { SwarmIncident::Active };
        let seq = self.happened(at, event);
        if self.up(at) {
            let port = Some(PORT).filter(|_| !passive);
            self.client(at, Input::Listen { port }, Some(seq));
        }
    }

    fn set_habit(&mut self, at: u32, habit: Habit) {
        if core::mem::replace(&mut self.peer_mut(at).habit, habit) != habit {
            self.happened(at, SwarmIncident::Habit { habit });
        }
    }

    fn cut(&mut self, from: NodeId, to: NodeId) {
        if self.net.cuts.insert(pair(from.0, to.0)) {
            self.happened(from.0, SwarmIncident::Cut { to });
            self.break_wires(|wire| wire.touches(from.0) && wire.touches(to.0));
        }
    }

    pub(super) fn is_cut(&self, a: u32, b: u32) -> bool {
        self.net.cuts.contains(&pair(a, b))
    }

    /// Transfers of a stalled client stop where they are.
    pub(super) fn hold_wires(&mut self, at: u32) {
        let now = self.now();
        for wire in self.net.wires.values_mut() {
            if wire.touches(at) {
                wire.held.get_or_insert(now);
            }
        }
    }

    /// They resume, unless the other end is stalled too.
    pub(super) fn release_wires(&mut self, at: u32) {
        let now = self.now();
        let still = |peer: Option<u32>| peer.is_some_and(|peer| self.still(peer));
        let free = self.net.wires.iter().filter(|(_, wire)| {
            wire.held.is_some() && wire.touches(at) && !still(wire.from) && !still(Some(wire.to))
        });
        let free: alloc::vec::Vec<u64> = free.map(|(number, _)| *number).collect();
        for number in free {
            let Some(wire) = self.net.wires.get_mut(&number) else { continue };
            let Some(since) = wire.held.take() else { continue };
            if let Some((begin, end)) = wire.flows {
                let by = now.since(since);
                let flows = (begin + by, end + by);
                self.flow(number, flows);
                self.plan(flows.1, SwarmPlan::Left { wire: number });
            }
        }
    }
}
