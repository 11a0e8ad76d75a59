//! `servent room --record`: the tapes of everybody in one file.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use servent::driver::Handle;
use tokio::time::{sleep, timeout};

use crate::cli::share::told;
use crate::config::Settings;
use crate::exit::{Exit, Failure};
use crate::lab::{Part, Recording};
use crate::progress::{Voice, bytes, count};

/// The folder in the state folder for what a host records without keeping it.
const UNKEPT: &str = "room-recording";
/// How long pages may take to hand in the end of their tapes when a room closes,
/// and how often it is looked whether all have.
const LAST: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(50);

/// Where a room is recorded, and what else its pages are told from the start.
#[derive(Debug)]
pub(crate) struct Record {
    file: Option<PathBuf>,
    /// Pages share nothing.
    given: bool,
}

impl Record {
    /// Into a file; or only while the room is open, if its host wants that.
    ///
    /// # Errors
    /// The tapes of an earlier room are still there.
    pub(super) fn new(file: Option<PathBuf>, given: bool) -> Result<Self, Failure> {
        if let Some(file) = &file {
            let parts = parts(file);
            let made = DirBuilder::new().mode(0o700).create(&parts);
            made.map_err(|why| match why.kind() {
                io::ErrorKind::AlreadyExists => Failure::new(
                    Exit::Disk,
                    format!("{} has the tapes of a room that was cut off", parts.display()),
                )
                .next("look at them with `servent replay`, then delete the folder"),
                _ => Failure::file("create", &parts, &why),
            })?;
        }
        Ok(Self { file, given })
    }

    /// The file of the servent's own tape, unless it has another one.
    pub(super) fn own_tape(&self) -> Option<PathBuf> {
        self.file.as_ref().map(|file| parts(file).join("servent.sqlog"))
    }

    /// Lets the pages of a room be recorded, and begins if that was asked for at
    /// the start.
    pub(crate) fn begin(
        &self,
        settings: &Settings,
        part: &mut Option<Part>,
    ) -> Result<Arc<Recording>, Failure> {
        let recording = match &self.file {
            None => {
                let recording = Recording::new(settings.state.join(UNKEPT), false);
                recording.forget(); // What a room left that was cut off.
                recording
            }
            Some(file) => {
                let recording = Recording::new(parts(file), true);
                recording.begin().map_err(|why| Failure::file("create", &parts(file), &why))?;
                recording
            }
        };
        let recording = Arc::new(recording);
        if let Some(part) = part {
            part.recording = Some(Arc::clone(&recording));
            part.given = self.given;
        }
        Ok(recording)
    }

    /// Writes the file at the end, once the servent's own tape is whole.
    pub(crate) fn keep(
        &self,
        settings: &Settings,
        recording: &Recording,
        voice: Voice,
    ) -> Result<(), Failure> {
        let Some(file) = &self.file else { return Ok(()) };
        let Some(recorded) = recording.recorded() else {
            return Ok(()); // The host has deleted it.
        };
        let own = settings.trace.clone().or_else(|| self.own_tape()).unwrap_or_default();
        let servent = std::fs::read(&own).map_err(|why| Failure::file("read", &own, &why))?;
        let together = recording.put_together(&servent, file);
        let [tapes, left_out] = together.map_err(|why| Failure::file("write", file, &why))?;
        recording.forget();
        let size = std::fs::metadata(file).map_or(0, |about| about.len());
        let fact = json!({
            "event": "recorded", "file": file, "tapes": tapes, "bytes": size,
            "left_out": left_out, "refused": recorded.refused,
        });
        let mut sentence = format!(
            "recorded {}: {}, {}",
            file.display(),
            count(tapes as u64, "tape"),
            bytes(size)
        );
        if left_out > 0 || recorded.refused > 0 {
            sentence += &format!(
                "; {left_out} that are no tapes were left out, and {} pieces beyond the limits",
                recorded.refused
            );
        }
        told(voice, &fact, &sentence)
    }
}

/// Asks all pages for what they have, and waits a little for it.
pub(crate) async fn collect(handle: &Handle, recording: &Recording) {
    if recording.recorded().is_none_or(|recorded| !recorded.kept) {
        return;
    }
    let round = recording.ask();
    handle.tell_pages(&format!("TAPE {round}"));
    let pages = || handle.relayed().map_or(0, |relayed| relayed.pages);
    let all = async {
        while recording.answered(round) < pages() {
            sleep(LOOK).await;
        }
    };
    if timeout(LAST, all).await.is_err() {
        tracing::info!("a page has not handed in the end of its tape");
    }
}

/// Where the tapes of pages are until the room closes.
fn parts(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".parts");
    name.into()
}
