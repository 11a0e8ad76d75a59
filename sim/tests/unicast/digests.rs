//! The digest of every preset in each of its ways, pinned: a person who changes what
//! a node decides sees it here, and every target must agree.

use servent_sim::unicast::presets;

use crate::presets::{run, ways};

const PINNED: &str = include_str!("digests.txt");

#[test]
fn every_preset_has_the_digest_it_had() {
    let mut now = String::new();
    for preset in presets::all() {
        for (name, s) in ways(&preset) {
            now += &format!("{} {name} {:016x}\n", s.id, run(&s).0.digest());
        }
    }
    if std::env::var_os("PIN").is_some() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/unicast/digests.txt");
        return std::fs::write(file, now).expect("the file can be written");
    }
    let pin = "PIN=1 cargo test -p servent-sim --test unicast digest";
    assert_eq!(now, PINNED, "if this change is meant: {pin}");
}
