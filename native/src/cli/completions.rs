//! `servent completions`: prints a completion script for a shell.

use clap::Args;
use clap_complete::Shell;

use super::{command, print};
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
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command(), "servent", &mut script);
    print(script)
}
