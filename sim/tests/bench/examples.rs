//! What the examples say is so: each is run.

#[path = "../../examples/lossy_unicast.rs"]
mod lossy_unicast;
#[path = "../../examples/scenario_with_oracle.rs"]
mod scenario_with_oracle;
#[path = "../../examples/two_nodes.rs"]
mod two_nodes;
#[path = "../../examples/worlds.rs"]
mod worlds;

#[test]
fn every_example_runs_to_its_end() {
    two_nodes::main();
    lossy_unicast::main();
    scenario_with_oracle::main();
}

#[test]
fn a_sweep_judges_worlds_of_every_protocol_and_tells_a_broken_one() {
    for (name, draw) in worlds::PROTOCOLS {
        assert!(draw(1).events > 0, "{name}: nothing happened");
        assert!(worlds::report(name, draw, 1..3), "{name}: a rule is broken");
    }
    let broken = |_| worlds::Judged { events: 1, broken: vec!["a rule".into()] };
    assert!(!worlds::report("queue", broken, 1..3), "a broken rule is not told");
    assert!(!worlds::report("queue", |seed| panic!("{seed}"), 1..2), "a panic is not told");
}
