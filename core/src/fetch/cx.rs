//! The context of every step of a download.

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::net::SocketAddr;

use super::goodbye::Goodbyes;
use super::spare::Spares;
use super::{Config, Event, Output};
use crate::engine::Fx;
use crate::id::{ConnId, FetchId};
use crate::queue::Dialect;
use crate::time::Instant;

/// The current time, the effects, and what all downloads share.
pub(super) struct FetchCx<'a> {
    pub(super) now: Instant,
    pub(super) config: &'a Config,
    pub(super) speech: &'a Speech,
    pub(super) conns: &'a mut Conns,
    pub(super) fx: &'a mut Fx<Output, Event>,
}

/// How we present ourselves.
#[derive(Debug, Clone)]
pub(super) struct Speech {
    /// `User-Agent`.
    pub(super) agent: String,
    /// The queueing dialect we announce.
    pub(super) dialect: Dialect,
    /// Whether we say that we may sleep.
    pub(super) sleeps: bool,
    /// `X-Node`.
    pub(super) callback: Option<SocketAddr>,
}

/// Which source of which download a connection belongs to, and those that
/// belong to none at the moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Conns {
    drawn: u64,
    owner: BTreeMap<ConnId, (FetchId, u32)>,
    pub(super) spares: Spares,
    pub(super) goodbyes: Goodbyes,
}

impl Conns {
    /// A number for a dial: 1, 5, 9, …
    pub(super) const fn number(&mut self) -> ConnId {
        let conn = ConnId(self.drawn * 4 + 1);
        self.drawn += 1;
        conn
    }

    /// A number for a dial to a source.
    pub(super) fn draw(&mut self, fetch: FetchId, source: u32) -> ConnId {
        let conn = self.number();
        self.adopt(conn, fetch, source);
        conn
    }

    pub(super) fn adopt(&mut self, conn: ConnId, fetch: FetchId, source: u32) {
        self.owner.insert(conn, (fetch, source));
    }

    pub(super) fn forget(&mut self, conn: ConnId) {
        self.owner.remove(&conn);
    }

    pub(super) fn owner(&self, conn: ConnId) -> Option<(FetchId, u32)> {
        self.owner.get(&conn).copied()
    }
}
