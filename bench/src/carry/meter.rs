//! Counting messages, and talking to the program that started the process.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::Value;

use crate::words::{Counted, Job, Ready};

/// Messages between two looks at the clock.
const STRIDE: u64 = 16;
/// How long after its time a receiver still waits.
const LATE: Duration = Duration::from_secs(60);

/// The clock of the measurements.
#[allow(clippy::disallowed_methods)] // Measuring is the purpose here.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Says something on a line of its own.
pub(crate) fn say<T: Serialize>(what: &T) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(what)?)?;
    Ok(out.flush()?)
}

/// Says where it listens.
pub(crate) fn ready(at: SocketAddr, certificate: Vec<u8>) -> Result<()> {
    say(&Ready { at, certificate })
}

/// Ends the process, with a last word, when it is told to stop.
pub(crate) fn when_stopped<T: Serialize>(last_word: impl FnOnce() -> T + Send + 'static) {
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let failed = say(&last_word()).is_err();
        std::process::exit(i32::from(failed));
    });
}

/// Ends a receiver that never gets enough: on a line without a word from its sender
/// it would wait for ever.
#[allow(clippy::disallowed_methods)] // There is nothing to be seen then.
pub(crate) fn end_when_late(job: &Job) {
    if job.measure_ms == 0 {
        return; // It counts, and takes as long as that takes.
    }
    let within = Duration::from_millis(job.warm_ms + job.measure_ms) + LATE;
    std::thread::spawn(move || {
        std::thread::sleep(within);
        eprintln!("too few messages within {} s", within.as_secs());
        std::process::exit(1);
    });
}

/// Counts messages in the time that is measured.
pub(crate) struct Meter {
    warm: Duration,
    measure: Duration,
    messages: u64,
    unseen: u64,
    first: Option<Instant>,
    from: Option<(Instant, u64)>,
}

impl Meter {
    pub(crate) fn new(job: &Job) -> Self {
        Self {
            warm: Duration::from_millis(job.warm_ms),
            measure: Duration::from_millis(job.measure_ms),
            messages: 0,
            unseen: 0,
            first: None,
            from: None,
        }
    }

    /// So many more have come; what was counted, when that was long enough.
    pub(crate) fn count(&mut self, more: u64) -> Option<Counted> {
        self.messages += more;
        self.unseen += more;
        if self.unseen < STRIDE && self.first.is_some() {
            return None;
        }
        self.unseen = 0;
        let now = now();
        let first = *self.first.get_or_insert(now);
        if now - first < self.warm {
            return None;
        }
        let (since, before) = *self.from.get_or_insert((now, self.messages));
        let seconds = (now - since).as_secs_f64();
        (now - since >= self.measure).then(|| Counted {
            messages: self.messages - before,
            seconds,
            all: self.messages,
            counters: Value::Null,
        })
    }
}

/// Counts the messages of a stream, each behind its length in four bytes.
#[derive(Default)]
pub(crate) struct Frames {
    /// Bytes of the length read so far, and what they say.
    head: (usize, [u8; 4]),
    /// Bytes of the message that are still to come.
    body: usize,
}

impl Frames {
    /// How many messages end in `bytes`.
    pub(crate) fn take(&mut self, mut bytes: &[u8]) -> u64 {
        let mut ended = 0;
        loop {
            if self.head.0 < 4 {
                let Some((first, rest)) = bytes.split_first() else { return ended };
                self.head.1[self.head.0] = *first;
                self.head.0 += 1;
                self.body = u32::from_be_bytes(self.head.1) as usize;
                bytes = rest;
                continue;
            }
            let now = self.body.min(bytes.len());
            self.body -= now;
            bytes = &bytes[now..];
            if self.body > 0 {
                return ended;
            }
            self.head.0 = 0;
            ended += 1;
        }
    }
}

/// Framed messages, about 64 KB of them: what a stream's sender writes at once.
pub(crate) fn framed(size: usize) -> Result<Vec<u8>> {
    let mut one = u32::try_from(size)?.to_be_bytes().to_vec();
    one.resize(size + 4, 7);
    if size == 0 {
        bail!("a message without bytes");
    }
    Ok(one.repeat((64 * 1024 / one.len()).max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_wherever_the_stream_is_cut() {
        let stream = framed(100).unwrap();
        let whole = stream.len() as u64 / 104;
        for cut in [1, 3, 104, 1_000, stream.len()] {
            let mut frames = Frames::default();
            let count: u64 = stream.chunks(cut).map(|bytes| frames.take(bytes)).sum();
            assert_eq!(count, whole, "{cut}");
        }
    }
}
