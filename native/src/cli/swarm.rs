//! `servent swarm`: distributes a file or a folder among many peers that exchange its
//! pieces.

mod get;
mod given;
mod serve;
mod target;

use clap::{Args, Subcommand};
use servent::swarm::SwarmError;

use super::Common;
use crate::exit::{Exit, Failure};

/// Give a file or a folder to many at once, or take part in that.
///
/// A coordinator tells every client from which peer to fetch which piece, so that the
/// source sends little more than one copy and no client only takes (PDTP 2).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent swarm serve film.mkv                    coordinator and source, on port 6086
  servent swarm get pdtp://10.0.0.7/film.mkv      every client
  servent swarm serve course/                     a folder, with everything in it
  servent swarm get pdtp://10.0.0.7/course/
  servent swarm get pdtp://10.0.0.7/film.mkv --seed-for 10m")]
pub(crate) struct SwarmArgs {
    #[command(subcommand)]
    action: SwarmSubcommand,
}

#[derive(Debug, Subcommand)]
enum SwarmSubcommand {
    Serve(serve::SwarmServeArgs),
    Get(get::SwarmGetArgs),
}

pub(crate) fn run(common: &Common, arguments: &SwarmArgs) -> Result<(), Failure> {
    match &arguments.action {
        SwarmSubcommand::Serve(serve) => serve::run(common, serve),
        SwarmSubcommand::Get(get) => get::run(common, get),
    }
}

impl From<SwarmError> for Failure {
    fn from(error: SwarmError) -> Self {
        let (exit, next) = match error {
            SwarmError::Start(why) => return why.into(),
            SwarmError::Run(why) => return why.into(),
            SwarmError::File { path, why } => return Self::file("use", &path, &why),
            SwarmError::Twice(_) | SwarmError::TooManyPieces { .. } => (Exit::Usage, ""),
            SwarmError::Unreachable(_) | SwarmError::Silent(_) => {
                (Exit::Network, "check the address, and that `servent swarm serve` runs there")
            }
            SwarmError::Left { .. } => {
                (Exit::Network, "run the same command to go on where it was, once it is back")
            }
            SwarmError::Refused(_) => {
                (Exit::Refused, "compare the URL with the one that `servent swarm serve` printed")
            }
            SwarmError::Withdrawn(_) => (
                Exit::Refused,
                "ask the user who runs `servent swarm serve`; what had arrived stays in the .part file",
            ),
            SwarmError::Other { .. } => (Exit::Unverified, ""),
            _ => (Exit::Failed, ""),
        };
        let failure = Self::new(exit, error.to_string());
        if next.is_empty() { failure } else { failure.next(next) }
    }
}
