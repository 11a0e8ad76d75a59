//! Several downloads of one command: so many at a time, and what became of
//! them in the end.

use std::cell::Cell;
use std::future::ready;

use futures::FutureExt as _;
use futures::stream::{self, StreamExt as _};
use serde_json::json;
use servent::Clock;

use super::job::Job;
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::progress::{Bars, Voice, bytes, count, per_second, rate};

/// What one command is to download.
pub(super) struct All {
    pub(super) jobs: Vec<Job>,
    pub(super) voice: Voice,
    /// More than one was asked for.
    pub(super) several: bool,
    /// Files that are there already.
    pub(super) there: u64,
}

impl Default for All {
    fn default() -> Self {
        Self { jobs: Vec::new(), voice: Voice::Quiet, several: false, there: 0 }
    }
}

impl All {
    /// Runs all downloads, so many at a time; what fails does not stop the
    /// others.
    pub(super) async fn run(&self, config: &Config, parallel: usize) -> Result<(), Failure> {
        if let (false, [job]) = (self.several, &self.jobs[..]) {
            return job.run(config, &Bars::new(self.voice)).await.map(|_| ());
        }
        let (bars, clock) = (Bars::named(self.voice), Clock::new());
        let begun = clock.now();
        let stopped = Cell::new(false);
        let (mut whole, mut size, mut failures) = (0, 0, Vec::new());
        let mut running = stream::iter(&self.jobs)
            .take_while(|_| ready(!stopped.get()))
            .map(|job| job.run(config, &bars).map(move |outcome| (job, outcome)))
            .buffer_unordered(parallel);
        while let Some((job, outcome)) = running.next().await {
            match outcome {
                Ok(bytes) => (whole, size) = (whole + 1, size + bytes),
                Err(failure) => {
                    bars.failed(&job.name(), &failure.to_string());
                    stopped.set(stopped.get() || failure.exit == Exit::Interrupted);
                    failures.push(failure);
                }
            }
        }
        drop(running);
        let total = Total { whole, bytes: size, there: self.there, failed: failures.len() as u64 };
        total.tell(self.voice, per_second(size, clock.now().since(begun)));
        let (count, all) = (failures.len(), self.jobs.len());
        let Some(first) = failures.into_iter().next() else { return Ok(()) };
        let (exit, what) = match stopped.get() {
            true => (Exit::Interrupted, "stopped before all downloads were whole".to_owned()),
            false => (first.exit, format!("{count} of {all} downloads failed")),
        };
        Err(Failure::new(exit, what).next("the same command goes on with what is missing"))
    }
}

/// What became of several downloads.
pub(super) struct Total {
    pub(super) whole: u64,
    pub(super) bytes: u64,
    pub(super) there: u64,
    pub(super) failed: u64,
}

impl Total {
    /// Says it in one sentence.
    pub(super) fn tell(&self, voice: Voice, per_second: u64) {
        let Self { whole, bytes: size, there, failed } = *self;
        let fact = json!({
            "event": "total", "files": whole, "bytes": size, "there": there, "failed": failed,
            "rate": per_second,
        });
        voice.note(&fact, &self.sentence(per_second));
    }

    fn sentence(&self, per_second: u64) -> String {
        let Self { whole, bytes: size, there, failed } = *self;
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
        let total =
            |whole, bytes, there, failed| Total { whole, bytes, there, failed }.sentence(1_024);
        assert_eq!(total(1, 2_048, 0, 0), "1 file, 2.0 KiB at 1.0 KiB/s");
        assert_eq!(total(0, 0, 3, 1), "0 files, 0 B; 3 there already; 1 failed");
    }
}
