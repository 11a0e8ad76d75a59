//! `-o -`: writes the bytes of a download to standard output, in order, as they
//! arrive.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use tokio::sync::oneshot;

use crate::exit::{Exit, Failure, error_text};

/// Bytes copied at a time.
const COPY: usize = 256 * 1024;

/// Copies the start of a file to standard output as it grows, on a separate
/// thread: the reader may be slow, and the end of the program does not wait for
/// it.
pub(super) struct Pour {
    front: Option<mpsc::Sender<u64>>,
    end: oneshot::Receiver<io::Result<()>>,
}

impl Pour {
    /// For the file of that name in that folder, which ends in `.part` until it
    /// is complete.
    pub(super) fn begin(folder: &Path, name: &str) -> Self {
        let (send, front) = mpsc::channel();
        let (done, end) = oneshot::channel();
        let (part, whole) = (folder.join(format!("{name}.part")), folder.join(name));
        std::thread::spawn(move || {
            let _ = done.send(pour(&front, &part, &whole)); // There may be no receiver.
        });
        Self { front: Some(send), end }
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

    /// Waits for the end. An end before [`Pour::last`] is a failure.
    pub(super) async fn ended(&mut self) -> Result<(), Failure> {
        match (&mut self.end).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(e)) if e.kind() == io::ErrorKind::BrokenPipe => {
                Err(Failure::new(Exit::Disk, "whoever read standard output has closed it"))
            }
            Ok(Err(e)) => {
                let what = format!("cannot write to standard output: {}", error_text(&e));
                Err(Failure::new(Exit::Disk, what).mend(&e))
            }
            Err(_) => Err(Failure::new(Exit::Failed, "standard output is gone")),
        }
    }
}

fn pour(front: &mpsc::Receiver<u64>, part: &PathBuf, whole: &PathBuf) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut buffer = vec![0; COPY];
    let (mut file, mut at) = (None, 0);
    for upto in front {
        if upto > at && file.is_none() {
            file = Some(File::open(part).or_else(|_| File::open(whole))?);
        }
        let Some(file) = &file else { continue };
        while at < upto {
            let most = usize::try_from(upto - at).unwrap_or(COPY).min(COPY);
            let n = file.read_at(&mut buffer[..most], at)?;
            if n == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            out.write_all(&buffer[..n])?;
            at += n as u64;
        }
        out.flush()?;
    }
    Ok(())
}
