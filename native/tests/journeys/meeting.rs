//! Two people behind routers send each other a file through a meeting place.
//! Each is a network namespace: the place at 192.0.2.1, and behind a router
//! each the sender and the receiver. What the routers do with UDP is said with
//! nftables.

use servent_core::trace::qlog::{self, Split};
use servent_core::trace::tape::RecordingLine;
use servent_core::trace::why;

use crate::meeting_again::millis;
use crate::namespaces::Network;
use crate::program::{Running, leave_for_page, noise};

/// Makes the machines: the place is in the network in between, and each argument is
/// what a router is like.
const NETWORK: &str = r#"
ip link add middle type bridge && ip addr add 192.0.2.1/24 dev middle
ip link set middle up
pids= homes= n=0
for kind in "$@"; do
  n=$((n + 1))
  apart; router=$pid
  ip link add r$n type veth peer name w netns $router
  ip link set r$n master middle up
  inside="nsenter -t $router -n"
  $inside ip link set lo up
  $inside ip addr add 192.0.2.1$n/24 dev w
  $inside ip link set w up
  pids="$pids $router"
  if [ $kind = open ]; then homes="$homes $router"; continue; fi
  apart; home=$pid; pids="$pids $home"; homes="$homes $home"
  $inside ip link add inner type veth peer name eth netns $home
  $inside ip addr add 10.$n.0.1/24 dev inner
  $inside ip link set inner up
  nsenter -t $home -n sh -c "ip link set lo up; ip addr add 10.$n.0.2/24 dev eth; ip link set eth up
    ip route add default via 10.$n.0.1"
  $inside sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
  way="masquerade" lets="" udp=""
  case $kind in
    symmetric) way="masquerade random,fully-random" ;;
    # Whatever comes from an address that was written to goes to the host.
    restricted) lets="iifname w ip saddr @known meta l4proto udp dnat to 10.$n.0.2" ;;
    blocked) udp="meta l4proto udp drop" ;;
  esac
  $inside nft -f - <<END
table ip t {
  set known { type ipv4_addr; flags dynamic,timeout; timeout 60s; }
  chain in { type nat hook prerouting priority dstnat; $lets
  }
  chain out { type nat hook postrouting priority srcnat; oifname w $way
  }
  chain pass { type filter hook forward priority filter; policy drop; $udp
    iifname inner add @known { ip daddr } accept
    ct state established,related accept
    ct status dnat accept
  }
  chain to { type filter hook input priority filter; iifname w meta l4proto udp drop
  }
}
END
done
"#;

/// Machines, each behind a router of that kind; `None` where they cannot be made.
pub(crate) fn network<const N: usize>(kinds: [&str; N]) -> Option<Network> {
    Network::new(NETWORK, &kinds, &[])
}

/// What is to come of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Direct,
    /// Directly, once a port is guessed; until then, and where none is hit, through the
    /// place.
    Guessed,
    /// Through the place, if it relays.
    Relayed,
}

fn expected(sender: &str, receiver: &str) -> Expected {
    match (sender, receiver) {
        ("blocked", _) | (_, "blocked") => Expected::Relayed,
        ("symmetric", "symmetric") => Expected::Relayed,
        _ => Expected::Direct,
    }
}

pub(crate) const VIA: &str = "192.0.2.1:6349";

/// How many fragments of datagrams that were too large one of the machines has sent.
fn fragments(network: &Network, at: usize) -> u64 {
    let read = network.command(at, "cat").arg("/proc/net/snmp").output().unwrap();
    let read = String::from_utf8(read.stdout).unwrap();
    let mut lines = read.lines().filter(|line| line.starts_with("Ip:"));
    let [names, values] = [(); 2].map(|()| lines.next().unwrap().split_whitespace());
    let mut each = names.zip(values);
    each.find(|(name, _)| *name == "FragCreates").unwrap().1.parse().unwrap()
}

/// A file of that many bytes from one to the other, by a place that relays only where
/// that is needed. `from`: which of the two sends it.
fn sent(network: &Network, kinds: [&str; 2], expected: Expected, (from, size): (usize, usize)) {
    let [sender, receiver] = [kinds[from - 1], kinds[2 - from]];
    let name = format!("{sender} to {receiver}");
    let bytes = noise(size);
    let home = network.place.path("home");
    let (file, inbox) = (format!("from{from}.ogg"), home.join("inbox"));
    std::fs::create_dir_all(&inbox).unwrap();
    std::fs::write(home.join(&file), &bytes).unwrap();
    let mut meet = vec!["meet", "--listen", VIA, "--json"];
    if expected != Expected::Direct {
        meet.extend(["--relay", "20M"]);
    }
    let mut place = Running::start(network.servent(0, &meet));
    place.event("listening");
    let folder = inbox.display().to_string();
    let take = ["receive", "--via", VIA, "-o", &folder, "--yes", "--json"];
    let mut receiver_runs = Running::start(network.servent(3 - from, &take));
    receiver_runs.event("at_place");
    let song = home.join(&file).display().to_string();
    let give = ["send", "--via", VIA, &song, "--json"];
    let clock = servent::Clock::new();
    let begun = clock.now();
    let mut sender_runs = Running::start(network.servent(from, &give));
    receiver_runs.event("receiving");
    let first = clock.now().since(begun).as_micros() / 1_000;
    let sent = sender_runs.event("sent");
    let rate = sent["rate"].as_u64().unwrap_or(0) / 1_000_000;
    assert_eq!(sender_runs.end().code(), Some(0), "{name}: it is sent");
    assert!(std::fs::read(inbox.join(&file)).unwrap() == bytes, "{name}: the file is the same");
    let received = receiver_runs.event("received");
    receiver_runs.signal("INT");
    receiver_runs.end();
    place.signal("INT");
    let told = place.event("meetings");
    let passed = told["relayed_bytes"].as_u64().unwrap();
    println!("{name}: {first} ms to the offer, {rate} MB/s, {passed} of {size} bytes relayed");
    let path = match expected {
        Expected::Direct => {
            assert_eq!(passed, 0, "{name}");
            "direct"
        }
        Expected::Guessed => return,
        Expected::Relayed => {
            assert!(passed >= size as u64, "{name}: {passed} bytes relayed");
            "relayed"
        }
    };
    // What goes through the door is counted as what a socket sends.
    let largest = sent["counters"]["largest_out"].as_u64();
    assert!(largest >= Some(1_000), "{name}: datagrams of {largest:?} bytes");
    for (side, words) in [("the sender", &sent), ("the receiver", &received)] {
        assert_eq!(words["path"], path, "{name}: {side} says how the bytes went");
    }
}

/// By a place that does not relay: a peer that cannot have a path is told why.
fn told(network: &Network, kinds: [&str; 2]) {
    let [sender, receiver] = kinds;
    let name = format!("{sender} to {receiver}");
    let home = network.place.path("home");
    std::fs::write(home.join("song.ogg"), "words").unwrap();
    let mut place = Running::start(network.servent(0, &["meet", "--listen", VIA, "--json"]));
    place.event("listening");
    let folder = home.join("inbox").display().to_string();
    let take = ["receive", "--via", VIA, "-o", &folder, "--yes", "--json"];
    let mut receiver_runs = Running::start(network.servent(2, &take));
    receiver_runs.event("listening");
    let (mut failing, why) = if receiver == "blocked" {
        (receiver_runs, "blocks UDP")
    } else {
        receiver_runs.event("at_place");
        let song = home.join("song.ogg").display().to_string();
        let give = ["send", "--via", VIA, &song, "--json"];
        let why = if sender == "blocked" { "blocks UDP" } else { "another port" };
        (Running::start(network.servent(1, &give)), why)
    };
    let (failed, took) = millis(|| failing.event("failed"));
    assert!(failed.to_string().contains(why), "{name}: {failed}");
    assert!(failed.to_string().contains("would help") || why == "blocks UDP", "{name}: {failed}");
    assert!(took <= 5_000, "{name}: it says so after {took} ms");
    assert_eq!(failing.end().code(), Some(3), "{name}");
}

#[test]
fn two_behind_routers_send_each_other_a_file() {
    for (kinds, expected) in [
        (["port", "port"], Expected::Direct),
        (["symmetric", "port"], Expected::Guessed),
        (["open", "blocked"], Expected::Relayed),
    ] {
        let Some(network) = network(kinds) else { return };
        sent(&network, kinds, expected, (1, 300_000));
        if kinds[1] == "blocked" {
            sent(&network, kinds, expected, (2, 300_000));
            told(&network, kinds);
        }
    }
}

/// The path leads through one of many sockets, on either side.
#[test]
fn pa_6_what_travels_on_a_guessed_path_is_not_cut_up() {
    for kinds in [["symmetric", "port"], ["port", "symmetric"]] {
        let Some(network) = network(kinds) else { return };
        let home = network.place.path("home");
        std::fs::create_dir_all(home.join("inbox")).unwrap();
        std::fs::write(home.join("song.ogg"), noise(12_000_000)).unwrap();
        let meet = ["meet", "--listen", VIA, "--relay", "20M", "--json"];
        let mut place = Running::start(network.servent(0, &meet));
        place.event("listening");
        let inbox = home.join("inbox").display().to_string();
        let take = ["receive", "--via", VIA, "-o", &inbox, "--yes", "--json"];
        let mut receiver = Running::start(network.servent(2, &take));
        receiver.event("at_place");
        let song = home.join("song.ogg").display().to_string();
        let give = ["send", "--via", VIA, &song, "--limit-rate", "1500k", "--json"];
        let mut sender = Running::start(network.servent(1, &give));
        let sent = sender.event("sent");
        assert_eq!(sender.end().code(), Some(0), "{kinds:?}");
        println!("{kinds:?}: {} with {}", sent["path"], sent["counters"]["datagram_out"]);
        for at in 1..3 {
            assert_eq!(fragments(&network, at), 0, "{kinds:?}: what machine {at} sends");
        }
        receiver.signal("INT");
        receiver.end();
    }
}

#[test]
fn pa_14_in_one_network_only_the_code_is_typed() {
    let Some(network) = network(["open", "open"]) else { return };
    let home = network.place.path("home");
    let (inbox, bytes) = (home.join("inbox"), noise(100_000));
    std::fs::create_dir_all(&inbox).unwrap();
    let folder = inbox.display().to_string();
    let take = ["receive", "--lan", "-o", &folder, "--yes", "--json"];
    let mut receiver = Running::start(network.servent(2, &take));
    receiver.event("listening");
    for (n, how) in [&["--lan"][..], &[]].into_iter().enumerate() {
        let name = format!("song{n}.ogg");
        let song = home.join(&name);
        std::fs::write(&song, &bytes).unwrap();
        let song = song.display().to_string();
        // A first answer may be lost: multicast is not repaired.
        let give = [&["send", "--wait=30s", &song, "--json"], how].concat();
        let sender = Running::start(network.servent(1, &give));
        assert_eq!(sender.end().code(), Some(0), "{how:?}");
        assert!(std::fs::read(inbox.join(&name)).unwrap() == bytes, "the file is the same");
    }
    receiver.signal("INT");
    assert_eq!(receiver.end().code(), Some(0));
}

#[test]
fn pa_16_what_is_shared_behind_a_router_is_downloaded_behind_another() {
    for (kinds, relay) in [(["port", "port"], false), (["symmetric", "symmetric"], true)] {
        let Some(network) = network(kinds) else { return };
        let home = network.place.path("home");
        let (folder, bytes) = (home.join("songs"), noise(5_000_000));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("song.ogg"), &bytes).unwrap();
        let mut meet = vec!["meet", "--listen", VIA, "--json"];
        if relay {
            meet.extend(["--relay", "20M"]);
        }
        let mut place = Running::start(network.servent(0, &meet));
        place.event("listening");
        let (folder, state) = (folder.display().to_string(), home.join("sharing"));
        let state = state.display().to_string();
        let share = ["share", &folder, "--meet", VIA, "--state", &state, "--json"];
        let mut command = network.servent(1, &share);
        command.env_remove("SERVENT_CODE");
        let mut sharing = Running::start(command);
        let link = sharing.event("meeting")["link"].as_str().unwrap().to_owned();
        sharing.event("at_place");
        let file = home.join("here.ogg").display().to_string();
        let get = ["get", &format!("{link}songs/song.ogg"), "-o", &file, "--json"];
        let getting = Running::start(network.servent(2, &get));
        assert_eq!(getting.end().code(), Some(0), "{kinds:?}: it is downloaded");
        assert!(std::fs::read(&file).unwrap() == bytes, "{kinds:?}: the file is the same");
        sharing.signal("INT");
        assert_eq!(sharing.end().code(), Some(0), "{kinds:?}");
    }
}

#[test]
fn pa_15_the_doctor_says_what_a_router_lets_in() {
    let Some(network) = network(["restricted", "port"]) else { return };
    let mut place = Running::start(network.servent(0, &["meet", "--listen", VIA, "--json"]));
    place.event("listening");
    for (at, filtering) in [(1, "address_dependent"), (2, "address_and_port_dependent")] {
        let output = network.servent(at, &["doctor", "--via", VIA, "--json"]).output().unwrap();
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["ipv4"]["filtering"], filtering, "{told}");
    }
}

/// Both sides record their part: each recording is run again to the same digests, and says
/// for each knock which rule it follows.
#[test]
fn pa_12_the_recording_of_a_punched_transfer_shows_every_knock_with_its_rule() {
    recorded(["port", "port"], &[], ("direct", ["met-sent.sqlog", "met-received.sqlog"]));
}

#[test]
fn pa_12_the_recording_of_a_relayed_transfer_shows_every_knock_with_its_rule() {
    let names = ["relayed-sent.sqlog", "relayed-received.sqlog"];
    recorded(["symmetric", "symmetric"], &["--relay", "20M"], ("relayed", names));
}

/// Leaves the recordings of the sender and of the receiver by these names for the page's tests.
fn recorded(kinds: [&str; 2], relay: &[&str], (way, names): (&str, [&str; 2])) {
    let Some(network) = network(kinds) else { return };
    let home = network.place.path("home");
    std::fs::create_dir_all(home.join("inbox")).unwrap();
    std::fs::write(home.join("song.ogg"), noise(300_000)).unwrap();
    let files = ["song.ogg", "inbox", "sent.sqlog", "received.sqlog", "place.sqlog"];
    let [song, inbox, sent, received, placed] =
        files.map(|name| home.join(name).display().to_string());
    let meet = [&["meet", "--listen", VIA, "--json", "--trace", &placed], relay].concat();
    let mut place = Running::start(network.servent(0, &meet));
    place.event("listening");
    let take = ["receive", "--via", VIA, "-o", &inbox, "--yes", "--json", "--trace", &received];
    let mut receiver = Running::start(network.servent(2, &take));
    receiver.event("at_place");
    let give = ["send", "--via", VIA, &song, "--json", "--trace", &sent];
    let mut sender = Running::start(network.servent(1, &give));
    assert_eq!(sender.event("sent")["path"], way);
    assert_eq!(sender.end().code(), Some(0));
    receiver.event("received");
    receiver.signal("INT");
    assert_eq!(receiver.end().code(), Some(0));
    place.signal("INT");
    assert_eq!(place.end().code(), Some(0));
    verified(&placed);
    for (file, name) in [&sent, &received].into_iter().zip(names) {
        leave_for_page(file.as_ref(), name);
        let tape = verified(file);
        let records = Split::new(&tape).filter_map(|line| match qlog::parse(line) {
            Ok(RecordingLine::Record(record)) => Some(record),
            _ => None,
        });
        let knocks: Vec<_> = records
            .map(|record| why::explain(&record))
            .filter(|why| why.key == "meet.knocked")
            .map(|why| why.id)
            .collect();
        assert!(knocks.len() >= 2, "{file}: {} knocks", knocks.len());
        assert!(knocks.iter().all(|id| *id == Some("PA-12")), "{file}: {knocks:?}");
    }
}

/// A recording that is run again to the same digests.
fn verified(file: &str) -> Vec<u8> {
    let tape = std::fs::read(file).unwrap();
    let report = servent::replay::bytes(&tape);
    assert!(report.is_sound() && report.verified == report.checkpoints, "{file}: {report}");
    assert!(report.checkpoints > 0, "{file}: {report}");
    tape
}

/// All pairs of five kinds of routers, in both directions.
#[test]
#[ignore = "run by `cargo xtask campaign`: it takes minutes"]
fn every_pair_of_routers_has_its_path_or_its_sentence() {
    let all = ["open", "restricted", "port", "symmetric", "blocked"];
    for one in all {
        for other in all {
            let (kinds, expected) = ([one, other], expected(one, other));
            println!("{one} and {other}: {expected:?}");
            let Some(network) = network(kinds) else { return };
            sent(&network, kinds, expected, (1, 20_000_000));
            sent(&network, kinds, expected, (2, 20_000_000));
            if expected == Expected::Relayed {
                told(&network, kinds);
            }
        }
    }
}
