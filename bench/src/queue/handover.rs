//! How well one slot is used when six polite clients want it, in simulated
//! time at full scale: nothing of this machine is in the figure.

use anyhow::{Result, ensure};
use servent_core::queue::Config;
use servent_core::time::{Duration, Instant};
use servent_core::trace::{Handover, NodeId};
use servent_sim::queue::{ClientGroup, QueueWorld, Scenario, ScenarioServer};

use crate::report::{Report, Target};

const CLIENTS: u32 = 6;
const RATE: u64 = 720_000;

/// 6 clients × 3 MB over one slot: 25 s of transfers.
pub(super) fn run(report: &mut Report) -> Result<()> {
    report.note("the hand-over of a slot");
    let queue = Config { slots: 1, bandwidth: RATE, ..Config::default() };
    let client = ClientGroup {
        count: CLIENTS,
        size: 3_000_000,
        down: 10 * RATE,
        spacing: Duration::from_millis(100),
        ..ClientGroup::default()
    };
    let scenario = Scenario {
        servers: vec![ScenarioServer { queue, up: RATE, ..ScenarioServer::default() }],
        clients: vec![client],
        ..Scenario::default()
    };
    let mut world: QueueWorld = QueueWorld::new(&scenario);
    let mut records = Vec::new();
    world.run_until(Instant::from_secs(1_200), &mut records);
    let of_server = records.iter().filter(|r| r.node == NodeId(0));
    // Clients wait a polite two seconds longer than they must; 150 ms is more
    // than the way of the question.
    let used = Handover::from_records(of_server, Duration::from_millis(2_150));
    ensure!(used.turns == CLIENTS, "only {} of {CLIENTS} were served", used.turns);
    let seconds = |d: Duration| d.as_millis() as f64 / 1_000.0;
    let ideal = seconds(used.busy + used.allowed);
    let case = format!("hand-over, {:.0} s of transfers", seconds(used.busy));
    let beside = ("what the poll schedule allows", Some(ideal));
    report.add(("queue", case, "s"), seconds(used.whole), beside, &Target::RatioAtMost(1.0 / 0.9));
    Ok(())
}
