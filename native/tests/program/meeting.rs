//! A meeting place on this machine: what `meet`, `send --via`, `receive --via` and
//! `doctor` say.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use crate::program::{Place, Running, assert_same, complains, noise, until};

pub(crate) const CODE: &str = "ocean-pepper-violin-garden-moon";

/// A running place, and its name for the others.
pub(crate) fn meeting_place(at: &Place, extra: &[&str]) -> (Running, String) {
    let words = [&["meet", "--listen", "127.0.0.1:0", "--json"], extra].concat();
    let mut running = Running::start(at.servent(&words));
    let name = running.event("listening")["address"].as_str().unwrap().to_owned();
    (running, name)
}

#[test]
fn two_meet_through_a_place_and_a_file_goes_directly_from_one_to_the_other() {
    let at = Place::new();
    let (mut place, via) = meeting_place(&at, &["--relay", "1M"]);
    std::fs::create_dir(at.path("in")).unwrap();
    let bytes = noise(500_000);
    std::fs::write(at.path("song.ogg"), &bytes).unwrap();
    let words =
        ["receive", "--via", &via, "--listen", "127.0.0.1:0", "-o", "in", "--yes", "--json"];
    let mut command = at.servent(&words);
    let told = at.path("receiver.err");
    let mut receiver = {
        command.env("SERVENT_CODE", CODE).stderr(std::fs::File::create(&told).unwrap());
        Running::start(command)
    };
    receiver.event("at_place");
    let mut command = at.servent(&["send", "--via", &via, "song.ogg", "--json"]);
    let mut sender = {
        command.env("SERVENT_CODE", CODE);
        Running::start(command)
    };
    sender.event("path");
    sender.event("sent");
    assert_eq!(sender.end().code(), Some(0));
    assert_same(&at.path("in/song.ogg"), &bytes);
    receiver.signal("INT");
    assert_eq!(receiver.end().code(), Some(0));
    // It knocks at the sender's IPv6 address too, without a way there.
    let told = std::fs::read_to_string(told).unwrap();
    assert!(!told.contains("WARN"), "{told}");
    place.signal("INT");
    let told = place.event("meetings");
    assert!(told["introduced"].as_u64() >= Some(1), "{told}");
    assert_eq!(place.end().code(), Some(0));
}

#[test]
fn a_servent_that_meets_no_other_is_told_why_and_what_would_help() {
    let at = Place::new();
    std::fs::write(at.path("song.ogg"), "words").unwrap();
    let run = |words: &[&str], code: &str| {
        let mut command = at.servent(words);
        command.env("SERVENT_CODE", code).output().unwrap()
    };
    // Nothing listens at port 1.
    let send = ["send", "--via", "127.0.0.1:1", "song.ogg"];
    complains(&run(&send, CODE), 3, "no meeting place answers at 127.0.0.1:1");
    complains(&run(&send, "ocean-pepper-sea"), 2, "too short for a meeting place");
    let (_place, via) = meeting_place(&at, &[]);
    complains(
        &run(&["send", "--via", &via, "song.ogg"], CODE),
        3,
        "no receiver waits with this code at the meeting place",
    );
    complains(&run(&["send", "--meet", "song.ogg"], CODE), 2, "--meet needs the setting `via`");
}

#[test]
fn what_would_help_is_what_was_not_done_yet() {
    let at = Place::new();
    std::fs::write(at.path("song.ogg"), "words").unwrap();
    let (_place, via) = meeting_place(&at, &[]);
    let send = ["send", "--via", &via, "song.ogg"];
    // Two who meet need a code.
    let output = at.servent(&send).env_remove("SERVENT_CODE").output().unwrap();
    complains(&output, 2, "there is no code");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("--open"), "{output:?}");
    let mut waits = at.servent(&[&send[..], &["--wait=1s"]].concat());
    let output = waits.env("SERVENT_CODE", CODE).output().unwrap();
    complains(&output, 3, "no receiver waits with this code");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("wait longer") && !said.contains("--wait"), "{said}");
    // Where the receiver is, is not known.
    let waits = format!("waiting at the meeting place {via} for the receiver");
    assert!(said.contains(&waits), "{said}");
}

/// A place at which nothing has happened has nothing to say when it ends.
#[test]
fn a_place_without_visitors_ends_without_a_word() {
    let at = Place::new();
    let mut meet = at.servent(&["meet", "--listen", "127.0.0.1:0", "--json"]);
    let mut place = meet.stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(place.stdout.take().unwrap());
    let (mut first, mut rest) = (String::new(), String::new());
    out.read_line(&mut first).unwrap();
    let pid = place.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    out.read_to_string(&mut rest).unwrap();
    assert!(first.contains("listening") && rest.is_empty(), "{first}{rest}");
    assert_eq!(place.wait().unwrap().code(), Some(0));
}

/// Runs a command with a code of its own in the environment.
pub(crate) fn with_code(at: &Place, words: &[&str], code: &str) -> Running {
    let mut command = at.servent(words);
    command.env("SERVENT_CODE", code);
    Running::start(command)
}

#[test]
fn a_seat_at_the_place_is_free_again_when_its_program_was_stopped() {
    let at = Place::new();
    let (_place, via) = meeting_place(&at, &[]);
    at.share("song.ogg", 1_000);
    let share = ["share", "shared", "--listen", "127.0.0.1:0", "--lab", "off", "--json"];
    let set = format!("meet={via}");
    let share = [&share[..], &["--set", &set]].concat();
    for n in 0..3 {
        let state = format!("state{n}");
        let mut sharing = with_code(&at, &[&share[..], &["--state", &state]].concat(), CODE);
        let seated = sharing.event_of(&["at_place", "unmet"]);
        assert_eq!(seated["event"], "at_place", "run {n}: {seated}");
        sharing.signal("TERM");
        assert_eq!(sharing.end().code(), Some(0));
    }
    // The other seat: a sender that has waited for its receiver.
    std::fs::write(at.path("song.ogg"), "words").unwrap();
    for n in 0..3 {
        let send = ["send", "--via", &via, "song.ogg", "--wait", "--json"];
        let mut sender = with_code(&at, &send, CODE);
        let said = sender.event_of(&["waiting", "failed"]);
        assert_eq!(said["why"], "the receiver is not there yet", "run {n}: {said}");
        sender.signal("INT");
        assert_eq!(sender.end().code(), Some(130));
    }
}

#[test]
fn one_that_waits_is_told_that_the_place_ends() {
    let at = Place::new();
    let (place, via) = meeting_place(&at, &[]);
    let receive = ["receive", "--via", &via, "--listen", "127.0.0.1:0", "-o", "in", "--json"];
    let mut receiver = with_code(&at, &receive, CODE);
    receiver.event("at_place");
    place.signal("TERM");
    let told = receiver.event("unmet");
    assert!(told["why"].as_str().unwrap().contains("is being shut down"), "{told}");
    assert_eq!(place.end().code(), Some(0));
}

#[test]
fn the_status_of_a_servent_says_where_it_is_met() {
    let at = Place::new();
    let (mut place, via) = meeting_place(&at, &[]);
    at.share("song.ogg", 1_000);
    let mut sharing = at.sharing(&["--meet", &via]);
    sharing.event("at_place");
    let status = |words: &[&str]| {
        let told = at.run(&[&["status", "--state", "state"], words].concat());
        String::from_utf8(told.stdout).unwrap()
    };
    let told: serde_json::Value = serde_json::from_str(&status(&["--json"])).unwrap();
    let meeting = &told["servents"][0]["meeting"];
    let wanted = serde_json::json!({ "place": via, "waits": true, "why": null });
    assert_eq!(meeting, &wanted, "{told}");
    assert!(status(&[]).contains(&format!("\nmet at {via}\n")), "{}", status(&[]));
    place.signal("INT");
    place.ended();
    let why = sharing.event("unmet")["why"].as_str().unwrap().to_owned();
    let told = status(&[]);
    assert!(told.contains(&format!("\nnot met at {via} now: {why}\n")), "{told}");
}

#[test]
fn a_link_with_a_wrong_code_is_named_within_seconds() {
    let at = Place::new();
    let (_place, via) = meeting_place(&at, &[]);
    let link = format!("meet://{CODE}@{via}/song.ogg");
    let clock = servent::Clock::new();
    let begun = clock.now();
    let output = at.run(&["get", &link]);
    let took = clock.now().since(begun).as_secs();
    let wanted = format!("no servent waits with this code at the meeting place {via}");
    complains(&output, 3, &wanted);
    assert!(took < 6, "{took} s");
}

#[test]
fn a_port_that_no_router_can_forward_is_said_in_one_sentence() {
    let at = Place::new();
    at.share("song.ogg", 1_000);
    let share = ["share", "shared", "--map-port", "--lab", "off", "--json", "--state", "state"];
    let listen = ["--listen", "127.0.0.1:0"];
    let mut sharing = Running::start(at.servent(&[&share[..], &listen].concat()));
    let said = sharing.event("no_port");
    assert_eq!(said["protocol"], "tcp", "{said}");
    assert!(said["why"].as_str().unwrap().contains("this machine's own address"), "{said}");
    sharing.signal("INT");
    assert_eq!(sharing.end().code(), Some(0));
    let (_place, via) = meeting_place(&at, &[]);
    let receive = ["receive", "--via", &via, "--map-port", "-o", "in/", "--yes", "--json"];
    let mut receiver = with_code(&at, &[&receive[..], &listen].concat(), CODE);
    assert_eq!(receiver.event("no_port")["protocol"], "udp");
    receiver.event("at_place");
}

#[test]
fn a_name_that_no_place_can_have_is_refused_before_anything_is_asked() {
    let at = Place::new();
    at.share("song.ogg", 1_000);
    let complain = |words: &[&str], wanted| complains(&at.run(words), 2, wanted);
    for (name, wanted) in [
        ("place:0", "a port is a number from 1 to 65535"),
        ("place:99999", "a port is a number from 1 to 65535"),
        ("http://place", "`http://place` is no meeting place"),
        ("", "`` is no meeting place"),
    ] {
        complain(&["doctor", "--via", name], wanted);
        complain(&["send", "--via", name, "shared/song.ogg"], wanted);
        complain(&["receive", "--via", name, "--yes"], wanted);
        complain(&["share", "shared", "--listen", "127.0.0.1:0", "--meet", name], wanted);
    }
    complain(&["get", &format!("meet://{CODE}@place:0/song.ogg")], "a port is a number");
    complain(&["meet", "--listen", "127.0.0.1:65535"], "takes the next port, too");
    complain(&["doctor", "--set", "via=a/b"], "`a/b` is no meeting place");
    complain(&["send", "http://10.0.0.7", "shared/song.ogg", "--open"], "is no receiver");
}

#[test]
fn an_address_before_the_files_is_no_file_where_the_place_finds_the_receiver() {
    let at = Place::new();
    std::fs::write(at.path("song.ogg"), "words").unwrap();
    for named in ["10.0.0.7", "10.0.0.7:6348", "[::1]:6348", "::1", "host.example:6348"] {
        for how in [&["--via", "place.example"][..], &["--lan"]] {
            let words = [&["send"], how, &[named, "song.ogg"]].concat();
            complains(&at.run(&words), 2, "no host is named");
        }
    }
    complains(
        &at.run(&["send", "--via", "place.example", "other.ogg"]),
        4,
        "cannot read other.ogg",
    );
}

#[test]
fn the_doctor_says_what_stands_between() {
    let at = Place::new();
    let (_place, via) = meeting_place(&at, &[]);
    let output = at.run(&["doctor", "--via", &via, "--json"]);
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["ipv4"]["mapping"], "none", "{told}");
    assert_eq!(told["ipv4"]["filtering"], "address_dependent", "{told}");
    assert_eq!(told["ipv4"]["largest"], 8_952, "loopback carries the largest: {told}");
    assert!(told["ipv4"]["own"].is_array(), "{told}");
    assert!(told["ipv6"].is_null(), "{told}");
    let set = format!("via={via}");
    let output = at.run(&["doctor", "--set", &set]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("no router translates it") && said.contains("What would help"), "{said}");
}

#[test]
fn a_path_to_a_visitor_of_a_servent_says_which_visitor() {
    let at = Place::new();
    let (_place, via) = meeting_place(&at, &[]);
    at.share("song.ogg", 1_000);
    let share = ["share", "shared", "--listen", "127.0.0.1:0", "--lab", "off", "--json"];
    let share = [&share[..], &["--state", "state", "--meet", &via]].concat();
    let mut sharing = with_code(&at, &share, CODE);
    sharing.event("at_place");
    let link = format!("meet://{CODE}@{via}/song.ogg");
    let got = at.run(&["get", &link, "-o", "got.ogg", "--state", "getting"]);
    let path = sharing.event("path");
    assert_eq!(path["visitor"], 1, "{path} {}", String::from_utf8_lossy(&got.stderr));
}

/// A place, and a sender with a link that waits there for its receivers.
pub(crate) fn waiting_sender(
    at: &Place,
    receivers: &str,
    more: &[&str],
) -> (Running, Running, String) {
    let (place, via) = meeting_place(at, &[]);
    let send = ["send", "--to", receivers, "--via", &via, "song.ogg", "--json"];
    let mut sender = with_code(at, &[&send[..], more].concat(), CODE);
    let link = sender.event("meeting")["link"].as_str().unwrap().to_owned();
    (place, sender, link)
}

pub(crate) fn receive_by(at: &Place, link: &str, into: &str) -> Running {
    Running::start(at.servent(&["receive", "--from", link, "-o", into, "--yes", "--json"]))
}

#[test]
fn a_receiver_of_several_that_is_silent_is_told_as_that_of_one() {
    let at = Place::new();
    std::fs::write(at.path("song.ogg"), noise(3_000_000)).unwrap();
    let (_place, mut sender, link) = waiting_sender(&at, "1", &["--limit-rate", "200k"]);
    let mut receiver = receive_by(&at, &link, "in/");
    receiver.event("receiving");
    assert_eq!(sender.event("joined")["visitor"], 1, "it is told who has shown the code");
    receiver.signal("STOP");
    let clock = servent::Clock::new();
    let begun = clock.now();
    let silent = sender.event("silent");
    let took = clock.now().since(begun).as_secs();
    assert_eq!((&silent["visitor"], &silent["seconds"]), (&1.into(), &7.into()), "{silent}");
    assert!(took < 10, "{took} s");
    receiver.signal("CONT");
    assert_eq!(sender.event("heard")["visitor"], 1);
    sender.signal("INT");
    let each = sender.event("receivers")["each"].clone();
    assert_eq!((&each[0]["has"], &each[0]["why"]), (&false.into(), &"stopped by the user".into()));
    assert_eq!(each.as_array().unwrap().len(), 1, "{each}");
    assert_eq!(sender.end().code(), Some(130));
}

#[test]
fn a_receiver_that_comes_twice_by_a_link_counts_once_and_is_named_once() {
    let at = Place::new();
    let bytes = noise(100_000);
    std::fs::write(at.path("song.ogg"), &bytes).unwrap();
    let (_place, mut sender, link) = waiting_sender(&at, "2", &[]);
    for again in [false, true] {
        assert_eq!(receive_by(&at, &link, "in/").end().code(), Some(0));
        let has = sender.event("has");
        assert_eq!((&has["have"], &has["again"]), (&1.into(), &again.into()), "{has}");
    }
    // Another folder of this machine is another receiver, and it has one file already.
    std::fs::create_dir(at.path("other")).unwrap();
    assert_eq!(receive_by(&at, &link, "other/").end().code(), Some(0));
    let all = sender.event("sent_all");
    let each = all["each"].as_array().unwrap();
    assert_eq!(
        each.iter().map(|one| one["has"] == true).collect::<Vec<_>>(),
        [true, true],
        "{all}"
    );
    assert_eq!(sender.end().code(), Some(0));
    assert_same(&at.path("in/song.ogg"), &bytes);
    assert_same(&at.path("other/song.ogg"), &bytes);
}

#[test]
fn a_receiver_that_takes_no_file_does_not_count() {
    let at = Place::new();
    for folder in ["photos", "way", "in"] {
        std::fs::create_dir(at.path(folder)).unwrap();
    }
    for name in ["photos/a", "photos/b"] {
        std::fs::write(at.path(name), noise(10_000)).unwrap();
    }
    std::fs::write(at.path("way/photos"), "a file where a folder is to be").unwrap();
    let (_place, via) = meeting_place(&at, &[]);
    let send = ["send", "--to", "1", "--via", &via, "photos", "--json"];
    let mut sender = with_code(&at, &send, CODE);
    let link = sender.event("meeting")["link"].as_str().unwrap().to_owned();
    assert_eq!(receive_by(&at, &link, "way/").end().code(), Some(4));
    assert_eq!(sender.event("left")["why"], "it took none of the files");
    assert_eq!(receive_by(&at, &link, "in/").end().code(), Some(0));
    let all = sender.event("sent_all");
    let each = all["each"].as_array().unwrap();
    let have: Vec<_> = each.iter().map(|one| one["has"] == true).collect();
    assert_eq!(have, [false, true], "{all}");
    assert_eq!(sender.end().code(), Some(0));
}

#[test]
fn an_option_that_would_be_without_effect_is_refused() {
    let at = Place::new();
    at.share("song.ogg", 1_000);
    let listen = ["--listen", "127.0.0.1:0", "--lab", "off"];
    let share = [&["share", "shared", "--relay", "2M"][..], &listen].concat();
    complains(&at.run(&share), 2, "--relay is for a meeting place");
    let link = format!("meet://{CODE}@place.example");
    for given in [&["--open"][..], &["--code-file", "code"], &["--code", CODE]] {
        let words = [&["receive", "--from", &link, "-o", "in/", "--yes"], given].concat();
        complains(&at.run(&words), 2, "the link has the code in it");
    }
    let waits = ["send", "--to", "2", "--wait=3s", "--via", "127.0.0.1", "shared/song.ogg"];
    let said = at.run(&waits);
    let why = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.code(), Some(2), "{why}");
    assert!(why.contains("'--to <N>' cannot be used with '--wait"), "{why}");
}

/// Each is one that may be made to knock somewhere, so they are few in a minute; and one that
/// has the right code need not wait for that minute.
#[test]
fn visitors_with_half_a_code_do_not_keep_out_one_that_has_all_of_it() {
    let at = Place::new();
    std::fs::write(at.path("song.ogg"), noise(1_000)).unwrap();
    let (_place, mut sender, link) = waiting_sender(&at, "1", &[]);
    let wrong = link.replace("violin", "garden");
    for n in 0..21 {
        let (code, what) = (Some(9), format!("stranger {n}"));
        assert_eq!(receive_by(&at, &wrong, &format!("wrong{n}/")).end().code(), code, "{what}");
    }
    let clock = servent::Clock::new();
    let begun = clock.now();
    assert_eq!(receive_by(&at, &link, "in/").end().code(), Some(0));
    let took = clock.now().since(begun).as_secs();
    assert!(took < 15, "{took} s");
    assert_eq!(sender.event("sent_all")["each"].as_array().unwrap().len(), 1);
    assert_eq!(sender.end().code(), Some(0));
}

#[test]
fn a_link_that_is_for_a_download_is_named_as_that() {
    let at = Place::new();
    let complain = |from: &str, wanted: &str| {
        let said = at.run(&["receive", "--from", from, "-o", "in/", "--yes"]);
        complains(&said, 2, wanted);
    };
    let link = format!("meet://{CODE}@place.example/Music/song.ogg");
    complain(&link, "the link leads to /Music/song.ogg at a servent");
    complain(&link, &format!("next: download it: servent get {link}"));
    let url = "http://10.0.0.7:6346/get/0/song.ogg";
    complain(url, &format!("next: download it: servent get {url}"));
    complain("ftp://10.0.0.7", "`ftp://10.0.0.7` is the address of no sender");
    assert!(!at.path("in/song.ogg").exists());
}

/// A person reads it, and the program does what it could be told to do.
#[test]
fn those_that_wait_on_are_not_told_to_try_again_when_their_place_ends() {
    let at = Place::new();
    at.share("song.ogg", 1_000);
    let mut place = at.sharing(&["--place=127.0.0.1:0"]);
    let via = place.event("place")["address"].as_str().unwrap().to_owned();
    let listen = ["--listen", "127.0.0.1:0"];
    let share = ["share", "shared", "--meet", &via, "--lab", "off", "--state", "other"];
    let waits = [
        ("receive", [&["receive", "--via", &via, "-o", "in/"][..], &listen].concat()),
        ("send", vec!["send", "--to", "2", "--via", &via, "shared/song.ogg"]),
        ("share", [&share[..], &listen].concat()),
    ];
    let mut running = Vec::new();
    for (n, (name, words)) in waits.into_iter().enumerate() {
        let mut command = at.servent(&words);
        let code = CODE.replace("ocean", ["ocean", "river", "island"][n]);
        command.env("SERVENT_CODE", code).stdin(Stdio::null());
        let log = at.path(&format!("{name}.log"));
        command.stderr(std::fs::File::create(&log).unwrap()).stdout(Stdio::null());
        running.push((command.spawn().unwrap(), log, name));
    }
    let told = |log: &std::path::Path| std::fs::read_to_string(log).unwrap();
    until("each of them has its seat", || {
        let told = at.run(&["status", "--state", "state", "--json"]).stdout;
        let told: serde_json::Value = serde_json::from_slice(&told).unwrap_or_default();
        told["servents"][0]["place"]["waiting"] == 3
    });
    place.signal("TERM");
    for (child, log, name) in &mut running {
        until("it says that the place ends", || told(log).contains("is being shut down"));
        let told = told(log);
        assert!(!told.contains("try again"), "{name}: {told}");
        assert!(told.contains("is being shut down; waiting for it"), "{name}: {told}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn a_servent_that_is_a_place_says_so_and_a_taken_port_before_it_says_that_it_listens() {
    let at = Place::new();
    at.share("song.ogg", 1_000);
    let mut sharing = at.sharing(&["--place=127.0.0.1:0", "--relay", "2M"]);
    let listens = sharing.event("place")["address"].clone();
    let status = |words: &[&str]| {
        let told = at.run(&[&["status", "--state", "state"], words].concat());
        String::from_utf8(told.stdout).unwrap()
    };
    let told: serde_json::Value = serde_json::from_str(&status(&["--json"])).unwrap();
    let place = &told["servents"][0]["place"];
    assert_eq!((&place["address"], &place["relay"]), (&listens, &2_000_000.into()), "{told}");
    assert_eq!((&place["relayed"], &place["waiting"]), (&0.into(), &0.into()), "{told}");
    let listens = listens.as_str().unwrap();
    let wanted = format!("\nmeeting place on UDP {listens}   passes on 2 MB a second   0 pairs");
    assert!(status(&[]).contains(&wanted), "{}", status(&[]));
    let place = format!("--place={listens}");
    for command in ["share", "room"] {
        let words = [command, "shared", "--state", "other", &place, "--json"];
        let listen =
            if command == "share" { &["--listen", "127.0.0.1:0", "--lab", "off"][..] } else { &[] };
        let said = at.servent(&[&words[..], listen].concat()).output().unwrap();
        complains(&said, 6, &format!("a port of the meeting place at UDP {listens} is in use"));
        let out = String::from_utf8_lossy(&said.stdout);
        assert!(!out.contains("listening"), "{command}: {out}");
    }
    // The port that is taken is named, also where that is the next one.
    let second: SocketAddr = listens.parse().unwrap();
    let (second, first) = (second.to_string(), SocketAddr::new(second.ip(), second.port() - 1));
    let words = ["share", "shared", "--state", "other", "--listen", "127.0.0.1:0", "--lab", "off"];
    let said = at.run(&[&words[..], &[&format!("--place={first}")]].concat());
    complains(
        &said,
        6,
        &format!("a port of the meeting place at UDP {second}, the next one after"),
    );
}
