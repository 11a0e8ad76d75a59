//! `servent lesson pack`: a lesson for a learning platform.

use std::fs::OpenOptions;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use clap::Args;
use servent_sim::lesson::Lesson;

use super::super::{new_file, print};
use super::{proofread, text};
use crate::exit::{Exit, Failure};
use crate::lab::packed_page;
use crate::progress::bytes;
use crate::scorm::write_package;

/// Write a SCORM 1.2 package of a lesson, for a learning platform.
///
/// The page and the lesson are inside, so the platform needs nothing else. It is
/// told when every question was answered, and the share of right first answers.
/// A file that is there already is left as it is.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent lesson pack mine.toml
  servent lesson pack cut-the-wire --out week-3.zip")]
pub(super) struct Pack {
    /// The lesson: a file, or one that `servent lesson list` names.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The package; otherwise the lesson's id with `.zip`, here.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn pack(Pack { file, out }: &Pack) -> Result<(), Failure> {
    let text = text(file)?;
    let lesson = proofread(file, &text)?;
    let out = out.clone().unwrap_or_else(|| PathBuf::from(format!("{}.zip", lesson.id)));
    let there = || new_file::there(&out).next("name another file with --out, or delete that one");
    if out.exists() {
        return Err(there());
    }
    let page = packed_page();
    if page.is_empty() {
        return Err(Failure::new(Exit::Failed, "the page is not in this program")
            .next("build it with `cargo xtask page` and build the program again"));
    }
    let size = write(&out, &lesson, &text, page).map_err(|why| match why.kind() {
        io::ErrorKind::AlreadyExists => there(),
        _ => Failure::file("write", &out, &why),
    })?;
    print(format!("{}: {}, {}\n", out.display(), lesson.title, bytes(size)))
}

fn write(out: &Path, lesson: &Lesson, text: &str, page: &[(&str, &[u8])]) -> io::Result<u64> {
    let file = OpenOptions::new().write(true).create_new(true).open(out)?;
    let written = write_package(BufWriter::new(file), lesson, text, page)
        .and_then(|file| file.into_inner().map_err(io::IntoInnerError::into_error))
        .and_then(|file| file.sync_all().and_then(|()| file.metadata()));
    // Half a package would be taken for one.
    written.map(|about| about.len()).inspect_err(|_| drop(std::fs::remove_file(out)))
}
