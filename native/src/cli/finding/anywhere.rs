//! What is shared, for others that cannot reach this machine: they find it through a
//! meeting place, by a link that has a code in it.

use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use serde_json::json;
use servent::driver::{Handle, ServentMeeting};
use servent::sys::OwnerOnly as _;
use servent::transfer::{CarriedStreams, SecretDoor, TransferCode};
use servent::unicast::{Endpoint, EndpointOptions, MeetNews, MeetingSecret};
use servent_core::meet::door_address;
use servent_core::node::{NodeCommand, OverlayCommand};
use tokio::net::TcpStream;
use tokio::runtime::Handle as Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use super::via::{FoundPeer, ViaPlace, addresses, bind_any, check_code, check_place, leave, split};
use crate::cli::carry::code;
use crate::cli::serve::share::told;
use crate::config::Settings;
use crate::exit::Failure;
use crate::progress::{Reporter, Voice};

/// What a link for `servent get` begins with.
pub(crate) const SCHEME: &str = "meet://";
/// The file of the code in the state folder: a link stays good when the servent is
/// started again.
const CODE: &str = "meeting-code";
/// Visitors at once.
const VISITORS: usize = 64;
/// How long a visitor may take to say something.
const HELLO: Duration = Duration::from_secs(10);
/// Visitors that have not shown the code, and how long each counts. What may be spent on
/// knocks is that of a socket, and each visitor has one: a place that finds out the words of
/// the meeting has us knock at so many addresses, and no more.
const STRANGERS: usize = 20;
const STRANGE_FOR: Duration = Duration::from_secs(60);
/// Visitors whose code is looked at together. Until one has shown that it is right it counts as
/// a wrong guess, and all that are relayed, or behind one router, have five of these: a class
/// that comes at once is looked at one after the other.
const GREETED: usize = 3;
/// The pause after a place did not answer; it doubles up to the second.
const AGAIN: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));
/// How long a task may take to see that it is to end.
const LEAVE: Duration = Duration::from_millis(500);
/// How long a visitor that is gone may take to acknowledge that.
const GOODBYE: Duration = Duration::from_secs(2);

/// Refuses what cannot be: a caller of a meeting speaks no TLS.
pub(crate) fn check(settings: &Settings, tls: bool) -> Result<(), Failure> {
    match &settings.meet {
        Some(_) if tls => Err(Failure::usage("a meeting place is not for what is shared by https")
            .next("leave one of --meet and --tls out: with --meet everything is encrypted, too")),
        Some(place) => check_place(place),
        None => Ok(()),
    }
}

/// Prints the link, if there is to be one.
pub(crate) fn announce(voice: Voice, settings: &Settings) -> Result<(), Failure> {
    let Some(place) = &settings.meet else { return Ok(()) };
    let code = code_in(&settings.state)?;
    check_code(&code)?;
    let link = format!("{SCHEME}{code}@{place}/");
    let fact = json!({ "event": "meeting", "link": link, "place": place });
    told(voice, &fact, &format!("anywhere {link}"))
}

/// The link under which a servent is met that a hit names; `None` for a code that no
/// servent would tell.
pub(crate) fn link(at: SocketAddr, code: &str) -> Option<String> {
    let read = code::read(code, "the code of a hit").ok()?;
    check_code(&read).ok()?;
    Some(format!("{SCHEME}{code}@{at}"))
}

/// The code of the environment, or else that of the state folder, which is drawn once.
fn code_in(state: &Path) -> Result<TransferCode, Failure> {
    if let Some(code) = code::of_environment()? {
        return Ok(code);
    }
    let file = state.join(CODE);
    match std::fs::read_to_string(&file) {
        Ok(text) => code::read(&text, &file.display().to_string()),
        Err(why) if why.kind() == io::ErrorKind::NotFound => {
            let code = code::random_to_meet()?;
            let options =
                std::fs::OpenOptions::new().write(true).create_new(true).private().open(&file);
            let written = options.and_then(|mut out| writeln!(out, "{code}"));
            written.map_err(|why| Failure::file("write", &file, &why))?;
            Ok(code)
        }
        Err(why) => Err(Failure::file("read", &file, &why)),
    }
}

/// A servent that others find through a meeting place.
pub(crate) struct MetServent {
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl MetServent {
    /// Lets others find us, if the settings name a place.
    pub(crate) fn begin(settings: &Settings, handle: &Handle, voice: Voice) -> Option<Self> {
        let at = (settings.meet.clone()?, settings.state.clone());
        let (end, ended) = oneshot::channel();
        Some(Self { end, task: tokio::spawn(meet(at, handle.clone(), voice, ended)) })
    }

    /// Leaves its seat at the place: the next servent with this code need not wait until
    /// it is forgotten.
    pub(crate) async fn leave(met: Option<Self>) {
        let Some(Self { end, task }) = met else { return };
        drop(end);
        let _ = timeout(GOODBYE + LEAVE, task).await; // It ends with us.
    }
}

/// Lets others find us until the other end of `end` is dropped.
async fn meet(
    (name, state): (String, PathBuf),
    handle: Handle,
    voice: Voice,
    end: oneshot::Receiver<()>,
) {
    let end = end.shared();
    let reporter = Reporter::new(voice, false);
    let room = VisitorRoom::new();
    let (mut door, mut pause, mut known, mut number) = (None, AGAIN.0, false, 1);
    let note = |waits, why| handle.note_meeting(ServentMeeting { place: name.clone(), waits, why });
    note(false, None);
    loop {
        known = known || tell_overlay((&name, &state), &handle).await.is_ok();
        if room.is_full() {
            note(false, Some(String::from("it has as many visitors as it takes")));
        }
        let mut seat = tokio::select! {
            seat = room.take() => seat,
            _ = end.clone() => return,
        };
        let waits = || note(true, None);
        let place = (name.as_str(), state.as_path(), number);
        match next(place, &mut door, (&reporter, &waits), end.clone()).await {
            Ok(None) => return,
            Ok(Some((visit, secret))) => {
                (pause, number) = (AGAIN.0, number + 1);
                seat.since = Some(Instant::now());
                tokio::spawn(visitor(visit, (secret, seat), handle.clone(), reporter));
            }
            Err(failure) => {
                let fact = json!({ "event": "unmet", "why": failure.what });
                note(false, Some(failure.what.clone()));
                reporter.tell(&fact, &failure.to_string());
                let _ = timeout(pause, end.clone()).await;
                pause = (pause * 2).min(AGAIN.1);
            }
        }
    }
}

/// For how many visitors there is room.
struct VisitorRoom {
    visitors: Arc<Semaphore>,
    strangers: Arc<Semaphore>,
    greeted: Arc<Semaphore>,
}

/// The room of one visitor, until it is dropped.
struct VisitorSeat {
    _visitor: Option<OwnedSemaphorePermit>,
    stranger: Option<OwnedSemaphorePermit>,
    greeted: Arc<Semaphore>,
    /// When the visitor was introduced.
    since: Option<Instant>,
}

impl VisitorRoom {
    fn new() -> Self {
        let [visitors, strangers, greeted] =
            [VISITORS, STRANGERS, GREETED].map(|n| Arc::new(Semaphore::new(n)));
        Self { visitors, strangers, greeted }
    }

    fn is_full(&self) -> bool {
        [&self.visitors, &self.strangers].iter().any(|it| it.available_permits() == 0)
    }

    async fn take(&self) -> VisitorSeat {
        // Neither is ever closed.
        let visitor = Arc::clone(&self.visitors).acquire_owned().await.ok();
        let stranger = Arc::clone(&self.strangers).acquire_owned().await.ok();
        let greeted = Arc::clone(&self.greeted);
        VisitorSeat { _visitor: visitor, stranger, greeted, since: None }
    }
}

impl VisitorSeat {
    /// It has shown that it knows the code, which the place does not.
    fn is_known(&mut self) {
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

/// Has our hits say where we are met, while others cannot connect to us. A code that the
/// user chose is not told to others.
async fn tell_overlay((name, state): (&str, &Path), handle: &Handle) -> Result<(), Failure> {
    if code::of_environment()?.is_some() {
        return Ok(());
    }
    let (places, code) = (addresses(name).await?, code_in(state)?.to_string());
    let Some(at) = places.iter().find(|at| at.is_ipv4()).or(places.first()).copied() else {
        return Ok(());
    };
    let meets = NodeCommand::Overlay(OverlayCommand::Meets { at, code });
    handle.command(meets).await.map_err(Failure::from)
}

/// What all visits have in common: who is admitted, and the meeting.
type MeetingDoor = (Arc<SecretDoor>, MeetingSecret);

/// A visitor that was introduced: our socket for it alone, because a place relays between two
/// addresses.
struct ComingVisitor {
    endpoint: Endpoint,
    place: ViaPlace,
    news: MeetNews,
}

/// Waits for the next visitor, or the end. The code is read once.
async fn next(
    (name, state, number): (&str, &Path, u64),
    door: &mut Option<MeetingDoor>,
    (reporter, waits): (&Reporter, &impl Fn()),
    end: impl Future,
) -> Result<Option<(ComingVisitor, Arc<SecretDoor>)>, Failure> {
    let (secret, meeting) = match door {
        Some(door) => door.clone(),
        None => {
            let (meeting, rest) = split(&code_in(state)?)?;
            door.insert((Arc::new(SecretDoor::locked(rest)), meeting)).clone()
        }
    };
    let place = ViaPlace::find(name, meeting).await?.in_turn().of_visitor(number);
    let endpoint = bind_any(None, EndpointOptions::default()).await?;
    let waits = || {
        waits();
        reporter.fact(&json!({ "event": "at_place", "place": name }));
    };
    let caller = tokio::select! {
        caller = place.one_caller(&endpoint, (waits, reporter)) => caller,
        _ = end => {
            leave(endpoint, GOODBYE).await;
            return Ok(None);
        }
    };
    match caller {
        Ok(news) => Ok(Some((ComingVisitor { endpoint, place, news }, secret))),
        Err(failure) => {
            let _ = endpoint.shutdown_within(GOODBYE).await; // It has nothing to say.
            Err(failure)
        }
    }
}

/// Finds one visitor, and serves it until it leaves.
async fn visitor(
    ComingVisitor { endpoint, place, news }: ComingVisitor,
    (door, seat): (Arc<SecretDoor>, VisitorSeat),
    handle: Handle,
    reporter: Reporter,
) {
    match place.find_caller(news, &reporter).await {
        Ok(found) => serve((&endpoint, found, &place), (&door, seat), (&handle, &reporter)).await,
        Err(failure) => {
            let fact = json!({ "event": "missed", "why": failure.what });
            reporter.tell(&fact, &format!("a visitor did not get through: {failure}"));
        }
    }
    leave(endpoint, GOODBYE).await;
}

/// Serves one that was found.
async fn serve(
    (endpoint, found, place): (&Endpoint, FoundPeer, &ViaPlace),
    (door, mut seat): (&SecretDoor, VisitorSeat),
    (handle, reporter): (&Handle, &Reporter),
) {
    let FoundPeer { at, relayed, mut news, .. } = found;
    let name = if relayed { name_through(at) } else { at };
    let Ok(Some(connection)) = timeout(HELLO, endpoint.accept()).await else { return };
    let greeted = seat.greeted.acquire().await;
    let answered = CarriedStreams::answer(connection, door).await;
    drop(greeted);
    match answered {
        Ok(streams) => {
            seat.is_known();
            let admit = |stream: TcpStream| admit(handle, stream, name);
            let follow = async {
                if relayed {
                    place.tell_moves(&mut news, reporter).await;
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                why = streams.run(Some(&admit)) => {
                    tracing::debug!(%name, %why, "a visitor has left");
                }
                () = follow => {}
            }
        }
        Err(why) => tracing::info!(%name, %why, "a visitor is not admitted"),
    }
}

/// What a visitor is called whose bytes pass through the place: an address that no host
/// has (RFC 3849), so that none is dialed for it, and from as far away as can be, so
/// that it can name no address of our network. One place is one owner.
fn name_through(place: SocketAddr) -> SocketAddr {
    const PREFIX: u128 = 0x2001_0db8;
    let IpAddr::V6(ip) = door_address(place).ip() else { return place };
    let bits = ip.to_bits() & (u128::MAX >> 32) | PREFIX << 96;
    SocketAddr::new(Ipv6Addr::from_bits(bits).into(), place.port())
}

fn admit(handle: &Handle, stream: TcpStream, name: SocketAddr) {
    let handle = handle.clone();
    tokio::spawn(async move { handle.admit(stream, name).await });
}

#[cfg(test)]
mod tests {
    use servent_core::address::{may_dial, owner};

    use super::*;

    #[test]
    fn a_visitor_through_the_place_names_no_address_of_our_network() {
        for place in ["192.168.1.9:6349", "192.0.2.1:6349", "[2001:db8:7::1]:6349"] {
            let name = name_through(place.parse().unwrap());
            for near in ["192.168.1.5:8080", "127.0.0.1:8080", "[fd00::1]:8080"] {
                assert!(!may_dial(near.parse().unwrap(), name.ip()), "{name} names {near}");
            }
        }
        let owner = |place: &str| owner(name_through(place.parse().unwrap()).ip());
        assert_eq!(owner("192.0.2.1:6349"), owner("192.0.2.1:7000"));
        assert_ne!(owner("192.0.2.1:6349"), owner("192.0.2.2:6349"));
    }
}
