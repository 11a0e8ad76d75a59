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

#[test]
fn pa_17_drawn_worlds_keep_every_rule() {
    let seeds = if cfg!(debug_assertions) { 1_000 } else { 10_000 };
    let mut reached = [0; 5];
    for seed in 0..seeds {
        let scenario = Scenario::draw(seed);
        let world = run(&scenario);
        reached[world.outcomes()[0] as usize] += 1;
    }
    assert!(reached.iter().all(|worlds| *worlds > 5), "every end occurs: {reached:?}");
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
