//! Counters of an endpoint.

use core::fmt;

use serde::{Deserialize, Serialize};

/// Totals since the start, over all peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct UnicastCounters {
    /// Messages (or parts) sent for the first time.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Messages retransmitted, for whatever reason.
    pub resent: u64,
    /// Of these: the highest one sent, because there was no progress (UC-4).
    pub probes: u64,
    /// Messages delivered to the application.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Messages that had already been received.
    pub duplicates: u64,
    /// Acknowledgements sent.
    pub acks_sent: u64,
    /// Acknowledgements received.
    pub acks_received: u64,
    /// Numbers requested again.
    pub requested: u64,
    /// Blocks that were rejected.
    pub rejected: u64,
    /// Messages refused because the send window was full.
    pub refused: u64,
    /// Messages reported as undelivered.
    pub undelivered: u64,
    /// Datagrams sent.
    pub packets_out: u64,
    /// Datagrams received.
    pub packets_in: u64,
}

/// How many datagrams of its connections have come from a peer. It decides nothing, so it
/// is no part of what a peer prints of itself: exploration tells states apart by that.
#[derive(Clone, Copy, Default)]
pub(super) struct HeardDatagrams(pub(super) u64);

impl fmt::Debug for HeardDatagrams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}
