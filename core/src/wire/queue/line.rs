//! The two lines that begin a connection in the reverse direction.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddr;

use crate::id::{FileIndex, Guid};

/// A first line that is not HTTP.
///
/// ```
/// use servent_core::id::FileIndex;
/// use servent_core::wire::queue::SignalLine;
///
/// let line = SignalLine::parse(b"GIV 7:00112233445566778899aabbccddeeff/song.txt\n\n").unwrap();
/// assert!(matches!(line, SignalLine::Giv { index: FileIndex(7), .. }));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SignalLine {
    /// `QUEUE <id> <ip>:<port>`: a server calls a waiting client (PQ-8).
    Queue {
        /// The id of the place.
        ticket: Guid,
        /// The address at which the server is reached from now on; omitted by
        /// specifications before 1.0.a.
        server: Option<SocketAddr>,
    },
    /// `GIV <index>:<servent id>/<name>`: a servent offers a file after a push.
    Giv {
        /// The number of the file at that servent.
        index: FileIndex,
        /// The servent's id.
        servent: Guid,
        /// The name of the file there, only for display.
        name: String,
    },
}

impl SignalLine {
    /// Parses a line, with or without its line end.
    #[must_use]
    pub fn parse(line: &[u8]) -> Option<Self> {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_ascii_end();
        let (word, rest) = line.split_once(' ')?;
        if word.eq_ignore_ascii_case("QUEUE") { queue(rest) } else { giv(word, rest) }
    }

    /// The bytes to send. A `GIV` ends with two line feeds.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let end = if matches!(self, Self::Queue { .. }) { "\r\n" } else { "\n\n" };
        alloc::format!("{self}{end}").into_bytes()
    }
}

fn queue(rest: &str) -> Option<SignalLine> {
    let mut words = rest.split_ascii_whitespace();
    let ticket = Guid::parse(words.next()?.as_bytes())?;
    let server = match words.next() {
        Some(word) => Some(word.parse::<SocketAddr>().ok().filter(|at| at.port() != 0)?),
        None => None,
    };
    Some(SignalLine::Queue { ticket, server })
}

fn giv(word: &str, rest: &str) -> Option<SignalLine> {
    if !word.eq_ignore_ascii_case("GIV") {
        return None;
    }
    let (index, rest) = rest.trim_ascii_start().split_once(':')?;
    let (servent, name) = rest.split_once('/')?;
    if index.is_empty() || !index.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    Some(SignalLine::Giv {
        index: FileIndex(index.parse().ok()?),
        servent: Guid::parse(servent.as_bytes())?,
        name: name.trim_ascii_end().into(),
    })
}

/// The line without its end.
impl fmt::Display for SignalLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue { ticket, server: Some(server) } => write!(f, "QUEUE {ticket} {server}"),
            Self::Queue { ticket, server: None } => write!(f, "QUEUE {ticket}"),
            Self::Giv { index, servent, name } => {
                write!(f, "GIV {}:{servent}/", index.0)?;
                name.chars().filter(|c| !c.is_control()).try_for_each(|c| write!(f, "{c}"))
            }
        }
    }
}
