//! `servent rescan`: scans the shared folders now.

use clap::Args;

use crate::cli::Common;
use crate::cli::control::ControlClient;
use crate::cli::start::runtime;
use crate::exit::Failure;

/// Let the running servent look at its shared folders now.
///
/// It does so by itself when something changes there, as far as the system
/// tells, and every now and then.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cp song.ogg ~/Music && servent rescan
  servent rescan --state /tmp/two         the servent with that state folder")]
pub(crate) struct RescanArgs {}

pub(crate) fn run(common: &Common, _: &RescanArgs) -> Result<(), Failure> {
    let config = common.config()?;
    runtime()?.block_on(ControlClient::for_state(&config.settings.state).post("/rescan"))
}
