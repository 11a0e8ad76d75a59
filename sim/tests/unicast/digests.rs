//! The digest of every preset under both profiles, pinned: a person who changes what
//! a node decides sees it here, and every target must agree.

use servent_sim::unicast::presets;

use crate::presets::run;

const PINNED: &str = include_str!("digests.txt");

#[test]
fn every_preset_has_the_digest_it_had() {
    let mut now = String::new();
    for preset in presets::all() {
        for variant in &preset.variants {
            let s = preset.variant(&variant.name).expect("a variant of its own");
            now += &format!("{} {} {:016x}\n", s.id, variant.name, run(&s).0.digest());
        }
    }
    if std::env::var_os("PIN").is_some() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/unicast/digests.txt");
        return std::fs::write(file, now).expect("the file can be written");
    }
    let pin = "PIN=1 cargo test -p servent-sim --test unicast digest";
    assert_eq!(now, PINNED, "if this change is meant: {pin}");
}
