//! The listener of many visitors, of which each has a visit of its own, and one of these that
//! is sent something.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use servent::unicast::{Endpoint, MeetNews};
use servent_core::meet::MeetSide;
use tokio::time::{Instant, sleep};

use super::listen::LOOK_AGAIN;
use super::{AGAIN_AFTER, CallerNews, FoundPeer, MeetStep, NotMet, ViaPlace};
use crate::exit::{Exit, Failure};
use crate::progress::Reporter;

/// How long other visitors may have their turn before us.
const PATIENCE: Duration = Duration::from_secs(300);
/// How long a sender that was met may take to send something, and how many times it may not.
const BEGINS: Duration = Duration::from_secs(10);
const VISITS: u32 = 2;

impl ViaPlace {
    /// Comes to the sender that waits here, and comes again when that is gone or silent, as
    /// long as it is polled. Ends when there is none at first.
    pub(crate) async fn come(
        self,
        endpoint: Arc<Endpoint>,
        reporter: Reporter,
        callers: CallerNews<impl Fn(bool) -> bool>,
    ) -> Failure {
        let (mut met, mut nothing, mut unheard) = (false, 0, false);
        loop {
            match self.call(&endpoint, Some(PATIENCE), &reporter).await {
                Ok(FoundPeer { mut news, .. }) => {
                    met = true;
                    let sent = self.taken((&mut news, &reporter), &callers).await;
                    let _ = endpoint.end_visit().await; // It may have ended.
                    nothing = if sent { 0 } else { nothing + 1 };
                    if nothing == VISITS {
                        return self.sends_nothing();
                    }
                }
                Err(NotMet { failure, .. }) if failure.exit == Exit::Refused => {
                    return failure;
                }
                Err(NotMet { failure, pathless: true }) if !met && !unheard => {
                    unheard = true;
                    self.say_unheard(Some(&failure), &reporter);
                }
                Err(NotMet { failure, .. }) if !met => return failure,
                Err(_) => {}
            }
            sleep(AGAIN_AFTER).await;
        }
    }

    /// Tells where the path leads, until no transfer is under way; whether one was.
    async fn taken(
        &self,
        (news, reporter): (&mut MeetNews, &Reporter),
        callers: &CallerNews<impl Fn(bool) -> bool>,
    ) -> bool {
        let (mut told, mut sent, mut idle) = (false, false, false);
        let until = Instant::now() + BEGINS;
        loop {
            tokio::select! {
                // That no direct path was found says nothing as long as nothing comes.
                _ = self.tell_moves(news, reporter), if sent && !told => told = true,
                () = callers.done.notified() => return true,
                () = sleep(LOOK_AGAIN) => match (callers.busy)(true) {
                    true => (sent, idle) = (true, false),
                    // A transfer whose turn has come may be about to begin.
                    false if sent && idle => return true,
                    false if !sent && Instant::now() >= until => {
                        self.say_unheard(None, reporter);
                        return false;
                    }
                    false => idle = true,
                },
            }
        }
    }

    /// Says that no word came from the sender that has the seat here, and why that may be
    /// besides its end.
    fn say_unheard(&self, path: Option<&Failure>, reporter: &Reporter) {
        let what = format!(
            "the sender that has the seat at the meeting place {} is silent: it may have been \
             killed, as its seat is kept for a minute",
            self.name
        );
        let or = path.map_or_else(String::new, |path| format!("; or {path}"));
        let fact = json!({ "event": "waiting", "why": what });
        reporter.tell(&fact, &format!("{what}{or}\ntrying once more"));
    }

    /// What waits there is no sender.
    fn sends_nothing(&self) -> Failure {
        let what = format!("what waits at the meeting place {} sends nothing", self.name);
        Failure::new(Exit::Foreign, what).next(
            "a link that `servent share --meet` prints is for `servent get`; otherwise use the \
             same version of servent on both sides",
        )
    }

    /// Waits for one caller, until it has been introduced, and where the place sees it: from then
    /// on the place has a seat for the next. `waits` is called when the place has given us ours.
    pub(crate) async fn one_caller(
        &self,
        endpoint: &Endpoint,
        (waits, reporter): (impl Fn(), &Reporter),
    ) -> Result<(MeetNews, SocketAddr), Failure> {
        let mut news = self.visit(endpoint, MeetSide::Listener, reporter).await?;
        loop {
            match self.step(&mut news, reporter).await {
                None => return Err(Failure::new(Exit::Failed, "the endpoint has ended")),
                Some(MeetStep::Waits) => waits(),
                Some(MeetStep::Introduced { seen }) => return Ok((news, seen)),
                // It is introduced first.
                Some(MeetStep::Met { .. }) => {}
                Some(MeetStep::Failed(why)) => return Err(self.failed_waiting(why)),
            }
        }
    }

    /// Finds a caller that was introduced.
    pub(crate) async fn find_caller(
        &self,
        mut news: MeetNews,
        reporter: &Reporter,
    ) -> Result<FoundPeer, Failure> {
        loop {
            match self.step(&mut news, reporter).await {
                None => return Err(Failure::new(Exit::Failed, "the endpoint has ended")),
                Some(MeetStep::Met { peer, at, relayed }) => {
                    return Ok(FoundPeer { peer, at, relayed, news });
                }
                Some(MeetStep::Failed(why)) => return Err(self.failed_waiting(why)),
                Some(MeetStep::Waits | MeetStep::Introduced { .. }) => {}
            }
        }
    }
}
