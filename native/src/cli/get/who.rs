//! Credentials for private shares.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use servent::Credentials;
use servent::sys::Hidden;

use super::source::RequestedFile;
use crate::cli::ask::Person;
use crate::exit::{Exit, Failure};

/// The environment variable that may hold the password.
const VARIABLE: &str = "SERVENT_PASSWORD";

/// A name, and where its password comes from. On the command line others could
/// read it.
#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// Say this name and a password to the servers that are named here, where
    /// they want to know. The password is in SERVENT_PASSWORD or --password-file,
    /// or is asked for.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The first line of this file is the password.
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,
}

/// A name and a password, and the servers they are for.
pub(crate) struct Introduced {
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) hosts: Vec<String>,
}

impl Introduced {
    pub(crate) fn credentials(&self) -> Credentials {
        Credentials::new(&self.user, &self.password, self.hosts.iter().cloned())
    }
}

impl LoginArgs {
    /// Who we are to the servers of these downloads; asks at the terminal for
    /// what is missing.
    pub(crate) async fn introduced(
        &self,
        wanted: &[RequestedFile],
    ) -> Result<Option<Introduced>, Failure> {
        let Some(user) = &self.user else { return Ok(None) };
        if user.contains(':') {
            let what = format!("the name {user} has a colon in it, which no server understands");
            return Err(Failure::usage(what));
        }
        let hosts = wanted.iter().flat_map(|one| one.places.iter().map(|place| place.host.clone()));
        let (hosts, password) = (hosts.collect(), self.password(user).await?);
        Ok(Some(Introduced { user: user.clone(), password, hosts }))
    }

    async fn password(&self, user: &str) -> Result<String, Failure> {
        if let Some(file) = &self.password_file {
            let text =
                std::fs::read_to_string(file).map_err(|e| Failure::file("read", file, &e))?;
            return Ok(text.lines().next().unwrap_or_default().to_owned());
        }
        if let Ok(password) = std::env::var(VARIABLE) {
            return Ok(password);
        }
        let hidden = Hidden::begin();
        let answer = match (Person::present(), &hidden) {
            (Some(person), Some(_)) => person.ask(&format!("the password of {user}:")).await,
            _ => None,
        };
        if hidden.is_some() {
            let _ = writeln!(io::stderr()); // The newline typed was not echoed either.
        }
        answer.ok_or_else(|| {
            Failure::new(
                Exit::Usage,
                "there is no password, and no terminal on which to ask for it",
            )
            .next("put it into SERVENT_PASSWORD, or name a file that has it with --password-file")
        })
    }
}
