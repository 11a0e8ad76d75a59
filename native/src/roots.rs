//! The certificates that servers are checked against.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

/// How we speak TLS with servers: trusting the certificates in a PEM file, or
/// those of the system.
///
/// # Errors
/// A sentence: the file cannot be read, or there are no certificates.
pub(crate) fn trusting(file: Option<&Path>) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    match file {
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
