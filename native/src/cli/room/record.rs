//! `servent room --record`: the recordings of all pages in one file.

use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use servent::driver::Handle;
use servent::sys::OwnerOnly as _;

use crate::cli::new_file;
use crate::cli::serve::share::told;
use crate::config::Settings;
use crate::exit::{Exit, Failure};
use crate::lab::{self, PageParticipation, Recording};
use crate::progress::{Voice, bytes, count};

/// The folder in the state folder for what a host records without keeping it.
const UNKEPT: &str = "room-recording";
/// What to do with `--check`.
const CHECK: &str = "\
Open the address of the room on two devices of the network where the room will be; \
each says what works.
When a device cannot open it at all: a firewall on this machine shuts port 6380, or the network
keeps devices apart (usual for guests). The way round is another network, or the hotspot of a
phone or of this machine; and without any network, a recording: servent room replay FILE --lab";

/// Where a room is recorded, and what else its pages are told from the start.
#[derive(Debug)]
pub(crate) struct Record {
    file: Option<PathBuf>,
    begin: Begin,
}

/// What pages are told from the start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begin {
    /// They share nothing.
    pub(super) given: bool,
    /// They need a code.
    pub(super) code: bool,
    /// People type their names.
    pub(super) typed: bool,
    /// They try the network.
    pub(super) check: bool,
}

impl Record {
    /// Into a file; or only while the room is open, if its host wants that.
    ///
    /// # Errors
    /// There is a file of that name, or the recordings of an earlier room are still there.
    pub(super) fn new(file: Option<PathBuf>, begin: Begin) -> Result<Self, Failure> {
        if let Some(file) = &file {
            if file.is_file() {
                return Err(new_file::there(file));
            }
            let parts = parts(file);
            let made = DirBuilder::new().private().create(&parts);
            made.map_err(|why| match why.kind() {
                io::ErrorKind::AlreadyExists => Failure::new(
                    Exit::Disk,
                    format!("{} has the recordings of a room that was cut off", parts.display()),
                )
                .next("look at them with `servent replay`, then delete the folder"),
                _ => Failure::file("create", &parts, &why),
            })?;
        }
        Ok(Self { file, begin })
    }

    /// The file of the servent's own recording, unless it has another one.
    pub(super) fn own_tape(&self) -> Option<PathBuf> {
        self.file.as_ref().map(|file| parts(file).join("servent.sqlog"))
    }

    /// Says what to try before a class comes, and what it means when it does not work.
    pub(crate) fn explain_check(&self, voice: Voice) -> Result<(), Failure> {
        if !self.begin.check || voice == Voice::Json {
            return Ok(());
        }
        told(voice, &json!(null), CHECK)
    }

    /// Draws the code that pages need, if they need one; it is on the screen, too.
    pub(crate) fn draw_code(&self, handle: &Handle, voice: Voice) -> Result<(), Failure> {
        handle.renew_code(self.begin.code);
        let Some(code) = handle.code() else { return Ok(()) };
        told(voice, &json!({ "event": "code", "code": code }), &format!("code {code}"))
    }

    /// Lets the pages of a room be recorded, and begins if that was asked for at
    /// the start.
    pub(crate) fn begin(
        &self,
        settings: &Settings,
        part: &mut Option<PageParticipation>,
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
            part.given = self.begin.given;
            part.type_names(self.begin.typed);
            part.check = self.begin.check;
        }
        Ok(recording)
    }

    /// Writes the file at the end, once the servent's own recording is whole.
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
            count(tapes as u64, "recording"),
            bytes(size)
        );
        if left_out > 0 || recorded.refused > 0 {
            sentence += &format!(
                "; {left_out} that are no recordings were left out, and {} beyond the limits",
                count(recorded.refused, "piece")
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
    lab::collect(handle, recording).await;
}

/// Where the recordings of pages are until the room closes.
fn parts(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".parts");
    name.into()
}
