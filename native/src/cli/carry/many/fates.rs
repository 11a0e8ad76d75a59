//! What has become of each receiver of a sender that waits at a place.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use servent::transfer::Lacking;
use servent_core::id::Guid;
use servent_core::text::Shown;
use tokio::sync::Notify;

use super::super::other_side::OtherSide;
use crate::progress::count;

/// The receivers that have shown the code, each of them once.
#[derive(Default)]
pub(super) struct ReceiverFates(Mutex<Vec<ReceiverFate>>);

/// One of them.
struct ReceiverFate {
    /// The same when it comes again; `None`: it cannot be known then.
    number: Option<Guid>,
    /// Its latest visit, and what ends that when it comes again.
    visitor: u64,
    again: Arc<Notify>,
    at: OtherSide,
    /// It has had all of it, but for what lacks.
    has: bool,
    lacking: Vec<Lacking>,
    /// Why its latest visit has ended before that.
    left: Option<String>,
}

impl ReceiverFates {
    fn all(&self) -> MutexGuard<'_, Vec<ReceiverFate>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many have all of it.
    pub(super) fn have(&self) -> u32 {
        let have = self.all().iter().filter(|one| one.has).count();
        u32::try_from(have).unwrap_or(u32::MAX)
    }

    /// A visitor has shown the code. `again` is told when the same receiver comes again.
    pub(super) fn comes(&self, visitor: u64, at: OtherSide, again: &Arc<Notify>) {
        let (again, lacking) = (Arc::clone(again), Vec::new());
        let number = None;
        self.all().push(ReceiverFate {
            number,
            visitor,
            again,
            at,
            has: false,
            lacking,
            left: None,
        });
    }

    /// A visitor has said its number. One that has come before is the same receiver: its
    /// visit before is over, and what it has had counts.
    pub(super) fn numbered(&self, visitor: u64, number: Guid) {
        let mut all = self.all();
        let before = all.iter().position(|one| one.number == Some(number));
        let mut before = before.map(|at| all.remove(at));
        let Some(now) = all.iter_mut().find(|one| one.visitor == visitor) else { return };
        now.number = Some(number);
        if let Some(before) = before.take() {
            before.again.notify_one();
            (now.has, now.lacking) = (before.has, before.lacking);
        }
    }

    /// A visitor has all of it, but for what lacks; false if it had that before.
    pub(super) fn has(&self, visitor: u64, at: OtherSide, lacking: Vec<Lacking>) -> bool {
        let mut all = self.all();
        let Some(one) = all.iter_mut().find(|one| one.visitor == visitor) else { return false };
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

impl std::fmt::Display for ReceiverFate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.has, &self.left, self.lacking.len() as u64) {
            (true, _, 0) => f.write_str("has all of it"),
            (true, _, some) => write!(f, "has all of it but {}", count(some, "file")),
            (false, Some(why), _) => write!(f, "has not got all of it: {}", Shown(why)),
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

    fn comes(fates: &ReceiverFates, visitor: u64, number: Option<u8>) -> Arc<Notify> {
        let again = Arc::default();
        fates.comes(visitor, at(u8::try_from(visitor).unwrap()), &again);
        if let Some(number) = number {
            fates.numbered(visitor, Guid([number; 16]));
        }
        again
    }

    #[test]
    fn a_receiver_that_comes_twice_counts_once_and_each_is_named_once() {
        let fates = ReceiverFates::default();
        let dead = comes(&fates, 1, Some(7));
        fates.left(1, at(1), String::from("gone"));
        comes(&fates, 2, None);
        comes(&fates, 3, Some(7));
        assert!(dead.notified().now_or_never().is_some(), "its visit before is over");
        assert!(fates.has(3, at(3), Vec::new()));
        assert!(fates.has(2, at(2), Vec::new()));
        assert_eq!(fates.have(), 2);
        comes(&fates, 4, Some(7));
        assert!(!fates.has(4, at(4), Vec::new()), "it had it before");
        comes(&fates, 5, Some(7));
        fates.left(5, at(5), String::from("gone"));
        assert_eq!(fates.have(), 2, "what it has had counts");
        fates.left(4, at(4), String::from("its visit ends late"));
        comes(&fates, 6, Some(8));
        fates.left(6, at(6), String::from("the receiver\nis gone"));
        let wanted = "\n  visitor 2, 192.0.2.2:7000: has all of it\
                      \n  visitor 5, 192.0.2.5:7000: has all of it\
                      \n  visitor 6, 192.0.2.6:7000: has not got all of it: ";
        assert!(fates.lines().starts_with(wanted), "{}", fates.lines());
        assert_eq!(fates.lines().lines().count(), 4, "{}", fates.lines());
    }

    #[test]
    fn what_lacks_is_that_of_its_receiver_and_named_once_for_all() {
        let fates = ReceiverFates::default();
        let lacks = |name: &str| {
            let (name, why, kind) = (name.into(), String::from("taken"), LackKind::Blocked);
            Lacking { name, why, kind }
        };
        for (visitor, names) in [(1, vec!["a", "b"]), (2, vec![]), (3, vec!["a"])] {
            comes(&fates, visitor, None);
            fates.has(visitor, at(1), names.into_iter().map(lacks).collect());
        }
        assert_eq!(fates.lacking(), [lacks("a"), lacks("b")]);
        assert_eq!(fates.facts()[0]["lacking"], json!(["a", "b"]));
        assert_eq!(fates.facts()[1]["lacking"], json!([]));
        assert!(fates.lines().contains("has all of it but 2 files"), "{}", fates.lines());
    }
}
