//! Checks that the program understands every command that README, docs and help
//! show. What the commands do is tested by the journeys and the program tests.

use clap::Parser as _;

use super::Cli;

/// The words of a line, split as a shell would.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            _ => word.push(c),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// The commands in a text: on lines that begin with the program, or with a
/// command piped into it. A remark follows two spaces or `#`.
fn commands<'a>(text: &'a str, program: &'a str) -> impl Iterator<Item = Vec<String>> + 'a {
    text.lines().filter_map(move |line| {
        let line = line.trim_start().trim_start_matches("$ ");
        let from = line.split(" | ").find(|part| {
            let part = part.strip_prefix("SERVENT_CODE=... ").unwrap_or(part);
            part.starts_with(&format!("{program} "))
        })?;
        let call = from.split("  ").next()?.split(" #").next()?.split(" > ").next()?;
        Some(words(call.trim_end_matches('&')))
    })
}

fn understood(from: &str, call: &[String]) {
    if let Err(why) = Cli::try_parse_from(call) {
        let help = matches!(
            why.kind(),
            clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion
        );
        assert!(help, "{from}: {}\n{why}", call.join(" "));
    }
}

#[test]
fn the_words_of_a_line_are_those_a_shell_takes() {
    assert_eq!(words("get 'magnet:?a b' -o  x"), ["get", "magnet:?a b", "-o", "x"]);
    let piped = commands("tar c docs | servent send h  what it does", "servent");
    assert_eq!(piped.collect::<Vec<_>>(), [["servent", "send", "h"]]);
}

#[test]
fn every_command_of_the_readme_and_the_docs_is_understood() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut seen = 0;
    for (file, program) in [
        ("README.md", "dist/servent"),
        ("docs/anywhere.md", "servent"),
        ("docs/lessons.md", "servent"),
        ("docs/send-receive.md", "servent"),
        ("docs/site.md", "servent"),
        ("docs/security.md", "servent"),
        ("docs/trace.md", "servent"),
    ] {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        for call in commands(&text, program) {
            understood(file, &call);
            seen += 1;
        }
    }
    assert!(seen >= 30, "only {seen} commands were found");
}

#[test]
fn every_command_of_the_help_is_understood() {
    fn walk(command: &clap::Command) -> usize {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let own = commands(&help, "servent").map(|call| understood(command.get_name(), &call));
        own.count() + command.get_subcommands().map(walk).sum::<usize>()
    }
    let seen = walk(&super::command());
    assert!(seen > 60, "only {seen} commands were found");
}
