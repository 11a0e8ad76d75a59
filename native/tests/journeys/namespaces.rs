//! Machines of a test as network namespaces, which a shell script makes.

use std::ffi::OsStr;
use std::io::BufRead as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::program::Place;

/// How a script begins: in a namespace of its own, the network in between. `apart` makes
/// another one, whose first process is `$pid`.
const BEGIN: &str = r"
set -e
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
ip link set lo up
apart() {
  unshare -n sleep 600 <&- >&- 2>&- & pid=$!
  while [ $(readlink /proc/$pid/ns/net) = $(readlink /proc/$$/ns/net) ]; do sleep 0.02; done
}
";
/// How it ends: it says the first processes of the machines (`homes`), and lives until its
/// input ends; then those of everything it made (`pids`) end too.
const END: &str = r"
echo $homes
read end || true
kill $pids
";

/// Lets a machine pass on what is not for it.
const FORWARD: &str = "echo 1 > /proc/sys/net/ipv4/ip_forward";

/// The machines, with files in one place.
pub(crate) struct Network {
    pub(crate) place: Place,
    namespaces: Child,
    /// The first process of the network in between, and of each machine.
    pids: Vec<u32>,
}

impl Network {
    /// Runs what is between the begin and the end of a script; `None` where that cannot
    /// be done. `tools`: programs that it needs, each with its package.
    pub(crate) fn new(script: &str, arguments: &[&str], tools: &[(&str, &str)]) -> Option<Self> {
        for (name, package) in [("ip", "iproute2"), ("nft", "nftables")].iter().chain(tools) {
            let there = |folder: &&str| Path::new(folder).join(name).exists();
            if !["/usr/sbin", "/sbin", "/usr/bin"].iter().any(there) {
                println!("left out: {name} is not installed (`sudo apt-get install {package}`)");
                return None;
            }
        }
        let place = Place::new();
        let mut shell = Command::new("unshare");
        shell.args(["-rn", "sh", "-c", &[BEGIN, script, END].concat(), "sh"]);
        shell.args(arguments).env_clear().current_dir(place.dir.path());
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut namespaces = shell.spawn().unwrap();
        let mut line = String::new();
        let mut out = std::io::BufReader::new(namespaces.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let homes = line.split_whitespace().map(|pid| pid.parse().unwrap());
        let pids: Vec<u32> = std::iter::once(namespaces.id()).chain(homes).collect();
        if pids.len() == 1 {
            let why = namespaces.wait_with_output().unwrap();
            let why = String::from_utf8_lossy(&why.stderr).into_owned();
            println!("left out: no network of namespaces can be made here: {why}");
            return None;
        }
        Some(Self { place, namespaces, pids })
    }

    /// A program on one of the machines; 0 is the network in between.
    pub(crate) fn command(&self, at: usize, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        let pid = self.pids[at].to_string();
        command.args(["-t", &pid, "-U", "--preserve-credentials", "-n"]).arg(program);
        command.env_clear().env("HOME", self.place.path("home"));
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("SERVENT_CODE", "ocean-pepper-violin-garden-moon");
        command.current_dir(self.place.dir.path()).stdin(Stdio::null());
        command
    }

    /// Takes one of the machines out of its network, into one behind another machine.
    pub(crate) fn move_behind(&self, moved: usize, router: usize) {
        let to = self.pids[router].to_string();
        let run = |at, line: &str| {
            let mut words = line.split_whitespace();
            let status = self.command(at, words.next().unwrap()).args(words).status();
            assert!(status.unwrap().success(), "{line}");
        };
        run(moved, &format!("ip link add next type veth peer name below netns {to}"));
        run(router, "ip addr add 10.99.0.1/24 dev below");
        run(router, "ip link set below up");
        let forward = self.command(router, "sh").args(["-c", FORWARD]).status();
        assert!(forward.unwrap().success());
        run(router, "nft add table ip below");
        run(router, "nft add chain ip below out { type nat hook postrouting priority srcnat ; }");
        run(router, "nft add rule ip below out oifname w masquerade");
        // What was not asked for makes no entry that would cost a sender its port.
        run(router, "nft add chain ip below to { type filter hook input priority filter ; }");
        run(router, "nft add rule ip below to iifname w meta l4proto udp drop");
        run(moved, "ip link set eth down");
        run(moved, "ip addr add 10.99.0.2/24 dev next");
        run(moved, "ip link set next up");
        run(moved, "ip route add default via 10.99.0.1");
    }

    /// The program that is tested on one of them.
    pub(crate) fn servent(&self, at: usize, arguments: &[&str]) -> Command {
        let mut command = self.command(at, crate::program::program());
        command.args(arguments);
        command
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        drop(self.namespaces.stdin.take()); // They end with it.
        let _ = self.namespaces.wait();
    }
}
