//! What repairs cost: messages sent again for each one lost, and how many
//! messages an acknowledgement stands for where nothing is lost.

use std::net::Ipv4Addr;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::process::Process;
use super::through::{LARGE, SMALL};
use super::words::{Contender, Cost, Counted, Job, Part, Ready, Way};
use crate::report::{Report, Target};

const SIZE: usize = 1_024;

/// Both sizes of datagrams.
pub(super) fn run(report: &mut Report, quick: bool) -> Result<()> {
    report.note("what repairs cost");
    let count = if quick { 50_000 } else { 200_000 };
    for (contender, name) in [(LARGE, "64 KB"), (SMALL, "1400 B")] {
        for loss in [1, 5, 10] {
            let (sent, cost, _) = whole(contender, count, loss)?;
            // Blocks are shared, so the lost bytes tell how many messages
            // were in the lost datagrams.
            let each = cost.bytes as f64 / number(&sent, &["sent", "resent"])?;
            let lost = cost.lost_bytes as f64 / each;
            let case = format!("1 KB, {loss} % lost each way, {name} datagrams: resends a loss");
            let resent = number(&sent, &["resent"])? / lost;
            report.add(("unicast", case, "messages"), resent, ("", None), &Target::AtMost(1.1));
        }
        let (.., received) = whole(contender, 2 * count, 0)?;
        let acks = number(&received, &["acks_sent"])?;
        let case = format!("1 KB, no loss, {name} datagrams: messages an acknowledgement");
        let each = 2.0 * count as f64 / acks;
        report.add(("unicast", case, "messages"), each, ("", None), &Target::AtLeast(500.0));
    }
    Ok(())
}

/// So many messages until everything is acknowledged: the sender's counters,
/// what the forwarder took, the receiver's counters.
fn whole(contender: Contender, count: u64, loss: u64) -> Result<(Value, Cost, Value)> {
    let job = Job {
        contender,
        on: Ipv4Addr::LOCALHOST.into(),
        size: SIZE,
        warm_ms: 0,
        measure_ms: 0,
        count,
    };
    let mut receiver = Process::start(&Part::Receive(job))?;
    let to: Ready = receiver.says()?;
    let way = Way { to: to.at, loss: loss * 100, delay_us: 0, seed: 5, every: 0 };
    let mut forwarder = Process::start(&Part::Forward(way))?;
    let mut sender = Process::start(&Part::Send(job, forwarder.says()?))?;
    let counted: Counted = receiver.says()?;
    let [there, _]: [Cost; 2] = forwarder.stop()?;
    Ok((sender.stop()?, there, counted.counters))
}

fn number(counters: &Value, names: &[&str]) -> Result<f64> {
    let mut sum = 0.0;
    for name in names {
        sum += counters[*name].as_f64().with_context(|| format!("no counter {name}"))?;
    }
    Ok(sum)
}
