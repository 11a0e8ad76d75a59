//! Builds, tests, shows and measures Servent: `cargo xtask --help`.

mod browsers;
mod cmd;
mod digests;
mod machine;
mod mutants;
mod offline;
mod page_tests;
mod paths;
mod programs;
mod run;
mod second;
mod single;
mod steps;
mod tidy;
mod tree;
mod types;
mod wasm;
mod wine;

use clap::{Parser, Subcommand};

/// Builds, tests, shows and measures Servent.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Test(cmd::test::Args),
    Demo(cmd::demo::Args),
    Page(cmd::page::Args),
    Bench(cmd::bench::Args),
    Campaign(cmd::campaign::Args),
    Tidy(cmd::tidy::Args),
    Conformance(cmd::conformance::Args),
    Dist(cmd::dist::Args),
    Fuzz(cmd::fuzz::Args),
    Mutants(cmd::mutants::Args),
    Soak(cmd::soak::Args),
    Windows(cmd::windows::Args),
    Worlds(cmd::worlds::Args),
}

fn main() -> std::process::ExitCode {
    let done = match Cli::parse().command {
        Command::Test(args) => cmd::test::run(&args),
        Command::Demo(args) => cmd::demo::run(&args),
        Command::Page(args) => cmd::page::run(&args),
        Command::Bench(args) => cmd::bench::run(&args),
        Command::Campaign(args) => cmd::campaign::run(&args),
        Command::Tidy(args) => cmd::tidy::run(&args),
        Command::Conformance(args) => cmd::conformance::run(&args),
        Command::Dist(args) => cmd::dist::run(&args),
        Command::Fuzz(args) => cmd::fuzz::run(&args),
        Command::Mutants(args) => cmd::mutants::run(&args),
        Command::Soak(args) => cmd::soak::run(&args),
        Command::Windows(args) => cmd::windows::run(&args),
        Command::Worlds(args) => cmd::worlds::run(&args),
    };
    match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}
