//! `servent man`: the manual pages.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use clap_mangen::Man;

use super::{command, print};
use crate::exit::Failure;

/// Print the manual page, or write one page per command into a folder.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent man | man -l -
  servent man --dir ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write servent.1, servent-share.1 and so on into this folder.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn run(arguments: &ManArgs) -> Result<(), Failure> {
    // `servent help share` says what servent-share(1) says.
    let mut root = command().disable_help_subcommand(true);
    // Gives every command its full name, such as servent-share.
    root.build();
    let Some(dir) = &arguments.dir else {
        return print(page(root));
    };
    fs::create_dir_all(dir).map_err(|e| Failure::file("make", dir, &e))?;
    write(dir, "servent", &root)
}

/// Writes the page of a command and those of its subcommands.
fn write(dir: &Path, name: &str, command: &clap::Command) -> Result<(), Failure> {
    let path = dir.join(format!("{name}.1"));
    fs::write(&path, page(command.clone())).map_err(|e| Failure::file("write", &path, &e))?;
    for sub in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        write(dir, &format!("{name}-{}", sub.get_name()), sub)?;
    }
    Ok(())
}

fn page(command: clap::Command) -> Vec<u8> {
    let mut text = Vec::new();
    // Writing to memory does not fail.
    let _ = Man::new(command).render(&mut text);
    text
}
