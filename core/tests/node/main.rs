//! The engines joined behind one byte boundary.

#[path = "../support/contract/mod.rs"]
mod contract;
#[path = "../support/node_support/mod.rs"]
mod node_support;
#[path = "../support/swarm_nodes/mod.rs"]
mod swarm_nodes;

mod archive;
mod branch;
mod browse;
mod datagrams;
mod fetch;
mod gate;
mod guard;
mod host_contract;
mod hostile;
mod http;
mod overlay;
mod overlay_caches;
mod overlay_hosts;
mod overlay_peers;
mod overlay_places;
mod overlay_proxies;
mod pair;
mod queue;
mod queue_order;
mod queue_parked;
mod site;
mod slept;
mod store;
mod swarm;
mod swarm_site;
mod tape;
mod trees;
mod uploads;
