//! The examples that the program shows in its help, for tests that execute
//! them. Each has to be executed somewhere; one that no test knows fails the test
//! of its command.

use std::collections::BTreeMap;

use super::Place;

/// Examples that have not been executed yet, each with its command.
pub(crate) struct Examples {
    left: BTreeMap<String, String>,
}

impl Examples {
    /// Those of some commands and of all below them, as far as `wanted`.
    pub(crate) fn collect(commands: &[&str], wanted: impl Fn(&str) -> bool) -> Self {
        let mut left = BTreeMap::new();
        for command in commands {
            collect(&[command], &mut left);
        }
        left.retain(|line, _| wanted(line));
        Self { left }
    }

    /// Takes an example, which has to be there.
    #[track_caller]
    pub(crate) fn says<'a>(&mut self, line: &'a str) -> &'a str {
        assert!(self.left.remove(line).is_some(), "no help shows: {line}");
        line
    }

    /// Everything that is shown was executed.
    pub(crate) fn end(self) {
        let sentence = |(line, command): (&String, &String)| {
            format!(
                "`{command} --help` shows `{line}`, and no test executes that: give it what it \
                 needs in native/tests/journeys/help\n"
            )
        };
        let all: String = self.left.iter().map(sentence).collect();
        assert!(all.is_empty(), "{all}");
    }
}

/// The names of all commands, or of those below one.
pub(crate) fn commands(of: &[&str]) -> Vec<String> {
    let help = help(of);
    let Some((_, list)) = help.split_once("Commands:\n") else { return Vec::new() };
    let entries = list.lines().take_while(|line| !line.is_empty());
    let name = |line: &str| line.strip_prefix("  ")?.split(' ').next().map(str::to_owned);
    entries.filter_map(name).filter(|name| !name.is_empty() && name != "help").collect()
}

fn collect(command: &[&str], found: &mut BTreeMap<String, String>) {
    if let Some((_, examples)) = help(command).split_once("Examples:\n") {
        // Whatever is indented further is a remark.
        let lines = examples.lines().filter_map(|line| line.strip_prefix("  "));
        for line in lines.filter(|line| !line.starts_with(' ')) {
            let call = line.split("  ").next().unwrap_or_default().to_owned();
            found.entry(call).or_insert_with(|| format!("servent {}", command.join(" ")));
        }
    }
    for name in commands(command) {
        collect(&[command, &[&name]].concat(), found);
    }
}

fn help(command: &[&str]) -> String {
    let place = Place::new();
    let mut program = place.servent(&[command, &["--help"]].concat());
    // So wide that no line is broken.
    let output = program.env("COLUMNS", "1000").output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}
