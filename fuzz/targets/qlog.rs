//! A tape from anywhere: read, re-executed, never believed.
#![no_main]

use servent_core::trace::qlog::{self, Split};
use servent_core::trace::replay::Replay;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut replay = Replay::new();
    let mut split = Split::new(data);
    for line in &mut split {
        let line = qlog::parse(line);
        // Inputs of a tape go to a real node; a few are enough to see it hold.
        if replay.report().inputs < 200 {
            replay.feed(line);
        }
    }
    assert!(split.rest() <= data.len());
    let report = replay.report();
    assert!(report.verified <= report.checkpoints);
    let _ = report.to_string();
});
