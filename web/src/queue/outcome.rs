//! Totals of a queue, including transfers in progress.

use serde::Serialize;
use servent_core::node::NodeView;
use servent_core::time::Instant;
use servent_sim::queue::QueueTotals;

/// The totals of a queue.
#[derive(Serialize)]
pub(crate) struct QueueOutcome {
    #[serde(flatten)]
    totals: QueueTotals,
    /// The share used of what the uplink could have sent since the first slot
    /// was given, in thousandths; `None` where its rate is not known.
    used: Option<u64>,
}

impl QueueOutcome {
    /// At an instant; `up` is the rate of the uplink in bytes per second.
    pub(crate) fn measure(
        totals: QueueTotals,
        view: Option<&NodeView>,
        now: Instant,
        up: Option<u64>,
    ) -> Self {
        let uploads = view.map_or(&[][..], |view| &view.queue.uploads);
        let sent = totals.sent + uploads.iter().map(|upload| upload.sent).sum::<u64>();
        let could = |(first, up): (Instant, u64)| {
            u128::from(up) * u128::from(now.since(first).as_micros()) / 1_000_000
        };
        let could = totals.first.zip(up).map(could).filter(|could| *could > 0);
        let share = |could| u64::try_from(u128::from(sent) * 1_000 / could).unwrap_or(u64::MAX);
        Self { totals, used: could.map(share).map(|share| share.min(1_000)) }
    }
}
