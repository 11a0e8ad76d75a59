//! What is shared, for others that cannot reach this machine: they find it through a
//! meeting place, by a link that has a code in it.

mod neighbours;

use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use serde_json::json;
use servent::driver::{Handle, ServentMeeting};
use servent::sys::OwnerOnly as _;
use servent::transfer::{CarriedStreams, SecretDoor, StreamError, TransferCode};
use servent::unicast::{Endpoint, EndpointOptions, Lost, MeetingSecret};
use servent_core::meet::{door_address, visitor_owner};
use servent_core::node::{NodeAnswer, NodeCommand, OverlayCommand};
use tokio::net::TcpStream;
use tokio::sync::broadcast::Receiver;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use self::neighbours::{NeighbourPlaces, tell_none};
use super::link::MeetLink;
use super::via::{
    FoundPeer, StrangerLines, ViaPlace, addresses, check_code, check_place, leave, split,
};
use super::visitors::{ComingVisitor, GOODBYE, PlacePause, VisitorRoom, VisitorSeat, next_visitor};
use crate::cli::carry::code;
use crate::cli::serve::share::told;
use crate::config::Settings;
use crate::exit::Failure;
use crate::progress::{Reporter, Voice};

/// What stands for the meeting place of a neighbour. Its owner hears the code from our
/// hits, as all who search do, so it is trusted as a place is that is named.
pub(crate) const NEIGHBOUR: &str = "neighbour";
/// The file of the code in the state folder: a link stays good when the servent is
/// started again.
const CODE: &str = "meeting-code";
/// How long a visitor may take to say something, and to show that it knows the code.
const HELLO: Duration = Duration::from_secs(10);
/// A place of a neighbour does not work when we had no seat there so many times in a row.
const DEAD: u32 = 2;
/// How long a task may take to see that it is to end.
const LEAVE: Duration = Duration::from_millis(500);

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
    let Some(place) = settings.meet.as_ref().filter(|name| *name != NEIGHBOUR) else {
        return Ok(());
    };
    say_link(voice, (place, &settings.state))
}

/// Prints the link that leads through a place.
fn say_link(voice: Voice, (place, state): (&str, &Path)) -> Result<(), Failure> {
    let code = code_in(state)?;
    check_code(&code)?;
    let link = format!("{}/", MeetLink { place: place.to_owned(), code });
    let fact = json!({ "event": "meeting", "link": link, "place": place });
    told(voice, &fact, &format!("anywhere {link}"))
}

/// The link under which a servent is met that a hit names; `None` for a code that no
/// servent would tell.
pub(crate) fn link(at: SocketAddr, code: &str) -> Option<String> {
    let read = code::read(code, "the code of a hit").ok()?;
    check_code(&read).ok()?;
    Some(MeetLink { place: at.to_string(), code: read }.to_string())
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
    /// Lets others find us, if the settings name a place, or that of a neighbour, which is
    /// used while others cannot connect to us.
    /// `answers`: what the servent has said since it was started.
    pub(crate) fn begin(
        settings: &Settings,
        (handle, answers): (&Handle, Receiver<NodeAnswer>),
        voice: Voice,
    ) -> Option<Self> {
        let (state, handle) = (settings.state.clone(), handle.clone());
        let (room, strangers, visitors) = Default::default();
        let waiting = WaitingServent { state, handle, voice, room, strangers, visitors };
        let (end, ended) = oneshot::channel();
        let ended = ended.shared();
        let task = match settings.meet.clone()? {
            name if name == NEIGHBOUR => tokio::spawn(waiting.meet_at_neighbours(answers, ended)),
            name => tokio::spawn(async move {
                waiting.meet(&name, None, ended).await;
            }),
        };
        Some(Self { end, task })
    }

    /// Leaves its seat at the place: the next servent with this code need not wait until
    /// it is forgotten.
    pub(crate) async fn leave(met: Option<Self>) {
        let Some(Self { end, task }) = met else { return };
        drop(end);
        let _ = timeout(GOODBYE + LEAVE, task).await; // It ends with us.
    }
}

/// One that waits at a place for visitors. How many may come, and be strangers, is counted
/// over all places.
struct WaitingServent {
    state: PathBuf,
    handle: Handle,
    voice: Voice,
    room: VisitorRoom,
    strangers: StrangerLines,
    visitors: AtomicU64,
}

impl WaitingServent {
    /// Lets others find us at the meeting place of a neighbour, as soon as the overlay has found
    /// out that they cannot connect to us (PA-16); at that of another when it does not answer.
    async fn meet_at_neighbours(self, mut answers: Receiver<NodeAnswer>, end: impl Future + Clone) {
        let places = NeighbourPlaces::default();
        let meets = async {
            loop {
                let at = tokio::select! {
                    at = places.change() => at,
                    never = tell_none(&self.handle, self.voice) => match never {},
                    _ = end.clone() => return,
                };
                let name = at.to_string();
                if let Err(failure) = say_link(self.voice, (&name, &self.state)) {
                    tracing::warn!(%failure, "the link of a neighbour's meeting place");
                }
                if !self.meet(&name, Some(&places), end.clone()).await {
                    return;
                }
            }
        };
        tokio::select! {
            () = meets => {}
            () = places.hear(&mut answers) => {}
        }
    }

    /// Lets others find us until the end; or until the place has not answered and there is
    /// another: true.
    async fn meet(
        &self,
        name: &str,
        places: Option<&NeighbourPlaces>,
        end: impl Future + Clone,
    ) -> bool {
        let reporter = Reporter::new(self.voice, false);
        let Self { state, handle, room, visitors, .. } = self;
        let (mut door, mut pause, mut known, mut missed) = (None, PlacePause::new(), false, 0);
        let note =
            |waits, why| handle.note_meeting(ServentMeeting { place: name.to_owned(), waits, why });
        note(false, None);
        loop {
            known = known || tell_overlay((name, state), handle).await.is_ok();
            if room.is_full() {
                note(false, Some(String::from("it has as many visitors as it takes")));
            }
            let mut seat = tokio::select! {
                seat = room.take() => seat,
                _ = end.clone() => return false,
            };
            let waits = || note(true, None);
            let number = visitors.load(Ordering::Relaxed) + 1;
            let place = (name, state.as_path(), number);
            match next(place, &mut door, (&reporter, &waits), end.clone()).await {
                Ok(None) => return false,
                Ok(Some((mut visit, secret))) => {
                    visit.place = visit.place.among(&self.strangers);
                    (pause, missed) = (PlacePause::new(), 0);
                    visitors.store(number, Ordering::Relaxed);
                    seat.begin();
                    tokio::spawn(visitor(visit, (secret, seat), handle.clone(), reporter));
                }
                Err(failure) => {
                    note(false, Some(failure.what.clone()));
                    missed += 1;
                    let others = places.filter(|_| missed >= DEAD);
                    if let Some(places) = others {
                        places.seek(handle).await;
                    }
                    pause.after(&failure, &reporter, end_or_other(end.clone(), others)).await;
                    if others.is_some_and(|it| it.may_change(Instant::now())) {
                        return true;
                    }
                }
            }
        }
    }
}

/// Waits for the end, or until the place of another neighbour may be used.
async fn end_or_other(end: impl Future, others: Option<&NeighbourPlaces>) {
    let other = async {
        match others {
            Some(places) => places.other().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = end => {}
        () = other => {}
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

/// Waits for the next visitor, or the end. The code is read once.
async fn next(
    (name, state, number): (&str, &Path, u64),
    door: &mut Option<MeetingDoor>,
    told: (&Reporter, &impl Fn()),
    end: impl Future,
) -> Result<Option<(ComingVisitor, Arc<SecretDoor>)>, Failure> {
    let (secret, meeting) = match door {
        Some(door) => door.clone(),
        None => {
            let (meeting, rest) = split(&code_in(state)?)?;
            door.insert((Arc::new(SecretDoor::locked(rest)), meeting)).clone()
        }
    };
    let place = ViaPlace::find(name, meeting).await?.of_servent().of_visitor(number);
    let visitor = next_visitor(place, EndpointOptions::default(), told, end).await?;
    Ok(visitor.map(|visitor| (visitor, secret)))
}

/// Finds one visitor, and serves it until it leaves.
async fn visitor(
    ComingVisitor { endpoint, place, news }: ComingVisitor,
    (door, seat): (Arc<SecretDoor>, VisitorSeat),
    handle: Handle,
    reporter: Reporter,
) {
    let served = async {
        match place.find_caller(news, &reporter).await {
            Ok(found) => {
                seat.found(seen(&place, &found));
                serve((&endpoint, found, &place), (&door, &seat), (&handle, &reporter)).await;
            }
            Err(failure) => {
                let fact = json!({ "event": "missed", "why": failure.what });
                place.tell(fact, &format!("did not get through: {failure}"), &reporter);
            }
        }
    };
    tokio::select! {
        () = served => {}
        () = seat.gives_way() => tracing::info!("a visitor without the code gives way to another"),
    }
    leave(endpoint, GOODBYE).await;
}

/// Serves one that was found.
async fn serve(
    (endpoint, found, place): (&Endpoint, FoundPeer, &ViaPlace),
    (door, seat): (&SecretDoor, &VisitorSeat),
    (handle, reporter): (&Handle, &Reporter),
) {
    let from = seen(place, &found);
    let FoundPeer { at, relayed, mut news, .. } = found;
    let name = if relayed { name_through(at) } else { at };
    let turned_away = |why: &str| {
        let fact = json!({ "event": "turned_away", "why": why });
        place.tell(fact, &format!("is not admitted: {why}"), reporter);
    };
    let Ok(Some(connection)) = timeout(HELLO, endpoint.accept()).await else {
        return turned_away("it says nothing");
    };
    let greeted = seat.greeting(from).await;
    let answered = CarriedStreams::answer(connection, (door, visitor_owner(from.ip())));
    let answered = timeout(HELLO, answered).await.unwrap_or(Err(StreamError::Gone(Lost::Idle)));
    drop(greeted);
    match answered {
        Ok(streams) => {
            seat.is_known();
            place.is_known(reporter);
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
        Err(why) => turned_away(&why.to_string()),
    }
}

/// Where a visitor is that was found, or where the place sees it that passes its bytes on: wrong
/// codes count there, and keep no other out.
fn seen(place: &ViaPlace, found: &FoundPeer) -> SocketAddr {
    place.seen().filter(|_| found.relayed).unwrap_or(found.at)
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
