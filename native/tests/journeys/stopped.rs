//! `servent get` of several files that is stopped: the same command goes on
//! with what has come of each, however little that is.

use std::path::PathBuf;

use crate::program::{Place, Running, assert_same, noise, until};

/// Bytes of each file: less than is saved at a time.
const SIZE: usize = 1_500_000;
/// Bytes of each file that are here when the command is stopped.
const STOPPED_AT: u64 = 700_000;
/// Those of them that may not be known to be safe then. On a busy machine what was
/// written is reported late.
const UNDER_WAY: u64 = 350_000;
/// How the command that goes on is called in the log. What was sent to the one that
/// was stopped does not count: a busy server sends until it sees the client gone.
const AGAIN: &str = "again/1";

/// Two shared files, sent slowly enough to be stopped midway; each request is
/// logged.
struct Slow {
    place: Place,
    files: [(&'static str, Vec<u8>); 2],
    running: Running,
}

impl Slow {
    fn new(more: &[&str]) -> Self {
        let place = Place::new();
        let files = [("one", noise(SIZE)), ("two", noise(SIZE + 7))];
        std::fs::create_dir_all(place.path("shared/music")).unwrap();
        for (name, bytes) in &files {
            std::fs::write(place.path("shared/music").join(name), bytes).unwrap();
        }
        let slowly = ["--set", "upload_rate=1000000", "--access-log", "log"];
        let running = place.sharing(&[&slowly[..], more].concat());
        Self { place, files, running }
    }

    /// The address of the folder of both.
    fn folder(&self, scheme: &str) -> String {
        format!("{scheme}://{}/shared/music", self.running.at)
    }

    fn list(&self, scheme: &str) {
        let lines = self.files.iter().map(|(name, _)| format!("{}/{name}\n", self.folder(scheme)));
        std::fs::write(self.place.path("list"), lines.collect::<String>()).unwrap();
    }

    /// Runs the command until so much of each of these files is here.
    fn stopped(&self, get: &[&str], parts: &[PathBuf]) {
        let mut command = Running::start(self.place.servent(get));
        let has = |part: &PathBuf| std::fs::metadata(part).map_or(0, |part| part.len());
        until("enough of each has come", || parts.iter().all(|part| has(part) >= STOPPED_AT));
        command.signal("INT");
        assert_eq!(command.ended().code(), Some(130));
    }

    /// Runs the command to its end, after which the files are in that folder.
    fn whole(&self, get: &[&str], folder: &str) {
        let again = format!("agent={AGAIN}");
        let output = self.place.run(&[get, &["--set", &again]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for (name, bytes) in &self.files {
            assert_same(&self.place.path(folder).join(name), bytes);
        }
        let left = std::fs::read_dir(self.place.path("state of get/get")).unwrap().count();
        assert_eq!(left, 0, "something is left to resume");
    }

    /// The bytes of each reply with a file to the command that went on.
    fn sent(&self) -> Vec<u64> {
        let log = std::fs::read_to_string(self.place.path("log")).unwrap();
        let bytes = |line: &str| {
            let (asked, reply) = line.split_once(" HTTP/1.1\" ")?;
            let of_a_file = self.files.iter().any(|(name, _)| asked.ends_with(name));
            let again = of_a_file && reply.ends_with(&format!("\"{AGAIN}\""));
            again.then(|| reply.split(' ').nth(1)?.parse().ok())?
        };
        log.lines().filter_map(bytes).collect()
    }

    /// None of the bytes of the last so many files that had come was sent again.
    #[track_caller]
    fn assert_went_on(&self, files: usize) {
        until("the last reply is logged", || self.sent().len() >= files);
        let begun = &self.files[self.files.len() - files..];
        let all: u64 = begun.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        let most = all - files as u64 * (STOPPED_AT - UNDER_WAY);
        let sent: u64 = self.sent().iter().sum();
        assert!(sent <= most, "{sent} of at most {most} bytes");
    }
}

fn list_goes_on(scheme: &str, sharing: &[&str], getting: &[&str]) {
    let slow = Slow::new(sharing);
    slow.list(scheme);
    let get = ["get", "-i", "list", "-o", "here/", "--state", "state of get"];
    let get = [&get[..], getting].concat();
    slow.stopped(&get, &["one", "two"].map(|name| slow.place.path(&format!("here/{name}.part"))));
    slow.whole(&get, "here");
    slow.assert_went_on(2);
}

#[test]
fn a_list_goes_on_with_each_of_its_files() {
    list_goes_on("http", &[], &[]);
}

#[test]
fn a_list_of_a_private_share_goes_on_with_each_of_its_files() {
    list_goes_on("https", &["--tls-self-made"], &["--ca-file", "state/tls-cert.pem"]);
}

#[test]
fn the_last_file_of_a_list_goes_on_too() {
    let slow = Slow::new(&[]);
    slow.list("http");
    let get = ["get", "-i", "list", "-o", "here/", "--state", "state of get", "--parallel", "1"];
    let part = slow.place.path("here/two.part");
    slow.stopped(&get, &[part]);
    assert_same(&slow.place.path("here/one"), &slow.files[0].1);
    slow.whole(&get, "here");
    slow.assert_went_on(1);
}

fn folder_goes_on(slash: &str) {
    let slow = Slow::new(&[]);
    let url = slow.folder("http") + slash;
    let get = ["get", &url, "-o", "here/", "--state", "state of get"];
    let part = |name| slow.place.path(&format!("here/music/{name}.part"));
    slow.stopped(&get, &["one", "two"].map(part));
    slow.whole(&get, "here/music");
    slow.assert_went_on(2);
}

#[test]
fn a_folder_goes_on_with_each_of_its_files() {
    folder_goes_on("/");
}

#[test]
fn a_folder_goes_on_when_it_is_named_like_a_file() {
    folder_goes_on("");
}
