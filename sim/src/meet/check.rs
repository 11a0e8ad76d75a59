//! Oracles: what must hold of meetings, from the routers alone and from records.

use alloc::vec::Vec;

use servent_core::meet::MeetFailure;
use servent_core::time::{Duration, Instant};
use servent_core::trace::Record;

use super::event::{Event, PacketEvent, PersonEvent};
use super::host::MeetOutcome;
use super::router::{Filtering, Mapping, RouterKind};
use super::scenario::{PairSetup, Scenario};
use crate::check::{Oracle, RecordViolations, Violation};

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

/// The longest a meeting may take once both are there: the time of all knocks and a
/// few round trips.
const LONGEST: Duration = Duration::from_secs(4 + 2);
/// A seat is kept every five seconds. A mapping that lives no longer runs out while a
/// person waits: the other is told the new one after so much longer. RFC 4787 §4.3 asks
/// for two minutes.
const KEPT: Duration = Duration::from_secs(5);
/// A mapping that lives no longer than this runs out between two knocks.
const SHORTEST: Duration = Duration::from_secs(1);
/// With more loss in a thousand than this, a path may be missed by bad luck.
const MOST_LOSS: u32 = 50;

/// What the records say of one person.
#[derive(Debug, Clone, Copy, Default)]
struct PersonRecord {
    came: Option<Instant>,
    outcome: MeetOutcome,
    /// When the path was found that is used in the end.
    met: Option<Instant>,
    wrote: u64,
    read: u64,
}

/// All rules of meetings.
#[derive(Debug, Clone)]
pub struct MeetOracles {
    scenario: Scenario,
    people: Vec<PersonRecord>,
    /// Something was done to the world: what is possible is not known any more.
    disturbed: bool,
    violations: Vec<Violation>,
}

impl MeetOracles {
    /// For a scenario: its routers say which paths there are.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let people = alloc::vec![PersonRecord::default(); scenario.people.len()];
        Self { scenario: scenario.clone(), people, disturbed: false, violations: Vec::new() }
    }

    /// How long both sides of a pair took to find the path they have in the end, from
    /// when both were there.
    #[must_use]
    pub fn took(&self, pair: usize) -> Option<Duration> {
        let PairSetup { caller, listener, .. } = self.scenario.pairs[pair];
        let [one, other] = [caller, listener].map(|it| self.people[it as usize]);
        let begun = one.came?.max(other.came?);
        Some(one.met.max(other.met)?.since(begun))
    }

    /// True for an address that a person may send to.
    fn may_send(&self, person: u32, to: core::net::SocketAddr) -> bool {
        let Some(other) = self.scenario.pair_of(person).and_then(|(_, it)| it.other(person)) else {
            return false;
        };
        let outside = self.scenario.people[other as usize].behind.map(Scenario::outside);
        to.ip() == Scenario::place_at(0).ip()
            || to.ip() == self.scenario.local(other).ip()
            || Some(to.ip()) == outside
    }

    fn person(&mut self, record: &Record<Event>, event: &PersonEvent) {
        let at = record.at;
        let Some(person) = self.people.get_mut(record.node.0 as usize) else { return };
        match event {
            PersonEvent::Came { .. } => person.came = Some(at),
            PersonEvent::Connected { relayed, .. } => {
                let outcome = if *relayed { MeetOutcome::Relayed } else { MeetOutcome::Direct };
                (person.outcome, person.met) = (outcome, Some(at));
            }
            PersonEvent::Moved { .. } => {
                if person.outcome != MeetOutcome::Direct {
                    person.met = Some(at);
                }
                person.outcome = MeetOutcome::Direct;
            }
            PersonEvent::Alone { failure, .. } => {
                let silent = matches!(failure, MeetFailure::Silent);
                (person.outcome, person.met) = if silent {
                    (MeetOutcome::Silent, None)
                } else {
                    (MeetOutcome::Unreachable, Some(at))
                };
            }
            PersonEvent::Wrote { n, .. } => person.wrote = *n,
            PersonEvent::Read { n, .. } => {
                let (expected, n) = (person.read + 1, *n);
                person.read = n;
                if n != expected {
                    RecordViolations::at(record, &mut self.violations).violation(
                        "messages",
                        "check.order",
                        [("n", n), ("expected", expected)],
                    );
                }
            }
        }
    }

    /// How a pair ended that may be judged by `end`.
    fn judge(&mut self, pair: &PairSetup, end: Instant) {
        let scenario = &self.scenario;
        let together = scenario.together(pair.caller, pair.listener);
        let sides = [pair.caller, pair.listener];
        let [one, other] = sides.map(|it| scenario.kind_before(it));
        let records = sides.map(|it| self.people[it as usize]);
        let (Some(first), Some(second)) = (records[0].came, records[1].came) else { return };
        let least = one.timeout.min(other.timeout);
        let longest = if least <= KEPT { LONGEST + KEPT } else { LONGEST };
        let begun = first.max(second);
        if least <= SHORTEST || end < begun + longest + LONGEST {
            return;
        }
        let blocked = [one, other].map(|kind| kind.filtering == Filtering::Blocked);
        let possible = can_meet(&one, &other, together);
        let fits = |at: usize| match records[at].outcome {
            MeetOutcome::Direct => possible,
            MeetOutcome::Relayed => !possible && scenario.relay && blocked == [false; 2],
            MeetOutcome::Unreachable => !possible && !scenario.relay && blocked == [false; 2],
            MeetOutcome::Silent => blocked[at],
            MeetOutcome::Waiting => blocked[1 - at] && !blocked[at],
        };
        let guessed = (can_guess(&one, &other) || can_guess(&other, &one))
            && scenario.second_port
            && records.iter().all(|it| it.outcome == MeetOutcome::Direct);
        let mut found = RecordViolations::at_end(end, &mut self.violations);
        if !(guessed || fits(0) && fits(1)) {
            let key = if possible { "check.path_missed" } else { "check.path_made_up" };
            found.violation("path", key, [("caller", pair.caller), ("listener", pair.listener)]);
        }
        if let Some(met) = records[0].met.max(records[1].met)
            && met.since(begun) > longest
        {
            found.violation("late", "check.path_late", [("ms", met.since(begun).as_millis())]);
        }
        let [wrote, read] = [records[0].wrote, records[1].read];
        if records[0].outcome.is_connected() && read != wrote {
            found.violation("messages", "check.unread", [("wrote", wrote), ("read", read)]);
        }
    }
}

impl Oracle for MeetOracles {
    type Event = Event;

    fn observe(&mut self, record: &Record<Event>) {
        let node = record.node.0;
        self.disturbed |= record.event.is_fault();
        match &record.event {
            Event::Packet(PacketEvent::Sent { to, .. })
                if (node as usize) < self.people.len() && !self.may_send(node, *to) =>
            {
                RecordViolations::at(record, &mut self.violations).violation(
                    "stranger",
                    "check.stranger",
                    [("to", to)],
                );
            }
            Event::Person(event) => self.person(record, event),
            Event::Meet(servent_core::meet::Event::Located { .. }) => {
                if let Some(person) = self.people.get_mut(node as usize)
                    && !person.outcome.is_final()
                {
                    person.outcome = MeetOutcome::Waiting;
                }
            }
            _ => {}
        }
    }

    fn finish(&mut self, end: Instant) {
        if self.disturbed || self.scenario.loss > MOST_LOSS {
            return;
        }
        for pair in self.scenario.pairs.clone() {
            self.judge(&pair, end);
        }
    }

    fn violations(&self) -> &[Violation] {
        &self.violations
    }
}
