//! A swarm of 10 000 pieces, and `kill -9` on both sides of it.

use super::kills::{Moments, TIMES};
use crate::program::{Place, Running, assert_same, free_port};
use crate::swarm_program::{client, coordinator_in_pieces, number};

const PIECE: usize = 256;
const PIECES: usize = 10_000;
const SMALL: [&str; 6] = ["--chunk", "256", "--slots", "16", "--upload-rate", "200k"];

fn serve(place: &Place, at: &str) -> (Running, Vec<u8>) {
    coordinator_in_pieces(place, PIECE * PIECES, at, &SMALL)
}

#[test]
fn sw_30_ten_thousand_pieces_go_on_whichever_side_is_killed_and_however_often() {
    let place = Place::new();
    let at = format!("127.0.0.1:{}", free_port());
    let (mut server, bytes) = serve(&place, &at);
    // One that stays, one that is killed, and a coordinator that is, too.
    let mut stays = client(&place, server.at, "stays", &[]);
    let mut dies = client(&place, server.at, "dies", &[]);
    // One that never found a coordinator would end, as it should.
    stays.event("progress");
    let mut moments = Moments::drawn();
    for turn in 0..TIMES {
        moments.wait(500);
        if turn % 2 == 0 {
            server.kill();
            server = serve(&place, &at).0;
        } else {
            dies.kill();
            dies = client(&place, server.at, "dies", &[]);
        }
    }
    // It may have begun while no coordinator ran, and have said so and ended.
    dies.kill();
    let mut dies = client(&place, server.at, "dies", &[]);
    for (name, client) in [("stays", &mut stays), ("dies", &mut dies)] {
        let done = client.event("done");
        assert_eq!(number(&done, "pieces"), PIECES as u64, "{done}");
        assert_same(&place.path(name), &bytes);
    }
}
