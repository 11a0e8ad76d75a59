//! Time travel over overlays: a seek is a run, and a fault on the past opens
//! a branch.

use servent_core::choose::Choose;
use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;
use servent_sim::routing::{Routing, RoutingAction, RoutingWorld, presets, random};
use servent_sim::{Keyframes, Timeline};

const PACE: Keyframes = Keyframes { every: 64, most: 8 };

#[test]
fn a_seek_is_a_run_to_there() {
    for seed in 1..20 {
        let s = random::draw(&mut Choose::random(seed), seed);
        let mut timeline: Timeline<Routing> = Timeline::new(&s, PACE);
        timeline.seek(Instant::ZERO + s.horizon);
        for part in [3, 1, 4, 0, 2] {
            let at = Instant::ZERO + s.horizon.ratio(part, 5);
            timeline.seek(at);
            let mut world = RoutingWorld::new(&s);
            world.run_until(at, &mut Vec::new());
            assert_eq!(timeline.world().digest(), world.digest(), "seed {seed} at {at:?}");
        }
    }
}

#[test]
fn a_step_and_a_step_back_lead_nowhere() {
    let s = presets::find("way-back").expect("a preset");
    let end = Instant::ZERO + s.horizon;
    let mut timeline: Timeline<Routing> = Timeline::new(&s, PACE);
    timeline.seek(Instant::from_secs(2));
    let (index, now) = (timeline.index(), timeline.now());
    assert!(timeline.step(true, end) && timeline.step(false, end));
    assert_eq!(timeline.index(), index);
    assert!(timeline.now() <= now);
}

#[test]
fn a_cut_in_the_past_opens_a_branch_in_which_the_answer_is_lost() {
    let s = presets::find("ring").expect("a preset");
    let mut timeline: Timeline<Routing> = Timeline::new(&s, PACE);
    let end = Instant::ZERO + s.horizon;
    timeline.seek(end);
    let whole = timeline.world().digest();
    timeline.seek(Instant::ZERO + Duration::from_millis(2_000));
    let (from, to) = (NodeId(1), NodeId(2));
    let act = RoutingAction::Cut { from, to };
    assert_eq!(timeline.inject(act), Some(1));
    timeline.seek(end);
    assert_ne!(timeline.world().digest(), whole);
    let tally = timeline.world().tally(None).expect("of all");
    assert_eq!(tally.sent, tally.arrived + tally.lost + tally.flying);
    assert!(timeline.divergence(0, 1).is_some());
    assert!(timeline.use_branch(0));
    timeline.seek(end);
    assert_eq!(timeline.world().digest(), whole);
}
