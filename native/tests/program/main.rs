//! The program, called as people call it.

#[path = "../support/program/mod.rs"]
mod program;
#[path = "../support/swarm_program/mod.rs"]
mod swarm_program;

mod access_log;
mod bad_input;
mod browse;
mod come_back;
mod command;
mod control;
mod dark_line;
mod dead_address;
mod demo;
mod exit_codes;
mod explore;
mod fresh_files;
mod lab;
mod meeting;
mod meeting_turns;
mod one_queue;
mod overlay;
mod overlay_hostile;
mod overlay_hosts;
mod private;
mod room;
mod send_files;
mod service;
mod silence;
mod strangers_words;
mod survive;
mod swarm;
mod swarm_hostile;
mod tapes;
mod trace;
mod unicast;
mod unicast_strangers;
