//! What has become of each receiver of a sender that waits at a place.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use servent::transfer::{Lacking, SILENT};
use servent::unicast::PeerSilence;
use servent_core::id::Guid;
use servent_core::text::Shown;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::super::other_side::OtherSide;
use crate::progress::count;

/// How often it is looked whether another waits for a visitor that is silent.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// The receivers that have shown the code, each of them once.
#[derive(Default)]
pub(super) struct ReceiverFates {
    all: Mutex<Vec<ReceiverFate>>,
    /// Told when a visit has ended.
    ended: Notify,
}

/// One of them.
struct ReceiverFate {
    /// The same when it comes again; `None`: it cannot be known then.
    number: Option<Guid>,
    /// Its latest visit.
    visitor: u64,
    visit: FateOfVisit,
    /// It came while another with its number was served: a copy of that, or the same run twice.
    twin: bool,
    at: OtherSide,
    /// It has had all of it, but for what lacks.
    has: bool,
    lacking: Vec<Lacking>,
    /// Why its latest visit has ended before that.
    left: Option<String>,
}

/// How far the latest visit of a receiver is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FateOfVisit {
    Served,
    /// Another with its number is served.
    Waits,
    Ended,
}

/// A visit, until it is dropped.
pub(super) struct FatefulVisit<'a> {
    fates: &'a ReceiverFates,
    visitor: u64,
}

impl Drop for FatefulVisit<'_> {
    fn drop(&mut self) {
        if let Some(one) = self.fates.all().iter_mut().find(|one| one.visitor == self.visitor) {
            one.visit = FateOfVisit::Ended;
        }
        self.fates.ended.notify_waiters();
    }
}

impl ReceiverFates {
    fn all(&self) -> MutexGuard<'_, Vec<ReceiverFate>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many have all of it.
    pub(super) fn have(&self) -> u32 {
        let have = self.all().iter().filter(|one| one.has).count();
        u32::try_from(have).unwrap_or(u32::MAX)
    }

    /// A visit begins.
    pub(super) const fn visit(&self, visitor: u64) -> FatefulVisit<'_> {
        FatefulVisit { fates: self, visitor }
    }

    /// A visitor has shown the code.
    pub(super) fn comes(&self, visitor: u64, at: OtherSide) {
        let (number, visit, lacking) = (None, FateOfVisit::Served, Vec::new());
        let (twin, has, left) = (false, false, None);
        self.all().push(ReceiverFate { number, visitor, visit, twin, at, has, lacking, left });
    }

    /// A visitor has said its number. One that has come before is the same receiver, and what
    /// it has had counts. While another with this number is served it waits: the visitor that
    /// is served.
    pub(super) fn numbered(&self, visitor: u64, number: Guid) -> Option<u64> {
        let mut all = self.all();
        let served = all.iter().find(|one| one.is_served_as(number)).map(|one| one.visitor);
        let now = all.iter_mut().find(|one| one.visitor == visitor)?;
        now.number = Some(number);
        if served.is_some() {
            (now.visit, now.twin) = (FateOfVisit::Waits, true);
        } else {
            goes_on(&mut all, visitor);
        }
        served
    }

    /// Waits until no other with the number of this visitor is served.
    pub(super) async fn turn(&self, visitor: u64) {
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            if self.may_begin(visitor) {
                return;
            }
            ended.await;
        }
    }

    /// True when it is its turn now, which it takes.
    fn may_begin(&self, visitor: u64) -> bool {
        let mut all = self.all();
        let number = all.iter().find(|one| one.visitor == visitor).and_then(|one| one.number);
        if number.is_some_and(|number| all.iter().any(|one| one.is_served_as(number))) {
            return false;
        }
        if let Some(now) = all.iter_mut().find(|one| one.visitor == visitor) {
            now.visit = FateOfVisit::Served;
        }
        goes_on(&mut all, visitor);
        true
    }

    /// Waits until a visitor is not heard and another with its number waits for it.
    pub(super) async fn gives_way(&self, visitor: u64, silence: &PeerSilence) {
        loop {
            silence.reaches(SILENT).await;
            if self.is_awaited(visitor) {
                return;
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    /// True when a visitor is served for which another waits.
    fn is_awaited(&self, visitor: u64) -> bool {
        let all = self.all();
        let Some(served) = all.iter().find(|one| one.visitor == visitor) else { return false };
        let waits =
            |one: &ReceiverFate| one.visit == FateOfVisit::Waits && one.number == served.number;
        served.visit == FateOfVisit::Served && served.number.is_some() && all.iter().any(waits)
    }

    /// A visitor has all of it, but for what lacks, of which so many bytes were carried to it
    /// now; false if it had that before.
    pub(super) fn has(
        &self,
        visitor: u64,
        at: OtherSide,
        (lacking, carried): (Vec<Lacking>, u64),
    ) -> bool {
        let mut all = self.all();
        let Some(mut here) = all.iter().position(|one| one.visitor == visitor) else {
            return false;
        };
        // A twin that had all of it already looks into the same folder.
        let (twin, number) = (all[here].twin && carried == 0, all[here].number);
        let same = |one: &ReceiverFate| one.visitor != visitor && one.has && one.number == number;
        if twin && let Some(before) = all.iter().position(same) {
            all.remove(before);
            here -= usize::from(before < here);
            all[here].has = true;
        }
        let one = &mut all[here];
        (one.at, one.lacking, one.left) = (at, lacking, None);
        !std::mem::replace(&mut one.has, true)
    }

    /// The visit of one has ended before it had all.
    pub(super) fn left(&self, visitor: u64, at: OtherSide, why: String) {
        if let Some(one) = self.all().iter_mut().find(|one| one.visitor == visitor) {
            (one.at, one.left) = (at, Some(why));
        }
    }

    /// What has become of each, for programs.
    pub(super) fn facts(&self) -> Value {
        let each = |one: &ReceiverFate| {
            let lacking: Vec<String> = one.lacking.iter().map(Lacking::text).collect();
            let why = one.left.as_ref().filter(|_| !one.has);
            let fact = json!({
                "visitor": one.visitor, "has": one.has, "lacking": lacking, "why": why,
            });
            one.at.placed("peer", fact)
        };
        self.all().iter().map(each).collect()
    }

    /// The same, a line each.
    pub(super) fn lines(&self) -> String {
        let each = |one: &ReceiverFate| format!("\n  visitor {}, {}: {}", one.visitor, one.at, one);
        self.all().iter().map(each).collect()
    }

    /// What did not reach one or another, each name once.
    pub(super) fn lacking(&self) -> Vec<Lacking> {
        let (all, mut named) = (self.all(), BTreeSet::new());
        let lacking = all.iter().flat_map(|one| &one.lacking);
        lacking.filter(|it| named.insert(it.name.clone())).cloned().collect()
    }
}

impl ReceiverFate {
    fn is_served_as(&self, number: Guid) -> bool {
        self.number == Some(number) && self.visit == FateOfVisit::Served
    }
}

/// A visitor is the same receiver as one that came before with its number: that is named no
/// more. Of a twin it is not known whether it has what the other has.
fn goes_on(all: &mut Vec<ReceiverFate>, visitor: u64) {
    let Some(now) = all.iter().find(|one| one.visitor == visitor) else { return };
    let (number, twin) = (now.number, now.twin);
    let same = |one: &ReceiverFate| {
        let ended = one.visit == FateOfVisit::Ended && !(twin && one.has);
        one.visitor != visitor && one.number.is_some() && one.number == number && ended
    };
    let Some(before) = all.iter().position(same).map(|at| all.remove(at)) else { return };
    if let Some(now) = all.iter_mut().find(|one| one.visitor == visitor) {
        (now.has, now.lacking) = (before.has, before.lacking);
    }
}

impl std::fmt::Display for ReceiverFate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.has, &self.left, self.lacking.len() as u64) {
            (true, _, 0) => f.write_str("has all of it"),
            (true, _, some) => write!(f, "has all of it but {}", count(some, "file")),
            (false, Some(why), _) => write!(f, "has not got all of it: {}", Shown(why)),
            (false, None, _) if self.visit == FateOfVisit::Waits => {
                f.write_str("has not got all of it: it waited for another with its number")
            }
            (false, None, _) => f.write_str("has not got all of it: it was under way"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use futures::FutureExt as _;
    use servent::transfer::LackKind;

    use super::*;

    fn at(last: u8) -> OtherSide {
        OtherSide::new("the receiver", SocketAddr::from(([192, 0, 2, last], 7_000)), None)
    }

    /// A visit of a receiver; it ends when it is dropped.
    fn comes(fates: &ReceiverFates, visitor: u64, number: Option<u8>) -> FatefulVisit<'_> {
        fates.comes(visitor, at(u8::try_from(visitor).unwrap()));
        if let Some(number) = number {
            assert_eq!(fates.numbered(visitor, Guid([number; 16])), None, "it is its turn");
        }
        fates.visit(visitor)
    }

    fn has(fates: &ReceiverFates, visitor: u64, carried: u64) -> bool {
        fates.has(visitor, at(u8::try_from(visitor).unwrap()), (Vec::new(), carried))
    }

    #[test]
    fn a_receiver_that_comes_twice_counts_once_and_each_is_named_once() {
        let fates = ReceiverFates::default();
        let dead = comes(&fates, 1, Some(7));
        fates.left(1, at(1), String::from("gone"));
        drop(dead);
        let _other = comes(&fates, 2, None);
        let third = comes(&fates, 3, Some(7));
        assert!(has(&fates, 3, 10));
        assert!(has(&fates, 2, 10));
        assert_eq!(fates.have(), 2);
        drop(third);
        let fourth = comes(&fates, 4, Some(7));
        assert!(!has(&fates, 4, 0), "it had it before");
        drop(fourth);
        let fifth = comes(&fates, 5, Some(7));
        fates.left(5, at(5), String::from("gone"));
        drop(fifth);
        assert_eq!(fates.have(), 2, "what it has had counts");
        fates.left(4, at(4), String::from("its visit ends late"));
        drop(comes(&fates, 6, Some(8)));
        fates.left(6, at(6), String::from("the receiver\nis gone"));
        let wanted = "\n  visitor 2, 192.0.2.2:7000: has all of it\
                      \n  visitor 5, 192.0.2.5:7000: has all of it\
                      \n  visitor 6, 192.0.2.6:7000: has not got all of it: ";
        assert!(fates.lines().starts_with(wanted), "{}", fates.lines());
        assert_eq!(fates.lines().lines().count(), 4, "{}", fates.lines());
    }

    #[test]
    fn one_with_the_number_of_another_waits_until_that_has_ended() {
        let (fates, number) = (ReceiverFates::default(), Guid([7; 16]));
        let first = comes(&fates, 1, Some(7));
        let twins = [2, 3].map(|visitor| {
            fates.comes(visitor, at(2));
            assert_eq!(fates.numbered(visitor, number), Some(1), "the first one stays");
            fates.visit(visitor)
        });
        let [second, third] = twins;
        assert!(fates.turn(2).now_or_never().is_none());
        assert!(fates.is_awaited(1) && !fates.is_awaited(2));
        assert!(has(&fates, 1, 10));
        drop(first);
        assert!(fates.turn(2).now_or_never().is_some(), "it takes over");
        assert!(fates.turn(3).now_or_never().is_none(), "one after the other");
        assert!(has(&fates, 2, 10), "a copy of it has another folder");
        assert_eq!(fates.have(), 2);
        drop(second);
        assert!(fates.turn(3).now_or_never().is_some());
        assert!(!has(&fates, 3, 0), "the same folder has it already");
        drop(third);
        assert_eq!((fates.have(), fates.lines().lines().count()), (2, 3), "{}", fates.lines());
    }

    #[test]
    fn what_lacks_is_that_of_its_receiver_and_named_once_for_all() {
        let fates = ReceiverFates::default();
        let lacks = |name: &str| {
            let (name, why, kind) = (name.into(), String::from("taken"), LackKind::Blocked);
            Lacking { name, why, kind }
        };
        for (visitor, names) in [(1, vec!["a", "b"]), (2, vec![]), (3, vec!["a"])] {
            let _visit = comes(&fates, visitor, None);
            fates.has(visitor, at(1), (names.into_iter().map(lacks).collect(), 1));
        }
        assert_eq!(fates.lacking(), [lacks("a"), lacks("b")]);
        assert_eq!(fates.facts()[0]["lacking"], json!(["a", "b"]));
        assert_eq!(fates.facts()[1]["lacking"], json!([]));
        assert!(fates.lines().contains("has all of it but 2 files"), "{}", fates.lines());
    }
}
