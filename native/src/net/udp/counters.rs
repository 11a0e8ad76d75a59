//! The counters of a socket.

use serde::Serialize;

use super::Train;

/// What a socket has done since it was bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct SocketCounters {
    /// Bytes of datagrams sent, on a detour too.
    pub bytes_out: u64,
    /// Bytes of datagrams received, by a detour too.
    pub bytes_in: u64,
    /// System calls that sent something.
    pub send_calls: u64,
    /// System calls that received something.
    pub recv_calls: u64,
    /// Datagrams dropped on purpose before they were sent.
    pub lost_out: u64,
    /// Datagrams dropped on purpose after they were received.
    pub lost_in: u64,
    /// Datagrams received that a router had marked instead of dropping them.
    pub marked_in: u64,
    /// Datagrams that did not parse.
    pub garbage: u64,
    /// Datagrams the system refused or had no room for.
    pub send_failed: u64,
    /// Of these, datagrams larger than the path allows.
    pub too_big: u64,
    /// The bytes of the largest datagram sent, on a detour too.
    pub largest_out: u64,
}

impl SocketCounters {
    /// Notes the size of datagrams that are sent.
    pub(crate) fn note_size(&mut self, train: &Train) {
        let largest = train.segment.min(train.data.len()) as u64;
        self.largest_out = self.largest_out.max(largest);
    }
}
