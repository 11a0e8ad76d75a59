//! `-o -`: writes the bytes of a download to standard output, or to a device or a
//! pipe with a name, in order, as they arrive.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use servent::sys::{self, is_closed_pipe, is_device};
use tokio::sync::oneshot;

use crate::exit::{Exit, Failure, error_text};

/// Where the bytes of a download go in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OrderedOutput {
    Stdout,
    /// A device such as `/dev/null`, or a pipe with a name.
    Device(PathBuf),
}

impl OrderedOutput {
    /// What `-o` names, if it is no file or folder.
    pub(super) fn named(output: &Path) -> Option<Self> {
        if output == Path::new("-") {
            return Some(Self::Stdout);
        }
        is_device(&output.metadata().ok()?).then(|| Self::Device(output.to_path_buf()))
    }

    fn open(&self) -> io::Result<File> {
        match self {
            Self::Stdout => sys::output(),
            Self::Device(path) => File::options().write(true).open(path),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Stdout => String::from("standard output"),
            Self::Device(path) => path.display().to_string(),
        }
    }
}

/// Copies the start of a file to such an output as it grows, on a separate
/// thread: the reader may be slow, and the end of the program does not wait for
/// it.
pub(super) struct Pour {
    to: OrderedOutput,
    front: Option<mpsc::Sender<u64>>,
    end: oneshot::Receiver<io::Result<()>>,
}

/// How writing in order has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PourEnd {
    /// Everything is written.
    Whole,
    /// The program that reads it has closed its end, as `head` does.
    Unwanted,
}

impl Pour {
    /// For the file of that name in that folder, which ends in `.part` until it
    /// is complete.
    pub(super) fn begin(folder: &Path, name: &str, to: &OrderedOutput) -> Self {
        let (send, front) = mpsc::channel();
        let (done, end) = oneshot::channel();
        let (part, whole) = (folder.join(format!("{name}.part")), folder.join(name));
        let out = to.clone();
        std::thread::spawn(move || {
            let poured = out.open().and_then(|out| pour(&front, (&part, &whole), out));
            let _ = done.send(poured); // There may be no receiver.
        });
        Self { to: to.clone(), front: Some(send), end }
    }

    /// That many bytes from the start are available.
    pub(super) fn upto(&self, bytes: u64) {
        if let Some(front) = &self.front {
            let _ = front.send(bytes); // `ended` reports how it ended.
        }
    }

    /// No more bytes will follow: `ended` resolves when all are written.
    pub(super) fn last(&mut self) {
        self.front = None;
    }

    /// Waits for the end. An end before [`Pour::last`] is a failure, unless the program
    /// that reads the bytes wants no more of them.
    pub(super) async fn ended(&mut self) -> Result<PourEnd, Failure> {
        match (&mut self.end).await {
            Ok(Ok(())) => Ok(PourEnd::Whole),
            Ok(Err(e)) if is_closed_pipe(&e) => Ok(PourEnd::Unwanted),
            Ok(Err(e)) => {
                let what = format!("cannot write to {}: {}", self.to.name(), error_text(&e));
                Err(Failure::new(Exit::Disk, what).mend(&e))
            }
            Err(_) => Err(Failure::new(Exit::Failed, format!("{} is gone", self.to.name()))),
        }
    }
}

/// The system copies from the file to a pipe or a socket: the bytes do not come through
/// this program.
fn pour(
    front: &mpsc::Receiver<u64>,
    (part, whole): (&Path, &Path),
    mut out: File,
) -> io::Result<()> {
    let (mut file, mut at) = (None, 0);
    for upto in front {
        if upto > at && file.is_none() {
            file = Some(File::open(part).or_else(|_| File::open(whole))?);
        }
        let Some(file) = &mut file else { continue };
        let more = upto.saturating_sub(at);
        if io::copy(&mut file.take(more), &mut out)? < more {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        at = at.max(upto);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_takes_bytes_and_a_file_does_not() {
        let device = OrderedOutput::Device("/dev/null".into());
        assert_eq!(OrderedOutput::named("/dev/null".as_ref()), Some(device));
        assert_eq!(OrderedOutput::named("-".as_ref()), Some(OrderedOutput::Stdout));
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, b"x").unwrap();
        let none = dir.path().join("none");
        for path in [file.as_path(), dir.path(), none.as_path()] {
            assert_eq!(OrderedOutput::named(path), None, "{}", path.display());
        }
    }

    #[test]
    fn bytes_are_poured_in_order_as_they_come() {
        let dir = tempfile::tempdir().unwrap();
        let (part, whole) = (dir.path().join("f.part"), dir.path().join("f"));
        std::fs::write(&part, b"0123456789").unwrap();
        let (send, front) = mpsc::channel();
        for upto in [0, 3, 3, 2, 10] {
            send.send(upto).unwrap();
        }
        drop(send);
        let out = File::create(dir.path().join("out")).unwrap();
        pour(&front, (&part, &whole), out).unwrap();
        assert_eq!(std::fs::read(dir.path().join("out")).unwrap(), b"0123456789");
        let (send, front) = mpsc::channel();
        send.send(11).unwrap();
        drop(send);
        let out = File::create(dir.path().join("short")).unwrap();
        let short = pour(&front, (&part, &whole), out).unwrap_err();
        assert_eq!(short.kind(), io::ErrorKind::UnexpectedEof);
    }
}
