//! The line between two machines: below IP, so that the kernel's TCP, quinn and
//! ours cross the very same one.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use servent_core::rng::Rng;

use super::machine::Machine;
use crate::measure::now;

/// Larger than what a device gives.
const PACKET: usize = 65_536;
/// Packets taken before the clock is looked at again.
const BATCH: usize = 64;
/// How long it waits when there is nothing to wait for.
const IDLE: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    /// Megabits of IP a second.
    pub(super) rate: u64,
    /// There and back.
    pub(super) trip: Duration,
    /// Of ten thousand packets so many are lost, on the way there.
    pub(super) loss: u64,
    /// How long a packet waits at most until it is on the line.
    pub(super) buffer: Duration,
}

/// What was seen of the packets on the way there.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Bytes that were to be carried, headers of IP included.
    pub(super) bytes: u64,
    /// How long each packet waited, in microseconds.
    pub(super) waits: Vec<u32>,
}

/// Carries packets until it is dropped.
pub(super) struct Carrier {
    ends: Arc<AtomicBool>,
    seen: Arc<Mutex<Seen>>,
    threads: Vec<JoinHandle<()>>,
}

impl Carrier {
    pub(super) fn start(line: Line, here: &Machine, there: &Machine, seed: u64) -> Result<Self> {
        let (ends, seen) = (Arc::new(AtomicBool::new(false)), Arc::<Mutex<Seen>>::default());
        let back = Line { loss: 0, ..line };
        let mut threads = Vec::new();
        for (line, from, to, counts) in [(line, here, there, true), (back, there, here, false)] {
            let direction = Direction {
                line,
                cables: (from.cable.try_clone()?, to.cable.try_clone()?),
                dice: Rng::new(seed).fork("line", u64::from(counts)),
                free: now(),
                under_way: VecDeque::new(),
                seen: counts.then(|| Arc::clone(&seen)),
            };
            let ends = Arc::clone(&ends);
            threads.push(std::thread::spawn(move || direction.run(&ends)));
        }
        Ok(Self { ends, seen, threads })
    }

    /// What was seen since this was asked last.
    pub(super) fn seen(&self) -> Seen {
        std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        self.ends.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

struct Direction {
    line: Line,
    cables: (File, File),
    dice: Rng,
    /// When the last packet accepted has left the buffer.
    free: Instant,
    under_way: VecDeque<(Instant, Vec<u8>)>,
    seen: Option<Arc<Mutex<Seen>>>,
}

impl Direction {
    fn run(mut self, ends: &AtomicBool) {
        let mut packet = vec![0; PACKET];
        while !ends.load(Relaxed) {
            let wait = self.deliver(now());
            let wait = Timespec::try_from(wait).unwrap_or_default();
            let _ = poll(&mut [PollFd::new(&self.cables.0, PollFlags::IN)], Some(&wait));
            for _ in 0..BATCH {
                let Ok(length) = self.cables.0.read(&mut packet) else { break };
                // The system's own talk of IPv6 neighbours is no part of this.
                if packet[0] >> 4 == 4 {
                    self.accept(now(), &packet[..length]);
                }
            }
        }
    }

    /// Hands over what has arrived; how long the next one takes.
    fn deliver(&mut self, now: Instant) -> Duration {
        while let Some((at, packet)) = self.under_way.front() {
            if *at > now {
                return *at - now;
            }
            // A machine that does not take it loses it, as anywhere.
            let _ = self.cables.1.write(packet);
            self.under_way.pop_front();
        }
        IDLE
    }

    /// Into the buffer, unless it is lost or the buffer is full.
    fn accept(&mut self, now: Instant, packet: &[u8]) {
        let Line { rate, trip, loss, buffer } = self.line;
        let wait = self.free.saturating_duration_since(now);
        if let Some(seen) = &self.seen {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.bytes += packet.len() as u64;
            seen.waits.push(wait.as_micros() as u32);
        }
        if wait > buffer || (loss > 0 && self.dice.chance(loss, 10_000)) {
            return;
        }
        self.free = self.free.max(now) + Duration::from_nanos(packet.len() as u64 * 8_000 / rate);
        self.under_way.push_back((self.free + trip / 2, packet.to_vec()));
    }
}
