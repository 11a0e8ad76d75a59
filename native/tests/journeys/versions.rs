//! A file that becomes another one while it is downloaded: whole is only what is
//! of one version.

use crate::program::{Place, assert_same, complains, noise};
use crate::web::{Reply, Request, Web};

const SIZE: usize = 300_000;
const DATES: [&str; 2] = ["Sun, 22 Nov 2026 12:00:00 GMT", "Mon, 23 Nov 2026 12:00:00 GMT"];

/// The version before, and the one after.
fn versions() -> [Vec<u8>; 2] {
    let old = noise(SIZE);
    let new = old.iter().map(|byte| byte ^ 0x55).collect();
    [old, new]
}

/// A server that hangs up at half; from then on the file is another one.
fn changes(fields: impl Fn(usize) -> Vec<String> + Send + Sync + 'static, new: Vec<u8>) -> Web {
    let [old, _] = versions();
    Web::start(move |request: &Request| {
        let version = usize::from(request.before > 0);
        let fields = fields(version);
        let fields: Vec<&str> = fields.iter().map(|field| &field[..]).collect();
        match version {
            0 => Reply::file(request, &old, &fields).cut_off(SIZE / 2),
            _ => Reply::file(request, &new, &fields),
        }
    })
}

#[test]
fn two_versions_of_a_file_are_not_mixed() {
    let tag = |version: usize| vec![format!("ETag: \"{version}\"")];
    let date = |version: usize| vec![format!("Last-Modified: {}", DATES[version])];
    let nothing = |_: usize| Vec::new();
    let [_, new] = versions();
    let longer = noise(SIZE + 1_000);
    let servers = [
        (changes(tag, new.clone()), &new),
        (changes(date, new.clone()), &new),
        (changes(nothing, new.clone()), &new),
        (changes(tag, longer.clone()), &longer),
        (changes(nothing, longer.clone()), &longer),
    ];
    for (n, (server, wanted)) in servers.iter().enumerate() {
        let place = Place::new();
        let output = place.run(&["get", &server.url("/file"), "-o", "file", "--state", "get"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{n}: {said}");
        assert_same(&place.path("file"), wanted);
        assert!(said.contains("has another version of the file by now"), "{n}: {said}");
    }
}

#[test]
fn two_versions_are_not_mixed_over_a_restart_either() {
    let [old, new] = versions();
    let server = Web::start(move |request| {
        let tag = |n| format!("ETag: \"{n}\"");
        match request.before {
            0 => Reply::file(request, &old, &[&tag(0)]).cut_off(SIZE / 2),
            _ => Reply::file(request, &new, &[&tag(1)]),
        }
    });
    let place = Place::new();
    let get = ["get", &server.url("/file"), "-o", "file", "--state", "get", "--tries", "1"];
    complains(&place.run(&get), 3, "hung up");
    assert!(!place.path("file").exists() && place.path("file.part").exists());
    let asked = server.asked().len();
    assert_eq!(asked, 1, "one try");
    let output = place.run(&get[..6]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(server.asked()[asked].header("If-Range"), Some("\"0\""));
    let [_, new] = versions();
    assert_same(&place.path("file"), &new);
}

#[test]
fn where_nothing_vouches_for_one_version_that_is_said() {
    let [old, _] = versions();
    let server = Web::start(move |request| {
        let reply = Reply::file(request, &old, &[]);
        if request.before == 0 { reply.cut_off(SIZE / 2) } else { reply }
    });
    let place = Place::new();
    let output = place.run(&["get", &server.url("/file"), "-o", "file", "--state", "get"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_same(&place.path("file"), &noise(SIZE));
    assert!(said.contains("nothing but its length and overlapping bytes says"), "{said}");
    let again = server.asked().iter().filter(|asked| asked.before > 0).count();
    assert!(again >= 2, "bytes that were there were asked for once more");
}

#[test]
fn what_nothing_vouches_for_is_said_to_the_quiet_and_beside_a_pipe() {
    let place = Place::new();
    for more in [&["-q", "-o", "file"][..], &["-o", "-"]] {
        let [old, _] = versions();
        let server = Web::start(move |request| {
            let reply = Reply::file(request, &old, &[]);
            if request.before == 0 { reply.cut_off(SIZE / 2) } else { reply }
        });
        let url = server.url("/file");
        let output = place.run(&[&["get", &url, "--state", "get"], more].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(said.contains("file: nothing but its length and overlapping bytes"), "{said}");
    }
}

#[test]
fn a_named_hash_drops_the_source_that_has_another_version() {
    let [old, new] = versions();
    let urn = "urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB";
    let server = Web::start(move |request| match request.before {
        0 => Reply::file(request, &old, &["ETag: \"0\""]).cut_off(SIZE / 2),
        _ => Reply::file(request, &new, &["ETag: \"1\""]),
    });
    let place = Place::new();
    let output = place.run(&["get", &server.url("/file"), urn, "-o", "file", "--state", "get"]);
    complains(&output, 3, "has another version of the file by now");
}

#[test]
fn the_date_of_a_file_is_kept() {
    let server = Web::start(|request| {
        Reply::file(request, b"text", &[&format!("Last-Modified: {}", DATES[0])])
    });
    let place = Place::new();
    let output = place.run(&["get", &server.url("/file"), "-o", "file", "--state", "get"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let modified = place.path("file").metadata().unwrap().modified().unwrap();
    let since = modified.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert_eq!(since, 1_795_348_800);
}

#[test]
fn the_status_of_a_refusal_is_in_the_last_line_and_in_the_exit_code() {
    for (status, exit) in [("403 Forbidden", 9), ("410 Gone", 9), ("500 Oh", 3)] {
        let server = Web::start(move |_| Reply::new(status, &[], b""));
        let place = Place::new();
        let get = ["get", &server.url("/file"), "-o", "file", "--state", "get", "--tries", "1"];
        let output = place.run(&get);
        complains(&output, exit, &format!("(HTTP status {})", &status[..3]));
    }
}

/// A folder of a web server whose files may change.
fn folder(files: impl Fn(&str) -> Option<(Vec<u8>, usize)> + Send + Sync + 'static) -> Web {
    Web::start(move |request| match &request.target[..] {
        "/f/" => {
            Reply::new("200 OK", &["Content-Type: text/html"], b"<a href=a><a href=b><a href=d/c>")
        }
        other => match files(other) {
            Some((bytes, date)) => {
                Reply::file(request, &bytes, &[&format!("Last-Modified: {}", DATES[date])])
            }
            None => Reply::new("404 No", &[], b""),
        },
    })
}

#[test]
fn a_folder_that_is_there_is_compared_and_only_what_differs_comes() {
    let changed = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let now = std::sync::Arc::clone(&changed);
    let server = folder(move |path| match (path, now.load(std::sync::atomic::Ordering::Relaxed)) {
        ("/f/a", false) => Some((noise(2_000_000), 0)),
        ("/f/a", true) => Some((noise(2_000_001), 0)),
        ("/f/b", _) => Some((noise(3_000_000), 0)),
        ("/f/d/c", new) => Some((vec![u8::from(new); 1_000], usize::from(new))),
        _ => None,
    });
    let place = Place::new();
    let get = ["get", &server.url("/f/"), "-o", "here/", "--state", "get"];
    let said = |output: &std::process::Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let output = place.run(&get);
    assert!(output.status.success(), "{}", said(&output));
    std::fs::write(place.path("here/f/b"), "cut off").unwrap();
    changed.store(true, std::sync::atomic::Ordering::Relaxed);
    let output = place.run(&get);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("; 0 new, 3 changed"), "{}", said(&output));
    assert_same(&place.path("here/f/a"), &noise(2_000_001));
    assert_same(&place.path("here/f/b"), &noise(3_000_000));
    assert_same(&place.path("here/f/d/c"), &[1; 1_000]);
    let output = place.run(&get);
    assert!(said(&output).contains("3 there already"), "{}", said(&output));
    let names = std::fs::read_dir(place.path("here/f")).unwrap().count();
    assert_eq!(names, 3, "nothing is left beside them");
}

#[test]
fn nothing_of_a_folder_is_written_through_a_link() {
    let server = folder(|_| Some((b"new".to_vec(), 0)));
    let place = Place::new();
    std::fs::create_dir_all(place.path("here/f")).unwrap();
    std::fs::create_dir(place.path("out")).unwrap();
    std::os::unix::fs::symlink("../out", place.path("here/f/d")).unwrap();
    let output = place.run(&["get", &server.url("/f/"), "-o", "here/", "--state", "get"]);
    complains(&output, 10, "d/c");
    complains(&output, 10, "a link on its way may lead out of the folder");
    assert_same(&place.path("here/f/a"), b"new");
    assert_same(&place.path("here/f/b"), b"new");
    assert!(!place.path("out/c").exists() && !place.path("out/c.part").exists());
}

/// A signed link that has expired: a new one is named, and no more.
#[test]
fn a_new_link_for_a_part_that_is_there_goes_on_and_one_of_another_file_does_not() {
    let [old, other] = versions();
    let bytes = old.clone();
    let server = Web::start(move |request| match &request.target[..] {
        "/file?key=1" if request.before == 0 => {
            Reply::file(request, &old, &["ETag: \"a\""]).cut_off(SIZE / 2)
        }
        "/file?key=2" => Reply::file(request, &old, &["ETag: \"a\""]),
        "/file?key=3" => Reply::file(request, &other, &["ETag: \"b\""]),
        _ => Reply::new("403 Expired", &[], b""),
    });
    let place = Place::new();
    let get = |key: u32| {
        let url = server.url(&format!("/file?key={key}"));
        place.run(&["get", &url, "-o", "file", "--state", "get", "--tries", "2"])
    };
    complains(&get(1), 9, "HTTP status 403");
    complains(&get(3), 4, "perhaps of another file");
    assert!(place.path("file.part").exists() && !place.path("file").exists());
    let output = get(2);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_same(&place.path("file"), &bytes);
    // What a link to another file was compared with comes again, and no more.
    let went_on = |asked: &Request| asked.header("Range") == Some("bytes=84464-299999");
    assert!(server.asked().iter().any(went_on), "{:?}", server.asked());
}
