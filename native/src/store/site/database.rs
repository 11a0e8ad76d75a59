//! Where a site's database is, and how we get in.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr as _;
use std::time::Duration;

use thiserror::Error;
use tokio::task::AbortHandle;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::StoreFailure;
use crate::roots;

/// The environment's word for the password.
const PASSWORD: &str = "SERVENT_STORE_PASSWORD";
/// The longest a connection may take to be opened.
const CONNECT: Duration = Duration::from_secs(3);

/// What is wrong with the address of a database; the user who wrote it can mend it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DatabaseUrlError {
    /// It is the address of something else.
    #[error("it does not begin with postgres://")]
    Scheme,
    /// It is no URL, or has parameters that PostgreSQL does not know.
    #[error("{}", error_text(.0))]
    Syntax(#[source] tokio_postgres::Error),
    /// A user who sees the command line or the configuration would know the password.
    #[error(
        "a password in it could be read by others: put it in a file (store_password_file) or in {PASSWORD}"
    )]
    Password,
    /// It names no host.
    #[error("it names no host")]
    Host,
}

/// The PostgreSQL database of a site, and how to open it. What it prints never
/// contains the password.
#[derive(Clone)]
pub struct Database {
    config: Config,
    shown: String,
    password: Option<PathBuf>,
    roots: Option<PathBuf>,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Database {
    /// Reads a `postgres://` URL. Other machines are spoken to with TLS unless
    /// the URL says `sslmode=disable`; their certificates are always checked.
    ///
    /// # Errors
    /// It is no such URL, or a password is in it.
    pub fn parse(url: &str) -> Result<Self, DatabaseUrlError> {
        if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(DatabaseUrlError::Scheme);
        }
        let mut config = Config::from_str(url).map_err(DatabaseUrlError::Syntax)?;
        if config.get_password().is_some() {
            return Err(DatabaseUrlError::Password);
        }
        if config.get_hosts().is_empty() {
            return Err(DatabaseUrlError::Host);
        }
        let near = |host: &Host| match host {
            Host::Tcp(name) => {
                name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
            }
            #[allow(unreachable_patterns, reason = "some systems have no local sockets")]
            _ => true,
        };
        if !url.contains("sslmode=") {
            let near = config.get_hosts().iter().all(near);
            config.ssl_mode(if near { SslMode::Disable } else { SslMode::Require });
        }
        config.connect_timeout(CONNECT).keepalives_idle(Duration::from_secs(5));
        config.application_name("servent");
        let shown = url.split('?').next().unwrap_or(url).to_owned();
        Ok(Self { config, shown, password: None, roots: None })
    }

    /// Reads the password from this file, anew for every connection.
    #[must_use]
    pub fn with_password_file(mut self, file: Option<PathBuf>) -> Self {
        self.password = file;
        self
    }

    /// Trusts only the certificates in this PEM file, not those of the system.
    #[must_use]
    pub fn with_roots(mut self, file: Option<PathBuf>) -> Self {
        self.roots = file;
        self
    }

    /// The password: the first line of the file, or that of the environment.
    fn password(&self) -> Result<Option<String>, StoreFailure> {
        let Some(file) = &self.password else { return Ok(std::env::var(PASSWORD).ok()) };
        let text = std::fs::read_to_string(file).map_err(|why| StoreFailure::Unauthorized {
            at: self.shown.clone(),
            why: format!("{} cannot be read: {why}", file.display()),
        })?;
        Ok(Some(text.lines().next().unwrap_or_default().to_owned()))
    }

    /// Opens a connection, and drives it in a task of its own until the client
    /// is dropped or the task is aborted.
    pub(super) async fn connect(&self) -> Result<(Client, AbortHandle), StoreFailure> {
        let mut config = self.config.clone();
        if let Some(password) = self.password()? {
            config.password(password);
        }
        let opened = async {
            if config.get_ssl_mode() == SslMode::Disable {
                let (client, link) = config.connect(NoTls).await.map_err(|e| self.unusable(&e))?;
                return Ok((client, tokio::spawn(link).abort_handle()));
            }
            let tls = roots::trusting(self.roots.as_deref())
                .map_err(|why| self.unavailable(&why.to_string()))?;
            let tls = MakeRustlsConnect::new((*tls).clone());
            let (client, link) = config.connect(tls).await.map_err(|e| self.unusable(&e))?;
            Ok((client, tokio::spawn(link).abort_handle()))
        };
        match tokio::time::timeout(2 * CONNECT, opened).await {
            Ok(opened) => opened,
            Err(_) => Err(self.unavailable("it does not answer")),
        }
    }

    /// An error of the database, as what it means for us.
    pub(super) fn unusable(&self, why: &tokio_postgres::Error) -> StoreFailure {
        let wrong = [SqlState::INVALID_PASSWORD, SqlState::INVALID_AUTHORIZATION_SPECIFICATION];
        if why.code().is_some_and(|code| wrong.contains(code)) {
            let why = why.as_db_error().map_or_else(String::new, |e| e.message().to_owned());
            return StoreFailure::Unauthorized { at: self.shown.clone(), why };
        }
        // The library names no kind for a server that wants a password when there is none.
        if error_text(why).contains("password missing") {
            let why = "it wants a password".into();
            return StoreFailure::Unauthorized { at: self.shown.clone(), why };
        }
        if why.code() == Some(&SqlState::DISK_FULL) {
            return StoreFailure::Full { at: self.shown.clone() };
        }
        self.unavailable(&error_text(why))
    }

    /// What is in it is not ours, or damaged.
    pub(super) fn alien(&self, why: &str) -> StoreFailure {
        StoreFailure::Alien { at: self.shown.clone(), why: why.to_owned() }
    }

    /// The database cannot be used now.
    pub(super) fn unavailable(&self, why: &str) -> StoreFailure {
        StoreFailure::Away { at: self.shown.clone(), why: why.to_owned() }
    }
}

/// The words of an error, and of what caused it.
fn error_text(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    if let Some(error) = error.as_db_error() {
        return error.message().to_owned();
    }
    let cause = error.source().map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_the_url_is_refused_and_the_rest_of_it_is_not_shown() {
        let refused = Database::parse("postgres://ann:secret@db/servent").unwrap_err();
        assert!(matches!(refused, DatabaseUrlError::Password), "{refused}");
        let told = refused.to_string();
        assert!(told.contains("store_password_file") && !told.contains("secret"), "{told}");
        let site = Database::parse("postgres://ann@db:5433/servent?sslmode=disable").unwrap();
        assert_eq!(site.to_string(), "postgres://ann@db:5433/servent");
        for wrong in ["mysql://db/x", "postgres://", "db", "postgres://db/x?nonsense=1"] {
            assert!(Database::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn other_machines_are_spoken_to_with_tls_unless_it_is_said() {
        let mode = |url| Database::parse(url).unwrap().config.get_ssl_mode();
        assert_eq!(mode("postgres://ann@127.0.0.1/servent"), SslMode::Disable);
        assert_eq!(mode("postgres://ann@localhost,db/servent"), SslMode::Require);
        assert_eq!(mode("postgres://ann@db/servent?sslmode=disable"), SslMode::Disable);
    }
}
