//! Our credentials for servers that require a name and a password (RFC 7617).
//!
//! They are put into a request when it is sent, so neither the node nor its
//! state nor a trace contains them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use data_encoding::BASE64;

use crate::sys::OwnerOnly as _;

/// Names and passwords, and the hosts they are for. No other source of the same
/// file receives them.
#[derive(Clone, Default)]
pub struct Credentials {
    /// The value of the header by host, in small letters.
    words: BTreeMap<String, String>,
}

impl Credentials {
    /// `hosts` with their ports, as in a `Host` header.
    #[must_use]
    pub fn new(user: &str, password: &str, hosts: impl IntoIterator<Item = String>) -> Self {
        let words = format!("Basic {}", BASE64.encode(format!("{user}:{password}").as_bytes()));
        let hosts = hosts.into_iter().map(|host| (host.to_ascii_lowercase(), words.clone()));
        Self { words: hosts.collect() }
    }

    /// True when there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Adds others, which replace those for the same host.
    pub(crate) fn extend(&mut self, more: Self) {
        self.words.extend(more.words);
    }

    /// Those that were kept in a file; none if there is no such file.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        match fs::read(path) {
            Ok(text) => Ok(Self { words: serde_json::from_slice(&text)? }),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(why) => Err(why),
        }
    }

    /// Keeps them in a file that only its owner can read; without any there is
    /// none.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        if self.words.is_empty() {
            return match fs::remove_file(path) {
                Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
                _ => Ok(()),
            };
        }
        let fresh = path.with_extension("new");
        let _ = fs::remove_file(&fresh); // A crash may have left it.
        let mut file = OpenOptions::new().write(true).create_new(true).private().open(&fresh)?;
        file.write_all(&serde_json::to_vec(&self.words)?)?;
        file.sync_data()?;
        fs::rename(&fresh, path)
    }

    /// Adds them to outgoing bytes that are a request to one of the hosts.
    pub(crate) fn add(&self, mut data: Vec<u8>) -> Vec<u8> {
        let request = data.starts_with(b"GET ") || data.starts_with(b"HEAD ");
        let named = data.split(|b| *b == b'\n').find_map(host_in);
        let words = named.and_then(|host| self.words.get(&host.to_ascii_lowercase()));
        let first = data.iter().position(|b| *b == b'\n');
        if let (Some(first), Some(words), true) = (first, words, request) {
            let header = format!("Authorization: {words}\r\n");
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
        let hosts: Vec<&String> = self.words.keys().collect();
        f.debug_struct("Credentials").field("hosts", &hosts).finish_non_exhaustive()
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
    fn they_are_kept_where_only_their_owner_reads_them() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("credentials.json");
        let mut ours = Credentials::read(&path).unwrap();
        assert!(ours.words.is_empty());
        ours.extend(Credentials::new("ann", "a", ["H:1".to_owned()]));
        ours.extend(Credentials::new("ben", "b", ["h:1".to_owned(), "i".to_owned()]));
        ours.write(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let read = Credentials::read(&path).unwrap();
        assert!(
            read.words == ours.words
                && read.words.len() == 2
                && read.words["h:1"].ends_with("YmVuOmI=")
        );
        for _ in 0..2 {
            Credentials::default().write(&path).unwrap();
            assert!(!path.exists());
        }
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
