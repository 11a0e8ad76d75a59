//! What a server answers to a request that it does not serve now.

use super::place::{level, number};
use super::seconds::Seconds;
use super::vars::{Vars, first};
use super::{Dialect, PositionLoss};
use crate::id::Guid;
use crate::time::Duration;
use crate::wire::http::{HttpDate, ResponseHead};

/// A reply that is not the file: a place in a queue, or plainly busy.
///
/// ```
/// use servent_core::wire::http::{HeadLimits, ResponseHead};
/// use servent_core::wire::queue::QueueReply;
///
/// let reply = b"HTTP/1.1 503 Busy\r\nX-Queue: position=2,length=5,pollMin=45,pollMax=120\r\n\r\n";
/// let limits = HeadLimits { bytes: 4_096, lines: 64 };
/// let (head, _) = ResponseHead::parse(reply, &limits).unwrap().unwrap();
/// let QueueReply::Place(place) = QueueReply::parse(&head) else { panic!("no place was told") };
/// assert_eq!((place.position, place.length), (Some(2), Some(5)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QueueReply {
    /// We have a place in the queue.
    Place(ToldPlace),
    /// We have none; the server may say when to ask again.
    Busy {
        /// `Retry-After`.
        retry_after: Option<Duration>,
    },
}

/// A place as a server of either dialect announces it. Every part is optional
/// (AQ-4); the numbers are not verified yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ToldPlace {
    /// The dialect of the reply (PQ-5).
    pub dialect: Dialect,
    /// The id of the place.
    pub ticket: Option<Guid>,
    /// 1 is next in line.
    pub position: Option<u32>,
    /// The length of the queue.
    pub length: Option<u32>,
    /// How many upload slots there are.
    pub limit: Option<u32>,
    /// `pollMin` or `Retry-After`: asking earlier loses the place.
    pub retry_after: Option<Duration>,
    /// `pollMax` or `lifetime`: not asking by then loses the place.
    pub lifetime: Option<Duration>,
    /// Estimated time to a slot.
    pub eta: Option<Duration>,
    /// The server keeps the connection.
    pub keep: bool,
    /// Why the place is gone that we claimed: this one is new (WB-7).
    pub lost: Option<PositionLoss>,
}

impl ToldPlace {
    /// A place without any of the optional parts.
    fn nothing(dialect: Dialect, head: &ResponseHead) -> Self {
        Self {
            dialect,
            ticket: None,
            position: None,
            length: None,
            limit: None,
            retry_after: None,
            lifetime: None,
            eta: None,
            keep: head.keep_alive(),
            lost: None,
        }
    }
}

impl QueueReply {
    /// Parses a reply. `X-Queued` means PARQ, with or without an `X-Queue`; an
    /// `X-Queue` with settings means Active Queueing; a bare level or nothing
    /// means plainly busy, and so does `position=full`.
    #[must_use]
    pub fn parse(head: &ResponseHead) -> Self {
        Self::parse_on(head, None)
    }

    /// The same, where `today` is known: a server that names a date to ask again, and
    /// not the date it sends that, means ours.
    #[must_use]
    pub fn parse_on(head: &ResponseHead, today: Option<HttpDate>) -> Self {
        let retry_after = retry_after(head, today);
        Self::parq(head, retry_after)
            .or_else(|| Self::active(head, retry_after))
            .unwrap_or(Self::Busy { retry_after })
    }

    fn parq(head: &ResponseHead, retry_after: Option<Duration>) -> Option<Self> {
        let mut place = ToldPlace::nothing(Dialect::Parq11, head);
        place.retry_after = retry_after;
        for (key, value) in Vars::new(&head.headers, "X-Queued").settings() {
            let is = |name: &str| key.eq_ignore_ascii_case(name);
            if is("ID") {
                first(&mut place.ticket, value, |v| Guid::parse(v.as_bytes()));
            } else if is("position") {
                first(&mut place.position, value, number);
            } else if is("length") {
                first(&mut place.length, value, number);
            } else if is("lifetime") {
                first(&mut place.lifetime, value, Seconds::parse);
            } else if is("ETA") {
                first(&mut place.eta, value, Seconds::parse);
            } else if is("lost") {
                first(&mut place.lost, value, PositionLoss::parse);
            }
        }
        if place.ticket.is_none() && place.position.is_none() {
            return None;
        }
        let newer = Vars::new(&head.headers, "X-Queue").pieces().filter_map(level).next();
        if newer == Some((1, 0)) {
            place.dialect = Dialect::Parq;
        }
        Some(Self::Place(place))
    }

    fn active(head: &ResponseHead, retry_after: Option<Duration>) -> Option<Self> {
        let mut place = ToldPlace::nothing(Dialect::Active, head);
        for (key, value) in Vars::new(&head.headers, "X-Queue").settings() {
            let is = |name: &str| key.eq_ignore_ascii_case(name);
            if is("position") {
                if value.eq_ignore_ascii_case("full") {
                    return None;
                }
                first(&mut place.position, value, number);
            } else if is("length") {
                first(&mut place.length, value, number);
            } else if is("limit") {
                first(&mut place.limit, value, number);
            } else if is("pollMin") {
                first(&mut place.retry_after, value, Seconds::parse);
            } else if is("pollMax") {
                first(&mut place.lifetime, value, Seconds::parse);
            }
        }
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

/// `Retry-After`, in seconds or as a date (RFC 9110 §10.2.3). A date counts from the
/// one at which the server sent it: its clock need not be right.
fn retry_after(head: &ResponseHead, today: Option<HttpDate>) -> Option<Duration> {
    let told = head.headers.get("Retry-After")?;
    Seconds::parse(told).or_else(|| {
        let sent = head.headers.get("Date").and_then(HttpDate::parse).or(today)?;
        let wait = HttpDate::parse(told)?.to_unix().saturating_sub(sent.to_unix());
        Some(Duration::from_secs(wait))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::http::HeadLimits;

    fn wait(fields: &str, today: Option<u64>) -> Option<Duration> {
        let text = alloc::format!("HTTP/1.1 503 Busy\r\n{fields}\r\n\r\n");
        let limits = HeadLimits { bytes: 4_096, lines: 64 };
        let (head, _) = ResponseHead::parse(text.as_bytes(), &limits).unwrap().unwrap();
        match QueueReply::parse_on(&head, today.map(HttpDate::from_unix)) {
            QueueReply::Busy { retry_after } => retry_after,
            QueueReply::Place(place) => panic!("{place:?}"),
        }
    }

    #[test]
    fn a_date_to_ask_again_counts_from_the_servers_own() {
        let sent = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: ";
        let (four, none) = (Some(Duration::from_secs(4)), Some(Duration::ZERO));
        for (date, wanted) in [
            ("Sun, 06 Nov 1994 08:49:41 GMT", four),
            ("Sunday, 06-Nov-94 08:49:41 GMT", four),
            ("Sun Nov  6 08:49:41 1994", four),
            ("Sun, 06 Nov 1994 08:00:00 GMT", none),
            ("4", four),
            ("soon", None),
        ] {
            // Our clock is fifteen years ahead of the server's.
            assert_eq!(
                wait(&alloc::format!("{sent}{date}"), Some(1_257_000_000)),
                wanted,
                "{date}"
            );
        }
        let undated = "Retry-After: Sun, 06 Nov 1994 08:49:41 GMT";
        assert_eq!(wait(undated, Some(784_111_777)), four);
        assert_eq!(wait(undated, None), None);
    }
}
