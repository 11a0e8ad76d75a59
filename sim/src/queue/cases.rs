//! Which of several reasons holds for an event. The sentence of an event tells
//! of a place, a window or a call; whether there is one is read from the events
//! before it.

use serde_json::Value;
use servent_core::time::Instant;

/// An event of a node: when, and what.
pub type TimedEvent = (Instant, Value);

/// The case of an event, by the events of the same node before it, newest first;
/// `None` where its sentence needs none.
#[must_use]
pub fn case_of(
    at: Instant,
    event: &Value,
    earlier: impl Iterator<Item = TimedEvent>,
) -> Option<&'static str> {
    let (area, body) = event.as_object()?.iter().next()?;
    match (&area[..], body.get("what")?.as_str()?) {
        ("fetch", "asked") => Some(asks(body, earlier)),
        ("fetch", "waiting") => waits(body, earlier),
        ("queue", "asked") => returns(at, body, earlier),
        ("queue", "started") => begins(body, earlier),
        _ => None,
    }
}

/// What happened, when it is of this area and agrees with `body` in `key`.
fn same<'a>(event: &'a Value, area: &str, body: &Value, key: &str) -> Option<(&'a str, &'a Value)> {
    let told = event.get(area)?;
    let alike = told.get(key)? == body.get(key)?;
    alike.then(|| Some((told.get("what")?.as_str()?, told)))?
}

/// A request of a client: the first one, one from the line, or for the next part.
fn asks(body: &Value, earlier: impl Iterator<Item = TimedEvent>) -> &'static str {
    for (_, event) in earlier {
        match same(&event, "fetch", body, "fetch") {
            Some(("queued", _)) => return "place",
            Some(("called_back", _)) => return "called",
            Some(("stored" | "receiving", _)) => return "part",
            Some(("begun" | "source_lost" | "place_lost" | "waiting", _)) => break,
            _ => {}
        }
    }
    "first"
}

/// A client whose source does not answer: whether it has a place there to come
/// back to.
fn waits(body: &Value, earlier: impl Iterator<Item = TimedEvent>) -> Option<&'static str> {
    let mut place = None;
    for (_, event) in earlier {
        if let (Some(conn), Some(told)) = (place.as_ref(), event.get("conn")) {
            let dialed = told.get("what")? == "dialing" && told.get("conn") == Some(conn);
            if dialed {
                return (told.get("to") == body.get("at")).then_some("place");
            }
            continue;
        }
        match same(&event, "fetch", body, "fetch") {
            Some(("queued", told)) => {
                // Without an id the connection was the place, and it is gone.
                told.get("ticket").filter(|id| !id.is_null())?;
                place = Some(told.get("conn")?.clone());
            }
            Some(("place_lost" | "receiving" | "begun", _)) => return None,
            _ => {}
        }
    }
    place.map(|_| "place")
}

/// A client that asks again: within the window it was told, or for another reason.
fn returns(
    at: Instant,
    body: &Value,
    earlier: impl Iterator<Item = TimedEvent>,
) -> Option<&'static str> {
    for (_, event) in earlier {
        match same(&event, "queue", body, "ticket") {
            Some(("called", _)) => return Some("called"),
            Some(("told", told)) => {
                let from = told.get("not_before")?.as_u64()?;
                return (at.as_micros() < from).then_some("forgiven");
            }
            Some(("restored", _)) => return Some("restored"),
            _ => {}
        }
    }
    None
}

/// A slot that is given: to a request that never waited, or was held, or past one
/// who is away.
fn begins(body: &Value, earlier: impl Iterator<Item = TimedEvent>) -> Option<&'static str> {
    for (_, event) in earlier {
        let passed =
            event.get("queue").filter(|told| told.get("what").is_some_and(|w| w == "passed"));
        if passed.is_some_and(|told| told.get("by") == body.get("ticket")) {
            return Some("passed");
        }
        match same(&event, "queue", body, "ticket") {
            Some(("held", _)) => return Some("held"),
            Some(("reserved", _)) => return Some("back"),
            Some(("entitled", _)) | None => {}
            Some(("arrived", _)) => break,
            Some(_) => return None,
        }
    }
    Some("at_once")
}
