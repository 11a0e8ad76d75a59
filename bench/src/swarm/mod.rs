//! The swarm's coordinator: rounds against the bound, copies the source sends,
//! assignments a second, and what free riders cost. There the coordinator is
//! alone: every client sends one piece a second and reports at once, so that what
//! is measured is what it decides. Then the same of real processes.

mod programs;
mod rounds;

use anyhow::Result;
use servent_core::time::{Duration, Instant};
use servent_sim::swarm::{PeerGroup, Scenario, SwarmWorld};

pub(crate) use self::programs::Programs;
use self::rounds::{RoundsResult, Swarm};
use crate::report::{Report, Target};

/// Pieces, and how far above the bound a swarm may end.
const PIECES: [(u64, f64); 2] = [(64, 1.03), (256, 1.01)];

/// Everything about swarms.
pub(crate) fn run(report: &mut Report, quick: bool) -> Result<()> {
    coordinator(report, quick);
    let plain = Programs { clients: 32, mib: 64, passive: 0, killed: 0, rate: 1_500_000 };
    if quick {
        return Programs { clients: 16, mib: 16, rate: 1_000_000, ..plain }.measure(report);
    }
    for programs in [plain, Programs { passive: 25, ..plain }, Programs { killed: 1, ..plain }] {
        programs.measure(report)?;
    }
    Ok(())
}

fn coordinator(report: &mut Report, quick: bool) {
    let sizes: &[u64] = if quick { &[64, 256] } else { &[64, 256, 1_024, 4_096] };
    for (pieces, limit) in PIECES {
        for &clients in sizes {
            report.note(&format!("a swarm of {clients} clients and {pieces} pieces"));
            let told = Swarm { clients, pieces, riders: 0 }.run();
            makespan(report, &told, limit);
            if clients == 1_024 {
                let case = format!("copies the source sends, {}", told.swarm);
                let one = ("at least one", Some(1.0));
                report.add(("swarm", case, "copies"), told.copies, one, &Target::AtMost(1.1));
            }
        }
    }
    let speeds: &[(u64, f64)] =
        if quick { &[(1_000, 200_000.0)] } else { &[(1_000, 200_000.0), (10_000, 100_000.0)] };
    for &(clients, wanted) in speeds {
        report.note(&format!("assignments among {clients} clients"));
        let told = Swarm { clients, pieces: 64, riders: 0 }.run();
        let case = format!("assignments, {}", told.swarm);
        let goal = ("wanted", Some(wanted));
        report.add(("swarm", case, "1/s"), told.speed, goal, &Target::AtLeast(wanted));
    }
    report.note("control messages");
    for clients in if quick { &[64][..] } else { &[64, 256] } {
        control(report, *clients);
    }
    report.note("free riders");
    let told = Swarm { clients: 256, pieces: 64, riders: 10 }.run();
    makespan(report, &told, 1.15);
}

fn makespan(report: &mut Report, told: &RoundsResult, limit: f64) {
    let case = format!("makespan, {}", told.swarm);
    let bound = ("the bound", Some(told.bound));
    report.add(("swarm", case, "piece times"), told.rounds, bound, &Target::RatioAtMost(limit));
}

/// Frames to and from the coordinator for each piece, the engine's clients
/// at the other end, out of step with each other.
fn control(report: &mut Report, clients: u32) {
    let group = PeerGroup {
        count: clients,
        latency: Duration::from_millis(20),
        spacing: Duration::from_millis(137),
        ..PeerGroup::default()
    };
    let scenario = Scenario { pieces: 64, clients: vec![group], ..Scenario::default() };
    let mut world = SwarmWorld::new(&scenario);
    let (end, mut scratch) = (Instant::ZERO + scenario.horizon, Vec::new());
    while !world.finished() && world.next_at().is_some_and(|at| at <= end) {
        world.step(&mut scratch);
        scratch.clear();
    }
    let outcome = world.outcome();
    let messages = if world.finished() { outcome.frames as f64 / 1_000.0 } else { f64::INFINITY };
    let case = format!("control messages a piece, N = {clients}, M = 64");
    let text = ("of the text", Some(6.0));
    report.add(("swarm", case, "messages"), messages, text, &Target::AtMost(4.0));
}
