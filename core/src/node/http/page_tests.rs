use super::*;
use crate::id::{FileIndex, Sha1};
use crate::queue::FileKey;
use crate::time::Instant;
use crate::wire::http::Headers;

fn catalog(names: &[&str]) -> Catalog {
    let mut c = Catalog::default();
    for (i, name) in (0u32..).zip(names) {
        let name = String::from(*name);
        let index = FileIndex(i);
        c.put(FileInfo {
            index,
            name,
            size: 5_000_000 - u64::from(i),
            sha1: None,
            key: FileKey(i.into()),
            modified: Some(Instant::from_secs(784_111_777 + u64::from(i))),
            tree: None,
            run: crate::node::RunBit(false),
        });
    }
    c
}

fn at(c: &Catalog, folder: &str, query: &str, limit: usize) -> String {
    let mut headers = Headers::default();
    headers.push("Host", "10.0.0.7:6346");
    let origin = VisitedOrigin::parse(&headers, false);
    let visitor = Visitor { origin, places: Vec::new(), length: 3, free: 0, give: None };
    page(c, &ListingQuery::parse(folder, query), limit, &visitor)
}

/// The file names on a page, as displayed.
fn names(html: &str) -> Vec<&str> {
    let rows = html.split("<tr><td><a href=\"").skip(1);
    rows.filter_map(|row| row.split_once("\">")?.1.split_once("</a>"))
        .map(|(name, _)| name)
        .collect()
}

#[test]
fn names_cannot_become_markup_or_lead_out() {
    let c = catalog(&["<script>'\"&.mp3", "../../etc/passwd"]);
    let html = at(&c, "", "q=%3Cscript", 10);
    assert!(html.contains("&lt;script&gt;&#39;&quot;&amp;.mp3</a>"), "{html}");
    assert!(html.contains("value=\"&lt;script\""), "{html}");
    assert!(!html.contains("passwd") && !html.contains("<script"), "{html}");
    // It is one name, not a path.
    let html = at(&c, "", "q=passwd", 10);
    assert!(html.contains("href=\"./..%2F..%2Fetc%2Fpasswd\""), "{html}");
    assert!(html.contains("4.8 MiB"), "{html}");
}

#[test]
fn a_folder_is_shown_as_it_is() {
    let c = catalog(&["Music/b.ogg", "Music/A/1.ogg", "Music/A/2.ogg", "Music/A b.ogg", "film"]);
    assert_eq!(names(&at(&c, "", "", 10)), ["Music/", "film"]);
    let html = at(&c, "Music/", "", 10);
    assert_eq!(names(&html), ["../", "A b.ogg", "A/", "b.ogg"]);
    assert!(html.contains("<a href=\"../Music/A/\">A/"), "{html}");
    assert!(html.contains("<a href=\"../Music/A%20b.ogg\">"), "{html}");
    assert!(html.contains("<a href=\"../\">Shared files</a> / <a href=\"../Music/\">Music</a>"));
    assert!(html.contains("1994-11-06 08:49"), "{html}");
    // A search covers everything below the folder.
    assert_eq!(names(&at(&c, "Music/", "q=ogg+a/", 10)), ["A/1.ogg", "A/2.ogg"]);
}

#[test]
fn the_list_goes_on_where_the_page_ends() {
    let c = catalog(&["a x", "b", "c X", "d x", "e/f x"]);
    let html = at(&c, "", "q=x", 2);
    assert_eq!(names(&html), ["a x", "c X"]);
    assert!(html.contains("?q=x&amp;sort=name&amp;order=asc&amp;after=c%20X\""), "{html}");
    let html = at(&c, "", "q=x&after=c%20X&z", 3);
    assert_eq!(names(&html), ["d x", "e/f x"]);
    assert!(!html.contains("rel=next"));
    assert!(at(&c, "", "after=d%20x", 9).contains("e/"));
    assert!(!at(&c, "", "after=e%2F", 9).contains("<a href=\"./e/\""));
    assert!(at(&c, "", "q=nothing+like", 2).contains("No such file"));
}

#[test]
fn columns_sort_both_ways() {
    let c = catalog(&["b", "a", "d", "c"]);
    assert_eq!(names(&at(&c, "", "", 9)), ["a", "b", "c", "d"]);
    assert_eq!(names(&at(&c, "", "sort=size", 9)), ["c", "d", "a", "b"]);
    assert_eq!(names(&at(&c, "", "sort=date&order=desc", 9)), ["c", "d", "a", "b"]);
    let html = at(&c, "", "sort=size&order=desc&from=1", 2);
    assert_eq!(names(&html), ["a", "d"]);
    assert!(html.contains("sort=size&amp;order=desc&amp;from=3"), "{html}");
    assert!(html.contains("aria-sort=descending"), "{html}");
}

#[test]
fn a_hash_is_a_magnet_link_and_names_us() {
    let mut c = catalog(&["Music/a&b"]);
    let mut info = c.get(FileIndex(0)).unwrap().clone();
    info.sha1 = Some(Sha1([0; 20]));
    c.put(info);
    let html = at(&c, "Music/", "", 9);
    let urn = "urn:sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    assert!(
        html.contains(&alloc::format!("magnet:?xt={urn}&amp;xl=5000000&amp;dn=a%26b")),
        "{html}"
    );
    assert!(html.contains("&amp;xs=http%3A%2F%2F10.0.0.7%3A6346%2Furi-res%2FN2R%3Furn"), "{html}");
}

#[test]
fn the_visitor_is_told_its_place() {
    let c = catalog(&[]);
    let says = |places: &[u32], free| {
        let visitor =
            Visitor { origin: None, places: places.to_vec(), length: 12, free, give: None };
        page(&c, &ListingQuery::default(), 9, &visitor)
    };
    assert!(says(&[], 1).contains("An upload slot is free."));
    assert!(says(&[], 0).contains("12 in line."));
    assert!(says(&[3], 0).contains("You are number 3 of 12 in line"));
    assert!(
        says(&[3, 9], 0).contains("2 places in line for an upload slot; the first is number 3")
    );
}

#[test]
fn capitals_make_no_difference() {
    assert_eq!(fold("ÀÉÎ Straße ΟΔΟΣ Ёлка ŽLUŤOUČKÝ"), "àéî straße οδοσ ёлка žluťoučký");
    assert_eq!((fold("οδος"), fold("İ")), ("οδοσ".into(), "i".into()));
}
