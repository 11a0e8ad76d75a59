//! The lines that people have, in virtual time: the same figures on every machine.

use std::time::Duration;

use servent_core::unicast::Congestion;
use servent_sim::unicast::line::cells::{FAR, LINES, LineCell};
use servent_sim::unicast::line::{LineReport, LineWorld};

use crate::report::{Report, Target};

/// Datagrams sent for each one that arrives, besides those that replace lost ones.
const EFFORT: f64 = 1.015;
/// What half of the datagrams may wait in the buffer, in milliseconds.
const WAIT: f64 = 25.0;
/// What two of ours share, by Jain's index; what CUBIC keeps beside one of ours.
const FAIR: f64 = 0.9;
const SHARE: f64 = 0.35;

/// Seconds of which the first ones are not measured.
const SECONDS: (u64, u64) = (5, 30);
/// Start-up sends more than once what its end loses: it is a small part of what is judged.
const QUICK: (u64, u64) = (5, 20);

/// All lines, and two flows on one of them.
pub(super) fn run(report: &mut Report, quick: bool) {
    let far: &[LineCell] = if quick { &[] } else { &FAR };
    for cell in LINES.iter().chain(far) {
        report.note(&format!("a simulated line of {}", cell.name()));
        let (warm, horizon) = if quick { QUICK } else { SECONDS };
        tell(report, cell, &cell.world().lasting(warm, horizon).run());
    }
    report.note("two flows on a simulated line");
    shared(report);
}

fn tell(report: &mut Report, cell: &LineCell, it: &LineReport) {
    let name = format!("simulated line, {}", cell.name());
    let mbit = it.goodput() as f64 / 1e6;
    let line = ("the line", Some(cell.mbit as f64));
    let goal = Target::AtLeast(cell.goal as f64);
    report.add(("unicast", &*name, "Mbit/s"), mbit, line, &goal);
    let lost = cell.loss as f64 / 1e3;
    let each = it.flows[0].effort() as f64 / 1e4;
    let case = format!("{name}, sent for each that arrives");
    report.add(("unicast", case, "datagrams"), each, ("", None), &Target::AtMost(EFFORT + lost));
    let wait = Duration::from_micros(it.queueing.as_micros()).as_secs_f64() * 1e3;
    let case = format!("{name}, half wait in the buffer at most");
    report.add(("unicast", case, "ms"), wait, ("", None), &Target::AtMost(WAIT));
}

/// Two of ours, and ours beside CUBIC, on a line with a buffer of one bandwidth-delay
/// product.
fn shared(report: &mut Report) {
    let with =
        |flows: &[Congestion]| LineWorld::new(20, 40, 100).with_flows(flows).lasting(30, 90).run();
    let case = "simulated line, 20 Mbit/s, 40 ms, two of ours: Jain's index";
    let fair = with(&[Congestion::Bbr, Congestion::Bbr]).fairness() as f64 / 1e3;
    report.add(("unicast", case, ""), fair, ("equal", Some(1.0)), &Target::AtLeast(FAIR));
    let beside = with(&[Congestion::Cubic, Congestion::Bbr]);
    let share = beside.flows[0].goodput as f64 / beside.goodput() as f64;
    let case = "simulated line, 20 Mbit/s, 40 ms, CUBIC beside ours: its share";
    report.add(("unicast", case, ""), share, ("half", Some(0.5)), &Target::AtLeast(SHARE));
}
