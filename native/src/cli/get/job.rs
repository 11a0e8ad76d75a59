//! One download of `servent get`: a separate servent that runs until the file
//! is complete.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use data_encoding::HEXLOWER;
use servent::driver::{Driver, Handle, ServentOptions};
use servent::error::{StartError, StoreFailure};
use servent::sys::rename_new;
use servent::{CertificatePin, Credentials, DamagedState, Proxies, Rate, process_of_state};
use servent_core::fetch::{self, FetchFailure};
use servent_core::id::{FetchId, Sha1};
use servent_core::node::{DownloadSource, FetchCommand, Get, NodeAnswer, NodeCommand};
use servent_core::wire::http::{BodyEncoding, HttpDate};
use sha1::Digest as _;
use tokio::sync::broadcast::error::RecvError;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::BroadcastStream;

use super::NO_FOLDER;
use super::decode::decode;
use super::folder::Folder;
use super::leave;
use super::lists::links::Base;
use super::push::Pushing;
use super::so_far::{FetchSoFar, alone};
use super::source::{RequestedFile, SourceAddress};
use super::stdout::{OrderedOutput, Pour, PourEnd};
use super::there::{self, ThereVerdict};
use super::troubles;
use crate::cli::control::ControlServer;
use crate::cli::start::make;
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::lab::{Hub, Live, PageOrigin, Readers, Traces};
use crate::progress::{Bars, FetchProgress, Voice};
use crate::signal::Signals;

/// What to download.
pub(super) struct DownloadJob {
    pub(super) wanted: RequestedFile,
    /// The file to create.
    pub(super) file: PathBuf,
    /// The file that is there already; this one is only for another version.
    pub(super) there: Option<PathBuf>,
    /// The user named no file: it gets the name that its source gives it.
    pub(super) takes_name: bool,
    /// A temporary folder, kept until the bytes are written in order.
    pub(super) spool: Option<tempfile::TempDir>,
    /// Where they are written in order then.
    pub(super) ordered: Option<OrderedOutput>,
    pub(super) listen: Option<SocketAddr>,
    pub(super) way: JobOptions,
    pub(super) damaged: DamagedState,
    pub(super) voice: Voice,
}

/// Options shared by all downloads of one command.
#[derive(Debug, Clone)]
pub(super) struct JobOptions {
    /// Certificates to trust instead of the system's.
    pub(super) ca_file: Option<PathBuf>,
    /// Certificates by which servers are trusted, and no others.
    pub(super) pins: Vec<CertificatePin>,
    /// Credentials for servers that require them.
    pub(super) credentials: Option<Credentials>,
    /// The proxies of the web.
    pub(super) proxies: Proxies,
    /// Rate limit of all of them together.
    pub(super) rate: Option<Rate>,
}

/// A download that succeeded.
pub(super) struct Whole {
    pub(super) fetch: FetchId,
    /// The size of the file in bytes.
    pub(super) size: u64,
    /// How many of them came now, and were not there when it began.
    pub(super) came: u64,
    pub(super) sha1: Option<Sha1>,
    /// Something better than overlapping bytes says that all of it is of one version.
    pub(super) vouched: bool,
    /// The name that its source gives it.
    pub(super) named: Option<String>,
}

impl Whole {
    /// A file that came encoded is decoded, and has no hash that the user named.
    pub(super) fn decoded(
        self,
        handle: &Handle,
        encoding: Option<BodyEncoding>,
    ) -> Result<Self, Failure> {
        match (encoding, handle.path_of(self.fetch)) {
            (Some(encoding), Some(file)) => {
                let size = decode(&file, encoding, handle.largest())?;
                Ok(Self { size, sha1: None, ..self })
            }
            _ => Ok(self),
        }
    }
}

/// The result of following a download.
enum Followed {
    Whole(Whole),
    /// The source redirects to a folder.
    Folder(Base, SourceAddress),
    /// No more bytes are wanted: the program that reads them has left, or the file is
    /// there, the same.
    Unwanted,
}

/// What a download turned out to be.
pub(super) enum DownloadResult {
    /// A file of `size` bytes, of which `came` were not there before.
    File { size: u64, came: u64 },
    /// A folder, which is to be downloaded as one.
    Folder(Box<Folder>),
    /// No more bytes are wanted: the program that reads them has left, or the file is
    /// there, the same.
    Unwanted,
}

/// The name of a download in `servent status`.
pub(crate) const NAME: &str = "get";

/// The parent of the state folders of active downloads.
pub(crate) fn states(state: &Path) -> PathBuf {
    state.join("get")
}

/// Each download has a state folder of its own, named after the file it
/// creates: the same command finds it again, and it does not conflict with a
/// running `share`.
pub(super) fn state_of(config: &Config, file: &Path) -> PathBuf {
    state_named(config, file.as_os_str().as_encoded_bytes())
}

/// The same for those of a list that are downloaded into a folder together.
pub(super) fn state_of_all(config: &Config, folder: &Path, list: &Path) -> PathBuf {
    let parts = [folder, list].map(|path| path.as_os_str().as_encoded_bytes());
    state_named(config, &parts.join(&0)) // No path contains a zero.
}

fn state_named(config: &Config, name: &[u8]) -> PathBuf {
    let digest = sha1::Sha1::digest(name);
    states(&config.settings.state).join(HEXLOWER.encode(&digest[..8]))
}

impl DownloadJob {
    /// The file's name.
    pub(super) fn name(&self) -> String {
        self.file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// What messages call it: the file that the user knows of.
    pub(super) fn title(&self) -> String {
        let file = self.there.as_deref().unwrap_or(&self.file);
        file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The folder it is created in.
    pub(super) fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("/"))
    }

    /// Where the file is to be, when its source gives it another name.
    fn renamed(&self, name: &str) -> Option<PathBuf> {
        let to = self.folder().join(servent::driver::safe_path(name));
        (self.takes_name && to.parent() == Some(self.folder()) && to != self.file).then_some(to)
    }

    /// Every source whose host can be resolved; an error when none can.
    async fn sources(&self) -> Result<Vec<DownloadSource>, Failure> {
        let mut sources = Vec::new();
        let mut unknown = None;
        for place in &self.wanted.places {
            match place.resolve(self.wanted.sha1, &self.way.proxies).await {
                Ok(source) => sources.push(source),
                Err(failure) => unknown = Some(failure),
            }
        }
        match unknown {
            Some(failure) if sources.is_empty() => Err(failure),
            _ => Ok(sources),
        }
    }

    pub(super) fn options(
        &self,
        config: &Config,
        sources: &[DownloadSource],
        state: Option<&Path>,
    ) -> ServentOptions {
        let mut node = config.settings.node.clone();
        // This node is short-lived, so others should not route through it.
        node.overlay.router.relay = false;
        // What goes to standard output goes there as it comes.
        node.fetch.decodes = self.spool.is_none();
        ServentOptions {
            name: NAME.into(),
            listen: vec![listen(self.listen, sources)],
            download_dir: self.folder().to_path_buf(),
            node,
            durability: config.settings.durability,
            trace: config.settings.trace_file(),
            ca_file: self.way.ca_file.clone(),
            pins: self.way.pins.clone(),
            credentials: self.way.credentials.clone(),
            proxies: self.way.proxies.clone(),
            download_rate: self.way.rate.clone(),
            damaged_state: self.damaged,
            state_dir: state.map(Path::to_path_buf),
            // The address that an earlier command was given may be of no use any more:
            // its refusal would end what is to go on from another one.
            only_asked: true,
            ..ServentOptions::without_folders()
        }
    }

    /// Runs the download.
    pub(super) async fn run(
        &self,
        config: &Config,
        bars: &Bars,
    ) -> Result<DownloadResult, Failure> {
        let mut signals = Signals::new()?;
        let name = self.name();
        let sources = self.sources().await?;
        let state = self.spool.is_none().then(|| state_of(config, &self.file));
        if let Some(state) = &state {
            make(state)?;
            // One that runs with this state is found when ours starts.
            if servent::driver::is_being_written(&self.file) && process_of_state(state).is_none() {
                return Err(already_running(&self.file, None));
            }
        }
        let started = Driver::start(self.options(config, &sources, state.as_deref())).await;
        let handle = started.map_err(|error| not_started(error, &self.file))?;
        // What goes to standard output has no state; `servent status` finds it by
        // its folder for now.
        let shown = state.as_deref().or(self.spool.as_ref().map(tempfile::TempDir::path));
        let control = shown.map(|place| ControlServer::start(place, hub(&handle))).transpose()?;
        let wish = Get { name: name.clone(), sha1: self.wanted.sha1, sources };
        let again = wish.clone();
        let mut push = Pushing::new(self.wanted.pushes(), !self.wanted.places.is_empty());
        push.join(&handle).await?;
        let mut progress = bars.download(&name);
        let mut following = Following {
            handle: &handle,
            job: self,
            push,
            pour: self
                .spool
                .as_ref()
                .zip(self.ordered.as_ref())
                .map(|(spool, to)| Pour::begin(spool.path(), &name, to)),
            progress: &mut progress,
        };
        let outcome = tokio::select! {
            outcome = following.follow(wish) => outcome,
            () = signals.first() => {
                // Repeating the request saves the sources that were found
                // since.
                let _ = handle.command(NodeCommand::Fetch(FetchCommand::Get(again))).await;
                Err(Failure::new(Exit::Interrupted, format!("stopped before {name} was whole"))
                    .next("run the same command to go on where it was"))
            }
            ended = handle.ended() => Err(ended.err().map_or_else(|| Failure::new(Exit::Failed, "the servent ended"), Failure::from)),
        };
        progress.finish();
        drop(control);
        let stops = matches!(outcome, Err(_) | Ok(Followed::Unwanted));
        signals.end_before(leave::end(&handle, stops)).await?;
        if let Some(state) = state
            && (outcome.is_ok() || self.there.is_some())
        {
            // Nothing is left to resume.
            let _ = std::fs::remove_dir_all(state);
        }
        if let (Some(file), Ok(Followed::Unwanted) | Err(_)) = (&self.there, &outcome) {
            there::remove_new(file);
        }
        let followed = outcome.map_err(|failure| self.failed(failure))?;
        match followed {
            Followed::Whole(whole) => self.whole(&handle, &whole),
            Followed::Folder(base, place) => self.as_folder(base, place),
            Followed::Unwanted => Ok(DownloadResult::Unwanted),
        }
    }

    /// Whatever the server says, a file that is there is what the user has to know.
    pub(super) fn failed(&self, failure: Failure) -> Failure {
        match &self.there {
            Some(file) if !matches!(failure.exit, Exit::Disk | Exit::Interrupted) => {
                there::already(file)
            }
            _ => failure,
        }
    }

    /// Reports the file.
    pub(super) fn whole(&self, handle: &Handle, whole: &Whole) -> Result<DownloadResult, Failure> {
        // A file of this name may have been created meanwhile.
        let mut file = handle.path_of(whole.fetch).unwrap_or_else(|| self.file.clone());
        if let Some(there) = &self.there {
            // Its server has said too little to take the download back.
            there::compare_whole(self.voice, there, &file)?;
            return Ok(DownloadResult::Unwanted);
        }
        if let Some(sum) = self.wanted.sha256 {
            sum.check(&file)?;
        }
        let asked = self.wanted.sha1.is_some() || self.wanted.sha256.is_some();
        if let Some(OrderedOutput::Device(path)) = &self.ordered {
            troubles::report(self.voice, path, whole, asked)?;
        } else if self.spool.is_some() {
            troubles::unvouched(self.voice, &self.name(), whole);
        } else {
            if let Some(to) = whole.named.as_deref().and_then(|name| self.renamed(name))
                && rename_new(&file, &to).is_ok()
            {
                file = to;
            }
            troubles::report(self.voice, &file, whole, asked)?;
        }
        Ok(DownloadResult::File { size: whole.size, came: whole.came })
    }

    /// The same download as that of a folder.
    pub(super) fn as_folder(
        &self,
        base: Base,
        place: SourceAddress,
    ) -> Result<DownloadResult, Failure> {
        if self.spool.is_some() {
            return Err(Failure::usage(NO_FOLDER));
        }
        if let Some(file) = &self.there {
            return Err(there::already(file));
        }
        let Self { way, damaged, voice, .. } = self;
        let (to, way) = (self.file.clone(), way.clone());
        let folder = Folder { base, place, to, way, damaged: *damaged, voice: *voice };
        Ok(DownloadResult::Folder(Box::new(folder)))
    }
}

/// The most likely reason is that the same command is already running.
pub(super) fn not_started(error: StartError, file: &Path) -> Failure {
    let StartError::Store(StoreFailure::Locked { pid, .. }) = &error else {
        return error.into();
    };
    already_running(file, *pid)
}

fn already_running(file: &Path, pid: Option<u32>) -> Failure {
    let by = pid.map_or_else(String::new, |pid| format!(", as process {pid}"));
    let what = format!("the download of {} is already running{by}", file.display());
    Failure::new(Exit::Running, what).next("wait for it, or save under another name with -o")
}

/// What `servent status` shows of it.
pub(super) fn hub(handle: &Handle) -> Arc<Hub> {
    let live = Live { id: NAME.into(), name: NAME.into(), view: "queue", handle: handle.clone() };
    Arc::new(Hub {
        name: "servent get".into(),
        servents: vec![live],
        traces: Traces::new([]),
        page: PageOrigin::new(None),
        token: String::new(),
        readers: Readers::new(0),
        door: None,
        part: None,
    })
}

/// The address to listen on for peers that connect back: the one asked for, or
/// any free port of the sources' address family.
pub(super) fn listen(asked: Option<SocketAddr>, sources: &[DownloadSource]) -> SocketAddr {
    // A push request can only carry an IPv4 address.
    let six = !sources.is_empty() && sources.iter().all(|s| s.at.is_ipv6());
    let any: SocketAddr = if six {
        (std::net::Ipv6Addr::UNSPECIFIED, 0).into()
    } else {
        (std::net::Ipv4Addr::UNSPECIFIED, 0).into()
    };
    asked.unwrap_or(any)
}

/// An active download.
struct Following<'a> {
    handle: &'a Handle,
    job: &'a DownloadJob,
    push: Pushing,
    pour: Option<Pour>,
    progress: &'a mut FetchProgress,
}

impl Following<'_> {
    /// Submits the request and waits for the end of the download.
    async fn follow(&mut self, wish: Get) -> Result<Followed, Failure> {
        let whole = match self.fetch(wish).await? {
            Followed::Whole(whole) => whole,
            other => return Ok(other),
        };
        if let Some(pour) = &mut self.pour {
            pour.upto(whole.size);
            pour.last();
            if pour.ended().await? == PourEnd::Unwanted {
                return Ok(Followed::Unwanted);
            }
        }
        Ok(Followed::Whole(whole))
    }

    async fn fetch(&mut self, wish: Get) -> Result<Followed, Failure> {
        let mut so_far = FetchSoFar::new(&wish, self.job.there.clone());
        let handle = self.handle;
        let mut answers = handle.answers();
        let mut fetching = BroadcastStream::new(handle.fetching());
        handle.command(NodeCommand::Fetch(FetchCommand::Get(wish))).await?;
        let mut tick = tokio::time::interval(self.every());
        loop {
            let followed = tokio::select! {
                // Report what went wrong before the failure it led to; a server that is not
                // trusted has not hung up.
                biased;
                why = handle.distrust(), if self.job.wanted.places.len() < 2 => {
                    if let Some(fetch) = so_far.ours {
                        // Nothing was received from there, and nothing will be.
                        handle.command(NodeCommand::Fetch(FetchCommand::Cancel { fetch })).await?;
                    }
                    return Err(troubles::distrusted(why));
                }
                Some(Ok(event)) = fetching.next() => self.happened(&mut so_far, event).await?,
                answer = answers.recv() => match answer {
                    Ok(answer) => self.answered(&mut so_far, answer).await?,
                    Err(RecvError::Lagged(_)) => None,
                    Err(RecvError::Closed) => return Err(Failure::new(Exit::Failed, "the servent ended")),
                },
                closed = closed(&mut self.pour) => return closed.map(|()| Followed::Unwanted),
                _ = tick.tick() => {
                    self.has_waited(&so_far).await?;
                    self.look(&mut so_far).await?;
                    None
                }
            };
            if let Some(followed) = followed {
                return Ok(followed);
            }
        }
    }

    /// Ends a download whose server does not say in time whether it has the file that is
    /// there.
    async fn has_waited(&self, so_far: &FetchSoFar) -> Result<(), Failure> {
        if let (Some(file), Some(fetch)) = (so_far.waited_for(), so_far.ours) {
            self.handle.command(NodeCommand::Fetch(FetchCommand::Cancel { fetch })).await?;
            return Err(there::already(file));
        }
        Ok(())
    }

    /// An event of the downloads. A servent of its own has one download.
    async fn happened(
        &mut self,
        so_far: &mut FetchSoFar,
        event: fetch::Event,
    ) -> Result<Option<Followed>, Failure> {
        let cancel = |fetch| NodeCommand::Fetch(FetchCommand::Cancel { fetch });
        match &event {
            fetch::Event::Moved { fetch, to, .. } => {
                if let Some((base, place)) = self.job.wanted.sent_to_folder(to) {
                    self.handle.command(cancel(*fetch)).await?;
                    return Ok(Some(Followed::Folder(base, place)));
                }
            }
            fetch::Event::Described { fetch, size, modified } => {
                if let Some(file) = &so_far.there {
                    let modified = modified.as_deref().and_then(HttpDate::parse);
                    let modified = modified.map(HttpDate::to_unix);
                    let verdict = there::judge(self.job.voice, file, *size, modified);
                    if self.job.there.is_some() && matches!(verdict, Ok(ThereVerdict::Compare)) {
                        so_far.there = None; // It comes, and is compared when it is whole.
                    } else {
                        self.handle.command(cancel(*fetch)).await?;
                        return match verdict? {
                            ThereVerdict::Same => Ok(Some(Followed::Unwanted)),
                            ThereVerdict::Compare => Err(there::already(file)),
                        };
                    }
                }
            }
            fetch::Event::Begun { have, .. } => so_far.had = *have,
            fetch::Event::Unvouched { .. } => so_far.vouched = false,
            fetch::Event::Encoded { encoding, .. } => so_far.encoding = Some(*encoding),
            fetch::Event::Named { name, .. } => {
                let to = self.job.renamed(name).filter(|to| to.symlink_metadata().is_ok());
                so_far.there = to.or(so_far.there.take());
                so_far.named = Some(name.clone());
            }
            _ => {}
        }
        if let Some((fetch, at, what)) = so_far.troubles.note(so_far.clock.now(), &event) {
            if let Some(file) = &self.job.there {
                self.handle.command(cancel(fetch)).await?;
                return Err(there::already(file));
            }
            self.progress.trouble(at, &what);
        }
        if self.pour.is_some() && troubles::is_corrupt(&event, so_far.poured) {
            let what = "the bytes that were written are not the file asked for";
            return Err(Failure::new(Exit::Unverified, what));
        }
        Ok(None)
    }

    /// An answer of the node.
    async fn answered(
        &mut self,
        so_far: &mut FetchSoFar,
        answer: NodeAnswer,
    ) -> Result<Option<Followed>, Failure> {
        match answer {
            NodeAnswer::Fetching { fetch } if so_far.relinked.is_none() => {
                so_far.relinked = alone(self.handle, fetch, &so_far.sources).await?;
                let former = so_far.relinked.as_ref().map(|other| FetchId(other.fetch));
                so_far.ours = Some(former.unwrap_or(fetch));
                self.push.fetch = so_far.ours;
            }
            NodeAnswer::NoWay { .. } => self.push.soon(),
            NodeAnswer::Fetched { fetch, bytes, sha1 } if so_far.ours == Some(fetch) => {
                let (came, vouched) = (bytes.saturating_sub(so_far.had), so_far.vouched);
                let named = so_far.named.take();
                let whole = Whole { fetch, size: bytes, came, sha1, vouched, named };
                return Ok(Some(Followed::Whole(whole.decoded(self.handle, so_far.encoding)?)));
            }
            NodeAnswer::Failed { why: FetchFailure::NoSource, .. } if self.push.may_help() => {}
            NodeAnswer::Failed { fetch, why } if so_far.ours == Some(fetch) => {
                let troubles = &so_far.troubles;
                if let Some(other) = &so_far.relinked
                    && troubles.is_another(fetch)
                {
                    return Err(troubles::of_another(&so_far.name, other));
                }
                let silent = why == FetchFailure::NoSource && troubles.is_silent(fetch);
                let unreached = self.push.failure().filter(|_| silent);
                let failed = || troubles.failed(fetch, why, &self.job.file, self.handle);
                return Err(unreached.unwrap_or_else(failed));
            }
            _ => {}
        }
        Ok(None)
    }

    /// Shows how the download stands.
    async fn look(&mut self, so_far: &mut FetchSoFar) -> Result<(), Failure> {
        self.push.ask(self.handle).await?;
        let view = self.handle.view(1, 0).await?;
        let ours = so_far.ours.map(|ours| ours.0);
        let Some(fetch) = view.fetches.iter().find(|it| ours == Some(it.fetch)) else {
            return Ok(());
        };
        self.progress.show(so_far.clock.now(), fetch);
        if let Some(pour) = &self.pour {
            pour.upto(fetch.front);
            so_far.poured = fetch.front.max(so_far.poured);
        }
        Ok(())
    }

    /// How often to check progress: often when our output is being read.
    const fn every(&self) -> Duration {
        Duration::from_millis(if self.pour.is_some() { 20 } else { 200 })
    }
}

/// Resolves when writing to standard output has failed, or when the program that reads
/// it has closed its end.
async fn closed(pour: &mut Option<Pour>) -> Result<(), Failure> {
    let Some(pour) = pour else { return std::future::pending().await };
    pour.ended().await.map(|_| ())
}
