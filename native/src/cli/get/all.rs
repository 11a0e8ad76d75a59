//! Several downloads of one command: so many at a time, and what became of
//! them in the end.

use std::cell::Cell;
use std::future::ready;

use futures::FutureExt as _;
use futures::stream::{self, StreamExt as _};
use serde_json::json;
use servent::Clock;

use super::folder::Folder;
use super::job::Job;
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::progress::{Bars, Voice, bytes, count, per_second, rate};

/// What one command is to download.
pub(super) struct All {
    pub(super) jobs: Vec<Job>,
    pub(super) folders: Vec<Folder>,
    pub(super) voice: Voice,
    /// More than one was asked for.
    pub(super) several: bool,
    /// Files that are there already.
    pub(super) there: u64,
}

impl Default for All {
    fn default() -> Self {
        Self {
            jobs: Vec::new(),
            folders: Vec::new(),
            voice: Voice::Quiet,
            several: false,
            there: 0,
        }
    }
}

impl All {
    /// Runs all downloads, so many at a time; what fails does not stop the
    /// others.
    pub(super) async fn run(&self, config: &Config, parallel: usize) -> Result<(), Failure> {
        if let (false, [job], []) = (self.several, &self.jobs[..], &self.folders[..]) {
            return job.run(config, &Bars::new(self.voice)).await.map(|_| ());
        }
        let clock = Clock::new();
        let begun = clock.now();
        let mut total = self.files(config, parallel).await;
        total.there += self.there;
        for folder in &self.folders {
            if total.exit == Some(Exit::Interrupted) {
                break;
            }
            match folder.run(config, parallel).await {
                Ok(more) => total.add(&more),
                Err(failure) if !self.several => return Err(failure),
                Err(failure) => {
                    Bars::named(self.voice).failed(&folder.name(), &failure.to_string());
                    total.add(&Total { failed: 1, exit: Some(failure.exit), ..Total::default() });
                }
            }
        }
        total.tell(self.voice, per_second(total.bytes, clock.now().since(begun)));
        total.verdict()
    }

    /// The single files.
    async fn files(&self, config: &Config, parallel: usize) -> Total {
        let bars = Bars::named(self.voice);
        let stopped = Cell::new(false);
        let mut total = Total::default();
        let mut running = stream::iter(&self.jobs)
            .take_while(|_| ready(!stopped.get()))
            .map(|job| job.run(config, &bars).map(move |outcome| (job, outcome)))
            .buffer_unordered(parallel);
        while let Some((job, outcome)) = running.next().await {
            match outcome {
                Ok(bytes) => total.add(&Total { whole: 1, bytes, ..Total::default() }),
                Err(failure) => {
                    bars.failed(&job.name(), &failure.to_string());
                    stopped.set(stopped.get() || failure.exit == Exit::Interrupted);
                    total.add(&Total { failed: 1, exit: Some(failure.exit), ..Total::default() });
                }
            }
        }
        total
    }
}

/// What became of several downloads.
#[derive(Debug, Default)]
pub(super) struct Total {
    pub(super) whole: u64,
    pub(super) bytes: u64,
    pub(super) there: u64,
    pub(super) failed: u64,
    /// How the first one failed, or that the user stopped it.
    pub(super) exit: Option<Exit>,
}

impl Total {
    fn add(&mut self, more: &Self) {
        self.whole += more.whole;
        self.bytes += more.bytes;
        self.there += more.there;
        self.failed += more.failed;
        if self.exit.is_none() || more.exit == Some(Exit::Interrupted) {
            self.exit = more.exit.or(self.exit);
        }
    }

    /// Whether all came.
    fn verdict(&self) -> Result<(), Failure> {
        let all = self.whole + self.failed;
        let (exit, what) = match (self.exit, self.failed) {
            (Some(Exit::Interrupted), _) => {
                (Exit::Interrupted, "stopped before all downloads were whole".to_owned())
            }
            (None, 0) => return Ok(()),
            (exit, failed) => {
                (exit.unwrap_or(Exit::Network), format!("{failed} of {all} downloads failed"))
            }
        };
        Err(Failure::new(exit, what).next("the same command goes on with what is missing"))
    }

    /// Says it in one sentence.
    pub(super) fn tell(&self, voice: Voice, per_second: u64) {
        let Self { whole, bytes: size, there, failed, .. } = *self;
        let fact = json!({
            "event": "total", "files": whole, "bytes": size, "there": there, "failed": failed,
            "rate": per_second,
        });
        voice.note(&fact, &self.sentence(per_second));
    }

    fn sentence(&self, per_second: u64) -> String {
        let Self { whole, bytes: size, there, failed, .. } = *self;
        let mut text = format!("{}, {}", count(whole, "file"), bytes(size));
        if size > 0 {
            text.push_str(&format!(" at {}", rate(per_second)));
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
            Total { whole, bytes, there, failed, exit: None }.sentence(1_024)
        };
        assert_eq!(total(1, 2_048, 0, 0), "1 file, 2.0 KiB at 1.0 KiB/s");
        assert_eq!(total(0, 0, 3, 1), "0 files, 0 B; 3 there already; 1 failed");
    }
}
