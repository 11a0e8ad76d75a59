//! Shares that strangers on the way cannot read.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output, Stdio};

use data_encoding::BASE64;

use crate::program::{Place, Running, Wire, assert_same, complains, finish, until};

fn curl(arguments: &[&str]) -> Output {
    Command::new("curl").args(["-sS", "--max-time", "60"]).args(arguments).output().unwrap()
}

fn path(place: &Place, name: &str) -> String {
    place.path(name).to_str().unwrap().to_owned()
}

#[test]
fn a_share_in_private_is_reached_by_https_alone() {
    let place = Place::new();
    let (_, bytes) = place.share("film", 3_000_000);
    let running = place.sharing(&["--lab", "off", "--tls-self-made"]);
    let (cert, url) =
        (path(&place, "state/tls-cert.pem"), format!("https://{}/shared/film", running.at));
    // A client of other make, which checks the certificate, more than once on a connection.
    let (one, two) = (path(&place, "one"), path(&place, "two"));
    let got =
        curl(&["--cacert", &cert, &url, "-o", &one, &url, "-o", &two, "-w", "%{num_connects}"]);
    assert!(got.status.success(), "{}", String::from_utf8_lossy(&got.stderr));
    assert_eq!(got.stdout, b"10");
    assert_same(&place.path("one"), &bytes);
    assert_same(&place.path("two"), &bytes);
    let list = curl(&["--cacert", &cert, &format!("https://{}/shared/", running.at)]);
    assert!(String::from_utf8_lossy(&list.stdout).contains("film"));

    let get = ["get", &url, "-o", "mine", "--ca-file", &cert, "--state", "get"];
    let got = place.run(&get);
    assert!(got.status.success(), "{}", String::from_utf8_lossy(&got.stderr));
    assert_same(&place.path("mine"), &bytes);

    // Where to look for a file that is not there is told as it can be reached.
    let gone = url.replace("film", "flim");
    let gone = place.run(&["get", &gone, "-o", "no", "--ca-file", &cert, "--state", "get"]);
    complains(&gone, 9, &format!("look what is shared there: https://{}/", running.at));

    // A client that asks in plain hears why, and one that does not trust the
    // certificate gets nothing.
    let http = url.replace("https", "http");
    let plain = curl(&["-w", "%{http_code}", &http]);
    let said = String::from_utf8(plain.stdout).unwrap();
    assert_eq!(said, "This port speaks TLS: write https:// instead of http://.\n400");
    let plain = place.run(&["get", &http, "-o", "no", "--state", "get"]);
    complains(&plain, 3, "no server answers without TLS");
    assert!(!curl(&[&url]).status.success());
    let unknown = place.run(&["get", &url, "-o", "no", "--state", "get"]);
    complains(&unknown, 5, "is not to be trusted");
    // The fingerprint is the same on both sides, and enough.
    let pin = crate::program::pin_of(&place.path("state/tls-cert.pem"));
    complains(&unknown, 5, &format!("it shows {pin}"));
    let pinned =
        |pin: &str, to| place.run(&["get", &url, "-o", to, "--pin", pin, "--state", "get"]);
    assert!(pinned(&pin, "pinned").status.success());
    assert_same(&place.path("pinned"), &bytes);
    let first = if pin[7..].starts_with("00") { "01" } else { "00" };
    let other = format!("sha256:{first}{}", &pin[9..]);
    complains(&pinned(&other, "no"), 5, "which is not what --pin names");
    let wrong = pinned("sha256:12", "no");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("64 hex digits"), "{wrong:?}");
}

#[test]
fn the_fingerprint_is_printed_as_a_pin_and_a_plain_server_is_named() {
    let place = Place::new();
    place.share("film", 1_000);
    let mut share = vec!["share", "shared", "--state", "state", "--listen", "127.0.0.1:0"];
    share.extend(["--lab", "off", "--tls-self-made"]);
    let mut running = Running::start(place.servent(&share));
    let line = running.line(|line| line.contains("fingerprint"));
    let pin = crate::program::pin_of(&place.path("state/tls-cert.pem"));
    assert!(line.contains(&pin), "{line}");
    let plain = Place::new();
    plain.share("film", 1_000);
    let plain_share = plain.sharing(&["--lab", "off"]);
    let url = format!("https://{}/shared/film", plain_share.at);
    let output = place.run(&["get", &url, "-o", "no", "--state", "get"]);
    complains(&output, 3, "it answers without TLS");
}

#[test]
fn a_private_share_keeps_to_its_rate_and_waits_for_slow_readers() {
    let place = Place::new();
    let (_, bytes) = place.share("film", 500_000);
    let running = place.sharing(&["--lab", "off", "--tls-self-made", "--limit-rate", "400k"]);
    let cert = path(&place, "state/tls-cert.pem");
    let (url, to) = (format!("https://{}/shared/film", running.at), path(&place, "slow"));
    let slow = ["--cacert", &cert, "--limit-rate", "300k", &url, "-o", &to];
    assert!(curl(&slow).status.success());
    assert_same(&place.path("slow"), &bytes);
}

#[test]
fn what_cannot_be_private_is_told() {
    let place = Place::new();
    place.share("film", 1_000);
    let share = |extra: &[&str]| {
        let all =
            ["share", "shared", "--state", "state", "--listen", "127.0.0.1:0", "--lab", "off"];
        place.run(&[&all, extra].concat())
    };
    complains(&share(&["--tls", "shared/film", "shared/film"]), 2, "are no certificate");
    complains(&share(&["--tls", "nowhere", "shared/film"]), 4, "cannot use nowhere");
    complains(&share(&["--tls-self-made", "--lan"]), 2, "is not told to the overlay");
    complains(&share(&["--set", "tls_cert=a"]), 2, "go together");
    complains(&share(&["--set", "user=a"]), 2, "go together");
    std::fs::write(place.path("empty"), "\n").unwrap();
    complains(&share(&["--user", "ann", "--password-file", "empty"]), 2, "is empty");
}

#[test]
fn a_client_without_the_password_learns_nothing() {
    let place = Place::new();
    let (_, bytes) = place.share("film", 300_000);
    std::fs::write(place.path("secret"), "open: sesame\n").unwrap();
    let secret = ["--user", "ann", "--password-file", "secret"];
    let share = [&["--lab", "off", "--tls-self-made", "--access-log", "log"][..], &secret].concat();
    let running = place.sharing(&share);
    let (cert, url) = (path(&place, "state/tls-cert.pem"), format!("https://{}/", running.at));
    let status = |words: &[&str], to: &str| {
        let plain = ["--cacert", &cert, "-o", to, "-w", "%{http_code}"];
        String::from_utf8(curl(&[&plain, words].concat()).stdout).unwrap()
    };
    let (list, film) = (path(&place, "list"), path(&place, "film"));
    assert_eq!(status(&[&url], &list), "401");
    assert!(!std::fs::read_to_string(&list).unwrap().contains("shared"));
    for wrong in ["ann:open", "bob:open: sesame"] {
        assert_eq!(status(&["-u", wrong, &url], &list), "401");
    }
    assert_eq!(status(&["-u", "ann:open: sesame", &url], &list), "200");
    assert!(std::fs::read_to_string(&list).unwrap().contains("shared"));
    let file = format!("{url}shared/film");
    assert_eq!(status(&["-u", "ann:open: sesame", &file], &film), "200");
    assert_same(&place.path("film"), &bytes);
    let log = std::fs::read_to_string(place.path("log")).unwrap();
    assert_eq!(log.lines().filter(|line| line.contains(" 401 ")).count(), 3, "{log}");
    assert!(!log.contains("sesame"), "{log}");
}

#[test]
fn get_says_who_it_is_to_its_server_alone() {
    let place = Place::new();
    let (_, bytes) = place.share("film", 300_000);
    std::fs::write(place.path("secret"), "open: sesame\n").unwrap();
    let running = place.sharing(&["--lab", "off", "--user", "ann", "--password-file", "secret"]);
    let (film, folder) =
        (format!("http://{}/shared/film", running.at), format!("http://{}/shared/", running.at));
    let get = |what: &[&str], password: Option<&str>| {
        let mut get = place.servent(&[&["get", "--state", "get"], what].concat());
        get.envs(password.map(|password| ("SERVENT_PASSWORD", password)));
        finish(get.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    };
    let trace = ["--trace", "run.sqlog"];
    let whole =
        get(&[&[&film, "--user", "ann", "--password-file", "secret"], &trace[..]].concat(), None);
    assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stderr));
    assert_same(&place.path("film"), &bytes);
    // A trace is made to be passed on.
    let tape = std::fs::read(place.path("run.sqlog")).unwrap();
    let words = BASE64.encode(b"ann:open: sesame");
    assert!(!tape.windows(words.len()).any(|part| part == words.as_bytes()));
    assert!(place.run(&["replay", "run.sqlog"]).status.success());

    let all = get(&[&folder, "--user", "ann", "-o", "copy"], Some("open: sesame"));
    assert!(all.status.success(), "{}", String::from_utf8_lossy(&all.stderr));
    assert_same(&place.path("copy/film"), &bytes);
    complains(&get(&[&film, "-o", "no"], None), 9, "say who you are with --user NAME");
    complains(&get(&[&folder, "-o", "none"], None), 9, "say who you are with --user NAME");
    let wrong = get(&[&film, "-o", "no", "--user", "ann"], Some("open"));
    complains(&wrong, 9, "wants a name and a password");
    complains(&get(&[&film, "-o", "no", "--user", "ann"], None), 2, "there is no password");
}

#[test]
fn a_running_servent_downloads_from_private_shares_and_never_shows_the_password() {
    let (there, here) = (Place::new(), Place::new());
    let (_, bytes) = there.share("film", 2_000_000);
    std::fs::create_dir(there.path("shared/more")).unwrap();
    std::fs::write(there.path("shared/more/deep"), "la").unwrap();
    std::fs::write(there.path("secret"), "open: sesame\n").unwrap();
    let private = ["--lab", "off", "--user", "ann", "--password-file", "secret"];
    let source = there.sharing(&[&private[..], &["--limit-rate", "500k"]].concat());
    here.share("song", 1_000);
    let sharing = ["--downloads", "mine", "--access-log", "log", "--trace", "run.sqlog"];
    let mut running = here.sharing(&sharing);
    let told = |what: &[&str], password: Option<&str>| {
        let mut told = here.servent(&[&["downloads"], what, &["--state", "state"]].concat());
        told.envs(password.map(|password| ("SERVENT_PASSWORD", password)));
        finish(told.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    };
    let folder = format!("http://{}/shared/", source.at);
    complains(&told(&["add", &folder], None), 9, "say who you are with --user NAME");
    complains(&told(&["add", &folder, "--user", "ann"], None), 2, "there is no password");
    let with = folder.replace("http://", "http://ann:sesame@");
    complains(&told(&["add", &with], None), 2, "belong into --user");
    let added = told(&["add", &folder, "--user", "ann"], Some("open: sesame"));
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    until("some of it is there", || here.path("mine/shared/film.part").exists());
    running.signal("INT");
    running.ended();
    let shown = |running: &Running| {
        let list = told(&["list", "--json"], None).stdout;
        let status = here.run(&["status", "--json", "--state", "state"]).stdout;
        let lab = Wire::connect(running.lab.unwrap()).get("/api/status", &[]).body;
        [list, status, lab].concat()
    };
    // It was told before the restart.
    let running = here.sharing(&["--downloads", "mine"]);
    let list = || String::from_utf8(told(&["list"], None).stdout).unwrap();
    let whole = || list().lines().any(|line| line.contains(" done ") && line.ends_with("film"));
    until("all of it is there", whole);
    assert_same(&here.path("mine/shared/film"), &bytes);
    assert_same(&here.path("mine/shared/more/deep"), b"la");
    let mut seen = shown(&running);
    for file in ["log", "run.sqlog"] {
        seen.extend(std::fs::read(here.path(file)).unwrap());
    }
    for words in ["sesame", &BASE64.encode(b"ann:open: sesame")] {
        assert!(!seen.windows(words.len()).any(|part| part == words.as_bytes()), "{words}");
    }
    let kept = here.path("state/credentials.json");
    assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(told(&["remove", "--done"], None).status.success());
    assert!(!kept.exists(), "nothing is left to download");
}

#[test]
fn a_password_without_tls_is_warned_about_where_others_listen() {
    let place = Place::new();
    place.share("a", 10);
    std::fs::write(place.path("secret"), "open sesame\n").unwrap();
    let said = |listen: &str, more: &str| {
        let share = "share shared --state state --json --lab off --user ann";
        let line =
            format!("exec \"$0\" {share} --password-file secret --listen {listen} {more} 2> said");
        let mut shell = Command::new("sh");
        shell
            .current_dir(place.dir.path())
            .args(["-c", &line])
            .arg(place.servent(&[]).get_program());
        shell.env_clear().env("HOME", place.dir.path()).env("PATH", "/usr/bin:/bin");
        let mut running = Running::start(shell);
        running.event("listening");
        running.signal("INT");
        assert!(running.end().success());
        std::fs::read_to_string(place.path("said")).unwrap()
    };
    assert!(said("0.0.0.0:0", "").contains("without TLS every host on the way can read"));
    assert!(!said("0.0.0.0:0", "--tls-self-made").contains("without TLS"));
    assert!(!said("127.0.0.1:0", "").contains("without TLS"));
}
