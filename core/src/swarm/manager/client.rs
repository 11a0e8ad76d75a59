//! The session of a connected client. What outlives it is in the ledger.

use alloc::vec::Vec;
use core::net::IpAddr;

use super::super::config::Config;
use super::super::pace::Pace;
use crate::id::ConnId;
use crate::time::{Duration, Instant};
use crate::wire::pdtp::{AgreedExtensions, Text};

/// A file the client is on, and its member number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Membership {
    pub(super) file: u32,
    pub(super) member: u32,
}

/// A failed connect to a client, until the client shows that it was reached.
#[derive(Debug, Clone, Copy)]
pub(super) struct MissedConnect {
    pub(super) file: u32,
    pub(super) piece: u32,
    pub(super) by: ConnId,
}

#[derive(Debug, Clone)]
pub(super) struct ManagedClient {
    pub(super) conn: ConnId,
    pub(super) peer: IpAddr,
    /// Its row in the ledger.
    pub(super) row: u32,
    /// The deadline for registering.
    pub(super) register_by: Instant,
    /// `None` until it registers.
    pub(super) id: Option<Text>,
    /// The port on which it accepts peers; `None` when it does not (SW-2).
    pub(super) port: Option<u16>,
    /// Forced into passive mode although it has a port (SW-4).
    pub(super) forced: bool,
    pub(super) extensions: AgreedExtensions,
    /// It has accepted a connection of a peer (SW-3).
    pub(super) accepted: bool,
    /// Failed connects to it (SW-4).
    pub(super) connect_failures: u32,
    pub(super) missed: Option<MissedConnect>,
    pub(super) port_changed: Option<Instant>,
    /// What it requested (SW-12).
    pub(super) max_download: Option<u32>,
    pub(super) max_upload: Option<u32>,
    pub(super) pace: Pace,
    /// Transfers to it and from it that take its slots.
    pub(super) downs: Vec<u32>,
    pub(super) ups: Vec<u32>,
    pub(super) busy_down: u32,
    pub(super) busy_up: u32,
    /// Transfers that the uploader has reported and it has not (SW-22).
    pub(super) unconfirmed: u32,
    /// Bytes per second as an uploader, averaged (SW-20).
    pub(super) rate: u64,
    pub(super) files: Vec<Membership>,
}

impl ManagedClient {
    pub(super) const fn new(conn: ConnId, peer: IpAddr, row: u32, register_by: Instant) -> Self {
        Self {
            conn,
            peer,
            row,
            register_by,
            id: None,
            port: None,
            forced: false,
            extensions: AgreedExtensions { merge: false, early: false },
            accepted: false,
            connect_failures: 0,
            missed: None,
            port_changed: None,
            max_download: None,
            max_upload: None,
            pace: Pace::new(),
            downs: Vec::new(),
            ups: Vec::new(),
            busy_down: 0,
            busy_up: 0,
            unconfirmed: 0,
            rate: 0,
            files: Vec::new(),
        }
    }

    /// True when others can connect to it.
    pub(super) const fn active(&self) -> bool {
        self.port.is_some() && !self.forced
    }

    /// Maximum concurrent uploads: from what it requested, what was found best,
    /// and the hard limit.
    pub(super) fn most_up(&self, config: &Config) -> u32 {
        let told = self.max_upload.unwrap_or(config.default_upload);
        told.min(config.hard_limit).min(match config.policy {
            super::super::config::SwarmPolicy::Adaptive => self.pace.at_once(),
            super::super::config::SwarmPolicy::Seed2004 => told,
        })
    }

    /// Maximum concurrent downloads. The uploaders' links limit these, so there
    /// is no search for the best number.
    pub(super) fn most_down(&self, config: &Config) -> u32 {
        self.max_download.unwrap_or(config.default_download).min(config.hard_limit)
    }

    /// How many more it may download at a time.
    pub(super) fn room_down(&self, config: &Config) -> u32 {
        if config.is_strict() && self.unconfirmed > 0 {
            return 0;
        }
        self.most_down(config).saturating_sub(self.busy_down)
    }

    /// Updates its average rate (SW-20).
    pub(super) fn measured(&mut self, bytes: u64, took: Duration) {
        let rate = u128::from(bytes) * 1_000_000 / u128::from(took.as_micros().max(1));
        let rate = u64::try_from(rate).unwrap_or(u64::MAX / 8);
        self.rate = if self.rate == 0 { rate } else { self.rate - self.rate / 4 + rate / 4 };
    }
}

/// Where a piece comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Up {
    /// One of the sources.
    Source(u32),
    /// A client.
    Client(u32),
}

/// The part of a piece that is transferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceSpan {
    /// All of it.
    Whole,
    /// What the earlier uploader did not send, from an offset on.
    Rest { offset: u64, earlier: Option<Origin> },
    /// The beginning again, to find out who caused a wrong hash (SW-24).
    Beginning { offset: u64, earlier: Option<Origin> },
}

/// An uploader, which may have left since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) conn: ConnId,
    pub(super) peer: IpAddr,
}

/// A piece in transfer.
#[derive(Debug, Clone)]
pub(super) struct PieceTransfer {
    pub(super) file: u32,
    pub(super) piece: u32,
    pub(super) down: u32,
    pub(super) up: Up,
    pub(super) put: bool,
    pub(super) part: PieceSpan,
    pub(super) at: Instant,
    pub(super) deadline: Instant,
    /// When the piece was first chosen for the downloader (SW-6).
    pub(super) chosen: Instant,
    /// The uploader reported success; its slot is free.
    pub(super) up_said: bool,
    /// The downloader reported success; its slot is free, and the piece is
    /// there.
    pub(super) down_said: bool,
    /// How long the bytes took, as reported.
    pub(super) took: Option<Duration>,
    /// It is charged.
    pub(super) charged: bool,
    /// Uploaders that failed this piece for this downloader.
    pub(super) tried: Vec<IpAddr>,
    /// The listener has asked about the connecting side, or was told of it:
    /// before the connecting side reports an error (SW-3).
    pub(super) admitted: bool,
    pub(super) funnel: Option<super::super::event::Funnel>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_an_average_in_which_the_last_transfer_counts_a_quarter() {
        let peer = [10, 0, 0, 1].into();
        let mut client = ManagedClient::new(ConnId(1), peer, 0, Instant::ZERO);
        let mut rate = |bytes, ms| {
            client.measured(bytes, Duration::from_millis(ms));
            client.rate
        };
        assert_eq!(rate(1_000_000, 1_000), 1_000_000);
        assert_eq!(rate(1_000_000, 500), 1_250_000);
        assert_eq!(rate(0, 500), 937_500);
        assert_eq!(rate(1, 0), 937_500 - 234_375 + 250_000, "a microsecond at least");
    }
}
