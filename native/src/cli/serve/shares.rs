//! `servent add` and `servent remove`: change what a running servent shares.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::cli::control::ControlClient;
use crate::cli::serve::wide;
use crate::cli::start::runtime;
use crate::cli::{Common, print};
use crate::exit::Failure;

/// Let the running servent share more folders or files, from now on.
///
/// They are shared again when it is started the next time, until
/// `servent remove`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent add ~/Films
  servent add ~/Films --state /tmp/two         the servent with that state folder")]
pub(crate) struct AddShareArgs {
    /// Folders or files to share.
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// Share a home folder, or the whole machine, without being asked.
    #[arg(long)]
    yes: bool,
}

/// Let the running servent share folders or files no longer.
///
/// What it was started with is shared again when it is started the next time.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent remove ~/Films
  servent remove ~/Films --state /tmp/two      the servent with that state folder")]
pub(crate) struct RemoveShareArgs {
    /// Folders or files that are shared.
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
}

pub(crate) fn add(common: &Common, arguments: &AddShareArgs) -> Result<(), Failure> {
    wide::ask(&arguments.folders, arguments.yes)?;
    each(common, &arguments.folders, "POST", |path, outcome| match outcome {
        "as_before" => format!("{path} is shared already"),
        _ => format!("{path} is shared, at the next start too"),
    })
}

pub(crate) fn remove(common: &Common, arguments: &RemoveShareArgs) -> Result<(), Failure> {
    each(common, &arguments.folders, "DELETE", |path, outcome| match outcome {
        "until_restart" => format!("{path} is not shared until the next start, which names it"),
        _ => format!("{path} is not shared any more"),
    })
}

fn each(
    common: &Common,
    folders: &[PathBuf],
    method: &str,
    sentence: impl Fn(&str, &str) -> String,
) -> Result<(), Failure> {
    let config = common.config()?;
    let control = ControlClient::for_state(&config.settings.state);
    runtime()?.block_on(async {
        for folder in folders {
            let body = json!({ "path": written(folder)? });
            let outcome = control.tell(method, "/shares", &body).await?;
            if !common.quiet {
                let path = folder.display().to_string();
                print(format!("{}\n", sentence(&path, outcome.as_str().unwrap_or_default())))?;
            }
        }
        Ok(())
    })
}

/// An absolute path, because the servent may run in another folder.
pub(crate) fn written(path: &Path) -> Result<String, Failure> {
    let whole = std::path::absolute(path).map_err(|e| Failure::file("use", path, &e))?;
    let not_text = |_| {
        Failure::usage(format!("{} has a name that is not UTF-8", path.display()))
            .next("rename it; such names cannot be shared")
    };
    whole.into_os_string().into_string().map_err(not_text)
}
