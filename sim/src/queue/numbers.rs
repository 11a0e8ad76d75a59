//! The numbers behind a decision of the queue: when a client asked, and when it
//! was allowed to.

use serde_json::{Value, json};
use servent_core::id::Guid;
use servent_core::queue::{Event, PositionLoss};
use servent_core::time::Instant;

/// What a client was last told: the earliest and latest retry, and its
/// position.
fn told(
    ticket: &Guid,
    earlier: impl Iterator<Item = (Instant, Event)>,
) -> Option<(Instant, Instant, u32)> {
    earlier.map(|(_, event)| event).find_map(|event| match event {
        Event::Told { ticket: of, not_before, deadline, position, .. } if of == *ticket => {
            Some((not_before, deadline, position))
        }
        _ => None,
    })
}

/// The numbers behind a server's event; `earlier` are the events before it,
/// newest first.
pub fn list_numbers(
    at: Instant,
    event: &Event,
    earlier: impl Iterator<Item = (Instant, Event)>,
) -> Option<Value> {
    use Event as E;
    Some(match event {
        E::Told { not_before, deadline, position, length, .. } => {
            json!({"key": "told", "position": position, "length": length,
                "from": not_before, "to": deadline})
        }
        E::Asked { ticket, .. }
        | E::Lapsed { ticket }
        | E::Passed { ticket, .. }
        | E::Entitled { ticket } => {
            let (from, to, position) = told(ticket, earlier)?;
            json!({"key": "window", "at": at, "from": from, "to": to, "position": position})
        }
        E::Lost { ticket, why, .. } => {
            let (from, to, position) = told(ticket, earlier)?;
            let key = match why {
                PositionLoss::TooEarly => "too_early",
                PositionLoss::Overdue => "overdue",
                _ => "lost",
            };
            json!({"key": key, "at": at, "from": from, "to": to, "position": position,
                "early": from.since(at), "late": at.since(to)})
        }
        E::Started { waited, free, .. } => {
            json!({"key": "started", "waited": waited, "free": free})
        }
        E::Arrived { position, length, .. } => {
            json!({"key": "place", "position": position, "length": length})
        }
        E::Held { position, until, .. } => {
            json!({"key": "until", "at": at, "until": until, "position": position})
        }
        E::Away { until, .. } | E::Reserved { until, .. } => {
            json!({"key": "until", "at": at, "until": until})
        }
        E::Finished { free, .. } | E::Unreserved { free, .. } => {
            json!({"key": "free", "free": free})
        }
        _ => return None,
    })
}
