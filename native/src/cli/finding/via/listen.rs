//! Waiting at a place for those that come: `receive --via`, and a servent with a link.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use servent::unicast::{Endpoint, MeetNews};
use servent_core::meet::{MeetFailure, MeetSide};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

use super::waiting::waiting_for_it;
use super::{AGAIN_AFTER, MeetStep, PathFound, ViaPlace};
use crate::exit::Failure;
use crate::progress::Reporter;

/// How long after a meeting its news still comes: all knocks, and a little more.
const NEWS: Duration = Duration::from_secs(6);
/// How long a listener that is met directly answers the repeated choices of the caller.
const CHOICES: Duration = Duration::from_secs(1);
/// When the seat of a caller that was met is forgotten, and a little more: a listener that
/// comes again before meets it once more.
const FORGOTTEN: Duration = Duration::from_secs(7);
/// How often a listener looks whether a transfer is still under way.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// What a listener knows of the callers that have come.
pub(crate) struct CallerNews<F> {
    /// Says whether a transfer is under way, or may soon be, if one would be in the way of
    /// the next: one that is relayed, or has just begun.
    pub(crate) busy: F,
    /// Told when one has gone, or was turned away.
    pub(crate) done: Arc<Notify>,
}

/// What was said of the place.
#[derive(Default)]
struct SaidOfPlace {
    /// It has answered once.
    began: bool,
    /// We wait there, as far as was said.
    waits: bool,
    /// Why we do not.
    unmet: Option<MeetFailure>,
}

impl ViaPlace {
    /// Lets callers find us, one after the other, as long as it is polled. Ends when
    /// the place does not answer at first, or refuses. Once the caller is done with us the
    /// next one may come at once.
    pub(crate) async fn listen(
        self,
        endpoint: Arc<Endpoint>,
        reporter: Reporter,
        callers: CallerNews<impl Fn(bool) -> bool>,
    ) -> Failure {
        let mut said = SaidOfPlace::default();
        loop {
            let mut news = match self.visit(&endpoint, MeetSide::Listener, &reporter).await {
                Ok(news) => news,
                Err(failure) => return failure,
            };
            match self.heard(&mut news, &reporter, &mut said).await {
                Ok(relayed) => {
                    // One that was killed and comes again is met in the same visit.
                    let mut met = Some(relayed);
                    while let Some(relayed) = met {
                        met = self.attend(relayed, (&mut news, &reporter), &callers).await;
                    }
                }
                Err(why) if !said.began => return self.failed(MeetSide::Listener, why),
                Err(why) => {
                    self.say_unmet(why, &mut said, &reporter);
                    sleep(AGAIN_AFTER).await;
                    while (callers.busy)(false) {
                        sleep(LOOK_AGAIN).await;
                    }
                }
            }
        }
    }

    /// Says why we do not meet, unless that was said last.
    fn say_unmet(&self, why: MeetFailure, said: &mut SaidOfPlace, reporter: &Reporter) {
        said.waits = false;
        if said.unmet.replace(why) != Some(why) {
            let failure = self.failed_waiting(why);
            let name = &self.name;
            let (what, sentence) = match why {
                MeetFailure::Silent => {
                    let what = format!(
                        "no word from the meeting place {name}: it does not run, or the line is dark"
                    );
                    (what.clone(), format!("{what}; waiting for it"))
                }
                _ => (failure.what.clone(), waiting_for_it(&failure)),
            };
            reporter.tell(&json!({ "event": "unmet", "why": what }), &sentence);
        }
    }

    /// Tells what becomes of a caller that was met, until the next one may come to a new
    /// visit. Whether the next one is relayed, if it was met in this one: to begin anew then
    /// would meet it once more, and end its connection.
    async fn attend(
        &self,
        mut relayed: bool,
        (news, reporter): (&mut MeetNews, &Reporter),
        callers: &CallerNews<impl Fn(bool) -> bool>,
    ) -> Option<bool> {
        let (free, mut gone) = (Instant::now() + FORGOTTEN, false);
        let mut until = Instant::now() + if relayed { NEWS } else { CHOICES };
        loop {
            tokio::select! {
                found = self.tell_moves(news, reporter), if !gone => match found {
                    PathFound::Again { relayed } => return Some(relayed),
                    PathFound::Left => (relayed, until) = (false, Instant::now()),
                    PathFound::Direct | PathFound::Relayed => {
                        relayed = found == PathFound::Relayed;
                        until = Instant::now() + CHOICES;
                    }
                },
                // It leaves the place in this moment. The next one is met in a visit
                // of its own, which knows nothing of this one's path.
                () = callers.done.notified(), if !gone => {
                    (gone, until) = (true, Instant::now() + LOOK_AGAIN);
                }
                () = sleep_until(until) => {
                    if !(callers.busy)(relayed || Instant::now() < free) {
                        return None;
                    }
                    until = Instant::now() + LOOK_AGAIN;
                }
            }
        }
    }

    /// Waits for a caller; whether it is relayed.
    async fn heard(
        &self,
        news: &mut MeetNews,
        reporter: &Reporter,
        said: &mut SaidOfPlace,
    ) -> Result<bool, MeetFailure> {
        loop {
            match self.step(news, reporter).await {
                Some(MeetStep::Waits) => {
                    if !said.waits {
                        let place = &self.name;
                        let fact = json!({ "event": "at_place", "place": place });
                        reporter.tell(&fact, &format!("waiting at the meeting place {place}"));
                    }
                    *said = SaidOfPlace { began: true, waits: true, unmet: None };
                }
                Some(MeetStep::Met { relayed, .. }) => {
                    *said = SaidOfPlace { began: true, waits: true, unmet: None };
                    return Ok(relayed);
                }
                Some(MeetStep::Failed(why)) => return Err(why),
                Some(MeetStep::Introduced { .. }) => {}
                None => std::future::pending().await, // The endpoint's end is told elsewhere.
            }
        }
    }
}
