//! Two people behind routers meet, or are told why not (PA-12, PA-13, PA-17).

use servent_core::time::Duration;
use servent_sim::meet::{
    Filtering, Mapping, MeetOutcome, MeetWorld, RouterKind, Scenario, can_meet, judge,
};

const OPEN: RouterKind = RouterKind::open();
const RESTRICTED: RouterKind =
    RouterKind::new(Mapping::EndpointIndependent, Filtering::AddressDependent);
const PORT_RESTRICTED: RouterKind =
    RouterKind::new(Mapping::EndpointIndependent, Filtering::PortDependent);
const SYMMETRIC: RouterKind = RouterKind::new(Mapping::EndpointDependent, Filtering::PortDependent);
const BLOCKED: RouterKind = RouterKind::new(Mapping::EndpointIndependent, Filtering::Blocked);
const ALL: [RouterKind; 5] = [OPEN, RESTRICTED, PORT_RESTRICTED, SYMMETRIC, BLOCKED];

fn scenario(routers: [RouterKind; 2], relay: bool) -> Scenario {
    Scenario {
        seed: 7,
        routers,
        together: false,
        relay,
        delays: [Duration::from_millis(10), Duration::from_millis(30)],
        loss: 0,
        apart: Duration::from_secs(1),
        caller_first: false,
        probes: true,
        messages: 50,
    }
}

fn run(scenario: &Scenario) -> MeetWorld {
    let mut world = MeetWorld::new(scenario);
    world.run();
    assert_eq!(judge(&world), None, "{scenario:?}");
    world
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
            let delays = [caller, listener].map(Duration::from_millis);
            let met = Scenario { caller_first, delays, ..scenario([*one, *other], true) };
            let first = run(&met).first_byte().unwrap().as_millis();
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
        let together = Scenario { together: true, ..scenario([kind, kind], false) };
        let mut world = MeetWorld::new(&together).drawn();
        world.run();
        assert_eq!(judge(&world), None, "{kind:?}");
        assert!(can_meet(&kind, &kind, true));
        assert!(!world.arrows().is_empty());
    }
}

/// Draws and judges worlds; how many callers ended in each way, and how long the pairs
/// took that have a direct path, in milliseconds and in order.
fn drawn(seeds: std::ops::Range<u64>) -> ([u32; 5], Vec<u64>) {
    let (mut reached, mut took) = ([0; 5], Vec::new());
    for seed in seeds {
        let world = run(&Scenario::draw(seed));
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

#[test]
fn pa_17_a_world_is_the_same_every_time() {
    let scenario = Scenario::draw(12);
    let arrows = || {
        let mut world = MeetWorld::new(&scenario).drawn();
        world.run();
        world.arrows().to_vec()
    };
    assert_eq!(arrows(), arrows());
}
