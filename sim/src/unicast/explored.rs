//! Worlds of datagrams whose timing is open.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::event::{DatagramEvent, DatagramId, Event};
use super::host::Talk;
use super::retold::retell;
use super::scenario::Scenario;
use super::world::{DatagramFlight, Unicast, UnicastWorld};
use crate::explore::{ExploredProtocol, Fingerprint, InFlight, StoryStep};
use crate::links::datagram::DatagramLoss;
use servent_core::node::Node;
use servent_core::trace::NodeId;

impl ExploredProtocol for Unicast {
    const CRASHES: bool = true;

    fn open(world: &mut UnicastWorld) {
        (0..world.count()).for_each(|node| world.boot(node, None));
    }

    fn acts(scenario: &Scenario) -> u32 {
        scenario.script.len() as u32
    }

    fn perform(world: &mut UnicastWorld, index: u32) {
        world.act(false, index);
    }

    fn flights(world: &UnicastWorld) -> Vec<InFlight> {
        world.net.flights.iter().map(|(id, flight)| in_flight(world, *id, flight)).collect()
    }

    fn deliver(world: &mut UnicastWorld, id: u64) {
        let now = world.now();
        if let Some(flight) = world.net.flights.get_mut(&id) {
            flight.due = now;
            world.arrive(id);
        }
    }

    fn lose(world: &mut UnicastWorld, id: u64) {
        if let Some(flight) = world.net.flights.remove(&id) {
            let to = NodeId(flight.to);
            let lost = DatagramEvent::Lost { id: flight.id, to, why: DatagramLoss::Drop };
            world.note(flight.from, Some(flight.seq), Event::Datagram(lost));
        }
    }

    fn double(world: &mut UnicastWorld, id: u64) {
        if let Some(flight) = world.net.flights.get(&id).cloned() {
            let due = flight.due;
            world.copy(flight, due);
        }
    }

    fn fingerprint(world: &UnicastWorld, print: &mut Fingerprint) {
        for node in 0..world.count() {
            let slot = world.slot(node);
            let engine = slot.engine.as_ref().and_then(Node::datagrams);
            print.add(&slot.starts);
            print.add_debug(&engine.map(|endpoint| endpoint.future()));
            print.add(&slot.own.reads);
            for talk in &slot.own.talks {
                let Talk { numbered, outbox, waits, closes, taken, last: _ } = talk;
                print.add_debug(&(numbered, outbox, waits, closes, taken));
            }
        }
        for way in &world.net.ways {
            print.add(&way.count);
        }
        // What is in flight, in an order that does not depend on the past.
        let mut flights: Vec<&DatagramFlight> = world.net.flights.values().collect();
        let key = |flight: &&DatagramFlight| (flight.from, flight.to, flight.id, flight.due);
        flights.sort_unstable_by_key(key);
        for DatagramFlight { id, due, data, .. } in flights {
            print.add(&(id, due));
            print.add(&data.as_ref());
        }
    }

    fn tell(world: &UnicastWorld, id: u64) -> String {
        let Some(flight) = world.net.flights.get(&id) else { return String::new() };
        let name = |node: u32| {
            world.scenario().nodes.get(node as usize).map_or("", |party| party.name.as_str())
        };
        let n = number(flight.id);
        let copy = if n == 0 { "a copy".into() } else { format!("datagram {n}") };
        format!("{copy} from {} to {}", name(flight.from), name(flight.to))
    }

    fn retell(scenario: &Scenario, steps: &[StoryStep]) -> Option<Scenario> {
        retell(scenario, steps)
    }
}

/// The number of a datagram in its direction; 0 for a copy.
fn number(DatagramId(id): DatagramId) -> u32 {
    u32::try_from(id & i64::from(u32::MAX)).unwrap_or_default() * u32::from(id > 0)
}

fn in_flight(world: &UnicastWorld, id: u64, flight: &DatagramFlight) -> InFlight {
    let DatagramFlight { from, to, due, .. } = *flight;
    let latency = world.scenario().link(NodeId(from), NodeId(to)).latency;
    let sent =
        servent_core::time::Instant::ZERO + due.since(servent_core::time::Instant::ZERO + latency);
    InFlight { id, from, to, n: number(flight.id), sent, ready: true }
}
