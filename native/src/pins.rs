//! Certificates that are known by their fingerprint: those of a servent that made
//! its own, which no authority vouches for.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use data_encoding::{HEXUPPER, HEXUPPER_PERMISSIVE};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, SignatureScheme};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// How a pin begins, on both sides.
const PREFIX: &str = "sha256:";
/// Servers whose certificate is remembered for a message.
const SEEN: usize = 1_024;

/// The SHA-256 of a certificate: `sha256:` and pairs of hex digits, as browsers
/// show them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CertificatePin([u8; 32]);

/// A text is no pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not sha256: and 64 hex digits, as `servent share --tls-self-made` prints it")]
pub struct PinError;

impl CertificatePin {
    /// That of a certificate.
    #[must_use]
    pub fn new(certificate: &CertificateDer<'_>) -> Self {
        Self(Sha256::digest(certificate).into())
    }
}

impl fmt::Display for CertificatePin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> = self.0.iter().map(|byte| HEXUPPER.encode(&[*byte])).collect();
        write!(f, "{PREFIX}{}", pairs.join(":"))
    }
}

impl FromStr for CertificatePin {
    type Err = PinError;

    fn from_str(text: &str) -> Result<Self, PinError> {
        let named = text.get(..PREFIX.len()).is_some_and(|it| it.eq_ignore_ascii_case(PREFIX));
        let digits = if named { &text[PREFIX.len()..] } else { text };
        let bytes = HEXUPPER_PERMISSIVE.decode(digits.replace(':', "").as_bytes());
        let bytes = bytes.map_err(|_| PinError)?;
        Ok(Self(bytes.try_into().map_err(|_| PinError)?))
    }
}

/// The certificates that servers showed and that were refused, by their name.
pub(crate) type SeenPins = Arc<Mutex<BTreeMap<String, CertificatePin>>>;

/// Checks servers by their fingerprint where there are pins, and otherwise by
/// authorities.
#[derive(Debug)]
pub(crate) struct PinVerifier {
    /// Not needed where there are pins.
    pub(crate) authorities: Option<Arc<WebPkiServerVerifier>>,
    /// The certificates in the user's file: a server may show one of them as its own.
    pub(crate) own: Vec<CertificatePin>,
    pub(crate) pins: Vec<CertificatePin>,
    pub(crate) seen: SeenPins,
    pub(crate) algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for PinVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let pin = CertificatePin::new(end_entity);
        let verified = match &self.authorities {
            _ if self.pins.contains(&pin) => return Ok(ServerCertVerified::assertion()),
            Some(authorities) => authorities
                .verify_server_cert(end_entity, intermediates, server_name, ocsp, now)
                .or_else(|why| match self.own.contains(&pin) && is_of_an_authority(&why) {
                    // The library takes no certificate of an authority for that of a server,
                    // and most self-made ones are both.
                    true => named(end_entity, server_name),
                    false => Err(why),
                }),
            None => Err(CertificateError::ApplicationVerificationFailure.into()),
        };
        if verified.is_err() {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            if seen.len() < SEEN {
                seen.insert(server_name.to_str().into_owned(), pin);
            }
        }
        verified
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// True when a certificate is refused for being that of an authority, and for nothing
/// else: its dates are checked before.
fn is_of_an_authority(why: &rustls::Error) -> bool {
    let rustls::Error::InvalidCertificate(CertificateError::Other(other)) = why else {
        return false;
    };
    matches!(other.0.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}

/// Checks that a certificate is for a server of that name.
fn named(
    certificate: &CertificateDer<'_>,
    server_name: &ServerName<'_>,
) -> Result<ServerCertVerified, rustls::Error> {
    let parsed = rustls::server::ParsedCertificate::try_from(certificate)?;
    rustls::client::verify_server_name(&parsed, server_name)?;
    Ok(ServerCertVerified::assertion())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_read_as_it_is_written_and_as_others_write_it() {
        let pin = CertificatePin([0xab; 32]);
        let text = pin.to_string();
        assert!(text.starts_with("sha256:AB:AB:") && text.len() == 7 + 95, "{text}");
        for written in [text.clone(), text.to_lowercase(), text.replace(':', ""), "ab".repeat(32)] {
            let wanted = if written.starts_with("sha256") && !written.contains(':') {
                Err(PinError)
            } else {
                Ok(pin)
            };
            assert_eq!(written.parse(), wanted, "{written}");
        }
        for wrong in ["", "sha256:", "sha256:abcd", "sha1:ab"] {
            assert_eq!(wrong.parse::<CertificatePin>(), Err(PinError), "{wrong}");
        }
    }
}
