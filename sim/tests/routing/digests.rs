//! The digest of every preset, pinned: a person who changes what a router decides
//! sees it here, and every target must agree.

use servent_sim::routing::presets;

use crate::presets::run;

const PINNED: &str = include_str!("digests.txt");

#[test]
fn every_preset_has_the_digest_it_had() {
    let mut now = String::new();
    for preset in presets::all() {
        now += &format!("{} {:016x}\n", preset.id, run(&preset).0.digest());
    }
    if std::env::var_os("PIN").is_some() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/routing/digests.txt");
        return std::fs::write(file, now).expect("the file can be written");
    }
    let pin = "PIN=1 cargo test -p servent-sim --test routing digest";
    assert_eq!(now, PINNED, "if this change is meant: {pin}");
}
