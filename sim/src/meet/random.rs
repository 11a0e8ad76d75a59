//! Worlds drawn from a seed.

use servent_core::rng::Rng;
use servent_core::time::Duration;

use super::router::{Filtering, Mapping, RouterKind};
use super::world::Scenario;

impl Scenario {
    /// A drawn world.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        let rng = &mut Rng::new(seed).fork("meeting", 0);
        let together = rng.chance(1, 8);
        let one = router(rng);
        let other = if together { one } else { router(rng) };
        let delay = |rng: &mut Rng| Duration::from_micros(rng.between(500, 90_000));
        Self {
            seed,
            routers: [one, other],
            together: together && one.mapping != Mapping::None,
            relay: rng.chance(1, 3),
            delays: [delay(rng), delay(rng)],
            loss: rng.between(0, 40) as u32,
            apart: Duration::from_millis(rng.between(0, 3_000)),
            caller_first: rng.chance(1, 2),
            probes: rng.chance(3, 4),
            messages: rng.between(1, 60),
        }
    }
}

fn router(rng: &mut Rng) -> RouterKind {
    let mapping = match rng.below(8) {
        0 => return RouterKind::open(),
        1 => Mapping::None,
        2..=4 => Mapping::EndpointDependent,
        _ => Mapping::EndpointIndependent,
    };
    let filtering = match rng.below(12) {
        0 => Filtering::Blocked,
        // With another port for each destination this is none that exists.
        1..=2 if mapping != Mapping::EndpointDependent => Filtering::EndpointIndependent,
        3..=5 => Filtering::AddressDependent,
        _ => Filtering::PortDependent,
    };
    RouterKind {
        hairpin: rng.chance(1, 2),
        timeout: Duration::from_secs(rng.between(20, 180)),
        ports: if rng.chance(1, 6) { 600 } else { 4_000 },
        ..RouterKind::new(mapping, filtering)
    }
}
