//! Runs worlds of nodes that send each other messages.

use servent_core::time::{Duration, Instant};
use servent_core::trace::Record;
use servent_core::unicast;
use servent_sim::Oracle as _;
use servent_sim::unicast::check::UnicastOracles;
use servent_sim::unicast::{DatagramEvent, Event, MessagingEvent, Scenario, UnicastWorld, random};

use super::{Run, RunEnd, RunOutcome};

/// Runs a scenario to its end, checked by the oracles. Unless the end is open,
/// everything has to be finished by then.
pub(super) fn play(scenario: Scenario, how: RunEnd) -> Run {
    let quiet = if how == RunEnd::Drawn { random::QUIET } else { Duration::ZERO };
    let (mut world, mut oracles) =
        (UnicastWorld::new(&scenario), UnicastOracles::new(&scenario).quiet_for(quiet));
    let end = Instant::ZERO + scenario.horizon;
    let (mut written, mut read, mut named, mut lost, mut resent) = (0, 0, 0, 0, 0);
    let see = |record: &Record<Event>| {
        oracles.observe(record);
        match record.event {
            Event::App(MessagingEvent::Wrote { .. }) => written += 1,
            Event::App(MessagingEvent::Read { .. }) => read += 1,
            Event::Datagram(DatagramEvent::Lost { .. }) => lost += 1,
            Event::Unicast(unicast::Event::Undelivered { from, to, .. }) => named += to - from + 1,
            Event::Unicast(unicast::Event::Resent { from, to, .. }) => resent += to - from + 1,
            _ => {}
        }
    };
    world.watch(end, |_| false, see);
    if how != RunEnd::Open {
        oracles.finish(end);
    }
    Run {
        scenario: scenario.id,
        seed: scenario.seed,
        seconds: scenario.horizon.as_secs(),
        events: world.events(),
        records: world.records(),
        digest: format!("{:016x}", world.digest()),
        outcome: RunOutcome::Messages { written, read, named, lost, resent },
        violations: oracles.violations().to_vec(),
    }
}
