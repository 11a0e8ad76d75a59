//! The programs that cross a line, and what each achieves.

use std::time::Duration;

use anyhow::Result;

use super::line::{Carrier, Line, LineCounts};
use super::machine::Machine;
use super::transfer::{FoundBy, Transfer};
use crate::measure::{median, now, wait};
use crate::unicast::process::Process;
use crate::unicast::words::{Contender, Counted, Job, Part, Ready};

/// The machine that sends, and the one that receives.
pub(super) const ADDRESSES: [&str; 2] = ["10.77.0.1", "10.77.0.2"];
const PORT: u16 = 7_000;
const MESSAGE: usize = 1_024;

/// How long it is measured, and how long it may find its rate before.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub(super) warm: Duration,
    pub(super) measure: Duration,
}

#[derive(Clone, Copy)]
pub(super) struct Figures {
    /// Megabits of contents a second.
    pub(super) goodput: f64,
    /// Bytes on the line for each of them, headers of IP included.
    pub(super) cost: f64,
    /// How long the packet in the middle waited in the buffer, in milliseconds.
    pub(super) wait: f64,
    /// Seconds of a processor for a gigabyte, both programs together.
    pub(super) busy: f64,
    /// Packets a second that were marked, and that found the buffer full.
    pub(super) marked: f64,
    pub(super) full: f64,
}

impl Figures {
    pub(super) fn from_line(
        seen: LineCounts,
        seconds: f64,
        contents_a_second: f64,
        busy_a_byte: f64,
    ) -> Self {
        // What had arrived before and waited for something lost, as far as a long line has
        // carried, is contents in the measured time and did not cross the line in it.
        let contents_a_second = contents_a_second.min(seen.carried as f64 / seconds);
        let mut waits: Vec<f64> = seen.waits.iter().map(|us| f64::from(*us) / 1e3).collect();
        Self {
            goodput: contents_a_second * 8.0 / 1e6,
            cost: seen.bytes as f64 / seconds / contents_a_second,
            wait: if waits.is_empty() { 0.0 } else { median(&mut waits) },
            busy: busy_a_byte * 1e9,
            marked: seen.marked as f64 / seconds,
            full: seen.full as f64 / seconds,
        }
    }
}

/// Ours: `send` to `receive`.
pub(super) fn ours(line: Line, times: Times, seed: u64) -> Result<Figures> {
    let (here, there) = (Machine::new(ADDRESSES[0])?, Machine::new(ADDRESSES[1])?);
    let carrier = Carrier::start(line, [&here.cable, &there.cable], seed)?;
    let at = format!("{}:{PORT}", ADDRESSES[1]);
    Transfer::start([&here, &there], FoundBy::Address(&at))?.measure(&carrier, times)
}

/// A peer of ours, which does no more than carry messages.
pub(super) fn other(contender: Contender, line: Line, times: Times, seed: u64) -> Result<Figures> {
    let (here, there) = (Machine::new(ADDRESSES[0])?, Machine::new(ADDRESSES[1])?);
    let carrier = Carrier::start(line, [&here.cable, &there.cable], seed)?;
    let job = Job {
        contender,
        on: ADDRESSES[1].parse()?,
        size: MESSAGE,
        warm_ms: times.warm.as_millis() as u64,
        measure_ms: times.measure.as_millis() as u64,
        count: 0,
    };
    let mut receiver = there.does(|| Process::start(&Part::Receive(job)))?;
    let to: Ready = receiver.says()?;
    let sender = here.does(|| Process::start(&Part::Send(job, to)))?;
    wait(times.warm);
    carrier.seen();
    let since = now();
    let counted: Counted = receiver.says()?;
    let (seconds, seen) = (since.elapsed().as_secs_f64(), carrier.seen());
    let busy = (receiver.busy()? + sender.busy()?) / (counted.all * MESSAGE as u64) as f64;
    let rate = counted.messages as f64 * MESSAGE as f64 / counted.seconds;
    Ok(Figures::from_line(seen, seconds, rate, busy))
}
