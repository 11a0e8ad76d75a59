//! Private shares: encrypted connections, or only for those who know a
//! password.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use servent::driver::Password;
use servent::{Identity, IdentityError};

use super::reach;
use crate::cli::start::make;
use crate::config::file::Raw;
use crate::config::{Builder, Settings};
use crate::exit::{Exit, Failure};

/// How private a share is.
#[derive(Debug, Args)]
pub(crate) struct Private {
    /// Encrypt, with this certificate and its key (PEM). Others then reach the
    /// share by https:// only, and it takes no part in the overlay.
    #[arg(long, num_args = 2, value_names = ["CERT", "KEY"])]
    tls: Vec<PathBuf>,
    /// The same with a certificate of our own, made once and kept with the
    /// state; its fingerprint is printed, for others to compare.
    #[arg(long, conflicts_with = "tls")]
    tls_self_made: bool,
    /// Serve only who knows this name and the password; no part in the overlay
    /// either. Without --tls both can be read by every host on the way.
    #[arg(long, value_name = "NAME", requires = "password_file")]
    user: Option<String>,
    /// The first line of this file is the password, or its Argon2 hash as
    /// `argon2 -e` prints it.
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,
}

impl Private {
    pub(crate) fn put(&self, builder: &mut Builder) -> Result<(), Failure> {
        if let [cert, key] = &self.tls[..] {
            let text = |path: &PathBuf| Raw::Text(path.to_string_lossy().into_owned());
            builder.flag("--tls", "tls_cert", text(cert))?;
            builder.flag("--tls", "tls_key", text(key))?;
        }
        if let (Some(user), Some(file)) = (&self.user, &self.password_file) {
            builder.flag("--user", "user", Raw::Text(user.clone()))?;
            let file = file.to_string_lossy().into_owned();
            builder.flag("--password-file", "password_file", Raw::Text(file))?;
        }
        if self.tls_self_made {
            builder.flag("--tls-self-made", "tls_self_made", Raw::Boolean(true))?;
        }
        Ok(())
    }
}

/// How others recognise us.
pub(crate) struct KnownIdentity {
    pub(crate) ours: Identity,
    /// Our self-signed certificate, which others may trust.
    cert: Option<PathBuf>,
}

/// Our identity as a server; `None` without TLS.
pub(crate) fn identity(settings: &Settings) -> Result<Option<KnownIdentity>, Failure> {
    let known = match (&settings.tls_cert, &settings.tls_key) {
        (Some(cert), Some(key)) => KnownIdentity { ours: Identity::read(cert, key)?, cert: None },
        (None, None) if settings.tls_self_made => {
            make(&settings.state)?;
            let reached = reach::addresses(&settings.listen);
            let names = reached.iter().map(|at| at.ip().to_string());
            let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
            let mut names: Vec<String> = names.chain(own).collect();
            names.sort();
            names.dedup();
            let (ours, cert) = Identity::self_made(&settings.state, names)?;
            KnownIdentity { ours, cert: Some(cert) }
        }
        (None, None) => return Ok(None),
        _ => {
            return Err(Failure::usage("`tls_cert` and `tls_key` go together")
                .next("name both: --tls CERT KEY"));
        }
    };
    Ok(Some(known))
}

/// The name and password that clients need; `None` when all are served.
pub(crate) fn password(settings: &Settings) -> Result<Option<Password>, Failure> {
    let (user, file) = match (&settings.user, &settings.password_file) {
        (Some(user), Some(file)) => (user, file),
        (None, None) => return Ok(None),
        _ => {
            return Err(Failure::usage("`user` and `password_file` go together")
                .next("name both: --user NAME --password-file FILE"));
        }
    };
    let text = std::fs::read_to_string(file).map_err(|e| Failure::file("read", file, &e))?;
    let secret = text.lines().next().unwrap_or_default();
    if secret.is_empty() || user.contains(':') {
        return Err(Failure::usage(match secret {
            "" => {
                format!("the first line of {} is empty: it is to be the password", file.display())
            }
            _ => format!("the name {user} has a colon in it, which no browser can send"),
        }));
    }
    let loopback = settings.listen.iter().all(|at| at.ip().is_loopback());
    if settings.tls_cert.is_none() && !settings.tls_self_made && !loopback {
        tracing::warn!(
            "without TLS every host on the way can read the password and what is sent: \
             --tls-self-made encrypts both"
        );
    }
    let password = Password::new(user, secret);
    password.map(Some).map_err(|why| Failure::usage(format!("{}: {why}", file.display())))
}

impl KnownIdentity {
    /// What others need to verify our identity.
    pub(crate) fn describe(&self) -> (Value, String) {
        let print = self.ours.fingerprint();
        let print = print.to_string();
        let fact = json!({ "event": "identity", "sha256": print, "cert": self.cert });
        let own = self.cert.as_ref().map_or_else(String::new, |cert| {
            format!("\ncertificate {}, for `servent get --ca-file`", cert.display())
        });
        (fact, format!("fingerprint {print}, for `servent get --pin`{own}"))
    }
}

impl From<IdentityError> for Failure {
    fn from(error: IdentityError) -> Self {
        match &error {
            IdentityError::File { why, .. } => Self::new(Exit::Disk, error.to_string()).mend(why),
            _ => Self::usage(error.to_string())
                .next("name a certificate and its key, both as PEM; --tls-self-made makes them"),
        }
    }
}
