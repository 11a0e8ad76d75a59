//! The command line: one file per command, in rooms.

mod amount;
mod ask;
mod carry;
mod completions;
mod config_cmd;
mod control;
mod demo;
mod downloads;
#[cfg(test)]
mod examples_tests;
mod failed;
mod finding;
mod get;
mod lab_cmd;
mod lesson;
mod live;
mod man;
mod new_file;
mod replay;
mod room;
mod search;
mod serve;
mod sim;
mod start;
mod state;
mod status;
mod swarm;
mod trace;

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use servent::DamagedState;
use servent::sys::is_closed_pipe;
use tracing_subscriber::EnvFilter;

use self::failed::FactOutput;
use crate::config::file::Raw;
use crate::config::{Builder, Config};
use crate::exit::{EXIT_CODES, Exit, Failure};
use crate::progress::{ErrorAboveBars, above_bars, eprint_line};

/// A peer-to-peer servent whose every decision can be replayed.
#[derive(Debug, Parser)]
#[command(name = "servent", version, after_help = EXIT_CODES, disable_help_subcommand = false)]
#[command(propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// What every command understands.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Common {
    /// Read this configuration file instead of the usual one.
    #[arg(long, global = true, value_name = "FILE", env = "SERVENT_CONFIG")]
    config: Option<PathBuf>,
    /// Keep everything that survives a restart in this folder.
    ///
    /// Servents with folders of their own run side by side on one machine.
    #[arg(long, global = true, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Change any setting: `--set queue.per_ip=4`. `servent config` lists them.
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Say more; twice says everything. `SERVENT_LOG` filters by module.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Say nothing but results and errors; of a download only errors.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// When the state cannot be read: rename it and begin with an empty one.
    #[arg(long, global = true)]
    put_damaged_aside: bool,
    /// Divide every interval of the protocols by this, told and enforced alike.
    #[arg(long, global = true, value_name = "N", hide = true)]
    time_scale: Option<u32>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::DemoArgs),
    Share(serve::share::ShareArgs),
    Room(room::RoomArgs),
    Get(get::GetArgs),
    Search(search::SearchArgs),
    Swarm(swarm::SwarmArgs),
    Send(carry::send::SendArgs),
    Receive(carry::receive::ReceiveArgs),
    Meet(finding::meet::MeetArgs),
    Doctor(finding::doctor::DoctorArgs),
    Status(status::StatusArgs),
    Add(serve::shares::AddShareArgs),
    Remove(serve::shares::RemoveShareArgs),
    Rescan(serve::rescan::RescanArgs),
    Downloads(downloads::DownloadsArgs),
    Sim(sim::SimArgs),
    Site(serve::site::SiteArgs),
    Lesson(lesson::LessonArgs),
    Replay(replay::ReplayArgs),
    Trace(trace::TraceArgs),
    Lab(lab_cmd::LabArgs),
    Config(config_cmd::ConfigArgs),
    State(state::StateArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

impl Command {
    /// True for what runs for days, and is read in a journal.
    const fn serves(&self) -> bool {
        matches!(
            self,
            Self::Share(_) | Self::Room(_) | Self::Swarm(_) | Self::Meet(_) | Self::Lab(_)
        )
    }
}

impl Common {
    /// Defaults, file, environment, and the flags common to all commands.
    pub(crate) fn builder(&self) -> Result<Builder, Failure> {
        let mut builder = Builder::load(self.config.as_deref())?;
        if let Some(state) = &self.state {
            builder.flag("--state", "state", Raw::Text(state.to_string_lossy().into_owned()))?;
        }
        for assignment in &self.set {
            builder.assign(assignment)?;
        }
        if let Some(n) = self.time_scale {
            for key in [
                "queue.time_scale",
                "fetch.time_scale",
                "fetch.place.time_scale",
                "overlay.router.time_scale",
            ] {
                builder.flag("--time-scale", key, Raw::Integer(i64::from(n)))?;
            }
        }
        Ok(builder)
    }

    /// The configuration file named on the command line.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// The configuration in force, for commands without settings of their own.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        self.builder()?.finish()
    }

    /// What to do with a state that cannot be read.
    pub(crate) const fn damaged(&self) -> DamagedState {
        if self.put_damaged_aside { DamagedState::PutAside } else { DamagedState::Refuse }
    }

    /// Begins to write what is told of on the way: a service with the time and the
    /// module, a command that a person watches in plain sentences, unless more is asked
    /// for.
    fn log(&self, serves: bool) {
        let level = match (self.quiet, self.verbose) {
            (true, _) => "error",
            (_, 0) => "warn",
            (_, 1) => "info",
            (_, 2) => "debug",
            _ => "trace",
        };
        let filter = EnvFilter::try_from_env("SERVENT_LOG").unwrap_or_else(|_| {
            EnvFilter::new(format!("warn,servent={level},servent_core={level}"))
        });
        let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        // Only tests set a second subscriber in one process; the first one
        // stays.
        let asked = self.verbose > 0 || std::env::var_os("SERVENT_LOG").is_some();
        let log = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_ansi(colour)
            .with_writer(|| ErrorAboveBars);
        let _ = match serves || asked {
            true => log.try_init(),
            false => log.without_time().with_target(false).try_init(),
        };
    }
}

/// Reads the command line. A variable that is set to nothing is not set, as for other
/// programs: the name of a file is never empty.
fn parse(words: impl Iterator<Item = OsString>, file: Option<&OsStr>) -> (Cli, FactOutput) {
    let mut command = Cli::command();
    if file.is_some_and(OsStr::is_empty) {
        command = command.mut_arg("config", |argument| argument.env(None));
    }
    let words: Vec<OsString> = words.collect();
    let read = command.try_get_matches_from_mut(&words);
    let read = read.and_then(|read| {
        let output = FactOutput::from_matches(&read);
        Ok((Cli::from_arg_matches(&read)?, output))
    });
    read.unwrap_or_else(|why| {
        // A usage line made from what was typed would name options only because they
        // were given.
        let whole = with_whole_usage(command).try_get_matches_from(&words);
        let why = whole.err().unwrap_or(why);
        if why.use_stderr() && words.iter().any(|word| word == "--json") {
            let text = why.to_string();
            let what = text.lines().next().unwrap_or_default();
            let what = what.strip_prefix("error: ").unwrap_or(what);
            failed::print(&Failure::usage(in_our_words(what)));
        }
        if !why.use_stderr() {
            why.exit(); // It is the help that was asked for.
        }
        let text = why.render();
        let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let text = if colour { text.ansi().to_string() } else { text.to_string() };
        above_bars(|| _ = write!(io::stderr(), "{}", in_our_words(&text)));
        std::process::exit(Exit::Usage as i32)
    })
}

/// What the libraries say of a number that cannot be read, and what it means.
const RAW_WORDS: [(&str, &str); 4] = [
    ("invalid digit found in string", "a whole number is needed"),
    ("cannot parse integer from empty string", "a whole number is needed"),
    ("number too large to fit in target type", "the number is too large"),
    ("number would be zero for non-zero type", "a whole number of 1 or more is needed"),
];

fn in_our_words(text: &str) -> String {
    RAW_WORDS.iter().fold(text.to_owned(), |text, (raw, ours)| text.replace(raw, ours))
}

/// The same command, whose errors show the usage line of its help.
fn with_whole_usage(mut command: clap::Command) -> clap::Command {
    command.build();
    with_own_usage(command)
}

/// Sets the usage line of a command, and of those below it, to what it is without any
/// arguments given.
fn with_own_usage(mut command: clap::Command) -> clap::Command {
    let usage = command.render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage).to_owned();
    command.override_usage(usage).mut_subcommands(with_own_usage)
}

/// Runs the program.
pub(crate) fn run() -> ExitCode {
    let (cli, output) = parse(std::env::args_os(), std::env::var_os("SERVENT_CONFIG").as_deref());
    cli.common.log(cli.command.serves());
    match dispatch(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if output.takes_failure() {
                failed::print(&failure);
            }
            eprint_line(&format!("servent: {failure}"));
            ExitCode::from(failure.exit as u8)
        }
    }
}

fn dispatch(cli: Cli) -> Result<(), Failure> {
    let common = cli.common;
    match cli.command {
        Command::Demo(arguments) => demo::run(&common, &arguments),
        Command::Share(arguments) => serve::share::run(&common, &arguments),
        Command::Room(arguments) => room::run(&common, &arguments),
        Command::Get(arguments) => get::run(&common, &arguments),
        Command::Swarm(arguments) => swarm::run(&common, &arguments),
        Command::Search(arguments) => search::run(&common, &arguments),
        Command::Send(arguments) => carry::send::run(&common, &arguments),
        Command::Receive(arguments) => carry::receive::run(&common, &arguments),
        Command::Meet(arguments) => finding::meet::run(&common, &arguments),
        Command::Doctor(arguments) => finding::doctor::run(&common, &arguments),
        Command::Status(arguments) => status::run(&common, &arguments),
        Command::Add(arguments) => serve::shares::add(&common, &arguments),
        Command::Remove(arguments) => serve::shares::remove(&common, &arguments),
        Command::Downloads(arguments) => downloads::run(&common, &arguments),
        Command::Rescan(arguments) => serve::rescan::run(&common, &arguments),
        Command::Site(arguments) => serve::site::run(&common, &arguments),
        Command::Sim(arguments) => sim::run(&common, &arguments),
        Command::Lesson(arguments) => lesson::run(&arguments),
        Command::Trace(arguments) => trace::run(&common, &arguments),
        Command::Replay(arguments) => replay::run(&common, &arguments),
        Command::Lab(arguments) => lab_cmd::run(&common, &arguments),
        Command::State(arguments) => state::run(&common, &arguments),
        Command::Config(arguments) => config_cmd::run(&common, &arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
    }
}

/// The command tree, for completions and the manual pages.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// Writes to standard output, above the bars of a terminal; a closed pipe is no error.
pub(crate) fn print(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    failed::note_printed();
    let written = above_bars(|| {
        let mut out = io::stdout().lock();
        out.write_all(text.as_ref()).and_then(|()| out.flush())
    });
    match written {
        Err(e) if !is_closed_pipe(&e) => {
            Err(Failure::file("write to", std::path::Path::new("standard output"), &e))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_error_shows_the_usage_of_the_help() {
        let usage = |words: &[&str]| {
            let command = super::with_whole_usage(super::command());
            let why = command.try_get_matches_from(words).unwrap_err().to_string();
            why.lines().find(|line| line.starts_with("Usage: ")).unwrap().to_owned()
        };
        let whole = "Usage: servent get [OPTIONS] [URL]...";
        assert_eq!(usage(&["servent", "get", "--nonsense"]), whole);
        assert_eq!(usage(&["servent", "get", "-o", "f", "--lan", "--nonsense"]), whole);
        assert!(
            usage(&["servent", "swarm", "get", "--bad"]).starts_with("Usage: servent swarm get")
        );
    }

    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples() {
        for command in super::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:"), "{} has no examples", command.get_name());
            assert!(help.contains("servent "), "{}", command.get_name());
        }
    }
}
