//! Everything below a folder, for programs: one URL per line (`text/uri-list`,
//! RFC 2483 §5).

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use core::fmt::Write as _;

use super::links::{VisitedOrigin, relative};
use super::page::url_of;
use crate::node::FileInfo;
use crate::node::catalog::{Catalog, Listed};
use crate::wire::percent::{self, unescape};

/// The media type.
pub(super) const URIS: &str = "text/uri-list; charset=utf-8";
/// Maximum bytes of one list; the comment at its end links to the rest.
const MOST: usize = 256 * 1024;
/// What that comment begins with.
const NEXT: &str = "# next: ";
/// A comment: the files come together too, as `?tar&after=NAME&count=N`, where the
/// name is relative to the folder and the order is that of the list.
const RANGES: &str = "# ranges: tar\r\n";
/// What a comment about the file in the next line begins with.
const FILE: &str = "# file: ";

/// Which list is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WantedList {
    /// The name after which it begins.
    after: Option<String>,
    /// Its links are relative, and comments before them say what is known of the
    /// files: for our own downloads of folders. Other programs need whole URLs.
    relative: bool,
}

/// From a query: `None` when it does not ask for a list.
pub(super) fn wanted(query: &str) -> Option<WantedList> {
    let mut pairs = query.split('&');
    let relative = match pairs.next() {
        Some("list") => false,
        Some("list=relative") => true,
        _ => return None,
    };
    let after = pairs.find_map(|pair| pair.strip_prefix("after="));
    Some(WantedList { after: after.map(|name| unescape(name).into_owned()), relative })
}

/// The list of a folder, whose name ends in `/`, starting after a name.
pub(super) fn list(
    catalog: &Catalog,
    folder: &str,
    wanted: &WantedList,
    origin: Option<VisitedOrigin<'_>>,
) -> String {
    let link = |path: &str| match origin.filter(|_| !wanted.relative) {
        Some(origin) => origin.url(path),
        None => relative(folder, path),
    };
    let query = if wanted.relative { "list=relative" } else { "list" };
    let (mut text, mut last) = (String::new(), None::<String>);
    if wanted.relative && wanted.after.is_none() {
        text.push_str(RANGES);
    }
    for entry in catalog.entries(folder, wanted.after.as_deref(), false) {
        let Listed::File(name, file) = entry else { continue };
        if let Some(last) = last.as_ref().filter(|_| text.len() > MOST) {
            let (path, last) =
                (alloc::format!("/{}", percent::path(folder)), percent::escape(last));
            let _ = write!(text, "{NEXT}{}?{query}&after={last}\r\n", link(&path));
            break;
        }
        if wanted.relative {
            about(&mut text, file);
        }
        let _ = write!(text, "{}\r\n", link(&url_of(catalog, file)));
        last = Some(name.to_owned());
    }
    text
}

/// What is known of the file in the next line.
fn about(text: &mut String, file: &FileInfo) {
    let _ = write!(text, "{FILE}size={}", file.size);
    if let Some(modified) = file.modified {
        let _ = write!(text, " modified={}", modified.as_micros() / 1_000_000);
    }
    if let Some(sha1) = file.sha1 {
        let _ = write!(text, " sha1={sha1}");
    }
    text.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::FileIndex;
    use crate::queue::FileKey;
    use crate::wire::http::Headers;

    #[test]
    fn every_file_below_is_in_it_once() {
        let mut c = Catalog::default();
        for n in 0..12_000 {
            let name = alloc::format!("m/{}/file {n}", n % 7);
            let (index, key) = (FileIndex(n), FileKey(n.into()));
            c.put(FileInfo {
                index,
                name,
                size: 1,
                sha1: None,
                key,
                modified: None,
                tree: None,
                run: crate::node::RunBit(false),
            });
        }
        let (mut next, mut lines, mut lists) = (wanted("list").unwrap(), alloc::vec::Vec::new(), 0);
        let mut headers = Headers::default();
        headers.push("Host", "h:1");
        loop {
            let text = list(&c, "m/", &next, VisitedOrigin::parse(&headers, false));
            lists += 1;
            assert!(text.len() <= MOST + 200);
            let files = text.lines().filter(|line| !line.starts_with('#'));
            lines.extend(files.map(str::to_owned));
            let Some(more) = text.lines().find_map(|line| line.strip_prefix(NEXT)) else { break };
            next = wanted(more.strip_prefix("http://h:1/m/?").unwrap()).unwrap();
        }
        assert_eq!((lines.len(), lists), (12_000, 2));
        assert_eq!(lines[0], "http://h:1/m/0/file%200");
        lines.sort();
        lines.dedup();
        assert_eq!(lines.len(), 12_000);
        assert_eq!(wanted("q=list"), None);
        assert_eq!(wanted("list"), Some(WantedList::default()));
    }

    #[test]
    fn our_own_downloads_of_folders_are_told_what_is_known_of_each_file() {
        let mut c = Catalog::default();
        let (index, key) = (FileIndex(1), FileKey(1));
        let (name, modified) = (String::from("m/a/b"), Some(crate::time::Instant::from_secs(9)));
        c.put(FileInfo {
            index,
            name,
            size: 7,
            sha1: None,
            key,
            modified,
            tree: None,
            run: crate::node::RunBit(false),
        });
        let text = list(&c, "m/a/", &wanted("list=relative").unwrap(), None);
        assert_eq!(text, "# ranges: tar\r\n# file: size=7 modified=9\r\n../../m/a/b\r\n");
    }
}
