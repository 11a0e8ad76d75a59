//! The oracles speak up: a sound history, then each kind of lie.

use servent_core::id::ConnId;
use servent_core::swarm::{Event as Swarm, Failure, FileNo, Pick, SwarmPolicy};
use servent_core::time::{Duration, Instant};
use servent_core::trace::{NodeId, Record};
use servent_sim::Oracle as _;
use servent_sim::swarm::check::SwarmOracles;
use servent_sim::swarm::{Event, PeerGroup, Scenario};

const FILE: FileNo = 0;

/// Four clients and eight pieces.
fn scenario(policy: SwarmPolicy) -> Scenario {
    let group = PeerGroup { count: 4, ..PeerGroup::default() };
    let mut scenario = Scenario { pieces: 8, clients: vec![group], ..Scenario::default() };
    scenario.swarm.policy = policy;
    scenario
}

/// What the oracles find in a made-up history, one event a second, and then
/// one more that says nothing.
fn verdict_under(policy: SwarmPolicy, events: Vec<Swarm>) -> Vec<&'static str> {
    let mut oracles = SwarmOracles::new(&scenario(policy));
    let end = Swarm::Withdrawn { file: FILE };
    for (seq, event) in (0..).zip(events.into_iter().chain([end])) {
        let (at, event) = (Instant::from_secs(seq), Event::Swarm(event));
        oracles.observe(&Record { seq, at, node: NodeId(0), cause: None, event });
    }
    oracles.violations().iter().map(|violation| violation.key).collect()
}

fn verdict(events: Vec<Swarm>) -> Vec<&'static str> {
    verdict_under(SwarmPolicy::Adaptive, events)
}

fn client(n: u64) -> ConnId {
    ConnId(n << 16)
}

fn comes(n: u64, active: bool) -> Swarm {
    Swarm::Registered { client: client(n), peer: [10, 0, 0, n as u8].into(), active }
}

fn joins(n: u64) -> Swarm {
    Swarm::Joined { client: client(n), file: FILE, held: 0, wanted: 8 }
}

/// A piece for `down` that costs it nothing.
fn given(piece: u32, down: u64, up: Option<u64>, put: bool) -> Swarm {
    assigned(piece, down, up, put, false)
}

fn assigned(piece: u32, down: u64, up: Option<u64>, put: bool, charged: bool) -> Swarm {
    let (down, up) = (client(down), up.map(client));
    Swarm::Assigned { file: FILE, piece, down, up, put, why: Pick::Fastest, charged, funnel: None }
}

fn arrives(piece: u32, down: u64, up: Option<u64>) -> Swarm {
    Swarm::Arrived { file: FILE, piece, down: client(down), up: up.map(client) }
}

fn confirmed(piece: u32, down: u64, up: Option<u64>) -> Swarm {
    let (down, up, took) = (client(down), up.map(client), Duration::ZERO);
    Swarm::Confirmed { file: FILE, piece, down, up, bytes: 1, took, charged: false }
}

fn granted(n: u64, grants: u64) -> Swarm {
    Swarm::Granted { client: client(n), file: FILE, grants, aged: false }
}

fn shut_out(n: u64) -> Swarm {
    Swarm::Quarantined { client: client(n), failures: 3 }
}

#[test]
fn a_sound_history_is_not_complained_of() {
    let both = [comes(0, true), comes(1, true)];
    let story = [
        given(0, 0, None, false),
        arrives(0, 0, None),
        confirmed(0, 0, None),
        given(0, 1, Some(0), false),
        arrives(0, 1, Some(0)),
        confirmed(0, 1, Some(0)),
        granted(1, 1),
        assigned(1, 1, None, false, true),
    ];
    assert_eq!(verdict([&both[..], &story].concat()), [""; 0]);
}

#[test]
fn a_pair_that_must_not_be_is_seen() {
    let active = [comes(0, true), comes(1, true)];
    let passive = [comes(0, false), comes(1, false)];
    let of = |who: &[Swarm], pair| verdict([who, &[pair]].concat());
    assert_eq!(of(&active, given(0, 0, Some(1), false)), [""; 0]);
    assert_eq!(of(&active, given(0, 0, Some(1), true)), ["check.wrong_side_connects"]);
    assert_eq!(of(&passive, given(0, 0, Some(1), false)), ["check.wrong_side_connects"]);
    assert_eq!(of(&passive, given(0, 0, Some(1), true)), ["check.passive_to_passive"]);
    assert_eq!(of(&active, given(0, 0, Some(0), false)), ["check.to_itself"]);
}

#[test]
fn a_client_that_became_passive_is_not_connected_to() {
    let who = [comes(0, true), comes(1, true)];
    let changes = Swarm::Mode { client: client(1), active: false, forced: true };
    let story = [changes, given(0, 0, Some(1), false)];
    assert_eq!(verdict([&who[..], &story].concat()), ["check.wrong_side_connects"]);
}

#[test]
fn a_client_that_is_shut_out_gives_and_gets_nothing() {
    let who = [comes(0, true), comes(1, true), shut_out(1)];
    let of = |story: &[Swarm]| verdict([&who[..], story].concat());
    assert_eq!(of(&[given(0, 0, Some(1), false)]), ["check.from_quarantine"]);
    assert_eq!(of(&[granted(1, 1)]), ["check.grant_in_quarantine"]);
    let released = Swarm::Released { client: client(1) };
    assert_eq!(of(&[released, given(0, 0, Some(1), false), granted(1, 1)]), [""; 0]);
}

#[test]
fn a_grant_under_rules_without_grants_and_one_miscounted_are_seen() {
    let story = vec![comes(0, true), granted(0, 1)];
    assert_eq!(verdict(story.clone()), [""; 0]);
    assert_eq!(verdict_under(SwarmPolicy::Seed2004, story), ["check.grant_of_2004"]);
    assert_eq!(verdict(vec![comes(0, true), granted(0, 2)]), ["check.grants_differ"]);
}

#[test]
fn a_piece_without_credit_and_a_stall_with_credit_are_seen() {
    let free = Swarm::Free { client: client(0) };
    let stalled = Swarm::Stalled { client: client(0), file: FILE };
    let story = [comes(0, true), assigned(0, 0, None, false, true)];
    assert_eq!(verdict(story.to_vec()), ["check.given_without_credit"]);
    let [comes, takes] = story;
    assert_eq!(verdict(vec![comes.clone(), free.clone(), takes.clone()]), [""; 0]);
    let second = assigned(1, 0, None, false, true);
    let twice = vec![comes.clone(), free.clone(), takes.clone(), second];
    assert_eq!(verdict(twice), ["check.given_without_credit"]);
    // A piece that was paid for and failed is tried again for nothing.
    let why = Failure::DownloaderLeft;
    let (down, up, offset) = (client(0), None, 0);
    let fails = Swarm::Failed { file: FILE, piece: 0, down, up, why, offset };
    let again = vec![comes.clone(), free.clone(), takes.clone(), fails, takes.clone()];
    assert_eq!(verdict(again), [""; 0]);
    assert_eq!(verdict(vec![comes.clone(), stalled.clone()]), [""; 0]);
    assert_eq!(verdict(vec![comes, free, stalled]), ["check.stalled_with_credit"]);
}

#[test]
fn a_piece_given_to_a_client_that_has_it_is_seen() {
    let once = [comes(0, true), given(0, 0, None, false), arrives(0, 0, None)];
    let again = [confirmed(0, 0, None), given(0, 0, None, false)];
    assert_eq!(verdict([&once[..], &again].concat()), ["check.given_again"]);
}

#[test]
fn a_slot_left_idle_that_a_client_could_use_is_seen() {
    let who = [comes(0, true), comes(1, true), joins(0), joins(1)];
    let story = [given(0, 0, None, false), arrives(0, 0, None)];
    let of = |more: &[Swarm]| verdict([&who[..], &story, more].concat());
    // The piece is there, and goes on at once: that is as it should be.
    let mut oracles = SwarmOracles::new(&scenario(SwarmPolicy::Adaptive));
    let events = [&who[..], &story, &[given(0, 1, Some(0), false)]].concat();
    for (seq, event) in (0..).zip(events) {
        let (at, event) = (Instant::from_secs(seq.min(5)), Event::Swarm(event));
        oracles.observe(&Record { seq, at, node: NodeId(0), cause: None, event });
    }
    assert_eq!(oracles.violations(), []);
    assert_eq!(of(&[]), ["check.idle_but_useful"]);
    let gone = Swarm::Left { client: client(1) };
    assert_eq!(of(&[gone]), ["check.idle_but_useful"], "for the second before it left");
}
