//! Which neighbour's meeting place is used (PA-16): the one that was told first, as long as it
//! works.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;
use servent::driver::{Handle, ServentMeeting};
use servent_core::node::{NodeAnswer, NodeCommand, OverlayCommand};
use tokio::sync::Notify;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep, sleep_until};

use super::NEIGHBOUR;
use crate::progress::{Voice, count};

/// How long a place is kept after another was given up for it: neighbours that name places
/// which do not work cannot have us go from one to the next faster than that.
const KEPT_FOR: Duration = Duration::from_secs(60);

/// How often it is looked how many neighbours there are, as long as none has a place.
const LOOK: Duration = Duration::from_secs(1);
/// How long that may be so until it is said: neighbours come, and find out that others cannot
/// connect to us.
const SAID_AFTER: Duration = Duration::from_secs(7);

/// The place of a neighbour that is used, and another one.
#[derive(Default)]
pub(super) struct NeighbourPlaces {
    places: Mutex<ToldPlaces>,
    heard: Notify,
}

#[derive(Default)]
struct ToldPlaces {
    now: Option<SocketAddr>,
    other: Option<SocketAddr>,
    changed: Option<Instant>,
}

impl NeighbourPlaces {
    fn places(&self) -> MutexGuard<'_, ToldPlaces> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what neighbours run, as long as it is polled and the servent runs.
    pub(super) async fn hear(&self, answers: &mut Receiver<NodeAnswer>) {
        while let Some(at) = next_place(answers).await {
            self.note(at);
        }
    }

    fn note(&self, at: SocketAddr) {
        let mut places = self.places();
        if places.now != Some(at) {
            places.other = Some(at);
            self.heard.notify_one();
        }
    }

    /// The place that is used does not answer. Has the servent name another, if none is known.
    pub(super) async fn seek(&self, handle: &Handle) {
        if self.places().other.is_none() {
            let command = NodeCommand::Overlay(OverlayCommand::OtherPlace);
            let _ = handle.command(command).await; // It may have ended.
        }
    }

    /// True when another may be used instead of one that does not answer.
    pub(super) fn may_change(&self, now: Instant) -> bool {
        let places = self.places();
        let kept = |since: Instant| now.duration_since(since) < KEPT_FOR;
        places.other.is_some() && !places.changed.is_some_and(kept)
    }

    /// Waits until another may be used instead of one that does not answer.
    pub(super) async fn other(&self) {
        loop {
            let until = {
                let places = self.places();
                let until = places.changed.map(|changed| changed + KEPT_FOR);
                places.other.map(|_| until.unwrap_or_else(Instant::now))
            };
            match until {
                Some(until) if until <= Instant::now() => return,
                Some(until) => sleep_until(until).await,
                None => self.heard.notified().await,
            }
        }
    }

    /// Waits until another place is known; it is used from now on.
    pub(super) async fn change(&self) -> SocketAddr {
        loop {
            if let Some(at) = self.change_at(Instant::now()) {
                return at;
            }
            self.heard.notified().await;
        }
    }

    fn change_at(&self, now: Instant) -> Option<SocketAddr> {
        let mut places = self.places();
        let at = places.other.take()?;
        places.changed = places.now.replace(at).map(|_| now);
        Some(at)
    }
}

/// Why no place of a neighbour is used yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NoNeighbourPlace {
    neighbours: usize,
    /// Others cannot connect to us.
    firewalled: bool,
}

impl NoNeighbourPlace {
    /// One number stands for all that have one reason.
    fn kind(self) -> u8 {
        u8::from(self.neighbours > 0) + u8::from(self.neighbours > 0 && self.firewalled)
    }

    /// The reason, and what would help.
    fn why(self) -> String {
        if self.neighbours == 0 {
            "there is no neighbour to ask. Name one with --peer HOST:PORT, or a meeting place with \
             --meet HOST"
                .to_owned()
        } else if self.firewalled {
            let were = if self.neighbours == 1 { "was" } else { "were" };
            format!(
                "{} {were} asked, and none is a meeting place. Name one with --meet HOST, or a \
                 neighbour that is one with --peer HOST:PORT",
                count(self.neighbours as u64, "neighbour"),
            )
        } else {
            "as far as is known others can connect to us".to_owned()
        }
    }
}

/// Tells why no place of a neighbour is used, as long as it is polled: `servent status` always,
/// and the user when it is so for a while.
pub(super) async fn tell_none(handle: &Handle, voice: Voice) -> Infallible {
    let (mut said, mut since) = (None, (None, Instant::now()));
    loop {
        let Ok(overlay) = handle.neighbourhood().await else {
            return std::future::pending().await; // It has ended.
        };
        let neighbours = overlay.as_ref().map_or(0, |it| it.router.links.len());
        let firewalled = overlay.is_some_and(|it| it.firewalled);
        let none = NoNeighbourPlace { neighbours, firewalled };
        let why = none.why();
        if since.0 != Some(none.kind()) {
            since = (Some(none.kind()), Instant::now());
        }
        if said != since.0 && since.1.elapsed() >= SAID_AFTER {
            said = since.0;
            let fact = json!({
                "event": "no_place", "neighbours": neighbours, "firewalled": firewalled, "why": why,
            });
            voice.note(&fact, &format!("not met at the place of a neighbour yet: {why}"));
        }
        let (place, why) = (NEIGHBOUR.to_owned(), Some(why));
        handle.note_meeting(ServentMeeting { place, waits: false, why });
        sleep(LOOK).await;
    }
}

/// The next meeting place that a neighbour runs; `None` when the servent has ended.
async fn next_place(answers: &mut Receiver<NodeAnswer>) -> Option<SocketAddr> {
    loop {
        match answers.recv().await {
            Ok(NodeAnswer::Place { at }) => return Some(at),
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pa_16_places_that_neighbours_name_are_changed_now_and_then_at_most() {
        let places = NeighbourPlaces::default();
        let at = |last: u8| SocketAddr::from(([80, 1, 1, last], 6_349));
        let begun = Instant::now();
        let later = |ms| begun + Duration::from_millis(ms);
        assert_eq!(places.change_at(begun), None);
        places.note(at(1));
        assert_eq!(places.change_at(begun), Some(at(1)));
        places.note(at(1));
        assert!(!places.may_change(later(100)), "there is no other");
        // The first that does not work is given up at once, the next ones after a minute each.
        let mut changes = Vec::new();
        for tenth in 1..2_000_u64 {
            places.note(at(2 + u8::try_from(tenth % 100).unwrap()));
            if places.may_change(later(tenth * 100)) {
                assert_ne!(places.change_at(later(tenth * 100)), None);
                changes.push(tenth * 100);
            }
        }
        assert_eq!(changes, [100, 60_100, 120_100, 180_100]);
    }

    /// What is waited for before another place is tried ends when that may be.
    #[tokio::test]
    async fn pa_16_another_place_is_tried_as_soon_as_it_may_be() {
        let at = |last: u8| SocketAddr::from(([80, 1, 1, last], 6_349));
        let ends = async |places: &NeighbourPlaces| {
            tokio::time::timeout(Duration::from_millis(300), places.other()).await.is_ok()
        };
        let places = NeighbourPlaces::default();
        places.note(at(1));
        places.change().await;
        assert!(!ends(&places).await, "there is no other");
        places.note(at(2));
        assert!(ends(&places).await, "the first is given up at once");
        places.change().await;
        places.note(at(3));
        assert!(!ends(&places).await, "it is kept for a while");
        places.places().changed = Instant::now().checked_sub(KEPT_FOR - Duration::from_millis(50));
        assert!(ends(&places).await, "and no longer");
    }

    #[test]
    fn pa_16_it_is_said_why_no_place_of_a_neighbour_is_used_and_what_would_help() {
        let why = |neighbours, firewalled| NoNeighbourPlace { neighbours, firewalled }.why();
        assert!(why(0, true).contains("no neighbour to ask. Name one with --peer"));
        assert!(why(1, true).starts_with("1 neighbour was asked, and none is a meeting place. "));
        assert!(why(3, true).starts_with("3 neighbours were asked"));
        assert!(why(3, false).contains("others can connect to us"));
    }
}
