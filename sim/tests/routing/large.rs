//! A large overlay: seeks give the world that a run gives, and what is kept
//! for them is shared.

use servent_core::time::Instant;
use servent_sim::routing::{Routing, RoutingWorld, presets};
use servent_sim::{Keyframes, Timeline};

#[test]
fn a_seek_in_ten_thousand_nodes_is_a_run_to_there() {
    let s = presets::find("ten-thousand").expect("a preset");
    let mut timeline: Timeline<Routing> = Timeline::new(&s, Keyframes { every: 16_384, most: 8 });
    timeline.seek(Instant::ZERO + s.horizon);
    for at in [Instant::from_secs(2), Instant::from_secs(1), Instant::from_secs(7)] {
        timeline.seek(at);
        let mut world = RoutingWorld::new(&s);
        world.run_until(at, &mut Vec::new());
        assert_eq!(timeline.world().digest(), world.digest(), "{at:?}");
        assert_eq!(timeline.world().flying(), world.flying());
    }
}
