//! Progress of packing: files and bytes that are read, then copied.

use serde_json::json;
use servent::Clock;
use servent::transfer::many::PackProgress;
use servent::transfer::{Offer, total};
use servent_core::text::Shown;
use servent_core::time::{Duration, Instant};

use super::bars::BottomLine;
use super::fit::{ProgressLine, columns};
use super::stream::share;
use super::{Reporter, amount, count};

/// The shortest time between two lines of a log, and two events.
const LINES_EVERY: Duration = Duration::from_secs(2);
/// The shortest time between two redraws on a terminal.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// Says how far packing is, from its first moment on.
pub(crate) struct PackingProgress {
    reporter: Reporter,
    bar: Option<BottomLine>,
    name: String,
    /// How many files there are, and their bytes.
    whole: (u64, u64),
    clock: Clock,
    last: Option<Instant>,
}

impl PackingProgress {
    /// Says at once that it begins.
    pub(crate) fn begin(reporter: &Reporter, name: &str, offer: &Offer) -> Self {
        let (files, size) = total(offer.entries());
        let whole = (files as u64, size.unwrap_or(0));
        let (bar, name) = (reporter.bar(), name.to_owned());
        let (reporter, clock) = (*reporter, Clock::new());
        let mut progress = Self { reporter, bar, name, whole, clock, last: None };
        progress.show(PackProgress { copies: false, files: 0, bytes: 0 });
        progress
    }

    /// Says how far it is, if that is due.
    pub(crate) fn show(&mut self, now: PackProgress) {
        let at = self.clock.now();
        let every = if self.bar.is_some() { DRAW_EVERY } else { LINES_EVERY };
        if self.last.is_some_and(|last| at.since(last) < every) {
            return;
        }
        self.last = Some(at);
        let (files, size) = self.whole;
        let (verb, step) = if now.copies { ("packing", "pack") } else { ("reading", "read") };
        let amount = amount(now.bytes, Some(size));
        let done = format!("{} of {}", now.files, count(files, "file"));
        let name = Shown(&self.name).to_string();
        if let Some(bar) = &self.bar {
            let name = format!("{verb} {name}");
            let (share, amount) = (share(now.bytes, Some(size)), format!("{done}, {amount}"));
            let (name, share, amount) = (&name, &share, &amount);
            let line = ProgressLine { name, share, amount, speed: "", others: "" };
            return bar.show(line.fit(columns()));
        }
        let fact = json!({
            "event": "packing", "name": self.name, "step": step, "files": now.files,
            "of_files": files, "bytes": now.bytes, "of": size,
        });
        self.reporter.tell(&fact, &format!("{verb} {name}: {done}, {amount}"));
    }
}
