//! Where a URL leads: resolves its host and says what to request there.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use fluent_uri::{Uri, UriRef};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use servent_core::fetch::may_follow_redirect;
use servent_core::node::DownloadSource;

use crate::net::{Proxies, connect_first, resolve_host};

/// How long to look which of several addresses answers.
const TRY: Duration = Duration::from_secs(5);

/// Stands for a server whose address only its proxy knows: any host of the internet
/// (RFC 5737).
const SOMEWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 80);

/// Characters that URIs must not contain, but servers write; so are those beyond
/// ASCII, as UTF-8.
const WILD: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// The address of `HOST`, `HOST:PORT` or `[ADDRESS]:PORT`. Of several, the
/// first that accepts a connection is taken, so that one server is asked only
/// once.
///
/// # Errors
/// The host cannot be resolved, or has no address.
pub async fn address_of(host: &str, port: u16) -> io::Result<SocketAddr> {
    let (host, port) = host_and_port(host, port);
    let found = resolve_host(host, port).await?;
    if found.len() > 1
        && let Ok(Ok((at, _))) = tokio::time::timeout(TRY, connect_first(&found)).await
    {
        return Ok(at);
    }
    Ok(found[0])
}

/// The parts of `HOST` or `HOST:PORT`; the port is `usual` where none is named.
#[must_use]
pub fn host_and_port(host: &str, usual: u16) -> (&str, u16) {
    let named = host.rsplit_once(':').filter(|_| has_port(host));
    named.map_or((host, usual), |(name, port)| (name, port.parse().unwrap_or(usual)))
}

/// True when the host is followed by a port.
#[must_use]
pub fn has_port(host: &str) -> bool {
    host.rsplit_once(':').is_some_and(|(name, port)| {
        port.parse::<u16>().is_ok() && (!name.contains(':') || name.ends_with(']'))
    })
}

/// The source that a redirect's `Location` names. A redirect from `https://` to
/// plain HTTP is not followed, nor one to a folder of the same name: its page
/// would be saved as the file.
///
/// No host is dialed here: a stranger named the place, and the node judges it by the
/// address of the source. Behind a proxy that is the proxy's, which may be on this
/// machine, so there the origin is judged here.
pub(super) async fn redirect_target(
    from: &DownloadSource,
    to: &str,
    proxies: &Proxies,
) -> Option<DownloadSource> {
    let SourceLocation { secure, host, target } = resolve(from, to)?;
    if let Some(at) = proxies.find(&host, secure).await.ok()? {
        let origin = if secure { String::new() } else { format!("http://{host}") };
        return Some(DownloadSource { at, target: format!("{origin}{target}"), host });
    }
    let port = if secure { 443 } else { 80 };
    let (name, port) = host_and_port(&host, port);
    let found = resolve_host(name, port).await.ok()?;
    if proxies.at(from.at).is_some() {
        let origin = origin(from);
        let at = best(origin, &found, secure)?;
        may_follow_redirect(origin, at, secure).ok()?;
        return Some(DownloadSource { at, target, host });
    }
    let at = best(from.at, &found, secure)?;
    Some(DownloadSource { at, target, host })
}

/// The address of a server that is asked through a proxy. A name counts as one of the
/// internet: the stranger whose name it is decides what it means here.
fn origin(from: &DownloadSource) -> SocketAddr {
    let whole = Uri::parse(from.target.as_str()).ok();
    let authority = whole.as_ref().and_then(|uri| uri.authority());
    let place = authority.map_or(from.host.as_str(), |authority| authority.as_str());
    let (name, port) = host_and_port(place, SOMEWHERE.port());
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    bare.parse().map_or(SOMEWHERE, |ip| SocketAddr::new(ip, port))
}

/// Which of the addresses to ask: one that may be asked, of the family in which
/// the source that redirects us was reached.
fn best(from: SocketAddr, found: &[SocketAddr], secure: bool) -> Option<SocketAddr> {
    let rank = |at: &&SocketAddr| {
        let refused = **at != from && may_follow_redirect(from, **at, secure).is_err();
        (refused, at.is_ipv4() != from.is_ipv4())
    };
    found.iter().min_by_key(rank).copied()
}

#[derive(Debug, PartialEq, Eq)]
struct SourceLocation {
    secure: bool,
    host: String,
    target: String,
}

fn resolve(from: &DownloadSource, to: &str) -> Option<SourceLocation> {
    let asked = from.target.split('#').next().unwrap_or_default();
    let was_secure = asked.starts_with("https://");
    let whole = was_secure || asked.starts_with("http://");
    let here = if whole { asked.to_owned() } else { format!("http://{}{asked}", from.host) };
    let here = Uri::parse(here).ok()?;
    let to = utf8_percent_encode(to.trim(), WILD).to_string();
    let there = UriRef::parse(to.split('#').next()?).ok()?.resolve_against(&here).ok()?;
    let secure = match there.scheme().as_str() {
        "https" => true,
        "http" if !was_secure => false,
        _ => return None,
    };
    let authority = there.authority()?;
    let same_place = there.scheme() == here.scheme()
        && here.authority().map(|a| a.as_str()) == Some(authority.as_str());
    let is_folder = there.path().as_str().strip_suffix('/') == Some(here.path().as_str());
    if same_place && is_folder && here.query().is_none() && here.path().as_str() != "" {
        return None;
    }
    if authority.has_userinfo() || authority.host().is_empty() {
        return None;
    }
    let host = authority.as_str().to_owned();
    let path = Some(there.path().as_str()).filter(|path| !path.is_empty()).unwrap_or("/");
    let query = there.query().map(|query| format!("?{query}")).unwrap_or_default();
    let origin = if secure { format!("https://{host}") } else { String::new() };
    Some(SourceLocation { secure, host, target: format!("{origin}{path}{query}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(from: &str, to: &str) -> Option<(bool, String, String)> {
        let at = SocketAddr::from(([127, 0, 0, 1], 1));
        let from = DownloadSource { at, target: from.to_owned(), host: "h:1".to_owned() };
        resolve(&from, to).map(|place| (place.secure, place.host, place.target))
    }

    #[test]
    fn a_location_leads_where_the_standard_says() {
        for (from, to, secure, host, target) in [
            ("/a/b?x#/get/1/y", "c", false, "h:1", "/a/c"),
            ("/a/b", "/c d?e#f", false, "h:1", "/c%20d?e"),
            ("/a/b", "//g/x", false, "g", "/x"),
            ("/a/b", "/über <1>", false, "h:1", "/%C3%BCber%20%3C1%3E"),
            ("/a/b", "/%C3%BCber", false, "h:1", "/%C3%BCber"),
            ("http://p:2/a", "b", false, "p:2", "/b"),
            ("/a/b", "http://g:2", false, "g:2", "/"),
            ("/a/b", "https://g/x/../y", true, "g", "https://g/y"),
            ("https://h:1/a/b", "c", true, "h:1", "https://h:1/a/c"),
        ] {
            let wanted = Some((secure, host.to_owned(), target.to_owned()));
            assert_eq!(place(from, to), wanted, "{to}");
        }
    }

    #[test]
    fn no_client_is_sent_out_of_tls_or_to_what_is_no_address() {
        for (from, to) in [
            ("https://h:1/a", "http://h:1/a"),
            ("/a", "ftp://h/x"),
            ("/a", "file:///etc/passwd"),
            ("/a", "http://user@h/x"),
            ("/a", "http:///x"),
            ("/a", "%zz"),
            ("/a", "mailto:a@b"),
            ("/a", "/a/"),
            ("/a/b", "http://h:1/a/b/"),
        ] {
            assert_eq!(place(from, to), None, "{from} {to}");
        }
    }

    #[test]
    fn of_several_addresses_one_that_may_be_asked_is_taken() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let from = at("80.1.2.3:80");
        let found = ["10.0.0.1:80", "[2001:db8::1]:80", "81.1.2.3:80"].map(at);
        assert_eq!(best(from, &found, false), Some(found[2]));
        assert_eq!(best(from, &found[..2], false), Some(found[1]));
        // The node says why it does not go there.
        assert_eq!(best(from, &found[..1], false), Some(found[0]));
        assert_eq!(best(from, &[], false), None);
    }

    #[test]
    fn behind_a_proxy_the_origin_counts_and_a_name_is_of_the_internet() {
        let at = SocketAddr::from(([127, 0, 0, 1], 3_128));
        let of = |target: &str, host: &str| {
            origin(&DownloadSource { at, target: target.to_owned(), host: host.to_owned() })
        };
        assert_eq!(of("http://h.example/a", "h.example"), SOMEWHERE);
        assert_eq!(of("http://10.0.0.1:81/a", "h"), SocketAddr::from(([10, 0, 0, 1], 81)));
        assert_eq!(of("https://[fd00::1]/a", "h").ip(), "fd00::1".parse::<IpAddr>().unwrap());
        assert_eq!(of("/a", "10.0.0.1").ip(), IpAddr::from([10, 0, 0, 1]));
        assert_eq!(of("/a", "localhost"), SOMEWHERE);
    }

    #[test]
    fn a_port_is_told_from_an_address() {
        assert!(has_port("h:1") && has_port("[::1]:1"));
        assert!(!has_port("h") && !has_port("::1") && !has_port("[::1]") && !has_port("h:x"));
    }
}
