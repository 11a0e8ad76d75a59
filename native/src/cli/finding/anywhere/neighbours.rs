//! Which neighbour's meeting place is used (PA-16): the one that was told first, as long as it
//! works.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use servent::driver::Handle;
use servent_core::node::{NodeAnswer, NodeCommand, OverlayCommand};
use tokio::sync::Notify;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

/// How long a place is kept after another was given up for it: neighbours that name places
/// which do not work cannot have us go from one to the next faster than that.
const KEPT_FOR: Duration = Duration::from_secs(60);

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
}
