//! Our identity as a server: a certificate and its key, for `https://`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use servent_core::time::Instant;
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use webpki::EndEntityCert;
use x509_cert::der::Decode as _;

use crate::pins::CertificatePin;
use crate::sys::OwnerOnly as _;

/// A certificate with its key, which may be renewed while we run. Clones are the same
/// identity.
#[derive(Debug, Clone)]
pub struct Identity {
    cert: PathBuf,
    key: PathBuf,
    current: Arc<RwLock<Certificate>>,
}

/// What is served to new connections.
#[derive(Debug)]
struct Certificate {
    config: Arc<ServerConfig>,
    fingerprint: CertificatePin,
    names: Vec<String>,
    ends: Instant,
    /// Of both files as they were read.
    digest: PairDigest,
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
        let current = Certificate::parse(cert, key, (text(cert)?, text(key)?))?;
        let (cert, key) = (cert.to_owned(), key.to_owned());
        Ok(Self { cert, key, current: Arc::new(RwLock::new(current)) })
    }

    /// Reads the files again: new connections are served what they are now. False when
    /// they are as before.
    ///
    /// # Errors
    /// They cannot be read, or do not belong together yet: it stays as it was.
    pub fn renew(&self) -> Result<bool, IdentityError> {
        let text = (text(&self.cert)?, text(&self.key)?);
        if self.current().digest == digest(&text) {
            return Ok(false);
        }
        let renewed = Certificate::parse(&self.cert, &self.key, text)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = renewed;
        Ok(true)
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
    pub fn fingerprint(&self) -> CertificatePin {
        self.current().fingerprint
    }

    /// When the certificate ends, in Unix time.
    #[must_use]
    pub fn ends(&self) -> Instant {
        self.current().ends
    }

    /// The host names of the certificate, some perhaps as `*.example.org`.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.current().names.clone()
    }

    pub(super) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current().config)
    }

    fn current(&self) -> RwLockReadGuard<'_, Certificate> {
        self.current.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Certificate {
    fn parse(cert: &Path, key: &Path, text: (Vec<u8>, Vec<u8>)) -> Result<Self, IdentityError> {
        let wrong = |why: &dyn std::fmt::Display| {
            let (cert, key, why) = (cert.to_owned(), key.to_owned(), why.to_string());
            IdentityError::Wrong { cert, key, why }
        };
        let chain = CertificateDer::pem_slice_iter(&text.0).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|e| wrong(&e))?;
        let Some(first) = chain.first() else { return Err(wrong(&"there is no certificate")) };
        let fingerprint = CertificatePin::new(first);
        let parsed = EndEntityCert::try_from(first).map_err(|e| wrong(&e))?;
        let names = parsed.valid_dns_names().map(str::to_owned).collect();
        let ends = ends(first).map_err(|e| wrong(&e))?;
        let key = PrivateKeyDer::from_pem_slice(&text.1).map_err(|e| wrong(&e))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| wrong(&e))?
            .with_no_client_auth()
            .with_single_cert(chain, key);
        let mut config = config.map_err(|e| wrong(&e))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), fingerprint, names, ends, digest: digest(&text) })
    }
}

/// What tells one pair of files from another, and is no secret.
type PairDigest = [u8; 32];

fn digest((cert, key): &(Vec<u8>, Vec<u8>)) -> PairDigest {
    let length = (cert.len() as u64).to_be_bytes();
    Sha256::new().chain_update(length).chain_update(cert).chain_update(key).finalize().into()
}

/// When a certificate ends.
fn ends(certificate: &CertificateDer<'_>) -> Result<Instant, x509_cert::der::Error> {
    let parsed = x509_cert::Certificate::from_der(certificate)?;
    let ends = parsed.tbs_certificate.validity.not_after.to_unix_duration();
    Ok(Instant::from_secs(ends.as_secs()))
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

    #[test]
    fn a_renewed_pair_is_served_and_a_broken_one_leaves_the_old() {
        let dir = tempfile::tempdir().unwrap();
        let (cert, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
        let pair = |year: i32| {
            let own = rcgen::KeyPair::generate().unwrap();
            let mut about = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
            about.not_after = rcgen::date_time_ymd(year, 1, 2);
            (about.self_signed(&own).unwrap().pem(), own.serialize_pem())
        };
        let put = |path: &Path, text: &str| fs::write(path, text).unwrap();
        let (old, new) = (pair(2031), pair(2032));
        put(&cert, &old.0);
        put(&key, &old.1);
        let identity = Identity::read(&cert, &key).unwrap();
        let (served, first) = (identity.clone(), identity.fingerprint());
        assert_eq!(identity.ends(), Instant::from_secs(1_925_078_400), "2031-01-02");
        assert!(!identity.renew().unwrap(), "as before");

        put(&cert, &new.0);
        identity.renew().unwrap_err(); // The key is still the old one.
        put(&key, &new.1[..new.1.len() / 2]);
        identity.renew().unwrap_err();
        assert_eq!(served.fingerprint(), first);
        put(&key, &new.1);
        assert!(identity.renew().unwrap());
        assert_ne!(served.fingerprint(), first);
        assert_eq!(served.ends(), Instant::from_secs(1_956_614_400), "2032-01-02");
        fs::remove_file(&key).unwrap();
        assert!(matches!(identity.renew(), Err(IdentityError::File { .. })));
    }
}
