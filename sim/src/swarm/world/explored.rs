//! Swarms whose timing is open. Messages to and from the coordinator may arrive at
//! any time, those of a connection in their order; pieces take the time they take.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::super::host::SwarmHost;
use super::super::scenario::Scenario;
use super::{Swarm, SwarmPlan, SwarmWorld};
use crate::explore::{ExploredProtocol, Fingerprint, InFlight, StoryStep};
use servent_core::time::Instant;
use servent_core::trace::NodeId;
use servent_core::wire::pdtp::PdtpMessage;

/// The sender and the receiver of a planned message, and the message.
const fn message(coordinator: u32, due: &SwarmPlan) -> Option<(u32, u32, &PdtpMessage)> {
    match due {
        SwarmPlan::ToServer { client, message, .. } => Some((*client, coordinator, message)),
        SwarmPlan::ToClient { client, message, .. } => Some((coordinator, *client, message)),
        _ => None,
    }
}

/// What kind of message it is.
fn word(message: &PdtpMessage) -> String {
    let text = format!("{message:?}");
    text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().into()
}

/// Something planned, without the record that caused it.
fn add(due: &SwarmPlan, print: &mut Fingerprint) {
    match due {
        SwarmPlan::ToServer { client, life, message, cause: _ }
        | SwarmPlan::ToClient { client, life, message, cause: _ } => {
            print.add_debug(&(client, life, message));
        }
        other => print.add_debug(other),
    }
}

impl ExploredProtocol for Swarm {
    const CRASHES: bool = true;
    const STREAMS: bool = true;
    const PLANS: bool = true;

    /// What the world plans when it is made is the beginning.
    fn open(_: &mut SwarmWorld) {}

    fn acts(_: &Scenario) -> u32 {
        0
    }

    fn perform(_: &mut SwarmWorld, _: u32) {}

    fn flights(world: &SwarmWorld) -> Vec<InFlight> {
        let (coordinator, mut busy) = (world.coordinator().0, BTreeSet::new());
        let in_flight = |(id, at, due)| {
            let (from, to, _) = message(coordinator, due)?;
            let latency = world.group(from.min(to)).latency;
            let sent = Instant::ZERO + Instant::since(at, Instant::ZERO + latency);
            Some(InFlight { id, from, to, n: 0, sent, ready: busy.insert((from, to)) })
        };
        world.plans().filter_map(in_flight).collect()
    }

    fn planned(world: &SwarmWorld) -> Option<(u64, Instant)> {
        let coordinator = world.coordinator().0;
        let mut others = world.plans().filter(|(.., due)| message(coordinator, due).is_none());
        others.next().map(|(number, at, _)| (number, at))
    }

    fn deliver(world: &mut SwarmWorld, flight: u64) {
        world.happen_now(flight);
    }

    /// Never: links are streams.
    fn lose(_: &mut SwarmWorld, _: u64) {}

    /// Never: links are streams.
    fn double(_: &mut SwarmWorld, _: u64) {}

    /// The coordinator keeps its store and loses its connections.
    fn crash(world: &mut SwarmWorld, node: u32) {
        if node == world.coordinator().0 { world.open_again() } else { world.restart(node) }
    }

    fn fingerprint(world: &SwarmWorld, print: &mut Fingerprint) {
        for node in 0..world.count() {
            let slot = world.slot(node);
            print.add(&slot.starts);
            match &slot.engine {
                Some(SwarmHost::Coordinator(manager)) => print.add_debug(&manager.future()),
                Some(SwarmHost::Client(client)) => print.add_debug(client),
                None => print.add(&false),
            }
            let Some(peer) = &slot.own else { continue };
            print.add_debug(&(&peer.link, &peer.disk, &peer.kept, peer.held, peer.life));
            print.add_debug(&(peer.online, peer.came, peer.done));
        }
        let Swarm { source, store, wires, next_wire, running, cuts, served, .. } = &world.net;
        print.add_debug(&(source, store, wires, next_wire, cuts, served));
        for (pair, transfer) in running {
            print.add_debug(&(pair, transfer.giver, transfer.put, transfer.at));
            print.add_debug(&(transfer.flows, transfer.arrived));
        }
        let coordinator = world.coordinator().0;
        let mut plans: Vec<_> = world.plans().map(|(_, at, due)| (at, due)).collect();
        // Those of a connection in their order, whatever the order of all.
        plans.sort_by_key(|(_, due)| message(coordinator, due).map(|(from, to, _)| (from, to)));
        for (at, due) in plans {
            print.add(&at);
            add(due, print);
        }
    }

    fn tell(world: &SwarmWorld, flight: u64) -> String {
        let coordinator = world.coordinator();
        let due = world.plans().find(|(number, ..)| *number == flight).map(|(.., due)| due);
        let Some((from, to, message)) = due.and_then(|due| message(coordinator.0, due)) else {
            return String::new();
        };
        let name = |node: u32| match NodeId(node) {
            node if node == coordinator => String::from("the coordinator"),
            NodeId(client) => format!("client {}", client + 1),
        };
        format!("{} from {} to {}", word(message), name(from), name(to))
    }

    /// Latencies are those of clients and not of messages: no fault of a scenario
    /// delays a single one.
    fn retell(_: &Scenario, _: &[StoryStep]) -> Option<Scenario> {
        None
    }
}
