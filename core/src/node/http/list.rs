//! Everything below a folder, for programs: one URL per line (`text/uri-list`,
//! RFC 2483 §5).

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use core::fmt::Write as _;

use super::page::url_of;
use crate::node::catalog::{Catalog, Listed};
use crate::wire::percent::{self, unescape};

/// The media type.
pub(super) const URIS: &str = "text/uri-list; charset=utf-8";
/// Maximum bytes of one list; the comment at its end links to the rest.
const MOST: usize = 96 * 1024;
/// What that comment begins with.
const NEXT: &str = "# next: ";

/// From a query: `None` when it does not ask for a list, otherwise the name
/// after which the list begins.
pub(super) fn wanted(query: &str) -> Option<Option<String>> {
    let mut pairs = query.split('&');
    if pairs.next() != Some("list") {
        return None;
    }
    let after = pairs.find_map(|pair| pair.strip_prefix("after="));
    Some(after.map(|name| unescape(name).into_owned()))
}

/// The list of a folder, whose name ends in `/`, starting after a name.
pub(super) fn list(
    catalog: &Catalog,
    folder: &str,
    after: Option<&str>,
    host: Option<&str>,
) -> String {
    let origin = host.map_or_else(String::new, |host| alloc::format!("http://{host}"));
    let (mut text, mut last) = (String::new(), None::<String>);
    for entry in catalog.entries(folder, after, false) {
        let Listed::File(name, file) = entry else { continue };
        if let Some(last) = last.as_ref().filter(|_| text.len() > MOST) {
            let (folder, last) = (percent::path(folder), percent::escape(last));
            let _ = write!(text, "{NEXT}{origin}/{folder}?list&after={last}\r\n");
            break;
        }
        let _ = write!(text, "{origin}{}\r\n", url_of(catalog, file));
        last = Some(name.to_owned());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::FileIndex;
    use crate::node::FileInfo;
    use crate::queue::FileKey;

    #[test]
    fn every_file_below_is_in_it_once() {
        let mut c = Catalog::default();
        for n in 0..5_000 {
            let name = alloc::format!("m/{}/file {n}", n % 7);
            let (index, key) = (FileIndex(n), FileKey(n.into()));
            c.put(FileInfo { index, name, size: 1, sha1: None, key, modified: None, tree: None });
        }
        let (mut after, mut lines, mut lists) = (None, alloc::vec::Vec::new(), 0);
        loop {
            let text = list(&c, "m/", after.as_deref(), Some("h:1"));
            lists += 1;
            assert!(text.len() <= MOST + 200);
            let files = text.lines().filter(|line| !line.starts_with('#'));
            lines.extend(files.map(str::to_owned));
            let Some(next) = text.lines().find_map(|line| line.strip_prefix(NEXT)) else { break };
            let query = next.strip_prefix("http://h:1/m/?").unwrap();
            after = wanted(query).unwrap();
        }
        assert_eq!((lines.len(), lists), (5_000, 2));
        assert_eq!(lines[0], "http://h:1/m/0/file%200");
        lines.sort();
        lines.dedup();
        assert_eq!(lines.len(), 5_000);
        assert_eq!(wanted("q=list"), None);
        assert_eq!(wanted("list"), Some(None));
    }
}
