//! Proxies of the web: `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` as
//! curl reads them. A source behind a proxy has the proxy's address; the request
//! says which host is meant, so the node needs to know nothing of it.
//!
//! Loopback addresses are never asked through a proxy: they mean this machine, and
//! to a proxy they mean another one.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use data_encoding::BASE64;
use percent_encoding::percent_decode_str;
use thiserror::Error;

use crate::net::route::{KnownRoute, SourceRoute};
use crate::net::{connect_first, resolve_host};

/// The port of a proxy that names none (as in curl).
const PORT: u16 = 1080;

/// Why a proxy cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// It is of another kind.
    #[error("{variable} names a proxy that we do not speak with: only http://HOST:PORT")]
    Kind {
        /// The variable that names it.
        variable: String,
    },
    /// Its host cannot be resolved.
    #[error("cannot find the proxy {host} of {variable}: {why}")]
    Unknown {
        /// The variable that names it.
        variable: String,
        /// Its host.
        host: String,
        /// The error of the system.
        why: String,
    },
}

/// The proxies of this user, the hosts that are asked directly, and those to which
/// there is a route of their own.
#[derive(Debug, Clone, Default)]
pub struct Proxies(Arc<ProxySettings>);

#[derive(Debug, Default)]
struct ProxySettings {
    http: Option<NamedProxy>,
    https: Option<NamedProxy>,
    direct: Vec<DirectHost>,
    /// Those that were resolved, by address.
    known: Mutex<BTreeMap<SocketAddr, ProxyAccess>>,
    routes: Mutex<BTreeMap<SocketAddr, KnownRoute>>,
}

/// A proxy as a variable names it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamedProxy {
    variable: String,
    value: String,
}

/// What it takes to use a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProxyAccess {
    /// `Proxy-Authorization`.
    authorization: Option<String>,
}

/// An entry of `no_proxy`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum DirectHost {
    All,
    /// This name and those below it, in small letters.
    Name(String),
    /// Addresses of which so many bits are equal.
    Network(IpAddr, u32),
}

impl Proxies {
    /// Reads the variables: each in small letters or in capitals, but `http_proxy`
    /// only in small ones, because web servers set `HTTP_PROXY` from what a visitor
    /// says.
    #[must_use]
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let named = |names: &[&str]| {
            let set = |name: &&str| variable(name).filter(|value| !value.trim().is_empty());
            let found = names.iter().find_map(|name| Some((*name, set(name)?)));
            found.map(|(name, value)| NamedProxy {
                variable: name.to_owned(),
                value: value.trim().to_owned(),
            })
        };
        let http = named(&["http_proxy", "all_proxy", "ALL_PROXY"]);
        let https = named(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]);
        let direct = ["no_proxy", "NO_PROXY"].iter().find_map(|name| variable(name));
        let direct = direct.unwrap_or_default();
        let direct = direct.split([',', ' ']).filter_map(DirectHost::parse).collect();
        Self(Arc::new(ProxySettings {
            http,
            https,
            direct,
            known: Mutex::default(),
            routes: Mutex::default(),
        }))
    }

    /// The address of the proxy through which a host (with or without a port) is
    /// asked; `None` when it is asked directly.
    ///
    /// # Errors
    /// That proxy cannot be used.
    pub async fn find(&self, host: &str, secure: bool) -> Result<Option<SocketAddr>, ProxyError> {
        let settings = &self.0;
        let chosen = if secure { &settings.https } else { &settings.http };
        let Some(proxy) = chosen.as_ref().filter(|_| !self.is_direct(host)) else {
            return Ok(None);
        };
        let (host, port, access) = proxy.parse()?;
        let unknown = |why: std::io::Error| {
            let (variable, host) = (proxy.variable.clone(), host.clone());
            ProxyError::Unknown { variable, host, why: why.to_string() }
        };
        let found = resolve_host(&host, port).await.map_err(unknown)?;
        let before = found.iter().find(|at| self.at(**at).is_some());
        let at = match (before, &found[..]) {
            (Some(at), _) | (None, [at]) => *at,
            (None, several) => connect_first(several).await.map_or(several[0], |(at, _)| at),
        };
        settings.known.lock().unwrap_or_else(PoisonError::into_inner).insert(at, access);
        Ok(Some(at))
    }

    /// The proxy at an address, if there is one.
    pub(crate) fn at(&self, at: SocketAddr) -> Option<ProxyAccess> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner).get(&at).cloned()
    }

    /// From now on connections to this address are opened by a route.
    pub fn learn_route(&self, at: SocketAddr, route: Arc<dyn SourceRoute>) {
        self.routes().insert(at, KnownRoute(route));
    }

    /// The route to an address, if there is one.
    pub(crate) fn route(&self, to: SocketAddr) -> Option<KnownRoute> {
        self.routes().get(&to).cloned()
    }

    fn routes(&self) -> MutexGuard<'_, BTreeMap<SocketAddr, KnownRoute>> {
        self.0.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_direct(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => host,
        };
        let name = name.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        let name = name.trim_end_matches('.');
        let address = name.parse::<IpAddr>().ok().map(|ip| ip.to_canonical());
        let here = name == "localhost" || address.is_some_and(|ip| ip.is_loopback());
        let routed = address.is_some_and(|ip| self.routes().keys().any(|at| at.ip() == ip));
        here || routed || self.0.direct.iter().any(|direct| direct.contains(name, address))
    }
}

impl NamedProxy {
    /// Host, port, and what it takes to use it.
    fn parse(&self) -> Result<(String, u16, ProxyAccess), ProxyError> {
        let kind = || ProxyError::Kind { variable: self.variable.clone() };
        let rest = match self.value.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some(_) => return Err(kind()),
            None => &self.value,
        };
        let rest = rest.split('/').next().unwrap_or_default();
        let (login, place) = match rest.rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, rest),
        };
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !port.is_empty() && !port.contains(']') => {
                (host, port.parse().map_err(|_| kind())?)
            }
            _ => (place.trim_end_matches(':'), PORT),
        };
        if host.is_empty() {
            return Err(kind());
        }
        let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let basic = |login: &str| {
            let (user, password) = login.split_once(':').unwrap_or((login, ""));
            let words = format!("{}:{}", plain(user), plain(password));
            format!("Basic {}", BASE64.encode(words.as_bytes()))
        };
        Ok((host.to_owned(), port, ProxyAccess { authorization: login.map(basic) }))
    }
}

impl DirectHost {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let bare = text.trim_start_matches('[').trim_end_matches(']');
        if bare == "*" {
            return Some(Self::All);
        }
        if let Ok(ip) = bare.parse::<IpAddr>() {
            return Some(Self::Network(ip.to_canonical(), 128));
        }
        if let Some((ip, bits)) = bare.split_once('/') {
            return Some(Self::Network(ip.parse().ok()?, bits.parse().ok()?));
        }
        let name = bare.trim_start_matches("*.").trim_start_matches('.').trim_end_matches('.');
        (!name.is_empty()).then(|| Self::Name(name.to_owned()))
    }

    fn contains(&self, name: &str, address: Option<IpAddr>) -> bool {
        match (self, address) {
            (Self::All, _) => true,
            (Self::Name(direct), None) => name
                .strip_suffix(&direct[..])
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.')),
            (Self::Network(IpAddr::V4(net), bits), Some(IpAddr::V4(ip))) => {
                let apart = u32::from(*net) ^ u32::from(ip);
                apart.leading_zeros() >= (*bits).min(32)
            }
            (Self::Network(IpAddr::V6(net), bits), Some(IpAddr::V6(ip))) => {
                let apart = u128::from(*net) ^ u128::from(ip);
                apart.leading_zeros() >= (*bits).min(128)
            }
            _ => false,
        }
    }
}

impl ProxyAccess {
    /// The request that opens a tunnel to a host, given with or without a port.
    pub(crate) fn connect(&self, host: &str) -> Vec<u8> {
        let named = host.rsplit_once(':').is_some_and(|(name, port)| {
            port.parse::<u16>().is_ok() && (!name.contains(':') || name.ends_with(']'))
        });
        let host = if named { host.to_owned() } else { format!("{host}:443") };
        let login = self.header();
        format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n{login}\r\n").into_bytes()
    }

    /// A request for plain HTTP as a proxy reads it (RFC 9112 §3.2.2).
    pub(crate) fn translate(&self, data: Vec<u8>) -> Vec<u8> {
        let text = match str::from_utf8(&data) {
            Ok(text) if text.starts_with("GET ") || text.starts_with("HEAD ") => text,
            _ => return data,
        };
        let Some((line, fields)) = text.split_once("\r\n") else { return data };
        let Some((method, rest)) = line.split_once(' ') else { return data };
        let host = fields.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("host").then_some(value.trim())
        });
        let origin = match host {
            Some(host) if rest.starts_with('/') => format!("http://{host}"),
            _ => String::new(),
        };
        format!("{method} {origin}{rest}\r\n{}{fields}", self.header()).into_bytes()
    }

    fn header(&self) -> String {
        let line = |words: &String| format!("Proxy-Authorization: {words}\r\n");
        self.authorization.as_ref().map(line).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Proxies {
        let get =
            |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string());
        Proxies::read(get)
    }

    async fn found(variables: &[(&str, &str)], host: &str, secure: bool) -> Option<String> {
        let found = proxies(variables).find(host, secure).await.unwrap();
        found.map(|at| at.to_string())
    }

    #[tokio::test]
    async fn the_variables_are_read_as_curl_reads_them() {
        let one = |name| [(name, "http://10.0.0.1:3128/")];
        for (name, http, https) in [
            ("http_proxy", true, false),
            ("HTTP_PROXY", false, false),
            ("https_proxy", false, true),
            ("HTTPS_PROXY", false, true),
            ("all_proxy", true, true),
            ("ALL_PROXY", true, true),
        ] {
            for (secure, wanted) in [(false, http), (true, https)] {
                let found = found(&one(name), "example.org", secure).await;
                let at = wanted.then(|| "10.0.0.1:3128".to_owned());
                assert_eq!(found, at, "{name} {secure}");
            }
        }
        let both = [("https_proxy", "10.0.0.1:1"), ("HTTPS_PROXY", "10.0.0.2:2")];
        assert_eq!(found(&both, "h", true).await.as_deref(), Some("10.0.0.1:1"));
        assert_eq!(
            found(&[("all_proxy", "[fd00::1]")], "h", true).await.as_deref(),
            Some("[fd00::1]:1080")
        );
        assert_eq!(found(&[("http_proxy", " ")], "h", false).await, None);
    }

    #[tokio::test]
    async fn hosts_of_no_proxy_and_this_machine_are_asked_directly() {
        let all = |direct| [("all_proxy", "10.0.0.1:3128"), ("no_proxy", direct)];
        for (direct, host, through) in [
            ("", "example.org", true),
            ("", "localhost:6346", false),
            ("", "127.0.0.1:6346", false),
            ("", "[::1]", false),
            ("*", "example.org", false),
            ("example.org", "example.org:8080", false),
            ("example.org", "www.Example.org", false),
            (".example.org", "example.org", false),
            ("a, b.org c.org", "c.org", false),
            ("example.org", "badexample.org", true),
            ("org.example", "org", true),
            ("192.168.0.0/16", "192.168.7.7:80", false),
            ("192.168.0.0/16", "192.169.7.7:80", true),
            ("10.9.9.9", "10.9.9.9", false),
            ("fd00::/8", "[fd12::1]:80", false),
            ("0.0.0.0/0", "example.org", true),
        ] {
            let found = found(&all(direct), host, false).await;
            assert_eq!(found.is_some(), through, "{direct:?} {host}");
        }
    }

    #[tokio::test]
    async fn a_proxy_of_another_kind_is_named_only_where_it_would_be_used() {
        let other = proxies(&[("all_proxy", "socks5://10.0.0.1:1080"), ("no_proxy", "a")]);
        assert_eq!(other.find("a", true).await, Ok(None));
        let why = other.find("b", true).await.unwrap_err().to_string();
        assert_eq!(why, "all_proxy names a proxy that we do not speak with: only http://HOST:PORT");
        assert!(proxies(&[("http_proxy", "http://h:x")]).find("b", false).await.is_err());
    }

    #[tokio::test]
    async fn requests_are_written_for_the_proxy() {
        let all = proxies(&[("all_proxy", "http://ann:a%40b@10.0.0.1:3128")]);
        let at = all.find("h", false).await.unwrap().unwrap();
        let access = all.at(at).unwrap();
        let said = |data: &str| String::from_utf8(access.translate(data.into())).unwrap();
        let login = "Proxy-Authorization: Basic YW5uOmFAYg==\r\n";
        let wanted = format!("GET http://h:1/a HTTP/1.1\r\n{login}Host: h:1\r\n\r\n");
        assert_eq!(said("GET /a HTTP/1.1\r\nHost: h:1\r\n\r\n"), wanted);
        assert_eq!(said("GET http://h:1/a HTTP/1.1\r\nHost: h:1\r\n\r\n"), wanted);
        assert_eq!(said("GNUTELLA CONNECT/0.6\r\n\r\n"), "GNUTELLA CONNECT/0.6\r\n\r\n");
        let connect = |host| String::from_utf8(access.connect(host)).unwrap();
        assert!(connect("h").starts_with("CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\nProxy-"));
        assert!(connect("[::1]:8443").starts_with("CONNECT [::1]:8443 HTTP/1.1\r\n"));
    }
}
