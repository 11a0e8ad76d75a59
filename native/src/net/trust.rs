//! Trust for `https://`: the certificates we check servers against, and the
//! credentials we present.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use tokio::sync::watch;

use super::Credentials;
use crate::roots;

/// The certificates that servers are checked against, read when they are first
/// needed.
#[derive(Debug)]
pub(crate) struct Trust {
    /// Only those in this file; otherwise the system's.
    file: Option<PathBuf>,
    config: OnceLock<Result<Arc<ClientConfig>, String>>,
    /// Sent to servers that require a name and a password.
    credentials: Option<Credentials>,
    /// Why a server was last not trusted.
    refused: watch::Sender<Option<String>>,
}

impl Trust {
    pub(crate) fn new(file: Option<PathBuf>, credentials: Option<Credentials>) -> Self {
        let refused = watch::Sender::new(None);
        Self { file, config: OnceLock::new(), credentials, refused }
    }

    /// A request with our credentials added where they belong.
    pub(super) fn introduce(&self, data: Vec<u8>) -> Vec<u8> {
        match &self.credentials {
            Some(credentials) => credentials.add(data),
            None => data,
        }
    }

    /// Begins TLS with a server that must prove to be `host` (given with or
    /// without a port).
    pub(super) fn speak_with(&self, host: &str) -> Result<ClientConnection, String> {
        let config = self.config.get_or_init(|| roots::trusting(self.file.as_deref())).clone()?;
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => host,
        };
        let name = name.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(name).map_err(|e| e.to_string())?;
        ClientConnection::new(config, name).map_err(|e| e.to_string())
    }

    /// A server is not trusted.
    pub(super) fn refuse(&self, host: &str, why: &str) {
        self.refused.send_replace(Some(format!("{host} is not to be trusted: {why}")));
    }

    /// Waits until a server is not trusted, and says why.
    pub(crate) async fn refused(&self) -> String {
        let mut refused = self.refused.subscribe();
        match refused.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or_default(),
            Err(_) => std::future::pending().await,
        }
    }
}
