//! One download of `servent get`: a separate servent that runs until the file
//! is complete.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use data_encoding::HEXLOWER;
use servent::driver::{Driver, Handle, ServentOptions};
use servent::error::{StartError, StoreFailure};
use servent::{Clock, Credentials, DamagedState, Rate};
use servent_core::fetch::{self, FetchFailure};
use servent_core::id::{FetchId, Sha1};
use servent_core::node::{DownloadSource, FetchCommand, Get, NodeAnswer, NodeCommand};
use sha1::Digest as _;
use tokio::sync::broadcast::error::RecvError;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::BroadcastStream;

use super::NO_FOLDER;
use super::folder::Folder;
use super::links::Base;
use super::push::Pushing;
use super::source::{RequestedFile, SourceAddress};
use super::stdout::{OrderedOutput, Pour};
use super::troubles::{self, SourceTroubles};
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
    /// Credentials for servers that require them.
    pub(super) credentials: Option<Credentials>,
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
}

/// The result of following a download.
enum Followed {
    Whole(Whole),
    /// The source redirects to a folder.
    Folder(Base, SourceAddress),
}

/// What a download turned out to be.
pub(super) enum DownloadResult {
    /// A file of `size` bytes, of which `came` were not there before.
    File { size: u64, came: u64 },
    /// A folder, which is to be downloaded as one.
    Folder(Box<Folder>),
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

    /// The folder it is created in.
    pub(super) fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("/"))
    }

    /// Every source whose host can be resolved; an error when none can.
    async fn sources(&self) -> Result<Vec<DownloadSource>, Failure> {
        let mut sources = Vec::new();
        let mut unknown = None;
        for place in &self.wanted.places {
            match place.resolve(self.wanted.sha1).await {
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
        ServentOptions {
            name: NAME.into(),
            listen: vec![listen(self.listen, sources)],
            download_dir: self.folder().to_path_buf(),
            node,
            durability: config.settings.durability,
            trace: config.settings.trace_file(),
            ca_file: self.way.ca_file.clone(),
            credentials: self.way.credentials.clone(),
            download_rate: self.way.rate.clone(),
            damaged_state: self.damaged,
            state_dir: state.map(Path::to_path_buf),
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
        }
        let started = Driver::start(self.options(config, &sources, state.as_deref())).await;
        let handle = started.map_err(|error| not_started(error, &self.file))?;
        // What goes to standard output has no state; `servent status` finds it by
        // its folder for now.
        let shown = state.as_deref().or(self.spool.as_ref().map(tempfile::TempDir::path));
        let control = shown.map(|place| ControlServer::start(place, hub(&handle))).transpose()?;
        let wish = Get { name: name.clone(), sha1: self.wanted.sha1, sources };
        let again = wish.clone();
        let mut push = Pushing::new(self.wanted.push.as_ref());
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
        signals.end_before(handle.stop()).await?;
        let followed = outcome?;
        if let Some(state) = state {
            // Nothing is left to resume.
            let _ = std::fs::remove_dir_all(state);
        }
        match followed {
            Followed::Whole(whole) => self.whole(&handle, &whole),
            Followed::Folder(base, place) => self.as_folder(base, place),
        }
    }

    /// Reports the file.
    pub(super) fn whole(&self, handle: &Handle, whole: &Whole) -> Result<DownloadResult, Failure> {
        if let Some(OrderedOutput::Device(path)) = &self.ordered {
            troubles::report(self.voice, path, whole, self.wanted.sha1.is_some())?;
        } else if self.spool.is_none() {
            // A file of this name may have been created meanwhile.
            let file = handle.path_of(whole.fetch).unwrap_or_else(|| self.file.clone());
            troubles::report(self.voice, &file, whole, self.wanted.sha1.is_some())?;
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

/// Removes a download that an earlier command began under the same name from
/// elsewhere.
///
/// # Errors
/// Bytes of it are here, and only the user knows whether they belong to this
/// file.
async fn alone(handle: &Handle, ours: FetchId, name: &str) -> Result<(), Failure> {
    for other in handle.view(1, 0).await?.fetches {
        if other.fetch == ours.0 || other.state == "done" {
            continue;
        }
        if other.have > 0 {
            handle.command(NodeCommand::Fetch(FetchCommand::Cancel { fetch: ours })).await?;
            return Err(troubles::of_another(name, &other));
        }
        handle
            .command(NodeCommand::Fetch(FetchCommand::Cancel { fetch: FetchId(other.fetch) }))
            .await?;
    }
    Ok(())
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
            folder @ Followed::Folder(..) => return Ok(folder),
        };
        if let Some(pour) = &mut self.pour {
            pour.upto(whole.size);
            pour.last();
            pour.ended().await?;
        }
        Ok(Followed::Whole(whole))
    }

    async fn fetch(&mut self, wish: Get) -> Result<Followed, Failure> {
        let (clock, name) = (Clock::new(), wish.name.clone());
        let (mut ours, mut poured, mut had, mut vouched) = (None, 0, 0, true);
        let handle = self.handle;
        let mut answers = handle.answers();
        let mut fetching = BroadcastStream::new(handle.fetching());
        let mut troubles = SourceTroubles::default();
        handle.command(NodeCommand::Fetch(FetchCommand::Get(wish))).await?;
        let mut tick = tokio::time::interval(self.every());
        loop {
            tokio::select! {
                // Report what went wrong before the failure it led to.
                biased;
                Some(Ok(event)) = fetching.next() => {
                    if let fetch::Event::Moved { fetch, to, .. } = &event
                        && let Some((base, place)) = self.job.wanted.sent_to_folder(to)
                    {
                        handle.command(NodeCommand::Fetch(FetchCommand::Cancel { fetch: *fetch })).await?;
                        return Ok(Followed::Folder(base, place));
                    }
                    if let fetch::Event::Begun { have, .. } = event {
                        had = have; // A servent of its own has one download.
                    }
                    vouched &= !matches!(event, fetch::Event::Unvouched { .. });
                    if let Some((_, at, what)) = troubles.note(clock.now(), &event) {
                        self.progress.trouble(at, &what);
                    }
                    if self.pour.is_some() && troubles::is_corrupt(&event, poured) {
                        return Err(Failure::new(Exit::Unverified, "the bytes that were written are not the file asked for"));
                    }
                }
                answer = answers.recv() => match answer {
                    Ok(NodeAnswer::Fetching { fetch }) => {
                        (self.push.fetch, ours) = (Some(fetch), Some(fetch));
                        alone(handle, fetch, &name).await?;
                    }
                    Ok(NodeAnswer::NoWay { .. }) => self.push.soon(),
                    Ok(NodeAnswer::Fetched { fetch, bytes, sha1 }) if ours == Some(fetch) => {
                        return Ok(Followed::Whole(Whole { fetch, size: bytes, came: bytes.saturating_sub(had), sha1, vouched }));
                    }
                    Ok(NodeAnswer::Failed { why: FetchFailure::NoSource, .. }) if self.push.may_help() => {}
                    Ok(NodeAnswer::Failed { fetch, why }) if ours == Some(fetch) => {
                        let disk = handle.disk_trouble();
                        return Err(troubles.failed(fetch, why, (&self.job.file, disk)));
                    }
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return Err(Failure::new(Exit::Failed, "the servent ended")),
                },
                failed = closed(&mut self.pour) => return Err(failed),
                why = handle.distrust(), if self.job.wanted.places.len() < 2 => {
                    if let Some(fetch) = ours {
                        // Nothing was received from there, and nothing will be.
                        handle.command(NodeCommand::Fetch(FetchCommand::Cancel { fetch })).await?;
                    }
                    return Err(troubles::distrusted(why));
                }
                _ = tick.tick() => {
                    self.push.ask(handle).await?;
                    let view = handle.view(1, 0).await?;
                    let one = view.fetches.iter().find(|f| ours.is_some_and(|ours| ours.0 == f.fetch));
                    if let Some(fetch) = one {
                        self.progress.show(clock.now(), fetch);
                        if let Some(pour) = &self.pour {
                            pour.upto(fetch.front);
                            poured = fetch.front.max(poured);
                        }
                    }
                }
            }
        }
    }

    /// How often to check progress: often when our output is being read.
    const fn every(&self) -> Duration {
        Duration::from_millis(if self.pour.is_some() { 20 } else { 200 })
    }
}

/// Resolves when writing to standard output has failed.
async fn closed(pour: &mut Option<Pour>) -> Failure {
    if let Some(pour) = pour
        && let Err(failure) = pour.ended().await
    {
        return failure;
    }
    std::future::pending().await
}
