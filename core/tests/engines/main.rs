//! Each engine alone: what holds for all of them, scenarios, properties.

#[path = "../support/contract/mod.rs"]
mod contract;
#[path = "../support/fetch_support/mod.rs"]
mod fetch_support;
#[path = "../support/hostile.rs"]
mod hostile;
#[path = "../support/queue_support/mod.rs"]
mod queue_support;
#[path = "../support/routing_support/mod.rs"]
mod routing_support;
#[path = "../support/swarm_support/mod.rs"]
mod swarm_support;
#[path = "../support/unicast_support/mod.rs"]
mod unicast_support;

mod fetch;
mod fetch_contract;
mod fetch_goodbye;
mod fetch_liars;
mod fetch_moved;
mod fetch_names;
mod fetch_patience;
mod fetch_site;
mod fetch_trees;
mod fetch_turns;
mod fetch_versions;
mod fetch_versions_drawn;
mod hostile_input;
mod meet_contract;
mod pinned;
mod queue_corners;
mod queue_properties;
mod queue_rush;
mod queue_scenarios;
mod queue_shares;
mod routing_contract;
mod routing_peers;
mod routing_scenarios;
mod swarm_contract;
mod swarm_liars;
mod unicast_contract;
mod unicast_corners;
mod unicast_ends;
mod unicast_loss;
mod unicast_order;
mod unicast_proof;
mod unicast_random;
mod unicast_strangers;
mod unicast_window;
