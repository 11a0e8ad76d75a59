//! A story of an explored world as a scenario in which it happens by itself.
//!
//! In an explored world time stands still while datagrams arrive; in a scenario
//! every step is a little later than the one before. Each datagram is delayed until
//! its step. How long that is depends on when it is sent, and what is sent by a timer
//! is known only from a run: so the scenario is made, run, and made again.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::action::{UnicastAction, UnicastActionAt};
use super::event::{DatagramEvent, Event};
use super::scenario::Scenario;
use super::world::UnicastWorld;
use crate::explore::{Choice, StoryStep};
use crate::links::datagram::DatagramLink;
use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;

/// The time between two steps.
const STEP: Duration = Duration::from_micros(8);
/// How often the scenario is made.
const ROUNDS: usize = 4;

/// A datagram by its sender, receiver and number.
type DatagramName = (u32, u32, u32);

/// What became of a datagram.
#[derive(Debug, Default)]
struct DatagramCourse {
    /// The step in which it was sent.
    sent: usize,
    /// The steps in which it, or its copy, arrived.
    arrived: Vec<usize>,
    /// It or its copy was lost.
    lost: bool,
}

pub(super) fn retell(scenario: &Scenario, steps: &[StoryStep]) -> Option<Scenario> {
    let courses = courses(steps);
    let at: Vec<Instant> = (1..).zip(steps).map(|(n, step)| step.at + STEP.ratio(n, 1)).collect();
    let mut sent: BTreeMap<DatagramName, Instant> =
        courses.iter().map(|(name, course)| (*name, at[course.sent])).collect();
    let mut retold = scenario.clone();
    for _ in 0..ROUNDS {
        retold = made(scenario, steps, &at, &courses, &sent);
        let now = run(&retold)?;
        let known = |(name, at): (&DatagramName, &Instant)| (*name, *now.get(name).unwrap_or(at));
        let next: BTreeMap<DatagramName, Instant> = sent.iter().map(known).collect();
        if next == sent {
            break;
        }
        sent = next;
    }
    Some(retold)
}

/// What became of every datagram of a story.
fn courses(steps: &[StoryStep]) -> BTreeMap<DatagramName, DatagramCourse> {
    let mut courses = BTreeMap::<DatagramName, DatagramCourse>::new();
    let mut names = BTreeMap::new();
    for (i, step) in steps.iter().enumerate() {
        let course = |flight: u64, names: &BTreeMap<u64, DatagramName>| names.get(&flight).copied();
        match step.choice {
            Choice::Deliver { flight } => {
                if let Some(course) = course(flight, &names).and_then(|name| courses.get_mut(&name))
                {
                    course.arrived.push(i);
                }
            }
            Choice::Lose { flight } => {
                if let Some(course) = course(flight, &names).and_then(|name| courses.get_mut(&name))
                {
                    course.lost = true;
                }
            }
            _ => {}
        }
        for flight in &step.sent {
            let name = match step.choice {
                Choice::Double { flight } => course(flight, &names),
                _ => Some((flight.from, flight.to, flight.n)),
            };
            if let Some(name) = name {
                names.insert(flight.id, name);
                courses
                    .entry(name)
                    .or_insert_with(|| DatagramCourse { sent: i, ..DatagramCourse::default() });
            }
        }
    }
    courses
}

/// The scenario, when the datagrams are sent at these instants.
fn made(
    scenario: &Scenario,
    steps: &[StoryStep],
    at: &[Instant],
    courses: &BTreeMap<DatagramName, DatagramCourse>,
    sent: &BTreeMap<DatagramName, Instant>,
) -> Scenario {
    let (mut script, mut faults) = (Vec::new(), Vec::new());
    for (step, at) in steps.iter().zip(at.iter().copied()) {
        match step.choice {
            Choice::Act { index } => {
                let act = scenario.script[index as usize].act.clone();
                script.push(UnicastActionAt { at, act });
            }
            Choice::Crash { node } => {
                faults.push(UnicastActionAt {
                    at,
                    act: UnicastAction::Restart { node: NodeId(node) },
                });
            }
            _ => {}
        }
    }
    for (name, course) in courses {
        let (from, to, n) = (NodeId(name.0), NodeId(name.1), name.2);
        let first = sent[name] + DatagramLink::LEAST;
        let mut add = |at, act| faults.push(UnicastActionAt { at, act });
        match course.arrived[..] {
            [] if course.lost => add(Instant::ZERO, UnicastAction::Drop { from, to, n }),
            // It is still under way when the story ends.
            [] => add(Instant::ZERO, UnicastAction::Delay { from, to, n, by: scenario.horizon }),
            [one, ..] => {
                let by = at[one].since(first);
                add(Instant::ZERO, UnicastAction::Delay { from, to, n, by });
            }
        }
        if let [one, two] = course.arrived[..] {
            let act = UnicastAction::Duplicate { from, to, n, by: at[two].since(at[one]) };
            add(first, act);
        }
    }
    faults.sort_by_key(|fault| fault.at);
    let link = DatagramLink { latency: DatagramLink::LEAST, ..DatagramLink::default() };
    Scenario { script, faults, link, ways: Vec::new(), ..scenario.clone() }
}

/// When each datagram is sent in a scenario.
fn run(scenario: &Scenario) -> Option<BTreeMap<DatagramName, Instant>> {
    let mut world = UnicastWorld::try_new(scenario).ok()?;
    let mut sent = BTreeMap::new();
    world.watch(
        Instant::ZERO + scenario.horizon,
        |_| false,
        |record| {
            if let Event::Datagram(DatagramEvent::Sent { to, n, .. }) = record.event {
                sent.insert((record.node.0, to.0, n), record.at);
            }
        },
    );
    Some(sent)
}
