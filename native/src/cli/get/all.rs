//! Several downloads of one command: a limited number at a time, and a summary
//! at the end.

use std::cell::Cell;
use std::future::ready;
use std::path::PathBuf;

use futures::FutureExt as _;
use futures::stream::{self, StreamExt as _};
use serde_json::json;
use servent::Clock;
use servent_core::time::Instant;

use super::folder::Folder;
use super::job::{DownloadJob, DownloadResult};
use super::together::Together;
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::progress::{Bars, Voice, bytes, count, per_second, rate};

/// The downloads of one command.
pub(super) struct All {
    pub(super) jobs: Vec<DownloadJob>,
    pub(super) folders: Vec<Folder>,
    voice: Voice,
    several: bool,
    /// Files that already exist.
    pub(super) there: u64,
    /// The list they are in, or the first of them.
    pub(super) key: PathBuf,
    clock: Clock,
    begun: Instant,
}

impl All {
    /// Empty so far. `several`: more than one was asked for.
    pub(super) fn new(voice: Voice, several: bool) -> Self {
        let clock = Clock::new();
        let begun = clock.now();
        let (jobs, folders, key) = (Vec::new(), Vec::new(), PathBuf::new());
        Self { jobs, folders, voice, several, there: 0, key, clock, begun }
    }

    /// True when one was asked for.
    pub(super) const fn is_single(&self) -> bool {
        !self.several
    }

    /// Runs all downloads, at most `parallel` at a time; a failure does not
    /// stop the others.
    pub(super) async fn run(&self, config: &Config, parallel: usize) -> Result<(), Failure> {
        if self.jobs.is_empty() && self.folders.is_empty() && !self.several {
            return Ok(()); // The only one is there already.
        }
        if let (false, [job], []) = (self.several, &self.jobs[..], &self.folders[..]) {
            let DownloadResult::Folder(folder) = job.run(config, &Bars::new(self.voice)).await?
            else {
                return Ok(());
            };
            return self.folders(&[&*folder], config, parallel, Total::default()).await;
        }
        let mut found = Vec::new();
        let total = self.files(config, parallel, &mut found).await?;
        let folders: Vec<&Folder> = self.folders.iter().chain(&found).collect();
        self.folders(&folders, config, parallel, total).await
    }

    /// The folders, one after the other, and then the summary of everything.
    async fn folders(
        &self,
        folders: &[&Folder],
        config: &Config,
        parallel: usize,
        mut total: Total,
    ) -> Result<(), Failure> {
        for folder in folders {
            if total.exit == Some(Exit::Interrupted) {
                break;
            }
            match folder.run(config, parallel).await {
                Ok(more) => total.add(&more),
                Err(failure) if !self.several => return Err(failure),
                Err(failure) => {
                    Bars::named(self.voice).failed(&folder.name(), &failure);
                    total.add(&Total { failed: 1, exit: Some(failure.exit), ..Total::default() });
                }
            }
        }
        total.there += self.there;
        total.tell(self.voice, per_second(total.came, self.clock.now().since(self.begun)));
        total.verdict()
    }

    /// The single files. Some may turn out to be folders.
    ///
    /// # Errors
    /// The same command is already running.
    async fn files(
        &self,
        config: &Config,
        parallel: usize,
        found: &mut Vec<Folder>,
    ) -> Result<Total, Failure> {
        let bars = Bars::named(self.voice);
        let stopped = Cell::new(false);
        let ended = Cell::new(0_u64);
        let mut total = Total::default();
        let mut end = |job: &DownloadJob, outcome: Result<DownloadResult, Failure>| {
            ended.set(ended.get() + 1);
            match outcome {
                Ok(DownloadResult::File { size: bytes, came }) => {
                    total.add(&Total { whole: 1, bytes, came, ..Total::default() });
                }
                Ok(DownloadResult::Folder(folder)) => found.push(*folder),
                Err(failure) => {
                    bars.failed(&job.name(), &failure);
                    stopped.set(stopped.get() || failure.exit == Exit::Interrupted);
                    total.add(&Total { failed: 1, exit: Some(failure.exit), ..Total::default() });
                }
            }
        };
        let (together, alone) = Together::select(&self.jobs, &self.key, config);
        let done = together.run(config, (&bars, parallel), &mut end).await;
        let done = match done {
            Err(failure) if failure.exit == Exit::Running => return Err(failure),
            done => done,
        };
        let left = together.len() - ended.get();
        if done.as_ref().is_err_and(|failure| failure.exit == Exit::Interrupted) {
            stopped.set(true);
        }
        let mut running = stream::iter(alone)
            .take_while(|_| ready(!stopped.get()))
            .map(|job| job.run(config, &bars).map(move |outcome| (job, outcome)))
            .buffer_unordered(parallel);
        while let Some((job, outcome)) = running.next().await {
            end(job, outcome);
        }
        if let Err(failure) = done {
            // Of those that had not ended.
            if failure.exit != Exit::Interrupted {
                bars.failed(&self.key.to_string_lossy(), &failure);
            }
            total.add(&Total { failed: left, exit: Some(failure.exit), ..Total::default() });
        }
        Ok(total)
    }
}

/// The results of several downloads.
#[derive(Debug, Default)]
pub(super) struct Total {
    pub(super) whole: u64,
    pub(super) bytes: u64,
    /// How many of them came now; an earlier command had left the others.
    pub(super) came: u64,
    pub(super) there: u64,
    /// How many of the whole ones replace another version.
    pub(super) changed: u64,
    pub(super) failed: u64,
    /// The exit code of the first failure, or of being stopped by the user.
    pub(super) exit: Option<Exit>,
}

impl Total {
    fn add(&mut self, more: &Self) {
        self.whole += more.whole;
        self.bytes += more.bytes;
        self.came += more.came;
        self.there += more.there;
        self.changed += more.changed;
        self.failed += more.failed;
        if self.exit.is_none() || more.exit == Some(Exit::Interrupted) {
            self.exit = more.exit.or(self.exit);
        }
    }

    /// An error unless all of them succeeded.
    fn verdict(&self) -> Result<(), Failure> {
        let all = self.whole + self.failed;
        let (exit, what) = match (self.exit, self.failed) {
            (Some(Exit::Interrupted), _) => {
                (Exit::Interrupted, "stopped before all downloads were whole".to_owned())
            }
            (None, 0) => return Ok(()),
            (exit, failed) => (
                exit.unwrap_or(Exit::Network),
                format!("{failed} of {} failed", count(all, "download")),
            ),
        };
        Err(Failure::new(exit, what).next("the same command goes on with what is missing"))
    }

    /// Reports it in one sentence.
    pub(super) fn tell(&self, voice: Voice, per_second: u64) {
        let Self { whole, bytes: size, there, changed, failed, .. } = *self;
        let fact = json!({
            "event": "total", "files": whole, "bytes": size, "there": there, "changed": changed,
            "failed": failed,
            "rate": per_second,
        });
        voice.note(&fact, &self.sentence(per_second));
    }

    fn sentence(&self, per_second: u64) -> String {
        let Self { whole, bytes: size, there, changed, failed, .. } = *self;
        let mut text = format!("{}, {}", count(whole, "file"), bytes(size));
        if size > 0 {
            text.push_str(&format!(" at {}", rate(per_second)));
        }
        if changed > 0 {
            text.push_str(&format!("; {} new, {changed} changed", whole - changed));
        }
        if there > 0 {
            text.push_str(&format!("; {there} there already"));
        }
        if failed > 0 {
            text.push_str(&format!("; {failed} failed"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_one_sentence() {
        let total = |whole, bytes, there, failed| {
            Total { whole, bytes, came: bytes, there, failed, ..Total::default() }.sentence(1_024)
        };
        assert_eq!(total(1, 2_048, 0, 0), "1 file, 2.0 KiB at 1.0 KiB/s");
        assert_eq!(total(0, 0, 3, 1), "0 files, 0 B; 3 there already; 1 failed");
    }
}
