//! What makes no sense is said, with the place: by a scenario, by a world that
//! is made of one, and by what is to be done there.

use servent_core::time::Instant;
use servent_core::trace::NodeId;
use servent_sim::{
    At, Keyframes, ScenarioError, ScenarioMistake, Timeline, queue, routing, swarm, unicast,
};

#[test]
fn an_error_names_its_place_in_every_protocol() {
    let told = |wrong: Result<(), ScenarioError>| wrong.expect_err("no sense").to_string();
    let queue = |text| told(queue::Scenario::parse(text).map(drop));
    let routing = |text| told(routing::Scenario::parse(text).map(drop));
    let unicast = |text| told(unicast::Scenario::parse(text).map(drop));
    let swarm = |text| told(swarm::Scenario::parse(text).map(drop));
    for (told, sentence) in [
        (
            queue(r#"{"clients": [{}, {"servers": [0, 4]}]}"#),
            "`clients[1].servers`: there is no server 4: there are 1, numbered from 0",
        ),
        (
            routing(r#"{"links": [[0, 1], [2, 2]]}"#),
            "`links[1]`: two different nodes are needed, and node 2 is one",
        ),
        (
            routing(r#"{"files": [{"node": 12}]}"#),
            "`files[0].node`: there is no node 12: there are 12, numbered from 0",
        ),
        (
            routing(r#"{"churn": {"every": 1, "down": 1, "until": 100001}}"#),
            "`churn`: 100001 kills are more than 100000",
        ),
        (routing(r#"{"latency": 3599999999, "spread": 2}"#), "`spread`: 2 is not 1 or less"),
        (
            unicast(r#"{"ways": [{"from": 0, "to": 1, "link": {"burst": {"loss": [3, 2]}}}]}"#),
            "`ways[0].link.burst.loss`: [3, 2] is no ratio: it is [n, of], with n at most of, and of more than 0",
        ),
        (
            unicast(r#"{"script": [{"send": {"size": 7}}]}"#),
            "`script[0].send.size`: 7 is not 8 to 262144",
        ),
        (
            unicast(r#"{"script": [{"send": {"count": 100001}}]}"#),
            "`script`: 100001 messages are more than 100000",
        ),
        (swarm(r#"{"clients": [{}, {"up": 0}]}"#), "`clients[1].up`: 0 is not 1 to 1099511627776"),
        (
            swarm("{\n\"clients\": 3}"),
            "invalid type: integer `3`, expected a sequence at line 2 column 12",
        ),
    ] {
        assert_eq!(told, sentence);
    }
}

#[test]
fn what_cannot_be_done_now_says_why() {
    let scenario = routing::Scenario { shape: routing::Shape::Ring, ..Default::default() };
    let mut world = routing::RoutingWorld::new(&scenario);
    world.run_until(Instant::from_secs(1), &mut Vec::new());
    let why = |world: &routing::RoutingWorld, act| world.possible(&act).map_err(|wrong| wrong.why);
    let (node, of, far) = (NodeId(3), NodeId(4), NodeId(6));
    assert_eq!(why(&world, routing::RoutingAction::Cut { from: node, to: of }), Ok(()));
    let cut = routing::RoutingAction::Cut { from: node, to: far };
    assert_eq!(why(&world, cut), Err(ScenarioMistake::NoLink { a: 3, b: 6 }));
    let missing = ScenarioMistake::Missing { what: "node", number: 12, count: 12 };
    assert_eq!(why(&world, routing::RoutingAction::Kill { node: NodeId(12) }), Err(missing));

    let at = world.now();
    world.inject(At { at, act: routing::RoutingAction::Kill { node } });
    world.run_until(Instant::from_secs(2), &mut Vec::new());
    assert_eq!(
        why(&world, routing::RoutingAction::Push { node, of }),
        Err(ScenarioMistake::Down { node: 3 })
    );
    assert_eq!(
        why(&world, routing::RoutingAction::Kill { node }),
        Err(ScenarioMistake::DownAlready { node: 3 })
    );
    assert_eq!(why(&world, routing::RoutingAction::Restart { node }), Ok(()));
}

#[test]
#[should_panic(expected = "`clients[0].up`: 0 is not 1 or more")]
fn no_world_is_made_of_what_makes_no_sense() {
    let clients = vec![queue::ClientGroup { up: 0, ..queue::ClientGroup::default() }];
    let scenario = queue::Scenario { clients, ..queue::Scenario::default() };
    let wrong = queue::QueueWorld::try_new(&scenario).err().map(|wrong| wrong.place);
    assert_eq!(wrong.as_deref(), Some("clients[0].up"));
    let _ = queue::QueueWorld::new(&scenario);
}

#[test]
#[should_panic(expected = "there is no node 99: there are 9, numbered from 0")]
fn nothing_is_planned_for_a_node_that_there_is_not() {
    let mut world = queue::QueueWorld::new(&queue::Scenario::default());
    world.inject(At { at: world.now(), act: queue::Fault::Stall { node: NodeId(99) } });
}

#[test]
#[should_panic(expected = "there is no node 9: there are 9, numbered from 0")]
fn no_step_goes_along_a_node_that_there_is_not() {
    let scenario = queue::Scenario::default();
    let mut timeline: Timeline<queue::Queue> = Timeline::new(&scenario, Keyframes::default());
    timeline.step_node(NodeId(9), true, Instant::from_secs(60));
}
