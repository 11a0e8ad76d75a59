//! Worlds drawn from a seed.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use servent_core::choose::Choose;
use servent_core::time::{Duration, Instant};

use super::router::{Filtering, Mapping, RouterKind};
use super::scenario::{PairSetup, PersonSetup, RouterSetup, Scenario};

/// Two people, each behind a drawn router or both behind one.
#[must_use]
pub fn draw(choose: &mut Choose, seed: u64) -> Scenario {
    let one = router(choose);
    let together = one.mapping != Mapping::None && choose.chance(1, 8);
    let kinds = if together { vec![one] } else { vec![one, router(choose)] };
    let delay = |choose: &mut Choose| Duration::from_micros(choose.between(500, 90_000));
    let routers = kinds.into_iter().enumerate().map(|(i, kind)| {
        let name = format!("{} router", NAMES[i]);
        RouterSetup::new(&name, kind, delay(choose))
    });
    let routers: Vec<_> = routers.collect();
    let person = |i: usize| {
        let behind = Some(if together { 0 } else { i as u32 });
        PersonSetup { name: String::from(NAMES[i]), behind, ..PersonSetup::default() }
    };
    let late = Instant::ZERO + Duration::from_millis(choose.between(0, 3_000));
    let caller_first = choose.chance(1, 2);
    let (caller_at, listener_at) =
        if caller_first { (Instant::ZERO, late) } else { (late, Instant::ZERO) };
    let messages = choose.between(1, 60);
    let pair = PairSetup { caller_at, listener_at, messages, ..PairSetup::default() };
    Scenario {
        id: format!("random-meet-{seed}"),
        seed,
        horizon: Duration::from_secs(20),
        routers,
        people: vec![person(0), person(1)],
        relay: choose.chance(1, 3),
        second_port: choose.chance(3, 4),
        loss: choose.between(0, 40) as u32,
        pairs: vec![pair],
        ..Scenario::default()
    }
}

const NAMES: [&str; 2] = ["Ada", "Ben"];

fn router(choose: &mut Choose) -> RouterKind {
    let mapping = match choose.below(8) {
        0 => return RouterKind::open(),
        1 => Mapping::None,
        2..=4 => Mapping::EndpointDependent,
        _ => Mapping::EndpointIndependent,
    };
    let filtering = match choose.below(12) {
        0 => Filtering::Blocked,
        // With another port for each destination this is none that exists.
        1..=2 if mapping != Mapping::EndpointDependent => Filtering::EndpointIndependent,
        3..=5 => Filtering::AddressDependent,
        _ => Filtering::PortDependent,
    };
    RouterKind {
        hairpin: choose.chance(1, 2),
        timeout: Duration::from_secs(choose.between(20, 180)),
        ports: if choose.chance(1, 6) { 600 } else { 4_000 },
        ..RouterKind::new(mapping, filtering)
    }
}
