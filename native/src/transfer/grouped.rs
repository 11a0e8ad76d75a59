//! Small files of a transfer, at the sender: many are read at a time, while those before
//! them are sent.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _};

use servent_core::unicast::UnicastPayload;
use tokio::task::{JoinHandle, spawn_blocking};

use super::message::{CHUNK, DATA};
use super::offer::Source;
use super::secret::TAG;
use super::small::{BYTES, FILES, SMALL};

/// A file to be read: its number, where it is, and its length.
type UnreadFile = (usize, Source, u64);

/// A small file that was read.
pub(super) struct ReadFile {
    pub(super) messages: Vec<UnicastPayload>,
    pub(super) sum: [u8; 32],
}

/// What became of it: `None` when it is another one than was offered.
type Outcome = io::Result<Option<ReadFile>>;

/// The small files that are to be sent, in their order.
#[derive(Default)]
pub(super) struct GroupedFiles {
    unread: VecDeque<UnreadFile>,
    reading: Option<JoinHandle<VecDeque<(usize, Outcome)>>>,
    read: VecDeque<(usize, Outcome)>,
}

impl GroupedFiles {
    /// Adds a file, if it is small and on the disk; they come in this order.
    pub(super) fn add(&mut self, entry: usize, source: Option<&Source>, length: Option<u64>) {
        let source = source.filter(|source| source.stamp.is_some());
        let length = length.filter(|length| *length <= SMALL);
        if let Some((source, length)) = source.zip(length) {
            self.unread.push_back((entry, source.clone(), length));
        }
    }

    /// The next file, which is this one; `None` when it is not among them. Dropping the
    /// future loses nothing.
    pub(super) async fn take(&mut self, entry: usize) -> Option<Outcome> {
        if self.read.is_empty() {
            if self.reading.is_none() {
                // The first of all: nothing is read before it is wanted.
                self.unread.front().filter(|(first, ..)| *first == entry)?;
                self.begin();
            }
            let read = match &mut self.reading {
                Some(reading) => reading.await,
                None => return None,
            };
            self.reading = None;
            match read {
                Ok(read) => self.read = read,
                Err(why) => return Some(Err(io::Error::other(why))),
            }
            self.begin();
        }
        let (_, outcome) = self.read.pop_front_if(|(next, _)| *next == entry)?;
        Some(outcome)
    }

    /// Begins to read the next ones.
    fn begin(&mut self) {
        let (mut group, mut bytes) = (Vec::new(), 0);
        while group.len() < FILES && bytes < BYTES {
            let Some(next) = self.unread.pop_front() else { break };
            bytes += next.2;
            group.push(next);
        }
        if !group.is_empty() {
            let one = |(entry, source, length): UnreadFile| (entry, read(&source, length));
            self.reading = Some(spawn_blocking(move || group.into_iter().map(one).collect()));
        }
    }
}

/// Reads a file. Blocks.
fn read(source: &Source, length: u64) -> Outcome {
    let mut file = File::open(&source.path)?;
    let mut hash = blake3::Hasher::new();
    let (mut messages, mut left) = (Vec::new(), length);
    while left > 0 {
        // With room for its seal.
        let mut message = Vec::with_capacity(1 + CHUNK.min(left as usize) + TAG);
        message.push(DATA);
        let most = left.min(CHUNK as u64);
        if ((&mut file).take(most).read_to_end(&mut message)? as u64) < most {
            return Ok(None);
        }
        hash.update(&message[1..]);
        messages.push(message.into());
        left -= most;
    }
    // What was read is a mixture when it has changed meanwhile.
    if let Some(stamp) = source.stamp
        && !stamp.holds(&file, &source.path)?
    {
        return Ok(None);
    }
    Ok(Some(ReadFile { messages, sum: hash.finalize().into() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::FileStamp;

    #[tokio::test]
    async fn small_files_are_read_in_their_order_and_a_changed_one_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let mut files = GroupedFiles::default();
        for n in 0..200 {
            let path = dir.path().join(n.to_string());
            std::fs::write(&path, vec![7; n * 500]).unwrap();
            let about = path.metadata().unwrap();
            let source = Source { path, stamp: Some(FileStamp::of_file(&about)) };
            if n % 3 > 0 {
                files.add(n, Some(&source), Some(about.len()));
            }
        }
        files.add(200, None, Some(1));
        std::fs::write(dir.path().join("100"), "changed").unwrap();
        for n in 0..=200 {
            let outcome = files.take(n).await;
            match n {
                200 => assert!(outcome.is_none(), "it has no path"),
                100 => assert!(matches!(outcome, Some(Ok(None)))),
                n if n % 3 == 0 => assert!(outcome.is_none(), "it was not added"),
                n => {
                    let file = outcome.unwrap().unwrap().unwrap();
                    let bytes: usize = file.messages.iter().map(|message| message.len() - 1).sum();
                    assert_eq!(bytes, n * 500);
                    assert_eq!(file.sum, *blake3::hash(&vec![7; n * 500]).as_bytes());
                }
            }
        }
    }
}
