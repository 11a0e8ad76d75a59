//! A folder as one file: its bytes, its queue, and what breaks it.

use crate::node_support;

use node_support::{Host, config, content, header, status};
use servent_core::id::{ConnId, FileIndex};
use servent_core::node::{ConnInput, DiskInput, Input};

const NAMES: [&str; 5] =
    ["Music/one.ogg", "Music/A/empty", "Music/A/\u{fc}/two.ogg", "Music/../up", "Film"];

fn host() -> Host {
    let mut host = Host::new(config(), &[600, 0, 1_024, 7, 9]);
    for (n, name) in NAMES.iter().enumerate() {
        let mut info = host.shared()[n].clone();
        info.name = (*name).into();
        host.input(Input::Disk(DiskInput::Shared(info)));
    }
    host
}

fn request(method: &str, target: &str, extra: &str) -> String {
    format!("{method} {target} HTTP/1.1\r\nHost: x\r\n{extra}\r\n")
}

/// Head and body of a reply.
fn ask(host: &mut Host, target: &str) -> (String, Vec<u8>) {
    let conn = host.accept("9.9.9.9:1");
    reply(host, conn, &request("GET", target, ""))
}

fn reply(host: &mut Host, conn: ConnId, text: &str) -> (String, Vec<u8>) {
    host.input(Input::Connection(conn, ConnInput::Bytes { data: text.as_bytes().to_vec() }));
    let all: Vec<u8> = host.wire.remove(&conn).unwrap_or_default().into();
    let end = all.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
    (String::from_utf8(all[..end].to_vec()).unwrap(), all[end..].to_vec())
}

/// Reads an archive as the standard says: names with their bytes.
fn unpack(mut archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let text = |field: &[u8]| {
        let end = field.iter().position(|b| *b == 0).unwrap_or(field.len());
        String::from_utf8_lossy(&field[..end]).into_owned()
    };
    let (mut files, mut path) = (Vec::new(), None);
    while archive[..512] != [0; 512] {
        let (head, rest) = archive.split_at(512);
        let sum: u64 = head.iter().map(|b| u64::from(*b)).sum();
        let told: u64 = head[148..156].iter().map(|b| u64::from(*b)).sum();
        let said = u64::from_str_radix(text(&head[148..155]).trim(), 8).unwrap();
        assert_eq!(said, sum - told + 8 * u64::from(b' '));
        let size = usize::from_str_radix(&text(&head[124..135]), 8).unwrap();
        let body = rest[..size].to_vec();
        archive = &rest[size.next_multiple_of(512)..];
        if head[156] == b'x' {
            let record = String::from_utf8(body).unwrap();
            path = Some(record.split_once("path=").unwrap().1.trim_end().to_owned());
        } else {
            files.push((path.take().unwrap_or_else(|| text(&head[..100])), body));
        }
    }
    assert_eq!(archive, [0; 1_024]);
    files
}

#[test]
fn all_below_a_folder_is_one_file_of_the_length_that_is_told() {
    let mut host = host();
    for (folder, names) in [
        ("/Music/?tar", &["Music/_/up", "Music/A/empty", "Music/A/ü/two.ogg", "Music/one.ogg"][..]),
        ("/Music/A/?tar", &["A/empty", "A/ü/two.ogg"][..]),
        (
            "/?tar",
            &["Film", "Music/_/up", "Music/A/empty", "Music/A/ü/two.ogg", "Music/one.ogg"][..],
        ),
    ] {
        let (head, body) = ask(&mut host, folder);
        assert_eq!(status(&head), 200, "{head}");
        assert_eq!(header(&head, "Content-Length"), Some(&body.len().to_string()[..]));
        assert_eq!(header(&head, "Accept-Ranges"), Some("none"));
        let files = unpack(&body);
        assert_eq!(files.iter().map(|(name, _)| &name[..]).collect::<Vec<_>>(), names);
        for (name, bytes) in files {
            let size = [("two.ogg", 1_024), ("one.ogg", 600), ("up", 7), ("Film", 9)];
            let size =
                size.iter().find(|(end, _)| name.ends_with(end)).map_or(0, |(_, size)| *size);
            assert_eq!(bytes, content(size), "{name}");
        }
    }
    let (head, _) = ask(&mut host, "/Music/?tar");
    let called = header(&head, "Content-Disposition");
    assert_eq!(called, Some("attachment; filename*=UTF-8''Music.tar"));
    for nothing in ["/Musik/?tar", "/Music/B/?tar", "/?q=tar", "/Music?tar"] {
        let (head, _) = ask(&mut host, nothing);
        assert_ne!(header(&head, "Content-Type"), Some("application/x-tar"), "{nothing}");
    }
}

#[test]
fn parts_of_a_folder_follow_each_other_and_are_one_upload() {
    let mut host = host();
    let conn = host.accept("9.9.9.9:1");
    let mut names = Vec::new();
    for query in ["count=2", "after=A%2Fempty&count=1", "after=A%2F%C3%BC%2Ftwo.ogg&count=9"] {
        let asked = request("GET", &format!("/Music/?tar&{query}"), "");
        let (head, body) = reply(&mut host, conn, &asked);
        assert_eq!(status(&head), 200, "{head}");
        assert_eq!(header(&head, "Content-Length"), Some(&body.len().to_string()[..]));
        names.extend(unpack(&body).into_iter().map(|(name, _)| name));
    }
    assert_eq!(names, ["Music/_/up", "Music/A/empty", "Music/A/ü/two.ogg", "Music/one.ogg"]);
    let none = request("GET", "/Music/?tar&after=one.ogg&count=1", "");
    let (head, _) = reply(&mut host, conn, &none);
    assert_ne!(header(&head, "Content-Type"), Some("application/x-tar"), "nothing follows");
}

#[test]
fn a_head_tells_its_length_and_a_range_is_not_kept_to() {
    let mut host = host();
    let conn = host.accept("9.9.9.9:1");
    let whole = ask(&mut host, "/Music/?tar").1.len().to_string();
    let (head, body) = reply(&mut host, conn, &request("HEAD", "/Music/?tar", ""));
    assert_eq!((header(&head, "Content-Length"), body.len()), (Some(&whole[..]), 0));
    let part = request("GET", "/Music/?tar", "Range: bytes=5-\r\n");
    let (head, body) = reply(&mut host, conn, &part);
    assert_eq!((status(&head), body.len().to_string()), (200, whole));
    // And the connection goes on.
    let (head, _) = reply(&mut host, conn, &request("GET", "/Film", ""));
    assert_eq!(status(&head), 200);
}

#[test]
fn it_waits_in_line_and_keeps_its_slot_as_any_file_does() {
    let mut host = host();
    host.stalled = true;
    let conn = host.accept("9.9.9.9:1");
    reply(&mut host, conn, &request("GET", "/Music/?tar", ""));
    let other = host.accept("8.8.8.8:1");
    let asked = request("GET", "/Music/?tar", "X-Queue: 1.0\r\n");
    let (head, _) = reply(&mut host, other, &asked);
    assert_eq!(status(&head), 503, "{head}");
    assert_eq!(host.node.view(1, 10).queue.length, 1);
}

#[test]
fn a_folder_that_comes_in_parts_has_one_place_under_its_name() {
    let mut host = host();
    let conn = host.accept("9.9.9.9:1");
    host.stalled = true;
    reply(&mut host, conn, &request("GET", "/Music/A/?tar&count=1", "X-Queue: 1.0\r\n"));
    let other = host.accept("8.8.8.8:1");
    let waits = request("GET", "/Music/?tar&count=2", "X-Queue: 1.0\r\n");
    let (head, _) = reply(&mut host, other, &waits);
    assert_eq!(status(&head), 503, "{head}");
    let queue = host.node.view(1, 10).queue;
    let slots: Vec<_> = queue.uploads.iter().map(|slot| (&slot.file[..], slot.files)).collect();
    let places: Vec<_> = queue.cards.iter().map(|card| (&card.file[..], card.files)).collect();
    assert_eq!(slots, [("Music/A/", Some(2))]);
    assert_eq!(places, [("Music/", Some(4))]);
}

#[test]
fn the_slot_is_kept_between_two_parts_of_a_folder_and_free_after_the_last() {
    let mut host = host();
    let collector = host.accept("9.9.9.9:1");
    let part = |query: &str| request("GET", &format!("/Music/?tar&{query}"), "X-Queue: 0.1\r\n");
    let (head, _) = reply(&mut host, collector, &part("count=2"));
    assert_eq!(status(&head), 200, "{head}");
    assert_eq!(host.node.view(1, 10).queue.free, 0, "more of it is to come");
    let other = host.accept("8.8.8.8:1");
    let (head, _) = reply(&mut host, other, &request("GET", "/Film", "X-Queue: 0.1\r\n"));
    assert_eq!(status(&head), 503, "{head}");
    let (head, _) = reply(&mut host, collector, &part("after=A%2Fempty&count=9"));
    assert_eq!(status(&head), 200, "{head}");
    assert_eq!(host.node.view(1, 10).queue.free, 1, "that was all of it");
}

#[test]
fn a_folder_that_changes_breaks_the_promise_and_the_connection() {
    for change in 0..4 {
        let mut host = host();
        host.stalled = true;
        let conn = host.accept("9.9.9.9:1");
        reply(&mut host, conn, &request("GET", "/Music/?tar", ""));
        let mut info = host.shared()[0].clone();
        info.name = NAMES[0].into();
        match change {
            0 => host.input(Input::Disk(DiskInput::Unshared { index: FileIndex(0) })),
            1 => {
                info.size += 1_000_000;
                host.input(Input::Disk(DiskInput::Shared(info)));
            }
            // What came later is not in it.
            2 => {
                info.index = FileIndex(9);
                info.name = "Music/later".into();
                host.input(Input::Disk(DiskInput::Shared(info)));
            }
            _ => {}
        }
        // The first is on its way; the others follow at once.
        host.stalled = false;
        host.input(Input::Connection(conn, ConnInput::Served { bytes: 7 }));
        assert_eq!(host.hung_up.contains(&conn), change < 2, "{change}");
        assert_eq!(host.node.view(1, 10).queue.free, 1);
    }
}
