//! The opening handshake (RFC 6455 §4.2), and whose pages may begin it.

use std::net::IpAddr;

use tungstenite::handshake::machine::TryParse as _;
use tungstenite::handshake::server::{Request, create_response, write_response};
use tungstenite::http::header::{self, HeaderMap, HeaderName};

use super::frames::Frames;
use super::relay::Wish;

/// How an upgrade begins: to the servent itself, or to what it does for pages.
/// No other request is held back for a moment.
const BEGINS: [&[u8]; 2] = [b"GET /servent HTTP/1.1\r\n", b"GET /servent/"];
/// The sub-protocol: the name of what travels inside.
const PROTOCOL: &str = "servent.1";
/// Bytes of the head of an upgrade.
const HEAD: usize = 8 * 1024;
const TOO_LARGE: &str = "431 Request Header Fields Too Large";

/// Whose pages may open WebSockets. A browser lets every page open one to every
/// address, and says whose page it is; the servent has to choose.
///
/// Programs other than browsers say nothing, and are admitted: they can open an
/// ordinary connection anyway.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origins {
    /// Ports of our own page: a page of one of them is admitted when it was
    /// opened at the very host that it now calls, an address or `localhost`. A
    /// name could be one that a stranger has pointed to us.
    pub ports: Vec<u16>,
    /// Other origins, as browsers write them: `https://room.example.org`, or
    /// `null` for a page from a file.
    pub allowed: Vec<String>,
}

impl Origins {
    /// True when a page of this origin may call us as `host`.
    fn admit(&self, origin: &str, host: &str) -> bool {
        if self.allowed.iter().any(|allowed| allowed == origin) {
            return true;
        }
        let Some(page) = origin.strip_prefix("http://") else { return false };
        let (name, port) = split(page);
        let (called, _) = split(host);
        let is_ours = name.eq_ignore_ascii_case("localhost")
            || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        is_ours && name.eq_ignore_ascii_case(called) && self.ports.contains(&port)
    }
}

/// The host and the port of `host:port`.
fn split(authority: &str) -> (&str, u16) {
    let end = authority.rfind(']').map_or(0, |end| end + 1);
    let colon = authority[end..].find(':').map_or(authority.len(), |at| end + at);
    let port = authority[colon..].strip_prefix(':').map_or(Ok(80), str::parse);
    (&authority[..colon], port.unwrap_or(0))
}

/// The first bytes of a connection, as long as they may begin an upgrade.
#[derive(Debug, Default)]
pub(crate) struct FirstBytes(Vec<u8>);

/// What the first bytes of a connection say.
pub(crate) enum OpeningBytes {
    /// Not enough yet.
    More(FirstBytes),
    /// No upgrade: the bytes are the node's.
    Other(Vec<u8>),
    /// An upgrade.
    Upgrade(Upgrade),
    /// An upgrade that is refused, and the reply.
    Refused(Vec<u8>),
}

/// An upgrade that is admitted.
pub(crate) struct Upgrade {
    pub(crate) wish: Wish,
    /// The code of the room that it says, between `/servent/in/` and the rest.
    pub(crate) code: Option<String>,
    /// The reply, and the connection from then on.
    pub(crate) reply: Vec<u8>,
    pub(crate) frames: Box<Frames>,
}

impl FirstBytes {
    /// Looks at what has arrived.
    pub(crate) fn read(self, data: Vec<u8>, origins: &Origins) -> OpeningBytes {
        let Self(mut held) = self;
        if held.is_empty() {
            held = data;
        } else {
            held.extend(data);
        }
        if !BEGINS.iter().any(|begins| held.starts_with(begins)) {
            let may = BEGINS.iter().any(|begins| begins.starts_with(&held));
            return if may { OpeningBytes::More(Self(held)) } else { OpeningBytes::Other(held) };
        }
        match Request::try_parse(&held) {
            Ok(None) if held.len() < HEAD => OpeningBytes::More(Self(held)),
            Ok(None) => OpeningBytes::Refused(refusal(TOO_LARGE, "")),
            Ok(Some((_, request))) if !request.headers().contains_key(header::UPGRADE) => {
                OpeningBytes::Other(held)
            }
            Ok(Some((used, _))) if used > HEAD => OpeningBytes::Refused(refusal(TOO_LARGE, "")),
            Ok(Some((used, request))) => match answer(&request, origins) {
                Ok((wish, code, reply)) => {
                    let frames = Box::new(Frames::new(held.split_off(used)));
                    OpeningBytes::Upgrade(Upgrade { wish, code, reply, frames })
                }
                Err(reply) => OpeningBytes::Refused(reply),
            },
            Err(_) => OpeningBytes::Refused(refusal("400 Bad Request", "")),
        }
    }
}

/// What an upgrade wants, the code that it says, and the reply.
type UpgradeAnswer = (Wish, Option<String>, Vec<u8>);

/// What an upgrade wants and the reply, or the refusal.
fn answer(request: &Request, origins: &Origins) -> Result<UpgradeAnswer, Vec<u8>> {
    let headers = request.headers();
    if let Some(origin) = headers.get(header::ORIGIN) {
        let origin = origin.to_str().unwrap_or_default();
        if !origins.admit(origin, text(headers, header::HOST)) {
            return Err(refusal("403 Forbidden", "Servent answers its own page only.\n"));
        }
    }
    if text(headers, header::SEC_WEBSOCKET_VERSION) != "13" {
        return Err(refusal("426 Upgrade Required\r\nSec-WebSocket-Version: 13", ""));
    }
    let protocols = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let mut protocols = protocols.filter_map(|it| it.to_str().ok()).flat_map(|it| it.split(','));
    if !protocols.any(|it| it.trim() == PROTOCOL) {
        return Err(refusal("400 Bad Request", "The sub-protocol here is servent.1.\n"));
    }
    let (code, path) = code_in(request.uri().path());
    let Some(wish) = Wish::from_path(&path) else {
        return Err(refusal("404 Not Found", ""));
    };
    let mut response = create_response(request).map_err(|_| refusal("400 Bad Request", ""))?;
    let protocol = header::HeaderValue::from_static(PROTOCOL);
    response.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
    let mut reply = Vec::new();
    write_response(&mut reply, &response).map_err(|_| refusal("400 Bad Request", ""))?;
    Ok((wish, code, reply))
}

/// The code in a path, and the path without it.
fn code_in(path: &str) -> (Option<String>, String) {
    match path.strip_prefix("/servent/in/") {
        None => (None, path.to_owned()),
        Some(rest) => {
            let end = rest.find('/').unwrap_or(rest.len());
            (Some(rest[..end].to_owned()), format!("/servent{}", &rest[end..]))
        }
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// What one is told who was put out.
pub(crate) fn put_out() -> Vec<u8> {
    refusal("403 Forbidden", "The host of this room has removed you.\n")
}

/// What one is told who does not know the code of the room.
pub(crate) fn uninvited() -> Vec<u8> {
    refusal("401 Unauthorized", "This room needs its code.\n")
}

pub(crate) fn refusal(status: &str, why: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: text/plain\r\n\
         Content-Length: {}\r\n\r\n{why}",
        why.len()
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_admitted_by_its_port_at_the_host_it_calls_or_by_name() {
        let allowed = vec![String::from("https://room.example.org")];
        let origins = Origins { ports: vec![6380, 80], allowed };
        for (origin, host) in [
            ("http://10.0.0.7:6380", "10.0.0.7:6346"),
            ("http://10.0.0.7", "10.0.0.7:6346"),
            ("http://localhost:6380", "LocalHost:6346"),
            ("http://[fd00::1]:6380", "[fd00::1]:6346"),
            ("https://room.example.org", "room.example.org"),
        ] {
            assert!(origins.admit(origin, host), "{origin} {host}");
        }
        for (origin, host) in [
            ("http://10.0.0.7:6381", "10.0.0.7:6346"),
            ("http://10.0.0.8:6380", "10.0.0.7:6346"),
            ("https://10.0.0.7:6380", "10.0.0.7:6346"),
            // A name that a stranger has pointed to our address.
            ("http://evil.example:6380", "evil.example:6346"),
            ("http://10.0.0.7:6380.evil.example", "10.0.0.7:6346"),
            ("http://[fd00::1:6380", "[fd00::1:6346"),
            ("null", "10.0.0.7:6346"),
            ("", ""),
        ] {
            assert!(!origins.admit(origin, host), "{origin} {host}");
        }
    }

    #[test]
    fn only_the_path_of_an_upgrade_is_held_back() {
        let origins = Origins::default();
        for other in ["GET / HTTP/1.1\r\n", "GET /servents", "GNUTELLA", "\r\n", "X"] {
            let said = FirstBytes::default().read(other.into(), &origins);
            assert!(
                matches!(said, OpeningBytes::Other(bytes) if bytes == other.as_bytes()),
                "{other}"
            );
        }
        for begins in [BEGINS[0], b"GET /servent/x HTTP/1.1\r\n"] {
            let mut entry = FirstBytes::default();
            for byte in begins {
                let OpeningBytes::More(next) = entry.read(vec![*byte], &origins) else {
                    panic!("held back")
                };
                entry = next;
            }
            let said = entry.read(b"Host: x\r\n\r\n".to_vec(), &origins);
            assert!(matches!(said, OpeningBytes::Other(bytes) if bytes.starts_with(begins)));
        }
    }

    #[test]
    fn wb_8_the_code_of_a_room_stands_before_what_is_wanted() {
        let code = Some(String::from("AB2C3"));
        assert_eq!(code_in("/servent/in/AB2C3"), (code.clone(), "/servent".into()));
        assert_eq!(code_in("/servent/in/AB2C3/call/x"), (code, "/servent/call/x".into()));
        assert_eq!(code_in("/servent/call/x"), (None, "/servent/call/x".into()));
    }

    /// WB-6
    #[test]
    fn whatever_a_stranger_sends_is_held_for_a_head_and_no_longer() {
        const ALLOWED: &str = "http://a";
        let origins = Origins { ports: vec![6380], allowed: vec![ALLOWED.into()] };
        let upgrade = format!(
            "GET /servent/call/240.0.0.1:5000 HTTP/1.1\r\nHost: 10.0.0.7:6346\r\n\
             Origin: {ALLOWED}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             Sec-WebSocket-Protocol: servent.1\r\n\r\n"
        );
        let mut rng = servent_core::rng::Rng::new(6);
        let mut seen = [0; 3];
        for _ in 0..20_000 {
            let mut data = upgrade.clone().into_bytes();
            for _ in 0..rng.below(4) {
                let at = rng.below(data.len() as u64) as usize;
                match rng.below(3) {
                    0 => data[at] = rng.bytes::<1>()[0],
                    1 => drop(data.remove(at)),
                    _ => data
                        .splice(at..at, vec![b'x'; rng.below(2 * HEAD as u64) as usize])
                        .for_each(drop),
                }
            }
            let mut entry = FirstBytes::default();
            let mut rest = &data[..];
            while !rest.is_empty() {
                let (now, later) = rest.split_at(rng.between(1, rest.len() as u64) as usize);
                rest = later;
                match entry.read(now.to_vec(), &origins) {
                    OpeningBytes::More(more) => {
                        assert!(more.0.len() < HEAD, "{} bytes are held", more.0.len());
                        entry = more;
                        continue;
                    }
                    OpeningBytes::Other(bytes) => assert!(data.starts_with(&bytes)),
                    OpeningBytes::Refused(reply) => {
                        assert!(reply.starts_with(b"HTTP/1.1 4"));
                        seen[1] += 1;
                    }
                    OpeningBytes::Upgrade(upgrade) => {
                        assert!(upgrade.reply.starts_with(b"HTTP/1.1 101 "));
                        seen[2] += 1;
                    }
                }
                seen[0] += 1;
                break;
            }
        }
        assert!(seen.iter().all(|count| *count > 1_000), "{seen:?}");
    }

    #[test]
    fn a_head_that_is_too_large_is_refused_with_and_without_its_end() {
        let head = [BEGINS[0], b"Upgrade: websocket\r\nA: ", &vec![b'a'; HEAD]].concat();
        for end in ["", "\r\n\r\n"] {
            let said =
                FirstBytes::default().read([&head, end.as_bytes()].concat(), &Origins::default());
            let OpeningBytes::Refused(reply) = said else { panic!("{end:?}") };
            assert!(reply.starts_with(b"HTTP/1.1 431 "), "{end:?}");
        }
    }
}
