//! The `servent` program: its commands, built on the library's driver.
#![forbid(unsafe_code)]

use std::process::ExitCode;

mod cli;
mod config;
mod demo;
mod exit;
mod lab;
mod progress;
mod scorm;
mod signal;

fn main() -> ExitCode {
    cli::run()
}
