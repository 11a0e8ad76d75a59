//! The recording of a room: that of its servent and those of all pages, which
//! hand them in piece by piece, as one file.
//!
//! Pages are strangers: one that hands something in knows the secret of its address, and
//! everything it could fill has a limit.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use servent::sys::OwnerOnly as _;
use servent_core::trace::players::{is_tape, tapes};

/// Recordings of one page: it begins a new one with every reload.
const OF_PAGE: usize = 64;
/// Recordings of a room.
const TAPES: usize = 1_024;
/// Bytes of one of them. A page ends its own before that.
const TAPE: u64 = 96 << 20;
/// Bytes of all recordings of pages together.
const ALL: u64 = 2 << 30;
/// Letters by which a page tells its recordings apart.
const RUN: usize = 32;

/// What is recorded of a room, unless nothing is.
#[derive(Debug)]
pub(crate) struct Recording {
    /// Where the recordings of pages are until they are put together.
    folder: PathBuf,
    /// It is kept when the room closes; otherwise it is deleted then.
    kept: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    on: bool,
    tapes: BTreeMap<Name, UploadedRecording>,
    bytes: u64,
    refused: u64,
    /// How often pages were asked to hand in what they have.
    round: u32,
}

/// Of which page, and which of its recordings.
type Name = (SocketAddrV4, String);

#[derive(Debug)]
struct UploadedRecording {
    path: PathBuf,
    bytes: u64,
    round: u32,
}

/// A piece of a recording that a page hands in.
#[derive(Debug)]
pub(super) struct Piece<'a> {
    pub(super) at: SocketAddrV4,
    /// Which of its recordings.
    pub(super) run: &'a str,
    /// Where in the recording it begins.
    pub(super) from: u64,
    /// The request that it answers.
    pub(super) round: u32,
    pub(super) data: &'a [u8],
}

/// Why a piece is not taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RefusedPiece {
    /// Nothing is recorded.
    Off,
    /// It belongs elsewhere: the recording has so many bytes.
    Has(u64),
    /// There is as much as there may be.
    Full,
    /// It cannot be written.
    Failed,
}

/// What is recorded so far, for the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Recorded {
    /// Recordings, with that of the servent.
    pub(crate) tapes: usize,
    /// Bytes of those of pages.
    pub(crate) bytes: u64,
    /// Pieces that were refused.
    pub(crate) refused: u64,
    /// It is kept when the room closes.
    pub(crate) kept: bool,
}

impl Recording {
    /// The recordings of pages are collected in a folder, which is made when it begins.
    pub(crate) fn new(folder: PathBuf, kept: bool) -> Self {
        Self { folder, kept, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to record.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub(crate) fn begin(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).private().create(&self.folder)?;
        self.state().on = true;
        Ok(())
    }

    /// Records no more, and deletes what was recorded.
    pub(crate) fn forget(&self) {
        let mut state = self.state();
        *state = State { round: state.round, ..State::default() };
        if let Err(why) = fs::remove_dir_all(&self.folder)
            && why.kind() != io::ErrorKind::NotFound
        {
            let folder = self.folder.display();
            tracing::warn!(%why, %folder, "the recording of the room cannot be deleted");
        }
    }

    /// What there is; `None` while nothing is recorded.
    pub(crate) fn recorded(&self) -> Option<Recorded> {
        let state = self.state();
        let State { bytes, refused, .. } = *state;
        state.on.then(|| Recorded { tapes: state.tapes.len() + 1, bytes, refused, kept: self.kept })
    }

    /// Pages are to be asked for what they have: the number of the request.
    pub(crate) fn ask(&self) -> u32 {
        let mut state = self.state();
        state.round += 1;
        state.round
    }

    /// How many pages have answered that request.
    pub(crate) fn answered(&self, round: u32) -> usize {
        self.state().tapes.values().filter(|tape| tape.round >= round).count()
    }

    /// Adds a piece; how many bytes the recording has then. One that comes twice is
    /// added once.
    pub(super) fn take(&self, piece: &Piece<'_>) -> Result<u64, RefusedPiece> {
        let mut state = self.state();
        if !state.on {
            return Err(RefusedPiece::Off);
        }
        let taken = self.add(&mut state, piece);
        state.refused += u64::from(matches!(taken, Err(RefusedPiece::Full | RefusedPiece::Failed)));
        taken
    }

    fn add(&self, state: &mut State, piece: &Piece<'_>) -> Result<u64, RefusedPiece> {
        let Piece { at, run, from, round, data } = *piece;
        let name = (at, run.to_owned());
        let has = state.tapes.get(&name).map_or(0, |tape| tape.bytes);
        let length = data.len() as u64;
        if from != has && from.saturating_add(length) != has {
            return Err(RefusedPiece::Has(has));
        }
        let new = if from == has { length } else { 0 };
        let mine = state.tapes.keys().filter(|(of, _)| *of == at).count();
        let first = !state.tapes.contains_key(&name);
        let word = run.len() <= RUN && run.bytes().all(|b| b.is_ascii_alphanumeric());
        if !word
            || has + new > TAPE
            || state.bytes + new > ALL
            || (first && (mine >= OF_PAGE || state.tapes.len() >= TAPES))
        {
            return Err(RefusedPiece::Full);
        }
        let number = state.tapes.len();
        let path = self.folder.join(format!("page-{number}.sqlog"));
        let tape =
            state.tapes.entry(name).or_insert(UploadedRecording { path, bytes: 0, round: 0 });
        append(&tape.path, &data[..new as usize]).map_err(|why| {
            tracing::warn!(%why, "the recording of a page cannot be written");
            RefusedPiece::Failed
        })?;
        tape.bytes += new;
        tape.round = tape.round.max(round);
        let has = tape.bytes;
        state.bytes += new;
        Ok(has)
    }

    /// Writes all recordings into one file, that of the servent first; how many, and
    /// how many were left out because they are none.
    ///
    /// # Errors
    /// A recording cannot be read, or the file cannot be written.
    pub(crate) fn put_together(&self, servent: &[u8], file: &Path) -> io::Result<[usize; 2]> {
        let paths: Vec<_> = self.state().tapes.values().map(|tape| tape.path.clone()).collect();
        let mut to =
            File::options().write(true).create(true).truncate(true).private().open(file)?;
        to.write_all(servent)?;
        let [mut whole, mut left_out] = [1, 0];
        for path in paths {
            let tape = fs::read(path)?;
            // A page that hands in several as one would add members that were never here.
            if is_tape(&tape) && tapes(&tape).len() == 1 {
                let cut = tape.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                to.write_all(&tape[..cut])?;
                whole += 1;
            } else {
                left_out += 1;
            }
        }
        to.sync_all()?;
        Ok([whole, left_out])
    }

    /// Where a copy for the host may be put for a moment.
    pub(super) fn copy(&self) -> PathBuf {
        self.folder.join("room.sqlog")
    }
}

impl Drop for Recording {
    /// What was not kept is gone with the room.
    fn drop(&mut self) {
        if self.state().on {
            self.forget();
        }
    }
}

fn append(path: &Path, data: &[u8]) -> io::Result<()> {
    File::options().append(true).create(true).private().open(path)?.write_all(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAPES_OF: [&str; 2] = ["\u{1e}{\"file_schema\":1}\n", "\u{1e}{\"file_schema\":2}\n"];

    fn at(n: u8) -> SocketAddrV4 {
        SocketAddrV4::new([240, 0, 0, n].into(), 5_000)
    }

    fn piece<'a>(n: u8, run: &'a str, from: u64, data: &'a str) -> Piece<'a> {
        Piece { at: at(n), run, from, round: 1, data: data.as_bytes() }
    }

    /// WB-5
    #[test]
    fn pieces_become_tapes_and_tapes_become_one_file() {
        let dir = tempfile::tempdir().unwrap();
        let recording = Recording::new(dir.path().join("parts"), true);
        assert_eq!(recording.take(&piece(1, "a", 0, "x")), Err(RefusedPiece::Off));
        recording.begin().unwrap();
        let (first, rest) = TAPES_OF[0].split_at(5);
        assert_eq!(recording.take(&piece(1, "a", 0, first)), Ok(5));
        // When an answer is lost, it is unknown whether its piece was taken.
        assert_eq!(recording.take(&piece(1, "a", 0, first)), Ok(5));
        assert_eq!(recording.take(&piece(1, "a", 9, rest)), Err(RefusedPiece::Has(5)));
        assert_eq!(recording.take(&piece(1, "a", 5, rest)), Ok(TAPES_OF[0].len() as u64));
        recording.take(&piece(1, "b", 0, TAPES_OF[1])).unwrap();
        recording.take(&piece(2, "a", 0, "no tape\n")).unwrap();
        recording.take(&piece(3, "a", 0, &TAPES_OF.concat())).unwrap();
        let (asked, file) = (recording.ask(), dir.path().join("room.sqlog"));
        assert_eq!((asked, recording.answered(asked)), (1, 4));
        assert_eq!(recording.put_together(b"own\n", &file).unwrap(), [3, 2]);
        let whole = fs::read_to_string(&file).unwrap();
        assert_eq!(whole, format!("own\n{}{}", TAPES_OF[0], TAPES_OF[1]));
    }

    /// WB-5, WB-6
    #[test]
    fn a_page_fills_no_more_than_its_share() {
        let dir = tempfile::tempdir().unwrap();
        let recording = Recording::new(dir.path().join("parts"), true);
        recording.begin().unwrap();
        for run in 0..OF_PAGE {
            recording.take(&piece(1, &run.to_string(), 0, "x")).unwrap();
        }
        assert_eq!(recording.take(&piece(1, "more", 0, "x")), Err(RefusedPiece::Full));
        assert_eq!(recording.take(&piece(2, "more", 0, "x")), Ok(1));
        assert_eq!(recording.take(&piece(2, "../up", 0, "x")), Err(RefusedPiece::Full));
        recording.state().tapes.get_mut(&(at(2), "more".into())).unwrap().bytes = TAPE;
        assert_eq!(recording.take(&piece(2, "more", TAPE, "x")), Err(RefusedPiece::Full));
        recording.state().bytes = ALL;
        assert_eq!(recording.take(&piece(3, "a", 0, "x")), Err(RefusedPiece::Full));
        assert_eq!(recording.recorded().unwrap().refused, 4);
    }

    /// WB-10
    #[test]
    fn what_is_not_kept_is_gone_with_the_room() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("parts");
        let recording = Recording::new(folder.clone(), false);
        recording.begin().unwrap();
        recording.take(&piece(1, "a", 0, TAPES_OF[0])).unwrap();
        recording.forget();
        assert!(!folder.exists() && recording.recorded().is_none());
        recording.begin().unwrap();
        recording.take(&piece(1, "a", 0, TAPES_OF[0])).unwrap();
        drop(recording);
        assert!(!folder.exists());
    }
}
