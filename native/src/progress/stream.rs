//! Progress of byte streams between two endpoints: amount and rate.

use std::io::Write as _;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use servent::Clock;
use servent_core::text::{Lines, Shown};
use servent_core::time::{Duration, Instant};

use super::{Voice, bytes, length, rate};

/// The shortest time between two redraws on a terminal.
const DRAW_EVERY: Duration = Duration::from_millis(100);
/// The shortest time between two lines of a log.
const LINES_EVERY: Duration = Duration::from_secs(2);

/// Reports events of several parallel streams.
#[derive(Clone)]
pub(crate) struct Reporter {
    voice: Voice,
    /// Standard output carries a stream, so facts go to standard error.
    aside: bool,
    bars: MultiProgress,
}

impl Reporter {
    pub(crate) fn new(voice: Voice, aside: bool) -> Self {
        Self { voice, aside, bars: MultiProgress::new() }
    }

    /// Reports an event during progress: an object for a program, a sentence
    /// for others.
    pub(crate) fn tell(&self, fact: &Value, sentence: &str) {
        match self.voice {
            Voice::Quiet => {}
            Voice::Json => self.write(&fact.to_string()),
            // Without standard error nobody is reading.
            Voice::Terminal => _ = self.bars.println(Lines(sentence).to_string()),
            Voice::Lines => _ = writeln!(std::io::stderr(), "{}", Lines(sentence)),
        }
    }

    /// Prints a sentence that people must see even with `--quiet`; a program
    /// gets it in a fact.
    pub(crate) fn show(&self, sentence: &str) {
        match self.voice {
            Voice::Json => {}
            Voice::Terminal => _ = self.bars.println(Lines(sentence).to_string()),
            _ => _ = writeln!(std::io::stderr(), "{}", Lines(sentence)),
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
            let _ = writeln!(std::io::stderr(), "{line}");
        } else {
            let mut out = std::io::stdout().lock();
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        }
    }
}

/// Progress of one stream.
pub(crate) struct StreamProgress {
    reporter: Reporter,
    bar: Option<ProgressBar>,
    name: String,
    of: Option<u64>,
    /// Bytes transferred before.
    there: u64,
    clock: Clock,
    begun: Instant,
    shown: Instant,
}

impl StreamProgress {
    pub(crate) fn new(reporter: &Reporter, name: &str, of: Option<u64>) -> Self {
        let clock = Clock::new();
        let now = clock.now();
        let bar = (reporter.voice == Voice::Terminal).then(|| {
            let (bar, template) = match of {
                Some(of) => (ProgressBar::new(of), "{prefix} [{bar:30}] {percent:>3} %  {msg}"),
                None => (ProgressBar::new_spinner(), "{prefix} {spinner} {msg}"),
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.set_prefix(Shown(name).to_string());
            reporter.bars.add(bar)
        });
        let (reporter, name) = (reporter.clone(), name.to_owned());
        Self { reporter, bar, name, of, there: 0, clock, begun: now, shown: now }
    }

    /// Counts bytes that took no time of ours.
    pub(crate) const fn skip(&mut self, bytes: u64) {
        self.there += bytes;
    }

    /// Shows the number of bytes transferred so far.
    pub(crate) fn show(&mut self, so_far: u64) {
        let terminal = self.reporter.voice == Voice::Terminal;
        let every = if terminal { DRAW_EVERY } else { LINES_EVERY };
        let now = self.clock.now();
        if self.reporter.voice == Voice::Quiet || now.since(self.shown) < every {
            return;
        }
        self.shown = now;
        let carried = so_far.saturating_sub(self.there);
        let per_second = per_second(carried, now.since(self.begun));
        let text = line(so_far, self.of, per_second);
        if let Some(bar) = &self.bar {
            bar.set_position(so_far);
            bar.set_message(text);
            return;
        }
        let Self { name, of, .. } = self;
        let fact = json!({ "event": "progress", "name": name, "bytes": so_far, "of": of, "rate": per_second });
        self.reporter.tell(&fact, &format!("{}: {text}", Shown(name)));
    }

    /// Removes the bar; returns how long the stream took.
    pub(crate) fn finish(&self) -> Duration {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
            self.reporter.bars.remove(bar);
        }
        self.clock.now().since(self.begun)
    }
}

/// The average rate in bytes per second.
pub(crate) fn per_second(so_far: u64, passed: Duration) -> u64 {
    let wide = u128::from(so_far) * 1_000_000 / u128::from(passed.as_micros().max(1));
    u64::try_from(wide).unwrap_or(u64::MAX)
}

fn line(so_far: u64, of: Option<u64>, per_second: u64) -> String {
    let Some(of) = of else { return format!("{}, {}", bytes(so_far), rate(per_second)) };
    let mut line = format!("{} of {}, {}", bytes(so_far), bytes(of), rate(per_second));
    let left = of.saturating_sub(so_far).checked_div(per_second);
    if let Some(left) = left.filter(|seconds| *seconds > 0) {
        line.push_str(&format!(", {} left", length(left)));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_what_is_known() {
        assert_eq!(line(2_048, None, 1_024), "2.0 KiB, 1.0 KiB/s");
        assert_eq!(line(2_048, Some(4_096), 1_024), "2.0 KiB of 4.0 KiB, 1.0 KiB/s, 2 s left");
        assert_eq!(line(0, Some(4_096), 0), "0 B of 4.0 KiB, 0 B/s", "nobody knows");
        assert_eq!(line(4_096, Some(4_096), 1_024), "4.0 KiB of 4.0 KiB, 1.0 KiB/s");
        assert_eq!(per_second(1_000, Duration::from_millis(500)), 2_000);
        assert_eq!(per_second(0, Duration::ZERO), 0);
    }
}
