//! The uploader's table in the terminal: who has a slot, who is waiting.

use std::fmt::Write as _;

use serde_json::Value;
use servent::Clock;
use servent_core::node::NodeView;
use servent_core::time::Instant;

use super::{DemoSummary, DownloadReport};
use crate::progress::{BottomLine, Voice, bytes, count};

/// A live table on a terminal, one line per download elsewhere.
pub(crate) struct Table {
    voice: Voice,
    clock: Clock,
    bar: Option<BottomLine>,
}

impl Table {
    pub(crate) fn new(voice: Voice, clock: Clock) -> Self {
        let bar = (voice == Voice::Terminal).then(BottomLine::add_table);
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
        if self.voice != Voice::Json {
            self.voice.note(&Value::Null, &text);
        }
    }

    /// Redraws the table.
    pub(crate) fn draw(&self, view: &NodeView, summary: &DemoSummary) {
        if let Some(bar) = &self.bar {
            bar.show(table(self.clock.now(), view, summary));
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
