use std::vec::Vec;

use super::*;
use crate::engine::{Effect, Fx};
use crate::rng::Rng;
use crate::time::Duration;

const MEMBERS: usize = 3;
const STEP: Duration = Duration::from_millis(100);

/// Members of a site, their store, and what goes wrong.
struct PartitionWorld {
    now: Instant,
    table: MembershipTable,
    members: Vec<Option<Division>>,
    /// Which process of each runs, and until when it is stopped or cut off.
    starts: [u8; MEMBERS],
    asleep: [Instant; MEMBERS],
    cut: [Instant; MEMBERS],
    told: Vec<Vec<Leader>>,
    yields: u32,
}

fn at(member: usize) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, member as u8 + 1], 6346))
}

impl PartitionWorld {
    fn new() -> Self {
        let now = Instant::from_secs(1);
        let mut world = Self {
            now,
            table: MembershipTable::default(),
            members: (0..MEMBERS).map(|_| None).collect(),
            starts: [0; MEMBERS],
            asleep: [now; MEMBERS],
            cut: [now; MEMBERS],
            told: (0..MEMBERS).map(|_| Vec::new()).collect(),
            yields: 0,
        };
        (0..MEMBERS).for_each(|member| world.start(member));
        world
    }

    fn id(&self, member: usize) -> Guid {
        Guid([member as u8 + 1 + 10 * self.starts[member]; 16])
    }

    fn start(&mut self, member: usize) {
        if self.members[member].is_none() {
            self.starts[member] += 1;
            let us = (self.id(member), at(member));
            self.members[member] = Some(Division::new(Config::default(), us, self.now));
        }
    }

    fn answer(&mut self, member: usize, output: Output) -> Option<Input> {
        let us = self.id(member);
        if matches!(output, Output::Look | Output::Take(_) | Output::Free(_))
            && self.cut[member] > self.now
        {
            return Some(Input::Away);
        }
        Some(match output {
            Output::Look => {
                match self.table.members.iter_mut().find(|seat| seat.id == us) {
                    Some(seat) => seat.beat += 1,
                    None => self.table.members.push(MemberSeat { id: us, at: at(member), beat: 0 }),
                }
                Input::Seen(self.table.clone())
            }
            Output::Take(claims) => {
                let mut taken = BTreeSet::new();
                for LeaseClaim { part, seen } in claims {
                    let never = PartitionLease { fence: 0, holder: None };
                    let hold = self.table.parts.entry(part).or_insert(never);
                    if *hold == seen {
                        *hold = PartitionLease { fence: seen.fence + 1, holder: Some(us) };
                        taken.insert(part);
                    }
                }
                Input::Taken(taken)
            }
            Output::Free(parts) => {
                for part in &parts {
                    let hold = self.table.parts.get_mut(part).expect("it was held");
                    hold.holder = hold.holder.filter(|holder| *holder != us);
                }
                Input::Freed(parts)
            }
            Output::Hush(parts) => Input::Quiet(parts),
            Output::Divide(told) => {
                self.told[member] = told;
                return None;
            }
            Output::Lead(parts) => {
                parts.iter().for_each(|part| self.told[member][usize::from(part.0)] = Leader::Us);
                return None;
            }
            Output::Leave => {
                self.table.members.retain(|seat| seat.id != us);
                for hold in self.table.parts.values_mut() {
                    hold.holder = hold.holder.filter(|holder| *holder != us);
                }
                return None;
            }
            Output::Yield => {
                self.yields += 1;
                self.members[member] = None;
                return None;
            }
        })
    }

    fn obey(&mut self, member: usize, mut fx: Fx<Output, Event>) {
        loop {
            let effects: Vec<_> = fx.drain().collect();
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                if let Effect::Output(output) = effect
                    && let Some(input) = self.answer(member, output)
                    && let Some(one) = &mut self.members[member]
                {
                    one.handle(self.now, input, &mut fx);
                }
            }
        }
    }

    fn step(&mut self) {
        self.now += STEP;
        for member in 0..MEMBERS {
            if self.asleep[member] > self.now {
                continue;
            }
            let mut fx = Fx::new();
            if let Some(one) = &mut self.members[member] {
                one.handle_timeout(self.now, &mut fx);
            }
            self.obey(member, fx);
        }
    }

    fn run(&mut self, seconds: u64) {
        (0..10 * seconds).for_each(|_| self.step());
    }

    /// Every part is led by the one that owns it among these, and all of them
    /// know.
    fn agrees(&self, there: &[usize]) {
        for part in Partition::all() {
            let owner = part.owner(there.iter().map(|member| at(*member))).unwrap();
            for member in there {
                let told = self.told[*member][usize::from(part.0)];
                let right = if owner == at(*member) { Leader::Us } else { Leader::At(owner) };
                assert_eq!(told, right, "{part:?} at {member}");
            }
        }
    }
}

#[test]
fn st_4_parts_go_to_their_owners_and_come_back() {
    let mut world = PartitionWorld::new();
    world.run(2);
    world.agrees(&[0, 1, 2]);
    // One dies: the others have its parts within ten seconds.
    world.members[1] = None;
    world.run(10);
    world.agrees(&[0, 2]);
    // It comes back, and gets them.
    world.start(1);
    world.run(3);
    world.agrees(&[0, 1, 2]);
    // It says goodbye: two seconds.
    let mut fx = Fx::new();
    world.members[1].as_mut().unwrap().handle(world.now, Input::Stop, &mut fx);
    world.obey(1, fx);
    world.members[1] = None;
    world.run(2);
    world.agrees(&[0, 2]);
    assert_eq!(world.yields, 0);
}

/// Its own seat of before is still in the membership table: it redirects no client to itself, and has
/// its parts back before the others miss it.
#[test]
fn st_4_a_member_that_comes_back_at_once_does_not_wait_for_itself() {
    let mut world = PartitionWorld::new();
    world.run(2);
    world.members[1] = None;
    world.told[1].clear();
    world.start(1);
    for _ in 0..20 {
        world.step();
        assert!(!world.told[1].contains(&Leader::At(at(1))));
    }
    let owner = |part: Partition| part.owner((0..MEMBERS).map(at));
    let led = |part: Partition| world.told[1][usize::from(part.0)] == Leader::Us;
    assert!(Partition::all().all(|part| led(part) == (owner(part) == Some(at(1)))));
}

#[test]
fn st_4_a_member_that_was_taken_for_dead_and_was_not_ends() {
    let mut world = PartitionWorld::new();
    world.run(2);
    world.asleep[0] = world.now + Duration::from_secs(20);
    world.run(10);
    world.agrees(&[1, 2]);
    world.asleep[0] = world.now;
    world.step();
    assert_eq!(world.yields, 1, "it found out");
    for _ in 0..20 {
        world.step();
        world.agrees(&[1, 2]); // No member gives it a partition that it does not lead.
    }
    world.start(0);
    world.run(10);
    world.agrees(&[0, 1, 2]);
}

/// The answer to its taking was lost, and when it is seen its owner is back: a member that has
/// it without knowing gives it back, or no member would ever serve it.
#[test]
fn st_4_a_part_that_was_taken_unnoticed_is_given_back_to_its_owner() {
    let mut world = PartitionWorld::new();
    world.run(2);
    world.members[1] = None;
    world.run(4);
    // What it asks now is done late, and not answered.
    world.asleep[0] = world.now + Duration::from_secs(60);
    let late = loop {
        world.step();
        let mut fx = Fx::new();
        let one = world.members[0].as_mut().unwrap();
        one.handle_timeout(world.now, &mut fx);
        let Some(Input::Seen(table)) = world.answer(0, Output::Look) else { unreachable!() };
        let one = world.members[0].as_mut().unwrap();
        one.handle(world.now, Input::Seen(table), &mut fx);
        let take = fx.outputs().find(|output| matches!(output, Output::Take(_))).cloned();
        if let Some(take) = take {
            one.handle(world.now, Input::Away, &mut fx);
            break take;
        }
        assert!(world.now < Instant::from_secs(60), "it never takes anything");
    };
    world.asleep[0] = world.now;
    world.start(1);
    world.answer(0, late);
    world.run(3);
    world.agrees(&[0, 1, 2]);
}

#[test]
fn st_4_whatever_goes_wrong_all_members_agree_in_the_end() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let mut world = PartitionWorld::new();
        for _ in 0..rng.between(1, 12) {
            let member = rng.below(MEMBERS as u64) as usize;
            let until = world.now + Duration::from_millis(rng.between(0, 15_000));
            match rng.below(4) {
                0 => world.members[member] = None,
                1 => world.asleep[member] = until,
                2 => world.cut[member] = until,
                _ => world.start(member),
            }
            for _ in 0..rng.below(80) {
                world.step();
            }
        }
        world.run(16);
        (0..MEMBERS).for_each(|member| world.start(member));
        world.run(12);
        world.agrees(&[0, 1, 2]);
    }
}
