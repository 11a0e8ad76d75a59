//! A node that runs for a week while all others come and go: it holds
//! no more in the end than after the first days.

use std::alloc::System;

use servent_core::node::{Config, Node, NodeCommand, OverlayCommand, OverlayConfig};
use servent_core::rng::Rng;
use servent_core::time::Duration;
use servent_core::trace::NodeId;
use servent_core::unicast;
use servent_sim::Bench;
use servent_sim::queue::Fault;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const MINUTE: Duration = Duration::from_secs(60);
const DAY: u64 = 24 * 60;
const DAYS: u64 = 7;
/// Minutes from one visitor to the next, and the longest that one stays.
const EVERY: u64 = 20;
const STAY: u64 = 15;

/// Bytes of memory that a node holds: what a copy of it takes.
fn held(node: &Node) -> usize {
    let live = || {
        let stats = ALLOCATOR.stats();
        stats.bytes_allocated - stats.bytes_deallocated
    };
    let before = live();
    let copy = node.clone();
    let held = live() - before;
    drop(copy);
    held
}

/// Everything is switched on that the bench can carry.
fn config() -> Config {
    let overlay = OverlayConfig { enabled: true, ..OverlayConfig::default() };
    let datagrams = Some(unicast::Config::default());
    Config { overlay, datagrams, share_parts: true, ..Config::default() }
}

/// The node that stays, and those that are there.
struct Town {
    bench: Bench,
    dice: Rng,
    stays: NodeId,
    /// Visitors, and the minute in which each leaves.
    visitors: Vec<(NodeId, u64)>,
    came: u64,
}

impl Town {
    fn new() -> Self {
        let mut bench = Bench::new(12);
        let stays = bench.node("stays", config());
        for n in 0..3 {
            bench.share(stays, &format!("song {n}.ogg"), 40_000_000 << n);
        }
        Self { bench, dice: Rng::new(7), stays, visitors: Vec::new(), came: 0 }
    }

    /// A new node comes, and wants several things of the one that stays, or
    /// it of them.
    fn visit(&mut self, minute: u64) {
        let Self { bench, dice, stays, came, .. } = self;
        let (name, stays) = (format!("visitor {came}"), *stays);
        let visitor = bench.node(&name, config());
        *came += 1;
        let own = format!("of {name}");
        bench.share(visitor, &own, 500_000);
        if dice.chance(3, 4) {
            let at = bench.address(stays);
            bench.command(visitor, NodeCommand::Overlay(OverlayCommand::Join { at }));
        }
        for n in 0..3 {
            if dice.chance(1, 3) {
                bench.get(visitor, stays, &format!("song {n}.ogg"));
            }
        }
        if dice.chance(1, 4) {
            bench.get(stays, visitor, &own);
        }
        for (from, to) in [(visitor, stays), (stays, visitor)] {
            for _ in 0..dice.below(4) {
                bench.send(from, to, vec![1; 3_000]);
            }
        }
        let leaves = minute + dice.between(1, STAY);
        self.visitors.push((visitor, leaves));
    }

    /// Those whose time has come leave, with a goodbye or without.
    fn leave(&mut self, minute: u64) {
        let Self { bench, dice, visitors, .. } = self;
        visitors.retain(|(node, leaves)| {
            let stays = *leaves > minute;
            if !stays {
                if dice.chance(1, 2) {
                    bench.command(*node, NodeCommand::Stop);
                    bench.run_for(Duration::from_secs(2));
                }
                bench.fault(Fault::Crash { node: *node });
            }
            stays
        });
    }

    /// A day goes by; the least and the most that was held at the end of a
    /// minute of it.
    fn day(&mut self, day: u64) -> (usize, usize) {
        let (mut least, mut most) = (usize::MAX, 0);
        for minute in day * DAY..(day + 1) * DAY {
            self.leave(minute);
            if minute % EVERY == 0 {
                self.visit(minute);
            }
            self.bench.run_for(MINUTE);
            self.bench.take_records();
            if minute % 10 == 0 {
                let now = held(self.bench.look(self.stays).expect("it stays"));
                (least, most) = (least.min(now), most.max(now));
            }
        }
        (least, most)
    }
}

#[test]
fn a_week_of_visitors_leaves_no_more_behind_than_the_first_days() {
    let mut town = Town::new();
    let days: Vec<(usize, usize)> = (0..DAYS).map(|day| town.day(day)).collect();
    assert!(town.bench.fetched(town.stays) > 50, "{}", town.bench.fetched(town.stays));
    println!("{days:?}");
    let (least, most) = days[1];
    for (day, held) in days.iter().enumerate().skip(2) {
        assert!(held.0 <= least + least / 20 && held.1 <= most + most / 10, "day {day}: {days:?}");
    }
}
