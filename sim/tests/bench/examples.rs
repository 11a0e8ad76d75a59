//! What the examples say is so: each is run.

#[path = "../../examples/lossy_unicast.rs"]
mod lossy_unicast;
#[path = "../../examples/scenario_with_oracle.rs"]
mod scenario_with_oracle;
#[path = "../../examples/two_nodes.rs"]
mod two_nodes;

#[test]
fn every_example_runs_to_its_end() {
    two_nodes::main();
    lossy_unicast::main();
    scenario_with_oracle::main();
}
