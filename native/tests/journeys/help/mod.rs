//! Every example that `servent COMMAND --help` shows, executed as it stands
//! there. What belongs to a site is executed in `native/tests/site`.

mod alone;
mod carrying;
mod getting;
mod running;

use std::collections::BTreeSet;

use crate::machines::{Machine, World};
use crate::program::examples::{self, Examples};

/// The commands of each test.
const RUNNING: [&str; 8] = ["share", "room", "status", "add", "remove", "rescan", "state", "demo"];
const GETTING: [&str; 3] = ["get", "search", "downloads"];
const CARRYING: [&str; 6] = ["send", "receive", "meet", "doctor", "swarm", "replay"];
const ALONE: [&str; 7] = ["sim", "lesson", "trace", "lab", "config", "completions", "man"];
/// Those of `native/tests/site`.
const SITE: [&str; 1] = ["site"];

/// What a test needs: two machines, and what is to be executed on them.
struct Stage<'a> {
    here: Machine<'a>,
    there: Machine<'a>,
    examples: Examples,
}

impl<'a> Stage<'a> {
    fn new(world: &'a World, commands: &[&str]) -> Self {
        let [here, there] =
            [("here", 0), ("there", 1)].map(|(name, at)| world.machine(name, world.pids[at]));
        let examples = Examples::collect(commands, |line| !line.contains("postgres://"));
        Self { here, there, examples }
    }

    /// An example, as a shell gets it: folders outside of ours are moved into it.
    #[track_caller]
    fn says(&mut self, line: &str) -> String {
        self.examples.says(line).replace("/tmp/", "tmp/")
    }

    /// Executes an example that ends by itself, and succeeds; what it printed.
    #[track_caller]
    fn does(&mut self, line: &str) -> String {
        let line = self.says(line);
        self.here.does(&line)
    }

    /// The same one after the other.
    #[track_caller]
    fn all(&mut self, lines: &[&str]) {
        for line in lines {
            self.does(line);
        }
    }
}

#[test]
fn every_command_has_its_place_here() {
    let known = [&RUNNING[..], &GETTING, &CARRYING, &ALONE, &SITE].concat();
    let known: BTreeSet<String> = known.into_iter().map(str::to_owned).collect();
    let all: BTreeSet<String> = examples::commands(&[]).into_iter().collect();
    assert_eq!(known, all, "the commands whose examples are executed, and those that exist");
}
