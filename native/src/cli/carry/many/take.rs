//! `servent receive --from`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use data_encoding::HEXLOWER;
use serde_json::json;
use servent::Clock;
use servent::swarm::{Fetch, SwarmProgress};
use servent::sys::is_closed_pipe;
use servent::transfer::many::{Guest, ManyError, ReceiverPlace, join};
use servent::transfer::{
    InboxPlace, Lacking, Quota, TransferCode, TransferInbox, TransferProgress, total,
};
use servent::unicast::EndpointOptions;
use servent_core::text::Shown;

use super::super::offered::{NoRoom, not_taken, offered, room};
use super::super::tally::{files_beside, incomplete, lacking_fact};
use super::super::unicast::title;
use super::{failed, parcels};
use crate::cli::ask::Person;
use crate::cli::finding::dial::{bind_for, resolve};
use crate::config::Settings;
use crate::exit::{Exit, Failure};
use crate::progress::{Reporter, StreamProgress, bytes, length, per_second, rate};
use crate::signal::Signals;

/// How long to wait for a sender that is gone to come again; as long as a sender waits
/// for its receiver.
const COME_AGAIN: Duration = Duration::from_secs(60);
/// How long to wait between two attempts to join it.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// How often progress is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long to wait until the sender has heard that we stop.
const GOODBYE: Duration = Duration::from_millis(400);

/// Where it goes, and who is asked.
pub(crate) struct Taking<'a> {
    pub(crate) place: InboxPlace,
    pub(crate) quota: Option<Arc<Quota>>,
    pub(crate) person: Option<Person>,
    pub(crate) settings: &'a Settings,
    pub(crate) reporter: &'a Reporter,
}

/// Joins a sender, takes everything, and passes it on until all have it.
pub(crate) async fn take(
    from: &str,
    code: Option<&TransferCode>,
    taking: Taking<'_>,
    options: EndpointOptions,
) -> Result<(), Failure> {
    let mut signals = Signals::new()?;
    let state = parcels(taking.settings);
    let place = ReceiverPlace::take(&state).map_err(|e| Failure::file("write", &state, &e))?;
    let sought = SoughtSender { from, code, place: &place, options: &options };
    let (clock, mut so_far, mut away_since) = (Clock::new(), TakenSoFar::default(), None);
    loop {
        let failure = match taking.once(&sought, &mut so_far, &mut signals).await {
            Ok(()) => return Ok(()),
            // It was there, and may be started again.
            Err(failure) if failure.exit == Exit::Network && so_far.was_there => failure,
            Err(failure) => return Err(failure),
        };
        if std::mem::take(&mut so_far.joined) {
            away_since = None;
        }
        let news = away_since.is_none();
        let since = *away_since.get_or_insert(clock.now());
        if clock.now().since(since).as_secs() >= COME_AGAIN.as_secs() {
            return Err(failure);
        }
        if news {
            taking.say_waiting(&failure);
        }
        tokio::select! {
            () = tokio::time::sleep(AGAIN_AFTER) => {}
            () = signals.first() => return Err(stopped_before_the_end()),
        }
    }
}

/// The sender that is joined, and what it takes.
struct SoughtSender<'a> {
    from: &'a str,
    code: Option<&'a TransferCode>,
    place: &'a ReceiverPlace,
    options: &'a EndpointOptions,
}

/// What has come of joining it so far.
#[derive(Default)]
struct TakenSoFar {
    /// It has admitted us at least once.
    was_there: bool,
    /// It has admitted us in the last attempt.
    joined: bool,
    /// The folder of the parcel that the user agreed to.
    agreed: Option<PathBuf>,
}

fn stopped_before_the_end() -> Failure {
    Failure::new(Exit::Interrupted, "stopped before all of it was here")
        .next("run the same command again: only what is missing travels")
}

impl Taking<'_> {
    /// True where another program reads what comes.
    const fn is_stream(&self) -> bool {
        matches!(self.place, InboxPlace::Output | InboxPlace::Device(_))
    }

    fn say_waiting(&self, trouble: &Failure) {
        let fact = json!({ "event": "waiting", "why": trouble.what });
        let (what, most) = (&trouble.what, length(COME_AGAIN.as_secs()));
        let wait = "waiting for the sender to be started again with the same code, at most";
        self.reporter.tell(&fact, &format!("{what}\n{wait} {most}; Ctrl-C ends that"));
    }

    /// Joins the sender once, and takes what is missing.
    async fn once(
        &self,
        sought: &SoughtSender<'_>,
        so_far: &mut TakenSoFar,
        signals: &mut Signals,
    ) -> Result<(), Failure> {
        let stopped = || Failure::new(Exit::Interrupted, "stopped before anything was offered");
        let peer = tokio::select! {
            peer = resolve(sought.from, sought.options) => peer?,
            () = signals.first() => return Err(stopped()),
        };
        let endpoint = bind_for(peer, None, sought.options.clone()).await?;
        let connection =
            endpoint.connect(peer).map_err(|e| Failure::new(Exit::Network, e.to_string()))?;
        let guest = tokio::select! {
            joined = join(connection, sought.code, sought.place) => {
                joined.map_err(|why| failed(why, peer))?
            }
            () = signals.first() => return Err(stopped()),
        };
        (so_far.was_there, so_far.joined) = (true, true);
        let mut had = None;
        let outcome = tokio::select! {
            outcome = self.all(&guest, &mut so_far.agreed, &mut had) => outcome,
            () = signals.first() => Err(stopped_before_the_end()),
        };
        if let Some(blocked) = had {
            let folder = guest.folder();
            if let Err(why) = std::fs::remove_dir_all(folder) {
                tracing::warn!(folder = %folder.display(), %why, "a parcel stays");
            }
            endpoint.shutdown().await?; // A sender that is gone now was done with us.
            let files = (total(guest.entries()).0 - blocked.len()) as u64;
            let lacking = [guest.lacking(), &blocked].concat();
            return incomplete(&lacking, (files, peer)).map_or(Ok(()), Err);
        }
        if let Err(failure) = &outcome {
            let why = match failure.exit {
                Exit::Interrupted => "the receiver was stopped",
                Exit::Disk => "the receiver cannot write it",
                _ => "the receiver does not take it",
            };
            // The sender may be gone.
            let _ = tokio::time::timeout(GOODBYE, guest.refuse(why)).await;
        }
        outcome
    }

    /// `had` is set once everything is stored: to what could not get its name.
    async fn all(
        &self,
        guest: &Guest,
        agreed: &mut Option<PathBuf>,
        had: &mut Option<Vec<Lacking>>,
    ) -> Result<(), Failure> {
        let (peer, title) = (guest.peer(), title(guest.entries(), "a stream"));
        let inbox =
            TransferInbox::new(self.place.clone(), Arc::default()).limited(self.quota.clone());
        if let Err(why) = inbox.suits(guest.entries()) {
            return Err(Failure::new(
                Exit::Failed,
                format!("nothing was taken of {}: {}", Shown(&title), Shown(&why)),
            ));
        }
        let inbox = self.fits(inbox, guest, &title).await?;
        if agreed.as_deref() != Some(guest.folder()) {
            self.agreed(guest, &title).await?;
            *agreed = Some(guest.folder().to_owned());
        }
        let clock = Clock::new();
        let begun = clock.now();
        let (files, size) = total(guest.entries());
        self.reporter.tell(
            &json!({ "event": "receiving", "name": title, "files": files, "from": peer, "bytes": size }),
            &format!("receiving {} from {peer}", Shown(&title)),
        );
        let mut fetch =
            guest.fetch(self.settings.durability).await.map_err(|why| failed(why, peer))?;
        let last = tokio::select! {
            last = self.fetched(fetch.as_mut(), &title) => last,
            why = gone(guest) => Err(failed(why, peer)),
        };
        let last = match (last, &mut fetch) {
            (Ok(last), _) => last,
            (Err(failure), fetch) => {
                // Its folder is needed again if the sender comes again.
                if let Some(fetch) = fetch {
                    fetch.stop().await;
                    let _ = tokio::time::timeout(GOODBYE, fetch.ended()).await;
                }
                return Err(failure);
            }
        };
        let Some((carried, blocked)) = self.unpacked(guest, inbox).await? else {
            // As any tool does whose reader has what it wants.
            *had = Some(Vec::new());
            return guest.has_it().await.map_err(|why| failed(why, peer));
        };
        guest.has_it().await.map_err(|why| failed(why, peer))?;
        let files = files - blocked.len();
        *had = Some(blocked);
        self.tell(&title, peer, (files, carried), &last, clock.now().since(begun));
        self.pass_on(guest, fetch).await;
        Ok(())
    }

    /// Takes the parcel apart: how many bytes were carried, and what could not get its
    /// name. `None`: the program that reads the bytes wants no more of them.
    async fn unpacked(
        &self,
        guest: &Guest,
        inbox: TransferInbox,
    ) -> Result<Option<(u64, Vec<Lacking>)>, Failure> {
        let (peer, mut carried, mut blocked) = (guest.peer(), 0, Vec::new());
        let unpacking = guest.unpack(inbox, |told| match told {
            TransferProgress::There(file) => {
                carried += file.carried;
                let name = file.file.map(|path| path.display().to_string());
                self.reporter.fact(&json!({
                    "event": "received", "name": name, "bytes": file.length,
                    "carried": file.carried, "blake3": HEXLOWER.encode(&file.sum),
                }));
            }
            TransferProgress::Lacks(file) => {
                self.reporter.fact(&lacking_fact(&file, Some(peer)));
                blocked.push(file);
            }
            TransferProgress::Known
            | TransferProgress::Numbered(_)
            | TransferProgress::Offered
            | TransferProgress::Accepted
            | TransferProgress::Begun { .. }
            | TransferProgress::Bytes { .. } => {}
        });
        let unpacked = tokio::select! {
            unpacked = unpacking => unpacked,
            why = gone(guest) => Err(why),
        };
        match unpacked {
            Err(ManyError::Write(why)) if self.is_stream() && is_closed_pipe(&why) => Ok(None),
            unpacked => {
                unpacked.map_err(|why| failed(why, peer)).map(|()| Some((carried, blocked)))
            }
        }
    }

    /// Refuses what the disk, or the folder by its limit, has no room for. The parcel
    /// needs room beside its files.
    async fn fits(
        &self,
        inbox: TransferInbox,
        guest: &Guest,
        title: &str,
    ) -> Result<TransferInbox, Failure> {
        let (entries, quota) = (guest.entries().to_vec(), self.quota.clone());
        let parcels =
            TransferInbox::new(InboxPlace::Folder(parcels(self.settings)), Arc::default());
        let looking = tokio::task::spawn_blocking(move || {
            let here = room(&inbox, quota.as_deref(), &entries);
            let room = here.and_then(|()| room(&parcels, None, &entries));
            (inbox, room)
        });
        let (inbox, room) = looking.await.map_err(|e| Failure::new(Exit::Failed, e.to_string()))?;
        let Err(NoRoom { why, next }) = room else { return Ok(inbox) };
        let what = not_taken(title, guest.peer(), &format!(": {why}"));
        Err(Failure::new(Exit::Disk, what).next(next))
    }

    /// Shows what is offered and asks the user, if there is one to ask.
    async fn agreed(&self, guest: &Guest, title: &str) -> Result<(), Failure> {
        let peer = guest.peer();
        let not = |exit, why: &str| Err(Failure::new(exit, not_taken(title, peer, why)));
        let Some(person) = &self.person else { return Ok(()) };
        let question = format!("{}take it?", offered(guest.entries(), peer));
        tokio::select! {
            agrees = person.agrees(&question) => match agrees {
                Some(true) => Ok(()),
                Some(false) => not(Exit::Failed, ""),
                None => not(Exit::Failed, ": the question was not answered, and nothing was written"),
            },
            why = gone(guest) => {
                let why = failed(why, peer);
                not(why.exit, &format!(": {}", Shown(&why.what)))
            }
        }
    }

    /// Waits until the parcel is here.
    async fn fetched(
        &self,
        fetch: Option<&mut Fetch>,
        title: &str,
    ) -> Result<SwarmProgress, Failure> {
        let Some(fetch) = fetch else { return Ok(SwarmProgress::default()) };
        let progress = fetch.progress();
        let mut tick = tokio::time::interval(LOOK_EVERY);
        let mut bar: Option<StreamProgress> = None;
        let last = loop {
            tokio::select! {
                ended = fetch.ended() => break ended?,
                _ = tick.tick() => {}
            }
            let now = progress.borrow().clone();
            let here = now.size * u64::from(now.held) / u64::from(now.pieces.max(1));
            if now.size > 0 {
                let bar = bar.get_or_insert_with(|| {
                    let mut bar = StreamProgress::new(self.reporter, title, Some(now.size));
                    bar.skip(here);
                    bar
                });
                bar.show(here);
            }
            if now.done.is_some() {
                break now;
            }
        };
        if let Some(bar) = bar {
            bar.finish();
        }
        Ok(last)
    }

    fn tell(
        &self,
        title: &str,
        peer: SocketAddr,
        (files, carried): (usize, u64),
        last: &SwarmProgress,
        took: servent_core::time::Duration,
    ) {
        let speed = per_second(last.from_source + last.from_peers, took);
        let fact = json!({
            "event": "received_all", "name": title, "files": files, "peer": peer,
            "carried": carried, "from_sender": last.from_source, "from_others": last.from_peers,
            "rate": speed,
        });
        let mut sentence = format!(
            "{} received from {peer}: {}{}, the same on both sides",
            Shown(title),
            files_beside(title, files as u64),
            bytes(carried),
        );
        if last.from_source + last.from_peers > 0 {
            sentence.push_str(&format!(
                "\n  {} of it came from other receivers, {}",
                bytes(last.from_peers),
                rate(speed)
            ));
        }
        self.reporter.result(&fact, &sentence);
    }

    /// Passes pieces on until all have them, or the sender is gone.
    async fn pass_on(&self, guest: &Guest, fetch: Option<Fetch>) {
        if fetch.is_some() {
            let fact = json!({ "event": "passing_on" });
            self.reporter.tell(&fact, "passing it on until all have it; Ctrl-C ends that");
        }
        let _ = guest.done().await; // Either way no receiver needs us any more.
        if let Some(mut fetch) = fetch {
            fetch.stop().await;
            let _ = fetch.ended().await; // Everything is stored already.
        }
    }
}

/// Returns when the sender ends it before we have everything.
async fn gone(guest: &Guest) -> ManyError {
    match guest.done().await {
        Ok(()) => ManyError::Foreign, // We do not have it yet.
        Err(why) => why,
    }
}
