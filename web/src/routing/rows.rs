//! Messages as rows of numbers: the page reads thousands of them per frame.

use servent_core::wire::gnutella::MessageKind;
use servent_sim::routing::Leg;

use crate::value::us;

/// The number of a message kind.
fn kind(kind: MessageKind) -> f64 {
    match kind {
        MessageKind::Ping => 0.0,
        MessageKind::Pong => 1.0,
        MessageKind::Query => 2.0,
        MessageKind::Hit => 3.0,
        MessageKind::Push => 4.0,
        MessageKind::Bye => 5.0,
        MessageKind::Qrp | MessageKind::Vendor | MessageKind::Standard => 6.0,
    }
}

fn journey(leg: &Leg) -> f64 {
    leg.journey.map_or(-1.0, f64::from)
}

/// `[id, from, to, departs, arrives, kind, fate, guid#, link, seq]`.
pub(crate) fn flights<'a>(legs: impl Iterator<Item = (u32, &'a Leg)>) -> Vec<f64> {
    let mut rows = Vec::new();
    for (id, leg) in legs {
        rows.extend_from_slice(&[
            f64::from(id),
            f64::from(leg.from),
            f64::from(leg.to),
            us(leg.departs),
            us(leg.arrives),
            kind(leg.kind),
            f64::from(leg.fate),
            journey(leg),
            f64::from(leg.wire),
            leg.seq as f64,
        ]);
    }
    rows
}
