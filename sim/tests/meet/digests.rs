//! The digest of every preset, pinned: a person who changes what a servent or a router
//! does sees it here, and every target must agree.

use servent_sim::meet::presets;

use crate::presets::run;

const PINNED: &str = include_str!("digests.txt");

#[test]
fn every_preset_has_the_digest_it_had() {
    let line = |s: servent_sim::meet::Scenario| format!("{} {:016x}\n", s.id, run(&s).0.digest());
    let now: String = presets::all().map(line).collect();
    if std::env::var_os("PIN").is_some() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/meet/digests.txt");
        return std::fs::write(file, now).expect("the file can be written");
    }
    let pin = "PIN=1 cargo test -p servent-sim --test meet digest";
    assert_eq!(now, PINNED, "if this change is meant: {pin}");
}
