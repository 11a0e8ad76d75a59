//! Downloading a folder with everything in it: one servent downloads all its
//! files.

use std::path::{Path, PathBuf};

use serde_json::json;
use servent::driver::{Driver, ServentOptions};
use servent::{Clock, DamagedState};
use servent_core::node::{DownloadSource, Get};

use super::all::Total;
use super::batch::{Batch, BatchEvent, EndedDownload};
use super::crawl::{CrawlResult, crawl};
use super::job::{JobOptions, Whole, hub, not_started, state_of};
use super::links::Base;
use super::source::SourceAddress;
use super::troubles;
use crate::cli::control::ControlServer;
use crate::cli::start::make;
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::progress::{FolderProgress, Voice, per_second};
use crate::signal::Signals;

/// A folder to be downloaded.
pub(super) struct Folder {
    pub(super) base: Base,
    pub(super) place: SourceAddress,
    /// The folder to create.
    pub(super) to: PathBuf,
    pub(super) way: JobOptions,
    pub(super) damaged: DamagedState,
    pub(super) voice: Voice,
}

impl Folder {
    /// Downloads what is missing, at most `parallel` files at a time.
    pub(super) async fn run(&self, config: &Config, parallel: usize) -> Result<Total, Failure> {
        let mut signals = Signals::new()?;
        make(&config.settings.state.join("get"))?;
        let source = self.place.resolve(None).await?;
        let found = tokio::select! {
            found = crawl(config, &self.base, &source, &self.way) => found?,
            () = signals.first() => return Err(self.stopped()),
        };
        let mut total = Total { failed: found.troubles.len() as u64, ..Total::default() };
        for trouble in &found.troubles {
            self.voice
                .note(&json!({ "event": "failed", "name": self.name(), "why": trouble }), trouble);
        }
        if found.files.is_empty() && total.failed == 0 {
            return Err(CrawlResult::nothing(&self.base));
        }
        let made = std::fs::create_dir_all(&self.to);
        made.map_err(|e| Failure::file("make the folder", &self.to, &e))?;
        // With a slash at its end: not that of the file it was taken for.
        let state = state_of(config, &self.to.join(""));
        make(&state)?;
        let started = Driver::start(self.options(config, &state, parallel)).await;
        let handle = started.map_err(|error| not_started(error, &self.to))?;
        let control = ControlServer::start(&state, hub(&handle))?;
        let mut batch = Batch::new(&handle, &self.to);
        let outcome = tokio::select! {
            outcome = self.fetch(&mut batch, (found, &source), parallel, &mut total) => outcome,
            why = handle.distrust() => Err(troubles::distrusted(why)),
            () = signals.first() => Err(self.stopped()),
            ended = handle.ended() => Err(ended.err().map_or_else(|| Failure::new(Exit::Failed, "the servent ended"), Failure::from)),
        };
        batch.pause().await;
        drop(control);
        signals.end_before(handle.stop()).await?;
        outcome?;
        if total.failed == 0 {
            let _ = std::fs::remove_dir_all(state); // Nothing is left to resume.
        }
        Ok(total)
    }

    async fn fetch(
        &self,
        batch: &mut Batch<'_>,
        (found, source): (CrawlResult, &DownloadSource),
        parallel: usize,
        total: &mut Total,
    ) -> Result<(), Failure> {
        let mut progress = FolderProgress::new(self.voice, &self.name(), found.files.len() as u64);
        let (clock, mut files) = (Clock::new(), found.files.into_iter());
        let begun = clock.now();
        loop {
            while batch.len() < parallel
                && let Some((path, target)) = files.next()
            {
                if self.to.join(local(&path)).symlink_metadata().is_ok() {
                    total.there += 1;
                    continue;
                }
                let source = DownloadSource { target, ..source.clone() };
                batch.begin(Get { name: path, sha1: None, sources: vec![source] }).await?;
            }
            if batch.len() == 0 {
                progress.finish();
                return Ok(());
            }
            match batch.next().await? {
                BatchEvent::Trouble { name, at, what } => progress.trouble(&name, at, &what),
                BatchEvent::Moved { name, at, to, .. } => {
                    progress.trouble(&name, at, &troubles::moved(&to));
                }
                BatchEvent::Ended(EndedDownload {
                    name,
                    outcome: Ok(Whole { size: bytes, came, .. }),
                }) => {
                    (total.whole, total.bytes) = (total.whole + 1, total.bytes + bytes);
                    total.came += came;
                    let passed = clock.now().since(begun);
                    progress.done(&name, bytes, per_second(total.came, passed));
                }
                BatchEvent::Ended(EndedDownload { name, outcome: Err(failure) }) => {
                    total.failed += 1;
                    total.exit = total.exit.or(Some(failure.exit));
                    progress.failed(&name, &failure.what);
                    if failure.exit == Exit::Disk {
                        return Err(failure);
                    }
                }
            }
        }
    }

    fn options(&self, config: &Config, state: &Path, parallel: usize) -> ServentOptions {
        let mut node = config.settings.node.clone();
        node.overlay.enabled = false;
        let most = u32::try_from(parallel).unwrap_or(u32::MAX).saturating_mul(2);
        node.fetch.fetches = node.fetch.fetches.max(most.saturating_add(node.fetch.finished));
        node.fetch.spares = node.fetch.spares.max(most / 2);
        ServentOptions {
            name: "get".into(),
            listen: vec![super::job::listen(None, &[])],
            download_dir: self.to.clone(),
            tree: true,
            ca_file: self.way.ca_file.clone(),
            credentials: self.way.credentials.clone(),
            download_rate: self.way.rate.clone(),
            node,
            durability: config.settings.durability,
            damaged_state: self.damaged,
            state_dir: Some(state.to_path_buf()),
            ..ServentOptions::without_folders()
        }
    }

    /// The folder's name.
    pub(super) fn name(&self) -> String {
        self.to.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn stopped(&self) -> Failure {
        let what = format!("stopped before all of {} was there", self.to.display());
        Failure::new(Exit::Interrupted, what).next("run the same command to go on where it was")
    }
}

/// The local path of a file, below the folder.
fn local(path: &str) -> String {
    servent::driver::safe_path(path)
}
