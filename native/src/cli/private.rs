//! Sharing in private: what leaves is encrypted.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use servent::{Identity, IdentityError};

use super::reach;
use super::start::make;
use crate::config::file::Raw;
use crate::config::{Builder, Settings};
use crate::exit::{Exit, Failure};

/// How private a share is.
#[derive(Debug, Args)]
pub(super) struct Private {
    /// Encrypt, with this certificate and its key (PEM). Others then reach the
    /// share by https:// only, and it takes no part in the overlay.
    #[arg(long, num_args = 2, value_names = ["CERT", "KEY"])]
    tls: Vec<PathBuf>,
    /// The same with a certificate of our own, made once and kept with the
    /// state; its fingerprint is printed, for others to compare.
    #[arg(long, conflicts_with = "tls")]
    tls_self_made: bool,
}

impl Private {
    pub(super) fn put(&self, builder: &mut Builder) -> Result<(), Failure> {
        if let [cert, key] = &self.tls[..] {
            let text = |path: &PathBuf| Raw::Text(path.to_string_lossy().into_owned());
            builder.flag("--tls", "tls_cert", text(cert))?;
            builder.flag("--tls", "tls_key", text(key))?;
        }
        if self.tls_self_made {
            builder.flag("--tls-self-made", "tls_self_made", Raw::Boolean(true))?;
        }
        Ok(())
    }
}

/// By what others know us.
pub(super) struct Known {
    pub(super) ours: Identity,
    /// Our own certificate, by which others may check us.
    cert: Option<PathBuf>,
}

/// Who we are; `None` when nobody asks.
pub(super) fn identity(settings: &Settings) -> Result<Option<Known>, Failure> {
    let known = match (&settings.tls_cert, &settings.tls_key) {
        (Some(cert), Some(key)) => Known { ours: Identity::read(cert, key)?, cert: None },
        (None, None) if settings.tls_self_made => {
            make(&settings.state)?;
            let reached = reach::addresses(&settings.listen);
            let names = reached.iter().map(|at| at.ip().to_string());
            let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
            let mut names: Vec<String> = names.chain(own).collect();
            names.sort();
            names.dedup();
            let (ours, cert) = Identity::self_made(&settings.state, names)?;
            Known { ours, cert: Some(cert) }
        }
        (None, None) => return Ok(None),
        _ => {
            return Err(Failure::usage("`tls_cert` and `tls_key` go together")
                .next("name both: --tls CERT KEY"));
        }
    };
    Ok(Some(known))
}

impl Known {
    /// What others need to be sure that it is us.
    pub(super) fn told(&self) -> (Value, String) {
        let print = self.ours.fingerprint();
        let fact = json!({ "event": "identity", "sha256": print, "cert": self.cert });
        let own = self.cert.as_ref().map_or_else(String::new, |cert| {
            format!("\ncertificate {}, for `servent get --ca-file`", cert.display())
        });
        (fact, format!("fingerprint SHA-256 {print}{own}"))
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
