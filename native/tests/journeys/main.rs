//! What people do, with the settings they have.

#[path = "../support/program/mod.rs"]
mod program;
#[path = "../support/swarm_program/mod.rs"]
mod swarm_program;
#[path = "../support/web/mod.rs"]
mod web;

mod asked;
mod behind_nginx;
mod behind_routers;
mod carried_folder;
mod code;
mod elsewhere;
mod folders;
mod full_disk;
mod help;
mod kills;
mod kills_swarm;
mod lists;
mod long_line;
mod lying_mirror;
mod machines;
mod mapped_port;
mod meeting;
mod meeting_again;
mod meeting_flood;
mod meeting_many;
mod meeting_once;
mod meeting_several;
mod namespaces;
mod pauses;
mod proxies;
mod queue;
mod readme;
mod several_downloads;
mod several_receivers;
mod slow_reader;
mod soak;
mod stopped;
mod swarm_folder;
mod swarm_source;
mod turns;
mod uploads;
mod versions;
mod web_habits;
