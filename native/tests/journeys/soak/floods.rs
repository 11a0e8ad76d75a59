//! Floods of strangers against a share and a receiver, while an honest client
//! measures how long it waits; and whether what they took is given back.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::Lane;
use super::outside::{Has, Waits, has, waits};
use super::strangers::{Flood, TO_A_LAB, TO_A_RECEIVER, TO_A_SHARE};
use crate::program::{Running, Wire, assert_same, finish, pause, until};

/// Strangers of each flood.
const STRANGERS: u64 = 4;
/// How long one is measured in a short run, and when there are minutes for it.
const LENGTHS: [Duration; 2] = [Duration::from_millis(300), Duration::from_secs(8)];
/// What no user minds, however quick it was before: a machine with other things
/// to do is late by itself.
const UNNOTICED: Duration = Duration::from_millis(500);
/// The same for the half that waited less, in a short run.
const SHORTLY: Duration = Duration::from_secs(2);

pub(super) struct Flooded<'a> {
    lane: Lane<'a>,
    share: Running,
    /// One with a lab. It keeps what happens in memory, up to a limit, so other
    /// floods go to the one without.
    lab: Running,
    receiver: (Running, SocketAddr),
    before: [Has; 3],
    /// When the last flood ended.
    since: Instant,
}

impl<'a> Flooded<'a> {
    pub(super) fn new(lane: Lane<'a>) -> Self {
        let place = &lane.place;
        place.share("rare thing", 1_000);
        std::fs::write(place.path("shared/big"), vec![7; 4_000_000]).unwrap();
        // Pages may come, too.
        let pages = ["--allow-origin", "http://room.example"];
        let mut share = shares(&lane, "share", &[&["--lab", "off"][..], &pages].concat());
        let mut lab = shares(&lane, "lab", &["--lab", "127.0.0.1:0"]);
        let url = lab.event("lab")["url"].as_str().unwrap().to_owned();
        lab.lab = url.split('/').nth(2).unwrap().parse().ok();
        for running in [&mut share, &mut lab] {
            running.event("hashed");
        }
        let words = ["receive", "--open", "--yes", "--json", "--listen", "127.0.0.1:0"];
        let receive = place.servent(&[&words[..], &["-o", "inbox/"]].concat());
        let mut receiver = Running::start(logged(receive, "receive"));
        let at = receiver.event("listening")["address"].as_str().unwrap().parse().unwrap();
        let before = [has(share.pid()), has(receiver.pid()), has(lab.pid())];
        Self { lane, share, lab, receiver: (receiver, at), before, since: Instant::now() }
    }

    pub(super) fn flood(&mut self) {
        println!("{:<30} {:>10} {:>10} {:>9} {:>11} files", "", "p50", "p99", "x quiet", "memory");
        let (at, pid) = (self.share.at, self.share.pid());
        self.before[0] = self.floods("share", (at, at, pid), &TO_A_SHARE);
        self.carry();
        let (at, pid) = (self.lab.at, self.lab.pid());
        self.before[2] = self.floods("lab", (at, self.lab.lab.unwrap(), pid), &TO_A_LAB);
        self.since = Instant::now();
        for log in ["share.log", "lab.log", "receive.log"] {
            let size = std::fs::metadata(self.lane.place.path(log)).unwrap().len();
            println!("{log}: {size} bytes");
            assert!(size < 100_000, "{log} has {size} bytes");
        }
    }

    /// Floods to one address, while an honest client downloads from the other; what
    /// the process had before.
    fn floods(
        &self,
        name: &str,
        (at, to, pid): (SocketAddr, SocketAddr, u32),
        floods: &[(&str, Flood)],
    ) -> Has {
        let honest = || {
            let reply = Wire::connect(at).get("/get/1/rare%20thing", &["Connection: close"]);
            assert_eq!((reply.status, reply.body.len()), (200, 1_000));
        };
        let quiet = waits(self.length(), honest);
        let before = has(pid);
        row(&format!("{name}, quiet"), (quiet, quiet), pid);
        for (name, flood) in floods {
            let during = while_it_lasts(to, *flood, || waits(self.length(), honest));
            row(name, (during, quiet), pid);
            self.bearable(name, quiet, during);
            until("descriptors are back", || has(pid).descriptors <= before.descriptors);
        }
        before
    }

    fn length(&self) -> Duration {
        LENGTHS[usize::from(self.lane.soak.long)]
    }

    /// The same to a receiver of files.
    fn carry(&mut self) {
        let length = self.length();
        let (place, at) = (&self.lane.place, self.receiver.1);
        let to = at.to_string();
        let honest = || {
            let mut send = place.servent(&["send", "--open", &to, "shared/rare thing", "-q"]);
            let sent = finish(send.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
            assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
            let whole = std::fs::read(place.path("shared/rare thing")).unwrap();
            assert_same(&place.path("inbox/rare thing"), &whole);
            std::fs::remove_file(place.path("inbox/rare thing")).unwrap();
        };
        let quiet = waits(length, honest);
        self.before[1] = has(self.receiver.0.pid());
        let pid = self.receiver.0.pid();
        row("receive, quiet", (quiet, quiet), pid);
        for (name, flood) in TO_A_RECEIVER {
            let during = while_it_lasts(at, flood, || waits(length, honest));
            row(name, (during, quiet), pid);
            self.bearable(name, quiet, during);
        }
    }

    /// Whether honest clients hardly notice: 99 of 100 wait at most ten times as
    /// long. In a short run there are too few for that, and one of them is late
    /// when the machine is; there the half that waited less is looked at.
    fn bearable(&self, name: &str, quiet: Waits, during: Waits) {
        let (waited, most) =
            if self.lane.soak.long { (during.p99, UNNOTICED) } else { (during.p50, SHORTLY) };
        assert!(waited <= most.max(quiet.p99 * 10), "{name}: {during:?} instead of {quiet:?}");
    }

    /// Descriptors are all back; memory, a minute later, nearly so.
    pub(super) fn settled(self) {
        let pids = [self.share.pid(), self.receiver.0.pid(), self.lab.pid()];
        for (pid, before) in pids.into_iter().zip(self.before) {
            until("descriptors are back", || has(pid).descriptors <= before.descriptors);
        }
        if !self.lane.soak.long {
            return;
        }
        pause(Duration::from_secs(60).saturating_sub(self.since.elapsed()));
        // What the lab keeps of honest clients grows, too, up to its limit.
        for (pid, before) in pids.into_iter().zip(self.before).take(2) {
            let after = has(pid);
            println!("memory before {} KiB, a minute after {} KiB", before.memory, after.memory);
            assert!(after.memory * 10 <= before.memory * 12, "{after:?} of {before:?}");
        }
    }
}

/// A servent that shares and looks for no other.
fn shares(lane: &Lane, name: &str, more: &[&str]) -> Running {
    let words = ["share", "shared", "--json", "--state", name, "--listen", "127.0.0.1:0"];
    let alone = ["--slots", "4", "--set", "overlay.degree=0"];
    let share = lane.place.servent(&[&words[..], &alone, more].concat());
    let mut share = Running::start(logged(share, name));
    share.at = share.event("listening")["at"].as_str().unwrap().parse().unwrap();
    share
}

/// What an honest client waited and what the process had, as a row of a table.
fn row(name: &str, (during, quiet): (Waits, Waits), pid: u32) {
    let Has { memory, descriptors } = has(pid);
    let times = during.p99.as_secs_f64() / quiet.p99.as_secs_f64();
    let [p50, p99] = [during.p50, during.p99].map(|wait| format!("{wait:.1?}"));
    println!("{name:<30} {p50:>10} {p99:>10} {times:>9.1} {memory:>7} KiB {descriptors:>5}");
}

/// Does `what` while strangers do theirs.
fn while_it_lasts<T>(at: SocketAddr, flood: Flood, what: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for stranger in 0..STRANGERS {
            let over = &over;
            scope.spawn(move || {
                // Strangers have processors of their own.
                rustix::process::nice(19).unwrap();
                while !over.load(Relaxed) {
                    flood(at, stranger, over);
                    // A client that is refused need not spin: there are two processors.
                    pause(Duration::from_millis(1));
                }
            });
        }
        // They are to be under way.
        pause(Duration::from_millis(100));
        let _over = Over(&over);
        what()
    })
}

/// Lets the strangers go home, whatever happens.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// What it says on its standard error goes into a file.
fn logged(command: Command, name: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec \"$0\" \"$@\" 2>{name}.log")]);
    shell.arg(command.get_program()).args(command.get_args()).env_clear();
    for (key, value) in command.get_envs() {
        shell.env(key, value.unwrap_or_default());
    }
    shell.current_dir(command.get_current_dir().unwrap()).stdin(Stdio::null());
    shell
}
