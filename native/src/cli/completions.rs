//! `servent completions`: prints a completion script for a shell.

use std::path::Path;

use clap::builder::PossibleValuesParser;
use clap::{Args, Command};
use clap_complete::Shell;

use super::{command, print};
use crate::config::Builder;
use crate::exit::Failure;

/// Print a completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent completions bash > ~/.local/share/bash-completion/completions/servent
  servent completions zsh > ~/.zfunc/_servent
  servent completions fish > ~/.config/fish/completions/servent.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

pub(crate) fn run(arguments: &CompletionsArgs) -> Result<(), Failure> {
    print(script(arguments.shell)?)
}

fn script(shell: Shell) -> Result<Vec<u8>, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut offered(&keys()?), "servent", &mut script);
    Ok(script)
}

/// The names of all settings.
fn keys() -> Result<Vec<&'static str>, Failure> {
    let defaults = Builder::from_text(Path::new("the defaults"), "")?.finish()?;
    Ok(defaults.rows().map(|(key, ..)| stays(key)).collect())
}

/// A name for as long as the program runs, as clap wants them: this command prints once
/// and ends.
fn stays(name: &str) -> &'static str {
    name.to_owned().leak()
}

/// What completions offer: the commands without hidden flags, and the names of
/// settings where one is expected.
fn offered(keys: &[&'static str]) -> Command {
    let assigned: Vec<&str> = keys.iter().map(|key| stays(&format!("{key}="))).collect();
    let keys = PossibleValuesParser::new(keys.to_vec());
    visible(&command())
        .mut_arg("set", |set| set.value_parser(PossibleValuesParser::new(assigned)))
        .mut_subcommand("config", |config| {
            config.mut_subcommand("set", |set| set.mut_arg("key", |key| key.value_parser(keys)))
        })
}

/// A command and those below it, without their hidden arguments: the generator offers
/// those too, and clap has no way to take an argument away.
fn visible(command: &Command) -> Command {
    let arguments = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let mut copy = Command::new(stays(command.get_name()))
        .args(arguments.cloned())
        .subcommands(command.get_subcommands().map(visible));
    if let Some(about) = command.get_about() {
        copy = copy.about(about.clone());
    }
    copy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_offer_settings_and_nothing_hidden() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = String::from_utf8(script(shell).unwrap()).unwrap();
            assert!(!script.contains("time-scale"), "{shell}");
            assert!(script.contains("put-damaged-aside"), "{shell}");
            assert!(script.contains("queue.slots="), "{shell}: servent --set");
            // The generator for fish has no values of positional arguments.
            let offers = shell == Shell::Fish || script.contains("queue.slots ");
            assert!(offers, "{shell}: servent config set");
        }
    }
}
