//! What was measured on a line.

use alloc::vec::Vec;

use serde::Serialize;
use servent_core::time::{Duration, Instant};

/// The figures of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineReport {
    /// Those of each flow.
    pub flows: Vec<FlowReport>,
    /// The time datagrams waited in the buffer: half of them no longer.
    pub queueing: Duration,
    /// And ninety-five of a hundred no longer.
    pub queueing_95: Duration,
    /// Datagrams lost because the buffer was full, and by chance.
    pub overflowed: u64,
    /// Those lost by chance.
    pub chance: u64,
}

/// The figures of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FlowReport {
    /// Bits per second that reached the application while it was measured.
    pub goodput: u64,
    /// Bytes that reached the application in each tenth of a second, from the
    /// beginning of the world.
    pub tenths: Vec<u64>,
    /// The same of bytes that arrived, in order or not.
    pub arrived: Vec<u64>,
    /// Datagrams with data that were sent, over the whole run.
    pub sent: u64,
    /// Those of them that might be marked, where a router marks.
    pub capable: u64,
    /// Bytes that reached the application, over the whole run.
    pub delivered: u64,
    /// Messages sent, and sent again.
    pub messages: (u64, u64),
    /// The sender reported an end, or lost messages.
    pub ended: Option<Instant>,
}

impl LineReport {
    /// Bits per second of all flows together.
    #[must_use]
    pub fn goodput(&self) -> u64 {
        self.flows.iter().map(|flow| flow.goodput).sum()
    }

    /// Jain's index of the flows' goodputs, in thousandths: 1 000 when they are
    /// equal.
    #[must_use]
    pub fn fairness(&self) -> u64 {
        let rates = || self.flows.iter().map(|flow| u128::from(flow.goodput));
        let (sum, squares) = (rates().sum::<u128>(), rates().map(|it| it * it).sum::<u128>());
        let equal = squares * self.flows.len() as u128;
        (sum * sum * 1_000).checked_div(equal).unwrap_or_default() as u64
    }
}

impl FlowReport {
    /// Messages, or parts, sent for ten thousand that were sent for the first
    /// time.
    #[must_use]
    pub fn effort(&self) -> u64 {
        let (first, again) = self.messages;
        ((first + again) * 10_000).checked_div(first).unwrap_or_default()
    }

    /// When half a second at no less than this rate, in bits per second, had passed
    /// for the first time since an instant, as the application sees it.
    #[must_use]
    pub fn reached(&self, rate: u64, since: Instant) -> Option<Duration> {
        first_at(&self.tenths, rate, since)
    }

    /// The same as the path sees it: what arrives and waits for something earlier
    /// counts.
    #[must_use]
    pub fn carried(&self, rate: u64, since: Instant) -> Option<Duration> {
        first_at(&self.arrived, rate, since)
    }
}

fn first_at(tenths: &[u64], rate: u64, since: Instant) -> Option<Duration> {
    let skip = (since.as_micros() / 100_000) as usize;
    let mut windows = tenths.windows(5).enumerate().skip(skip);
    let (at, _) = windows.find(|(_, five)| five.iter().sum::<u64>() * 16 >= rate)?;
    Some(Instant::from_micros((at as u64 + 5) * 100_000).since(since))
}
