//! `servent man`: the manual pages.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use clap_mangen::Man;

use super::exit::Failure;
use super::{command, print};

/// Print the manual page, or write one page per command into a folder.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent man | man -l -
  servent man --dir ~/.local/share/man/man1")]
pub(crate) struct Arguments {
    /// Write servent.1, servent-share.1 and so on into this folder.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut root = command();
    // Gives every command its full name, such as servent-share.
    root.build();
    let Some(dir) = &arguments.dir else {
        return print(page(root));
    };
    fs::create_dir_all(dir).map_err(|e| Failure::file("make", dir, &e))?;
    let mut pages = vec![("servent.1".to_owned(), page(root.clone()))];
    for sub in root.get_subcommands().filter(|c| !c.is_hide_set()) {
        pages.push((format!("servent-{}.1", sub.get_name()), page(sub.clone())));
    }
    for (name, text) in pages {
        let path = dir.join(name);
        fs::write(&path, text).map_err(|e| Failure::file("write", &path, &e))?;
    }
    Ok(())
}

fn page(command: clap::Command) -> Vec<u8> {
    let mut text = Vec::new();
    // Writing to memory does not fail.
    let _ = Man::new(command).render(&mut text);
    text
}
