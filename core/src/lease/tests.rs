use std::vec::Vec;

use super::*;
use crate::engine::{Effect, Fx};
use crate::rng::Rng;

/// The lease in the store.
#[derive(Clone, Copy)]
struct Store {
    lease: LeaseState,
    holder: Option<usize>,
}

impl Store {
    fn answer(&mut self, who: usize, output: Output) -> Option<Input> {
        let ours = self.holder == Some(who);
        Some(match output {
            Output::Look => Input::Seen(self.lease),
            Output::Take(seen) if seen == self.lease => {
                self.lease = LeaseState { fence: seen.fence + 1, beat: 0, free: false };
                self.holder = Some(who);
                Input::Taken(self.lease.fence)
            }
            Output::Renew if ours => {
                self.lease.beat += 1;
                Input::Renewed
            }
            Output::Free if ours => {
                self.lease.free = true;
                return None;
            }
            Output::Take(_) | Output::Renew => Input::Missed,
            Output::Free | Output::Lead(_) | Output::Yield => return None,
        })
    }
}

/// Servents of a site, their store, and what goes wrong.
struct LeaseWorld {
    now: Instant,
    store: Store,
    members: Vec<Lease>,
    /// Until when each is stopped, or cut off from the store.
    asleep: Vec<Instant>,
    cut: Vec<Instant>,
    leads: Vec<(Instant, usize, u64)>,
}

const MEMBERS: usize = 3;
const STEP: Duration = Duration::from_millis(100);

impl LeaseWorld {
    fn new() -> Self {
        let now = Instant::from_secs(1);
        let lease = LeaseState { fence: 0, beat: 0, free: true };
        Self {
            now,
            store: Store { lease, holder: None },
            members: (0..MEMBERS).map(|_| Lease::new(Config::default(), now)).collect(),
            asleep: [now; MEMBERS].into(),
            cut: [now; MEMBERS].into(),
            leads: Vec::new(),
        }
    }

    fn step(&mut self) {
        self.now += STEP;
        for who in 0..MEMBERS {
            if self.asleep[who] <= self.now {
                self.turn(who, None);
            }
        }
    }

    fn turn(&mut self, who: usize, input: Option<Input>) {
        let mut fx = Fx::new();
        match input {
            Some(input) => self.members[who].handle(self.now, input, &mut fx),
            None => self.members[who].handle_timeout(self.now, &mut fx),
        }
        for effect in fx.drain() {
            let Effect::Output(output) = effect else { continue };
            if let Output::Lead(fence) = output {
                self.leads.push((self.now, who, fence));
            }
            let asks = !matches!(output, Output::Lead(_) | Output::Yield);
            let answer = if asks && self.cut[who] > self.now {
                Some(Input::Away)
            } else {
                self.store.answer(who, output)
            };
            if let Some(answer) = answer {
                self.turn(who, Some(answer));
            }
        }
    }

    fn run(&mut self, length: Duration) {
        let end = self.now + length;
        while self.now < end {
            self.step();
        }
    }

    /// Who may write: at most one, because the store knows one holder.
    fn writer(&self) -> Option<usize> {
        self.store.holder.filter(|who| self.members[*who].leads())
    }
}

#[test]
fn one_leads_and_keeps_leading() {
    let mut world = LeaseWorld::new();
    world.run(Duration::from_secs(60));
    assert_eq!(world.leads.len(), 1);
    assert_eq!(world.members.iter().filter(|one| one.leads()).count(), 1);
}

#[test]
fn a_dead_leader_is_replaced_in_time_and_a_goodbye_sooner() {
    let mut world = LeaseWorld::new();
    world.run(Duration::from_secs(5));
    let (_, first, _) = world.leads[0];
    let died = world.now;
    world.asleep[first] = Instant::from_secs(1_000_000);
    world.run(Duration::from_secs(20));
    let (when, second, fence) = world.leads[1];
    let config = Config::default();
    let bound = config.patience + config.look + config.beat;
    assert!(second != first && fence == 2 && when.since(died) <= bound, "{:?}", world.leads);
    let left = world.now;
    world.turn(second, Some(Input::Stop));
    world.run(Duration::from_secs(5));
    let (when, third, _) = world.leads[2];
    assert!(third != second && when.since(left) <= config.look + STEP, "{:?}", world.leads);
}

#[test]
fn a_leader_that_was_only_slow_hears_that_it_was_replaced() {
    let mut world = LeaseWorld::new();
    world.run(Duration::from_secs(5));
    let (_, first, _) = world.leads[0];
    world.asleep[first] = world.now + Duration::from_secs(30);
    world.run(Duration::from_secs(29));
    assert!(world.members[first].leads(), "it cannot know yet");
    assert_ne!(world.writer(), Some(first));
    world.run(Duration::from_secs(3));
    assert!(!world.members[first].leads());
}

#[test]
fn a_member_that_cannot_look_takes_nothing_when_the_store_is_back() {
    let mut world = LeaseWorld::new();
    world.run(Duration::from_secs(5));
    world.cut = [world.now + Duration::from_secs(60); MEMBERS].into();
    world.run(Duration::from_secs(70));
    assert_eq!(world.leads.len(), 1, "the same one goes on: {:?}", world.leads);
}

/// Members sleep and are cut off at random: at most one may write at any time,
/// the numbers only grow, and a member leads soon after the faults stop.
#[test]
fn drawn_worlds_have_one_writer_and_never_stay_without_a_leader() {
    for seed in 0..10_000_u64 {
        let mut rng = Rng::new(seed);
        let mut world = LeaseWorld::new();
        for _ in 0..8 {
            let who = rng.below(MEMBERS as u64) as usize;
            let until = world.now + Duration::from_millis(rng.below(12_000));
            match rng.below(4) {
                0 | 1 => world.asleep[who] = until,
                2 => world.cut[who] = until,
                _ => world.cut = [until; MEMBERS].into(),
            }
            world.run(Duration::from_millis(200 + rng.below(4_000)));
        }
        world.asleep = [world.now; MEMBERS].into();
        world.cut = [world.now; MEMBERS].into();
        let config = Config::default();
        world.run(config.patience + config.beat + config.look + config.look + STEP);
        assert!(world.writer().is_some(), "seed {seed}: no member leads");
        let leading = world.members.iter().filter(|one| one.leads()).count();
        assert_eq!(leading, 1, "seed {seed}");
        let grows = world.leads.windows(2).all(|two| two[0].2 < two[1].2);
        assert!(grows, "seed {seed}: {:?}", world.leads);
    }
}
