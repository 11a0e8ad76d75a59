//! A divided site: who leads which part of it.
//!
//! Every member looks at one membership table in the store: who is there, each with a heartbeat
//! that it counts up itself, and who holds the lease of which part. Looking is
//! also how it says that it is there. A part belongs to the member that
//! [`Partition::owner`] names among those with a heartbeat. Its owner takes it when no member
//! holds it, or when its holder had no heartbeat for [`Config::patience`]; a holder
//! that is no longer the owner stops serving it, has what it promised saved, and
//! gives it back. As with a single lease, taking a part counts its number up, and
//! the store lets no member write with an older one.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::{Config, Partition};
use crate::engine::{Engine, FxOf};
use crate::id::Guid;
use crate::time::Instant;

#[cfg(test)]
mod tests;

/// What the store says of a site, read in one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MembershipTable {
    /// Those who have said that they are there.
    pub members: Vec<MemberSeat>,
    /// The leases, by part; those that are not here were never taken.
    pub parts: BTreeMap<Partition, PartitionLease>,
}

/// A member in the membership table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MemberSeat {
    /// A process: drawn when it starts.
    pub id: Guid,
    /// Where it serves, by which it is known after a restart, too.
    pub at: SocketAddr,
    /// How often it has looked.
    pub beat: u64,
}

/// The lease of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PartitionLease {
    /// How often it was taken.
    pub fence: u64,
    /// Who holds it; `None` when it was given back.
    pub holder: Option<Guid>,
}

/// A lease to be taken, if it is still as it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LeaseClaim {
    /// The part.
    pub part: Partition,
    /// Its lease as it was seen.
    pub seen: PartitionLease,
}

/// Who answers for a part, as far as one member knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leader {
    /// No member: it changes hands.
    #[default]
    #[serde(rename = "nobody")] // Its name in recordings.
    Vacant,
    /// This member.
    Us,
    /// The one at this address.
    At(SocketAddr),
}

/// What the store and the host answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// The answer to [`Output::Look`].
    Seen(MembershipTable),
    /// The answer to [`Output::Take`]: those that could be taken.
    Taken(BTreeSet<Partition>),
    /// What was promised for these parts is saved, and nothing more is
    /// ([`Output::Hush`]).
    Quiet(BTreeSet<Partition>),
    /// The answer to [`Output::Free`].
    Freed(BTreeSet<Partition>),
    /// The store cannot be asked.
    Away,
    /// We end.
    Stop,
}

/// What is asked of the store, and of the host.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// Count our heartbeat up and read the membership table.
    Look,
    /// Take these leases.
    Take(Vec<LeaseClaim>),
    /// Record that no member holds these partitions any more.
    Free(BTreeSet<Partition>),
    /// We lead these parts: what the store remembers of them is ours to keep.
    Lead(BTreeSet<Partition>),
    /// Serve these parts no longer, have saved what was promised for them, and
    /// say [`Input::Quiet`].
    Hush(BTreeSet<Partition>),
    /// Who leads which part has changed, as far as we know: one for each part.
    Divide(Vec<Leader>),
    /// We end, or must: give back everything and leave the membership table.
    Leave,
    /// Another member has a partition that we led: we were taken for dead.
    Yield,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A member is there, as far as can be seen.
    Came {
        /// Where it serves.
        at: SocketAddr,
    },
    /// A member is gone.
    Went {
        /// Where it served.
        at: SocketAddr,
        /// How that is known.
        why: String,
    },
    /// Another member has a partition that we led.
    Lost {
        /// The part.
        part: Partition,
    },
}

/// One member's view of the division.
#[derive(Debug, Clone)]
pub struct Division {
    config: Config,
    us: Guid,
    at: SocketAddr,
    /// The other members, what their heartbeat was, and since when.
    others: BTreeMap<Guid, Other>,
    ours: BTreeMap<Partition, Ours>,
    /// Where those serve that are there, and whose each part is among them.
    there: Vec<SocketAddr>,
    owners: Vec<SocketAddr>,
    told: Vec<Leader>,
    /// The leases as they were when nothing was left to do about them.
    settled: Option<BTreeMap<Partition, PartitionLease>>,
    /// The store could not be asked since the last look: silence proves nothing.
    blind: bool,
    next: Option<Instant>,
}

/// What we do with a part whose lease is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ours {
    Leads,
    /// It is to be given back: the host still saves what was promised for it.
    Hushes,
    /// It can be given back.
    Quiet,
}

#[derive(Debug, Clone, Copy)]
struct Other {
    at: SocketAddr,
    beat: u64,
    since: Instant,
    there: bool,
}

impl Division {
    /// A member that leads nothing yet, and looks at once. `us` is drawn anew for
    /// every process, `at` is where it serves.
    #[must_use]
    pub const fn new(config: Config, (us, at): (Guid, SocketAddr), now: Instant) -> Self {
        Self {
            config,
            us,
            at,
            others: BTreeMap::new(),
            ours: BTreeMap::new(),
            there: Vec::new(),
            owners: Vec::new(),
            told: Vec::new(),
            settled: None,
            blind: false,
            next: Some(now),
        }
    }

    /// The parts it leads, as far as it knows.
    pub fn leads(&self) -> impl Iterator<Item = Partition> {
        self.ours.iter().filter(|(_, state)| **state == Ours::Leads).map(|(part, _)| *part)
    }

    fn observe(&mut self, now: Instant, table: &MembershipTable, fx: &mut FxOf<Self>) {
        let held = |part: &Partition| table.parts.get(part).and_then(|hold| hold.holder);
        // Perhaps only the answer was lost.
        self.ours.retain(|part, state| *state != Ours::Quiet || held(part) == Some(self.us));
        if let Some(part) = self.ours.keys().find(|part| held(part) != Some(self.us)) {
            fx.event(Event::Lost { part: *part });
            self.ours.clear();
            self.next = None;
            // By looking it has shown that it is there: no member has to wait for it.
            fx.output(Output::Leave);
            return fx.output(Output::Yield);
        }
        self.watch(now, table, fx);
        self.divide();
        if self.settled.as_ref() == Some(&table.parts) {
            return;
        }
        let (mut hush, mut free) = (BTreeSet::new(), BTreeSet::new());
        let mut claims = Vec::new();
        for part in Partition::all() {
            let owned = self.owners[usize::from(part.0)] == self.at;
            match self.ours.get_mut(&part) {
                Some(state @ Ours::Leads) if !owned => {
                    *state = Ours::Hushes;
                    hush.insert(part);
                }
                Some(Ours::Quiet) => drop(free.insert(part)),
                Some(Ours::Leads | Ours::Hushes) => {}
                None if owned => {
                    let never = PartitionLease { fence: 0, holder: None };
                    let seen = table.parts.get(&part).copied().unwrap_or(never);
                    if seen.holder.is_none_or(|holder| !self.is_there(holder)) {
                        claims.push(LeaseClaim { part, seen });
                    }
                }
                // Its taking was not answered, and its owner waits for it.
                None if held(&part) == Some(self.us) => {
                    self.ours.insert(part, Ours::Quiet);
                    free.insert(part);
                }
                None => {}
            }
        }
        self.tell(table, fx);
        let done = hush.is_empty() && free.is_empty() && claims.is_empty();
        self.settled = done.then(|| table.parts.clone());
        if !hush.is_empty() {
            fx.output(Output::Hush(hush));
        }
        if !free.is_empty() {
            fx.output(Output::Free(free));
        }
        if !claims.is_empty() {
            fx.output(Output::Take(claims));
        }
    }

    /// The members that are there: those with a heartbeat within our patience.
    fn watch(&mut self, now: Instant, table: &MembershipTable, fx: &mut FxOf<Self>) {
        let blind = core::mem::take(&mut self.blind);
        // An earlier process at our address is not there any more.
        let other = |seat: &&MemberSeat| seat.id != self.us && seat.at != self.at;
        let seats = table.members.iter().filter(other);
        let mut others = BTreeMap::new();
        for &MemberSeat { id, at, beat } in seats {
            let before = self.others.remove(&id);
            let mut other = match before {
                Some(other) if other.beat == beat => other,
                _ => Other { at, beat, since: now, there: true },
            };
            if blind {
                other.since = now;
            }
            if now.since(other.since) >= self.config.patience && other.there {
                other.there = false;
                fx.event(Event::Went { at, why: "it is silent".into() });
            } else if other.there && !before.is_some_and(|before| before.there) {
                fx.event(Event::Came { at });
            }
            others.insert(id, other);
        }
        let gone = core::mem::replace(&mut self.others, others);
        for other in gone.values().filter(|other| other.there) {
            fx.event(Event::Went { at: other.at, why: "it has said goodbye".into() });
        }
    }

    /// Another member with a heartbeat. A lease of ours that we do not know of is one
    /// whose taking was not answered.
    fn is_there(&self, id: Guid) -> bool {
        self.others.get(&id).is_some_and(|other| other.there)
    }

    /// Whose each part is.
    fn divide(&mut self) {
        let others = self.others.values().filter(|other| other.there).map(|other| other.at);
        let there: Vec<SocketAddr> = others.chain([self.at]).collect();
        if there != self.there {
            let owner = |part: Partition| part.owner(there.iter().copied()).unwrap_or(self.at);
            self.owners = Partition::all().map(owner).collect();
            self.settled = None;
            self.there = there;
        }
    }

    /// Tells the host who leads which part, when that has changed.
    fn tell(&mut self, table: &MembershipTable, fx: &mut FxOf<Self>) {
        let leader = |part: Partition| match self.ours.get(&part) {
            Some(Ours::Leads) => Leader::Us,
            Some(Ours::Hushes | Ours::Quiet) => Leader::Vacant,
            None => {
                let holder = table.parts.get(&part).and_then(|hold| hold.holder);
                let other = holder.and_then(|holder| self.others.get(&holder));
                other.filter(|other| other.there).map_or(Leader::Vacant, |one| Leader::At(one.at))
            }
        };
        let division: Vec<Leader> = Partition::all().map(leader).collect();
        if division != self.told {
            self.told.clone_from(&division);
            fx.output(Output::Divide(division));
        }
    }
}

impl Engine for Division {
    type Input = Input;
    type Output = Output;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input, fx: &mut FxOf<Self>) {
        match input {
            Input::Stop => {
                self.ours.clear();
                self.next = None;
                fx.output(Output::Leave);
            }
            _ if self.next.is_none() => {}
            Input::Seen(table) => self.observe(now, &table, fx),
            Input::Taken(parts) if parts.is_empty() => {}
            Input::Taken(parts) => {
                self.settled = None;
                self.ours.extend(parts.iter().map(|part| (*part, Ours::Leads)));
                for part in &parts {
                    if let Some(told) = self.told.get_mut(usize::from(part.0)) {
                        *told = Leader::Us;
                    }
                }
                fx.output(Output::Lead(parts));
            }
            Input::Quiet(parts) => {
                self.settled = None;
                let quiet = |part: &Partition| (*part, Ours::Quiet);
                self.ours.extend(parts.iter().map(quiet));
                fx.output(Output::Free(parts));
            }
            Input::Freed(parts) => {
                self.settled = None;
                self.ours.retain(|part, _| !parts.contains(part));
            }
            Input::Away => self.blind = true,
        }
    }

    fn handle_timeout(&mut self, now: Instant, fx: &mut FxOf<Self>) {
        if self.next.is_none_or(|at| at > now) {
            return;
        }
        self.next = Some(now + self.config.look);
        fx.output(Output::Look);
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.next.map(|at| (at, "division"))
    }
}
