//! An echo whose timing is open.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::scenario::Scenario;
use super::world::{Echo, EchoWorld, Event, Flight, LinkEvent, arrive, ask, fly};
use crate::explore::{ExploredProtocol, Fingerprint, InFlight, StoryStep};
use crate::links::datagram::DatagramLoss;

impl ExploredProtocol for Echo {
    const CRASHES: bool = false;

    fn open(world: &mut EchoWorld) {
        ask(world);
    }

    fn acts(_: &Scenario) -> u32 {
        0
    }

    fn perform(_: &mut EchoWorld, _: u32) {}

    fn flights(world: &EchoWorld) -> Vec<InFlight> {
        let in_flight = |(id, flight): (&u64, &Flight)| {
            let Flight { to, message, sent, .. } = *flight;
            InFlight { id: *id, from: 1 - to, to, n: message.n, sent, ready: true }
        };
        world.net.flying.iter().map(in_flight).collect()
    }

    fn deliver(world: &mut EchoWorld, flight: u64) {
        arrive(world, flight);
    }

    fn lose(world: &mut EchoWorld, flight: u64) {
        if let Some(Flight { to, message, cause, .. }) = world.net.flying.remove(&flight) {
            let lost =
                LinkEvent::Lost { n: message.n, answer: message.answer, why: DatagramLoss::Drop };
            world.note(1 - to, cause, Event::Link(lost));
        }
    }

    fn double(world: &mut EchoWorld, flight: u64) {
        if let Some(flight) = world.net.flying.get(&flight).copied() {
            fly(world, flight);
        }
    }

    fn fingerprint(world: &EchoWorld, print: &mut Fingerprint) {
        for node in 0..world.count() {
            print.add(&world.slot(node).engine);
        }
        for way in &world.net.ways {
            print.add(&way.count);
        }
        let mut flights: Vec<_> = world.net.flying.values().collect();
        flights.sort_unstable_by_key(|flight| (flight.to, flight.message.n, flight.sent));
        for Flight { to, message, sent, .. } in flights {
            print.add(&(to, message, sent));
        }
    }

    fn tell(world: &EchoWorld, flight: u64) -> String {
        let Some(Flight { message, .. }) = world.net.flying.get(&flight) else {
            return String::new();
        };
        let what = if message.answer { "the answer to question" } else { "question" };
        format!("{what} {}", message.n)
    }

    /// A question may be asked late in a story; no fault of a scenario delays it.
    fn retell(_: &Scenario, _: &[StoryStep]) -> Option<Scenario> {
        None
    }
}
