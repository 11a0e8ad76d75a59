//! Reads listings: the links of a page, the lines of a list of URIs. Only what
//! is below the folder counts; everything else is ignored.

use fluent_uri::{Uri, UriRef};
use html5gum::{StartTag, Token, Tokenizer};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use servent_core::id::Sha1;

/// Characters that URIs must not contain, but links in pages do.
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
    .add(b'}')
    .add(b'[')
    .add(b']');
/// What precedes the URL of the next part in a servent's list.
const NEXT: &str = "# next: ";
/// A servent's list begins with this when ranges of it can be fetched at once.
const RANGES: &str = "# ranges: tar";
/// What precedes what a servent's list knows of the file in its next line.
const FILE: &str = "# file: ";

/// A folder on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Base {
    /// `http`, or `https`.
    pub(crate) scheme: String,
    /// Host and port.
    pub(crate) host: String,
    /// As in the request; begins and ends with a slash.
    pub(crate) path: String,
}

/// What a server says of a file without being asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KnownFile {
    pub(crate) size: u64,
    /// When it was changed last, in seconds since the epoch.
    pub(crate) modified: Option<u64>,
    pub(crate) sha1: Option<Sha1>,
}

impl KnownFile {
    /// Reads what follows `# file: `.
    fn parse(text: &str) -> Option<Self> {
        let value = |name: &str| {
            let mut pairs = text.split_whitespace().filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        Some(Self {
            size: value("size")?.parse().ok()?,
            modified: value("modified").and_then(|at| at.parse().ok()),
            sha1: value("sha1").and_then(|sha1| Sha1::parse(sha1.as_bytes())),
        })
    }
}

/// An entry below the folder, or a list of entries.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PageLink {
    /// A file: its request target, and its path below the folder, with slashes.
    /// No component of that is `.`, `..` or empty.
    File { target: String, path: String, known: Option<KnownFile> },
    /// A subfolder.
    Folder { target: String },
    /// The next part of the same list.
    More { target: String },
    /// A machine-readable list of everything below.
    List { target: String },
}

impl Base {
    /// The prefix of an `https://` target, which is the whole URL.
    fn origin(&self) -> String {
        match &self.scheme[..] {
            "https" => format!("https://{}", self.host),
            _ => String::new(),
        }
    }

    /// The request target of its page.
    pub(crate) fn target(&self) -> String {
        format!("{}{}", self.origin(), self.path)
    }

    /// The target of a link on one of its pages, if it stays below the folder.
    fn resolve(&self, page: &str, href: &str) -> Option<(Vec<String>, String, bool)> {
        let href = utf8_percent_encode(href.trim(), WILD).to_string();
        let href = href.split('#').next().unwrap_or_default();
        let page = page.strip_prefix(&self.origin()).unwrap_or(page);
        let here = Uri::parse(format!("{}://{}{page}", self.scheme, self.host)).ok()?;
        let there = UriRef::parse(href).ok()?.resolve_against(&here).ok()?;
        let host = there.authority()?.as_str();
        // A server with TLS in front of it may not know of that.
        let scheme = there.scheme().as_str();
        let fits = scheme == self.scheme || self.scheme == "https" && scheme == "http";
        if !fits || !host.eq_ignore_ascii_case(&self.host) {
            return None;
        }
        let path = there.path().as_str();
        let inside = path.strip_prefix(&self.path)?;
        let parts: Option<Vec<String>> = inside.split_terminator('/').map(part).collect();
        let query = there.query().map(|query| format!("?{query}"));
        let target = format!("{}{path}{}", self.origin(), query.as_deref().unwrap_or_default());
        Some((parts?, target, query.is_some()))
    }

    /// The links on a page of it. `page` is the request target of that page.
    pub(crate) fn links(&self, page: &str, html: &str) -> Vec<PageLink> {
        let mut links = Vec::new();
        for Ok(token) in Tokenizer::new(html) {
            let Token::StartTag(tag) = token else { continue };
            let Some(href) = attribute(&tag, b"href") else { continue };
            let rel = attribute(&tag, b"rel").unwrap_or_default().to_ascii_lowercase();
            let Some((parts, target, asks)) = self.resolve(page, &href) else { continue };
            let next = rel.split_whitespace().any(|word| word == "next");
            links.extend(match &tag.name[..] {
                b"link" if attribute(&tag, b"type").as_deref() == Some("text/uri-list") => {
                    Some(PageLink::List { target })
                }
                b"a" if next => Some(PageLink::More { target }),
                // A link with a query is another view of a page, or a program.
                b"a" if asks || parts.is_empty() => None,
                b"a" if target.ends_with('/') => Some(PageLink::Folder { target }),
                b"a" => Some(PageLink::File { target, path: parts.join("/"), known: None }),
                _ => None,
            });
        }
        links
    }

    /// True for a list whose ranges can be fetched at once.
    pub(crate) fn has_ranges(text: &str) -> bool {
        text.lines().next() == Some(RANGES)
    }

    /// The entries of a list of URIs (RFC 2483 §5).
    pub(crate) fn list(&self, text: &str) -> Vec<PageLink> {
        let mut known = None;
        let link = |line: &str| {
            if let Some(about) = line.strip_prefix(FILE) {
                known = KnownFile::parse(about);
                return None;
            }
            if let Some(next) = line.strip_prefix(NEXT) {
                let (_, target, _) = self.resolve(&self.path, next)?;
                return Some(PageLink::More { target });
            }
            let (parts, target, _) =
                self.resolve(&self.path, Some(line).filter(|l| !l.starts_with('#'))?)?;
            let known = known.take();
            (!parts.is_empty()).then(|| PageLink::File { target, path: parts.join("/"), known })
        };
        text.lines().filter_map(link).collect()
    }
}

/// A decoded path component; `None` when it would leave the folder.
fn part(text: &str) -> Option<String> {
    let text = percent_decode_str(text).decode_utf8_lossy().into_owned();
    let leads = matches!(&text[..], "" | "." | "..") || text.contains(['/', '\0']);
    (!leads).then_some(text)
}

fn attribute(tag: &StartTag<()>, name: &[u8]) -> Option<String> {
    let value = tag.attributes.get(name)?;
    Some(String::from_utf8_lossy(value).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> Base {
        Base { scheme: "http".into(), host: "h:1".into(), path: "/m/".into() }
    }

    fn file(target: &str, path: &str) -> PageLink {
        PageLink::File { target: target.into(), path: path.into(), known: None }
    }

    fn links(html: &str) -> Vec<PageLink> {
        base().links("/m/", html)
    }

    #[test]
    fn what_is_below_is_taken_however_it_is_written() {
        let html = r#"<A HREF='a%20b'>x</a><a href=/m/c>y</a><a href="http://H:1/m/d/e f#x">
            <a href="sub/"><a href="./g&amp;h"><a href="ü">"#;
        let folder = PageLink::Folder { target: "/m/sub/".into() };
        let wanted = [
            file("/m/a%20b", "a b"),
            file("/m/c", "c"),
            file("/m/d/e%20f", "d/e f"),
            folder,
            file("/m/g&h", "g&h"),
            file("/m/%C3%BC", "ü"),
        ];
        assert_eq!(links(html), wanted);
    }

    #[test]
    fn nothing_leads_out_or_up() {
        for href in [
            "../x",
            "/x",
            "/",
            "/m",
            "//other/m/x",
            "http://h:2/m/x",
            "https://h:1/m/x",
            "mailto:a@b",
            "magnet:?xt=urn:sha1:A",
            "%2e%2e/x",
            "a/%2e%2e/%2e%2e/x",
            "..%2fx",
            "a%2f..%2fb",
            "?C=N;O=D",
            "a?b",
            "#top",
            "",
            "%zz",
            "http://[",
            ".",
            "./",
            "sub//x",
            "javascript:alert(1)",
        ] {
            assert_eq!(links(&format!("<a href=\"{href}\">")), [], "{href}");
        }
        // Dot segments that a client resolves are resolved before the check.
        assert_eq!(links("<a href='a/../b'>"), [file("/m/b", "b")]);
        assert_eq!(links("<!-- <a href=x> --><b href=x><script>'<a href=y>'</script>").len(), 1);
    }

    #[test]
    fn our_own_pages_say_where_the_list_and_the_next_page_are() {
        let html = "<link rel=alternate type=text/uri-list href=\"?list\"><a href='?sort=size'>\
                    <a href=\"?sort=name&amp;after=x\" rel=next>";
        let list = PageLink::List { target: "/m/?list".into() };
        let more = PageLink::More { target: "/m/?sort=name&after=x".into() };
        assert_eq!(links(html), [list, more]);
        let text = "# files\r\nhttp://h:1/m/a\r\nhttp://h:1/../etc/passwd\r\nhttp://h:1/m/b/c%2Fd\r\n\
                    # next: http://h:1/m/?list&after=a\r\n";
        let more = PageLink::More { target: "/m/?list&after=a".into() };
        assert_eq!(base().list(text), [file("/m/a", "a"), more]);
        let text = "# file: size=7 modified=9\r\n../m/a\r\nb\r\n";
        let known = Some(KnownFile { size: 7, modified: Some(9), sha1: None });
        let first = PageLink::File { target: "/m/a".into(), path: "a".into(), known };
        assert_eq!(base().list(text), [first, file("/m/b", "b")]);
    }
}
