//! The demo ends by itself, sums up, and its trace runs again.

use crate::program;

use program::Place;
use serde_json::Value;

#[test]
fn it_transfers_verifies_sums_up_and_replays() {
    let place = Place::new();
    let output = place.run(&[
        "demo",
        "--seconds",
        "8",
        "--json",
        "--lab",
        "127.0.0.1:0",
        "--time-scale",
        "60",
        "--rate",
        "4000000",
        "--keep",
        "kept",
    ]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(summary["transfers"].as_u64().unwrap() >= 3, "{summary}");
    assert_eq!(summary["verified"], summary["transfers"]);
    assert!(!summary["positions"].as_array().unwrap().is_empty(), "no client queued: {summary}");
    assert_eq!(summary["errors"], serde_json::json!([]));
    let replay = place.run(&["replay", "kept/traces/uploader.sqlog"]);
    assert!(replay.status.success(), "{}", String::from_utf8_lossy(&replay.stderr));
    assert!(String::from_utf8(replay.stdout).unwrap().starts_with("verified "));
}
