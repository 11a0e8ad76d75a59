//! The visitors of one that waits at a meeting place: for how many there is room, and a socket
//! for each, because a place relays between two addresses.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use servent::unicast::{Endpoint, EndpointOptions, MeetNews};
use tokio::runtime::Handle as Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};

use super::via::{ViaPlace, bind_any, leave};
use crate::exit::Failure;
use crate::progress::Reporter;

/// Visitors at once.
const VISITORS: usize = 64;
/// Visitors that have not shown the code, and how long each counts. What may be spent on
/// knocks is that of a socket, and each visitor has one: a place that finds out the words of
/// the meeting has us knock at so many addresses, and no more.
const STRANGERS: usize = 20;
const STRANGE_FOR: Duration = Duration::from_secs(60);
/// Visitors whose code is looked at together. Until one has shown that it is right it counts as
/// a wrong guess, and all that are relayed, or behind one router, have five of these: a class
/// that comes at once is looked at one after the other.
const GREETED: usize = 3;
/// How long a visitor that is gone may take to acknowledge that.
pub(crate) const GOODBYE: Duration = Duration::from_secs(2);

/// For how many visitors there is room.
pub(crate) struct VisitorRoom {
    visitors: Arc<Semaphore>,
    strangers: Arc<Semaphore>,
    greeted: Arc<Semaphore>,
}

/// The room of one visitor, until it is dropped.
pub(crate) struct VisitorSeat {
    _visitor: Option<OwnedSemaphorePermit>,
    stranger: Option<OwnedSemaphorePermit>,
    greeted: Arc<Semaphore>,
    /// When the visitor was introduced.
    since: Option<Instant>,
}

impl VisitorRoom {
    pub(crate) fn new() -> Self {
        let [visitors, strangers, greeted] =
            [VISITORS, STRANGERS, GREETED].map(|n| Arc::new(Semaphore::new(n)));
        Self { visitors, strangers, greeted }
    }

    pub(crate) fn is_full(&self) -> bool {
        [&self.visitors, &self.strangers].iter().any(|it| it.available_permits() == 0)
    }

    pub(crate) async fn take(&self) -> VisitorSeat {
        // Neither is ever closed.
        let visitor = Arc::clone(&self.visitors).acquire_owned().await.ok();
        let stranger = Arc::clone(&self.strangers).acquire_owned().await.ok();
        let greeted = Arc::clone(&self.greeted);
        VisitorSeat { _visitor: visitor, stranger, greeted, since: None }
    }
}

impl VisitorSeat {
    /// The visitor was introduced now.
    pub(crate) fn begin(&mut self) {
        self.since = Some(Instant::now());
    }

    /// Waits until the code of this visitor may be looked at. Those that are looked at
    /// together are few.
    pub(crate) async fn greeting(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.greeted).acquire_owned().await.ok() // It is never closed.
    }

    /// It has shown that it knows the code, which the place does not.
    pub(crate) fn is_known(&mut self) {
        self.stranger = None;
    }
}

impl Drop for VisitorSeat {
    fn drop(&mut self) {
        if let Some(stranger) = self.stranger.take()
            && let Some(since) = self.since
            && let Ok(runtime) = Runtime::try_current()
        {
            runtime.spawn(async move {
                sleep_until(since + STRANGE_FOR).await;
                drop(stranger);
            });
        }
    }
}

/// A visitor that was introduced: our socket for it alone.
pub(crate) struct ComingVisitor {
    pub(crate) endpoint: Endpoint,
    pub(crate) place: ViaPlace,
    pub(crate) news: MeetNews,
}

/// Waits at the place for the next visitor, or the end. `waits` is called when the place has
/// given us our seat.
pub(crate) async fn next_visitor(
    place: ViaPlace,
    options: EndpointOptions,
    (reporter, waits): (&Reporter, &impl Fn()),
    end: impl Future,
) -> Result<Option<ComingVisitor>, Failure> {
    let endpoint = bind_any(None, options).await?;
    let waits = || {
        waits();
        reporter.fact(&json!({ "event": "at_place", "place": place.name() }));
    };
    let caller = tokio::select! {
        caller = place.one_caller(&endpoint, (waits, reporter)) => caller,
        _ = end => {
            leave(endpoint, GOODBYE).await;
            return Ok(None);
        }
    };
    match caller {
        Ok(news) => Ok(Some(ComingVisitor { endpoint, place, news })),
        Err(failure) => {
            let _ = endpoint.shutdown_within(GOODBYE).await; // It has nothing to say.
            Err(failure)
        }
    }
}

/// The pause before a place is asked again that does not answer: it doubles up to the longest.
pub(crate) struct PlacePause(Duration);

impl PlacePause {
    const SHORTEST: Duration = Duration::from_secs(2);
    const LONGEST: Duration = Duration::from_secs(60);

    pub(crate) const fn new() -> Self {
        Self(Self::SHORTEST)
    }

    /// Says why no visitor can come, and waits for a pause, or the end.
    pub(crate) async fn after(&mut self, failure: &Failure, reporter: &Reporter, end: impl Future) {
        let fact = json!({ "event": "unmet", "why": failure.what });
        reporter.tell(&fact, &failure.to_string());
        let _ = timeout(self.0, end).await;
        self.0 = (self.0 * 2).min(Self::LONGEST);
    }
}
