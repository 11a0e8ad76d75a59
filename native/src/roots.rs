//! The certificates that servers are checked against.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::{ClientConfig, RootCertStore};
use thiserror::Error;

use crate::pins::{CertificatePin, PinVerifier, SeenPins};

/// Why no server could be checked.
#[derive(Debug, Clone, Error)]
pub(crate) enum TrustError {
    /// The file that the user named cannot be read, or is no PEM.
    #[error("cannot read {}: {why}", path.display())]
    Pem { path: PathBuf, why: Arc<pem::Error> },
    /// A certificate in that file cannot be used.
    #[error("cannot read {}: {why}", path.display())]
    Certificate { path: PathBuf, why: rustls::Error },
    /// That file has no certificates.
    #[error("cannot read {}: no certificate is in it", .0.display())]
    Empty(PathBuf),
    /// The system lacks them.
    #[error("this system has no certificates to check others against")]
    NoneHere,
    /// The library has no version of TLS in common with itself: our fault.
    #[error(transparent)]
    Library(rustls::Error),
    /// The server's name cannot be in any certificate.
    #[error("{0}")]
    Name(Arc<rustls::pki_types::InvalidDnsNameError>),
}

impl TrustError {
    /// True when the file that the user named is at fault.
    pub(crate) const fn is_of_file(&self) -> bool {
        matches!(self, Self::Pem { .. } | Self::Certificate { .. } | Self::Empty(_))
    }
}

/// How we speak TLS with servers: trusting the certificates in a PEM file, or
/// those of the system.
///
/// # Errors
/// The file cannot be read, or there are no certificates.
pub(crate) fn trusting(file: Option<&Path>) -> Result<Arc<ClientConfig>, TrustError> {
    trusting_pins(file, &[], &SeenPins::default())
}

/// The same; with pins only the servers that show one of these certificates. Those
/// that are refused are remembered in `seen`.
///
/// # Errors
/// The file cannot be read, or there are no certificates.
pub(crate) fn trusting_pins(
    file: Option<&Path>,
    pins: &[CertificatePin],
    seen: &SeenPins,
) -> Result<Arc<ClientConfig>, TrustError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut own = Vec::new();
    let authorities = if pins.is_empty() {
        let found = authorities(file)?;
        if file.is_some() {
            own = found.iter().map(CertificatePin::new).collect();
        }
        let mut roots = RootCertStore::empty();
        for one in found {
            let added = roots.add(one);
            if let (Err(why), Some(file)) = (added, file) {
                return Err(TrustError::Certificate { path: file.to_owned(), why });
            }
        }
        if roots.is_empty() {
            return Err(TrustError::NoneHere);
        }
        let roots = Arc::new(roots);
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
        Some(verifier.build().map_err(|_| TrustError::NoneHere)?)
    } else {
        None
    };
    let algorithms = provider.signature_verification_algorithms;
    let (pins, seen) = (pins.to_vec(), Arc::clone(seen));
    let verifier = PinVerifier { authorities, own, pins, seen, algorithms };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TrustError::Library)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    Ok(Arc::new(config.with_no_client_auth()))
}

/// The certificates by which servers are checked: all of the file, which must have one,
/// or those of the system.
fn authorities(file: Option<&Path>) -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let Some(file) = file else { return Ok(rustls_native_certs::load_native_certs().certs) };
    let pem = |why| TrustError::Pem { path: file.to_owned(), why: Arc::new(why) };
    let found = CertificateDer::pem_file_iter(file).map_err(pem)?;
    let found = found.collect::<Result<Vec<_>, _>>().map_err(pem)?;
    match found.is_empty() {
        true => Err(TrustError::Empty(file.to_owned())),
        false => Ok(found),
    }
}
