//! How many concurrent transfers are best for a client, in one direction
//! (SW-12).
//!
//! With one transfer at a time the link idles while reports and answers are on
//! their way. The first transfer shows how long its bytes took (T) and how long
//! everything else took (L); the search begins at `1 + ⌈L/T⌉`. After that, as
//! long as there is overhead to hide and the bytes did not fill the time, one
//! more is tried for a window of completions, and kept if the goodput grew by
//! more than noise.

use crate::time::{Duration, Instant};

/// Completions in a window.
const WINDOW: u32 = 8;
/// A window in which bytes took this share of the time, in percent, is full.
const FULL: u64 = 97;
/// Overhead below this share of the time of the bytes, in percent, is ignored:
/// a link that idles then lacks work, not concurrency.
const NOTHING: u64 = 3;

/// The state of the search.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    at_once: u32,
    window: Option<PaceWindow>,
    /// The goodput before the current trial of one more.
    trial: Option<u64>,
    /// Windows to wait before the next trial, and the wait after a failed one.
    rest: u32,
    patience: u32,
}

#[derive(Debug, Clone)]
struct PaceWindow {
    since: Instant,
    completions: u32,
    bytes: u64,
    busy: Duration,
    /// The least overhead of a transfer so far.
    around: Duration,
}

impl Pace {
    pub(super) const fn new() -> Self {
        Self { at_once: 1, window: None, trial: None, rest: 0, patience: 1 }
    }

    pub(super) const fn at_once(&self) -> u32 {
        self.at_once
    }

    /// A transfer of `bytes` ended: its bytes took `took`, the whole transfer
    /// `all`. True when the number of concurrent transfers changed.
    pub(super) fn completed(
        &mut self,
        now: Instant,
        bytes: u64,
        (took, all): (Duration, Duration),
        most: u32,
    ) -> bool {
        let before = self.at_once;
        let Some(window) = &mut self.window else {
            let (t, all) = (took.as_micros().max(1), all.as_micros());
            let begin = 1 + all.saturating_sub(t).div_ceil(t);
            self.at_once = u32::try_from(begin).unwrap_or(most).clamp(1, most);
            self.clear(now);
            return self.at_once != before;
        };
        window.completions += 1;
        window.bytes += bytes;
        window.busy = window.busy + took;
        window.around = window.around.min(all - took);
        if window.completions >= WINDOW {
            self.adjust(now, most);
        }
        self.at_once != before
    }

    fn clear(&mut self, now: Instant) {
        self.window = Some(PaceWindow {
            since: now,
            completions: 0,
            bytes: 0,
            busy: Duration::ZERO,
            around: Duration::MAX,
        });
    }

    fn adjust(&mut self, now: Instant, most: u32) {
        let Some(window) = &self.window else { return };
        let elapsed = now.since(window.since).as_micros().max(1);
        let goodput = (u128::from(window.bytes) * 1_000_000 / u128::from(elapsed)) as u64;
        let each = window.busy.as_micros() / u64::from(window.completions.max(1));
        let full = window.busy.as_micros() >= elapsed.saturating_mul(FULL) / 100
            || window.around.as_micros() < each.saturating_mul(NOTHING) / 100;
        match self.trial.take() {
            Some(before) if goodput < before + before * 3 / 100 => {
                self.at_once = self.at_once.saturating_sub(1).max(1);
                self.rest = self.patience;
                self.patience = (self.patience * 2).min(64);
            }
            _ if self.rest > 0 => self.rest -= 1,
            _ if !full && self.at_once < most => {
                self.trial = Some(goodput);
                self.at_once += 1;
            }
            _ => {}
        }
        self.clear(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const PIECE: u64 = 1_000_000;

    /// Successive completions on a link of one piece per second, with so much
    /// overhead each, overlapped by `at_once` transfers.
    fn run(pace: &mut Pace, around: u64, count: u32) {
        let (took, mut now) = (Duration::from_secs(1), Instant::ZERO);
        for _ in 0..count {
            let all = took + Duration::from_millis(around);
            let each = took.as_micros().max(all.as_micros() / u64::from(pace.at_once()));
            now += Duration::from_micros(each);
            pace.completed(now, PIECE, (took, all), 8);
        }
    }

    #[test]
    fn a_link_that_is_full_is_left_alone() {
        let mut pace = Pace::new();
        run(&mut pace, 0, 500);
        assert_eq!(pace.at_once(), 1);
    }

    #[test]
    fn what_travels_around_the_bytes_is_hidden() {
        for (around, expected) in [(250, 2), (1_000, 2), (2_000, 3), (60_000, 8)] {
            let mut pace = Pace::new();
            run(&mut pace, around, 200);
            assert_eq!(pace.at_once(), expected, "{around} ms");
        }
    }

    #[test]
    fn one_more_that_brings_nothing_is_taken_back() {
        let mut pace = Pace::new();
        let took = Duration::from_millis(500);
        let mut now = Instant::ZERO;
        for _ in 0..200 {
            now += Duration::from_secs(1);
            pace.completed(now, PIECE, (took, took), 8);
        }
        assert!(pace.at_once() <= 2, "{}", pace.at_once());
    }

    /// Windows of eight transfers, each so long in all and for its bytes, in
    /// milliseconds; how many are at once after each.
    fn windows(pace: &mut Pace, now: &mut Instant, each: &[(u64, u64, u64)]) -> Vec<u32> {
        let ms = Duration::from_millis;
        let window = |&(every, took, all): &(u64, u64, u64)| {
            for _ in 0..8 {
                *now += ms(every);
                let before = pace.at_once();
                let changed = pace.completed(*now, PIECE, (ms(took), ms(all)), 8);
                assert_eq!(changed, pace.at_once() != before);
            }
            pace.at_once()
        };
        each.iter().map(window).collect()
    }

    #[test]
    fn the_first_transfer_shows_how_many_fill_the_time() {
        let ms = Duration::from_millis;
        for (took, all, begin) in [(100, 100, 1), (100, 101, 2), (100, 300, 3), (1, 500, 8)] {
            let mut pace = Pace::new();
            let changed = pace.completed(Instant::ZERO, PIECE, (ms(took), ms(all)), 8);
            assert_eq!((pace.at_once(), changed), (begin, begin > 1), "{took} of {all}");
        }
    }

    #[test]
    fn one_more_is_tried_where_time_is_left_and_kept_for_three_percent() {
        let ms = Duration::from_millis;
        let mut now = Instant::from_secs(9);
        let begun = || {
            let mut pace = Pace::new();
            pace.completed(now, PIECE, (ms(100), ms(100)), 8);
            pace
        };
        // 97 % of the time, and overhead of 3 %, are where nothing is tried.
        let (mut full, mut idle, mut bare) = (begun(), begun(), begun());
        let (mut one, mut two) = (now, now);
        assert_eq!(windows(&mut full, &mut one, &[(1_000, 970, 1_000)]), [1]);
        assert_eq!(windows(&mut idle, &mut two, &[(1_000, 960, 1_000)]), [2]);
        // Goodput of 1 MB/s at first: 1.03 of it is enough, less is not.
        assert_eq!(windows(&mut idle, &mut two, &[(970, 900, 1_000)]), [3]);
        assert_eq!(windows(&mut idle, &mut two, &[(960, 900, 1_000)]), [2]);
        // Then one window of rest, after the next failure two.
        let same = (960, 900, 1_000);
        assert_eq!(windows(&mut idle, &mut two, &[same; 8]), [2, 3, 2, 2, 2, 3, 2, 2]);
        assert_eq!(windows(&mut bare, &mut now, &[(1_000, 800, 823)]), [1]);
        assert_eq!(windows(&mut bare, &mut now, &[(1_000, 800, 824)]), [2]);
    }

    #[test]
    fn three_percent_more_is_enough_and_a_byte_less_is_not() {
        let (mut pace, mut now) = (Pace::new(), Instant::from_secs(9));
        let ms = Duration::from_millis;
        pace.completed(now, PIECE, (ms(100), ms(100)), 8);
        let mut window = |bytes: u64| {
            for _ in 0..8 {
                now += ms(1_000);
                pace.completed(now, bytes, (ms(900), ms(1_000)), 8);
            }
            pace.at_once()
        };
        assert_eq!([1_000_000, 1_030_000, 1_060_899].map(&mut window), [2, 3, 2]);
    }
}
