//! What `send` and `receive` keep of files: names, dates, the right to run; and what
//! they do with those that cannot be read, or change meanwhile.

#![expect(clippy::disallowed_methods, reason = "it measures how long a command takes to end")]

use crate::program;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use program::{
    Place, Running, assert_same, complains, ended, finish, free_port, noise, pause, receiving,
    until,
};

fn spawned(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[track_caller]
fn succeeds(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn names_arrive_as_they_are_up_to_the_last_byte() {
    let place = Place::new();
    let long = "x".repeat(250);
    let names: Vec<Vec<u8>> = vec![
        format!("{long}.aaa").into_bytes(),
        format!("{long}.bbb").into_bytes(),
        "ä".repeat(127).into_bytes(),
        b"a\xff.txt".to_vec(),
        b"a\xfe.txt".to_vec(),
    ];
    fs::create_dir(place.path("names")).unwrap();
    for name in &names {
        fs::write(place.path("names").join(OsStr::from_bytes(name)), name).unwrap();
    }
    let (running, at) = receiving(&place, &["--once"]);
    succeeds(&place.run(&["send", "--open", &at, "names"]));
    assert!(running.end().success());
    for name in &names {
        let arrived = place.path("in/names").join(OsStr::from_bytes(name));
        assert!(fs::read(&arrived).unwrap() == *name, "{}", arrived.display());
    }
    assert_eq!(fs::read_dir(place.path("in/names")).unwrap().count(), names.len());
}

#[test]
fn dates_and_the_right_to_run_arrive_and_no_other_rights() {
    let place = Place::new();
    let at_time = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    fs::create_dir_all(place.path("tree/sub")).unwrap();
    for (name, mode, date) in
        [("tree/run.sh", 0o4_777, 1_000_000_000), ("tree/sub/a", 0o600, 86_400)]
    {
        fs::write(place.path(name), name).unwrap();
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(mode)).unwrap();
        File::open(place.path(name)).unwrap().set_modified(at_time(date)).unwrap();
    }
    File::open(place.path("tree/sub")).unwrap().set_modified(at_time(7)).unwrap();
    File::open(place.path("tree")).unwrap().set_modified(at_time(8)).unwrap();
    let (running, at) = receiving(&place, &["--once"]);
    succeeds(&place.run(&["send", "--open", &at, "tree"]));
    assert!(running.end().success());
    let found = |name: &str| {
        let about = fs::metadata(place.path("in").join(name)).unwrap();
        (about.mtime(), about.mode() & 0o7_777)
    };
    fs::write(place.path("plain"), "").unwrap();
    let umask = 0o666 & !(fs::metadata(place.path("plain")).unwrap().mode() & 0o777);
    assert_eq!(found("tree/run.sh"), (1_000_000_000, 0o777 & !umask & !(umask >> 2 & 0o111)));
    assert_eq!(found("tree/sub/a"), (86_400, 0o666 & !umask));
    assert_eq!((found("tree/sub").0, found("tree").0), (7, 8));
}

#[test]
fn a_file_that_changes_while_it_is_read_is_no_success_and_gets_no_name() {
    let place = Place::new();
    // Longer than what is read ahead.
    fs::write(place.path("log"), noise(3_000_000)).unwrap();
    let (running, at) = receiving(&place, &["--once"]);
    let sender = spawned(place.servent(&["send", "--open", &at, "log", "--limit-rate", "1M"]));
    until("it is under way", || {
        fs::metadata(place.path("in/log.part")).is_ok_and(|part| part.len() > 60_000)
    });
    // As long as before, and other bytes at the end.
    let mut other = noise(3_000_000);
    other[2_999_999] ^= 1;
    fs::write(place.path("log"), other).unwrap();
    let output = finish(sender);
    complains(&output, 5, "it has changed since it was offered");
    assert_eq!(running.end().code(), Some(5));
    assert_eq!(fs::read_dir(place.path("in")).unwrap().count(), 0, "neither whole nor in part");
}

/// One file of the folder is gone when its turn comes.
#[test]
fn what_cannot_be_read_is_named_on_both_sides_and_the_rest_arrives() {
    let place = Place::new();
    let (_, bytes) = place.share("b", 300_000);
    fs::write(place.path("shared/a"), "a").unwrap();
    fs::write(place.path("shared/c"), "c").unwrap();
    std::os::unix::fs::symlink("gone", place.path("shared/d")).unwrap();
    let port = format!("127.0.0.1:{}", free_port());
    let sender = spawned(place.servent(&["send", "--open", "--wait=60s", &port, "shared"]));
    let mut waiting = Waiting(sender);
    waiting.until_it_waits();
    fs::remove_file(place.path("shared/a")).unwrap();
    let receive = ["receive", "--once", "--listen", &port, "-o", "in/", "--open", "--yes"];
    let received = place.run(&receive);
    let sent = finish(waiting.0);
    for output in [&sent, &received] {
        complains(output, 10, "2 files did not travel");
        complains(output, 10, "shared/a: No such file");
        complains(output, 10, "shared/d: its link leads nowhere");
    }
    assert_same(&place.path("in/shared/b"), &bytes);
    assert_same(&place.path("in/shared/c"), b"c");
    assert!(!place.path("in/shared/a").exists());
}

/// Ctrl-C at the receiver is an answer, for which nothing is waited; with `--wait` the
/// receiver may be started again.
#[test]
fn a_receiver_that_its_user_stops_ends_its_sender_unless_that_is_to_wait() {
    let place = Place::new();
    let bytes = noise(3_000_000);
    fs::write(place.path("film"), &bytes).unwrap();
    let (running, at) = receiving(&place, &["--once"]);
    let slow = ["send", "--open", &at, "film", "--limit-rate", "1M"];
    let stop = |running: Running, part: &str, sender: &mut Child| {
        until("it is under way", || {
            fs::metadata(place.path(part)).is_ok_and(|part| part.len() > 60_000)
        });
        assert!(sender.try_wait().unwrap().is_none(), "it sends");
        running.signal("INT");
        assert_eq!(running.end().code(), Some(130));
    };
    let mut sender = spawned(place.servent(&slow));
    stop(running, "in/film.part", &mut sender);
    complains(&finish(sender), 9, "was stopped by its user; about ");

    let again = ["receive", "--once", "--open", "--yes", "--listen", &at, "-o", "again/"];
    let running = Running::start(place.servent(&again));
    let mut sender = spawned(place.servent(&[&slow[..], &["--wait=60s"]].concat()));
    stop(running, "again/film.part", &mut sender);
    succeeds(&place.run(&again));
    succeeds(&finish(sender));
    assert_same(&place.path("again/film"), &bytes);
}

/// A sender without its receiver.
struct Waiting(Child);

impl Waiting {
    /// It says so on standard error, which is read again later.
    fn until_it_waits(&mut self) {
        pause(Duration::from_secs(2));
        assert!(self.0.try_wait().unwrap().is_none(), "it waits");
    }
}

#[test]
fn a_sender_waits_for_its_receiver_and_goes_on_when_that_starts_again() {
    let place = Place::new();
    let bytes = noise(3_000_000);
    fs::write(place.path("film"), &bytes).unwrap();
    let at = format!("127.0.0.1:{}", free_port());
    let slow = ["send", "--open", "--wait=60s", &at, "film", "--limit-rate", "1M"];
    let sender = spawned(place.servent(&slow));
    let mut waiting = Waiting(sender);
    waiting.until_it_waits();
    let receive = ["receive", "--listen", &at, "-o", "in/", "--open", "--yes", "--json"];
    let first = Running::start(place.servent(&receive));
    until("some of it is here", || {
        fs::metadata(place.path("in/film.part")).is_ok_and(|part| part.len() > 500_000)
    });
    first.kill();
    let mut second = Running::start(place.servent(&receive));
    let received = second.event("received");
    let carried = received["carried"].as_u64().unwrap();
    assert!(carried < 2_600_000, "only the rest travels: {carried}");
    succeeds(&finish(waiting.0));
    assert_same(&place.path("in/film"), &bytes);
}

#[test]
fn a_sender_waits_for_an_address_that_is_silent_no_longer_than_it_was_told() {
    let place = Place::new();
    fs::write(place.path("film"), noise(1_000)).unwrap();
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = silent.local_addr().unwrap().to_string();
    let begun = std::time::Instant::now();
    let sender = spawned(place.servent(&["send", "--open", "--wait=5s", &at, "film"]));
    complains(&finish(sender), 3, "no receiver answers");
    let took = begun.elapsed();
    assert!(took >= Duration::from_secs(5) && took < Duration::from_secs(7), "{took:?}");
}

/// How long a signal takes to end it.
fn stops(mut child: Child) -> Duration {
    let begun = std::time::Instant::now();
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "INT", &pid]).status().unwrap().success());
    let status = ended(&mut child);
    assert!(!status.success());
    begun.elapsed()
}

#[test]
fn ctrl_c_ends_either_side_within_a_second_whatever_became_of_the_other() {
    let place = Place::new();
    fs::write(place.path("film"), noise(3_000_000)).unwrap();
    let limit = Duration::from_millis(1_500); // On a busy machine.
    let (mut receiver, at) = receiving(&place, &["--once"]);
    let send = ["send", "--open", &at, "film", "--limit-rate", "200k"];
    // A sender is killed and comes again.
    let mut first = spawned(place.servent(&send));
    receiver.event("receiving");
    first.kill().unwrap();
    first.wait().unwrap();
    let second = spawned(place.servent(&send));
    pause(Duration::from_millis(300));
    let begun = std::time::Instant::now();
    receiver.signal("INT");
    receiver.ended();
    assert!(begun.elapsed() < limit, "the receiver took {:?}", begun.elapsed());
    // Its receiver is gone.
    let took = stops(second);
    assert!(took < limit, "the sender took {took:?}");
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let mute = silent.local_addr().unwrap().to_string();
    let waits = spawned(place.servent(&["send", "--open", &mute, "film"]));
    pause(Duration::from_millis(300));
    let took = stops(waits);
    assert!(took < limit, "it took {took:?} where no receiver answers");
}

/// What is on its way to a slow receiver takes seconds, and its sender does not wait for that.
#[test]
fn a_receiver_hears_within_a_second_that_a_slow_sender_was_stopped() {
    let place = Place::new();
    fs::write(place.path("film"), noise(3_000_000)).unwrap();
    let (mut receiver, at) = receiving(&place, &["--once"]);
    let sender = spawned(place.servent(&["send", "--open", &at, "film", "--limit-rate", "200k"]));
    receiver.event("receiving");
    pause(Duration::from_millis(500));
    let clock = servent::Clock::new();
    let begun = clock.now();
    assert!(stops(sender) < Duration::from_millis(1_500));
    let failed = receiver.event("failed");
    let took = clock.now().since(begun).as_millis();
    assert!(took < 2_000, "{took} ms");
    let what = failed["what"].as_str().unwrap();
    assert!(what.contains("the sender stopped"), "{failed}");
}

#[test]
fn a_dead_address_of_a_name_does_not_keep_the_other_from_working() {
    let place = Place::new();
    fs::write(place.path("film"), "film").unwrap();
    let (running, at) = receiving(&place, &["--once"]);
    let port = at.rsplit_once(':').unwrap().1;
    // One address where nothing answers, on the very port. Who has no IPv6 finds that
    // out at once.
    let dead = std::net::UdpSocket::bind(format!("[::1]:{port}"));
    let dead_at = ["::1".parse().unwrap(), "127.0.0.1".parse().unwrap()];
    let to = format!("both.test:{port}");
    let Some(mut command) = place.knowing("both.test", &dead_at, &["send", "--open", &to, "film"])
    else {
        return;
    };
    let begun = std::time::Instant::now();
    let sent = finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    succeeds(&sent);
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    assert!(running.end().success());
    assert_same(&place.path("in/film"), b"film");
    drop(dead);
}

#[test]
fn the_result_is_one_sentence_and_datagrams_are_counted_for_those_who_ask() {
    let place = Place::new();
    for name in ["a", "b"] {
        fs::write(place.path(name), noise(10_000)).unwrap();
    }
    let (mut running, at) = receiving(&place, &[]);
    let brief = succeeds(&place.run(&["send", "--open", &at, "a", "b"]));
    assert!(brief.contains("2 files sent to 127.0.0.1") && !brief.contains(": 2 files"), "{brief}");
    let received = running.event("received_all");
    let size = &received["counters"]["datagram_in"];
    assert!(
        brief.contains(&format!("direct, datagrams of {size} bytes, round trip")),
        "both sides name the same size: {size} and {brief}"
    );
    assert!(!brief.contains("system call"), "{brief}");
    let long = succeeds(&place.run(&["send", "-v", "--open", &at, "a", "b"]));
    assert!(long.contains("system call"), "{long}");
}

#[test]
fn a_device_takes_what_is_sent() {
    let place = Place::new();
    fs::write(place.path("a"), noise(100_000)).unwrap();
    let receive = ["receive", "--listen", "127.0.0.1:0", "-o", "/dev/null", "--open", "--yes"];
    let mut running = Running::start(place.servent(&[&receive[..], &["--json"]].concat()));
    let at = running.event("listening")["address"].as_str().unwrap().to_owned();
    succeeds(&place.run(&["send", "--open", &at, "a"]));
    assert_eq!(running.event("received")["bytes"], 100_000);
    assert!(running.end().success());
}

#[test]
fn a_link_in_the_inbox_leads_nothing_out_of_it() {
    let place = Place::new();
    place.share("b", 1_000);
    fs::create_dir_all(place.path("in")).unwrap();
    fs::create_dir_all(place.path("out")).unwrap();
    std::os::unix::fs::symlink("../out", place.path("in/shared")).unwrap();
    let (running, at) = receiving(&place, &["--once"]);
    let sent = place.run(&["send", "--open", &at, "shared"]);
    assert!(!sent.status.success());
    assert_eq!(running.end().code(), Some(4));
    assert_eq!(entries(&place.path("out")), Vec::<PathBuf>::new());
}

/// In the receiver's folder a file has the name of a folder, and a folder that of a file.
#[test]
fn what_the_receiver_has_no_name_for_is_named_on_both_sides_and_the_rest_arrives() {
    let place = Place::new();
    let (_, bytes) = place.share("c", 300_000);
    for folder in ["shared/a/deep", "shared/b", "shared/e", "in/shared/b"] {
        fs::create_dir_all(place.path(folder)).unwrap();
    }
    for file in ["a/one", "a/deep/two", "b/three", "f"] {
        fs::write(place.path(&format!("shared/{file}")), file).unwrap();
    }
    fs::create_dir_all(place.path("in/shared/f")).unwrap();
    for file in ["a", "e"] {
        fs::write(place.path(&format!("in/shared/{file}")), "mine").unwrap();
    }
    let before = fs::metadata(place.path("in/shared/a")).unwrap().modified().unwrap();
    let port = format!("127.0.0.1:{}", free_port());
    let sender = spawned(place.servent(&["send", "--open", "--wait=60s", &port, "shared"]));
    let receive = ["receive", "--once", "--listen", &port, "-o", "in/", "--open", "--yes"];
    let received = place.run(&receive);
    let sent = finish(sender);
    for output in [&sent, &received] {
        complains(output, 10, "3 files did not travel");
        for name in ["a/one", "a/deep/two"] {
            let why = "at the receiver shared/a is no folder, and has to be one";
            complains(output, 10, &format!("shared/{name}: {why}"));
        }
        complains(output, 10, "shared/e/: at the receiver shared/e is no folder");
        complains(output, 10, "once the receiver has taken that away, send it again");
    }
    assert_same(&place.path("in/shared/c"), &bytes);
    assert_same(&place.path("in/shared/b/three"), b"b/three");
    assert_same(&place.path("in/shared/f (2)"), b"f");
    assert_same(&place.path("in/shared/a"), b"mine");
    let after = fs::metadata(place.path("in/shared/a")).unwrap().modified().unwrap();
    assert_eq!(after, before, "it got the date of the folder");
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// How many MiB a sender says have reached the receiver.
fn mebibytes_reached(waiting: &serde_json::Value) -> f64 {
    let why = waiting["why"].as_str().unwrap();
    let number = why.rsplit_once("about ").and_then(|(_, rest)| rest.split_once(" MiB of "));
    number.and_then(|(number, _)| number.parse().ok()).unwrap_or_else(|| panic!("{why}"))
}

#[test]
fn what_the_receiver_had_before_counts_as_arrived_at_the_sender() {
    let place = Place::new();
    std::fs::write(place.path("song.ogg"), noise(8_000_000)).unwrap();
    let (mut running, at) = receiving(&place, &[]);
    let quick = ["--set", "unicast.unreachable=1s", "--limit-rate", "1M", "--json"];
    let send = [&["send", "--open", &at, "song.ogg"][..], &quick].concat();
    let mut sender = Running::start(place.servent(&send));
    let mut reached = Vec::new();
    for least in [4_000_000, 5_000_000] {
        while running.event("progress")["bytes"].as_u64() < Some(least) {}
        running.kill();
        reached.push(mebibytes_reached(&sender.event("waiting")));
        let take = ["receive", "--listen", &at, "-o", "in/", "--json", "--open", "--yes"];
        running = Running::start(place.servent(&take));
    }
    assert!(reached.iter().all(|reached| *reached > 3.3), "of 8 MB: {reached:?} MiB");
    sender.event("sent");
    assert_eq!(sender.end().code(), Some(0));
}
