//! What web servers do besides sending files: names of their own, cookies, raw
//! links, texts that are packed although the client did not ask, and hashes beside them.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::Digest as _;

use crate::program::{Place, assert_same, complains, noise};
use crate::web::{Reply, Web};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

#[test]
fn what_comes_packed_is_unpacked_and_an_archive_stays_as_it_is() {
    let (text, place) = (b"la la la\n".repeat(20_000), Place::new());
    let packed = gzip(&text);
    let (plain, archive) = (packed.clone(), packed.clone());
    let server = Web::start(move |request| {
        let encoding = match &request.target[..] {
            "/text.txt" => "Content-Encoding: gzip",
            "/text.tgz" => "Content-Encoding: x-gzip",
            _ => "Content-Encoding: br",
        };
        Reply::file(request, &plain, &[encoding, "ETag: \"a\""])
    });
    for (name, wanted) in [("text.txt", &text), ("text.tgz", &archive)] {
        let output = place.run(&["get", &server.url(&format!("/{name}")), "--state", "get"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_same(&place.path(name), wanted);
    }
    let other = place.run(&["get", &server.url("/x.txt"), "--state", "get"]);
    complains(&other, 3, "in an encoding that we do not read");
    // To a pipe it goes as it comes, or not at all.
    let piped = place.run(&["get", &server.url("/text.txt"), "-o", "-", "--state", "get"]);
    complains(&piped, 3, "in an encoding that we do not read");
    let list = format!("{}\n{}\n", server.url("/text.txt"), server.url("/text.tgz"));
    std::fs::write(place.path("list"), list).unwrap();
    let output = place.run(&["get", "-i", "list", "-o", "both/", "--state", "get"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_same(&place.path("both/text.txt"), &text);
    assert_same(&place.path("both/text.tgz"), &archive);
}

#[test]
fn a_server_may_name_the_file_and_not_its_folder() {
    let place = Place::new();
    let bytes = noise(50_000);
    let file = bytes.clone();
    let server = Web::start(move |request| {
        let name = match &request.target[..] {
            "/download.php?id=3" => "Content-Disposition: attachment; filename=\"Übung 3.pdf\"",
            "/leads.php" => "Content-Disposition: attachment; filename=\"../../leads\"",
            _ => "Content-Disposition: attachment; filename=\".bashrc\"",
        };
        Reply::file(request, &file, &[name])
    });
    std::fs::create_dir(place.path("here")).unwrap();
    let get =
        |path: &str, to: &str| place.run(&["get", &server.url(path), "-o", to, "--state", "get"]);
    for (path, name) in [
        ("/download.php?id=3", "Übung 3.pdf"),
        ("/leads.php", "leads"),
        ("/hidden.php", "hidden.php"),
    ] {
        let output = get(path, "here/");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).contains(name), "{output:?}");
        assert_same(&place.path("here").join(name), &bytes);
    }
    complains(&get("/download.php?id=3", "here/"), 4, "Übung 3.pdf is there already");
    assert!(get("/download.php?id=3", "mine").status.success(), "the user has the last word");
    assert_same(&place.path("mine"), &bytes);
    assert_eq!(std::fs::read_dir(place.path("here")).unwrap().count(), 3);
}

#[test]
fn a_redirect_in_raw_letters_and_one_that_wants_its_cookie_back_are_followed() {
    let place = Place::new();
    let bytes = noise(50_000);
    let file = bytes.clone();
    let server = Web::start(move |request| match &request.target[..] {
        "/start" => Reply::new("302 On", &["Location: /über uns/Übung.pdf"], b""),
        "/%C3%BCber%20uns/%C3%9Cbung.pdf" => {
            let fields = ["Location: /gate", "Set-Cookie: seen=yes; Path=/; HttpOnly"];
            Reply::new("302 On", &fields, b"")
        }
        "/gate" if request.header("Cookie") == Some("seen=yes") => Reply::file(request, &file, &[]),
        _ => Reply::new("403 No", &[], b""),
    });
    let output = place.run(&["get", &server.url("/start"), "-o", "file", "--state", "get"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_same(&place.path("file"), &bytes);
    assert!(server.asked()[..2].iter().all(|asked| asked.header("Cookie").is_none()));
}

#[test]
fn a_hash_of_the_kind_that_sites_name_is_checked_and_the_same_file_need_not_come_again() {
    let place = Place::new();
    let bytes = noise(50_000);
    let file = bytes.clone();
    let server = Web::start(move |request| Reply::file(request, &file, &[]));
    let sum: String = sha2::Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
    let get = |sum: &str| {
        place.run(&["get", &server.url("/a"), "-o", "a", "--sha256", sum, "--state", "get"])
    };
    complains(&get(&"0".repeat(64)), 5, &format!("their SHA-256 is {sum}"));
    assert!(!place.path("a").exists());
    let wrong = get("12");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("64 hex digits"), "{wrong:?}");
    assert!(get(&sum).status.success());
    assert_same(&place.path("a"), &bytes);
    let asked = server.asked().len();
    let again = get(&sum);
    assert!(again.status.success(), "{again:?}");
    assert!(String::from_utf8_lossy(&again.stderr).contains("is there, the same"), "{again:?}");
    assert_eq!(server.asked().len(), asked);
}
