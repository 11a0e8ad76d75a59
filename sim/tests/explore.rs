//! Small worlds are explored completely: every order of events, all oracles on
//! every state. The counts are pinned: a change of what an engine may do shows here.

use servent_core::time::Duration;
use servent_sim::RegisteredProtocol as _;
use servent_sim::echo::{self, Echo};
use servent_sim::explore::{
    Choice, Ended, Explored, ExploredProtocol, ExploredState, Explorer, Limits, tell,
};
use servent_sim::registry::{RunEnd, SmallWorld, TaggedScenario};
use servent_sim::shrink::shrink;
use servent_sim::unicast::{Scenario, Unicast};

fn small(id: &str) -> SmallWorld<Scenario> {
    let all = Unicast::small_worlds();
    all.into_iter().find(|world| world.scenario.id == id).expect("a small world")
}

fn explore<P: ExploredProtocol>(scenario: &P::Scenario, limits: &Limits) -> Explored {
    let mut explorer = Explorer::<P>::new(scenario, limits.clone()).expect("a world");
    explorer.run(|_| true).clone()
}

fn counts(found: &Explored) -> (Ended, u64, u64, u32, u64) {
    (found.ended, found.states, found.transitions, found.depth, found.ends)
}

/// EX-1: deliver, lose or double what is in flight, run what is due, act.
#[test]
fn ex_1_what_may_happen_next_is_told_and_a_budget_limits_it() {
    let world = small("all-of-two-messages");
    let limits = Limits { losses: 1, doubles: 1, crashes: 1, ..world.limits };
    let begin = ExploredState::<Unicast>::begin(&world.scenario, &limits).expect("a world");
    let crashes = [Choice::Crash { node: 0 }, Choice::Crash { node: 1 }];
    assert_eq!(begin.enabled(&limits), [&[Choice::Act { index: 0 }][..], &crashes].concat());
    let (written, _) = begin.after(Choice::Act { index: 0 });
    let (sent, records) = written.after(Choice::Timer { node: 0 });
    assert!(!records.is_empty());
    let flight = 0;
    for choice in [Choice::Deliver { flight }, Choice::Lose { flight }, Choice::Double { flight }] {
        assert!(sent.enabled(&limits).contains(&choice), "{choice:?}");
    }
    // What was used up is not offered again.
    let (lost, _) = sent.after(Choice::Lose { flight });
    assert!(!lost.enabled(&limits).iter().any(|choice| matches!(choice, Choice::Lose { .. })));
    // Two orders that end in the same digest are one state.
    let other = |choices: [Choice; 2]| choices.iter().fold(sent.clone(), |s, c| s.after(*c).0);
    let [act, crash] = [Choice::Act { index: 1 }, Choice::Deliver { flight }];
    let prints = [other([act, crash]), other([crash, act])].map(|state| state.fingerprint());
    assert_eq!(prints[0], prints[1]);
    assert_ne!(prints[0], sent.fingerprint());
}

/// EX-2, EX-3: all states of a small world, and how many there are.
#[test]
fn ex_3_every_order_of_two_messages_and_a_loss_is_walked_and_no_rule_breaks() {
    let world = small("all-of-two-messages");
    let found = explore::<Unicast>(&world.scenario, &world.limits);
    assert_eq!(found.violation, None);
    assert_eq!(counts(&found), (Ended::Complete, 1809, 2379, 31, 84));
}

#[test]
fn ex_3_every_order_of_two_messages_and_a_crash_is_walked_and_no_rule_breaks() {
    let world = small("all-of-a-crash");
    let found = explore::<Unicast>(&world.scenario, &world.limits);
    assert_eq!(found.violation, None);
    assert_eq!(counts(&found), (Ended::Complete, 5922, 8246, 36, 239));
}

#[test]
fn ex_3_every_order_of_an_echo_is_walked_and_no_rule_breaks() {
    let scenario = echo::Scenario { questions: 2, ..echo::Scenario::default() };
    let limits = Limits { losses: 1, doubles: 1, ..Limits::default() };
    let found = explore::<Echo>(&scenario, &limits);
    assert_eq!(found.violation, None);
    assert_eq!(counts(&found), (Ended::Complete, 6076, 28013, 22, 42));
}

/// The small worlds of overlays and swarms: states, events, depth and ends.
const COUNTED: [(&str, u64, u64, u32, u64); 3] = [
    ("all-of-a-search", 467, 1141, 25, 4),
    ("all-of-a-push", 1005, 2509, 29, 8),
    ("all-of-two-pieces", 272, 475, 41, 4),
];

/// EX-3: all orders of a search, of a push, of two clients that share; whatever the type of the world, by what the registry knows of it.
#[test]
fn ex_3_every_order_of_small_overlays_and_swarms_is_walked_and_no_rule_breaks() {
    let all = TaggedScenario::small_worlds();
    let mut found = Vec::new();
    for (id, ..) in COUNTED {
        let (world, limits) = all.iter().find(|(world, _)| world.about().id == id).expect(id);
        let mut walk = world.walk(limits.clone()).expect("it can be explored").expect("a world");
        while walk.found().states < 60_000 {
            let parts = walk.expand(0..walk.waiting().min(64));
            if walk.absorb(vec![parts]).is_some() {
                break;
            }
        }
        let Explored { states, transitions, depth, ends, ended, violation, .. } = walk.found();
        let story = walk.story().expect("a world").map(|story| story.steps);
        assert_eq!(*violation, None, "{id}: {story:#?}");
        found.push((id, *states, *transitions, *depth, *ends));
        assert_eq!(*ended, Ended::Complete, "{found:?}");
    }
    assert_eq!(found, COUNTED);
}

/// EX-2: a limit ends the walk by its name, and so does the host.
#[test]
fn ex_2_a_walk_that_is_not_complete_says_why() {
    let world = small("all-of-two-messages");
    let with = |limits: Limits| explore::<Unicast>(&world.scenario, &limits).ended;
    assert_eq!(with(Limits { depth: 3, ..world.limits.clone() }), Ended::Depth);
    assert_eq!(with(Limits { states: 50, ..world.limits.clone() }), Ended::States);
    let mut explorer = Explorer::<Unicast>::new(&world.scenario, world.limits.clone()).unwrap();
    let found = explorer.run(|found| found.states < 100);
    assert_eq!(found.ended, Ended::Cancelled);
    assert!(found.states < 400, "it stops soon: {}", found.states);
}

/// EX-2: parts of a level can be expanded anywhere and in any order.
#[test]
fn ex_2_the_counts_do_not_depend_on_how_the_work_is_divided() {
    let world = small("all-of-two-messages");
    let whole = explore::<Unicast>(&world.scenario, &world.limits);
    let mut explorer = Explorer::<Unicast>::new(&world.scenario, world.limits.clone()).unwrap();
    let ended = loop {
        let waiting = explorer.waiting();
        let middle = waiting / 2;
        // The second half is looked for first, as another core might do.
        let second = explorer.expand(middle..waiting);
        let mut all = explorer.expand(0..middle);
        all.extend(second);
        if let Some(ended) = explorer.absorb(all) {
            break ended;
        }
    };
    assert_eq!((ended, explorer.found()), (Ended::Complete, &whole));
}

/// EX-2: the shortest story, and the scenario in which it happens by itself.
#[test]
fn ex_2_a_broken_rule_is_a_shortest_story_and_a_scenario_that_breaks_it_too() {
    let world = small("all-of-two-messages");
    // So little time that a lost message is not sent again before the end.
    let scenario = Scenario { horizon: Duration::from_millis(300), ..world.scenario };
    let found = explore::<Unicast>(&scenario, &world.limits);
    let violation = found.violation.as_ref().expect("a message is still missing at the end");
    assert_eq!((found.ended, violation.key), (Ended::Broken, "check.lost_silently"));
    assert!(found.story.len() <= 12, "{:?}", found.story);
    let story = tell::<Unicast>(&scenario, &world.limits, &found.story, violation).unwrap();
    assert_eq!(story.steps.len(), found.story.len());
    let retold = story.scenario.expect("it happens by itself");
    let tagged = TaggedScenario::new::<Unicast>(&retold).unwrap();
    let text = serde_json::to_string(&tagged).unwrap();
    let run = TaggedScenario::parse(&text).unwrap().play(retold.seed, RunEnd::Settled).unwrap();
    assert_eq!(run.violations[0].key, "check.lost_silently");
}

/// EX-5: what breaks a rule in a drawn world is shrunk, and breaks the same rule.
#[test]
fn ex_5_a_failing_drawn_world_becomes_a_small_one_that_breaks_the_same_rule() {
    let mut shrunk = 0;
    for seed in 0..40 {
        let mut drawn = TaggedScenario::draw("unicast", seed).unwrap();
        // It ends in the middle, so that something is unfinished.
        drawn.scenario.insert("horizon".into(), 2_000_000.into());
        let run = drawn.play(seed, RunEnd::Settled).unwrap();
        let Some(violation) = run.violations.first() else { continue };
        let small = shrink(&drawn, violation.key, RunEnd::Settled, &mut |runs| runs < 2_000)
            .expect("it breaks");
        let again = small.scenario.play(small.scenario.seed().unwrap(), RunEnd::Settled).unwrap();
        assert!(again.violations.iter().any(|broken| broken.key == violation.key), "seed {seed}");
        let length = |key| small.scenario.scenario[key].as_array().map_or(0, Vec::len);
        let (nodes, faults, script) = (length("nodes"), length("faults"), length("script"));
        assert!(nodes <= 5 && faults <= 3, "seed {seed}: {nodes} nodes, {faults} faults");
        assert!(script <= 4, "seed {seed}: {script} actions");
        assert!(small.runs <= 2_000);
        shrunk += 1;
    }
    assert!(shrunk >= 20, "{shrunk} worlds failed");
    let sound = TaggedScenario::preset("lose-last").unwrap();
    assert_eq!(shrink(&sound, "check.order", RunEnd::Open, &mut |_| true), None);
}
