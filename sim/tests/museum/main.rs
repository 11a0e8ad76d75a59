//! Old recordings, which verify for ever.
//!
//! Every file in `recordings` is a recording as the program writes it; its name
//! begins with the version of its format. Those of the current version are
//! replayed, and must verify to the last checkpoint; older ones must be refused
//! with the sentence that names both versions (docs/trace.md).
//!
//! `PIN=1 cargo test -p servent-sim --test museum` makes those of the current
//! version anew, for a change that is meant.

mod stage;

use std::path::{Path, PathBuf};

use servent_core::trace::qlog::{self, Split};
use servent_core::trace::replay::{Replay, Report};
use servent_core::trace::tape::VERSION;

const RECORDINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/museum/recordings");

fn replayed(file: &Path) -> Report {
    let bytes = std::fs::read(file).expect("it can be read");
    let mut replay = Replay::new();
    for line in Split::new(&bytes) {
        replay.feed(qlog::parse(line));
    }
    replay.report().clone()
}

/// The recordings, and the version in the name of each.
fn recordings() -> Vec<(PathBuf, u32)> {
    let files = std::fs::read_dir(RECORDINGS).expect("there is a folder of recordings");
    let file = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.expect("it can be listed").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let version = name.strip_prefix('v').and_then(|name| name.split_once('-'));
        let version = version.and_then(|(version, _)| version.parse().ok());
        (path, version.unwrap_or_else(|| panic!("{name} does not begin with its version")))
    };
    files.map(file).collect()
}

#[test]
fn every_recording_verifies_or_is_refused_with_a_sentence() {
    if std::env::var_os("PIN").is_some() {
        for (name, bytes) in stage::tapes() {
            let file = format!("{RECORDINGS}/v{VERSION}-{name}.sqlog");
            std::fs::write(file, bytes).expect("the file can be written");
        }
    }
    let all = recordings();
    let current = all.iter().filter(|(_, version)| *version == VERSION).count();
    assert_eq!(current, stage::NAMES.len(), "one recording of each life has today's version");
    for (file, version) in all {
        let (report, file) = (replayed(&file), file.display());
        if version == VERSION {
            assert!(
                report.is_sound() && report.verified == report.checkpoints,
                "{file}: {report}; if this change is meant: \
                 PIN=1 cargo test -p servent-sim --test museum"
            );
        } else {
            assert_eq!(report.unknown_version, Some(version.into()), "{file}");
            let names = format!("version {version}, and this program replays version {VERSION}");
            assert!(report.to_string().contains(&names), "{file}: {report}");
        }
    }
}

/// What is in the museum is what nodes do today, and no life of theirs is empty.
#[test]
fn the_lives_that_are_recorded_reach_what_they_are_for() {
    for (name, bytes) in stage::tapes() {
        let text = String::from_utf8(bytes).expect("a tape is text");
        for event in stage::reaches(name) {
            assert!(text.contains(event), "{name} has no {event}");
        }
    }
}
