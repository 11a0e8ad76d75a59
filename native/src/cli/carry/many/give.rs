//! `servent send --to N`.

use std::net::{Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;
use servent::transfer::many::{GiveOptions, Giver, ManyError, Parcel, ReceiverStep};
use servent::transfer::{Offer, OfferError, SecretDoor, TransferCode, refuse, total};
use servent::unicast::{Connection, Endpoint, EndpointOptions};
use servent_core::text::Shown;
use tokio::task::JoinSet;

use super::super::seats::Greetings;
use super::super::tally::{files_beside, incomplete};
use super::super::unicast::{PORT, bind, title};
use super::{failed, parcels, stopped};
use crate::cli::serve::reach;
use crate::config::Settings;
use crate::exit::{Exit, Failure};
use crate::progress::{PackingProgress, Reporter, bytes, count};
use crate::signal::Signals;

/// How long receivers may take to hear that all of them have it.
const GOODBYE: Duration = Duration::from_secs(5);
/// How long the user waits for that after Ctrl-C.
const STOP_WAIT: Duration = Duration::from_millis(600);

/// What is given, and to how many.
pub(crate) struct Giving<'a> {
    pub(crate) offer: Offer,
    pub(crate) receivers: u32,
    /// Where to listen, if not at the usual port.
    pub(crate) listen: Option<SocketAddr>,
    /// Bytes per second that this machine may send; `None`: no limit.
    pub(crate) rate: Option<u64>,
    /// What receivers have to know; shown if it was generated.
    pub(crate) code: Option<TransferCode>,
    pub(crate) made: bool,
    pub(crate) settings: &'a Settings,
    pub(crate) reporter: &'a Reporter,
}

/// Gives until all receivers have it.
pub(crate) async fn give(giving: Giving<'_>, options: EndpointOptions) -> Result<(), Failure> {
    let mut signals = Signals::new()?;
    let (reporter, settings) = (giving.reporter, giving.settings);
    let at = giving.listen.unwrap_or_else(|| (Ipv6Addr::UNSPECIFIED, PORT).into());
    let endpoint = bind(at, options).await?;
    let (title, shown) = (title(giving.offer.entries(), "a stream"), giving.code.clone());
    let (folder, offer) = (parcels(settings), giving.offer);
    let mut progress = PackingProgress::begin(reporter, &title, &offer);
    let packing = tokio::task::spawn_blocking(move || {
        Parcel::pack(&offer, &folder, |now| progress.show(now))
    });
    let parcel = tokio::select! {
        packed = packing => packed.map_err(|e| Failure::new(Exit::Failed, e.to_string()))?,
        () = signals.first() => return Err(stopped(0, giving.receivers)),
    };
    let parcel = parcel.map_err(unpacked)?;
    let (files, size) = total(parcel.entries());
    let lacking = parcel.lacking().to_vec();
    let door = giving.code.map_or_else(SecretDoor::open, SecretDoor::locked);
    let giver = start(parcel, door, (giving.receivers, giving.rate), &endpoint, settings).await?;
    announce(reporter, &endpoint, shown.filter(|_| giving.made), (&title, giving.receivers));
    let given = match serve(&endpoint, &giver, (reporter, giving.receivers), &mut signals).await {
        true => Ok(()),
        false => Err(stopped(giver.have(), giving.receivers)),
    };
    let sent = giver.server().view(0).await.map_or(0, |(view, _)| view.sent);
    let left = match &given {
        Ok(()) => endpoint.shutdown().await,
        Err(_) => endpoint.shutdown_within(STOP_WAIT).await,
    };
    if let Some(giver) = Arc::into_inner(giver) {
        giver.stop().await?;
    }
    given?;
    let fact = json!({
        "event": "sent_all", "name": title, "files": files, "bytes": size,
        "receivers": giving.receivers, "sent": sent,
    });
    let sentence = format!(
        "{} sent to {}: {}{}, the same everywhere; {} of it left this machine",
        Shown(&title),
        count(u64::from(giving.receivers), "receiver"),
        files_beside(&title, files as u64),
        bytes(size.unwrap_or(0)),
        bytes(sent),
    );
    reporter.result(&fact, &sentence);
    left?;
    incomplete(&lacking, (files as u64, at)).map_or(Ok(()), Err)
}

/// Starts the swarm at the same port number, over TCP, or at another one if that
/// is taken.
async fn start(
    parcel: Parcel,
    door: SecretDoor,
    (receivers, upload_rate): (u32, Option<u64>),
    endpoint: &Endpoint,
    settings: &Settings,
) -> Result<Arc<Giver>, Failure> {
    let (swarm, durability) = (settings.swarm.clone(), settings.durability);
    let at = endpoint.local_addr();
    let taken = std::net::TcpListener::bind(at).is_err();
    let listen = if taken { SocketAddr::new(at.ip(), 0) } else { at };
    let options = GiveOptions { receivers, listen, upload_rate, swarm, durability };
    Ok(Arc::new(Giver::start(parcel, door, options).await?))
}

fn announce(
    reporter: &Reporter,
    endpoint: &Endpoint,
    made: Option<TransferCode>,
    (title, receivers): (&str, u32),
) {
    let at = endpoint.local_addr();
    let made = made.map(|code| code.to_string());
    let fact = json!({ "event": "listening", "address": at, "code": made, "name": title });
    let place = reach::place(at, PORT);
    reporter.tell(
        &fact,
        &format!(
            "{} for {}: each runs `servent receive --from {place} -o inbox/`",
            Shown(title),
            count(u64::from(receivers), "receiver"),
        ),
    );
    if let Some(code) = made {
        reporter.show(&format!("the code is {code}: give it to the receivers"));
    }
}

/// Admits receivers until all of them have it; false when the user stops it before.
async fn serve(
    endpoint: &Endpoint,
    giver: &Arc<Giver>,
    (reporter, receivers): (&Reporter, u32),
    signals: &mut Signals,
) -> bool {
    let (mut guests, greetings) = (JoinSet::new(), Arc::<Mutex<Greetings>>::default());
    let all = loop {
        tokio::select! {
            Some(connection) = endpoint.accept() => {
                let mut all = greeted(&greetings);
                let Some(seat) = all.seat(connection.peer()) else {
                    tokio::spawn(refuse(connection, "your address asks too much at once"));
                    continue;
                };
                all.add(seat, |number| {
                    let greeting = (Arc::clone(&greetings), number);
                    let giver = Arc::clone(giver);
                    guests.spawn(guest(connection, (giver, receivers), *reporter, greeting))
                });
            }
            Some(_) = guests.join_next() => {}
            () = giver.all_have_it() => break true,
            () = signals.first() => break false,
        }
    };
    if !all {
        giver.tell_stopped();
    }
    let told = async { while guests.join_next().await.is_some() {} };
    // A receiver that is gone is not missed, and the user does not wait long.
    let _ = tokio::time::timeout(if all { GOODBYE } else { STOP_WAIT }, told).await;
    guests.shutdown().await;
    all
}

fn greeted(greetings: &Mutex<Greetings>) -> MutexGuard<'_, Greetings> {
    greetings.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One connection from its greeting to its end. Until it shows that it knows the code it
/// gives way to others.
async fn guest(
    connection: Connection,
    (giver, receivers): (Arc<Giver>, u32),
    reporter: Reporter,
    (greetings, number): (Arc<Mutex<Greetings>>, u64),
) {
    let peer = connection.peer();
    let mut had = false;
    let how = giver.serve(connection, |step| {
        let (event, sentence) = match step {
            ReceiverStep::Joined => {
                drop(greeted(&greetings).done(number));
                ("joined", format!("{peer} knows the code"))
            }
            ReceiverStep::Agreed => ("agreed", format!("{peer} takes it")),
            ReceiverStep::Has(have) => {
                had = true;
                ("has", format!("{peer} has all of it, {have} of {receivers}"))
            }
        };
        reporter.tell(&json!({ "event": event, "peer": peer, "have": giver.have() }), &sentence);
    });
    let how = how.await;
    drop(greeted(&greetings).done(number));
    match how {
        Ok(()) => {}
        Err(
            why @ (ManyError::WrongCode
            | ManyError::OneCode
            | ManyError::Guesses
            | ManyError::Enough(_)),
        ) => {
            let why = why.to_string();
            let fact = json!({ "event": "turned_away", "from": peer, "why": why });
            reporter.tell(&fact, &format!("{peer} was turned away: {why}"));
        }
        Err(_) if had => {}
        Err(why) => {
            let what = failed(why, peer).to_string();
            reporter.tell(&json!({ "event": "left", "peer": peer, "what": what }), &what);
        }
    }
}

fn unpacked(why: OfferError) -> Failure {
    match why {
        OfferError::Read { path, why } => Failure::file("read", &path, &why),
        OfferError::Write { path, why } => Failure::file("write", &path, &why),
        other => Failure::new(Exit::Disk, other.to_string()),
    }
}
