//! Oracles: what must be true of any run, checked on its records alone.
//!
//! They share no code with the engines. Each keeps its own small model of what
//! the records say, and reports a violation when two records contradict each
//! other.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::{self, Display, Formatter};

use serde::Serialize;
use servent_core::time::Instant;
use servent_core::trace::{NodeId, Record};

/// All the rules of a protocol, checked on one run.
///
/// Pass it every record in order, then say when the run ended.
pub trait Oracle {
    /// The events of the protocol.
    type Event;

    /// Checks the next record.
    fn observe(&mut self, record: &Record<Self::Event>);

    /// The run has ended, long enough after the last fault: everything that was
    /// begun must be finished.
    fn finish(&mut self, end: Instant);

    /// The violations so far, the first [`LIMIT`] of them.
    fn violations(&self) -> &[Violation];
}

/// A rule that a run violated. Its `Display` is a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The record that violates it.
    pub seq: u64,
    /// When.
    pub at: Instant,
    /// Where.
    pub node: NodeId,
    /// The rule.
    pub oracle: &'static str,
    /// The key of its sentence.
    pub key: &'static str,
    /// The arguments of the sentence, name and value.
    pub args: Vec<(&'static str, String)>,
}

/// The most violations that are kept: the first ones matter.
pub const LIMIT: usize = 100;

impl Display for Violation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { seq, at, node, oracle, key, args } = self;
        write!(f, "{} (rule {oracle}, node {}, {at:?}, record {seq}", sentence(key), node.0)?;
        args.iter().try_for_each(|(name, value)| write!(f, ", {name} {value}"))?;
        f.write_str(")")
    }
}

/// The sentence for a violated rule.
fn sentence(key: &str) -> &str {
    match key {
        "check.aq_connection" => "an Active Queueing place outlived its connection",
        "check.changed" => "a message was changed on its way",
        "check.complete" => "a download ended without every byte",
        "check.dropped_and_sent" => "a message was passed on although it was not to go on",
        "check.endless" => "more is sent again than was ever lost",
        "check.failed" => "a download failed that could have been finished",
        "check.fifo" => "a client was served before an earlier one that was there",
        "check.forgotten" => "a way back was forgotten too early",
        "check.free" => "the free slots do not add up",
        "check.from_quarantine" => "a piece was to come from a client that is shut out",
        "check.given_again" => "a piece was given to a client that has it",
        "check.given_without_credit" => "a piece was given without credit for it",
        "check.grant_in_quarantine" => "a client that is shut out was granted a piece",
        "check.grant_of_2004" => "the rules of 2004 know no grants, and one was given",
        "check.grants_differ" => "the grants told are not those counted",
        "check.ha_hs" => "the highest acknowledged and the highest sent do not fit each other",
        "check.idle_but_useful" => "a slot stood idle though a client could use it",
        "check.idle_slot" => "a slot stood idle while an entitled client was there",
        "check.idle_held" => "a slot was free while a request entitled to it was parked",
        "check.reserve_idle" => "a slot was reserved too long for an owner that is not there",
        "check.lapsed_early" => "a slot was taken away too early",
        "check.length" => "the line is not as long as was said",
        "check.let_in" => "two nodes are connected although each is behind a firewall",
        "check.lost" => "a place was lost for a reason that the events do not bear out",
        "check.lost_silently" => "a message is lost and its sender was not told",
        "check.never_seen" => "something was called a duplicate that had never come before",
        "check.never_sent" => "a message arrived that was never sent",
        "check.never_written" => "a message was delivered that was never sent",
        "check.mixture" => "a download that is whole is not one version of its file",
        "check.no_place" => "a client was told a place without having one",
        "check.no_reason" => "a message was dropped without a reason, or kept with one",
        "check.noise" => "an end still sends though there is nothing left to say",
        "check.not_asked" => "a node got an answer that never asked",
        "check.not_the_way" => "a hit or a push went another way than its table says",
        "check.order" => "a message was delivered out of order",
        "check.leaderless" => "no member leads the site although one could",
        "check.old_number" => "a lease was taken with a number that is not new",
        "check.place_gone" => "a place that was told is gone after another member took over",
        "check.served_twice" => "a place was served again after it had been served",
        "check.not_its_part" => "a member gives a place for a file of another member",
        "check.takeover_order" => "the line has another order after another member took over",
        "check.two_write" => "a member wrote that does not lead any more",
        "check.unsaved" => "a client was told a place that is not saved",
        "check.passive_to_passive" => "a passive client was sent to another passive one",
        "check.path_late" => "two people found their path later than they may",
        "check.path_made_up" => "two people are said to have a path that cannot be",
        "check.path_missed" => "two people could have had a path, and did not find it",
        "check.position" => "a position is behind the end of the line",
        "check.receive_window" => "a receiver holds more than its window allows",
        "check.send_window" => "a sender keeps more than its window allows",
        "check.sent_back" => "a message went back to the neighbour it came from",
        "check.sent_twice" => "two messages bear one number",
        "check.slots" => "more uploads than slots",
        "check.stalled_with_credit" => "a client is called stalled though it has credit",
        "check.still_there" => "a way back was given up although it was still there",
        "check.stranger" => "something was sent to a host that did not ask for it",
        "check.sum" => "what was sent is not what arrived, was lost and is on its way",
        "check.to_itself" => "a client was sent to itself",
        "check.too_far" => "a message travels further than any may",
        "check.too_many" => "a table holds more than its limit",
        "check.twice" => "something was taken that had come before",
        "check.unfinished" => "a download never ended",
        "check.unread" => "two people have a path, and not every message was read",
        "check.vanished" => "a message never arrived and was never lost",
        "check.waits" => "a message waits for room that never comes",
        "check.window" => "a client was told a time to ask that leaves too little room",
        "check.wrong_side_connects" => "the side that cannot be reached was waited for",
        other => other,
    }
}

/// Where an oracle reports violations, all of them about one record.
pub(crate) struct RecordViolations<'a> {
    place: (u64, Instant, NodeId),
    list: &'a mut Vec<Violation>,
}

impl<'a> RecordViolations<'a> {
    /// About a record.
    pub(crate) const fn at<E>(record: &Record<E>, list: &'a mut Vec<Violation>) -> Self {
        Self { place: (record.seq, record.at, record.node), list }
    }

    /// About the end of a run.
    pub(crate) const fn at_end(end: Instant, list: &'a mut Vec<Violation>) -> Self {
        Self { place: (0, end, NodeId(0)), list }
    }

    /// About the record with this number, instant and node.
    pub(crate) const fn about(place: (u64, Instant, NodeId), list: &'a mut Vec<Violation>) -> Self {
        Self { place, list }
    }

    /// The node.
    pub(crate) const fn node(&self) -> NodeId {
        self.place.2
    }

    /// The instant.
    pub(crate) const fn now(&self) -> Instant {
        self.place.1
    }

    /// Reports a violation.
    pub(crate) fn violation<D: Display>(
        &mut self,
        oracle: &'static str,
        key: &'static str,
        args: impl AsRef<[(&'static str, D)]>,
    ) {
        let node = self.place.2;
        self.violation_of(node, oracle, key, args);
    }

    /// Reports a violation; the arguments of its sentence have different types.
    pub(crate) fn broken(
        &mut self,
        oracle: &'static str,
        key: &'static str,
        args: &[(&'static str, &dyn Display)],
    ) {
        self.violation(oracle, key, args);
    }

    /// Reports a violation by another node than the record's.
    pub(crate) fn violation_of<D: Display>(
        &mut self,
        node: NodeId,
        oracle: &'static str,
        key: &'static str,
        args: impl AsRef<[(&'static str, D)]>,
    ) {
        if self.list.len() < LIMIT {
            let (seq, at, _) = self.place;
            let args = args.as_ref().iter().map(|(name, value)| (*name, value.to_string()));
            self.list.push(Violation { seq, at, node, oracle, key, args: args.collect() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCES: [&str; 8] = [
        include_str!("meet/check.rs"),
        include_str!("queue/check/download.rs"),
        include_str!("queue/check/line.rs"),
        include_str!("routing/check.rs"),
        include_str!("swarm/check.rs"),
        include_str!("swarm/check/credit.rs"),
        include_str!("swarm/check/slots.rs"),
        include_str!("unicast/check.rs"),
    ];

    /// Histories that are wrong in one way each.
    const LIES: [&str; 7] = [
        include_str!("../tests/meet/oracles.rs"),
        include_str!("../tests/queue/oracles.rs"),
        include_str!("../tests/queue/remanence.rs"),
        include_str!("../tests/routing/firewall.rs"),
        include_str!("../tests/routing/oracles.rs"),
        include_str!("../tests/swarm/oracles.rs"),
        include_str!("../tests/unicast/oracles.rs"),
    ];

    fn keys() -> Vec<&'static str> {
        let words = SOURCES.iter().flat_map(|text| text.split('"'));
        words.filter(|word| word.starts_with("check.")).collect()
    }

    #[test]
    fn every_rule_has_a_sentence() {
        for key in keys() {
            assert_ne!(sentence(key), key, "has no sentence");
        }
        assert!(keys().len() > 40, "{} keys were found", keys().len());
    }

    #[test]
    fn every_rule_was_seen_to_speak_up() {
        for key in keys() {
            let told = LIES.iter().any(|lies| lies.split('"').any(|word| word == key));
            assert!(told, "no test has {key} broken");
        }
    }

    #[test]
    fn a_violation_is_a_sentence() {
        let mut list = Vec::new();
        let end = Instant::from_secs(2);
        RecordViolations::at_end(end, &mut list).violation("fifo", "check.fifo", [("ahead", 3)]);
        let told = list[0].to_string();
        assert!(told.starts_with("a client was served before an earlier one"), "{told}");
        assert!(told.ends_with("record 0, ahead 3)"), "{told}");
    }
}
