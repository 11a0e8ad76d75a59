//! A site: one leads, nothing is said that is not saved, and no place is lost
//! or served twice when another one takes over.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::check::RecordViolations;
use servent_core::id::Guid;
use servent_core::node::WorldEvent;
use servent_core::queue::Event as Queue;
use servent_core::time::{Duration, Instant};
use servent_core::trace::{Event, NodeId, Record};

/// The longest a site may be without one that leads and can, when the store is
/// there and a member could.
const LEADERLESS: Duration = Duration::from_secs(10);

/// What the records say about one member.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CheckedMember {
    pub(super) runs: bool,
    pub(super) stalled: bool,
    pub(super) apart: bool,
    pub(super) leads: bool,
}

/// Reports a site, or a part of it, that has been without a leader since then for too
/// long; true when it has.
pub(super) fn report_leaderless(
    since: Instant,
    now: Instant,
    found: &mut RecordViolations<'_>,
) -> bool {
    let long = now.since(since) > LEADERLESS;
    if long {
        found.broken("leaderless", "check.leaderless", &[("since", &format_args!("{since:?}"))]);
    }
    long
}

impl CheckedMember {
    /// Applies what happens to a member of any site; true when it is a fault, after which
    /// the clocks start anew.
    pub(super) fn apply(&mut self, event: &WorldEvent) -> bool {
        use WorldEvent as W;
        match event {
            W::Crashed => *self = Self { apart: self.apart, ..Self::default() },
            W::StandsBy => self.runs = true,
            W::Stalled => self.stalled = true,
            W::Resumed => self.stalled = false,
            W::Apart { apart } => self.apart = *apart,
            _ => return false,
        }
        true
    }

    /// Nothing keeps it from leading.
    pub(super) const fn is_able(self) -> bool {
        self.runs && !self.stalled && !self.apart
    }
}

/// A place as the records of the member that leads know it.
#[derive(Debug, Clone, Copy)]
struct LeaderPosition {
    /// Its order of arrival, since this record.
    arrival: (u64, u64),
    /// The one that the store has.
    saved: Option<u64>,
    /// A client has heard of it.
    told: bool,
}

/// The members of a site, and what was promised.
#[derive(Debug, Clone)]
pub(super) struct Members {
    all: Vec<CheckedMember>,
    store_away: bool,
    /// Since when no member leads although one could and nothing goes wrong.
    without: Option<Instant>,
    /// The highest number with which something was saved, and by which member.
    number: (u64, Option<NodeId>),
    /// Who leads, by the last record that says so.
    leader: Option<NodeId>,
    places: BTreeMap<Guid, LeaderPosition>,
    /// Those that were served, since which record, and whether the store knows.
    done: BTreeMap<Guid, (u64, bool)>,
    /// What the one that leads has restored so far, while it starts.
    restoring: Option<(Instant, BTreeSet<Guid>)>,
    /// The last of them, by the order of arrival that the store had.
    restored: u64,
    /// The longest time without one that leads.
    longest: Duration,
}

impl Members {
    pub(super) fn new(members: usize) -> Self {
        Self {
            all: alloc::vec![CheckedMember::default(); members],
            store_away: false,
            without: None,
            number: (0, None),
            leader: None,
            places: BTreeMap::new(),
            done: BTreeMap::new(),
            restoring: None,
            restored: 0,
            longest: Duration::ZERO,
        }
    }

    /// The next record, of any node.
    pub(super) fn observe(&mut self, record: &Record, found: &mut RecordViolations<'_>) {
        self.check_gap(record.at, found);
        if self.restoring.as_ref().is_some_and(|(at, _)| *at < record.at) {
            self.restored(found);
        }
        let node = record.node;
        let is_member = (node.0 as usize) < self.all.len();
        match &record.event {
            Event::World(event) if is_member => self.world(record.at, node, event, found),
            Event::Queue(event) if self.leader == Some(node) => {
                self.queue(record.seq, event, found);
            }
            Event::Fetch(servent_core::fetch::Event::Queued { ticket: Some(ticket), .. }) => {
                self.observe_position(*ticket, found);
            }
            _ => {}
        }
    }

    pub(super) fn finish(&mut self, end: Instant, found: &mut RecordViolations<'_>) {
        self.check_gap(end, found);
    }

    /// A member leads within a bound once nothing goes wrong any more.
    fn check_gap(&mut self, now: Instant, found: &mut RecordViolations<'_>) {
        if let Some(since) = self.without {
            self.longest = self.longest.max(now.since(since));
            if report_leaderless(since, now, found) {
                self.without = None;
            }
        }
    }

    fn world(
        &mut self,
        now: Instant,
        node: NodeId,
        event: &WorldEvent,
        found: &mut RecordViolations<'_>,
    ) {
        use WorldEvent as W;
        let ends = matches!(event, W::Crashed | W::Replaced) && self.leader == Some(node);
        if ends || matches!(event, W::Leads { .. }) {
            self.forget_unsaved();
        }
        let one = &mut self.all[node.0 as usize];
        // A fault starts the clock anew.
        let mut fault = true;
        match event {
            W::Restarted => one.runs = true,
            W::Replaced => (one.runs, one.leads) = (false, false),
            W::Store { away } => self.store_away = *away,
            W::Leads { fence } => {
                one.leads = true;
                if *fence <= self.number.0 {
                    found.broken("one_leads", "check.old_number", &[("number", fence)]);
                }
                self.leader = Some(node);
                self.restoring = Some((now, BTreeSet::new()));
                self.restored = 0;
            }
            W::Saved { fence, until } => {
                self.saved(node, *fence, *until, found);
                fault = false;
            }
            event => fault = one.apply(event),
        }
        let led = self.all.iter().any(|one| one.leads && one.is_able());
        let able = self.all.iter().any(|one| one.is_able());
        if led || !able || self.store_away {
            self.without = None;
        } else if self.without.is_none() || fault && !matches!(event, W::StandsBy | W::Replaced) {
            self.without = Some(now);
        }
    }

    /// The member that led has ended: what it had decided and not saved never
    /// was.
    fn forget_unsaved(&mut self) {
        self.places.retain(|_, place| place.saved.is_some());
        self.done.retain(|_, (_, saved)| *saved);
        self.restoring = None;
    }

    /// Writes succeed only for the member that has taken the lease last.
    fn saved(&mut self, node: NodeId, fence: u64, until: u64, found: &mut RecordViolations<'_>) {
        let (last, who) = self.number;
        let another = fence == last && who.is_some_and(|who| who != node);
        if fence < last || another {
            found.broken("one_leads", "check.two_write", &[("number", &fence), ("last", &last)]);
        }
        if self.leader != Some(node) {
            found.broken("one_leads", "check.two_write", &[("number", &fence)]);
        }
        self.number = (fence.max(last), Some(node));
        for place in self.places.values_mut().filter(|place| place.arrival.1 < until) {
            place.saved = Some(place.arrival.0);
        }
        for done in self.done.values_mut().filter(|done| done.0 < until) {
            done.1 = true;
        }
    }

    fn queue(&mut self, seq: u64, event: &Queue, found: &mut RecordViolations<'_>) {
        match event {
            Queue::Arrived { ticket, arrival, .. } | Queue::Returned { ticket, arrival, .. } => {
                let fresh = LeaderPosition { arrival: (*arrival, seq), saved: None, told: false };
                self.places.entry(*ticket).or_insert(fresh).arrival = (*arrival, seq);
                self.done.remove(ticket);
            }
            Queue::Moved { ticket, arrival, .. } => {
                if let Some(place) = self.places.get_mut(ticket) {
                    place.arrival = (*arrival, seq);
                }
            }
            Queue::Restored { ticket, arrival, position } => {
                self.served_again(*ticket, found);
                if let Some((_, restoring)) = &mut self.restoring {
                    restoring.insert(*ticket);
                }
                let at = (*arrival, seq);
                let fresh = LeaderPosition { arrival: at, saved: None, told: false };
                let place = self.places.entry(*ticket).or_insert(fresh);
                if let Some(saved) = place.saved.filter(|_| *position > 0) {
                    if saved < self.restored {
                        found.broken("fifo", "check.takeover_order", &[("ticket", ticket)]);
                    }
                    self.restored = self.restored.max(saved);
                }
                (place.arrival, place.saved) = (at, Some(*arrival));
            }
            Queue::Lost { ticket, .. } => {
                self.places.remove(ticket);
            }
            Queue::Started { ticket, .. } => self.served_again(*ticket, found),
            Queue::Finished { ticket, .. } | Queue::Unreserved { ticket, .. } => {
                self.places.remove(ticket);
                self.done.insert(*ticket, (seq, false));
            }
            _ => {}
        }
    }

    /// A slot that was given back, as the store knows, is given to the same
    /// place again.
    fn served_again(&self, ticket: Guid, found: &mut RecordViolations<'_>) {
        if self.done.get(&ticket).is_some_and(|(_, saved)| *saved) {
            found.broken("served_twice", "check.served_twice", &[("ticket", &ticket)]);
        }
    }

    /// The new leader has restored everything: a client with an announced place has it.
    fn restored(&mut self, found: &mut RecordViolations<'_>) {
        let Some((_, restored)) = self.restoring.take() else { return };
        let missing: Vec<Guid> = self
            .places
            .iter()
            .filter(|(ticket, place)| place.told && !restored.contains(ticket))
            .map(|(ticket, _)| *ticket)
            .collect();
        for ticket in missing {
            self.places.remove(&ticket);
            found.broken("kept", "check.place_gone", &[("ticket", &ticket)]);
        }
        self.places.retain(|ticket, _| restored.contains(ticket));
    }

    /// A client hears of its place.
    fn observe_position(&mut self, ticket: Guid, found: &mut RecordViolations<'_>) {
        let Some(place) = self.places.get_mut(&ticket) else { return };
        place.told = true;
        if place.saved.is_none() {
            found.broken("write_ahead", "check.unsaved", &[("ticket", &ticket)]);
        }
    }
}
