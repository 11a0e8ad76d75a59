//! The one that leads is killed again and again while clients wait in line and
//! others download.

use std::net::{IpAddr, Ipv4Addr};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use servent::Clock;

use crate::members::{Member, Site, Told};
use crate::program::{Wire, assert_same, finish, pause, until};

/// How often the one that leads is killed; more with `SERVENT_TEST_KILLS`.
fn kills() -> usize {
    std::env::var("SERVENT_TEST_KILLS").map_or(3, |n| n.parse().expect("a number"))
}

/// The addresses from which places are asked for, and from which curl downloads:
/// a client that comes from the address of an upload could claim its slot.
const WAITING: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 3));
const CURL: &str = "127.0.0.4";

fn ask(member: &Member, told: Option<&Told>) -> Option<Told> {
    let asked = std::panic::catch_unwind(|| {
        Member::ask_on(Wire::connect_from(WAITING, member.at), told, &[])
    });
    asked.ok().and_then(|(wire, reply)| Told::from_reply(wire, &reply))
}

/// Downloads that run through all deaths, and end when the last leader is quick.
struct Downloads<'a> {
    site: &'a Site,
    gets: Vec<Child>,
    curl: JoinHandle<()>,
}

/// The dialects of our own.
const GETS: [&str; 2] = ["parq", "passive"];

/// Shares the files that they download.
fn share_for_downloads(site: &Site) {
    for name in GETS.iter().chain(&["curl"]) {
        site.place.share(&format!("z-{name}"), 1_500_000 + kills() * 150_000 + name.len());
    }
}

impl<'a> Downloads<'a> {
    /// Each of a file of its own, which takes until the last takeover.
    fn begin(site: &'a Site, members: &[Member; 2]) -> Self {
        let get = |name: &&str| {
            let url = |one: &Member| format!("http://{}/shared/z-{name}", one.at);
            let [first, second] = members.each_ref().map(url);
            let state = format!("state-{name}");
            let mut words = vec!["get", &first, "--mirror", &second, "-o", name, "--state", &state];
            words.extend(["--dialect", name, "--wait"]);
            let mut get = site.place.servent(&words);
            get.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let urls = members.each_ref().map(|one| format!("http://{}/shared/z-curl", one.at));
        let (dir, clock) = (site.place.dir.path().to_owned(), Clock::new());
        // It goes on where it was, at either of them, as a script would.
        let curl = std::thread::spawn(move || {
            let begun = clock.now();
            for url in urls.iter().cycle() {
                let mut curl = Command::new("curl");
                curl.args(["-sS", "--fail", "-C", "-", "--interface", CURL, "-o", "curl", url]);
                let done = curl.current_dir(&dir).stderr(Stdio::null()).status().unwrap();
                if done.success() {
                    return;
                }
                let took = clock.now().since(begun);
                assert!(took.as_micros() < 40_000_000 * (kills() as u64 + 3), "{took:?}");
                pause(Duration::from_millis(200));
            }
        });
        let gets = GETS.iter().map(get).collect();
        let all = Self { site, gets, curl };
        until("they download", || all.sizes().iter().all(|size| *size > 0));
        all
    }

    fn sizes(&self) -> Vec<u64> {
        let files = GETS.iter().map(|name| format!("{name}.part")).chain(["curl".into()]);
        let size = |name: String| std::fs::metadata(self.site.place.path(&name));
        files.map(|name| size(name).map_or(0, |file| file.len())).collect()
    }

    /// Everything has arrived, as it is.
    fn end(self) {
        for get in self.gets {
            let output = finish(get);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        self.curl.join().unwrap();
        for name in GETS.iter().chain(&["curl"]) {
            let bytes = std::fs::read(self.site.place.path(&format!("shared/z-{name}"))).unwrap();
            assert_same(&self.site.place.path(name), &bytes);
        }
    }
}

/// Again and again: clients come, the leader is killed while one more asks and
/// others download, and the next leader knows all of them.
#[test]
fn st_2_a_client_that_was_told_a_place_has_it_after_every_takeover() {
    let Some(site) = Site::new() else { return };
    let members = [site.member("one"), site.member("two")];
    let (clock, mut told, mut took) = (Clock::new(), Vec::<Told>::new(), Vec::new());
    let slots = ["--set=queue.slots=4"];
    share_for_downloads(&site);
    let mut leading = site.leads_with(&members[0], &slots);
    let _holder = members[0].occupy();
    let downloads = Downloads::begin(&site, &members);
    let mut standing = site.stands_by_with(&members[1], &slots);
    for round in 0..kills() {
        let (old, new) = (&members[round % 2], &members[(round + 1) % 2]);
        assert_eq!((old.ready(), new.ready()), (200, 503));
        let before = downloads.sizes();
        let grew = || downloads.sizes().iter().zip(&before).all(|(now, before)| now > before);
        until("they download on", grew);
        told.extend((0..5).map(|_| ask(old, None).expect("a place")));
        // One more is told or not told: what it hears decides.
        let late = std::thread::scope(|scope| {
            let late = scope.spawn(|| ask(old, None));
            pause(Duration::from_millis(3 * (round as u64 % 4)));
            leading.kill();
            late.join().unwrap()
        });
        let died = clock.now();
        told.extend(late);
        standing.event("listening");
        took.push(clock.now().since(died));
        let again: Vec<Told> =
            told.iter().map(|one| ask(new, Some(one)).expect("its place")).collect();
        for (before, now) in told.iter().zip(&again) {
            assert_eq!(before.id, now.id, "round {round}");
            let (old, new) = (before.position, now.position);
            assert!(new <= old, "round {round}: {old} has become {new}");
        }
        let mut places: Vec<u64> = again.iter().map(|one| one.position).collect();
        assert!(places.is_sorted(), "round {round}: {places:?}");
        places.dedup();
        assert_eq!(places.len(), again.len(), "a place is two's: {places:?}");
        told = again;
        (leading, standing) = (standing, site.stands_by_with(old, &slots));
    }
    took.sort();
    let of = |percent: usize| took[took.len() * percent / 100];
    println!("takeovers: p50 {:?}, p95 {:?}, {took:?}", of(50), of(95));
    assert!(of(95).as_micros() <= 10_000_000, "{took:?}");
    // The last one is quick.
    standing.kill();
    let last = &members[(kills() + 1) % 2];
    let mut standing = site.stands_by_with(last, &[&slots[..], &["--set=upload_rate=0"]].concat());
    leading.kill();
    standing.event("listening");
    downloads.end();
}
