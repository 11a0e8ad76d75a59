//! Progress of byte streams between two endpoints: amount and rate.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use servent::Clock;
use servent_core::text::{Lines, Shown};
use servent_core::time::{Duration, Instant};

use super::bars::{BottomLine, above_bars};
use super::fit::{ProgressLine, columns};
use super::speed::RecentRate;
use super::{Voice, bytes, fetch};

/// The shortest time between two redraws on a terminal.
const DRAW_EVERY: Duration = Duration::from_millis(100);
/// The shortest time between two lines of a log.
const LINES_EVERY: Duration = Duration::from_secs(2);

/// What is waited for when all has arrived.
const WRITES: &str = "all of it is there, and not yet written";

/// Reports events of several parallel streams.
#[derive(Clone, Copy)]
pub(crate) struct Reporter {
    voice: Voice,
    /// Standard output carries a stream, so facts go to standard error.
    aside: bool,
}

/// The same for the whole program: a failure is reported where the facts are.
static ASIDE: AtomicBool = AtomicBool::new(false);

/// True when standard output carries a stream, and facts go to standard error.
pub(crate) fn facts_go_aside() -> bool {
    ASIDE.load(Ordering::Relaxed)
}

impl Reporter {
    pub(crate) fn new(voice: Voice, aside: bool) -> Self {
        ASIDE.store(aside, Ordering::Relaxed);
        Self { voice, aside }
    }

    /// Reports an event during progress: an object for a program, a sentence
    /// for others.
    pub(crate) fn tell(&self, fact: &Value, sentence: &str) {
        match self.voice {
            Voice::Quiet => {}
            Voice::Json => self.write(&fact.to_string()),
            // Without standard error there is no reader.
            Voice::Terminal | Voice::Lines => fetch::eprint_line(sentence),
        }
    }

    /// A line at the bottom of the terminal, where there is one.
    pub(super) fn bar(&self) -> Option<BottomLine> {
        (self.voice == Voice::Terminal).then(BottomLine::add)
    }

    /// Prints a sentence that people must see even with `--quiet`; a program
    /// gets it in a fact.
    pub(crate) fn show(&self, sentence: &str) {
        match self.voice {
            Voice::Json => {}
            _ => fetch::eprint_line(sentence),
        }
    }

    /// Prints a sentence for people, who are told less than a program.
    pub(crate) fn say(&self, sentence: &str) {
        if matches!(self.voice, Voice::Terminal | Voice::Lines) {
            fetch::eprint_line(sentence);
        }
    }

    /// Reports an event that only a program wants to know.
    pub(crate) fn fact(&self, fact: &Value) {
        if self.voice == Voice::Json {
            self.write(&fact.to_string());
        }
    }

    /// Reports a result in every form of output.
    pub(crate) fn result(&self, fact: &Value, sentence: &str) {
        match self.voice {
            Voice::Json => self.write(&fact.to_string()),
            _ => self.write(&Lines(sentence).to_string()),
        }
    }

    fn write(&self, line: &str) {
        // A closed pipe does not stop a stream.
        if self.aside {
            above_bars(|| _ = writeln!(std::io::stderr(), "{line}"));
        } else {
            fetch::print_line(line);
        }
    }
}

/// Progress of one stream.
pub(crate) struct StreamProgress {
    reporter: Reporter,
    bar: Option<BottomLine>,
    name: String,
    of: Option<u64>,
    /// Bytes transferred before.
    there: u64,
    clock: Clock,
    /// When the first byte travelled: what went before, such as a person's thinking,
    /// is not part of the rate.
    begun: Option<Instant>,
    shown: Option<Instant>,
    recent: RecentRate,
}

impl StreamProgress {
    pub(crate) fn new(reporter: &Reporter, name: &str, of: Option<u64>) -> Self {
        let bar = reporter.bar();
        Self {
            reporter: *reporter,
            bar,
            name: name.to_owned(),
            of,
            there: 0,
            clock: Clock::new(),
            begun: None,
            shown: None,
            recent: RecentRate::default(),
        }
    }

    /// Now it begins.
    pub(crate) fn begin(&mut self) {
        self.begun.get_or_insert_with(|| self.clock.now());
        self.recent.begin();
    }

    /// Counts bytes that took no time of ours.
    pub(crate) const fn skip(&mut self, bytes: u64) {
        self.there += bytes;
    }

    /// Shows the number of bytes transferred so far.
    pub(crate) fn show(&mut self, so_far: u64) {
        self.begin();
        let terminal = self.reporter.voice == Voice::Terminal;
        let every = if terminal { DRAW_EVERY } else { LINES_EVERY };
        let now = self.clock.now();
        let carried = so_far.saturating_sub(self.there);
        let per_second = self.recent.update(now, carried);
        // Where it is not drawn, the first line comes after a while.
        let before = *self.shown.get_or_insert(now);
        if self.reporter.voice == Voice::Quiet || now.since(before) < every {
            return;
        }
        self.shown = Some(now);
        let left = self.of.map(|of| of.saturating_sub(so_far));
        let speed = match left {
            // A slow disk, or a program that reads slowly.
            Some(0) if self.recent.is_still() => WRITES.to_owned(),
            left => self.recent.words(left),
        };
        let amount = amount(so_far, self.of);
        let Self { name, of, .. } = self;
        if let Some(bar) = &self.bar {
            let name = &Shown(name).to_string();
            let share = &share(so_far, *of);
            let (amount, speed) = (&amount, &speed);
            let line = ProgressLine { name, share, amount, speed, others: "" };
            bar.show(line.fit(columns()));
            return;
        }
        let text = if speed.is_empty() { amount } else { format!("{amount}, {speed}") };
        let fact = json!({ "event": "progress", "name": name, "bytes": so_far, "of": of, "rate": per_second });
        self.reporter.tell(&fact, &format!("{}: {text}", Shown(name)));
    }

    /// Removes the bar; returns how long the stream took.
    pub(crate) fn finish(&self) -> Duration {
        if let Some(bar) = &self.bar {
            bar.remove();
        }
        self.begun.map_or(Duration::ZERO, |begun| self.clock.now().since(begun))
    }
}

/// The average rate in bytes per second.
pub(crate) fn per_second(so_far: u64, passed: Duration) -> u64 {
    let wide = u128::from(so_far) * 1_000_000 / u128::from(passed.as_micros().max(1));
    u64::try_from(wide).unwrap_or(u64::MAX)
}

/// How many bytes there are, out of how many.
pub(crate) fn amount(so_far: u64, of: Option<u64>) -> String {
    let of = of.map_or_else(String::new, |of| format!(" of {}", bytes(of)));
    format!("{}{of}", bytes(so_far))
}

/// How much of it is there, in per cent.
pub(super) fn share(so_far: u64, of: Option<u64>) -> String {
    let percent = of.filter(|of| *of > 0).map(|of| u128::from(so_far) * 100 / u128::from(of));
    percent.map_or_else(String::new, |percent| format!("{:>3} %", percent.min(100)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_what_is_known() {
        assert_eq!(amount(2_048, None), "2.0 KiB");
        assert_eq!(amount(2_048, Some(4_096)), "2.0 KiB of 4.0 KiB");
        assert_eq!((share(1, Some(3)), share(1, None)), (" 33 %".into(), String::new()));
    }

    #[test]
    fn rates_are_averages() {
        assert_eq!(per_second(1_000, Duration::from_millis(500)), 2_000);
        assert_eq!(per_second(0, Duration::ZERO), 0);
    }
}
