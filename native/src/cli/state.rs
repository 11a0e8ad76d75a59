//! `servent state`: copies everything that survives a restart.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use servent::driver;
use servent::error::StoreFailure;

use super::control::ControlClient;
use super::serve::shares::written;
use super::start::runtime;
use super::{Common, print};
use crate::exit::{Exit, Failure};

/// Copy everything that survives a restart, or bring it back.
///
/// Places in line and their tickets, downloads and how far they are, hashes of
/// shared files, what was added. The bytes of downloads are not in it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent state export backup.redb          while it runs, too
  servent state import backup.redb          while it does not")]
pub(crate) struct StateArgs {
    #[command(subcommand)]
    action: StateAction,
}

#[derive(Debug, Subcommand)]
enum StateAction {
    Export(StateExportArgs),
    Import(Import),
}

/// Copy the state to a new file, whether the servent runs or not.
///
/// A user who has the file can pass for this servent in a queue: protect it as you
/// protect the state.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent state export backup.redb")]
struct StateExportArgs {
    /// The file to make.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Make such a copy the state; what was there is renamed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent state import backup.redb --state /tmp/two")]
struct Import {
    /// The copy.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(crate) fn run(common: &Common, arguments: &StateArgs) -> Result<(), Failure> {
    let config = common.config()?;
    let state = &config.settings.state;
    let said = match &arguments.action {
        StateAction::Export(StateExportArgs { file }) => {
            let body = json!({ "path": written(file)? });
            let control = ControlClient::for_state(state);
            match runtime()?.block_on(control.tell("POST", "/state", &body)) {
                Err(failure) if failure.exit == Exit::Running => driver::export(state, file)?,
                asked => drop(asked?),
            }
            format!("{} is a copy of the state in {}\n", file.display(), state.display())
        }
        StateAction::Import(Import { file }) => {
            let before = driver::import(state, file).map_err(|why| match why {
                StoreFailure::Damaged { path, why } if path == *file => {
                    let what = format!("{} is no copy of a state ({why})", path.display());
                    Failure::new(Exit::Foreign, what)
                        .next("name a file that `servent state export` has written")
                }
                other => other.into(),
            })?;
            let before = before.map_or_else(String::new, |before| {
                format!("; what was there is {} now", before.display())
            });
            format!("{} is the state in {}{before}\n", file.display(), state.display())
        }
    };
    if common.quiet { Ok(()) } else { print(said) }
}
