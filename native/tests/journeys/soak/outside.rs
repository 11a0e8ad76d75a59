//! What the system says of a process, and how long honest clients wait for it.

use std::fs;
use std::time::{Duration, Instant};

use crate::program::pause;

/// What a process has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Has {
    /// Kilobytes in memory.
    pub(super) memory: u64,
    pub(super) descriptors: usize,
}

/// Of a process that runs.
pub(super) fn has(pid: u32) -> Has {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let memory = line.trim().trim_end_matches(" kB").parse().unwrap();
    Has { memory, descriptors: fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count() }
}

/// How long honest clients waited: the 50th and the 99th of a hundred.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waits {
    pub(super) p50: Duration,
    pub(super) p99: Duration,
}

/// As many times as fit into `length`, at least twenty.
pub(super) fn waits(length: Duration, mut once: impl FnMut()) -> Waits {
    let begun = Instant::now();
    let mut times = Vec::new();
    while times.len() < 20 || begun.elapsed() < length {
        let asked = Instant::now();
        once();
        times.push(asked.elapsed());
        pause(Duration::from_millis(5));
    }
    times.sort();
    Waits { p50: times[times.len() / 2], p99: times[(times.len() * 99).div_ceil(100) - 1] }
}
