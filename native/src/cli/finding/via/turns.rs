//! The listener of many visitors, of which each has a visit of its own, and one of these that
//! is sent something.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use servent::unicast::{Endpoint, MeetNews};
use servent_core::meet::MeetSide;
use tokio::time::{Instant, sleep, sleep_until};

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
        let (mut met, mut nothing) = (false, 0);
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
                Err(NotMet { failure, .. }) if !met || failure.exit == Exit::Refused => {
                    return failure;
                }
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
        let (mut told, mut until, mut sent) = (false, Instant::now() + BEGINS, false);
        loop {
            tokio::select! {
                _ = self.tell_moves(news, reporter), if !told => told = true,
                () = callers.done.notified() => return true,
                () = sleep_until(until) => {
                    if !(callers.busy)(true) {
                        return sent;
                    }
                    sent = true;
                    until = Instant::now() + LOOK_AGAIN;
                }
            }
        }
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
