//! Several downloads of one command: a limited number at a time, and a summary
//! at the end.

use std::cell::Cell;
use std::future::ready;
use std::path::PathBuf;

use futures::FutureExt as _;
use futures::stream::{self, StreamExt as _};
use serde_json::json;
use servent::Clock;
use servent_core::text::Shown;
use servent_core::time::Instant;

use crate::cli::get::folder::Folder;
use crate::cli::get::job::{DownloadJob, DownloadResult};
use crate::cli::get::together::Together;
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::progress::{Bars, Voice, bytes, count, per_second, rate};

/// How many of the downloads that failed the summary names.
const NAMED: usize = 5;

/// The downloads of one command.
pub(crate) struct All {
    pub(crate) jobs: Vec<DownloadJob>,
    pub(crate) folders: Vec<Folder>,
    voice: Voice,
    several: bool,
    /// What became of files of which something exists already.
    pub(crate) before: Total,
    /// The list they are in, or the first of them.
    pub(crate) key: PathBuf,
    clock: Clock,
    begun: Instant,
}

impl All {
    /// Empty so far. `several`: more than one was asked for.
    pub(crate) fn new(voice: Voice, several: bool) -> Self {
        let clock = Clock::new();
        let begun = clock.now();
        let (jobs, folders, key) = (Vec::new(), Vec::new(), PathBuf::new());
        Self { jobs, folders, voice, several, before: Total::default(), key, clock, begun }
    }

    /// True when one was asked for.
    pub(crate) const fn is_single(&self) -> bool {
        !self.several
    }

    /// Runs all downloads, at most `parallel` at a time; a failure does not
    /// stop the others.
    pub(crate) async fn run(&self, config: &Config, parallel: usize) -> Result<(), Failure> {
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
            if total.stopped {
                break;
            }
            match folder.run(config, parallel).await {
                Ok(more) => total.add(&more),
                Err(failure) if !self.several => return Err(failure),
                Err(failure) if failure.exit == Exit::Interrupted => total.stopped = true,
                Err(failure) => {
                    Bars::named(self.voice).failed(&folder.name(), &failure);
                    total.fail(&folder.name(), &failure);
                }
            }
        }
        total.add(&self.before);
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
                Ok(DownloadResult::Unwanted) => total.there += 1, // Several go to no pipe.
                Err(failure) if failure.exit == Exit::Interrupted => stopped.set(true),
                Err(failure) => {
                    bars.failed(&job.title(), &failure);
                    total.fail(&job.title(), &failure);
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
                let is_of_disk = failure.exit == Exit::Disk;
                let exit = Some(failure.exit);
                total.add(&Total { failed: left, exit, is_of_disk, ..Total::default() });
            }
        }
        total.stopped = stopped.get();
        if total.stopped {
            let ended = total.whole + total.there + total.failed + found.len() as u64;
            total.left = (self.jobs.len() as u64).saturating_sub(ended);
        }
        Ok(total)
    }
}

/// The results of several downloads.
#[derive(Debug, Default)]
pub(crate) struct Total {
    pub(crate) whole: u64,
    pub(crate) bytes: u64,
    /// How many of them came now; an earlier command had left the others.
    pub(crate) came: u64,
    pub(crate) there: u64,
    /// How many of the whole ones replace another version.
    pub(crate) changed: u64,
    pub(crate) failed: u64,
    /// The first names of these.
    pub(crate) failed_names: Vec<String>,
    /// The exit code of the first failure.
    pub(crate) exit: Option<Exit>,
    /// The disk takes no more, whatever its name.
    pub(crate) is_of_disk: bool,
    /// The user has stopped it.
    pub(crate) stopped: bool,
    /// How many had not ended then.
    pub(crate) left: u64,
}

impl Total {
    /// Adds one that failed.
    pub(crate) fn fail(&mut self, name: &str, why: &Failure) {
        let is_of_disk = why.exit == Exit::Disk && !why.is_of_name;
        let (failed_names, exit) = (vec![name.to_owned()], Some(why.exit));
        self.add(&Self { failed: 1, failed_names, exit, is_of_disk, ..Self::default() });
    }

    pub(crate) fn add(&mut self, more: &Self) {
        self.whole += more.whole;
        self.bytes += more.bytes;
        self.came += more.came;
        self.there += more.there;
        self.changed += more.changed;
        self.failed += more.failed;
        self.stopped |= more.stopped;
        self.left += more.left;
        self.is_of_disk |= more.is_of_disk;
        let room = NAMED.saturating_sub(self.failed_names.len());
        self.failed_names.extend(more.failed_names.iter().take(room).cloned());
        // Of a full disk the user has to know.
        let exit = self.exit.or(more.exit);
        self.exit = if self.is_of_disk { Some(Exit::Disk) } else { exit };
    }

    /// An error unless all of them succeeded. Where some did, that is another one than
    /// where none did; a disk that takes no more is one of its own.
    fn verdict(&self) -> Result<(), Failure> {
        let all = self.whole + self.failed;
        let in_part = self.whole + self.there > 0 && !self.is_of_disk;
        let (exit, what) = match self.failed {
            _ if self.stopped => {
                (Exit::Interrupted, "stopped before all downloads were whole".to_owned())
            }
            0 => return Ok(()),
            failed => (
                if in_part { Exit::InPart } else { self.exit.unwrap_or(Exit::Network) },
                format!("{failed} of {} failed", count(all, "download")),
            ),
        };
        Err(Failure::new(exit, what).next("the same command goes on with what is missing"))
    }

    /// Reports it in one sentence.
    pub(crate) fn tell(&self, voice: Voice, per_second: u64) {
        let Self { whole, bytes: size, there, changed, failed, left, .. } = *self;
        let fact = json!({
            "event": "total", "files": whole, "bytes": size, "there": there, "changed": changed,
            "failed": failed, "left": left,
            "rate": per_second,
        });
        voice.note(&fact, &self.sentence(per_second));
    }

    fn sentence(&self, per_second: u64) -> String {
        let Self { whole, bytes: size, there, changed, failed, left, ref failed_names, .. } = *self;
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
            let names: Vec<String> = failed_names.iter().map(|n| Shown(n).to_string()).collect();
            let more = failed.saturating_sub(names.len() as u64);
            match (names.is_empty(), more) {
                (true, _) => {}
                (false, 0) => text.push_str(&format!(": {}", names.join(", "))),
                (false, more) => text.push_str(&format!(": {} and {more} more", names.join(", "))),
            }
        }
        if left > 0 {
            text.push_str(&format!("; stopped, {left} not whole yet"));
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
        let stopped = Total { whole: 1, stopped: true, left: 3, ..Total::default() };
        assert_eq!(stopped.sentence(0), "1 file, 0 B; stopped, 3 not whole yet");
    }

    #[test]
    fn some_and_none_end_with_different_codes() {
        let code = |whole, there, failed: &[Exit], stopped| {
            let mut total = Total { whole, there, stopped, ..Total::default() };
            failed.iter().for_each(|exit| total.fail("x", &Failure::new(*exit, "")));
            total.verdict().err().map(|failure| failure.exit)
        };
        assert_eq!(code(3, 0, &[], false), None);
        assert_eq!(code(0, 0, &[Exit::Refused, Exit::Network], false), Some(Exit::Refused));
        assert_eq!(code(1, 0, &[Exit::Refused], false), Some(Exit::InPart));
        assert_eq!(code(0, 1, &[Exit::Network], false), Some(Exit::InPart));
        assert_eq!(code(1, 0, &[Exit::Network, Exit::Disk], false), Some(Exit::Disk));
        assert_eq!(code(1, 0, &[Exit::Network], true), Some(Exit::Interrupted));
        let mut total = Total { whole: 1, ..Total::default() };
        total.fail("x", &Failure::new(Exit::Disk, "a folder is there").of_name());
        let end = total.verdict().unwrap_err();
        assert_eq!(end.exit, Exit::InPart, "other names are free");
        assert_eq!(total.sentence(0), "1 file, 0 B; 1 failed: x");
        (0..NAMED).for_each(|_| total.fail("y", &Failure::new(Exit::Refused, "")));
        assert!(total.sentence(0).ends_with("; 6 failed: x, y, y, y, y and 1 more"));
    }
}
