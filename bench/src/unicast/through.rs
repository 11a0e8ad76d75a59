//! Messages a second from process to process, with and without loss.

use std::net::Ipv4Addr;

use anyhow::Result;

use super::process::Process;
use super::words::{Contender, Counted, Job, Part, Ready, Way};
use crate::measure::median;
use crate::report::{Report, Target};

/// Our datagrams: as large as UDP takes, and as large as most paths take.
pub(super) const LARGE: Contender = Contender::Ours { mtu: 65_000 };
pub(super) const SMALL: Contender = Contender::Ours { mtu: 1_400 };
/// A name, and what bounds the bytes under way.
const ENET: (&str, Contender) = ("rusty_enet, 1400 B, window 64 KB", Contender::Enet);
const QUINN: (&str, Contender) = ("quinn, one stream, Cubic", Contender::Quinn);
const TCP: (&str, Contender) = ("TCP, kernel's Cubic", Contender::Tcp);
const KILOBYTE: usize = 1_024;
const SIZES: [(usize, &str); 3] = [(100, "100 B"), (KILOBYTE, "1 KB"), (8_192, "8 KB")];
/// Percent of datagrams, each way.
const LOSSES: [u64; 4] = [0, 1, 5, 10];

/// All sizes and losses; every round goes once through every program, so that
/// all see the same machine.
pub(super) fn run(report: &mut Report, quick: bool) -> Result<()> {
    for (size, size_name) in SIZES {
        for loss in LOSSES {
            let case = if loss == 0 {
                format!("{size_name}, no loss")
            } else {
                format!("{size_name}, {loss} % lost each way")
            };
            report.note(&format!("messages of {case}"));
            let mut all = vec![LARGE, SMALL, ENET.1, QUINN.1];
            all.extend((loss == 0).then_some(TCP.1));
            let rounds = if quick { 1 } else { 3 };
            let mut rates = vec![(Vec::new(), Vec::new()); all.len()];
            for round in 0..rounds {
                for (contender, (rates, busy)) in all.iter().zip(&mut rates) {
                    let (rate, of_processor) = once(*contender, size, loss, round)?;
                    rates.push(rate);
                    busy.push(of_processor);
                }
            }
            let (rates, busy): (Vec<f64>, Vec<f64>) =
                rates.iter_mut().map(|(rates, busy)| (median(rates), median(busy))).unzip();
            tell(report, &case, &rates);
            if loss == 0 {
                tell_busy(report, &case, size, &busy);
            }
        }
    }
    Ok(())
}

fn tell(report: &mut Report, case: &str, rates: &[f64]) {
    let large = (format!("{case}, 64 KB datagrams, BBR"), rates[0]);
    let small = (format!("{case}, 1400 B datagrams, BBR"), rates[1]);
    let mut row = |ours: &(String, f64), (name, rate): (&str, Option<f64>), target| {
        report.add(("unicast", &*ours.0, "messages/s"), ours.1, (name, rate), &target);
    };
    for ours in [&large, &small] {
        row(ours, (ENET.0, Some(rates[2])), Target::RatioAtLeast(1.0));
        row(ours, (QUINN.0, Some(rates[3])), Target::None);
    }
    if let Some(ceiling) = rates.get(4) {
        row(&large, (TCP.0, Some(*ceiling)), Target::None);
    }
}

/// What a busy machine hardly changes: messages for a second of one
/// processor, both processes together.
fn tell_busy(report: &mut Report, case: &str, size: usize, busy: &[f64]) {
    for (ours, name) in [(busy[0], "64 KB"), (busy[1], "1400 B")] {
        let case = format!("{case}, {name} datagrams, for a second of one processor");
        for ((beside, _), figure) in [ENET, QUINN, TCP].into_iter().zip(&busy[2..]) {
            // What a gigabyte costs; small messages cost by their number.
            let judged = beside == ENET.0 || (beside == QUINN.0 && size >= KILOBYTE);
            let target = if judged { Target::RatioAtLeast(1.0) } else { Target::None };
            let beside = (beside, Some(*figure));
            report.add(("unicast", &*case, "messages"), ours, beside, &target);
        }
    }
}

/// One short run: messages a second, and messages for a second of one
/// processor, sender and receiver together.
fn once(contender: Contender, size: usize, loss: u64, seed: u64) -> Result<(f64, f64)> {
    let job = Job {
        contender,
        on: Ipv4Addr::LOCALHOST.into(),
        size,
        warm_ms: 200,
        measure_ms: 500,
        count: 0,
    };
    let mut receiver = Process::start(&Part::Receive(job))?;
    let mut to: Ready = receiver.says()?;
    let _forwarder = if loss == 0 {
        None
    } else {
        let way = Way { to: to.at, loss: loss * 100, delay_us: 0, seed, every: 0 };
        let mut forwarder = Process::start(&Part::Forward(way))?;
        to.at = forwarder.says::<Ready>()?.at;
        Some(forwarder)
    };
    let sender = Process::start(&Part::Send(job, to))?;
    let counted: Counted = receiver.says()?;
    let busy = receiver.busy()? + sender.busy()?;
    Ok((counted.messages as f64 / counted.seconds, counted.all as f64 / busy))
}
