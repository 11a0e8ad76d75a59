//! Our credentials for servers that require a name and a password (RFC 7617).
//!
//! They are put into a request when it is sent, so neither the node nor its
//! state nor a trace contains them.

use std::fmt;

use data_encoding::BASE64;

/// A name and a password, and the hosts they are for. No other source of the
/// same file receives them.
#[derive(Clone)]
pub struct Credentials {
    hosts: Vec<String>,
    words: String,
}

impl Credentials {
    /// `hosts` with their ports, as in a `Host` header.
    #[must_use]
    pub fn new(user: &str, password: &str, hosts: impl IntoIterator<Item = String>) -> Self {
        let words = format!("Basic {}", BASE64.encode(format!("{user}:{password}").as_bytes()));
        Self { hosts: hosts.into_iter().collect(), words }
    }

    /// Adds them to outgoing bytes that are a request to one of the hosts.
    pub(super) fn add(&self, mut data: Vec<u8>) -> Vec<u8> {
        let request = data.starts_with(b"GET ") || data.starts_with(b"HEAD ");
        let named = data.split(|b| *b == b'\n').find_map(host_in);
        let ours = |host: &str| self.hosts.iter().any(|one| one.eq_ignore_ascii_case(host));
        let first = data.iter().position(|b| *b == b'\n');
        if let (Some(first), true) = (first, request && named.is_some_and(ours)) {
            let header = format!("Authorization: {}\r\n", self.words);
            data.splice(first + 1..=first, header.into_bytes());
        }
        data
    }
}

/// The host that a header line names.
fn host_in(line: &[u8]) -> Option<&str> {
    let (name, value) = line.split_at_checked(5)?;
    let value = str::from_utf8(value).ok().map(str::trim);
    value.filter(|_| name.eq_ignore_ascii_case(b"host:"))
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(request: &str) -> String {
        let ours = Credentials::new("ann", "open: sesame", ["h:1".to_owned()]);
        assert!(!format!("{ours:?}").contains("sesame") && !format!("{ours:?}").contains("Basic"));
        String::from_utf8(ours.add(request.as_bytes().to_vec())).unwrap()
    }

    #[test]
    fn they_are_said_to_the_hosts_they_are_for() {
        let words = "Authorization: Basic YW5uOm9wZW46IHNlc2FtZQ==\r\n";
        for first in ["GET /a HTTP/1.1\r\n", "HEAD /h:2 HTTP/1.1\r\nX-Y: z\r\n"] {
            let rest = first.split_once('\n').map_or("", |(_, rest)| rest);
            let begins = first.len() - rest.len();
            let (first, rest) = (&first[..begins], format!("{rest}Host: H:1\r\n\r\n"));
            assert_eq!(said(&format!("{first}{rest}")), format!("{first}{words}{rest}"));
        }
        for other in [
            "GET /a HTTP/1.1\r\nHost: h:2\r\n\r\n",
            "GET /h:1 HTTP/1.1\r\nX: y\r\n\r\n",
            "QUEUE 1 h:1\r\nHost: h:1\r\n\r\n",
            "GET ",
            "",
        ] {
            assert_eq!(said(other), other);
        }
    }
}
