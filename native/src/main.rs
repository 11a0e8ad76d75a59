//! The `servent` program: commands around the library's driver.
#![forbid(unsafe_code)]

use std::process::ExitCode;

mod cli;
mod config;
mod demo;
mod lab;
mod progress;

fn main() -> ExitCode {
    cli::run()
}
