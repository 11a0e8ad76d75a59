//! What the arguments of `servent get` mean.

use super::*;

const URN: &str = "urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB";

fn all(arguments: &[&str], mirrors: &[&str]) -> Result<Vec<RequestedFile>, Failure> {
    let owned = |list: &[&str]| list.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>();
    RequestedFile::parse(&owned(arguments), &owned(mirrors))
}

fn parse(arguments: &[&str]) -> Result<RequestedFile, Failure> {
    let mut all = all(arguments, &[])?;
    assert_eq!(all.len(), 1, "{arguments:?}");
    Ok(all.remove(0))
}

#[test]
fn a_folder_without_its_slash_is_known_by_where_it_sends_us() {
    let folder = |url: &str, to: &str| {
        let one = parse(&[url]).unwrap();
        one.sent_to_folder(to).map(|(base, place)| (base.path, place.target.unwrap()))
    };
    let plain = Some(("/a/m/".to_owned(), "/a/m/".to_owned()));
    assert_eq!(folder("http://h:1/a/m", "/a/m/"), plain);
    assert_eq!(folder("http://h:1/a/m", "http://h:1/a/m/"), plain);
    let secure = Some(("/m/".to_owned(), "https://h/m/".to_owned()));
    assert_eq!(folder("https://h/m", "https://h/m/"), secure);
    for (url, to) in [
        ("http://h/m", "/m"),
        ("http://h/m", "/other/"),
        ("http://h/m", "http://g/m/"),
        ("https://h/m", "http://h/m/"),
        ("http://h/m?x", "/m?x/"),
    ] {
        assert_eq!(folder(url, to), None, "{url} {to}");
    }
}

#[test]
fn a_folder_as_one_file_is_no_folder() {
    for (url, name) in
        [("http://h/my%20music/?tar", "my music.tar"), ("https://h/?tar", "shared.tar")]
    {
        let one = parse(&[url]).unwrap();
        assert_eq!((one.file_name(), one.is_folder()), (name.to_owned(), false));
    }
    assert!(parse(&["http://h/m/?tare"]).unwrap().is_folder());
}

#[test]
fn every_address_is_a_download_of_its_own() {
    let two = all(&["http://h/get/1/a", "http://h/get/2/b"], &[]).unwrap();
    let names: Vec<_> = two.iter().map(|w| (w.file_name(), w.places.len())).collect();
    assert_eq!(names, [("a".to_owned(), 1), ("b".to_owned(), 1)]);
    // A hash in front of the second address belongs to the second.
    let two = all(&["http://h/get/1/a", URN, "g:6346"], &[]).unwrap();
    assert_eq!(two.len(), 1, "a hash behind an address is about that address");
    let two = all(&[URN, "g:6346", "h:6346", "http://h/get/1/a"], &[]).unwrap();
    assert_eq!((two.len(), two[0].places.len(), two[1].sha1), (2, 2, None));
}

#[test]
fn the_same_hash_is_the_same_file() {
    let by_hash = format!("http://h:1/uri-res/N2R?{URN}");
    let other = format!("http://g:1/uri-res/N2R?{URN}");
    let one = all(&[&by_hash, "http://h/get/1/a", &other], &[]).unwrap();
    assert_eq!((one.len(), one[0].places.len(), one[1].places.len()), (2, 2, 1));
    let tree = "LWPNACQDBZRYXW3VHJVCJ64QBZNGHOHHHZWCLNQ";
    let bitprint = format!("{}.{tree}", by_hash.replace("sha1", "bitprint"));
    let one = all(&[&by_hash, &bitprint], &[]).unwrap();
    assert_eq!((one.len(), one[0].places.len()), (1, 2));
}

#[test]
fn mirrors_are_sources_of_the_only_file() {
    let mirror = ["http://g/get/5/a"];
    let one = all(&["http://h/get/1/a", URN], &mirror).unwrap();
    assert_eq!((one.len(), one[0].places.len()), (1, 2));
    let two = all(&[URN, "h:1", "http://h/get/2/b"], &mirror).unwrap_err();
    assert_eq!(two.exit, Exit::Usage, "{two}");
    assert!(all(&[URN, "h:1"], &["file.iso"]).is_err());
}

#[test]
fn a_plain_url_gives_place_and_name() {
    let w = parse(&["http://127.0.0.1:6346/get/3/a%20b.iso"]).unwrap();
    assert_eq!(w.file_name(), "a b.iso");
    assert_eq!(w.places[0].host, "127.0.0.1:6346");
    assert_eq!(w.places[0].target.as_deref(), Some("/get/3/a%20b.iso"));
    assert_eq!(w.sha1, None);
}

#[test]
fn rt_16_a_file_of_a_servent_is_asked_for_by_its_hash_first() {
    let (hash, number) = (format!("/uri-res/N2R?{URN}"), "/get/7/a%20b.txt");
    let both = format!("{hash}#{number}");
    // As `servent search` prints it.
    let printed = parse(&[&format!("http://9.9.9.9:9{both}")]).unwrap();
    assert_eq!(printed.places[0].asked(printed.sha1), both);
    assert_eq!((printed.file_name().as_str(), printed.sha1.is_some()), ("a b.txt", true));
    let told = parse(&[&format!("http://9.9.9.9:9{number}"), URN]).unwrap();
    assert_eq!(told.places[0].asked(told.sha1), both);
    let unknown = parse(&[&format!("http://9.9.9.9:9{number}#top")]).unwrap();
    assert_eq!(unknown.places[0].asked(unknown.sha1), number);
    let web = parse(&["http://mirror/pub/a.iso", URN]).unwrap();
    assert_eq!(web.places[0].asked(web.sha1), "/pub/a.iso", "no servent");
}

#[test]
fn a_hit_of_a_servent_that_cannot_be_reached_is_understood() {
    let id = "01".repeat(16);
    let w = parse(&[&format!("push://{id}@9.9.9.9:9/7/a%20b%2Etxt"), URN]).unwrap();
    let push = w.push.clone().unwrap();
    assert_eq!((push.index, push.peer.as_str()), (FileIndex(7), "9.9.9.9:9"));
    assert_eq!((w.file_name().as_str(), w.places.len()), ("a b.txt", 0));
    assert_eq!(push.proxies, [""; 0]);
    let w = parse(&[&format!("push://{id}@9.9.9.9:9,h:1,[::1]:2/7/a"), URN]).unwrap();
    let push = w.push.unwrap();
    assert_eq!(
        (push.peer.as_str(), push.proxies),
        ("9.9.9.9:9", vec!["h:1".to_owned(), "[::1]:2".to_owned()])
    );
    let many = format!("push://{id}@h:1{}/7/a", ",h:1".repeat(9));
    let one_bad = format!("push://{id}@h:1,h/7/a");
    for bad in
        ["push://x@h:1/1/n", "push://h:1/1/n", &format!("push://{id}@h/1/n"), &many, &one_bad]
    {
        assert!(parse(&[bad]).is_err(), "{bad}");
    }
}

#[test]
fn a_urn_and_an_address_go_together() {
    assert!(parse(&[URN]).unwrap().needs_a_source());
    let w = parse(&[URN, "[::1]:6346"]).unwrap();
    assert_eq!((w.places.len(), w.sha1.is_some()), (1, true));
    assert!(parse(&["host:6346"]).is_err());
}

#[test]
fn a_magnet_link_names_file_and_sources() {
    let magnet = format!(
        "magnet:?xt={URN}&dn=my+file.iso&xs=http%3A%2F%2F10.0.0.1%3A6346%2Furi-res%2FN2R%3F{URN}&as=http://h/get/1/x"
    );
    let w = parse(&[&magnet]).unwrap();
    assert_eq!(w.places.len(), 2);
    assert_eq!(w.sha1, Sha1::parse_urn(URN.as_bytes()));
    assert_eq!(w.places[0].host, "10.0.0.1:6346");
    assert_eq!(w.file_name(), "my file.iso");
}

#[test]
fn a_magnet_link_of_another_network_is_told_as_such() {
    let torrent = "magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88a&dn=a";
    let told = parse(&[torrent]).unwrap_err();
    assert!(told.what.contains("names a torrent"), "{told}");
    let told = parse(&["magnet:?xt=urn:ed2k:354B15E68FB8F36D7CD88FF94116CDC1"]).unwrap_err();
    assert!(told.what.contains("by urn:ed2k:"), "{told}");
    // With a place to ask it is as good as a URL.
    assert!(parse(&[&format!("{torrent}&as=http://h/a")]).is_ok());
}

#[test]
fn sources_of_different_files_are_refused() {
    let other = "http://h:1/uri-res/N2R?urn:sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let magnet = format!("magnet:?xt={URN}&xs={other}");
    assert!(parse(&[&magnet]).unwrap_err().what.contains("another file"));
    let mirrored = all(&[URN, "h:1"], &[other]).unwrap_err();
    assert!(mirrored.what.contains("another file"), "{mirrored}");
}

#[test]
fn what_is_private_is_asked_for_with_its_whole_url() {
    let one = parse(&["https://h/a%20b?c#top"]).unwrap();
    assert_eq!(one.places[0].asked(None), "https://h/a%20b?c");
    assert_eq!((&one.places[0].host[..], &one.file_name()[..]), ("h", "a b"));
    let folder = parse(&["HTTPS://h:1/m/"]).unwrap();
    assert_eq!(folder.places[0].asked(None), "https://h:1/m/");
    assert_eq!(folder.folder.unwrap().scheme, "https");
}

#[test]
fn an_address_that_ends_in_a_slash_is_a_folder() {
    for (url, path, name) in [
        ("http://h:1/a/my%20music/", "/a/my%20music/", Some("my music")),
        ("http://h:1/", "/", None),
        ("http://h:1", "/", None),
        ("http://h:1/a/?sort=size", "/a/", Some("a")),
    ] {
        let one = parse(&[url]).unwrap();
        let base = one.folder.as_ref().unwrap();
        assert_eq!((&base.path[..], one.name.as_deref()), (path, name), "{url}");
    }
    assert_eq!(parse(&["http://h/get/1/a/"]).unwrap().folder, None, "that is a file");
    assert!(parse(&["http://h/a/", URN]).is_err());
}

#[test]
fn a_name_is_never_a_path() {
    for (url, name) in [
        ("http://h/get/1/..%2F..%2Fetc%2Fpasswd", "passwd"),
        ("http://h/get/1/%2e%2e", "download"),
        ("http://h/get/1/a%5Cb", "b"),
        ("http://h/get/1/a%0Ab", "a_b"),
    ] {
        assert_eq!(parse(&[url]).unwrap().file_name(), name, "{url}");
    }
}

#[test]
fn nonsense_is_refused_in_one_sentence() {
    for bad in ["ftp://h/x", "https:///x", "http:///x", "urn:md5:x", "file.iso", ":80"] {
        assert_eq!(parse(&[bad]).unwrap_err().exit, Exit::Usage, "{bad}");
    }
}

#[test]
fn which_interface_leads_to_a_host_is_not_told_to_it() {
    assert_eq!(without_zone("[fe80::1%25eth0]:6346"), "[fe80::1]:6346");
    assert_eq!(without_zone("[fe80::1%eth0]"), "[fe80::1]");
    assert_eq!(without_zone("10.0.0.1:80"), "10.0.0.1:80");
}
