//! Sums over everything an endpoint did.

use serde::{Deserialize, Serialize};

/// Sums since the beginning, over all peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Messages (or parts) sent for the first time.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Messages sent again, for whatever reason.
    pub resent: u64,
    /// Of these: the highest one, because nothing moved (UC-4).
    pub probes: u64,
    /// Messages delivered to the application.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Messages that had already been taken.
    pub duplicates: u64,
    /// Acknowledgements sent.
    pub acks_sent: u64,
    /// Acknowledgements taken.
    pub acks_received: u64,
    /// Numbers asked for again.
    pub requested: u64,
    /// Blocks that were not taken.
    pub rejected: u64,
    /// Messages refused because the send window was full.
    pub refused: u64,
    /// Messages named as undelivered.
    pub undelivered: u64,
    /// Datagrams out.
    pub packets_out: u64,
    /// Datagrams in.
    pub packets_in: u64,
}
