//! `get http://host/music/`: a folder with its tree, from a servent and from
//! any web server.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::program::{Place, Running, Wire, complains, noise, until};

/// Files by their paths below a folder.
type Tree = BTreeMap<String, Vec<u8>>;

fn write(folder: &Path, tree: &Tree) {
    for (path, bytes) in tree {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

fn read(folder: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut open = vec![folder.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
                tree.insert(name, std::fs::read(path).unwrap());
            }
        }
    }
    tree
}

#[track_caller]
fn assert_same(found: &Tree, wanted: &Tree) {
    let names = |tree: &Tree| tree.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(wanted));
    assert!(found == wanted, "other bytes");
}

fn music(place: &Place) -> Tree {
    let mut tree = Tree::new();
    for (n, path) in
        ["song.ogg", "A/one & two.ogg", "A/B/ü#?%.ogg", "C/song.ogg"].iter().enumerate()
    {
        tree.insert((*path).to_owned(), noise(5_000 + n));
    }
    tree.insert("empty".to_owned(), Vec::new());
    write(&place.path("shared/music"), &tree);
    std::fs::write(place.path("shared/other"), "other").unwrap();
    tree
}

#[test]
fn a_folder_of_a_servent_comes_with_its_tree() {
    let place = Place::new();
    let tree = music(&place);
    let running = place.sharing(&[]);
    let url = format!("http://{}/shared/music/", running.at);
    let get = ["get", &url, "-o", "here/", "--state", "get"];
    let output = place.run(&get);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("5 files, 19.5 KiB at "), "{said}");
    assert_same(&read(&place.path("here/music")), &tree);

    // Again: only what is missing.
    std::fs::remove_file(place.path("here/music/A/B/ü#?%.ogg")).unwrap();
    let output = place.run(&get);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("1 file, ") && said.contains("4 there already"), "{said}");
    assert_same(&read(&place.path("here/music")), &tree);
}

#[test]
fn a_folder_is_known_without_its_slash_alone_and_in_a_list() {
    let place = Place::new();
    let tree = music(&place);
    let running = place.sharing(&[]);
    let url = format!("http://{}/shared/music", running.at);
    let get = |what: &[&str]| place.run(&[&["get", &url][..], what, &["--state", "get"]].concat());
    let output = get(&["-o", "here/"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("5 files, "), "{said}");
    assert_same(&read(&place.path("here/music")), &tree);
    // What is there already is completed, not refused.
    std::fs::remove_file(place.path("here/music/C/song.ogg")).unwrap();
    assert!(get(&["-o", "here/"]).status.success());
    assert_same(&read(&place.path("here/music")), &tree);

    let other = format!("http://{}/shared/other", running.at);
    let output = get(&[&other, "-o", "all/"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("6 files, "), "{said}");
    assert_same(&read(&place.path("all/music")), &tree);
    assert_eq!(std::fs::read(place.path("all/other")).unwrap(), b"other");
    complains(&get(&["-o", "-"]), 2, "does not fit into standard output");
}

#[test]
fn a_folder_comes_as_one_archive_for_a_user_with_tar() {
    let place = Place::new();
    let mut tree = music(&place);
    let long = format!("{}/{}", "long".repeat(30), "name".repeat(50));
    tree.insert(long, noise(3_000));
    tree.insert("line\nbreak".to_owned(), noise(70_000));
    write(&place.path("shared/music"), &tree);
    let running = place.sharing(&["--access-log", "log"]);
    let page = Wire::connect(running.at).get("/shared/music/", &["Connection: close"]);
    assert!(String::from_utf8_lossy(&page.body).contains("<a href=\"?tar\""));
    let unpack = |target: &str, to: &str| {
        let make = format!(
            "mkdir {to} && curl -sSf 'http://{}{target}' -o {to}.tar && \
             tar -tf {to}.tar > {to}.txt && tar -xf {to}.tar -C {to}",
            running.at
        );
        let done = Command::new("sh").args(["-c", &make]).current_dir(place.dir.path()).status();
        assert!(done.unwrap().success(), "{make}");
    };
    unpack("/shared/music/?tar", "below");
    assert_same(&read(&place.path("below/music")), &tree);
    let listed = std::fs::read_to_string(place.path("below.txt")).unwrap();
    assert_eq!(listed.lines().count(), tree.len(), "{listed}");
    unpack("/?tar", "all");
    assert_same(&read(&place.path("all/shared/music")), &tree);
    assert_eq!(std::fs::read(place.path("all/shared/other")).unwrap(), b"other");
    let get = ["get", &format!("http://{}/shared/music/?tar", running.at), "--state", "get"];
    assert!(place.run(&[&get[..], &["-o", "mine/"]].concat()).status.success());
    let same = std::fs::read(place.path("mine/music.tar")).unwrap();
    assert!(same == std::fs::read(place.path("below.tar")).unwrap());
    let size = std::fs::metadata(place.path("all.tar")).unwrap().len();
    until("it is in the log as any file", || {
        let log = std::fs::read_to_string(place.path("log")).unwrap();
        log.contains(&format!("\"GET /?tar HTTP/1.1\" 200 {size} "))
    });
}

#[test]
fn the_status_shows_a_folder_on_its_way() {
    let place = Place::new();
    music(&place);
    std::fs::write(place.path("shared/music/long"), noise(400_000)).unwrap();
    let running = place.sharing(&["--lab", "off", "--limit-rate", "20k"]);
    let url = format!("http://{}/shared/music/", running.at);
    let _get = Running::start(place.servent(&["get", &url, "-o", "here", "--state", "state"]));
    until("the folder is shown", || {
        let shown = place.run(&["status", "--state", "state"]).stdout;
        let shown = String::from_utf8_lossy(&shown).into_owned();
        shown.contains("get, process ") && shown.contains("down  long")
    });
}

#[test]
fn what_is_shared_has_its_path_in_its_url() {
    let place = Place::new();
    let tree = music(&place);
    let running = place.sharing(&[]);
    let get = |target: &str| Wire::connect(running.at).get(target, &["Connection: close"]);
    assert!(get("/shared/music/A/one%20%26%20two.ogg").body == tree["A/one & two.ogg"]);
    let page = String::from_utf8(get("/shared/music/A/").body).unwrap();
    assert!(page.contains("<a href=\"../../../shared/music/A/B/\">B/"), "{page}");
    assert!(page.contains("one &amp; two.ogg</a>"), "{page}");
    assert!(page.contains("magnet:?xt=urn:sha1:"), "{page}");
    let list = String::from_utf8(get("/?list").body).unwrap();
    assert_eq!(list.lines().count(), 6, "{list}");
    for nothing in ["/shared/music/../other", "/shared/%2e%2e/state/state.redb", "/etc/passwd"] {
        assert_eq!(get(nothing).status, 404, "{nothing}");
    }
    let output = place.run(&["get", &format!("http://{}/nothing/", running.at), "--state", "get"]);
    complains(&output, 9, "has no such file");
}

#[test]
fn five_thousand_small_files_are_byte_for_byte_the_same() {
    small_files_to_all(5_000, 1, "1");
}

#[test]
fn ten_downloads_of_one_folder_are_byte_for_byte_the_same() {
    small_files_to_all(150, 10, "20");
}

#[test]
#[ignore = "run by `cargo xtask campaign`: it takes minutes"]
fn ten_downloads_of_five_thousand_files_are_byte_for_byte_the_same() {
    small_files_to_all(5_000, 10, "20");
}

/// So many downloads at once of so many small files, all from one address, with
/// default settings, but for intervals that are so much shorter.
fn small_files_to_all(files: usize, downloads: usize, scale: &str) {
    let place = Place::new();
    let files = (0..files).map(|n| (format!("{}/{}/file {n}", n % 10, n % 7), noise(n % 900)));
    let tree: Tree = files.collect();
    write(&place.path("shared"), &tree);
    let running = place.sharing(&["--set", &format!("queue.time_scale={scale}")]);
    let url = format!("http://{}/shared/", running.at);
    let copies: Vec<_> =
        (0..downloads).map(|n| (format!("copy {n}"), format!("get {n}"))).collect();
    let start = |(copy, state): &(String, String)| {
        let mut get = place.servent(&[
            "get",
            &url,
            "-o",
            copy,
            "--state",
            state,
            "-q",
            "--time-scale",
            scale,
            // Times made short run out of tries, and of patience, on a busy machine.
            "--wait",
        ]);
        get.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let started: Vec<_> = copies.iter().map(start).collect();
    for output in started.into_iter().map(Child::wait_with_output).map(Result::unwrap) {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    for (copy, _) in &copies {
        assert_same(&read(&place.path(copy)), &tree);
    }
}

/// A plain web server; a page or a file for each path.
fn web(files: BTreeMap<&'static str, &'static str>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let Some(Ok(first)) = lines.next() else { continue };
            let target = first.split(' ').nth(1).unwrap_or_default().to_owned();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let (status, body) =
                files.get(&target[..]).map_or(("404 Not Found", ""), |body| ("200 OK", body));
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    at
}

#[test]
fn links_of_a_foreign_server_are_followed_below_the_folder_and_never_above() {
    let place = Place::new();
    let page = "<h1>Index</h1><a href='../'>up</a> <a href='?C=N;O=D'>sort</a> <a href=a.txt>a</a> \
                <a href='sub/'>sub</a> <a href='/secret'>x</a> <a href='..%2f..%2fx'>y</a> \
                <a href='http://127.0.0.1:1/pub/z'>z</a> <a href='./'>again</a>";
    let sub = "<a href=\"../\">up</a><a href=\"b%20c.txt\">b</a><a href=\"../sub/\">round</a>";
    let files = [
        ("/pub/", page),
        ("/pub/a.txt", "a"),
        ("/pub/sub/", sub),
        ("/pub/sub/b%20c.txt", "b and c"),
        ("/secret", "secret"),
    ];
    let at = web(files.into());
    let output = place.run(&["get", &format!("http://{at}/pub/"), "-o", "here/", "--state", "get"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let wanted = [("a.txt", "a"), ("sub/b c.txt", "b and c")];
    let wanted = wanted.map(|(path, text)| (path.to_owned(), text.as_bytes().to_owned()));
    assert_same(&read(&place.path("here/pub")), &wanted.into());
}

/// A server that promises ranges of its list, and answers with something else.
#[test]
fn files_that_do_not_come_together_come_alone() {
    let place = Place::new();
    let page = "<link rel=alternate type=text/uri-list href='?list=relative'>";
    let mut list = String::from("# ranges: tar\r\n");
    for name in ["a", "b", "c", "d"] {
        list += &format!("# file: size=1\r\n{name}\r\n");
    }
    let files = [
        ("/pub/", page),
        ("/pub/?list=relative", list.leak()),
        ("/pub/?tar&count=4", "this is no archive"),
        ("/pub/a", "1"),
        ("/pub/b", "2"),
        ("/pub/c", "3"),
        ("/pub/d", "4"),
    ];
    let at = web(files.into());
    let output = place.run(&["get", &format!("http://{at}/pub/"), "-o", "here/", "--state", "get"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let wanted = [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")];
    let wanted = wanted.map(|(path, text)| (path.to_owned(), text.as_bytes().to_owned()));
    assert_same(&read(&place.path("here/pub")), &wanted.into());
}

#[test]
fn a_folder_whose_download_is_killed_is_gone_on_with_and_nothing_else_is_left() {
    let place = Place::new();
    let files = (0..4_500).map(|n| (format!("{}/file {n}", n % 10), noise(n % 900)));
    let tree: Tree = files.collect();
    write(&place.path("shared"), &tree);
    let running = place.sharing(&[]);
    let url = format!("http://{}/shared/", running.at);
    let get = ["get", &url, "-o", "here/", "--state", "get"];
    let killed = Running::start(place.servent(&get));
    until("a file is there", || place.path("here/shared/0").exists());
    drop(killed);
    let mut here = read(&place.path("here/shared"));
    here.retain(|path, _| !path.starts_with(".servent-get/"));
    for (path, bytes) in &here {
        assert_eq!(tree.get(path), Some(bytes), "{path} has its name before it is whole");
    }
    let output = place.run(&get);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let there = format!("{} there already", here.len());
    assert!(here.is_empty() || said.contains(&there), "{said}");
    assert_same(&read(&place.path("here/shared")), &tree);
}

/// As scp and rsync do: users who may run it there may run it here, as far as the umask
/// lets them, and no more.
#[test]
fn dates_and_the_right_to_run_are_kept_and_no_other_rights() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let place = Place::new();
    let (folder, _) = place.share("tool", 10_000);
    std::fs::write(folder.join("text"), "la").unwrap();
    for (name, mode) in [("tool", 0o6777), ("text", 0o666)] {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(folder.join(name), mode).unwrap();
        let date = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        std::fs::File::open(folder.join(name)).unwrap().set_modified(date).unwrap();
    }
    let running = place.sharing(&["--lab", "off"]);
    let url = format!("http://{}/shared/", running.at);
    for (from, to) in
        [(url.clone(), "all/"), (format!("{url}tool"), "one"), (url + "?tar", "a.tar")]
    {
        let output = place.run(&["get", &from, "-o", to, "--state", "get"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    std::fs::create_dir(place.path("unpacked")).unwrap();
    let mut tar = std::process::Command::new("tar");
    tar.arg("xf").arg(place.path("a.tar")).arg("-C").arg(place.path("unpacked"));
    assert!(tar.status().unwrap().success());
    for (name, run) in [
        ("one", true),
        ("all/shared/tool", true),
        ("all/shared/text", false),
        ("unpacked/shared/tool", true),
        ("unpacked/shared/text", false),
    ] {
        let about = std::fs::metadata(place.path(name)).unwrap();
        assert_eq!(about.mtime(), 1_000_000_000, "{name}");
        let mode = about.mode() & 0o7777;
        assert_eq!(mode & 0o111 != 0, run, "{name} {mode:o}");
        assert_eq!((mode & 0o7000, mode & 0o022), (0, 0), "{name} {mode:o}");
    }
}

/// Something else is in the way of some of them: the others come, and those are named.
#[test]
fn a_blocked_name_keeps_no_other_file_from_coming() {
    let place = Place::new();
    let names = ["a/one", "b", "c/deep/two", "d", "e", "f", "g", "h"];
    let large = ("large".to_owned(), noise(400_000));
    let tree: Tree = names.iter().map(|name| ((*name).to_owned(), noise(900))).collect();
    let tree: Tree = tree.into_iter().chain([large]).collect();
    write(&place.path("shared"), &tree);
    let running = place.sharing(&[]);
    std::fs::create_dir_all(place.path("here/shared/b/in the way")).unwrap();
    std::fs::write(place.path("here/shared/c"), "a file, where a folder has to be").unwrap();
    let url = format!("http://{}/shared/", running.at);
    let get = ["get", &url, "-o", "here/", "--state", "get"];
    let output = place.run(&get);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    complains(&output, 10, "here/shared/b: it is a folder here, and a file there");
    assert!(said.contains("here/shared/c is no folder, and has to be one"), "{said}");
    assert!(said.contains("; 2 failed: b, c/deep/two"), "{said}");
    for name in ["a/one", "d", "e", "f", "g", "h", "large"] {
        let same = std::fs::read(place.path("here/shared").join(name)).unwrap() == tree[name];
        assert!(same, "{name} came");
    }
    std::fs::remove_dir_all(place.path("here/shared/b")).unwrap();
    std::fs::remove_file(place.path("here/shared/c")).unwrap();
    let output = place.run(&get);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_same(&read(&place.path("here/shared")), &tree);
}
