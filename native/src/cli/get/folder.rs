//! Downloading a folder with everything in it: one servent downloads all its
//! files.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;
use servent::driver::{Driver, ServentOptions};
use servent::{Clock, DamagedState, Durability};
use servent_core::id::{FetchId, Sha1};
use servent_core::node::{DownloadSource, Get};
use servent_core::text::Shown;
use sha1::Digest as _;

use super::blocked::{is_closed, why_blocked};
use super::job::{JobOptions, Whole, hub, not_started, state_of};
use super::lists::all::Total;
use super::lists::batch::{Batch, BatchEvent, EndedDownload};
use super::lists::crawl::{CrawlResult, CrawledFile, crawl};
use super::lists::links::{Base, KnownFile};
use super::ranges::RangeFetch;
use super::source::SourceAddress;
use super::spool::clear;
use super::there::NEW;
use super::together::EVERY;
use super::{leave, troubles};
use crate::cli::control::ControlServer;
use crate::cli::start::make;
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::progress::{FolderProgress, Voice};
use crate::signal::Signals;

/// How long the reading of the list may take without a word.
const SILENT: Duration = Duration::from_secs(1);

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

/// True for `.bashrc` and what is in `.ssh/`: settings more often than content.
/// Whatever a server calls its files, none of these is replaced by them.
fn is_hidden(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with('.'))
}

impl Folder {
    /// Downloads what is missing, at most `parallel` files at a time.
    pub(super) async fn run(&self, config: &Config, parallel: usize) -> Result<Total, Failure> {
        let mut signals = Signals::new()?;
        make(&config.settings.state.join("get"))?;
        let source = self.place.resolve(None, &self.way.proxies).await?;
        let found = tokio::select! {
            found = crawl(config, &self.base, &source, &self.way) => found?,
            () = self.say_that_it_is_read() => return Err(self.stopped()), // It never ends.
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
        clear(&self.to)?;
        let started = Driver::start(self.options(config, &state, parallel)).await;
        let handle = started.map_err(|error| not_started(error, &self.to))?;
        let control = ControlServer::start(&state, hub(&handle))?;
        let mut batch = Batch::new(&handle, &self.to);
        let outcome = tokio::select! {
            outcome = self.all(&mut batch, (found, &source), (parallel, config.settings.durability), &mut total) => outcome,
            why = handle.distrust() => Err(troubles::distrusted(why)),
            () = signals.first() => Err(self.stopped()),
            ended = handle.ended() => Err(ended.err().map_or_else(|| Failure::new(Exit::Failed, "the servent ended"), Failure::from)),
        };
        drop(control);
        signals.end_before(leave::end(&handle, outcome.is_err())).await?;
        outcome?;
        if total.failed == 0 {
            let _ = std::fs::remove_dir_all(state); // Nothing is left to resume.
        }
        Ok(total)
    }

    /// Says that the list is read, if that takes a while. It never ends.
    async fn say_that_it_is_read(&self) {
        tokio::time::sleep(SILENT).await;
        let name = self.name();
        let fact = json!({ "event": "listing", "name": name });
        self.voice.note(&fact, &format!("{}: reading what is in it", Shown(&name)));
        std::future::pending().await
    }

    /// Downloads the small files together where the server can, and the others alone.
    async fn all(
        &self,
        batch: &mut Batch<'_>,
        (mut found, source): (CrawlResult, &DownloadSource),
        (parallel, durability): (usize, Durability),
        total: &mut Total,
    ) -> Result<(), Failure> {
        let mut progress = FolderProgress::new(self.voice, &self.name(), found.size());
        if found.has_ranges {
            let clock = Clock::new();
            let progress = &mut progress;
            let together = RangeFetch {
                folder: self,
                source,
                batch,
                progress,
                total,
                durability,
                clock,
                unwritten: 0,
            };
            together.run(&mut found).await?;
        }
        self.fetch(batch, (found, source), (parallel, &mut progress), total).await
    }

    async fn fetch(
        &self,
        batch: &mut Batch<'_>,
        (found, source): (CrawlResult, &DownloadSource),
        (parallel, progress): (usize, &mut FolderProgress),
        total: &mut Total,
    ) -> Result<(), Failure> {
        let (clock, mut files) = (Clock::new(), found.files.into_iter());
        let mut tick = tokio::time::interval(EVERY);
        loop {
            while batch.len() < parallel
                && let Some((path, file)) = files.next()
            {
                let said = (&mut *progress, &mut *total);
                if let Some(get) = self.wanted((path, file), source, said).await {
                    batch.begin(get).await?;
                }
            }
            if batch.len() == 0 {
                progress.finish();
                return Ok(());
            }
            let news = tokio::select! {
                news = batch.next() => news?,
                _ = tick.tick() => {
                    progress.show(clock.now(), batch.arrived().await?);
                    continue;
                }
            };
            match news {
                BatchEvent::Trouble { name, at, what } => progress.trouble(&name, at, &what),
                BatchEvent::Described { fetch, name, known } => {
                    let Some(path) = name.strip_suffix(NEW) else { continue };
                    if self.compare(path, Some(known)).await == LocalFile::Same {
                        batch.cancel(fetch).await?;
                        total.there += 1;
                        progress.there(known.size);
                    }
                }
                BatchEvent::Moved { name, at, to, .. } => {
                    progress.trouble(&name, at, &troubles::moved(&to));
                }
                BatchEvent::Ended(EndedDownload { name, outcome: Ok(whole) }) => {
                    troubles::unvouched(self.voice, &name, &whole);
                    let Whole { fetch, size: bytes, came, .. } = whole;
                    match name.strip_suffix(NEW).map(|path| self.replace(batch, path, fetch)) {
                        None => {}
                        Some(Ok(())) => total.changed += 1,
                        Some(Err(failure)) => {
                            self.failed((&name, failure), (&*progress, &mut *total))?;
                            continue;
                        }
                    }
                    total.add(&Total { whole: 1, bytes, came, ..Total::default() });
                    progress.done(clock.now(), &name, bytes);
                }
                BatchEvent::Ended(EndedDownload { name, outcome: Err(failure) }) => {
                    self.failed((&name, failure), (&*progress, &mut *total))?;
                }
            }
        }
    }

    /// The request for a file, unless it is here or cannot be, which is said.
    async fn wanted(
        &self,
        (path, CrawledFile { target, known }): (String, CrawledFile),
        source: &DownloadSource,
        (progress, total): (&mut FolderProgress, &mut Total),
    ) -> Option<Get> {
        let state = self.compare(&path, known).await;
        if state == LocalFile::Same {
            total.there += 1;
            progress.there(known.map_or(0, |known| known.size));
            return None;
        }
        if state != LocalFile::Missing && is_hidden(&path) {
            total.there += 1;
            let what = format!("{path} is there and hidden: it is left as it is");
            self.voice.note(&json!({ "event": "left", "name": path }), &what);
            return None;
        }
        if let Some(failure) = why_blocked(&self.to, Path::new(&local(&path))) {
            progress.failed(&path, &failure.what);
            total.fail(&path, &failure);
            return None;
        }
        let name = if state == LocalFile::Missing { path } else { path + NEW };
        let source = DownloadSource { target, ..source.clone() };
        Some(Get { name, sha1: None, sources: vec![source] })
    }

    /// One of the files failed.
    ///
    /// # Errors
    /// The disk takes no other one either.
    fn failed(
        &self,
        (name, failure): (&str, Failure),
        (progress, total): (&FolderProgress, &mut Total),
    ) -> Result<(), Failure> {
        let name = name.strip_suffix(NEW).unwrap_or(name);
        progress.failed(name, &failure.what);
        total.fail(name, &failure);
        let ends = failure.exit == Exit::Disk && (!failure.is_of_name || is_closed(&self.to));
        if ends { Err(failure) } else { Ok(()) }
    }

    /// Whether a file is there already, and the same as the server's as far as that
    /// is known: by size, date, and hash if the date differs.
    async fn compare(&self, path: &str, known: Option<KnownFile>) -> LocalFile {
        let file = self.to.join(local(path));
        let Ok(there) = file.symlink_metadata() else { return LocalFile::Missing };
        let Some(known) = known else { return LocalFile::Unknown };
        if !there.is_file() || there.len() != known.size {
            return LocalFile::Changed;
        }
        let date = there.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let Some(modified) = known.modified else { return LocalFile::Same };
        if date.is_some_and(|date| date.as_secs() == modified) {
            return LocalFile::Same;
        }
        let Some(sha1) = known.sha1 else { return LocalFile::Changed };
        let hashed = tokio::task::spawn_blocking(move || sha1_of(&file)).await;
        match hashed {
            Ok(Ok(found)) if found == sha1 => LocalFile::Same,
            _ => LocalFile::Changed,
        }
    }

    /// Puts the new version of a file in the place of the old one.
    fn replace(&self, batch: &Batch<'_>, path: &str, fetch: FetchId) -> Result<(), Failure> {
        let Some(new) = batch.path_of(fetch) else { return Ok(()) };
        let old = self.to.join(local(path));
        std::fs::rename(&new, &old).map_err(|e| {
            let _ = std::fs::remove_file(&new); // It comes again when it can have its name.
            Failure::file("replace", &old, &e).of_name()
        })
    }

    fn options(&self, config: &Config, state: &Path, parallel: usize) -> ServentOptions {
        let mut node = config.settings.node.clone();
        node.overlay.enabled = false;
        node.fetch.decodes = true;
        let most = u32::try_from(parallel).unwrap_or(u32::MAX).saturating_mul(2);
        node.fetch.fetches = node.fetch.fetches.max(most.saturating_add(node.fetch.finished));
        node.fetch.spares = node.fetch.spares.max(most / 2);
        ServentOptions {
            name: "get".into(),
            listen: vec![super::job::listen(None, &[])],
            download_dir: self.to.clone(),
            tree: true,
            ca_file: self.way.ca_file.clone(),
            pins: self.way.pins.clone(),
            credentials: self.way.credentials.clone(),
            proxies: self.way.proxies.clone(),
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

/// What is there of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LocalFile {
    /// Nothing.
    Missing,
    /// The same as the server's.
    Same,
    /// Another version.
    Changed,
    /// Something; what the server has is known when it begins to send.
    Unknown,
}

/// The SHA-1 of a file.
pub(super) fn sha1_of(file: &Path) -> std::io::Result<Sha1> {
    let (mut file, mut digest) = (std::fs::File::open(file)?, sha1::Sha1::new());
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            n => digest.update(&buffer[..n]),
        }
    }
    Ok(Sha1(digest.finalize().into()))
}

/// The local path of a file, below the folder.
fn local(path: &str) -> String {
    servent::driver::safe_path(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_names_are_known_at_any_depth() {
        for (path, hidden) in [
            (".bashrc", true),
            (".ssh/authorized_keys", true),
            ("a/.git/config", true),
            ("a.b/c", false),
        ] {
            assert_eq!(is_hidden(path), hidden, "{path}");
        }
    }
}
