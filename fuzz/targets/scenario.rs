//! A scenario from anywhere: refused with a sentence, or a world that runs.
#![no_main]

use servent_sim::registry::{ProtocolId, TaggedScenario};
use servent_sim::{RegisteredProtocol, World, for_protocol};

/// Calendar events of one world.
const EVENTS: usize = 2_000;
/// Records of one world, and events that may be planned: a flood says everything
/// at once, and that is its right.
const RECORDS: usize = 10_000;
const PLANNED: usize = 20_000;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = core::str::from_utf8(data) else { return };
    if let Ok(tagged) = TaggedScenario::parse(text) {
        for_protocol!(tagged.protocol, run(&tagged));
    }
    // The seeds, and what a stranger sends, need not name the protocol.
    for protocol in ProtocolId::ALL {
        if let Ok(tagged) = TaggedScenario::parse_as(*protocol, text) {
            for_protocol!(*protocol, run(&tagged));
        }
    }
});

fn run<P: RegisteredProtocol>(tagged: &TaggedScenario) {
    let Ok(scenario) = tagged.read::<P>() else { return };
    if !P::is_small(&scenario) {
        return;
    }
    let mut world = World::<P>::new(&scenario);
    let mut records = Vec::new();
    for _ in 0..EVENTS {
        if !world.step(&mut records) || records.len() > RECORDS || world.planned() > PLANNED {
            break;
        }
    }
}
