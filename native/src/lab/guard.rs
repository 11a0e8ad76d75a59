//! Protection against other sites: only hosts that no DNS server can forge are
//! accepted, changes require the token, and every response has a content
//! security policy.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

/// The header with the token that changes of state require.
pub(crate) const TOKEN: HeaderName = HeaderName::from_static("x-servent-token");

const HEADERS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::CACHE_CONTROL, "no-cache"),
];

/// The content security policy. Of inline scripts only the one with this
/// SHA-256 may run; a page that is a `peer` connects to others.
pub(crate) fn policy(script: Option<&[u8]>, peer: bool) -> HeaderValue {
    let script = script.map_or_else(String::new, |hash| {
        format!(" 'sha256-{}'", data_encoding::BASE64.encode(hash))
    });
    let sockets = if peer { " ws: wss:" } else { "" };
    let policy = format!(
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'{script}; style-src 'self'; \
         img-src 'self' data:; font-src 'self'; connect-src 'self'{sockets}; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::try_from(policy).expect("base 64 and these words are visible ASCII")
}

/// Refuses foreign hosts and pages, and adds the headers to every response.
pub(crate) async fn guard(request: Request, next: Next) -> Response {
    let mut response = if !host_is_ours(request.headers()) {
        let text = "This servent answers to an address or to localhost, not to a name.\n";
        (StatusCode::MISDIRECTED_REQUEST, text).into_response()
    } else if !origin_is_ours(request.headers()) || is_from_elsewhere(&request) {
        (StatusCode::FORBIDDEN, "This servent answers its own page only.\n").into_response()
    } else {
        next.run(request).await
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    // The page's index sets a policy with its own script.
    let policed = response.headers_mut().entry(header::CONTENT_SECURITY_POLICY);
    policed.or_insert_with(|| policy(None, false));
    response
}

/// True for `localhost` and literal addresses. DNS rebinding needs a name, so
/// no other name is accepted.
fn host_is_ours(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    // Of two, a proxy before us may mean the other one.
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let Ok(host) = host.to_str() else { return false };
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((v6, port)) => (v6, port),
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port = |port: &str| port.bytes().all(|b| b.is_ascii_digit()) && port.len() <= 5;
    let port = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    port && (name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok())
}

/// True when a browser says that another site's page requests what only our own
/// page needs: it could not read the response, but it could make us work.
fn is_from_elsewhere(request: &Request) -> bool {
    let site = request.headers().get("sec-fetch-site").map(HeaderValue::as_bytes);
    let path = request.uri().path();
    let inner = path.starts_with("/api/") || path == "/metrics";
    inner && !matches!(site, None | Some(b"same-origin" | b"none"))
}

/// True unless another site's page sent this.
fn origin_is_ours(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|v: &HeaderValue| v.to_str().ok());
    match (text(header::ORIGIN), text(header::HOST)) {
        (None, _) => true,
        (Some(origin), Some(host)) => origin.strip_prefix("http://") == Some(host),
        (Some(_), None) => false,
    }
}

/// True when the request carries the token.
pub(crate) fn has_token(headers: &HeaderMap, token: &str) -> bool {
    same(headers.get(TOKEN).map_or(&b""[..], HeaderValue::as_bytes), token.as_bytes())
}

/// Compares in constant time.
pub(super) fn same(given: &[u8], wanted: &[u8]) -> bool {
    given.len() == wanted.len()
        && given.iter().zip(wanted).fold(0, |acc, (a, b)| acc | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(k, v): &(&'static str, &'static str)| {
            (HeaderName::from_static(k), HeaderValue::from_static(v))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn only_addresses_and_localhost_are_hosts() {
        for host in ["127.0.0.1:6380", "localhost", "LocalHost:80", "[::1]:6380", "10.0.0.7"] {
            assert!(host_is_ours(&headers(&[("host", host)])), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:6380",
            "127.0.0.1.nip.io",
            "",
            "127.0.0.1:evil.com",
            "localhost:6380.evil.com",
            "[::1]evil.com",
            "[::1]:evil.com",
            "127.0.0.1:123456",
        ] {
            assert!(!host_is_ours(&headers(&[("host", host)])), "{host}");
        }
        assert!(!host_is_ours(&headers(&[])));
        let mut two = headers(&[("host", "127.0.0.1:6380")]);
        two.append(header::HOST, HeaderValue::from_static("evil.example"));
        assert!(!host_is_ours(&two));
    }

    #[test]
    fn a_foreign_page_is_refused() {
        let own = [("host", "127.0.0.1:6380"), ("origin", "http://127.0.0.1:6380")];
        assert!(origin_is_ours(&headers(&own)));
        let foreign = [("host", "127.0.0.1:6380"), ("origin", "http://evil.example")];
        assert!(!origin_is_ours(&headers(&foreign)));
        assert!(!origin_is_ours(&headers(&[("host", "localhost"), ("origin", "null")])));
    }

    #[test]
    fn the_token_is_compared_whole() {
        let given = headers(&[("x-servent-token", "abc")]);
        assert!(has_token(&given, "abc"));
        assert!(!has_token(&given, "abcd"));
        assert!(!has_token(&headers(&[]), "abc"));
    }
}
