//! What must hold of a meeting, from the routers alone.

use super::router::{Filtering, Mapping, RouterKind};
use super::world::{MeetOutcome, MeetWorld};

/// What did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MeetFault {
    /// There is a direct path, and it was not found; or there is none, and it was.
    Path {
        /// Whether there is one.
        possible: bool,
        /// How the caller and the listener ended.
        ends: [MeetOutcome; 2],
    },
    /// It took longer than it may, in milliseconds.
    Late(u64),
    /// A datagram was sent to an address of neither side nor the place.
    Stranger,
    /// The messages that arrived are not those that were sent, each once.
    Messages(usize),
}

/// True when a knock of one side reaches the other at the address the place sees,
/// and the answer comes back.
const fn knocks(asks: &RouterKind, answers: &RouterKind) -> bool {
    let reaches = match (answers.mapping, answers.filtering) {
        (_, Filtering::EndpointIndependent) => true,
        (Mapping::EndpointDependent, _) | (_, Filtering::Blocked) => false,
        (_, Filtering::AddressDependent) => true,
        (_, Filtering::PortDependent) => !matches!(asks.mapping, Mapping::EndpointDependent),
    };
    // The answer comes from the address that was asked, unless the mapping varies.
    let returns = !matches!(answers.mapping, Mapping::EndpointDependent)
        || matches!(asks.filtering, Filtering::EndpointIndependent | Filtering::AddressDependent);
    reaches && returns
}

/// True when two people behind these routers can have a direct path. `together`:
/// it is one router, and the network behind it is one.
#[must_use]
pub const fn can_meet(one: &RouterKind, other: &RouterKind, together: bool) -> bool {
    let blocked = matches!(one.filtering, Filtering::Blocked)
        || matches!(other.filtering, Filtering::Blocked);
    !blocked && (together || knocks(one, other) || knocks(other, one))
}

/// True when ports can be guessed: one gives every destination another, and says so,
/// and the other lets in only what it has written to, from one address of its own.
const fn can_guess(one: &RouterKind, other: &RouterKind) -> bool {
    matches!(one.mapping, Mapping::EndpointDependent)
        && !matches!(other.mapping, Mapping::EndpointDependent)
        && !matches!(one.filtering, Filtering::Blocked)
        && !matches!(other.filtering, Filtering::Blocked)
}

/// The longest a meeting may take once both are there, in milliseconds: the time
/// of all knocks and a few round trips.
const LONGEST: u64 = 4_000 + 2_000;

/// What a finished world violates, if anything.
#[must_use]
pub fn judge(world: &MeetWorld) -> Option<MeetFault> {
    let scenario = world.scenario();
    if world.strangers() > 0 {
        return Some(MeetFault::Stranger);
    }
    let [one, other] = &scenario.routers;
    let blocked = [one, other].map(|kind| kind.filtering == Filtering::Blocked);
    let possible = can_meet(one, other, scenario.together);
    let ends = world.outcomes();
    let fits = |at: usize| match ends[at] {
        MeetOutcome::Direct => possible,
        MeetOutcome::Relayed => !possible && scenario.relay && blocked == [false; 2],
        MeetOutcome::Unreachable => !possible && !scenario.relay && blocked == [false; 2],
        MeetOutcome::Silent => blocked[at],
        MeetOutcome::Waiting => blocked[1 - at] && !blocked[at],
    };
    let guessed = can_guess(one, other) || can_guess(other, one);
    let guessed = guessed && scenario.probes && ends == [MeetOutcome::Direct; 2];
    if !guessed && (!fits(0) || !fits(1)) {
        return Some(MeetFault::Path { possible, ends });
    }
    if let Some(took) = world.took().filter(|took| *took > LONGEST) {
        return Some(MeetFault::Late(took));
    }
    let connected = matches!(ends[0], MeetOutcome::Direct | MeetOutcome::Relayed);
    let expected = if connected { scenario.messages } else { 0 };
    let arrived = world.arrived();
    let right = arrived.iter().copied().eq(1..=expected);
    (!right).then_some(MeetFault::Messages(arrived.len()))
}
