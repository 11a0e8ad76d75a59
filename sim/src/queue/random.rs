//! Randomly generated scenarios: a safety phase in which anything may go wrong,
//! then a liveness phase in which nothing does and everything must finish.

use alloc::format;
use alloc::vec::Vec;

use super::fault::{Fault, FaultAt};
use super::scenario::{ClientGroup, Scenario, ScenarioServer};
use super::site::SimulatedSite;
use super::versions::VersionMark;
use servent_core::choose::Choose;
use servent_core::queue::{Config, Dialect, QueuePolicy};
use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;

/// Length of the safety phase in seconds.
const SAFETY: u64 = 600;
/// Seconds in which files change: most clients download something then.
const CHANGES: u64 = 120;
/// Length of the liveness phase in seconds.
const LIVENESS: u64 = 4 * 3_600;

/// Generates a scenario. `seed` becomes its seed, so that a generated scenario
/// can be reproduced from that number alone.
#[must_use]
pub fn draw(choose: &mut Choose, seed: u64) -> Scenario {
    let servers: Vec<ScenarioServer> = (0..choose.between(1, 2)).map(|_| server(choose)).collect();
    let clients: Vec<ClientGroup> = (0..choose.between(1, 4)).map(|i| group(choose, i)).collect();
    let mut scenario = Scenario {
        id: format!("random-queue-{seed}"),
        title: format!("Swarm {seed}"),
        seed,
        horizon: Duration::from_secs(SAFETY + LIVENESS),
        servers,
        clients,
        ..Scenario::default()
    };
    let nodes = scenario.nodes();
    for _ in 0..choose.below(10) {
        let at = Instant::from_micros(choose.below(SAFETY * 1_000_000));
        scenario.faults.push(FaultAt { at, act: fault(choose, nodes) });
    }
    scenario.faults.sort_by_key(|f| f.at);
    calm(&mut scenario.faults, nodes);
    scenario
}

/// Generates a scenario whose servers are restarted again and again, while some
/// of the clients that they know are gone.
#[must_use]
pub fn draw_restarts(choose: &mut Choose, seed: u64) -> Scenario {
    let mut scenario = draw(choose, seed);
    scenario.id = format!("random-restarts-{seed}");
    scenario.title = format!("Restarts {seed}");
    let (servers, nodes) = (scenario.servers.len() as u64, scenario.nodes());
    scenario.faults.retain(|f| f.at < Instant::from_secs(SAFETY));
    for _ in 0..choose.between(1, 5) {
        let at = Instant::from_micros(choose.below(SAFETY * 1_000_000));
        for _ in 0..choose.below(4) {
            // Before the restart, or while the server is away.
            let earlier = Duration::from_micros(choose.below(3_000_000));
            let node = NodeId(choose.between(servers, nodes - 1) as u32);
            let at = Instant::from_micros(at.as_micros().saturating_sub(earlier.as_micros()));
            scenario.faults.push(FaultAt { at, act: Fault::Crash { node } });
        }
        let node = NodeId(choose.below(servers) as u32);
        let stays_away = choose.chance(1, 2);
        if stays_away {
            scenario.faults.push(FaultAt { at, act: Fault::Crash { node } });
        }
        let back = if stays_away { choose.below(60_000_000) } else { 0 };
        let at = (at + Duration::from_micros(back)).min(Instant::from_secs(SAFETY));
        scenario.faults.push(FaultAt { at, act: Fault::Restart { node } });
    }
    scenario.faults.sort_by_key(|f| f.at);
    calm(&mut scenario.faults, nodes);
    scenario
}

/// Generates a scenario whose servers' files become others while they are
/// downloaded, by clients that know them by name. Soon after some of the changes the
/// connection to a client breaks.
#[must_use]
pub fn draw_versions(choose: &mut Choose, seed: u64) -> Scenario {
    let mut scenario = draw(choose, seed);
    scenario.id = format!("random-versions-{seed}");
    scenario.title = format!("Versions {seed}");
    let (servers, nodes) = (scenario.servers.len() as u64, scenario.nodes());
    for server in &mut scenario.servers {
        server.mark = *choose.one(&[VersionMark::Hash, VersionMark::Date, VersionMark::Nothing]);
    }
    scenario.clients.iter_mut().for_each(|group| group.by_name = true);
    for _ in 0..choose.between(1, 4) {
        let at = Instant::from_micros(choose.below(CHANGES * 1_000_000));
        let node = NodeId(choose.below(servers) as u32);
        let size = match choose.below(8) {
            0 => Some(0),
            1 | 2 => Some(choose.between(1, 2_000_000)),
            _ => None,
        };
        scenario.faults.push(FaultAt { at, act: Fault::Change { node, size } });
        if choose.chance(2, 3) {
            let at = at + Duration::from_micros(choose.below(5_000_000));
            let client = NodeId(choose.between(servers, nodes - 1) as u32);
            scenario.faults.push(FaultAt { at, act: Fault::Cut { a: node, b: client } });
        }
    }
    scenario.faults.sort_by_key(|f| f.at);
    scenario
}

/// Generates a scenario of a site: members that die, sleep and are cut off from
/// a store that goes away itself, and clients. In the end all of them are there.
#[must_use]
pub fn draw_site(choose: &mut Choose, seed: u64) -> Scenario {
    let one = server(choose);
    let members = choose.between(2, 4);
    let servers =
        (0..members).map(|_| ScenarioServer { name: "member".into(), ..one.clone() }).collect();
    let site = SimulatedSite {
        latency: Duration::from_micros(choose.between(200, 50_000)),
        ..SimulatedSite::default()
    };
    let clients: Vec<ClientGroup> = (0..choose.between(1, 4)).map(|i| group(choose, i)).collect();
    let mut scenario = Scenario {
        id: format!("random-site-{seed}"),
        title: format!("Site {seed}"),
        seed,
        horizon: Duration::from_secs(SAFETY + LIVENESS),
        servers,
        site: Some(site),
        clients,
        ..Scenario::default()
    };
    let nodes = scenario.nodes();
    let mut at = 0;
    for _ in 0..choose.below(16) {
        // Half of them soon after the one before: what goes wrong meets.
        let soon = choose.chance(1, 2);
        at = if soon { at + choose.below(8_000_000) } else { choose.below(SAFETY * 1_000_000) };
        let act =
            if choose.chance(3, 4) { member_fault(choose, members) } else { fault(choose, nodes) };
        let at = Instant::from_micros(at.min(SAFETY * 1_000_000));
        scenario.faults.push(FaultAt { at, act });
    }
    scenario.faults.sort_by_key(|f| f.at);
    calm(&mut scenario.faults, nodes);
    let at = Instant::from_secs(SAFETY);
    scenario.faults.push(FaultAt { at, act: Fault::Store { away: false, silent: false } });
    let mend = |node| FaultAt { at, act: Fault::Apart { node: NodeId(node), apart: false } };
    scenario.faults.extend((0..members as u32).map(mend));
    scenario
}

/// The same for a site that is divided among its members: each client knows some
/// of them, and every other group another file.
#[must_use]
pub fn draw_divided(choose: &mut Choose, seed: u64) -> Scenario {
    let mut scenario = draw_site(choose, seed);
    scenario.id = format!("random-divided-{seed}");
    scenario.title = format!("Divided site {seed}");
    if let Some(site) = &mut scenario.site {
        site.divided = true;
    }
    let members = scenario.servers.len() as u64;
    while scenario.clients.len() < 3 {
        scenario.clients.push(group(choose, scenario.clients.len() as u64));
    }
    for group in &mut scenario.clients {
        if choose.chance(2, 3) {
            group.servers = [choose.below(members) as u32].into();
        }
    }
    scenario
}

fn member_fault(choose: &mut Choose, members: u64) -> Fault {
    let node = NodeId(choose.below(members) as u32);
    match choose.below(10) {
        0 | 1 => Fault::Crash { node },
        2 => Fault::Restart { node },
        3 => Fault::Stall { node },
        4 => Fault::Resume { node },
        5 | 6 => Fault::Apart { node, apart: choose.chance(2, 3) },
        _ => Fault::Store { away: choose.chance(1, 2), silent: choose.chance(1, 2) },
    }
}

fn server(choose: &mut Choose) -> ScenarioServer {
    let queue = Config {
        slots: choose.between(1, 4) as u32,
        sync_places: choose.between(1, 8) as u32,
        bandwidth: if choose.chance(1, 2) { 100_000 } else { 0 },
        policy: if choose.chance(1, 2) { QueuePolicy::Adaptive } else { QueuePolicy::Text },
        ..Config::default()
    };
    ScenarioServer { queue, up: choose.between(50_000, 500_000), ..ScenarioServer::default() }
}

fn group(choose: &mut Choose, number: u64) -> ClientGroup {
    let dialects = [Dialect::Active, Dialect::Parq, Dialect::Parq11, Dialect::Passive];
    let shielded = choose.chance(1, 4);
    ClientGroup {
        name: format!("group{number}"),
        count: choose.between(1, 6) as u32,
        dialect: *choose.one(&dialects),
        size: choose.between(1, 2_000_000),
        down: choose.between(20_000, 1_000_000),
        latency: Duration::from_millis(choose.between(1, 300)),
        first: Duration::from_secs(choose.below(60)),
        spacing: Duration::from_millis(choose.below(10_000)),
        wait: Duration::from_secs(if choose.chance(1, 3) { choose.between(1, 75) } else { 1 }),
        callable: !shielded,
        firewalled: shielded,
        ..ClientGroup::default()
    }
}

fn fault(choose: &mut Choose, nodes: u64) -> Fault {
    let mut node = || NodeId(choose.below(nodes) as u32);
    let (a, b) = (node(), node());
    match choose.below(8) {
        0 => Fault::Crash { node: a },
        1 => Fault::Restart { node: a },
        2 => Fault::Stall { node: a },
        3 => Fault::Resume { node: a },
        4 => Fault::Firewall { node: a, closed: choose.chance(1, 2) },
        5 => Fault::AskNow { node: a },
        6 => Fault::Sleep { node: a, length: Duration::from_secs(choose.below(400)) },
        _ => Fault::Cut { a, b },
    }
}

/// Ends all lasting faults at the end of the safety phase.
fn calm(faults: &mut Vec<FaultAt>, nodes: u64) {
    let at = Instant::from_secs(SAFETY);
    let mut undo = Vec::new();
    for node in (0..nodes as u32).map(NodeId) {
        let mut state = (false, false, false);
        for f in faults.iter() {
            match f.act {
                Fault::Crash { node: n } if n == node => state = (true, false, state.2),
                Fault::Restart { node: n } if n == node => state = (false, false, state.2),
                Fault::Stall { node: n } if n == node => state.1 = true,
                Fault::Resume { node: n } if n == node => state.1 = false,
                Fault::Firewall { node: n, closed } if n == node => state.2 = closed,
                _ => {}
            }
        }
        if state.0 {
            undo.push(Fault::Restart { node });
        }
        if state.1 {
            undo.push(Fault::Resume { node });
        }
        if state.2 {
            undo.push(Fault::Firewall { node, closed: false });
        }
    }
    faults.extend(undo.into_iter().map(|act| FaultAt { at, act }));
}
