//! The `servent` program: commands around the library's driver.
#![forbid(unsafe_code)]

use std::process::ExitCode;

mod cli;
mod config;

fn main() -> ExitCode {
    cli::run()
}
