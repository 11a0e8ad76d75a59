//! What a request says about queueing, and what a queued client is told.

use core::fmt;
use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::loss::PositionLoss;
use super::seconds::Seconds;
use super::vars::{Vars, first};
use crate::id::Guid;
use crate::time::Duration;
use crate::wire::http::{HeadWriter, Headers};
use crate::wire::scan::{split_once, trim};

/// The queueing dialect of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// `X-Queue: 0.1` (Active Queueing): the connection identifies the place.
    Active,
    /// `X-Queue: 1.0` (PARQ 1.0.a): the id identifies the place.
    Parq,
    /// `X-Queue: 1.1`, seen in the field: PARQ with a shorter reply.
    Parq11,
    /// No `X-Queue`: the address identifies the place (PARQ §5).
    Passive,
}

/// What a queued client is told. Numbers, not text: `wire` prints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QueuePosition {
    /// The dialect to answer in.
    pub dialect: Dialect,
    /// The id of the place.
    pub ticket: Guid,
    /// 1 is next in line.
    pub position: u32,
    /// The length of the queue, including this client; at least `position`.
    pub length: u32,
    /// How many upload slots there are.
    pub limit: u32,
    /// `Retry-After`, or `pollMin`.
    pub retry_after: Duration,
    /// `lifetime`, or `pollMax`.
    pub lifetime: Duration,
    /// Estimated time to a slot, if it can be given honestly (PQ-15).
    pub eta: Option<Duration>,
    /// Keep the connection (synchronous part), or close it after the reply.
    pub keep: bool,
    /// Why the place is gone that the request claimed, and this one is new (WB-7).
    pub lost: Option<PositionLoss>,
}

/// The highest level that a request announces in `X-Queue` (AQ-1, PQ-3). A
/// level above those we know is answered as 1.0, which all later ones
/// understand; anything that is not a level counts as absent.
#[must_use]
pub fn spoken(headers: &Headers) -> Dialect {
    Vars::new(headers, "X-Queue").pieces().filter_map(level).max().map_or(
        Dialect::Passive,
        |level| match level {
            (0, _) => Dialect::Active,
            (1, 1) => Dialect::Parq11,
            _ => Dialect::Parq,
        },
    )
}

/// `digits.digits` at the front of an item, followed by a separator or its end.
pub(super) fn level(piece: &str) -> Option<(u32, u32)> {
    let word = piece.split_ascii_whitespace().next()?;
    let (major, minor) = split_once(word, b'.')?;
    let all_digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(major) || !all_digits(minor) {
        return None;
    }
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The place that a request claims: the client's `X-Queued` (PQ-6).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct PositionClaim {
    /// The id of the place.
    pub ticket: Option<Guid>,
    /// The last position it was told.
    pub told: Option<u32>,
}

impl PositionClaim {
    /// Parses the claim of a request, or the id that a server sends along with
    /// a transfer.
    #[must_use]
    pub fn parse(headers: &Headers) -> Self {
        let mut claim = Self::default();
        for (key, value) in Vars::new(headers, "X-Queued").settings() {
            if key.eq_ignore_ascii_case("ID") {
                first(&mut claim.ticket, value, |v| Guid::parse(v.as_bytes()));
            } else if key.eq_ignore_ascii_case("position") {
                first(&mut claim.told, value, number);
            }
        }
        claim
    }
}

/// The address at which the client says it can be called back (PQ-8). The first
/// versions of PARQ named the header `X-Listen-IP`. Of a list, which a client
/// with both IPv4 and IPv6 may send, the first one. It is not verified here.
#[must_use]
pub fn callback(headers: &Headers) -> Option<SocketAddr> {
    let told = headers.get("X-Node").or_else(|| headers.get("X-Listen-IP"))?;
    let mut each = told.split(',').filter_map(|at| trim(at).parse::<SocketAddr>().ok());
    each.find(|at| at.port() != 0 && !at.ip().is_unspecified())
}

/// True when a client waits for a late answer (QA-3): it says so in
/// `X-Features`, or is a plain client, which does not know of queues. How long
/// other clients wait is unknown.
#[must_use]
pub fn waits(headers: &Headers, dialect: Dialect) -> bool {
    match dialect {
        Dialect::Passive => true,
        Dialect::Active => false,
        Dialect::Parq | Dialect::Parq11 => headers.lists("X-Features", HOLD),
    }
}

/// True when a client says that it may wake only once a minute, as a browser's
/// hidden tab does (WB-7).
#[must_use]
pub fn sleeps(headers: &Headers) -> bool {
    headers.lists("X-Features", SLEEP)
}

/// How a client announces that it waits.
const HOLD: &str = "hold/1.0";
/// How a client announces that it may sleep.
const SLEEP: &str = "sleep/1.0";

/// Says in a request that its sender may sleep (WB-7).
pub fn write_sleeps(head: &mut HeadWriter) {
    head.header("X-Features", SLEEP);
}

/// Writes the queueing headers of a request: our level, the place we hold, and
/// our callback address. A client that is called back sends the same headers
/// (PQ-8). One that `waits` may be answered later (QA-3).
pub fn write_claim(
    head: &mut HeadWriter,
    dialect: Dialect,
    claim: PositionClaim,
    callback: Option<SocketAddr>,
    waits: bool,
) {
    match dialect {
        Dialect::Passive => return,
        Dialect::Active => {
            head.header("X-Queue", "0.1");
            return;
        }
        // What we speak ourselves; PARQ 1.1 is what others speak.
        Dialect::Parq if waits => head.header("X-Queue", "1.0").header("X-Features", HOLD),
        Dialect::Parq => head.header("X-Queue", "1.0"),
        Dialect::Parq11 => head.header("X-Queue", "1.1"),
    };
    if let Some(at) = callback {
        head.header("X-Node", at);
    }
    match claim {
        PositionClaim { ticket: Some(id), told: Some(told) } => {
            head.header("X-Queued", format_args!("position={told}; ID={id}"));
        }
        PositionClaim { ticket: Some(id), told: None } => {
            head.header("X-Queued", format_args!("ID={id}"));
        }
        PositionClaim { ticket: None, .. } => {}
    }
}

/// Writes everything that a 503 to a queued client must carry, in the client's
/// dialect (PQ-5): the place, `Retry-After`, `Content-Length: 0`, and
/// `Connection: close` when the connection is not kept.
///
/// Active Queueing gets one header with all five keys, because a deployed
/// downloader needs position, pollMin and pollMax in the same one; and never a
/// bare version, which it takes for plain busy.
pub fn write_place(head: &mut HeadWriter, place: &QueuePosition) {
    let QueuePosition { position, length, limit, .. } = place;
    let retry_after = Seconds(place.retry_after);
    let lifetime = Seconds(place.lifetime);
    match place.dialect {
        Dialect::Passive => {}
        Dialect::Active => {
            head.header(
                "X-Queue",
                format_args!(
                    "position={position},length={length},limit={limit},\
                     pollMin={retry_after},pollMax={lifetime}"
                ),
            );
        }
        Dialect::Parq | Dialect::Parq11 => {
            if place.dialect == Dialect::Parq {
                head.header("X-Queue", "1.0");
                super::leave::write_may_leave(head);
            } else {
                head.header("X-Features", "queue/1.1");
            }
            head.header("X-Queued", Queued(place));
        }
    }
    head.header("Retry-After", retry_after);
    if !place.keep {
        head.header("Connection", "close");
    }
    head.header("Content-Length", 0);
}

/// The settings of PARQ's `X-Queued`.
struct Queued<'a>(&'a QueuePosition);

impl fmt::Display for Queued<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let QueuePosition { position, length, lifetime, ticket, eta, lost, .. } = self.0;
        write!(f, "position={position}; length={length}; ")?;
        if let Some(eta) = eta {
            write!(f, "ETA={}; ", eta.as_secs_ceil())?;
        }
        write!(f, "lifetime={}; ID={ticket}", Seconds(*lifetime))?;
        lost.map_or(Ok(()), |why| write!(f, "; lost={why}"))
    }
}

/// A number of decimal digits that fits into 32 bits.
pub(super) fn number(text: &str) -> Option<u32> {
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}
