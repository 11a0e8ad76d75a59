//! `send` and `receive` that meet at a place: the bytes go directly, or through the
//! place where there is no other way.

use std::time::Duration;

use anyhow::Result;

use super::contenders::{ADDRESSES, Figures, Times};
use super::line::{Carrier, Line};
use super::machine::Machine;
use super::transfer::{FoundBy, GuardedProgram, Transfer, servent};

/// The line between the sender and the place.
const LINE: Line = Line {
    rate: 100,
    trip: Duration::from_millis(20),
    loss: 10,
    buffer: Duration::from_millis(20),
    marks: None,
};
/// The line between the place and the receiver: no bottleneck.
const NEAR: Line = Line {
    rate: 1_000,
    trip: Duration::ZERO,
    loss: 0,
    buffer: Duration::from_millis(100),
    marks: None,
};
/// The network between the place and the receiver.
const BEHIND: [&str; 2] = ["10.78.0.1", "10.78.0.2"];
const PORT: u16 = 6_349;
/// What the place relays for a pair, in bytes a second: more than the line has.
const RELAYED: &str = "20M";

/// The paths that are measured, with the name of each.
pub(super) const PATHS: [(&str, MeetingPath); 2] =
    [("direct", MeetingPath::Direct), ("relayed", MeetingPath::Relayed)];

/// What carries the bytes of two that have met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MeetingPath {
    /// The machine of the place forwards packets between the two networks.
    Direct,
    /// It does not: only the place itself reaches both.
    Relayed,
}

/// Megabits of the line.
pub(super) const fn line_rate() -> f64 {
    LINE.rate as f64
}

/// The line, in words.
pub(super) fn name() -> String {
    let Line { rate, trip, loss, .. } = LINE;
    format!("{rate} Mbit/s, {} ms, {} % lost", trip.as_millis(), loss as f64 / 100.0)
}

/// What a pair achieves that has met.
pub(super) fn measure(path: MeetingPath, times: Times, seed: u64) -> Result<Figures> {
    let [sender, place, receiver] = [ADDRESSES[0], ADDRESSES[1], BEHIND[1]].map(Machine::new);
    let (sender, place, receiver) = (sender?, place?, receiver?);
    let second = place.add_cable("near", BEHIND[0])?;
    let carrier = Carrier::start(LINE, [&sender.cable, &place.cable], seed)?;
    let _near = Carrier::start(NEAR, [&second, &receiver.cable], seed)?;
    sender.run("ip route add default via 10.77.0.2")?;
    receiver.run("ip route add default via 10.78.0.1")?;
    if path == MeetingPath::Direct {
        place.run("echo 1 > /proc/sys/net/ipv4/ip_forward")?;
    }
    let folder = tempfile::tempdir()?;
    let mut meet = servent(folder.path())?;
    // One address, which both networks reach.
    let at = format!("{}:{PORT}", ADDRESSES[1]);
    meet.args(["meet", "--json", "--listen", &at]);
    if path == MeetingPath::Relayed {
        meet.args(["--relay", RELAYED]);
    }
    let mut meeting = GuardedProgram::start(&place, &mut meet)?;
    meeting.event("listening")?;
    Transfer::start([&sender, &receiver], FoundBy::Via(&at))?.measure(&carrier, times)
}
