//! What a server says to a request it does not serve now.

use super::place::{level, number};
use super::seconds::Seconds;
use super::vars::Vars;
use crate::id::Guid;
use crate::queue::Dialect;
use crate::time::Duration;
use crate::wire::http::ResponseHead;

/// A reply that is not the file: a place in a line, or plainly busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Told {
    /// We stand in a line.
    Place(ToldPlace),
    /// We do not; the server may say when to ask again.
    Busy {
        /// `Retry-After`, when it is a number of seconds.
        retry_after: Option<Duration>,
    },
}

/// A place as a server of either dialect tells it. Every part is optional
/// (AQ-4); numbers are as told and not yet believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ToldPlace {
    /// The language of the reply (PQ-5).
    pub dialect: Dialect,
    /// The id of the place.
    pub ticket: Option<Guid>,
    /// 1 is next in line.
    pub position: Option<u32>,
    /// How many wait.
    pub length: Option<u32>,
    /// How many upload slots there are.
    pub limit: Option<u32>,
    /// `pollMin` or `Retry-After`: asking earlier loses the place.
    pub retry_after: Option<Duration>,
    /// `pollMax` or `lifetime`: not asking by then loses the place.
    pub lifetime: Option<Duration>,
    /// When a slot may come.
    pub eta: Option<Duration>,
    /// The server keeps the connection.
    pub keep: bool,
}

impl Told {
    /// Reads it out of a reply. `X-Queued` is PARQ, with or without an
    /// `X-Queue`; an `X-Queue` with settings is Active Queueing; a bare level
    /// or nothing is plainly busy, and so is `position=full`.
    #[must_use]
    pub fn parse(head: &ResponseHead) -> Self {
        let retry_after = head.headers.get("Retry-After").and_then(Seconds::parse);
        Self::parq(head, retry_after)
            .or_else(|| Self::active(head, retry_after))
            .unwrap_or(Self::Busy { retry_after })
    }

    fn parq(head: &ResponseHead, retry_after: Option<Duration>) -> Option<Self> {
        let vars = Vars::new(&head.headers, "X-Queued");
        let ticket = vars.find("ID", |v| Guid::parse(v.as_bytes()));
        let position = vars.find("position", number);
        if ticket.is_none() && position.is_none() {
            return None;
        }
        let newer = Vars::new(&head.headers, "X-Queue").pieces().filter_map(level).next();
        let dialect = match newer {
            Some((1, 0)) => Dialect::Parq,
            _ => Dialect::Parq11,
        };
        Some(Self::Place(ToldPlace {
            dialect,
            ticket,
            position,
            length: vars.find("length", number),
            limit: None,
            retry_after,
            lifetime: vars.find("lifetime", Seconds::parse),
            eta: vars.find("ETA", Seconds::parse),
            keep: head.keep_alive(),
        }))
    }

    fn active(head: &ResponseHead, retry_after: Option<Duration>) -> Option<Self> {
        let vars = Vars::new(&head.headers, "X-Queue");
        if vars.find("position", |v| v.eq_ignore_ascii_case("full").then_some(())).is_some() {
            return None;
        }
        let place = ToldPlace {
            dialect: Dialect::Active,
            ticket: None,
            position: vars.find("position", number),
            length: vars.find("length", number),
            limit: vars.find("limit", number),
            retry_after: vars.find("pollMin", Seconds::parse),
            lifetime: vars.find("pollMax", Seconds::parse),
            eta: None,
            keep: head.keep_alive(),
        };
        let known = place.position.is_some()
            || place.length.is_some()
            || place.limit.is_some()
            || place.retry_after.is_some()
            || place.lifetime.is_some();
        known.then(|| {
            Self::Place(ToldPlace { retry_after: place.retry_after.or(retry_after), ..place })
        })
    }
}
