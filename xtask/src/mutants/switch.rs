//! Which mutant is on: one for the life of a process, by its number in
//! `MUTANT`. With `MUTANT_REACHED`, the name of a file, the numbers of all that
//! are met are written there instead.

extern crate std;

use std::fs::File;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

struct Switch {
    on: u32,
    reached: Option<Mutex<File>>,
}

static SWITCH: OnceLock<Switch> = OnceLock::new();
static MET: [AtomicBool; 16_384] = [const { AtomicBool::new(false) }; 16_384];

fn switch() -> &'static Switch {
    SWITCH.get_or_init(|| Switch {
        on: std::env::var("MUTANT").ok().and_then(|id| id.parse().ok()).unwrap_or(0),
        reached: std::env::var_os("MUTANT_REACHED")
            .map(|file| Mutex::new(File::create(file).expect("a file"))),
    })
}

/// The one of `ids` that is on, or 0.
pub fn pick(ids: &[u32]) -> u32 {
    let switch = switch();
    if let Some(file) = &switch.reached {
        for id in ids {
            if !MET[*id as usize].swap(true, Ordering::Relaxed) {
                let _ = std::writeln!(file.lock().expect("no writer fails"), "{id}");
            }
        }
    }
    if ids.contains(&switch.on) { switch.on } else { 0 }
}
