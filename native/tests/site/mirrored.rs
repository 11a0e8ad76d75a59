//! What a person sees who knows several members of a divided site, when the one
//! that sends dies.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use servent::Clock;
use servent_core::time::Instant;

use crate::divided::{Divided, content};
use crate::program::{assert_same, ended, until};

/// The file takes ten seconds.
const SLOW: [&str; 2] = ["--set=upload_rate=200000", "--set=queue.slot_reserve=20s"];

/// Until another member has the part, and then until it is asked.
const GOES_ON: Duration = Duration::from_secs(15);

/// What a program writes to standard error, and when.
fn said(of: impl std::io::Read + Send + 'static) -> Receiver<(Instant, String)> {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        let clock = Clock::new();
        for line in BufReader::new(of).lines().map_while(Result::ok) {
            if send.send((clock.now(), line)).is_err() {
                return;
            }
        }
    });
    lines
}

/// How much of an unfinished file is written.
fn written(part: &Path) -> u64 {
    std::fs::metadata(part).map_or(0, |part| part.blocks() * 512)
}

/// Downloads from these members, the first one named first, and kills the one that
/// sends. Returns what was said before that, and after it.
fn killed(divided: &Divided, asked: &[SocketAddr], owner: usize) -> [Vec<String>; 2] {
    let mut running = divided.start_all(&SLOW);
    let urls: Vec<String> = asked.iter().map(|at| format!("http://{at}/shared/a")).collect();
    let mut words = vec!["get", &urls[0], "-o", "a", "--state", "mine"];
    urls[1..].iter().for_each(|url| words.extend(["--mirror", url]));
    let mut get = divided.site.place.servent(&words);
    let mut get = get.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = said(get.stderr.take().unwrap());
    let (part, whole) = (divided.site.place.path("a.part"), divided.site.place.path("a"));
    until("bytes come", || written(&part) > 300_000);
    let clock = Clock::new();
    let died = clock.now();
    running.remove(owner).kill();
    let mut before = written(&part);
    until("what was on its way is there", || {
        std::mem::replace(&mut before, written(&part)) == written(&part)
    });
    until("bytes come again", || whole.exists() || written(&part) > before + 50_000);
    let stood = clock.now().since(died);
    assert!(ended(&mut get).success());
    assert_same(&whole, &content("a"));
    let (earlier, later): (Vec<_>, Vec<_>) = lines.iter().partition(|(at, _)| *at < died);
    let told = [earlier, later].map(|lines| lines.into_iter().map(|(_, line)| line).collect());
    println!("bytes come again after {stood:?}: {told:#?}");
    assert!(stood.as_micros() < GOES_ON.as_micros() as u64, "{stood:?}");
    told
}

/// Asserts that these lines speak of a member only as they should: by its address,
/// and of the one that is away.
fn speaks_of_the_absent_member(lines: &[Vec<String>; 2], away: SocketAddr) {
    for line in lines.iter().flatten() {
        assert!(!line.contains("//") && !line.contains("is busy"), "{line}");
        let gone = line.contains("hung up") || line.contains("cannot be reached");
        assert!(!gone || line.starts_with(&away.to_string()), "{line}");
    }
    let hung_up = format!("{away} hung up; ");
    assert!(lines[1].iter().any(|line| line.starts_with(&hung_up)), "{lines:?}");
}

fn times(lines: &[Vec<String>; 2], wanted: &str) -> usize {
    lines.iter().flatten().filter(|line| *line == wanted).count()
}

/// Of two members that were both named, the one that sends dies. The other one has
/// the part soon, and is asked for it as soon.
#[test]
fn st_4_a_download_that_knows_both_members_goes_on_when_one_dies() {
    let Some(divided) = Divided::with_names(&["one", "two"]) else { return };
    let owner = divided.owner("a");
    let [away, other] = [owner, 1 - owner].map(|n| divided.members[n].at);
    let lines = killed(&divided, &[away, other], owner);
    speaks_of_the_absent_member(&lines, away);
    assert_eq!(times(&lines, &format!("{other} sends us to {away}")), 1);
    let asks =
        format!("{other} sends us to one that is away (HTTP status 503); asking again in 3 s");
    assert_eq!(times(&lines, &asks), 1);
}

/// The user did not name the member that sends: another one has sent us there, and says who
/// has the part when that one is dead.
#[test]
fn st_4_a_download_that_was_sent_on_goes_on_when_that_member_dies() {
    let Some(divided) = Divided::with_names(&["one", "two", "three"]) else { return };
    let owner = divided.owner("a");
    let [away, other] = [owner, (owner + 1) % 3].map(|n| divided.members[n].at);
    let lines = killed(&divided, &[other], owner);
    speaks_of_the_absent_member(&lines, away);
    assert_eq!(times(&lines, &format!("{other} sends us to {away}")), 1);
}
