//! Many files downloaded by one servent: what starting one takes is then paid
//! once, and not for each file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use servent::Clock;
use servent::driver::{Driver, Handle, ServentOptions};
use servent_core::id::FetchId;
use servent_core::node::{DownloadSource, FetchCommand, FetchView, Get, NodeCommand};

use super::job::{DownloadJob, DownloadResult, hub, not_started, state_of, state_of_all};
use super::lists::batch::{self, Batch, BatchEvent};
use super::there::{self, ThereVerdict};
use super::troubles;
use crate::cli::control::ControlServer;
use crate::cli::start::make;
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::progress::{Bars, FetchProgress};
use crate::signal::Signals;

/// How often progress is shown.
pub(super) const EVERY: Duration = Duration::from_millis(200);

/// Files for one folder.
pub(super) struct Together<'a> {
    jobs: Vec<&'a DownloadJob>,
    folder: &'a Path,
    /// Names what is remembered of them, so that the same command finds it
    /// again.
    key: &'a Path,
}

/// Where the files of a command come from so far.
type FoundSources = BTreeMap<(String, bool), DownloadSource>;

impl<'a> Together<'a> {
    /// Chooses those of the jobs that one servent can download; the second part
    /// is the others. `key` is the list they are in.
    pub(super) fn select(
        jobs: &'a [DownloadJob],
        key: &'a Path,
        config: &Config,
    ) -> (Self, Vec<&'a DownloadJob>) {
        let folder = jobs.first().map_or(Path::new("/"), |job| job.folder());
        let fits = |job: &&DownloadJob| {
            // One of an earlier command is continued where it was.
            job.spool.is_none()
                && job.wanted.push.is_none()
                && job.folder() == folder
                && !state_of(config, &job.file).exists()
        };
        // Also when it is one: the others may have come already, and what is
        // remembered of it is with them.
        let (jobs, alone) = jobs.iter().partition(fits);
        (Self { jobs, folder, key }, alone)
    }

    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        self.jobs.len() as u64
    }

    /// Downloads them, at most `parallel` at a time, and passes on how each
    /// ended.
    ///
    /// # Errors
    /// The servent does not start or ends early, or the user stops it.
    pub(super) async fn run(
        &self,
        config: &Config,
        (bars, parallel): (&Bars, usize),
        mut end: impl FnMut(&DownloadJob, Result<DownloadResult, Failure>),
    ) -> Result<(), Failure> {
        let Some(first) = self.jobs.first() else { return Ok(()) };
        let mut signals = Signals::new()?;
        let state = state_of_all(config, self.folder, self.key);
        make(&state)?;
        let started = Driver::start(self.options(first, config, &state, parallel)).await;
        let handle = started.map_err(|error| not_started(error, self.key))?;
        let control = ControlServer::start(&state, hub(&handle))?;
        let earlier = handle.view(1, 0).await?.fetches;
        let unasked = self.take_back(&handle, &earlier).await?;
        let mut running = RunningServent {
            handle: &handle,
            batch: Batch::new(&handle, self.folder).after(earlier),
            jobs: BTreeMap::new(),
            bars,
            shown: BTreeMap::new(),
            found: FoundSources::new(),
            failed: unasked,
        };
        let outcome = tokio::select! {
            outcome = running.run(&self.jobs, parallel, &mut end) => outcome,
            () = signals.first() => Err(Failure::new(Exit::Interrupted, "stopped")),
            ended = handle.ended() => Err(ended.err().map_or_else(|| Failure::new(Exit::Failed, "the servent ended"), Failure::from)),
        };
        let failed = running.failed;
        drop(control);
        signals.end_before(super::leave::end(&handle, outcome.is_err())).await?;
        for job in &self.jobs {
            if let Some(file) = &job.there {
                there::remove_new(file);
            }
        }
        outcome?;
        if !failed {
            let _ = std::fs::remove_dir_all(state); // Nothing is left to resume.
        }
        Ok(())
    }

    /// Removes what an earlier command left of files that have come by another
    /// way. True when there are others that are not in the list any more.
    async fn take_back(&self, handle: &Handle, earlier: &[FetchView]) -> Result<bool, Failure> {
        let asked: BTreeSet<String> = self.jobs.iter().map(|job| job.name()).collect();
        let mut left = false;
        for view in earlier.iter().filter(|view| !asked.contains(&view.name)) {
            if self.folder.join(&view.name).exists() {
                handle
                    .command(NodeCommand::Fetch(FetchCommand::Cancel {
                        fetch: FetchId(view.fetch),
                    }))
                    .await?;
            } else {
                left = true;
            }
        }
        Ok(left)
    }

    fn options(
        &self,
        job: &DownloadJob,
        config: &Config,
        state: &Path,
        parallel: usize,
    ) -> ServentOptions {
        let mut node = config.settings.node.clone();
        node.overlay.enabled = false;
        node.fetch.decodes = true;
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let fetch = &mut node.fetch;
        let most = count(self.jobs.len()).saturating_add(fetch.finished);
        fetch.fetches = fetch.fetches.max(most);
        fetch.spares = fetch.spares.max(count(parallel));
        ServentOptions {
            node,
            state_dir: Some(PathBuf::from(state)),
            ..job.options(config, &[], None)
        }
    }
}

/// The servent that downloads them.
struct RunningServent<'a> {
    handle: &'a Handle,
    batch: Batch<'a>,
    /// Those that were begun, by name.
    jobs: BTreeMap<String, &'a DownloadJob>,
    bars: &'a Bars,
    /// Those that take long enough to be seen.
    shown: BTreeMap<String, FetchProgress>,
    found: FoundSources,
    /// Something is left to resume.
    failed: bool,
}

impl<'a> RunningServent<'a> {
    async fn run(
        &mut self,
        jobs: &[&'a DownloadJob],
        parallel: usize,
        end: &mut impl FnMut(&DownloadJob, Result<DownloadResult, Failure>),
    ) -> Result<(), Failure> {
        let clock = Clock::new();
        let mut waiting = jobs.iter();
        let mut tick = tokio::time::interval(EVERY);
        loop {
            while self.batch.len() < parallel
                && let Some(job) = waiting.next()
            {
                match self.distrusted(job).map_or(Ok(()), Err).and(self.sources(job).await) {
                    Ok(sources) => self.begin(job, sources).await?,
                    Err(failure) => {
                        self.failed = true;
                        end(job, Err(failure));
                    }
                }
            }
            if self.batch.len() == 0 {
                return Ok(());
            }
            tokio::select! {
                news = self.batch.next() => self.hear(news?, end).await?,
                _ = tick.tick() => {
                    for view in self.handle.view(1, 0).await?.fetches {
                        let Some(name) = self.batch.name(view.fetch).map(str::to_owned) else {
                            continue;
                        };
                        match self.jobs.get(&name).and_then(|job| self.distrusted(job)) {
                            Some(why) => {
                                // Nothing was received from there, and nothing will be.
                                self.batch.cancel(FetchId(view.fetch)).await?;
                                self.ended(&name, Err(why), end);
                            }
                            None => self.progress(&name).show(clock.now(), &view),
                        }
                    }
                }
            }
        }
    }

    async fn begin(
        &mut self,
        job: &'a DownloadJob,
        sources: Vec<DownloadSource>,
    ) -> Result<(), Failure> {
        let name = job.name();
        self.jobs.insert(name.clone(), job);
        self.batch.begin(Get { name, sha1: job.wanted.sha1, sources }).await
    }

    async fn hear(
        &mut self,
        news: BatchEvent,
        end: &mut impl FnMut(&DownloadJob, Result<DownloadResult, Failure>),
    ) -> Result<(), Failure> {
        let (name, outcome) = match news {
            BatchEvent::Trouble { name, at, what } => {
                self.progress(&name).trouble(at, &what);
                return Ok(());
            }
            BatchEvent::Described { fetch, name, known } => {
                let there = self.jobs.get(&name).and_then(|job| Some((job, job.there.as_ref()?)));
                let Some((job, file)) = there else { return Ok(()) };
                let verdict = there::judge(job.voice, file, Some(known.size), known.modified);
                if matches!(verdict, Ok(ThereVerdict::Compare)) {
                    return Ok(()); // It is compared when it is whole.
                }
                self.batch.cancel(fetch).await?;
                (name, verdict.map(|_| DownloadResult::Unwanted))
            }
            BatchEvent::Moved { fetch, name, at, to } => {
                let Some(job) = self.jobs.get(&name) else { return Ok(()) };
                let Some((base, place)) = job.wanted.sent_to_folder(&to) else {
                    self.progress(&name).trouble(at, &troubles::moved(&to));
                    return Ok(());
                };
                self.batch.cancel(fetch).await?;
                (name, job.as_folder(base, place))
            }
            BatchEvent::Ended(batch::EndedDownload { name, outcome }) => {
                let Some(job) = self.jobs.get(&name) else { return Ok(()) };
                let outcome = outcome.map_err(|failure| job.failed(failure));
                let outcome = outcome.and_then(|whole| job.whole(self.handle, &whole));
                (name, outcome)
            }
        };
        self.ended(&name, outcome, end);
        Ok(())
    }

    fn ended(
        &mut self,
        name: &str,
        outcome: Result<DownloadResult, Failure>,
        end: &mut impl FnMut(&DownloadJob, Result<DownloadResult, Failure>),
    ) {
        if let Some(progress) = self.shown.remove(name) {
            progress.finish();
        }
        // Of a file that is in the way of another nothing is left to resume.
        self.failed |= outcome.as_ref().is_err_and(|failure| !failure.is_of_name);
        if let Some(job) = self.jobs.remove(name) {
            end(job, outcome);
        }
    }

    /// The failure of a download that has no server that could prove its
    /// identity.
    fn distrusted(&self, job: &DownloadJob) -> Option<Failure> {
        let mut last = None;
        for place in &job.wanted.places {
            let secure = place.is_secure().then_some(&place.host);
            last = Some(self.handle.distrusts(secure?)?);
        }
        last.map(troubles::distrusted)
    }

    fn progress(&mut self, name: &str) -> &mut FetchProgress {
        let new = || self.bars.download(name);
        self.shown.entry(name.to_owned()).or_insert_with(new)
    }

    /// Every source whose host can be resolved, each host once; an error when
    /// none can.
    async fn sources(&mut self, job: &DownloadJob) -> Result<Vec<DownloadSource>, Failure> {
        let mut sources = Vec::new();
        let mut unknown = None;
        for place in &job.wanted.places {
            let host = (place.host.clone(), place.is_secure());
            let resolved = match self.found.get(&host) {
                Some(found) => Ok(place.at_same(found, job.wanted.sha1)),
                None => place.resolve(job.wanted.sha1, &job.way.proxies).await,
            };
            match resolved {
                Ok(source) => {
                    self.found.insert(host, source.clone());
                    sources.push(source);
                }
                Err(failure) => unknown = Some(failure),
            }
        }
        match unknown {
            Some(failure) if sources.is_empty() => Err(failure),
            _ => Ok(sources),
        }
    }
}
