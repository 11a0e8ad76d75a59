//! The goodbye of a client that wants no more (QA-8): a `HEAD` request whose
//! `X-Queued` has the id of its place or slot and the setting `leave`. Servers
//! that understand it say `leave/1.0` in `X-Features`; to any other it is a
//! `HEAD`, which is never queued and changes no place.

use super::place::PositionClaim;
use super::vars::Vars;
use crate::id::Guid;
use crate::wire::http::{HeadWriter, Headers};

/// How a server announces that a place can be given back.
const LEAVE: &str = "leave/1.0";

/// The id of the place or slot that a `HEAD` request gives back.
#[must_use]
pub fn leaves(headers: &Headers) -> Option<Guid> {
    let said = Vars::new(headers, "X-Queued");
    let leaves = said.settings().any(|(key, _)| key.eq_ignore_ascii_case("leave"));
    PositionClaim::parse(headers).ticket.filter(|_| leaves)
}

/// Says in a `HEAD` request that its client gives back the place or slot with
/// this id.
pub fn write_leave(head: &mut HeadWriter, ticket: Guid) {
    head.header("X-Queue", "1.0").header("X-Queued", format_args!("leave=1; ID={ticket}"));
}

/// True when a reply says that its place or slot can be given back.
#[must_use]
pub fn may_leave(headers: &Headers) -> bool {
    headers.lists("X-Features", LEAVE)
}

/// Says in a reply that the place or slot it names can be given back.
pub fn write_may_leave(head: &mut HeadWriter) {
    head.header("X-Features", LEAVE);
}
