//! Where the code of `send` and `receive` comes from.

use std::path::{Path, PathBuf};

use clap::Args;
use servent::transfer::TransferCode;

use crate::cli::ask::Person;
use crate::exit::{Exit, Failure, error_text};

/// The environment variable that holds it.
const VARIABLE: &str = "SERVENT_CODE";

/// The code as files and variables give it. On the command line others could
/// read it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of the code")]
pub(crate) struct CodeArgs {
    /// Read the code from this file.
    #[arg(long, value_name = "FILE", conflicts_with = "open")]
    code_file: Option<PathBuf>,
    /// No code: any peer may take part, and every host on the way can read it.
    #[arg(long)]
    pub(crate) open: bool,
}

impl CodeArgs {
    /// True when something is said of the code on the command line.
    pub(crate) const fn is_any(&self) -> bool {
        self.open || self.code_file.is_some()
    }

    /// The code of the command line, a file or the environment, in this order.
    pub(crate) fn code(&self, typed: Option<&str>) -> Result<Option<TransferCode>, Failure> {
        if self.open {
            return Ok(None);
        }
        if let Some(typed) = typed {
            tracing::warn!(
                "every user of this machine can read the command line and so the code: \
                 SERVENT_CODE or --code-file keeps it to you"
            );
            return read(typed, "--code").map(Some);
        }
        if let Some(file) = &self.code_file {
            let text = std::fs::read_to_string(file);
            let text = text.map_err(|e| Failure::file("read the code in", file, &e))?;
            return read(&text, &file.display().to_string()).map(Some);
        }
        of_environment()
    }

    /// The code that the other side shows: given, or typed at the terminal. `open`: the two
    /// could do without.
    pub(crate) async fn or_asked(
        &self,
        typed: Option<&str>,
        (question, open): (&str, bool),
    ) -> Result<Option<TransferCode>, Failure> {
        let given = self.code(typed)?;
        if self.open || given.is_some() {
            return Ok(given);
        }
        let answer = match Person::present() {
            Some(person) => person.ask(question).await,
            None => None,
        };
        let Some(answer) = answer else {
            let without = if open { ", or say --open on both sides to do without" } else { "" };
            return Err(Failure::usage("there is no code, and no terminal on which to ask for it")
                .next(format!(
                    "put what the other side shows into SERVENT_CODE or a --code-file{without}"
                )));
        };
        read(&answer, "what was typed").map(Some)
    }
}

/// The code in the environment, if there is one.
pub(crate) fn of_environment() -> Result<Option<TransferCode>, Failure> {
    std::env::var(VARIABLE).ok().map(|text| read(&text, VARIABLE)).transpose()
}

/// A new code.
pub(crate) fn random() -> Result<TransferCode, Failure> {
    TransferCode::random()
        .map_err(|e| Failure::new(Exit::Failed, format!("cannot make a code: {}", error_text(&e))))
}

/// A new code whose first words name a meeting.
pub(crate) fn random_to_meet() -> Result<TransferCode, Failure> {
    TransferCode::random_to_meet()
        .map_err(|e| Failure::new(Exit::Failed, format!("cannot make a code: {}", error_text(&e))))
}

/// Reads a code; `from` is where it stands.
pub(crate) fn read(text: &str, from: &str) -> Result<TransferCode, Failure> {
    TransferCode::typed(text).map_err(|why| {
        let from = Path::new(from).display();
        Failure::usage(format!("{from}: {why}"))
    })
}
