//! The three heads before the first message.
//!
//! ```text
//! C: GNUTELLA CONNECT/0.6    what it is and can
//! S: GNUTELLA/0.6 200 OK     what it is and can
//! C: GNUTELLA/0.6 200 OK     what it chose of that
//! ```
//! Only the number of a reply means something.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use super::DEFAULT_PORT;
use crate::id::Guid;
use crate::wire::http::{HeadError, HeadLimits, HeadWriter, Headers, decimal, split_head};

/// Maximum number of other servents named in one head.
const TRIES: usize = 40;

/// The head of a host that connected.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Hello {
    /// Version 0.4: there is nothing more; messages follow our answer.
    Old,
    /// Version 0.6, or a later one, which is answered as 0.6.
    New(Headers),
}

impl Hello {
    /// The beginning of the first line of such a head.
    pub const BEGINS: &str = "GNUTELLA ";

    /// Parses the head; also returns its length. `None` means that more bytes
    /// are needed.
    ///
    /// # Errors
    /// When no further bytes could make it valid within `limits`.
    pub fn parse(bytes: &[u8], limits: &HeadLimits) -> Result<Option<(Self, usize)>, HeadError> {
        let Some((first, headers, used)) = split_head(bytes, limits)? else { return Ok(None) };
        let version = first.trim_end().strip_prefix("GNUTELLA CONNECT/");
        let version = version.and_then(number).ok_or(HeadError::FirstLine)?;
        let hello = if version >= (0, 6) { Self::New(headers) } else { Self::Old };
        Ok(Some((hello, used)))
    }
}

/// A head that answers: the server's, or the client's final one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HandshakeReply {
    /// 200: accepted. Anything else: refused.
    pub status: u16,
    /// The reason, in words.
    pub reason: String,
    /// Its fields.
    pub headers: Headers,
}

impl HandshakeReply {
    /// Parses the head; also returns its length. `None` means that more bytes
    /// are needed.
    ///
    /// # Errors
    /// When no further bytes could make it valid within `limits`.
    pub fn parse(bytes: &[u8], limits: &HeadLimits) -> Result<Option<(Self, usize)>, HeadError> {
        let Some((first, headers, used)) = split_head(bytes, limits)? else { return Ok(None) };
        let first = first.trim_end();
        if first == "GNUTELLA OK" {
            let reply = Self { status: 200, reason: String::from("OK"), headers };
            return Ok(Some((reply, used)));
        }
        let rest = first.strip_prefix("GNUTELLA/").and_then(|rest| rest.split_once(' '));
        let (version, rest) = rest.ok_or(HeadError::FirstLine)?;
        number(version).ok_or(HeadError::Version)?;
        let (digits, reason) = rest.trim_start().split_once(' ').unwrap_or((rest.trim(), ""));
        match decimal(digits) {
            Some(status @ 100..=999) => {
                let reply = Self { status: status as u16, reason: reason.trim().into(), headers };
                Ok(Some((reply, used)))
            }
            _ => Err(HeadError::FirstLine),
        }
    }

    /// True when the other end accepts the connection.
    #[must_use]
    pub const fn is_ok(&self) -> bool {
        self.status == 200
    }
}

/// What a servent says about itself in the handshake.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct HandshakeOffer {
    /// Its `User-Agent`.
    pub agent: String,
    /// Its servent id.
    pub servent: Option<Guid>,
    /// Where it listens.
    pub listen: Option<SocketAddr>,
    /// Our address as it sees it.
    pub remote: Option<IpAddr>,
    /// It is an ultrapeer; `None` when it does not know ultrapeers.
    pub ultrapeer: Option<bool>,
    /// It supports keyword tables: a leaf sends its own, an ultrapeer accepts
    /// those of its leaves (RT-19).
    pub query_routing: bool,
    /// It is an ultrapeer that exchanges keyword tables with other ultrapeers,
    /// for the last hop of a query.
    pub last_hop: bool,
    /// It supports dynamic queries (RT-18).
    pub dynamic: bool,
    /// It accepts a query with TTL 1 as a probe, before the same query with a
    /// larger TTL.
    pub probes: bool,
    /// It caches pongs instead of forwarding pings (RT-13).
    pub pong_caching: bool,
    /// It supports extension blocks.
    pub ggep: bool,
    /// It supports Bye messages.
    pub bye: bool,
    /// It supports vendor messages.
    pub vendor: bool,
    /// The largest TTL it sends.
    pub max_ttl: Option<u8>,
    /// The number of neighbours it wants.
    pub degree: Option<u32>,
    /// The UDP port of the meeting place that it runs (PA-16).
    pub place: Option<u16>,
    /// It can inflate what we compress.
    pub inflates: bool,
    /// It compresses what it sends after the handshake.
    pub deflates: bool,
}

impl HandshakeOffer {
    /// Parses the fields of a head.
    #[must_use]
    pub fn parse(headers: &Headers) -> Self {
        let text = |name: &str| headers.get(name).map(str::trim).filter(|value| !value.is_empty());
        let speaks = |name: &str| text(name).and_then(number).is_some_and(|v| v >= (0, 1));
        let small = |name: &str| text(name).and_then(decimal);
        let listen = ["Listen-IP", "X-My-Address", "Node"].into_iter();
        let mut listen = listen.filter_map(|name| text(name).and_then(address));
        let yes = |value: &str| value.eq_ignore_ascii_case("true");
        Self {
            agent: text("User-Agent").unwrap_or_default().into(),
            servent: text("GUID").and_then(|id| Guid::parse(id.as_bytes())),
            listen: listen.find(|at| at.port() != 0),
            remote: text("Remote-IP").and_then(|ip| ip.parse().ok()),
            ultrapeer: text("X-Ultrapeer").map(yes),
            query_routing: speaks("X-Query-Routing"),
            last_hop: speaks("X-Ultrapeer-Query-Routing"),
            dynamic: speaks("X-Dynamic-Querying"),
            probes: speaks("X-Ext-Probes"),
            pong_caching: speaks("Pong-Caching"),
            ggep: speaks("GGEP"),
            bye: speaks("Bye-Packet"),
            vendor: speaks("Vendor-Message"),
            max_ttl: small("X-Max-TTL").and_then(|ttl| u8::try_from(ttl).ok()),
            degree: small("X-Degree").and_then(|degree| u32::try_from(degree).ok()),
            place: small("X-Meeting-Place")
                .and_then(|port| u16::try_from(port).ok())
                .filter(|port| *port != 0),
            inflates: headers.lists("Accept-Encoding", "deflate"),
            deflates: headers.lists("Content-Encoding", "deflate"),
        }
    }

    /// The head of a host that connects.
    #[must_use]
    pub fn connect(&self) -> Vec<u8> {
        let mut head = HeadWriter::first_line("GNUTELLA CONNECT/0.6");
        self.write(&mut head);
        head.finish()
    }

    /// The head that accepts a host.
    #[must_use]
    pub fn accept(&self) -> Vec<u8> {
        let mut head = HeadWriter::first_line("GNUTELLA/0.6 200 OK");
        self.write(&mut head);
        head.finish()
    }

    /// The head that refuses a host, and names others instead.
    #[must_use]
    pub fn refuse(&self, status: u16, reason: &str, tries: &[SocketAddr]) -> Vec<u8> {
        let mut head = HeadWriter::first_line(&alloc::format!("GNUTELLA/0.6 {status} {reason}"));
        head.header("User-Agent", &self.agent);
        if let Some(remote) = self.remote {
            head.header("Remote-IP", remote);
        }
        if !tries.is_empty() {
            let tries: Vec<String> =
                tries.iter().take(TRIES).map(|at| alloc::format!("{at}")).collect();
            head.header("X-Try", tries.join(","));
        }
        head.finish()
    }

    /// The client's final head: it only says whether the client compresses.
    #[must_use]
    pub fn confirm(&self) -> Vec<u8> {
        let mut head = HeadWriter::first_line("GNUTELLA/0.6 200 OK");
        if self.deflates {
            head.header("Content-Encoding", "deflate");
        }
        head.finish()
    }

    /// The head that accepts a host of version 0.4.
    #[must_use]
    pub fn accept_old() -> Vec<u8> {
        b"GNUTELLA OK\n\n".to_vec()
    }

    fn write(&self, head: &mut HeadWriter) {
        head.header("User-Agent", &self.agent);
        if let Some(servent) = self.servent {
            head.header("GUID", servent);
        }
        if let Some(listen) = self.listen {
            head.header("Listen-IP", listen);
        }
        if let Some(remote) = self.remote {
            head.header("Remote-IP", remote);
        }
        if let Some(ultrapeer) = self.ultrapeer {
            head.header("X-Ultrapeer", if ultrapeer { "True" } else { "False" });
        }
        for (name, said, version) in [
            ("X-Query-Routing", self.query_routing, "0.1"),
            ("X-Ultrapeer-Query-Routing", self.last_hop, "0.1"),
            ("X-Dynamic-Querying", self.dynamic, "0.1"),
            ("X-Ext-Probes", self.probes, "0.1"),
            ("Pong-Caching", self.pong_caching, "0.1"),
            ("GGEP", self.ggep, "0.5"),
            ("Bye-Packet", self.bye, "0.1"),
            ("Vendor-Message", self.vendor, "0.1"),
            ("Accept-Encoding", self.inflates, "deflate"),
            ("Content-Encoding", self.deflates, "deflate"),
        ] {
            if said {
                head.header(name, version);
            }
        }
        if let Some(ttl) = self.max_ttl {
            head.header("X-Max-TTL", ttl);
        }
        if let Some(degree) = self.degree {
            head.header("X-Degree", degree);
        }
        if let Some(port) = self.place {
            head.header("X-Meeting-Place", port);
        }
    }
}

/// The other servents that a head names.
#[must_use]
pub fn parse_tries(headers: &Headers) -> Vec<SocketAddr> {
    let named = ["X-Try", "X-Try-Ultrapeers"].into_iter().flat_map(|name| headers.all(name));
    let each = named.flat_map(|value| value.split(','));
    // A time may follow the address.
    let each = each.filter_map(|word| address(word.split_ascii_whitespace().next()?));
    each.filter(|at| at.port() != 0).take(TRIES).collect()
}

/// `ip:port`, or an address with the default port; a comma and what follows it
/// are about other things.
fn address(text: &str) -> Option<SocketAddr> {
    let text = text.split(',').next()?.trim_end();
    let alone = || text.parse().ok().map(|ip: IpAddr| SocketAddr::new(ip, DEFAULT_PORT));
    text.parse().ok().or_else(alone)
}

/// `major.minor`.
fn number(version: &str) -> Option<(u64, u64)> {
    let (major, minor) = version.split_once('.')?;
    Some((decimal(major)?, decimal(minor)?))
}
