//! Connections that a finished download leaves to the next one from the same
//! server, so that many small files do not need as many connections
//! (RFC 9112 §9.3).

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use super::Config;
use crate::id::ConnId;
use crate::time::Instant;

/// A server, and how it was addressed: behind one address several may be, and
/// for some of them the connection is encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SpareServer {
    pub(super) at: SocketAddr,
    pub(super) host: String,
    pub(super) private: bool,
}

/// A connection on which no request is active.
#[derive(Debug, Clone)]
struct Spare {
    server: SpareServer,
    /// Our own address on it.
    local: Option<IpAddr>,
    until: Instant,
}

/// The connections that no download uses at the moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Spares(BTreeMap<ConnId, Spare>);

impl Spares {
    /// Keeps a connection; returns false when there are enough already.
    pub(super) fn keep(
        &mut self,
        conn: ConnId,
        (server, local): (SpareServer, Option<IpAddr>),
        (config, now): (&Config, Instant),
    ) -> bool {
        let room = self.0.len() < config.spares as usize;
        if room {
            let until = now + config.spare_time.scaled(config.time_scale);
            self.0.insert(conn, Spare { server, local, until });
        }
        room
    }

    /// Takes a connection to a server, the one used last.
    pub(super) fn take(&mut self, server: &SpareServer) -> Option<(ConnId, Option<IpAddr>)> {
        let fits = self.0.iter().filter(|(_, spare)| spare.server == *server);
        let conn = fits.max_by_key(|(_, spare)| spare.until).map(|(&conn, _)| conn)?;
        let spare = self.0.remove(&conn)?;
        Some((conn, spare.local))
    }

    /// Forgets a connection; false when it was none of these.
    pub(super) fn forget(&mut self, conn: ConnId) -> bool {
        self.0.remove(&conn).is_some()
    }

    /// Takes those that were not used for too long.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<ConnId> {
        let late = super::keys_where(&self.0, |spare| spare.until <= now);
        late.into_iter().inspect(|conn| drop(self.0.remove(conn))).collect()
    }

    /// When the first of them will have been unused for too long.
    pub(super) fn due(&self) -> Option<(Instant, &'static str)> {
        self.0.values().map(|spare| (spare.until, "spare")).min()
    }
}
