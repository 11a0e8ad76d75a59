//! The line between two machines: below IP, so that the kernel's TCP, quinn and
//! ours cross the very same one.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use servent_core::rng::Rng;

use crate::measure::now;

/// Larger than what a device gives.
const PACKET: usize = 65_536;
/// Bytes of the headers of IPv4 and UDP.
const HEADERS: u64 = 28;
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
    /// A packet that would wait longer than this and may be marked is (RFC 3168).
    pub(super) marks: Option<Duration>,
}

/// What was seen of the packets on the way there.
#[derive(Debug, Default)]
pub(super) struct LineCounts {
    /// Bytes that were to be carried, headers of IP included.
    pub(super) bytes: u64,
    /// Bytes that were carried to the other machine, without the headers of IP and UDP,
    /// which those of TCP are longer than.
    pub(super) carried: u64,
    /// How long each packet waited, in microseconds.
    pub(super) waits: Vec<u32>,
    /// Packets that were marked, and those that found the buffer full.
    pub(super) marked: u64,
    pub(super) full: u64,
}

/// Carries packets until it is dropped.
pub(super) struct Carrier {
    ends: Arc<AtomicBool>,
    seen: Arc<Mutex<LineCounts>>,
    threads: Vec<JoinHandle<()>>,
}

impl Carrier {
    /// Between two cables: the line loses on the way from the first to the second.
    pub(super) fn start(line: Line, [here, there]: [&File; 2], seed: u64) -> Result<Self> {
        let (ends, seen) = (Arc::new(AtomicBool::new(false)), Arc::<Mutex<LineCounts>>::default());
        let back = Line { loss: 0, marks: None, ..line };
        let mut threads = Vec::new();
        for (line, from, to, counts) in [(line, here, there, true), (back, there, here, false)] {
            let direction = Direction {
                line,
                cables: (from.try_clone()?, to.try_clone()?),
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
    pub(super) fn seen(&self) -> LineCounts {
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
    seen: Option<Arc<Mutex<LineCounts>>>,
}

impl Direction {
    fn run(mut self, ends: &AtomicBool) {
        run_before_others();
        let mut packet = vec![0; PACKET];
        while !ends.load(Relaxed) {
            let wait = self.deliver(now());
            let wait = Timespec::try_from(wait).unwrap_or_default();
            let _ = poll(&mut [PollFd::new(&self.cables.0, PollFlags::IN)], Some(&wait));
            for _ in 0..BATCH {
                let Ok(length) = self.cables.0.read(&mut packet) else { break };
                // The system's own talk of IPv6 neighbours is no part of this.
                if packet[0] >> 4 == 4 {
                    self.accept(now(), &mut packet[..length]);
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
            if let Some(seen) = &self.seen {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.carried += (packet.len() as u64).saturating_sub(HEADERS);
            }
            // A machine that does not take it loses it, as anywhere.
            let _ = self.cables.1.write(packet);
            self.under_way.pop_front();
        }
        IDLE
    }

    /// Into the buffer, unless it is lost or the buffer is full.
    fn accept(&mut self, now: Instant, packet: &mut [u8]) {
        let Line { rate, trip, loss, buffer, marks } = self.line;
        let wait = self.free.saturating_duration_since(now);
        let full = wait > buffer;
        let marked = !full && marks.is_some_and(|most| wait > most) && mark(packet);
        if let Some(seen) = &self.seen {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.bytes += packet.len() as u64;
            seen.waits.push(wait.as_micros() as u32);
            seen.marked += u64::from(marked);
            seen.full += u64::from(full);
        }
        if full || (loss > 0 && self.dice.chance(loss, 10_000)) {
            return;
        }
        self.free = self.free.max(now) + Duration::from_nanos(packet.len() as u64 * 8_000 / rate);
        self.under_way.push_back((self.free + trip / 2, packet.to_vec()));
    }
}

/// A line carries whatever else the machine does: this thread runs before all others as
/// soon as it has something to do. Where a packet was left lying for two milliseconds, the
/// buffer of a short line would be full that is not.
fn run_before_others() {
    let this = rustix::thread::gettid().to_string();
    let done = Command::new("chrt").args(["--fifo", "--pid", "1", &this]).status();
    if !done.is_ok_and(|status| status.success()) {
        eprintln!("the line waits for the processor as any program: `chrt` did not help");
    }
}

/// Marks a packet of IPv4 that says it may be marked: false when it does not.
fn mark(packet: &mut [u8]) -> bool {
    /// Congestion experienced; the two bits are zero where nothing may be marked.
    const CE: u8 = 3;
    let Some(&[version, class]) = packet.first_chunk() else { return false };
    if packet.len() < 20 || class & CE == 0 {
        return false;
    }
    // RFC 1624: the checksum without the old word and with the new one.
    let sum = u16::from_be_bytes([packet[10], packet[11]]);
    let word = |class| u32::from(u16::from_be_bytes([version, class]));
    let sum = u32::from(!sum) + (0xffff - word(class)) + word(class | CE);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    packet[1] = class | CE;
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What RFC 1071 makes of a header: nothing is left when its checksum is right.
    fn left(header: &[u8]) -> u32 {
        let words = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let sum: u32 = words.sum();
        0xffff - ((sum & 0xffff) + (sum >> 16))
    }

    #[test]
    fn a_packet_is_marked_if_it_may_be_and_its_checksum_stays_right() {
        let mut header = [
            0x45, 0x02, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x5f, 0xc0, 0xa8,
            0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7,
        ];
        assert_eq!(left(&header), 0, "as it is sent");
        assert!(mark(&mut header));
        assert_eq!((header[1], left(&header)), (0x03, 0));
        header[1] = 0;
        assert!(!mark(&mut header), "it does not say that it may be");
    }
}
