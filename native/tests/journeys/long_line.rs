//! `send` and `receive` across lines that swallow, fall silent and change: two
//! machines, and a cable that can do all that.

#![expect(clippy::disallowed_methods, reason = "how long the cable is pulled is what is tested")]

use std::io::Write as _;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::machines::{Machine, World};
use crate::program::{Running, assert_same, finish, noise, until};

/// Half of what is sent.
const HALF: usize = 2_000_000;

const ADDRESS: &str = "10.0.0.7:7000";

/// Two machines of which one receives, and the other sends the first half.
struct Line<'a> {
    here: Machine<'a>,
    there: Machine<'a>,
    receiver: Running,
    sender: Child,
    bytes: Vec<u8>,
}

impl<'a> Line<'a> {
    /// `cable` is done before to the cable at each end.
    fn begin(world: &'a World, cable: [&str; 2]) -> Self {
        Self::begin_to(world, cable, [ADDRESS; 2])
    }

    /// Where it listens, and to what it is sent.
    fn begin_to(world: &'a World, cable: [&str; 2], [at, to]: [&str; 2]) -> Self {
        let [here, there] =
            [("here", 0), ("there", 1)].map(|(n, at)| world.machine(n, world.pids[at]));
        for (machine, line) in [(&here, cable[0]), (&there, cable[1])] {
            root(machine, line);
        }
        let listens = "-o in/ --json --open --yes --once";
        let listens = format!("dist/servent receive --listen {at} {listens}");
        let (receiver, _) = there.starts(&listens, "listening");
        let mut shell = here.shell(&format!("exec dist/servent send --open {to} -"));
        shell.stdin(Stdio::piped());
        let sender = here.begins(&mut shell);
        let mut line = Self { here, there, receiver, sender, bytes: noise(2 * HALF) };
        line.write(0..HALF);
        let part = line.there.file("in/received.part");
        until("half of it is there", || {
            std::fs::metadata(&part).is_ok_and(|file| file.len() > HALF as u64 * 9 / 10)
        });
        line
    }

    fn write(&mut self, part: std::ops::Range<usize>) {
        let input = self.sender.stdin.as_mut().expect("it reads");
        input.write_all(&self.bytes[part]).unwrap();
    }

    /// Sends the second half while `during` happens; everything arrives.
    #[track_caller]
    fn ends(mut self, during: impl FnOnce(&Machine<'_>, &Machine<'_>)) {
        self.write(HALF..HALF + HALF / 2);
        during(&self.here, &self.there);
        self.write(HALF + HALF / 2..2 * HALF);
        drop(self.sender.stdin.take());
        self.here.ends("send", self.sender);
        assert_eq!(self.receiver.end().code(), Some(0));
        assert_same(&self.there.file("in/received"), &self.bytes);
    }
}

/// Does something to the network of a machine.
#[track_caller]
fn root(machine: &Machine<'_>, line: &str) {
    let shell = format!("PATH=/usr/sbin:/sbin:$PATH\nset -e\n{line}");
    let child = machine.begins(&mut machine.shell(&shell));
    let output = finish(child);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The cable ends here; without this the system would send many datagrams as
/// one, whatever the other end takes.
const SINGLES: [&str; 2] = ["ip link set here gso_max_segs 1", "ip link set there gso_max_segs 1"];

#[test]
fn a_path_that_swallows_large_datagrams_without_a_word_carries_small_ones() {
    for bytes in [1_280, 1_420] {
        let Some(world) = World::new() else { return };
        // It takes nothing larger and does not say so.
        let there = format!("{}; ip link set there mtu {bytes}", SINGLES[1]);
        Line::begin(&world, [SINGLES[0], &there]).ends(|_, _| {});
    }
}

#[test]
fn a_path_that_begins_to_swallow_large_datagrams_goes_on_with_small_ones() {
    let Some(world) = World::new() else { return };
    Line::begin(&world, SINGLES).ends(|_, there| root(there, "ip link set there mtu 1280"));
}

#[test]
fn a_system_that_sends_nothing_large_is_believed() {
    let Some(world) = World::new() else { return };
    Line::begin(&world, ["ip link set here mtu 1280", ""]).ends(|_, _| {});
}

#[test]
fn a_cable_that_is_pulled_for_three_seconds_ends_nothing() {
    let Some(world) = World::new() else { return };
    Line::begin(&world, ["", ""]).ends(|_, there| {
        root(there, "ip link set there down");
        std::thread::sleep(Duration::from_secs(3));
        root(there, "ip link set there up");
    });
}

#[test]
#[ignore = "run by `cargo xtask campaign`: it takes a minute"]
fn a_cable_that_is_pulled_for_a_minute_ends_nothing() {
    let Some(world) = World::new() else { return };
    Line::begin(&world, ["", ""]).ends(|_, there| {
        root(there, "ip link set there down");
        std::thread::sleep(Duration::from_secs(60));
        root(there, "ip link set there up");
    });
}

#[test]
fn a_sender_with_another_address_goes_on() {
    let Some(world) = World::new() else { return };
    Line::begin(&world, ["", ""]).ends(|here, _| {
        root(
            here,
            "ip addr add 10.0.0.3/24 dev here\nip addr del 10.0.0.1/24 dev here\n\
                    ip addr add 10.0.0.3/24 dev here 2>/dev/null || true",
        );
    });
}

/// The machine here gets an address of IPv6, at once.
const SIX_HERE: &str = "ip addr add fd00::1/64 dev here nodad";

#[test]
fn a_line_that_carries_ipv6_alone_is_enough() {
    let Some(world) = World::new() else { return };
    let here = format!("{SIX_HERE}; ip addr del 10.0.0.1/24 dev here");
    let there = "ip addr add fd00::7/64 dev there nodad; ip addr flush dev there to 10.0.0.0/24";
    Line::begin_to(&world, [&here, there], ["[fd00::7]:7000"; 2]).ends(|_, _| {});
}

#[test]
fn a_name_with_a_dead_ipv6_address_beside_a_living_one_is_reached() {
    let Some(world) = World::new() else { return };
    let hosts = "fd00::7 example.org\n10.0.0.7 example.org\n";
    std::fs::write(world.place.path("hosts"), hosts).unwrap();
    Line::begin_to(&world, [SIX_HERE, ""], [ADDRESS, "example.org:7000"]).ends(|_, _| {});
}

/// True when a machine's packets can be changed on their way; says so when they cannot.
fn filters(world: &World) -> bool {
    let here = world.machine("here", world.pids[0]);
    let asked = here.begins(&mut here.shell("PATH=/usr/sbin:/sbin:$PATH nft add table ip asked"));
    let does = finish(asked).status.success();
    if !does {
        println!("left out: nft does nothing here (`sudo apt-get install nftables`)");
    }
    does
}

/// Does something with datagrams that say that they may be marked (RFC 3168), and counts
/// those that it does it with.
fn may_be_marked(what: &str) -> String {
    format!(
        "nft -f - <<END
         table ip router {{
             chain in {{
                 type filter hook input priority 0
                 udp dport 7000 ip ecn ect0 {what}
             }}
         }}\nEND"
    )
}

/// Fails when there were none.
const THERE_WERE: &str = "nft list table ip router | grep 'packets [1-9]'";

#[test]
fn everything_arrives_where_a_router_marks() {
    let Some(world) = World::new() else { return };
    if !filters(&world) {
        return;
    }
    let marks = may_be_marked("numgen inc mod 50 0 ip ecn set ce counter");
    Line::begin(&world, ["", &marks]).ends(|_, there| root(there, THERE_WERE));
}

#[test]
fn a_path_that_swallows_what_may_be_marked_is_sent_what_may_not() {
    let Some(world) = World::new() else { return };
    if !filters(&world) {
        return;
    }
    let swallows = may_be_marked("counter drop");
    Line::begin(&world, ["", &swallows]).ends(|_, there| root(there, THERE_WERE));
}

#[test]
fn a_sender_whose_router_gives_it_another_port_goes_on() {
    let Some(world) = World::new() else { return };
    if !filters(&world) {
        return;
    }
    Line::begin(&world, ["", ""]).ends(|here, _| {
        root(
            here,
            "port=$(cat /proc/net/udp /proc/net/udp6 |
                 awk '$1 ~ /:$/ { sub(/.*:/, \"\", $2); print $2; exit }')
             nft -f - <<END
             table ip another {
                 chain out {
                     type filter hook output priority 0
                     udp dport 7000 udp sport set 40001
                 }
                 chain in {
                     type filter hook input priority 0
                     udp sport 7000 udp dport 40001 udp dport set $((0x$port))
                 }
             }\nEND",
        );
    });
}
