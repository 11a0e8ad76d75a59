//! Cookies within one chain of redirects (RFC 6265): some servers send a visitor on
//! only to see whether a cookie comes back. They are forgotten with the source, and
//! nothing of them is saved.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::DownloadSource;
use crate::wire::http::Headers;

/// Cookies of one source; a further one is ignored.
const MOST: usize = 16;
/// The longest name and value together.
const LONGEST: usize = 4_096;

/// The cookies of one source.
#[derive(Debug, Clone, Default)]
pub(super) struct Cookies(Vec<Cookie>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cookie {
    name: String,
    value: String,
    /// The host it is for, in small letters.
    host: String,
    /// Hosts below that one are told it too.
    below: bool,
    /// It may only be told over TLS.
    secure: bool,
}

impl Cookies {
    /// Takes the cookies of a reply of this source. True when one of them is new, or
    /// has another value: the same address may answer otherwise now.
    pub(super) fn read(&mut self, from: &DownloadSource, headers: &Headers) -> bool {
        let mut news = false;
        for text in headers.all("Set-Cookie").filter(|text| text.len() <= LONGEST) {
            let Some(cookie) = Cookie::parse(text, &name_of(&from.host)) else { continue };
            let known = self.0.contains(&cookie);
            self.0.retain(|one| (&one.name, &one.host) != (&cookie.name, &cookie.host));
            if self.0.len() < MOST {
                self.0.push(cookie);
                news |= !known;
            }
        }
        news
    }

    /// What this source is told, if anything.
    pub(super) fn header(&self, to: &DownloadSource) -> Option<String> {
        let (host, secure) = (name_of(&to.host), to.target.starts_with("https://"));
        let fits = self.0.iter().filter(|one| one.fits(&host, secure));
        let pairs: Vec<String> = fits.map(|one| format!("{}={}", one.name, one.value)).collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }
}

impl Cookie {
    fn parse(text: &str, host: &str) -> Option<Self> {
        let mut parts = text.split(';');
        let (name, value) = parts.next()?.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        let plain = |text: &str| text.bytes().all(|b| b > b' ' && b < 0x7f);
        if name.is_empty() || !plain(name) || !value.bytes().all(|b| (b' '..0x7f).contains(&b)) {
            return None;
        }
        let mut cookie = Self {
            name: name.into(),
            value: value.into(),
            host: host.into(),
            below: false,
            secure: false,
        };
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            match &key.trim().to_ascii_lowercase()[..] {
                "secure" => cookie.secure = true,
                "domain" => {
                    let domain = value.trim().trim_start_matches('.').to_ascii_lowercase();
                    // Of the host itself or of one above it, and not of all of a
                    // country.
                    if !is_below(host, &domain) || !domain.contains('.') {
                        return None;
                    }
                    (cookie.host, cookie.below) = (domain, true);
                }
                _ => {}
            }
        }
        Some(cookie)
    }

    fn fits(&self, host: &str, secure: bool) -> bool {
        let named = if self.below { is_below(host, &self.host) } else { self.host == host };
        named && (secure || !self.secure)
    }
}

/// True for a host and those below it.
fn is_below(host: &str, domain: &str) -> bool {
    let rest = host.strip_suffix(domain);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.')) && !domain.is_empty()
}

/// The host without its port, in small letters.
fn name_of(host: &str) -> String {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    name.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(host: &str, target: &str) -> DownloadSource {
        let at = ([127, 0, 0, 1], 1).into();
        DownloadSource { at, target: target.into(), host: host.into() }
    }

    fn told(set: &[&str], to: &str, target: &str) -> Option<String> {
        let (mut cookies, mut headers) = (Cookies::default(), Headers::default());
        set.iter().for_each(|text| headers.push("Set-Cookie", text));
        cookies.read(&source("www.Example.org:80", "/"), &headers);
        cookies.header(&source(to, target))
    }

    #[test]
    fn a_cookie_comes_back_to_the_server_it_is_for() {
        for (set, to, wanted) in [
            ("a=b; Path=/; HttpOnly", "www.example.org", Some("a=b")),
            ("a=b", "other.example.org", None),
            ("a=b; Domain=.example.org", "dl.example.org:81", Some("a=b")),
            ("a=b; domain=example.org", "badexample.org", None),
            ("a=b; Domain=other.org", "other.org", None),
            ("a=b; Domain=org", "example.org", None),
            ("=b", "www.example.org", None),
            ("a", "www.example.org", None),
            ("a=b\u{e9}", "www.example.org", None),
        ] {
            assert_eq!(told(&[set], to, "/").as_deref(), wanted, "{set} {to}");
        }
    }

    #[test]
    fn a_new_cookie_and_another_value_are_news() {
        let mut cookies = Cookies::default();
        let mut reply = |text: &str| {
            let mut headers = Headers::default();
            headers.push("Set-Cookie", text);
            cookies.read(&source("example.org", "/"), &headers)
        };
        let news = ["a=b", "a=b", "a=c", "b=c", "not a cookie", "b=c"].map(&mut reply);
        assert_eq!(news, [true, false, true, true, false, false]);
    }

    #[test]
    fn a_secure_one_is_told_over_tls_only_and_a_later_one_counts() {
        let set = ["a=b; Secure", "c=d", "c=e"];
        assert_eq!(told(&set, "www.example.org", "/").as_deref(), Some("c=e"));
        let target = "https://www.example.org/";
        assert_eq!(told(&set, "www.example.org", target).as_deref(), Some("a=b; c=e"));
        let many: Vec<String> = (0..99).map(|n| format!("n{n}=x")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(told(&many, "www.example.org", "/").unwrap().split("; ").count(), MOST);
    }
}
