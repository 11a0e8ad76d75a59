//! Why a server of `https://` is not trusted, in words for its user.

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error, OtherError};
use servent_core::wire::http::HttpDate;

/// How many names of a certificate are shown.
const NAMES: usize = 4;

/// What a user can do about a server that is not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DistrustKind {
    /// It answers without TLS.
    Plain,
    /// The user's file of certificates cannot be used: no server was asked.
    File,
    /// Its certificate is that of another name.
    Name,
    /// Its certificate has ended.
    Ended,
    /// Its certificate is not valid yet.
    Early,
    /// No authority that is known here vouches for it.
    Unknown,
    /// Anything else.
    Other,
}

/// Why a server is not trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distrust {
    /// The server, and what is wrong.
    pub what: String,
    /// What kind of fault that is.
    pub kind: DistrustKind,
}

/// What is wrong, as the second half of a sentence, and its kind.
pub(super) fn in_words(error: &Error) -> (String, DistrustKind) {
    use CertificateError as Bad;
    use DistrustKind::{Early, Ended, Name, Other, Unknown};
    let Error::InvalidCertificate(bad) = error else {
        return (handshake(error), Other);
    };
    match bad {
        Bad::Expired => ("its certificate has ended".into(), Ended),
        Bad::ExpiredContext { time, not_after } => {
            let (ended, now) = (date(*not_after), date(*time));
            (format!("its certificate ended on {ended} UTC, and here it is {now} UTC"), Ended)
        }
        Bad::NotValidYet => ("its certificate is not valid yet".into(), Early),
        Bad::NotValidYetContext { time, not_before } => {
            let (begins, now) = (date(*not_before), date(*time));
            let text = format!("its certificate begins on {begins} UTC, and here it is {now} UTC");
            (text, Early)
        }
        Bad::NotValidForName => ("its certificate is that of another name".into(), Name),
        Bad::NotValidForNameContext { expected, presented } => {
            let (expected, names) = (expected.to_str(), names(presented));
            (format!("its certificate is for {names}, and not for {expected}"), Name)
        }
        Bad::UnknownIssuer => (UNKNOWN.into(), Unknown),
        // What the library says of a certificate that is its own authority.
        Bad::Other(other) if is_of_an_authority(other) => (UNKNOWN.into(), Unknown),
        Bad::Revoked => ("its certificate was revoked".into(), Other),
        Bad::BadSignature => {
            ("its certificate is not signed by the authority that it names".into(), Unknown)
        }
        Bad::BadEncoding => ("its certificate is damaged".into(), Other),
        _ => (error.to_string(), Other),
    }
}

/// What the library says of an authority's certificate in the place of a server's.
fn is_of_an_authority(other: &OtherError) -> bool {
    matches!(other.0.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}

/// Self-made ones are like that.
const UNKNOWN: &str = "no authority that is known here vouches for its certificate, as for one that a server has made for itself";

/// What is wrong when it is no certificate.
fn handshake(error: &Error) -> String {
    match error {
        Error::PeerIncompatible(_)
        | Error::AlertReceived(
            AlertDescription::ProtocolVersion | AlertDescription::HandshakeFailure,
        ) => "it speaks no version of TLS that is safe today (1.2 or 1.3)".into(),
        Error::AlertReceived(AlertDescription::UnrecognisedName) => {
            "it does not know itself by that name".into()
        }
        Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "it wants a certificate of its visitors, and there is none here to show".into()
        }
        other => other.to_string(),
    }
}

fn date(at: UnixTime) -> String {
    HttpDate::from_unix(at.as_secs()).day_and_time().to_string()
}

/// The names of a certificate. They come from a stranger, and are shown as such.
fn names(presented: &[String]) -> String {
    let plain = |name: &String| match name.strip_prefix("DnsName(\"") {
        Some(rest) => rest.trim_end_matches("\")").to_owned(),
        None => name.strip_prefix("IpAddress(").unwrap_or(name).trim_end_matches(')').to_owned(),
    };
    let mut shown: Vec<String> = presented.iter().take(NAMES).map(plain).collect();
    if presented.len() > NAMES {
        shown.push(format!("{} more", presented.len() - NAMES));
    }
    if shown.is_empty() { "no name".into() } else { shown.join(", ") }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::RootCertStore;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier as _;
    use rustls::pki_types::{CertificateDer, ServerName};

    use super::*;

    /// What is said of a certificate for `name`, valid in these years, by a client whose
    /// clock says 2030 and that asks for `a.example`.
    fn said(name: &str, years: (i32, i32), known: bool) -> (String, DistrustKind) {
        let (issuer_key, key) =
            (rcgen::KeyPair::generate().unwrap(), rcgen::KeyPair::generate().unwrap());
        let mut about = rcgen::CertificateParams::new(Vec::<String>::new()).unwrap();
        about.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        about.distinguished_name.push(rcgen::DnType::CommonName, "authority");
        let issuer_cert = about.self_signed(&issuer_key).unwrap();
        let issuer = rcgen::Issuer::new(about, issuer_key);
        let mut about = rcgen::CertificateParams::new([name.to_owned()]).unwrap();
        about.not_before = rcgen::date_time_ymd(years.0, 1, 2);
        about.not_after = rcgen::date_time_ymd(years.1, 1, 2);
        let cert = match known {
            true => about.signed_by(&key, &issuer).unwrap(),
            false => about.self_signed(&key).unwrap(),
        };
        let mut roots = RootCertStore::empty();
        roots.add(issuer_cert.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let roots = Arc::new(roots);
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
        let der = CertificateDer::from(cert.der().to_vec());
        let asked = ServerName::try_from("a.example").unwrap();
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(1_893_456_000));
        let checked = verifier.unwrap().verify_server_cert(&der, &[], &asked, &[], now);
        in_words(&checked.unwrap_err())
    }

    #[test]
    fn each_fault_of_a_certificate_is_said_in_words() {
        let (text, kind) = said("a.example", (2020, 2029), true);
        assert_eq!(kind, DistrustKind::Ended);
        assert_eq!(
            text,
            "its certificate ended on 2029-01-02 00:00 UTC, and here it is 2030-01-01 00:00 UTC"
        );
        let (text, kind) = said("a.example", (2031, 2032), true);
        assert_eq!(kind, DistrustKind::Early);
        assert!(text.starts_with("its certificate begins on 2031-01-02 00:00 UTC"), "{text}");
        let (text, kind) = said("b.example", (2020, 2040), true);
        assert_eq!(kind, DistrustKind::Name);
        assert_eq!(text, "its certificate is for b.example, and not for a.example");
        let (text, kind) = said("a.example", (2020, 2040), false);
        assert_eq!((&text[..], kind), (UNKNOWN, DistrustKind::Unknown));
    }

    #[test]
    fn what_is_no_certificate_is_said_too() {
        let old = Error::AlertReceived(AlertDescription::ProtocolVersion);
        assert!(in_words(&old).0.contains("TLS that is safe today"));
        let (text, kind) = in_words(&Error::InvalidCertificate(CertificateError::Revoked));
        assert_eq!((&text[..], kind), ("its certificate was revoked", DistrustKind::Other));
    }
}
