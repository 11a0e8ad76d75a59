//! Progress of a folder's download: its files, its bytes, and the time left.

use std::net::SocketAddr;

use serde_json::json;
use servent_core::text::Shown;
use servent_core::time::{Duration, Instant};

use super::bars::BottomLine;
use super::fit::{ProgressLine, columns};
use super::speed::RecentRate;
use super::{Voice, bytes, count, fetch};

/// Where no line is drawn, one is printed after so long at the latest.
const EVERY: Duration = Duration::from_secs(2);

/// How much there is of a folder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FolderSize {
    pub(crate) files: u64,
    /// Its bytes, where the server says the size of every file.
    pub(crate) bytes: Option<u64>,
}

/// How much of a folder is here.
#[derive(Debug, Clone, Copy, Default)]
struct FolderShare {
    files: u64,
    bytes: u64,
}

/// Shows a folder.
pub(crate) struct FolderProgress {
    voice: Voice,
    name: String,
    whole: FolderSize,
    here: FolderShare,
    /// Bytes of the files that are on their way.
    partial: u64,
    /// The bytes that have been here from the beginning are no part of the rate.
    before: u64,
    speed: RecentRate,
    bar: Option<BottomLine>,
    /// When the last line was printed, where there is no bar.
    told: Option<Instant>,
}

impl FolderProgress {
    /// For a folder of that size.
    pub(crate) fn new(voice: Voice, name: &str, whole: FolderSize) -> Self {
        Self {
            voice,
            name: name.to_owned(),
            whole,
            here: FolderShare::default(),
            partial: 0,
            before: 0,
            speed: RecentRate::default(),
            bar: (voice == Voice::Terminal).then(BottomLine::add),
            told: None,
        }
    }

    /// One more file has been here, the same, before it was asked for.
    pub(crate) fn there(&mut self, size: u64) {
        self.here.files += 1;
        self.here.bytes += size;
        self.before += size;
    }

    /// This many bytes have come of files that are on their way.
    pub(crate) fn show(&mut self, now: Instant, partial: u64) {
        self.partial = partial;
        let drawn = self.bar.is_some().then(|| self.fit(now, columns()));
        if let (Some(bar), Some(line)) = (&self.bar, drawn) {
            return bar.show(line);
        }
        let line = self.line(now);
        if self.voice == Voice::Lines && self.is_due(now) {
            fetch::eprint_line(&line);
        }
    }

    /// True when nothing has been printed for a while.
    fn is_due(&mut self, now: Instant) -> bool {
        let due = now.since(*self.told.get_or_insert(now)) >= EVERY;
        if due {
            self.told = Some(now);
        }
        due
    }

    /// One more file is complete.
    pub(crate) fn done(&mut self, now: Instant, file: &str, size: u64) {
        let before = self.tenth();
        self.here.files += 1;
        self.here.bytes += size;
        self.partial = self.partial.saturating_sub(size);
        if self.bar.is_some() {
            return self.show(now, self.partial);
        }
        let line = self.line(now);
        let due = self.is_due(now) || self.tenth() > before;
        if due {
            self.told = Some(now);
        }
        match self.voice {
            Voice::Json => {
                fetch::print_line(
                    &json!({ "event": "done", "file": file, "bytes": size }).to_string(),
                );
            }
            Voice::Lines if due => fetch::eprint_line(&line),
            _ => {}
        }
    }

    /// What there is of it, out of how much; how fast, and how long it takes.
    fn said(&mut self, now: Instant) -> (String, String) {
        let Self { whole, here, .. } = self;
        let have = here.bytes + self.partial;
        self.speed.update(now, have.saturating_sub(self.before));
        let of = whole.bytes.map_or_else(String::new, |all| format!(" of {}", bytes(all)));
        let files = count(whole.files, "file");
        let amount = format!("{} of {files}, {}{of}", here.files, bytes(have));
        let left = whole.bytes.map(|all| all.saturating_sub(have));
        (amount, self.speed.words(left))
    }

    /// All of it, for a log.
    fn line(&mut self, now: Instant) -> String {
        let (amount, speed) = self.said(now);
        let between = if speed.is_empty() { "" } else { ", " };
        format!("{}: {amount}{between}{speed}", self.name)
    }

    /// What fits into so many columns.
    fn fit(&mut self, now: Instant, columns: usize) -> String {
        let (amount, speed) = self.said(now);
        let have = self.here.bytes + self.partial;
        let (have, all) = match self.whole.bytes {
            Some(all) => (have, all),
            None => (self.here.files, self.whole.files),
        };
        let percent = (u128::from(have) * 100).checked_div(all.into()).unwrap_or(0);
        let share = format!("{:>3} %", percent.min(100));
        let name = &Shown(&self.name).to_string();
        ProgressLine { name, share: &share, amount: &amount, speed: &speed, others: "" }
            .fit(columns)
    }

    /// One file failed.
    pub(crate) fn failed(&self, file: &str, why: &str) {
        let fact = json!({ "event": "failed", "name": file, "why": why });
        self.say(&fact, &format!("{file}: {why}"));
    }

    /// Reports a problem with a source.
    pub(crate) fn trouble(&self, file: &str, at: SocketAddr, what: &str) {
        let fact = json!({ "event": "trouble", "name": file, "source": at, "what": what });
        self.say(&fact, &format!("{file}: {at} {what}"));
    }

    fn say(&self, fact: &serde_json::Value, sentence: &str) {
        self.voice.note(fact, sentence);
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.remove();
        }
    }

    fn tenth(&self) -> u64 {
        (self.here.files * 10).checked_div(self.whole.files).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_shows_its_bytes_and_the_time_left() {
        let whole = FolderSize { files: 3, bytes: Some(10 * 1_024) };
        let mut folder = FolderProgress::new(Voice::Quiet, "Music", whole);
        folder.there(2 * 1_024);
        assert_eq!(folder.line(Instant::ZERO), "Music: 1 of 3 files, 2.0 KiB of 10.0 KiB");
        folder.show(Instant::from_secs(1), 1_024);
        folder.done(Instant::from_secs(2), "a", 2 * 1_024);
        let line = folder.line(Instant::from_secs(2));
        assert_eq!(line, "Music: 2 of 3 files, 4.0 KiB of 10.0 KiB, 1.0 KiB/s, 6 s left");
        let unknown = FolderSize { files: 3, bytes: None };
        let mut folder = FolderProgress::new(Voice::Quiet, "Music", unknown);
        folder.show(Instant::ZERO, 0);
        folder.show(Instant::from_secs(1), 1_024);
        assert_eq!(folder.line(Instant::from_secs(1)), "Music: 0 of 3 files, 1.0 KiB, 1.0 KiB/s");
    }

    #[test]
    fn a_line_is_due_after_two_seconds_without_one() {
        let whole = FolderSize { files: 1, bytes: Some(10) };
        let mut folder = FolderProgress::new(Voice::Quiet, "Music", whole);
        let due = [0, 1, 2, 3, 4, 9].map(|at| folder.is_due(Instant::from_secs(at)));
        assert_eq!(due, [false, false, true, false, true, true]);
    }

    #[test]
    fn a_folder_with_a_wide_name_keeps_its_share_and_its_rate() {
        let whole = FolderSize { files: 3, bytes: Some(10 * 1_024) };
        let mut folder = FolderProgress::new(Voice::Quiet, "東京物語・第一部・完全版", whole);
        folder.there(1_024);
        folder.show(Instant::ZERO, 0);
        folder.show(Instant::from_secs(1), 1_024);
        folder.show(Instant::from_secs(2), 2 * 1_024);
        let line = folder.fit(Instant::from_secs(2), 40);
        assert!(line.ends_with("  30 % 1.0 KiB/s, 7 s left"), "{line}");
        assert!(console::measure_text_width(&line) <= 40, "{line}");
    }
}
