//! The way to a servent behind a link: it is met when downloads need it, and sought again
//! while it is silent.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::json;
use servent::transfer::{CarriedStreams, StreamError, TransferCode};
use servent::unicast::{Endpoint, EndpointOptions, Lost, MeetNews};
use servent::{Proxies, SourceRoute, route_address};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, Notify};
use tokio::task::AbortHandle;

use crate::cli::carry::other_side::OtherSide;
use crate::cli::carry::silence::{find_again, leave_seat};
use crate::cli::finding::link::MeetLink;
use crate::cli::finding::via::{FoundPeer, ViaPlace, bind_any, leave, split};
use crate::exit::{Exit, Failure};
use crate::progress::{Reporter, Voice};

/// How long other visitors may have their turn before us: a class that types one link.
const PATIENCE: Duration = Duration::from_secs(300);
/// How long it may take to hear that we leave.
const GOODBYE: Duration = Duration::from_secs(2);

/// The way to the servent behind the links.
pub(super) struct MeetRoute {
    finder: ServentFinder,
    reached: Arc<Mutex<Option<ReachedServent>>>,
    /// It is not needed any more.
    over: AtomicBool,
    leaves: Notify,
}

/// A servent that has met us.
struct ReachedServent {
    streams: Arc<CarriedStreams>,
    endpoint: Endpoint,
    running: AbortHandle,
}

/// A connection to the servent, and what becomes of its path.
struct ServentLine {
    streams: Arc<CarriedStreams>,
    news: MeetNews,
}

/// Finds the servent at its place, and shows it the code.
#[derive(Clone)]
struct ServentFinder {
    place: ViaPlace,
    code: TransferCode,
    reporter: Reporter,
}

impl MeetRoute {
    /// The way that leads there, which downloads know from then on.
    pub(super) async fn new(
        link: MeetLink,
        proxies: &Proxies,
        voice: Voice,
    ) -> Result<Arc<Self>, Failure> {
        let (meeting, code) = split(&link.code)?;
        let place = ViaPlace::find(&link.place, meeting).await?.of_servent();
        let finder = ServentFinder { place, code, reporter: Reporter::new(voice, false) };
        let (over, leaves) = (AtomicBool::new(false), Notify::new());
        let route = Arc::new(Self { finder, reached: Arc::default(), over, leaves });
        proxies.learn_route(route_address(meeting.meeting), Arc::clone(&route) as _);
        Ok(route)
    }

    /// Finds the servent before downloads begin.
    pub(super) async fn open_now(&self) -> Result<(), Failure> {
        *self.reached.lock().await = Some(self.reach().await?);
        Ok(())
    }

    /// Finds the servent while downloads begin at other sources.
    pub(super) async fn begin(self: Arc<Self>, voice: Voice) {
        let mut reached = self.reached.lock().await;
        match self.reach().await {
            Ok(servent) => *reached = Some(servent),
            Err(_) if self.over.load(Ordering::Relaxed) => {}
            Err(failure) => {
                let fact = json!({ "event": "unmet", "why": failure.what });
                voice.note(&fact, &failure.to_string());
            }
        }
    }

    async fn reach(&self) -> Result<ReachedServent, Failure> {
        let endpoint = bind_any(None, EndpointOptions::default()).await?;
        let met = tokio::select! {
            met = self.finder.call(&endpoint) => met,
            () = self.leaves.notified() => Err(Failure::new(Exit::Network, "not needed any more")),
        };
        match met {
            Ok(line) => {
                let streams = Arc::clone(&line.streams);
                let running = tokio::spawn(keep(self.finder.clone(), line, self.reached.clone()));
                Ok(ReachedServent { streams, endpoint, running: running.abort_handle() })
            }
            Err(failure) => {
                leave(endpoint, GOODBYE).await;
                Err(failure)
            }
        }
    }

    /// One more connection; the servent is found again if it was lost.
    async fn connect(&self) -> io::Result<TcpStream> {
        let mut reached = self.reached.lock().await;
        let over = reached.take_if(|it| it.streams.is_over());
        if let Some(gone) = over {
            let _ = gone.endpoint.shutdown_within(GOODBYE).await; // It is gone.
        }
        let servent = match &mut *reached {
            Some(servent) => servent,
            none => {
                let found = self.reach().await;
                none.insert(found.map_err(|failure| io::Error::other(failure.to_string()))?)
            }
        };
        let streams = Arc::clone(&servent.streams);
        drop(reached);
        streams.open().await
    }

    /// Says goodbye.
    pub(super) async fn leave(&self) {
        self.over.store(true, Ordering::Relaxed);
        self.leaves.notify_one();
        let Some(servent) = self.reached.lock().await.take() else { return };
        servent.running.abort();
        servent.streams.leave().await;
        leave(servent.endpoint, GOODBYE).await;
    }
}

impl SourceRoute for MeetRoute {
    fn open(&self) -> BoxFuture<'_, io::Result<TcpStream>> {
        self.connect().boxed()
    }
}

impl ServentFinder {
    async fn call(&self, endpoint: &Endpoint) -> Result<ServentLine, Failure> {
        let found = self.place.call(endpoint, Some(PATIENCE), &self.reporter).await?;
        self.greet(endpoint, found).await
    }

    /// Shows the code to the servent that was found.
    async fn greet(&self, endpoint: &Endpoint, found: FoundPeer) -> Result<ServentLine, Failure> {
        let FoundPeer { peer, news, .. } = found;
        let connection =
            endpoint.connect(peer).map_err(|why| Failure::new(Exit::Network, why.to_string()))?;
        let streams = CarriedStreams::call(connection, &self.code)
            .await
            .map_err(|why| refused(why, self.place.name()))?;
        Ok(ServentLine { streams, news })
    }

    /// Seeks the servent at its place whenever it is silent, until it is met there again: a
    /// place that was started again relays nothing of what it relayed before.
    async fn find_again(
        &self,
        silent: &CarriedStreams,
        seat: &mut Option<Endpoint>,
    ) -> (Endpoint, ServentLine) {
        let relay = self.place.relay();
        let other = || OtherSide::new("the servent", silent.whereabouts().now(), Some(&relay));
        let bind = async || bind_any(None, EndpointOptions::default()).await;
        loop {
            let sought = (&self.place, silent.silence());
            let (endpoint, found) =
                find_again(sought, bind, other, (&mut *seat, &self.reporter)).await;
            match self.greet(&endpoint, found).await {
                Ok(line) => return (endpoint, line),
                Err(why) => {
                    tracing::debug!(%why, "the servent that was found again");
                    leave(endpoint, GOODBYE).await;
                }
            }
        }
    }

    /// Says why nothing comes through the place any more; downloads know only that their
    /// connections have ended.
    fn say_parted(&self, why: StreamError) {
        let place = self.place.name();
        let what = match why {
            StreamError::Gone(Lost::PlaceEnds) => {
                format!(
                    "the meeting place {place} is being shut down, and passes nothing on any more"
                )
            }
            StreamError::Gone(Lost::Left) => format!("the servent has left the meeting at {place}"),
            why => return tracing::debug!(%why, "the servent is gone"),
        };
        self.reporter.tell(&json!({ "event": "unmet", "why": what }), &what);
    }

    /// Says where the path leads, whenever it changes.
    async fn tell_moves(&self, news: &mut MeetNews) {
        self.place.tell_moves(news, &self.reporter).await;
        std::future::pending::<()>().await;
    }
}

/// Moves the bytes of a connection until it ends. A servent that is silent is sought meanwhile;
/// one that is met again is `reached` anew, and downloads go on there.
async fn keep(
    finder: ServentFinder,
    line: ServentLine,
    reached: Arc<Mutex<Option<ReachedServent>>>,
) {
    let ServentLine { mut streams, mut news } = line;
    let mut seat = None;
    loop {
        let (endpoint, line) = tokio::select! {
            why = streams.run(None) => {
                finder.say_parted(why);
                break;
            }
            () = finder.tell_moves(&mut news) => break,
            found = finder.find_again(&streams, &mut seat) => found,
        };
        let mut reached = reached.lock().await;
        let Some(servent) = &mut *reached else { break };
        servent.streams = Arc::clone(&line.streams);
        let silent = std::mem::replace(&mut servent.endpoint, endpoint);
        let before = std::mem::replace(&mut streams, line.streams);
        news = line.news;
        tokio::spawn(async move {
            before.leave().await; // What downloads have under way there is broken off.
            let _ = silent.shutdown_within(GOODBYE).await; // It may be gone.
        });
    }
    leave_seat(seat).await;
}

/// Why a servent that was found serves us nothing.
fn refused(why: StreamError, place: &str) -> Failure {
    let (exit, next) = match why {
        StreamError::WrongCode => {
            (Exit::Refused, "check the link: `servent share --meet` prints it whenever it starts")
        }
        StreamError::Foreign => (
            Exit::Network,
            "a link that `servent send --to N --via` prints is for `servent receive --from`; \
             otherwise use the same version of servent on both sides",
        ),
        StreamError::Gone(_) | StreamError::Refused(_) => {
            (Exit::Network, "look whether it runs there; the same command tries again")
        }
        _ => (Exit::Network, "the same command tries again"),
    };
    Failure::new(exit, format!("the servent behind {place}: {why}")).next(next)
}
