//! The uploader's table in the terminal: who has a slot, who is waiting.

use std::fmt::Write as _;
use std::io::Write as _;

use indicatif::{ProgressBar, ProgressStyle};
use servent::Clock;
use servent_core::node::NodeView;
use servent_core::time::Instant;

use super::{DemoSummary, DownloadReport};
use crate::progress::{Voice, bytes, count};

/// A live table on a terminal, one line per download elsewhere.
pub(crate) struct Table {
    voice: Voice,
    clock: Clock,
    bar: Option<ProgressBar>,
}

impl Table {
    pub(crate) fn new(voice: Voice, clock: Clock) -> Self {
        let bar = (voice == Voice::Terminal).then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{msg}") {
                bar.set_style(style);
            }
            bar
        });
        Self { voice, clock, bar }
    }

    /// Reports the end of a download.
    pub(crate) fn say(&self, outcome: &DownloadReport) {
        let text = match outcome {
            DownloadReport::Fetched { who, bytes: size, right: true } => {
                format!("{who} fetched {}, verified", bytes(*size))
            }
            DownloadReport::Fetched { who, .. } => format!("{who} fetched WRONG bytes"),
            DownloadReport::Failed { who, why } => format!("{who} failed: {why}"),
        };
        match (&self.bar, self.voice) {
            (Some(bar), _) => bar.println(text),
            (None, Voice::Lines) => drop(writeln!(std::io::stderr(), "{text}")),
            _ => {}
        }
    }

    /// Redraws the table.
    pub(crate) fn draw(&self, view: &NodeView, summary: &DemoSummary) {
        if let Some(bar) = &self.bar {
            bar.set_message(table(self.clock.now(), view, summary));
        }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn table(now: Instant, view: &NodeView, summary: &DemoSummary) -> String {
    let queue = &view.queue;
    let mut out = String::from("\n  slots\n");
    for slot in &queue.uploads {
        let whole = slot.end.saturating_sub(slot.start).max(1);
        let filled = usize::try_from(slot.sent.min(whole) * 24 / whole).unwrap_or(0);
        let bar = format!("{}{}", "=".repeat(filled), " ".repeat(24 - filled));
        let dialect = format!("{:?}", slot.dialect).to_lowercase();
        let _ = writeln!(out, "   [{bar}] {dialect:<8} {}", slot.file);
    }
    for _ in 0..queue.free {
        out.push_str("   [         free          ]\n");
    }
    let _ = writeln!(out, "  line: {} waiting", queue.length);
    for card in &queue.cards {
        let dialect = format!("{:?}", card.dialect).to_lowercase();
        let wait = Instant::from_micros(card.not_before).since(now).as_secs_ceil();
        let when =
            if wait == 0 { "may ask now".to_owned() } else { format!("may ask in {wait} s") };
        let _ = writeln!(out, "   {:>3}. {dialect:<8} {when:<16} {}", card.position, card.file);
    }
    let gap = summary.median_gap_ms().map_or_else(|| "-".to_owned(), |ms| format!("{ms} ms"));
    let _ = write!(
        out,
        "  {}, {} verified, {}; a freed slot is taken after {gap}",
        count(summary.transfers, "download"),
        summary.verified,
        bytes(summary.bytes),
    );
    out
}
