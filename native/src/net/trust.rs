//! Trust for `https://`: the certificates we check servers against, and the
//! credentials we present.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use tokio::sync::watch;

use super::distrust::{Distrust, DistrustKind};
use super::{Credentials, Proxies};
use crate::pins::{CertificatePin, SeenPins};
use crate::roots::{self, TrustError};

/// The file of the credentials that are learned while we run.
const KEPT: &str = "credentials.json";
/// Servers that are remembered as not trusted.
const DISTRUSTED: usize = 1_024;

/// The certificates that servers are checked against, read when they are first
/// needed.
#[derive(Debug)]
pub(crate) struct Trust {
    /// Only those in this file; otherwise the system's.
    file: Option<PathBuf>,
    /// Only these servers.
    pins: Vec<CertificatePin>,
    /// Those that were refused.
    seen: SeenPins,
    config: OnceLock<Result<Arc<ClientConfig>, TrustError>>,
    /// Sent to servers that require a name and a password.
    credentials: RwLock<Credentials>,
    /// Through which sources are asked.
    proxies: Proxies,
    /// The file of those that are learned while we run.
    kept: Option<PathBuf>,
    /// The servers that were not trusted, by host, and why.
    refused: watch::Sender<BTreeMap<String, Distrust>>,
}

impl Trust {
    /// In the state folder is the file of credentials that were learned in
    /// earlier runs.
    pub(crate) fn new(
        (file, pins): (Option<PathBuf>, Vec<CertificatePin>),
        credentials: Option<Credentials>,
        state_dir: Option<PathBuf>,
        proxies: Proxies,
    ) -> Self {
        let kept = state_dir.map(|state| state.join(KEPT));
        let refused = watch::Sender::default();
        let mut all = match kept.as_deref().map(Credentials::read) {
            None => Credentials::default(),
            Some(Ok(all)) => all,
            Some(Err(error)) => {
                tracing::warn!(%error, "the names and passwords of downloads cannot be read");
                Credentials::default()
            }
        };
        all.extend(credentials.unwrap_or_default());
        let seen = SeenPins::default();
        Self {
            file,
            pins,
            seen,
            config: OnceLock::new(),
            credentials: RwLock::new(all),
            proxies,
            kept,
            refused,
        }
    }

    /// The proxies of this user.
    pub(crate) const fn proxies(&self) -> &Proxies {
        &self.proxies
    }

    /// Sends these too, in later runs as well.
    pub(crate) fn learn(&self, more: Credentials) -> io::Result<()> {
        let mut all = self.credentials.write().unwrap_or_else(PoisonError::into_inner);
        all.extend(more);
        self.kept.as_deref().map_or(Ok(()), |kept| all.write(kept))
    }

    /// Forgets all of them.
    pub(crate) fn forget(&self) -> io::Result<()> {
        let mut all = self.credentials.write().unwrap_or_else(PoisonError::into_inner);
        *all = Credentials::default();
        self.kept.as_deref().map_or(Ok(()), |kept| all.write(kept))
    }

    /// A request with our credentials added where they belong.
    pub(super) fn introduce(&self, data: Vec<u8>) -> Vec<u8> {
        self.credentials.read().unwrap_or_else(PoisonError::into_inner).add(data)
    }

    /// Reads the certificates that the user named, before any server is asked.
    pub(crate) fn check_file(&self) -> Result<(), TrustError> {
        if self.file.is_none() {
            return Ok(());
        }
        self.config().map(drop)
    }

    fn config(&self) -> Result<Arc<ClientConfig>, TrustError> {
        let read = || roots::trusting_pins(self.file.as_deref(), &self.pins, &self.seen);
        self.config.get_or_init(read).clone()
    }

    /// True when there are names and passwords for servers that require them.
    pub(crate) fn has_credentials(&self) -> bool {
        !self.credentials.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Begins TLS with a server that must prove to be `host` (given with or
    /// without a port).
    pub(super) fn speak_with(&self, host: &str) -> Result<ClientConnection, TrustError> {
        let config = self.config()?;
        let name = ServerName::try_from(name_of(host).to_owned())
            .map_err(|why| TrustError::Name(Arc::new(why)))?;
        ClientConnection::new(config, name).map_err(TrustError::Library)
    }

    /// A server is not trusted.
    pub(super) fn refuse(&self, host: &str, (why, kind): (&str, DistrustKind)) {
        self.refused.send_modify(|refused| {
            if refused.len() < DISTRUSTED {
                let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                let shown = seen.get(name_of(host)).copied();
                drop(seen);
                let what = match shown {
                    Some(pin) if self.pins.is_empty() => format!("{why}; it shows {pin}"),
                    Some(pin) => format!("it shows {pin}, which is not what --pin names"),
                    None => why.to_owned(),
                };
                let what = format!("{host} is not to be trusted: {what}");
                refused.insert(host.to_owned(), Distrust { what, kind });
            }
        });
    }

    /// Why a server is not trusted, if it is not.
    pub(crate) fn refusal(&self, host: &str) -> Option<Distrust> {
        self.refused.borrow().get(host).cloned()
    }

    /// Waits until a server is not trusted, and says why.
    pub(crate) async fn refused(&self) -> Distrust {
        let mut refused = self.refused.subscribe();
        let refused = refused.wait_for(|refused| !refused.is_empty()).await;
        match refused.ok().and_then(|refused| refused.values().next().cloned()) {
            Some(why) => why,
            None => std::future::pending().await, // We are its sender.
        }
    }
}

/// The name in `NAME`, `NAME:PORT` or `[ADDRESS]:PORT`.
fn name_of(host: &str) -> &str {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    name.trim_start_matches('[').trim_end_matches(']')
}
