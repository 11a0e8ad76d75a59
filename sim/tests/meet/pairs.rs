//! Two people behind routers meet, or are told why not (PA-12, PA-13, PA-17).

use servent_core::choose::Choose;
use servent_core::time::{Duration, Instant};
use servent_core::trace::{NodeId, Record};
use servent_sim::Oracle as _;
use servent_sim::meet::{
    Event, Filtering, Mapping, MeetOracles, MeetOutcome, MeetWorld, PairSetup, PersonEvent,
    PersonSetup, RouterKind, RouterSetup, Scenario, can_meet, random,
};

const OPEN: RouterKind = RouterKind::open();
const RESTRICTED: RouterKind =
    RouterKind::new(Mapping::EndpointIndependent, Filtering::AddressDependent);
const PORT_RESTRICTED: RouterKind =
    RouterKind::new(Mapping::EndpointIndependent, Filtering::PortDependent);
const SYMMETRIC: RouterKind = RouterKind::new(Mapping::EndpointDependent, Filtering::PortDependent);
const BLOCKED: RouterKind = RouterKind::new(Mapping::EndpointIndependent, Filtering::Blocked);
const ALL: [RouterKind; 5] = [OPEN, RESTRICTED, PORT_RESTRICTED, SYMMETRIC, BLOCKED];

/// Ada calls Ben, each behind a router; how far the two are from the place is given in
/// milliseconds.
fn apart(routers: [RouterKind; 2], relay: bool, delays: [u64; 2], caller_first: bool) -> Scenario {
    let setup = |(kind, delay)| RouterSetup::new("router", kind, Duration::from_millis(delay));
    let person = |at: u32| PersonSetup { behind: Some(at), ..PersonSetup::default() };
    let (early, late) = (Instant::ZERO, Instant::from_secs(1));
    let (caller_at, listener_at) = if caller_first { (early, late) } else { (late, early) };
    let pair = PairSetup { caller_at, listener_at, messages: 50, ..PairSetup::default() };
    Scenario {
        seed: 7,
        horizon: Duration::from_secs(16),
        routers: routers.into_iter().zip(delays).map(setup).collect(),
        people: vec![person(0), person(1)],
        relay,
        pairs: vec![pair],
        ..Scenario::default()
    }
}

fn scenario(routers: [RouterKind; 2], relay: bool) -> Scenario {
    apart(routers, relay, [10, 30], false)
}

/// A run that has ended.
struct EndedRun {
    world: MeetWorld,
    oracles: MeetOracles,
    records: Vec<Record<Event>>,
}

impl EndedRun {
    fn outcomes(&self) -> [MeetOutcome; 2] {
        [0, 1].map(|node| self.world.site(NodeId(node)).outcome)
    }

    /// How long both took to find the path they have in the end, in milliseconds.
    fn took(&self) -> Option<u64> {
        self.oracles.took(0).map(Duration::as_millis)
    }

    /// When the first message was read, in milliseconds after both were there.
    fn first_byte(&self) -> Option<u64> {
        let read = |record: &&Record<Event>| {
            matches!(record.event, Event::Person(PersonEvent::Read { .. }))
        };
        let at = self.records.iter().find(read)?.at;
        Some(at.since(self.world.scenario().pairs[0].both_at()).as_millis())
    }
}

fn run(scenario: &Scenario) -> EndedRun {
    let (mut world, mut oracles) = (MeetWorld::new(scenario), MeetOracles::new(scenario));
    let (end, mut records) = (Instant::ZERO + scenario.horizon, Vec::new());
    world.run_until(end, &mut records);
    records.iter().for_each(|record| oracles.observe(record));
    oracles.finish(end);
    assert_eq!(oracles.violations(), [], "{scenario:?}");
    EndedRun { world, oracles, records }
}

#[test]
fn pa_12_all_but_symmetric_pairs_find_a_direct_path() {
    let mut direct = 0;
    for one in ALL {
        for other in ALL {
            let world = run(&scenario([one, other], false));
            if world.outcomes() == [MeetOutcome::Direct; 2] {
                direct += 1;
                let took = world.took().unwrap();
                // The port of a symmetric router must be guessed.
                let most = if can_meet(&one, &other, false) { 1_000 } else { 4_000 };
                assert!(took <= most, "{one:?} and {other:?} took {took} ms");
            }
        }
    }
    assert_eq!(direct, 15);
}

#[test]
fn pa_13_with_a_relay_all_sixteen_have_a_path_at_once_and_fifteen_leave_it() {
    let (mut direct, mut relayed) = (0, 0);
    for one in &ALL[..4] {
        for other in &ALL[..4] {
            let world = run(&scenario([*one, *other], true));
            match world.outcomes() {
                [MeetOutcome::Direct, MeetOutcome::Direct] => direct += 1,
                [MeetOutcome::Relayed, MeetOutcome::Relayed] => relayed += 1,
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!((direct, relayed), (15, 1));
}

/// Whatever their routers do, and whichever of them comes last. That one asks the place and
/// takes its seat, the caller is told, and opens a connection: nothing waits in between.
#[test]
fn pa_13_with_a_relay_the_first_byte_takes_two_and_a_half_round_trips() {
    for (one, other) in ALL[..4].iter().flat_map(|one| ALL[..4].iter().map(move |it| (one, it))) {
        for (caller_first, [caller, listener]) in
            [(false, [20, 20]), (true, [20, 20]), (false, [40, 5]), (true, [10, 30])]
        {
            let met = apart([*one, *other], true, [caller, listener], caller_first);
            let first = run(&met).first_byte().unwrap();
            let (seated, way) =
                (3 * if caller_first { listener } else { caller }, caller + listener);
            assert_eq!(first, seated + caller + 3 * way, "{met:?}");
            // Both are there when both have a seat: at most two round trips from then on,
            // and two and a half from its start for one that is as far from the place.
            assert!(first - seated <= 2 * (2 * way), "{met:?}");
            assert!(caller != listener || 2 * first == 5 * (2 * way), "{met:?}");
        }
    }
}

#[test]
fn pa_12_two_in_one_network_meet_there_whatever_their_router_does() {
    for kind in [RESTRICTED, PORT_RESTRICTED, SYMMETRIC] {
        let mut together = scenario([kind, kind], false);
        together.people[1].behind = Some(0);
        assert!(can_meet(&kind, &kind, true));
        assert_eq!(run(&together).outcomes(), [MeetOutcome::Direct; 2], "{kind:?}");
    }
}

/// A router that has forgotten its host, which waits at the place, has no way back to it:
/// the introduction is lost. The seat is renewed from another port within seconds, and the
/// caller, which knocks in vain, is told the new one.
#[test]
fn pa_12_a_listener_whose_router_forgets_it_is_met_at_its_new_address() {
    for relay in [false, true] {
        for kind in [RESTRICTED, PORT_RESTRICTED] {
            let mut forgotten = scenario([kind, kind], relay);
            forgotten.routers[1].timeout = Duration::from_secs(2);
            forgotten.pairs[0].caller_at = Instant::from_secs(3);
            forgotten.horizon = Duration::from_secs(24);
            let met = run(&forgotten);
            assert_eq!(met.outcomes(), [MeetOutcome::Direct; 2], "{kind:?}, relay: {relay}");
        }
    }
}

/// Draws and judges worlds; how many callers ended in each way, and how long the pairs
/// took that have a direct path, in milliseconds and in order.
fn drawn(seeds: std::ops::Range<u64>) -> ([u32; 5], Vec<u64>) {
    let (mut reached, mut took) = ([0; 5], Vec::new());
    for seed in seeds {
        let world = run(&random::draw(&mut Choose::random(seed), seed));
        reached[world.outcomes()[0] as usize] += 1;
        if world.outcomes() == [MeetOutcome::Direct; 2] {
            took.extend(world.took());
        }
    }
    took.sort_unstable();
    (reached, took)
}

#[test]
fn pa_17_drawn_worlds_keep_every_rule() {
    let (reached, took) = drawn(0..1_000);
    assert!(reached.iter().all(|worlds| *worlds > 5), "every end occurs: {reached:?}");
    let half = took[took.len() / 2];
    assert!(half <= 1_000, "half of the pairs have their direct path within {half} ms");
}

#[test]
#[ignore = "run by `cargo xtask campaign`: it takes minutes without a release build"]
fn pa_17_ten_thousand_drawn_worlds_keep_every_rule() {
    let (reached, took) = drawn(0..10_000);
    let at = |part: usize| took[(took.len() - 1) * part / 100];
    println!("10000 worlds; callers: silent, waiting, direct, relayed, unreachable: {reached:?}");
    println!("{} pairs met directly, half of them within {} ms", took.len(), at(50));
    println!("95 of 100 within {} ms, all within {} ms", at(95), at(100));
    assert!(at(50) <= 1_000, "half of them are there within a second: {}", at(50));
}
