//! A lone message that is lost: nothing behind it shows the gap.

use anyhow::{Result, ensure};

use super::process::Process;
use super::words::{Part, Ready, Way};
use crate::measure::{median, percentile};
use crate::report::{Report, Target};

/// Every so manieth datagram with a message is lost.
const EVERY: u64 = 4;

/// On bare loopback, and with a round trip of ten milliseconds.
pub(super) fn run(report: &mut Report, quick: bool) -> Result<()> {
    report.note("the last message, lost");
    let count = if quick { 30 } else { 100 };
    for (delay_us, path) in [(0, "loopback"), (5_000, "10 ms there and back")] {
        let (lost, kept): (Vec<_>, Vec<_>) =
            round_trips(delay_us, EVERY, count)?.into_iter().partition(|(_, again)| *again);
        let mut kept: Vec<f64> = kept.into_iter().map(|(us, _)| us).collect();
        let trip = median(&mut kept);
        // It arrives half a round trip before its echo is back.
        let mut repaired: Vec<f64> = lost.into_iter().map(|(us, _)| us - trip / 2.0).collect();
        ensure!(!repaired.is_empty(), "nothing was lost");
        let case = format!("lost last message arrives, {path} ({:.3} ms)", trip / 1e3);
        // A receiver that is woken late is late without a loss too; a tenth of all
        // tells more of that than of us where a round trip is this short.
        let tenth = if delay_us == 0 { Target::None } else { Target::AtMost(5.0) };
        for (percent, target) in [(50, Target::AtMost(5.0)), (90, tenth)] {
            let [ours, usual] = [&mut repaired, &mut kept].map(|it| percentile(it, percent) / trip);
            let (case, usual) = (format!("{case}, p{percent}"), Some(usual));
            let beside = ("one that is not lost, and its echo", usual);
            report.add(("unicast", case, "round trips"), ours, beside, &target);
        }
    }
    Ok(())
}

/// Microseconds of each of so many round trips, and which were repaired.
fn round_trips(delay_us: u64, every: u64, count: u32) -> Result<Vec<(f64, bool)>> {
    let mut echo = Process::start(&Part::Echo)?;
    let to: Ready = echo.says()?;
    let way = Way { to: to.at, loss: 0, delay_us, seed: 1, every };
    let mut forwarder = Process::start(&Part::Forward(way))?;
    let to = forwarder.says()?;
    Process::start(&Part::Ping { to, count })?.says()
}
