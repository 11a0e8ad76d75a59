//! Trust for `https://`: the certificates we check servers against, and the
//! credentials we present.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use tokio::sync::watch;

use super::Credentials;

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
        let config = self.config.get_or_init(|| self.read()).clone()?;
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => host,
        };
        let name = name.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(name).map_err(|e| e.to_string())?;
        ClientConnection::new(config, name).map_err(|e| e.to_string())
    }

    fn read(&self) -> Result<Arc<ClientConfig>, String> {
        let mut roots = RootCertStore::empty();
        match &self.file {
            Some(file) => {
                let wrong =
                    |why: &dyn std::fmt::Display| format!("cannot read {}: {why}", file.display());
                let all = CertificateDer::pem_file_iter(file).map_err(|e| wrong(&e))?;
                for one in all {
                    let one = one.map_err(|e| wrong(&e))?;
                    roots.add(one).map_err(|e| wrong(&e))?;
                }
                if roots.is_empty() {
                    return Err(wrong(&"no certificate is in it"));
                }
            }
            None => {
                let found = rustls_native_certs::load_native_certs();
                roots.add_parsable_certificates(found.certs);
                if roots.is_empty() {
                    return Err("this system has no certificates to check others against".into());
                }
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| e.to_string())?;
        Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
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
