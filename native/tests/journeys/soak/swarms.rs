//! A swarm of which the coordinator and a client are killed.

use super::Lane;
use crate::program::{Running, assert_same, free_port};
use crate::swarm_program::{client, coordinator_in_pieces};

const SIZE: usize = 400_000;
const FORM: [&str; 6] = ["--chunk", "1024", "--slots", "16", "--upload-rate", "300k"];

pub(super) fn run(mut lane: Lane) {
    let at = format!("127.0.0.1:{}", free_port());
    while lane.goes_on() {
        let (mut server, bytes) = coordinator_in_pieces(&lane.place, SIZE, &at, &FORM);
        let mut stays = client(&lane.place, server.at, "stays", &[]);
        // A client that finds no coordinator says so and ends; later it waits for one.
        stays.event("progress");
        let mut dies = client(&lane.place, server.at, "dies", &[]);
        for _ in 0..lane.dice.between(2, 8) {
            if lane.dice.chance(1, 2) {
                lane.kill_within(300, server);
                server = coordinator_in_pieces(&lane.place, SIZE, &at, &FORM).0;
            } else {
                lane.kill_within(300, dies);
                lane.whole_or_absent("dies", &bytes);
                dies = client(&lane.place, server.at, "dies", &[]);
            }
        }
        // It may have begun while no coordinator ran, and have said so and ended.
        lane.kill_within(300, dies);
        let mut dies = client(&lane.place, server.at, "dies", &[]);
        for (name, client) in [("stays", &mut stays), ("dies", &mut dies)] {
            client.event("done");
            assert_same(&lane.place.path(name), &bytes);
            lane.soak.count("swarm files whole");
        }
        forget(&lane, [server, stays, dies]);
    }
}

/// Ends all of them, and leaves nothing of the round.
fn forget(lane: &Lane, all: [Running; 3]) {
    all.into_iter().for_each(Running::kill);
    for name in ["stays", "dies"] {
        std::fs::remove_file(lane.place.path(name)).unwrap();
    }
    for name in ["clients", "s"] {
        std::fs::remove_dir_all(lane.place.path(name)).unwrap();
    }
}
