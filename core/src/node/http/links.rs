//! Links in what we write. Those to our own pages and files are relative, because a
//! server in front of us may show us below a path of its own; those that must name a
//! host are built from what the visitor asked.

use alloc::format;
use alloc::string::String;

use crate::wire::http::Headers;

/// How a visitor addressed us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct VisitedOrigin<'a> {
    scheme: &'static str,
    host: &'a str,
}

impl<'a> VisitedOrigin<'a> {
    /// From the request: what a server in front of us says that it was asked
    /// (`Forwarded`, RFC 7239, or what came before it), or else `Host` and whether
    /// we speak TLS ourselves. `None` without a host.
    pub(super) fn parse(headers: &'a Headers, secure: bool) -> Option<Self> {
        let forwarded = |name: &str| {
            // The first is nearest to the visitor.
            let first = headers.get("Forwarded")?.split(',').next()?;
            let mut pairs = first.split(';').filter_map(|pair| pair.split_once('='));
            let (_, value) = pairs.find(|(key, _)| key.trim().eq_ignore_ascii_case(name))?;
            Some(value.trim().trim_matches('"'))
        };
        let before = |name: &str| headers.get(name)?.split(',').next().map(str::trim);
        let is_host = |host: &&str| {
            !host.is_empty()
                && host.bytes().all(|b| b.is_ascii_graphic() && !b"/\\?#<>\"'&@".contains(&b))
        };
        let scheme = forwarded("proto").or_else(|| before("X-Forwarded-Proto"));
        let scheme = match scheme {
            Some(scheme) if scheme.eq_ignore_ascii_case("https") => "https",
            None if secure => "https",
            _ => "http",
        };
        let host = forwarded("host").or_else(|| before("X-Forwarded-Host"));
        let host = host.filter(is_host).or_else(|| headers.get("Host").filter(is_host))?;
        Some(Self { scheme, host })
    }

    /// The URL of a path here, which begins with a slash.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.host)
    }
}

/// The way from a page of this folder, whose name ends in `/`, to the top.
pub(super) fn to_top(folder: &str) -> String {
    match folder.matches('/').count() {
        // A first part with a colon would be taken for a scheme.
        0 => String::from("./"),
        depth => "../".repeat(depth),
    }
}

/// A path that begins with a slash, as seen from a page of this folder.
pub(super) fn relative(folder: &str, path: &str) -> String {
    to_top(folder) + path.trim_start_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(fields: &[(&str, &str)], secure: bool) -> Option<String> {
        let mut headers = Headers::default();
        fields.iter().for_each(|(name, value)| headers.push(name, value));
        VisitedOrigin::parse(&headers, secure).map(|origin| origin.url("/a"))
    }

    #[test]
    fn an_origin_is_the_one_that_the_visitor_sees() {
        let host = ("Host", "h:1");
        assert_eq!(origin(&[host], false).unwrap(), "http://h:1/a");
        assert_eq!(origin(&[host], true).unwrap(), "https://h:1/a");
        let old = [host, ("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "g")];
        assert_eq!(origin(&old, false).unwrap(), "https://g/a");
        let new = [host, ("Forwarded", "for=1; proto=https;Host=\"g:2\", proto=http")];
        assert_eq!(origin(&new, false).unwrap(), "https://g:2/a");
        assert_eq!(origin(&[], true), None);
        let odd = [host, ("X-Forwarded-Host", "g\"><script>")];
        assert_eq!(origin(&odd, false).unwrap(), "http://h:1/a");
    }

    #[test]
    fn a_link_leads_from_where_the_page_is() {
        assert_eq!(relative("", "/a:b"), "./a:b");
        assert_eq!(relative("a/b/", "/c"), "../../c");
    }
}
