//! Randomly generated scenarios: a safety phase in which anything may go wrong,
//! then a liveness phase in which nothing does, and every message is read or
//! reported as undelivered.

use alloc::format;
use alloc::vec::Vec;

use super::action::{Send, UnicastAction, UnicastActionAt};
use super::scenario::{Party, Scenario};
use crate::links::datagram::{Burst, DatagramLink};
use servent_core::choose::Choose;
use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;
use servent_core::unicast::{Config, Congestion, DeliveryOrder, Profile, Side};

/// The length of the safety phase.
#[doc(hidden)]
pub const SAFETY: Duration = Duration::from_secs(4);
/// The length of the liveness phase.
#[doc(hidden)]
pub const LIVENESS: Duration = Duration::from_secs(80);
/// How long at the end of it nothing may be sent any more.
#[doc(hidden)]
pub const QUIET: Duration = Duration::from_secs(15);

/// Generates a scenario. `seed` becomes its seed, so that a generated scenario
/// can be reproduced from that number alone.
#[must_use]
pub fn draw(choose: &mut Choose, seed: u64) -> Scenario {
    let nodes = choose.between(2, 3);
    let name =
        |n: u64| Party { name: format!("{}", char::from(b'A' + n as u8)), ..Party::default() };
    let config = config(choose);
    let mut scenario = Scenario {
        id: format!("random-unicast-{seed}"),
        title: format!("Swarm {seed}"),
        seed,
        horizon: SAFETY + LIVENESS,
        profile: *choose.one(&[Profile::Unicast3, Profile::Adaptive]),
        nodes: (0..nodes).map(name).collect(),
        link: link(choose),
        ..Scenario::default()
    };
    for _ in 0..choose.between(1, 7) {
        let (at, (from, to)) = (moment(choose), pair(choose, nodes));
        let act = if choose.chance(1, 8) {
            UnicastAction::Close { from, to }
        } else {
            UnicastAction::Send(send(choose, from, to, config.max_message))
        };
        scenario.script.push(UnicastActionAt { at, act });
    }
    for _ in 0..choose.below(8) {
        let (at, pair) = (moment(choose), pair(choose, nodes));
        scenario.faults.push(UnicastActionAt { at, act: fault(choose, pair) });
    }
    scenario.config = config;
    scenario.script.sort_by_key(|act| act.at);
    scenario.faults.sort_by_key(|act| act.at);
    calm(&mut scenario.faults, nodes);
    scenario
}

fn moment(choose: &mut Choose) -> Instant {
    Instant::from_micros(choose.below(SAFETY.as_micros()))
}

fn pair(choose: &mut Choose, nodes: u64) -> (NodeId, NodeId) {
    let from = choose.below(nodes);
    let to = (from + choose.between(1, nodes - 1)) % nodes;
    (NodeId(from as u32), NodeId(to as u32))
}

/// Everything ends within the liveness phase.
fn config(choose: &mut Choose) -> Config {
    let mut config = Config {
        congestion: *choose.one(&[Congestion::None, Congestion::Cubic, Congestion::Fixed(4_000)]),
        mtu: *choose.one(&[200, 576, 1_400]),
        conn_expiry: Duration::from_secs(15),
        conn_close: Duration::from_secs(6),
        unreachable: Duration::from_secs(8),
        max_message: 2_000,
        ..Config::default()
    };
    if choose.chance(1, 3) {
        config.send_messages = 40;
        config.send_bytes = 8_000;
        config.recv_messages = 20;
        config.recv_bytes = 6_000;
    }
    config
}

fn link(choose: &mut Choose) -> DatagramLink {
    let burst = |choose: &mut Choose| Burst {
        enter: (choose.between(1, 10), 100),
        leave: (choose.between(10, 60), 100),
        loss: (choose.between(50, 100), 100),
    };
    DatagramLink {
        latency: Duration::from_micros(choose.between(100, 80_000)),
        jitter: Duration::from_micros(choose.below(2) * choose.below(40_000)),
        loss: (choose.below(2) * choose.below(300), 1_000),
        burst: choose.chance(1, 4).then(|| burst(choose)),
        duplicate: (choose.below(2) * choose.below(100), 1_000),
        reorder: (choose.below(2) * choose.below(100), 1_000),
        late: Duration::from_micros(choose.below(100_000)),
        rate: choose.below(3) / 2 * choose.between(20_000, 500_000),
        until: Instant::ZERO + SAFETY,
        ..DatagramLink::default()
    }
}

fn send(choose: &mut Choose, from: NodeId, to: NodeId, longest: u32) -> Send {
    let long = choose.chance(1, 6);
    Send {
        from,
        to,
        count: choose.between(1, 20) as u32,
        size: if long { choose.between(8, longest.into()) } else { choose.between(8, 60) } as u32,
        every: Duration::from_micros(choose.below(2) * choose.below(60_000)),
        order: if choose.chance(1, 5) { DeliveryOrder::AtOnce } else { DeliveryOrder::InOrder },
    }
}

fn fault(choose: &mut Choose, (from, to): (NodeId, NodeId)) -> UnicastAction {
    let by = |choose: &mut Choose| Duration::from_micros(choose.below(1_000_000));
    let n = |choose: &mut Choose| choose.between(1, 25) as u32;
    match choose.below(11) {
        0 => UnicastAction::Crash { node: from },
        1 => UnicastAction::Restart { node: from },
        2 => UnicastAction::Stall { node: from },
        3 => UnicastAction::Read { node: from, on: false },
        4 => UnicastAction::Cut { from, to },
        5 => UnicastAction::Forget { node: from, peer: to, side: Side::Receiver },
        6 => UnicastAction::Forget { node: from, peer: to, side: Side::Sender },
        7 => UnicastAction::Delay { from, to, n: n(choose), by: by(choose) },
        8 => UnicastAction::Duplicate { from, to, n: n(choose), by: by(choose) },
        _ => UnicastAction::Drop { from, to, n: n(choose) },
    }
}

/// Ends all lasting faults at the end of the safety phase.
fn calm(faults: &mut Vec<UnicastActionAt>, nodes: u64) {
    let mut undo = Vec::new();
    for fault in faults.iter() {
        undo.extend(match fault.act {
            UnicastAction::Cut { from, to } => Some(UnicastAction::Heal { from, to }),
            UnicastAction::Stall { node } => Some(UnicastAction::Resume { node }),
            UnicastAction::Read { node, .. } => Some(UnicastAction::Read { node, on: true }),
            _ => None,
        });
    }
    for node in (0..nodes as u32).map(NodeId) {
        let mut down = false;
        for fault in faults.iter() {
            match fault.act {
                UnicastAction::Crash { node: n } if n == node => down = true,
                UnicastAction::Restart { node: n } if n == node => down = false,
                _ => {}
            }
        }
        undo.extend(down.then_some(UnicastAction::Restart { node }));
    }
    let at = Instant::ZERO + SAFETY;
    faults.extend(undo.into_iter().map(|act| UnicastActionAt { at, act }));
}
