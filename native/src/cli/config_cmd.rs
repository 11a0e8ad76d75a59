//! `servent config`: what is in force, and why.

use clap::Args;

use super::{Common, print};
use crate::exit::Failure;

/// Show every setting in force and where its value came from.
///
/// Values come from, later ones winning: the defaults, the configuration
/// file, environment variables (`queue.slots` is SERVENT_QUEUE_SLOTS), flags.
/// What is printed is a file that can be read back.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent config > mine.toml                        begin a file of your own, for --config, or
                                                    to keep as ~/.config/servent/config.toml
  servent config --explain | less                   what each of them means
  SERVENT_QUEUE_SLOTS=2 servent config | grep '#'   what differs from the defaults
  servent config --json --set queue.per_ip=4")]
pub(crate) struct Arguments {
    /// As a configuration file (the default).
    #[arg(long, conflicts_with = "json")]
    toml: bool,
    /// With the meaning of every setting above it.
    #[arg(long, conflicts_with = "json")]
    explain: bool,
    /// As one JSON object: {key: {value, origin}}.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(common: &Common, arguments: &Arguments) -> Result<(), Failure> {
    let config = common.config()?;
    if arguments.json {
        print(format!("{:#}\n", config.to_json()))
    } else {
        print(config.to_toml(arguments.explain))
    }
}
