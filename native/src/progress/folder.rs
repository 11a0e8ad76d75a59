//! Progress of a folder's download: how many of its files are complete.

use std::net::SocketAddr;

use indicatif::ProgressBar;
use serde_json::json;

use super::bars::{add_bar, remove_bar};
use super::{Voice, bytes, count, fetch, rate};

/// Shows a folder.
pub(crate) struct FolderProgress {
    voice: Voice,
    name: String,
    files: u64,
    done: u64,
    bytes: u64,
    bar: Option<ProgressBar>,
}

impl FolderProgress {
    /// For a folder of that many files.
    pub(crate) fn new(voice: Voice, name: &str, files: u64) -> Self {
        let bar = (voice == Voice::Terminal).then(add_bar);
        Self { voice, name: name.to_owned(), files, done: 0, bytes: 0, bar }
    }

    /// One more file is complete.
    pub(crate) fn done(&mut self, file: &str, size: u64, per_second: u64) {
        let before = self.tenth();
        self.done += 1;
        self.bytes += size;
        let Self { name, files, done, .. } = self;
        let line = format!(
            "{name}: {done} of {}, {} at {}",
            count(*files, "file"),
            bytes(self.bytes),
            rate(per_second)
        );
        match (&self.bar, self.voice) {
            (Some(bar), _) => bar.set_message(line),
            (_, Voice::Json) => {
                fetch::print_line(
                    &json!({ "event": "done", "file": file, "bytes": size }).to_string(),
                );
            }
            (_, Voice::Lines) if self.tenth() > before => fetch::eprint_line(&line),
            _ => {}
        }
    }

    /// One file failed.
    pub(crate) fn failed(&self, file: &str, why: &str) {
        let fact = json!({ "event": "failed", "name": file, "why": why });
        self.say(&fact, &format!("{file}: {why}"));
    }

    /// Reports a problem with a source.
    pub(crate) fn trouble(&self, file: &str, at: SocketAddr, what: &str) {
        let fact = json!({ "event": "trouble", "name": file, "source": at, "what": what });
        self.say(&fact, &format!("{file}: {at} {what}"));
    }

    fn say(&self, fact: &serde_json::Value, sentence: &str) {
        self.voice.note(fact, sentence);
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            remove_bar(bar);
        }
    }

    fn tenth(&self) -> u64 {
        (self.done * 10).checked_div(self.files).unwrap_or(0)
    }
}
