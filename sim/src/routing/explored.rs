//! Overlays whose timing is open. Links are streams: what was sent first on one
//! arrives first, and nothing on it is lost alone.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::check::RoutingOracles;
use super::scenario::Scenario;
use super::world::{MessageFlight, Routing, RoutingWorld, read_header};
use crate::explore::{ExploredProtocol, Fingerprint, InFlight, StoryStep};
use servent_core::routing::Router;
use servent_core::trace::NodeId;
use servent_core::wire::gnutella::MessageKind;

impl ExploredProtocol for Routing {
    const CRASHES: bool = true;
    const STREAMS: bool = true;

    fn open(world: &mut RoutingWorld) {
        world.say_first();
    }

    fn acts(scenario: &Scenario) -> u32 {
        scenario.script.len() as u32
    }

    fn perform(world: &mut RoutingWorld, index: u32) {
        world.act(false, index);
    }

    fn flights(world: &RoutingWorld) -> Vec<InFlight> {
        let mut busy = BTreeSet::new();
        let in_flight = |(id, flight): (&u64, &MessageFlight)| {
            let MessageFlight { from, to, wire, sent, .. } = *flight;
            let ready = busy.insert((wire, to));
            InFlight { id: *id, from, to, n: 0, sent, ready }
        };
        world.net.flights.iter().map(in_flight).collect()
    }

    fn deliver(world: &mut RoutingWorld, flight: u64) {
        world.arrive(flight);
    }

    /// Never: links are streams.
    fn lose(_: &mut RoutingWorld, _: u64) {}

    /// Never: links are streams.
    fn double(_: &mut RoutingWorld, _: u64) {}

    fn fingerprint(world: &RoutingWorld, print: &mut Fingerprint) {
        for node in 0..world.count() {
            let slot = world.slot(node);
            print.add(&(slot.starts, &slot.own.brought));
            print.add_debug(&slot.engine.as_ref().map(Router::future));
        }
        print.add(&(world.net.lines.states(), world.net.asked));
        print.add_debug(&world.net.firewalls);
        // Those of a link in their order, whatever the order of all.
        let mut flights: Vec<&MessageFlight> = world.net.flights.values().collect();
        flights.sort_by_key(|flight| (flight.wire, flight.to));
        for MessageFlight { to, wire, epoch, sent, data, .. } in flights {
            print.add(&(to, wire, epoch, sent));
            print.add(&data.as_ref());
        }
    }

    fn remember(oracles: &RoutingOracles, print: &mut Fingerprint) {
        print.add_debug(&oracles.future());
    }

    fn tell(world: &RoutingWorld, flight: u64) -> String {
        let Some(MessageFlight { from, to, data, .. }) = world.net.flights.get(&flight) else {
            return String::new();
        };
        let name = |node: u32| world.scenario().name(NodeId(node));
        let kind = read_header(data).map_or("message", |(_, kind)| word(kind));
        format!("the {kind} from {} to {}", name(*from), name(*to))
    }

    /// Latencies are those of links and not of messages: no fault of a scenario
    /// delays a single one.
    fn retell(_: &Scenario, _: &[StoryStep]) -> Option<Scenario> {
        None
    }
}

/// A kind of message in a sentence.
const fn word(kind: MessageKind) -> &'static str {
    match kind {
        MessageKind::Ping => "ping",
        MessageKind::Pong => "pong",
        MessageKind::Bye => "bye",
        MessageKind::Qrp => "keyword table",
        MessageKind::Vendor | MessageKind::Standard => "vendor message",
        MessageKind::Push => "push",
        MessageKind::Query => "query",
        MessageKind::Hit => "hit",
    }
}
