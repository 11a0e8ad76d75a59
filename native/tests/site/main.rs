//! Several servents, one database: the one that leads dies, sleeps, says
//! goodbye; the database goes away and comes back. Real processes and a real
//! PostgreSQL; left out, with a sentence, where that is not installed.

#[path = "../support/postgres/mod.rs"]
mod postgres;
#[path = "../support/program/mod.rs"]
mod program;
#[path = "../support/recorded/mod.rs"]
mod recorded;
#[path = "../support/swarm_program/mod.rs"]
mod swarm_program;

mod away;
mod clients;
mod divided;
mod document;
mod examples;
mod kills;
mod members;
mod mirrored;
mod proxy;
mod refused;
mod swarm;
mod swarms;
mod takeover;
mod troubles;
