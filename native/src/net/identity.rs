//! Our identity as a server: a certificate and its key, for `https://`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;
use webpki::EndEntityCert;

use crate::pins::CertificatePin;
use crate::sys::OwnerOnly as _;

/// A certificate with its key.
#[derive(Debug, Clone)]
pub struct Identity {
    config: Arc<ServerConfig>,
    fingerprint: CertificatePin,
    names: Vec<String>,
}

/// Why there is no identity.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// A file cannot be read or written.
    #[error("cannot use {}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system error.
        why: io::Error,
    },
    /// The files do not contain a certificate with its key.
    #[error("{} and {} are no certificate with its key: {why}", cert.display(), key.display())]
    Wrong {
        /// The file of the certificate.
        cert: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// What is wrong.
        why: String,
    },
}

impl Identity {
    /// Reads a certificate chain and its key, both as PEM.
    ///
    /// # Errors
    /// They cannot be read, or the key does not belong to the certificate.
    pub fn read(cert: &Path, key: &Path) -> Result<Self, IdentityError> {
        let wrong = |why: &dyn std::fmt::Display| {
            let (cert, key, why) = (cert.to_owned(), key.to_owned(), why.to_string());
            IdentityError::Wrong { cert, key, why }
        };
        let chain = CertificateDer::pem_slice_iter(&text(cert)?).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|e| wrong(&e))?;
        let Some(first) = chain.first() else { return Err(wrong(&"there is no certificate")) };
        let fingerprint = CertificatePin::new(first);
        let parsed = EndEntityCert::try_from(first).map_err(|e| wrong(&e))?;
        let names = parsed.valid_dns_names().map(str::to_owned).collect();
        let key = PrivateKeyDer::from_pem_slice(&text(key)?).map_err(|e| wrong(&e))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| wrong(&e))?
            .with_no_client_auth()
            .with_single_cert(chain, key);
        let mut config = config.map_err(|e| wrong(&e))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), fingerprint, names })
    }

    /// A self-signed certificate for these names and addresses: created once
    /// and kept in `folder`, so that its fingerprint stays the same. Also
    /// returns the path of the certificate, which others may trust.
    ///
    /// # Errors
    /// It cannot be created, written or read.
    pub fn self_made(folder: &Path, names: Vec<String>) -> Result<(Self, PathBuf), IdentityError> {
        let (cert, key) = (folder.join("tls-cert.pem"), folder.join("tls-key.pem"));
        if !(cert.exists() && key.exists()) {
            let made = rcgen::generate_simple_self_signed(names).map_err(|why| {
                let (cert, key) = (cert.clone(), key.clone());
                IdentityError::Wrong { cert, key, why: why.to_string() }
            })?;
            write(&key, &made.signing_key.serialize_pem())?;
            write(&cert, &made.cert.pem())?;
        }
        Ok((Self::read(&cert, &key)?, cert))
    }

    /// The fingerprint of the certificate, by which others may trust it.
    #[must_use]
    pub const fn fingerprint(&self) -> CertificatePin {
        self.fingerprint
    }

    /// The host names of the certificate, some perhaps as `*.example.org`.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }
}

fn text(path: &Path) -> Result<Vec<u8>, IdentityError> {
    fs::read(path).map_err(|why| IdentityError::File { path: path.to_owned(), why })
}

/// Writes a file that only its owner may read.
fn write(path: &Path, text: &str) -> Result<(), IdentityError> {
    let made = OpenOptions::new().write(true).create(true).truncate(true).private().open(path);
    let written = made.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|why| IdentityError::File { path: path.to_owned(), why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_once_stays_and_fits_together() {
        let dir = tempfile::tempdir().unwrap();
        let names = || vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let (one, cert) = Identity::self_made(dir.path(), names()).unwrap();
        let (again, _) = Identity::self_made(dir.path(), names()).unwrap();
        assert_eq!(one.fingerprint(), again.fingerprint());

        let other = tempfile::tempdir().unwrap();
        let (other, _) = (Identity::self_made(other.path(), names()).unwrap().0, ());
        assert_ne!(one.fingerprint(), other.fingerprint());
        let why = Identity::read(&cert, &cert).unwrap_err().to_string();
        assert!(why.contains("are no certificate with its key"), "{why}");
        let nowhere = dir.path().join("nowhere");
        assert!(matches!(Identity::read(&nowhere, &cert), Err(IdentityError::File { .. })));
    }
}
