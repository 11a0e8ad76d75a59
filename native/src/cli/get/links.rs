//! What a listing names: links of a page, lines of a list of URIs. Only what
//! is below the folder counts; whatever else a page says is passed over.

use fluent_uri::{Uri, UriRef};
use html5gum::{StartTag, Token, Tokenizer};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// What no URI has, and pages have all the same.
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
/// What our list says before the URL of its next part.
const NEXT: &str = "# next: ";

/// A folder somebody serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Base {
    /// `http`, or `https`.
    pub(super) scheme: String,
    /// Host and port.
    pub(super) host: String,
    /// As it is asked for; it begins and ends with a slash.
    pub(super) path: String,
}

/// Something below the folder, or more of what is in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Link {
    /// A file: what is asked for, and its place below the folder, with
    /// slashes. No part of that is `.`, `..` or empty.
    File { target: String, path: String },
    /// A folder inside it.
    Folder { target: String },
    /// More of the same list.
    More { target: String },
    /// A list of everything below, for programs.
    List { target: String },
}

impl Base {
    /// What an `https://` target begins with: it is the whole URL.
    fn origin(&self) -> String {
        match &self.scheme[..] {
            "https" => format!("https://{}", self.host),
            _ => String::new(),
        }
    }

    /// How its page is asked for.
    pub(super) fn target(&self) -> String {
        format!("{}{}", self.origin(), self.path)
    }

    /// What a link on one of its pages leads to, if it stays below.
    fn resolve(&self, page: &str, href: &str) -> Option<(Vec<String>, String, bool)> {
        let href = utf8_percent_encode(href.trim(), WILD).to_string();
        let href = href.split('#').next().unwrap_or_default();
        let page = page.strip_prefix(&self.origin()).unwrap_or(page);
        let here = Uri::parse(format!("{}://{}{page}", self.scheme, self.host)).ok()?;
        let there = UriRef::parse(href).ok()?.resolve_against(&here).ok()?;
        let host = there.authority()?.as_str();
        if there.scheme().as_str() != self.scheme || !host.eq_ignore_ascii_case(&self.host) {
            return None;
        }
        let path = there.path().as_str();
        let inside = path.strip_prefix(&self.path)?;
        let parts: Option<Vec<String>> = inside.split_terminator('/').map(part).collect();
        let query = there.query().map(|query| format!("?{query}"));
        let target = format!("{}{path}{}", self.origin(), query.as_deref().unwrap_or_default());
        Some((parts?, target, query.is_some()))
    }

    /// The links of a page of it. `page` is how that was asked for.
    pub(super) fn links(&self, page: &str, html: &str) -> Vec<Link> {
        let mut links = Vec::new();
        for Ok(token) in Tokenizer::new(html) {
            let Token::StartTag(tag) = token else { continue };
            let Some(href) = attribute(&tag, b"href") else { continue };
            let rel = attribute(&tag, b"rel").unwrap_or_default().to_ascii_lowercase();
            let Some((parts, target, asks)) = self.resolve(page, &href) else { continue };
            let next = rel.split_whitespace().any(|word| word == "next");
            links.extend(match &tag.name[..] {
                b"link" if attribute(&tag, b"type").as_deref() == Some("text/uri-list") => {
                    Some(Link::List { target })
                }
                b"a" if next => Some(Link::More { target }),
                // A page that asks is a view of another one, or a program.
                b"a" if asks || parts.is_empty() => None,
                b"a" if target.ends_with('/') => Some(Link::Folder { target }),
                b"a" => Some(Link::File { target, path: parts.join("/") }),
                _ => None,
            });
        }
        links
    }

    /// What a list of URIs names (RFC 2483 §5).
    pub(super) fn list(&self, text: &str) -> Vec<Link> {
        let link = |line: &str| {
            if let Some(next) = line.strip_prefix(NEXT) {
                let (_, target, _) = self.resolve(&self.path, next)?;
                return Some(Link::More { target });
            }
            let (parts, target, _) =
                self.resolve(&self.path, Some(line).filter(|l| !l.starts_with('#'))?)?;
            (!parts.is_empty()).then(|| Link::File { target, path: parts.join("/") })
        };
        text.lines().filter_map(link).collect()
    }
}

/// One part of a path, decoded; `None` when it would lead elsewhere.
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

    fn file(target: &str, path: &str) -> Link {
        Link::File { target: target.into(), path: path.into() }
    }

    fn links(html: &str) -> Vec<Link> {
        base().links("/m/", html)
    }

    #[test]
    fn what_is_below_is_taken_however_it_is_written() {
        let html = r#"<A HREF='a%20b'>x</a><a href=/m/c>y</a><a href="http://H:1/m/d/e f#x">
            <a href="sub/"><a href="./g&amp;h"><a href="ü">"#;
        let folder = Link::Folder { target: "/m/sub/".into() };
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
        // Dots that a client removes are removed before it is judged.
        assert_eq!(links("<a href='a/../b'>"), [file("/m/b", "b")]);
        assert_eq!(links("<!-- <a href=x> --><b href=x><script>'<a href=y>'</script>").len(), 1);
    }

    #[test]
    fn our_own_pages_say_where_the_list_and_the_next_page_are() {
        let html = "<link rel=alternate type=text/uri-list href=\"?list\"><a href='?sort=size'>\
                    <a href=\"?sort=name&amp;after=x\" rel=next>";
        let list = Link::List { target: "/m/?list".into() };
        let more = Link::More { target: "/m/?sort=name&after=x".into() };
        assert_eq!(links(html), [list, more]);
        let text = "# files\r\nhttp://h:1/m/a\r\nhttp://h:1/../etc/passwd\r\nhttp://h:1/m/b/c%2Fd\r\n\
                    # next: http://h:1/m/?list&after=a\r\n";
        let more = Link::More { target: "/m/?list&after=a".into() };
        assert_eq!(base().list(text), [file("/m/a", "a"), more]);
    }
}
