//! Refuses requests that a web page made a user's browser send.
//!
//! A page can make its visitors request files from us, and so take slots on
//! their behalf; or it can use a host name that resolves to our address (DNS
//! rebinding), and read what only hosts near us can. Browsers mark the requests
//! that a page causes; following a link or typing an address counts as a
//! person's request.

use alloc::string::String;
use core::net::{IpAddr, Ipv6Addr};

use crate::wire::http::{Headers, RequestHead, authority};

/// True when a page of another site caused this request. A browser that does not say
/// where a request comes from may still name the origin of the page.
pub(super) fn is_of_another_page(headers: &Headers) -> bool {
    if headers.get("Sec-Fetch-Site").is_none() {
        return names_another_origin(headers);
    }
    let says = |name, what| headers.get(name).is_some_and(|v| v.trim_ascii() == what);
    let elsewhere = says("Sec-Fetch-Site", "cross-site") || says("Sec-Fetch-Site", "same-site");
    let link = says("Sec-Fetch-Mode", "navigate")
        && says("Sec-Fetch-Dest", "document")
        && says("Sec-Fetch-User", "?1");
    elsewhere && !link
}

/// True when a page caused this request that is not one of ours. For requests
/// that change something not even a link counts.
pub(super) fn is_of_another_origin(headers: &Headers) -> bool {
    let site = headers.get("Sec-Fetch-Site").map(str::trim_ascii);
    if site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        return true;
    }
    names_another_origin(headers)
}

fn names_another_origin(headers: &Headers) -> bool {
    let origin = |origin: &str| {
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        let ours = headers.get("Host").map(str::trim_ascii);
        !matches!((host, ours), (Some(host), Some(ours)) if host.eq_ignore_ascii_case(ours))
    };
    headers.all("Origin").map(str::trim_ascii).any(origin)
}

/// True when a request addresses us by a host name that any stranger may own: not an
/// IP address, not one of `hosts`, and not a name of a local network. Such a name
/// may have been pointed to us, so that a page of its owner reads what only those
/// near us can (DNS rebinding). What the request says of its program is the
/// page's choice, so only the host decides.
pub(super) fn is_by_another_name(head: &RequestHead, hosts: [&[String]; 2]) -> bool {
    let mut named = head.headers.all("Host").chain(authority(&head.target));
    named.any(|host| !is_ours(host.trim_ascii(), hosts))
}

fn is_ours(host: &str, hosts: [&[String]; 2]) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let v6 = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    // A link-local address may have a zone, which names an interface.
    let v6 = v6.map(|v6| v6.split('%').next().unwrap_or(v6));
    let is_address = match v6 {
        Some(v6) => v6.parse::<Ipv6Addr>().is_ok(),
        None => name.parse::<IpAddr>().is_ok(),
    };
    let mut hosts = hosts.into_iter().flatten();
    is_address || is_of_home(name) || hosts.any(|ours| covers(ours, name))
}

/// A name as the owner gave it, or as a certificate does: `*.` stands for one label.
fn covers(ours: &str, name: &str) -> bool {
    match ours.strip_prefix("*.") {
        Some(domain) => name.split_once('.').is_some_and(|(_, of)| of.eq_ignore_ascii_case(domain)),
        None => ours.eq_ignore_ascii_case(name),
    }
}

/// True for names that no Internet server answers for (RFC 6761, RFC 6762, RFC
/// 8375, and the suffix ICANN reserves for private use).
fn is_of_home(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let last = name.rsplit('.').next().unwrap_or_default();
    let ends = |with: &str| last.eq_ignore_ascii_case(with);
    let is_home = name.len() >= HOME.len()
        && name.get(name.len() - HOME.len()..).is_some_and(|end| end.eq_ignore_ascii_case(HOME));
    !name.contains('.')
        || is_home
        || ["localhost", "local", "internal", "lan"].into_iter().any(ends)
}

const HOME: &str = ".home.arpa";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::http::HeadLimits;
    use alloc::vec::Vec;
    use std::format;
    use std::string::ToString as _;

    fn head(lines: &str) -> RequestHead {
        let text = format!("GET /a HTTP/1.1\r\n{lines}\r\n");
        let limits = HeadLimits { bytes: 4_096, lines: 64 };
        RequestHead::parse(text.as_bytes(), &limits).unwrap().unwrap().0
    }

    #[test]
    fn a_person_may_follow_a_link_and_a_page_may_not_ask() {
        let of_a_page = |lines: &str| is_of_another_page(&head(lines).headers);
        let link = "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\nSec-Fetch-User: ?1\r\n";
        for site in ["cross-site", "same-site"] {
            assert!(of_a_page(&format!("Sec-Fetch-Site: {site}\r\n")));
            assert!(of_a_page(&format!("Sec-Fetch-Site: {site}\r\nSec-Fetch-Mode: navigate\r\n")));
            assert!(!of_a_page(&format!("Sec-Fetch-Site: {site}\r\n{link}")));
        }
        for site in ["none", "same-origin"] {
            assert!(!of_a_page(&format!("Sec-Fetch-Site: {site}\r\n")));
        }
        assert!(!of_a_page(""));
        for origin in ["http://evil.example", "null", "http://nas"] {
            assert!(of_a_page(&format!("Host: nas:6346\r\nOrigin: {origin}\r\n")), "{origin}");
        }
        assert!(!of_a_page("Host: nas:6346\r\nOrigin: http://nas:6346\r\n"));
    }

    #[test]
    fn only_our_own_page_may_change_something() {
        let other = |lines: &str| {
            is_of_another_origin(&head(&format!("Host: nas:6346\r\n{lines}")).headers)
        };
        for ours in [
            "",
            "Sec-Fetch-Site: same-origin\r\nOrigin: http://nas:6346\r\n",
            "Origin: https://NAS:6346\r\n",
        ] {
            assert!(!other(ours), "{ours}");
        }
        let link = "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\nSec-Fetch-User: ?1\r\n";
        for theirs in [
            "Sec-Fetch-Site: cross-site\r\n",
            &format!("Sec-Fetch-Site: cross-site\r\n{link}"),
            "Sec-Fetch-Site: same-site\r\n",
            "Origin: http://evil.example\r\n",
            "Origin: null\r\n",
            "Origin: http://nas\r\n",
            "Origin: http://nas:6346\r\nOrigin: http://evil.example\r\n",
        ] {
            assert!(other(theirs), "{theirs}");
        }
    }

    #[test]
    fn a_name_that_may_be_anybodys_is_not_ours_whatever_the_program_says_of_itself() {
        let hosts: Vec<String> = ["files.example.org".to_string()].into();
        let other = |host: &str, agent: &str| {
            let head = head(&format!("Host: {host}\r\nUser-Agent: {agent}\r\n"));
            is_by_another_name(&head, [&hosts, &[]])
        };
        for agent in ["Mozilla/5.0 (X11)", "curl/8.0", ""] {
            for host in [
                "evil.example",
                "evil.example:6346",
                "127.0.0.1.nip.io",
                "home.arpa.example.",
                "localhost.evil.example",
                "[evil.example]",
                "[::1]evil.example",
                "files.example.org.evil.example",
            ] {
                assert!(other(host, agent), "{host}");
            }
            for host in [
                "127.0.0.1:6346",
                "81.1.2.3",
                "[::1]:6346",
                "[fe80::1%25eth0]:6346",
                "localhost:6346",
                "nas",
                "nas.local",
                "nas.home.arpa:80",
                "FILES.example.org:6346",
                "",
            ] {
                assert!(!other(host, agent), "{host}");
            }
        }
    }
}
