//! The listing of shared files for browsers: a folder, or the results of a
//! search.

use alloc::borrow::ToOwned as _;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::Write as _;

use super::archive;
use super::conditions::date_of;
use super::form::{self, Give};
use super::links::{VisitedOrigin, relative, to_top};
use crate::node::FileInfo;
use crate::node::catalog::{Catalog, Listed};
use crate::text::Size;
use crate::wire::http::Target;
use crate::wire::percent::{self, unescape};

/// Names examined for one page, so that one request stays cheap however much is
/// shared; the link to the next page continues from there.
const SCAN: usize = 20_000;

const STYLE: &str = ":root{color-scheme:light dark}\
body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;\
padding:0 1rem}h1{font-size:1.4rem;overflow-wrap:anywhere}\
table{width:100%;border-collapse:collapse}\
td,th{padding:.3rem .5rem;border-bottom:1px solid #8884;text-align:left;overflow-wrap:anywhere}\
td+td,th+th{text-align:right;white-space:nowrap}td:last-child{font:.8rem ui-monospace,monospace}\
a{text-decoration-thickness:1px;text-underline-offset:.15em}\
tr:hover td{background:#8881}input,button{font:inherit;padding:.2rem .5rem}\
@media(max-width:60rem){td:nth-child(4),th:nth-child(4){display:none}}\
@media(max-width:40rem){td:nth-child(3),th:nth-child(3){display:none}}";

/// The sort order of the listing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum SortOrder {
    #[default]
    Name,
    Size,
    Date,
}

impl SortOrder {
    const ALL: [(Self, &'static str, &'static str); 3] = [
        (Self::Name, "name", "Name"),
        (Self::Size, "size", "Size"),
        (Self::Date, "date", "Changed"),
    ];
}

/// The part of the listing that is requested.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ListingQuery {
    /// Empty, or a path that ends in `/`.
    pub(super) folder: String,
    /// Only names that contain all these words, in any order and case.
    words: String,
    /// Only names after this one, when ordered by name.
    after: Option<String>,
    order: SortOrder,
    /// In descending order.
    down: bool,
    /// How many entries are on earlier pages, in any other order.
    from: usize,
}

/// What the page says about the visitor.
pub(super) struct Visitor<'a> {
    /// How the visitor addresses us, for links to elsewhere.
    pub(super) origin: Option<VisitedOrigin<'a>>,
    /// Its positions in the queue.
    pub(super) places: Vec<u32>,
    /// The length of the queue.
    pub(super) length: u32,
    /// Slots that no client uses.
    pub(super) free: u32,
    /// What the visitor may upload, on the page that says so.
    pub(super) give: Option<Give>,
}

impl ListingQuery {
    /// From the query of a URL: `q=words&sort=size`. Unknown keys are ignored.
    pub(super) fn parse(folder: &str, query: &str) -> Self {
        let mut wanted = Self { folder: folder.into(), ..Self::default() };
        for (key, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            let text = || unescape(&value.replace('+', " ")).trim().to_owned();
            match key {
                "q" => wanted.words = text(),
                "after" => wanted.after = Some(text()),
                "sort" => {
                    let known = SortOrder::ALL.iter().find(|(_, name, _)| *name == value);
                    wanted.order = known.map_or(SortOrder::Name, |(order, ..)| *order);
                }
                "order" => wanted.down = value == "desc",
                "from" => wanted.from = value.parse().unwrap_or(0),
                _ => {}
            }
        }
        wanted
    }

    /// True for the first level of everything that is shared.
    pub(super) const fn is_top(&self) -> bool {
        self.folder.is_empty() && self.words.is_empty()
    }

    /// The query of the first page, sorted in this way.
    fn query(&self, order: SortOrder, down: bool) -> String {
        let mut query = String::new();
        if !self.words.is_empty() {
            let _ = write!(query, "q={}&amp;", percent::escape(&self.words));
        }
        let name = SortOrder::ALL
            .iter()
            .find(|(one, ..)| *one == order)
            .map_or("name", |(_, name, _)| name);
        let _ = write!(query, "sort={name}&amp;order={}", if down { "desc" } else { "asc" });
        query
    }
}

/// A text in lower case, for comparing. Converted letter by letter, so that a
/// word folds the same way at the end of a name and before its extension;
/// combining accents that only the lower-case form has are dropped.
fn fold(text: &str) -> String {
    let small = |c: char| match c.to_lowercase().next() {
        Some('ς') => 'σ',
        small => small.unwrap_or(c),
    };
    text.chars().map(small).collect()
}

/// What is on one page.
struct ListingSlice<'a> {
    rows: Vec<Listed<'a>>,
    /// Where the next page begins, if there is one.
    more: Option<String>,
}

/// The entries of the page, at most `limit`.
fn slice_listing<'a>(
    catalog: &'a Catalog,
    wanted: &ListingQuery,
    limit: usize,
) -> ListingSlice<'a> {
    let words = fold(&wanted.words);
    let fits = |name: &str| {
        let name = fold(name);
        words.split_whitespace().all(|word| name.contains(word))
    };
    let in_order = wanted.order == SortOrder::Name && !wanted.down;
    let after = wanted.after.as_deref().filter(|_| in_order);
    let most = if in_order { limit } else { SCAN };
    let mut entries = catalog.entries(&wanted.folder, after, words.is_empty());
    let (mut rows, mut last) = (Vec::new(), None);
    for entry in entries.by_ref().take(SCAN) {
        if rows.len() == most {
            break;
        }
        last = Some(entry.name().to_owned());
        if fits(entry.name()) {
            rows.push(entry);
        }
    }
    if in_order {
        let more = last.filter(|last| {
            catalog.entries(&wanted.folder, Some(last), words.is_empty()).next().is_some()
        });
        let more = more.map(|last| alloc::format!("after={}", percent::escape(&last)));
        return ListingSlice { rows, more };
    }
    let key = |entry: &Listed<'_>| match (entry, wanted.order) {
        (Listed::File(_, file), SortOrder::Size) => file.size,
        (Listed::File(_, file), SortOrder::Date) => file.modified.map_or(0, |at| at.as_micros()),
        _ => 0,
    };
    rows.sort_by_key(key); // Stable, so that equal entries stay ordered by name.
    if wanted.down {
        rows.reverse();
    }
    let upto = wanted.from.saturating_add(limit);
    let more = (rows.len() > upto).then(|| alloc::format!("from={upto}"));
    ListingSlice { rows: rows.into_iter().skip(wanted.from).take(limit).collect(), more }
}

/// The page, at most `limit` entries of it.
pub(super) fn page(
    catalog: &Catalog,
    wanted: &ListingQuery,
    limit: usize,
    visitor: &Visitor<'_>,
) -> String {
    let mut html = String::with_capacity(4_096);
    html.push_str("<!doctype html><html lang=en><meta charset=utf-8>");
    html.push_str("<meta name=viewport content=\"width=device-width\"><title>Shared files</title>");
    html.push_str("<link rel=alternate type=text/uri-list href=\"?list=relative\">");
    let _ = write!(html, "<style>{STYLE}</style>");
    write_breadcrumb(&mut html, &wanted.folder);
    html.push_str("<form role=search><label>Find <input name=q type=search value=\"");
    escape(&mut html, &wanted.words);
    html.push_str("\"></label> <button>Search</button>");
    if wanted.words.is_empty() {
        html.push_str(archive::LINK);
    }
    html.push_str("</form>");
    if let Some(give) = visitor.give.filter(|_| wanted.is_top()) {
        form::form(&mut html, give);
    }
    line(&mut html, visitor);
    heads(&mut html, wanted);
    let ListingSlice { rows, more } = slice_listing(catalog, wanted, limit);
    if !wanted.folder.is_empty() && wanted.words.is_empty() {
        html.push_str("<tr><td><a href=\"../\">../</a><td><td><td>");
    }
    for entry in &rows {
        row(&mut html, entry, catalog, wanted, visitor.origin);
    }
    html.push_str("</tbody></table>");
    if rows.is_empty() && more.is_none() {
        let nothing = if wanted.words.is_empty() { "Nothing here." } else { "No such file." };
        let _ = write!(html, "<p>{nothing}");
    }
    if let Some(more) = more {
        let query = wanted.query(wanted.order, wanted.down);
        let _ = write!(html, "<p><a href=\"?{query}&amp;{more}\" rel=next>More</a>");
    }
    html.push_str("</html>\n");
    html
}

/// The path of the folder, with links upwards.
fn write_breadcrumb(html: &mut String, folder: &str) {
    let mut path = to_top(folder);
    let _ = write!(html, "<h1><a href=\"{path}\">Shared files</a>");
    for part in folder.split_terminator('/') {
        let _ = write!(path, "{}/", percent::escape(part));
        let _ = write!(html, " / <a href=\"{path}\">");
        escape(html, part);
        html.push_str("</a>");
    }
    html.push_str("</h1>");
}

/// The visitor's status in the upload queue.
fn line(html: &mut String, visitor: &Visitor<'_>) {
    let Visitor { places, length, free, .. } = visitor;
    let _ = match &places[..] {
        [] if *free > 0 => write!(html, "<p>An upload slot is free."),
        [] => write!(html, "<p>All upload slots are taken; {length} in line."),
        [one] => write!(html, "<p>You are number {one} of {length} in line for an upload slot."),
        [first, ..] => write!(
            html,
            "<p>You have {} places in line for an upload slot; the first is number {first} of {length}.",
            places.len()
        ),
    };
}

/// The table head: a click on a column sorts by it, a second one reverses.
fn heads(html: &mut String, wanted: &ListingQuery) {
    html.push_str("<table><thead><tr>");
    for (order, _, title) in SortOrder::ALL {
        let ours = order == wanted.order;
        let query = wanted.query(order, ours && !wanted.down);
        let (said, mark) = match (ours, wanted.down) {
            (false, _) => ("", ""),
            (true, false) => (" aria-sort=ascending", " ↑"),
            (true, true) => (" aria-sort=descending", " ↓"),
        };
        let _ = write!(html, "<th{said}><a href=\"?{query}\">{title}</a>{mark}");
    }
    html.push_str("<th>SHA-1, as a magnet link</thead><tbody>");
}

fn row(
    html: &mut String,
    entry: &Listed<'_>,
    catalog: &Catalog,
    wanted: &ListingQuery,
    origin: Option<VisitedOrigin<'_>>,
) {
    let short = |name: &str| name.strip_prefix(&wanted.folder[..]).unwrap_or(name).to_string();
    let Listed::File(_, file) = entry else {
        let name = entry.name();
        let _ =
            write!(html, "<tr><td><a href=\"{}\">", relative(&wanted.folder, &percent::path(name)));
        escape(html, &short(name));
        html.push_str("</a><td><td><td>");
        return;
    };
    let FileInfo { name, size, sha1, modified, .. } = file;
    let _ =
        write!(html, "<tr><td><a href=\"{}\">", relative(&wanted.folder, &url_of(catalog, file)));
    escape(html, &short(name));
    let _ = write!(html, "</a><td title=\"{size} bytes\">{}<td>", Size(*size));
    if let Some(at) = modified {
        let at = date_of(*at);
        let _ = write!(html, "<time datetime=\"{0}\">{0}</time>", at.day_and_time());
    }
    html.push_str("<td>");
    if let Some(sha1) = sha1 {
        let mut magnet = alloc::format!(
            "magnet:?xt=urn:sha1:{sha1}&xl={size}&dn={}",
            percent::escape(file.leaf())
        );
        if let Some(origin) = origin {
            let url = origin.url(&Target::Urn(*sha1).to_string());
            let _ = write!(magnet, "&xs={}", percent::escape(&url));
        }
        html.push_str("<a href=\"");
        escape(html, &magnet);
        let _ = write!(html, "\">{sha1}</a>");
    }
}

/// The path of a file's URL. Two files may have the same name: by name only one
/// of them is reached.
pub(super) fn url_of(catalog: &Catalog, file: &FileInfo) -> String {
    let FileInfo { index, name, .. } = file;
    match catalog.by_path(name).is_some_and(|first| first.index == *index) {
        true => alloc::format!("/{}", percent::path(name)),
        false => Target::File { index: *index, name: name.clone() }.to_string(),
    }
}

/// Appends text, escaped so that no browser takes it for markup.
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
#[path = "page_tests.rs"]
mod tests;
