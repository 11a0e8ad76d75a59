//! The list of shared files for a plain browser.

use alloc::string::String;
use core::fmt::Write as _;

use crate::id::FileIndex;
use crate::node::catalog::Catalog;
use crate::text::Size;
use crate::wire::percent::{self, unescape};

/// Names looked at for one page of a search, so that one request stays cheap
/// however much is shared; the link to the rest goes on from there.
const SCAN: usize = 20_000;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;\
padding:0 1rem;color-scheme:light dark}table{width:100%;border-collapse:collapse}\
td,th{padding:.35rem .5rem;border-bottom:1px solid #8884;text-align:left;overflow-wrap:anywhere}\
td+td,th+th{text-align:right;white-space:nowrap}input{font:inherit;padding:.2rem .5rem}";

/// Which part of the list.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Only names that contain these words, in any order and case.
    pub(super) words: String,
    /// Only files with a greater number.
    pub(super) after: Option<FileIndex>,
}

impl Wanted {
    /// From the query of a URL: `q=words&after=12`. Unknown keys are ignored.
    pub(super) fn parse(query: &str) -> Self {
        let mut wanted = Self::default();
        for pair in query.split('&') {
            match pair.split_once('=') {
                Some(("q", words)) => {
                    wanted.words = unescape(&words.replace('+', " ")).trim().into();
                }
                Some(("after", number)) => wanted.after = number.parse().ok().map(FileIndex),
                _ => {}
            }
        }
        wanted
    }
}

/// A text without its capitals, for comparing. Letter by letter, so that a word
/// is the same at the end of a name and before its dot; accents that stand
/// apart are dropped from letters that only have them when small.
fn fold(text: &str) -> String {
    let small = |c: char| match c.to_lowercase().next() {
        Some('ς') => 'σ',
        small => small.unwrap_or(c),
    };
    text.chars().map(small).collect()
}

/// The page, at most `limit` files of it.
pub(super) fn page(catalog: &Catalog, wanted: &Wanted, limit: usize) -> String {
    let mut html = String::with_capacity(2_048);
    html.push_str("<!doctype html><html lang=en><meta charset=utf-8>");
    html.push_str("<meta name=viewport content=\"width=device-width\"><title>Shared files</title>");
    let _ = write!(html, "<style>{STYLE}</style><h1>Shared files</h1>");
    html.push_str("<form role=search><label>Find <input name=q type=search value=\"");
    escape(&mut html, &wanted.words);
    html.push_str("\"></label> <button>Search</button></form>");

    let words = fold(&wanted.words);
    let fits = |name: &str| {
        let name = fold(name);
        words.split_whitespace().all(|word| name.contains(word))
    };
    let (mut rows, mut seen, mut last, mut more) = (0, 0, None, false);
    html.push_str("<table><thead><tr><th>Name<th>Size</thead><tbody>");
    for file in catalog.after(wanted.after) {
        if rows == limit || seen == SCAN {
            more = true;
            break;
        }
        seen += 1;
        last = Some(file.index);
        if fits(&file.name) {
            rows += 1;
            row(&mut html, file.index, &file.name, file.size);
        }
    }
    html.push_str("</tbody></table>");
    if rows == 0 && !more {
        html.push_str(if words.is_empty() { "<p>Nothing here." } else { "<p>No such file." });
    }
    if let (true, Some(last)) = (more, last) {
        let q = percent::escape(&wanted.words);
        let _ = write!(html, "<p><a href=\"/?q={q}&amp;after={}\" rel=next>More</a>", last.0);
    }
    html.push_str("</html>\n");
    html
}

fn row(html: &mut String, index: FileIndex, name: &str, size: u64) {
    let url = percent::escape(name);
    let _ = write!(html, "<tr><td><a href=\"/get/{}/{url}\">", index.0);
    escape(html, name);
    let _ = write!(html, "</a><td title=\"{size} bytes\">{}", Size(size));
}

/// Adds text so that no browser takes it for markup.
fn escape(html: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c if c.is_control() => html.push('\u{fffd}'),
            c => html.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::FileInfo;
    use crate::queue::FileKey;

    fn catalog(names: &[&str]) -> Catalog {
        let mut c = Catalog::default();
        for (i, name) in (0u32..).zip(names) {
            let name = String::from(*name);
            let index = FileIndex(i);
            c.put(FileInfo {
                index,
                name,
                size: 5_000_000,
                sha1: None,
                key: FileKey(i.into()),
                modified: None,
                tree: None,
            });
        }
        c
    }

    #[test]
    fn names_cannot_become_markup_or_paths() {
        let c = catalog(&["<script>'\"&.mp3", "../../etc/passwd"]);
        let html = page(&c, &Wanted::parse("q=%3Cscript"), 10);
        assert!(html.contains("&lt;script&gt;&#39;&quot;&amp;.mp3</a>"), "{html}");
        assert!(html.contains("value=\"&lt;script\""), "{html}");
        assert!(!html.contains("passwd") && !html.contains("<script"), "{html}");
        let html = page(&c, &Wanted::default(), 10);
        assert!(html.contains("href=\"/get/1/..%2F..%2Fetc%2Fpasswd\""), "{html}");
        assert!(html.contains("4.8 MiB"), "{html}");
    }

    #[test]
    fn the_list_goes_on_where_the_page_ends() {
        let c = catalog(&["a x", "b", "c X", "d x"]);
        let html = page(&c, &Wanted::parse("q=x"), 2);
        assert!(html.contains("/?q=x&amp;after=2\""), "{html}");
        let html = page(&c, &Wanted::parse("after=2&q=x&z"), 2);
        assert!(html.contains("/get/3/") && !html.contains("rel=next"), "{html}");
        assert!(page(&c, &Wanted::parse("q=nothing+like"), 2).contains("No such file"));
    }

    #[test]
    fn capitals_make_no_difference() {
        assert_eq!(fold("ÀÉÎ Straße ΟΔΟΣ Ёлка ŽLUŤOUČKÝ"), "àéî straße οδοσ ёлка žluťoučký");
        assert_eq!((fold("οδος"), fold("İ")), ("οδοσ".into(), "i".into()));
    }
}
