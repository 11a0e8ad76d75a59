//! A servent behind a router is found in the overlay (PA-16). The common neighbour and the
//! meeting place are at 20.0.0.1; behind a router each are the servent that shares and the
//! person who looks for it. The addresses look like those of the world, because a servent
//! does not connect where strangers say if that is a private network.

use crate::namespaces::Network;
use crate::program::{Running, assert_same, noise, until};

/// Two routers that keep ports and let in only what was written to.
const NETWORK: &str = r#"
ip link add middle type bridge && ip addr add 20.0.0.1/24 dev middle
ip link set middle up
pids= homes=
for side in 1 2; do
  apart; router=$pid; apart; home=$pid; pids="$pids $router $home"; homes="$homes $home"
  ip link add r$side type veth peer name w netns $router
  ip link set r$side master middle up
  inside="nsenter -t $router -n"
  $inside ip link add inner type veth peer name eth netns $home
  $inside sh -c "ip link set lo up
    ip addr add 20.0.0.1$side/24 dev w; ip link set w up
    ip addr add 10.$side.0.1/24 dev inner; ip link set inner up
    echo 1 > /proc/sys/net/ipv4/ip_forward"
  nsenter -t $home -n sh -c "ip link set lo up; ip addr add 10.$side.0.2/24 dev eth
    ip link set eth up; ip route add default via 10.$side.0.1"
  $inside nft -f - <<END
table ip t {
  chain from { type nat hook postrouting priority srcnat; oifname w masquerade; }
  chain pass { type filter hook forward priority filter; policy drop; iifname inner accept
    ct state established,related accept; }
  chain to { type filter hook input priority filter; iifname w drop; }
}
END
done
"#;

/// The machines, by what is on them.
const MIDDLE: usize = 0;
const SHARES: usize = 1;
const LOOKS: usize = 2;

/// How the programs are told of the meeting place and of the neighbour.
const PLACE: &str = "20.0.0.1:6349";
const NEIGHBOUR: &str = "20.0.0.1:6346";

/// A servent on one of the machines that shares one file, `NAME/NAME.ogg`.
fn shares(network: &Network, at: usize, (name, bytes): (&str, &[u8]), more: &[&str]) -> Running {
    let folder = network.place.path(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{name}.ogg")), bytes).unwrap();
    let share = ["share", name, "--state", &format!("{name}-state"), "--json"];
    let mut command = network.servent(at, &[&share[..], more].concat());
    command.env_remove("SERVENT_CODE");
    Running::start(command)
}

/// Searches for the song; the first hit.
fn first_hit(network: &Network, at: usize) -> serde_json::Value {
    let search = ["search", "song", "--peer", NEIGHBOUR, "--state", "looks", "--json"];
    let found = network.servent(at, &search).output().unwrap();
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    let mut lines = found.lines().filter_map(|line| serde_json::from_str(line).ok());
    let hit = lines.find(|line: &serde_json::Value| line["event"] == "hit");
    hit.unwrap_or_else(|| panic!("a hit: {found}"))
}

/// Downloads it, and compares it.
fn gets(network: &Network, at: usize, (what, state): (&str, &str), bytes: &[u8]) {
    let to = format!("{state}.ogg");
    let get = ["get", what, "--peer", NEIGHBOUR, "-o", &to, "--state", state, "--json"];
    let mut command = network.servent(at, &get);
    command.env_remove("SERVENT_CODE");
    assert_eq!(Running::start(command).end().code(), Some(0), "{what} is downloaded");
    assert_same(&network.place.path(&to), bytes);
}

/// The user says nothing of the router, and no client has to find it out: the neighbour
/// cannot connect back. A client that can be connected to gets the file by a push, one that
/// cannot meets the servent where the hit says.
#[test]
fn pa_16_a_servent_behind_a_router_is_found_by_a_search_and_serves_one_behind_another() {
    let Some(network) = Network::new(NETWORK, &[], &[]) else { return };
    let meet = ["meet", "--listen", PLACE, "--json"];
    let mut place = Running::start(network.servent(MIDDLE, &meet));
    place.event("listening");
    is_found(&network, &[], &["--meet", PLACE]);
    place.signal("INT");
    let told = place.event("meetings");
    assert_eq!(told["relayed_bytes"], 0, "the bytes went directly: {told}");
}

/// Nothing is named but the neighbour, which is a meeting place beside what it shares.
#[test]
fn pa_16_two_behind_routers_meet_through_a_neighbour_of_both() {
    let Some(network) = Network::new(NETWORK, &[], &[]) else { return };
    is_found(&network, &[&format!("--place={PLACE}")], &["--meet", "neighbour"]);
}

/// A song is shared behind one router and found behind another, where the neighbour and the
/// one that shares are told `middle` and `shared` besides.
fn is_found(network: &Network, middle: &[&str], shared: &[&str]) {
    let bytes = noise(300_000);
    let listens = [&["--listen", NEIGHBOUR], middle].concat();
    let mut middle = shares(network, MIDDLE, ("other", b"words"), &listens);
    middle.event("hashed");
    let shared = [&["--peer", NEIGHBOUR], shared].concat();
    let mut sharing = shares(network, SHARES, ("song", &bytes), &shared);
    sharing.event("at_place");
    until("it knows that others cannot connect to it", || {
        let status = ["status", "--state", "song-state", "--json"];
        let told = network.servent(SHARES, &status).output().unwrap();
        let told: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap_or_default();
        told["servents"][0]["overlay"]["firewalled"] == true
    });
    let hit = first_hit(network, LOOKS);
    assert_eq!(hit["push"], true, "{hit}");
    let link = hit["meet"].as_str().unwrap_or_default();
    assert!(link.starts_with("meet://") && link.contains(PLACE), "{hit}");
    gets(network, LOOKS, ("1", "looks"), &bytes);
    gets(network, MIDDLE, (hit["sha1"].as_str().unwrap(), "middle"), &bytes);
    for mut running in [sharing, middle] {
        running.signal("INT");
        assert_eq!(running.ended().code(), Some(0));
    }
}

/// Another one has the same file, and is met nowhere: no client is kept from the one that is.
#[test]
fn pa_16_a_servent_that_no_way_leads_to_keeps_none_from_one_that_can_be_met() {
    let Some(network) = Network::new(NETWORK, &[], &[]) else { return };
    let bytes = noise(300_000);
    let listens = ["--listen", NEIGHBOUR, &format!("--place={PLACE}")];
    let mut middle = shares(&network, MIDDLE, ("other", b"words"), &listens);
    middle.event("hashed");
    let peer = ["--peer", NEIGHBOUR, "--set", "overlay.firewalled=true"];
    let alone = [&peer[..], &["--listen", "0.0.0.0:6400"]].concat();
    let mut alone = shares(&network, SHARES, ("first-song", &bytes), &alone);
    alone.event("hashed");
    let meet = [&peer[..], &["--listen", "0.0.0.0:6401", "--meet", "neighbour"]].concat();
    let mut sharing = shares(&network, SHARES, ("second-song", &bytes), &meet);
    sharing.event("at_place");
    let mut hits = Vec::new();
    until("both are found by the hash", || {
        let search = ["search", "song", "--peer", NEIGHBOUR, "--state", "both", "--json"];
        let found = network.servent(LOOKS, &search).output().unwrap();
        let found = String::from_utf8_lossy(&found.stdout).into_owned();
        let lines = found.lines().map(|line| serde_json::from_str(line).unwrap());
        hits = lines.filter(|line: &serde_json::Value| line["sha1"].is_string()).collect();
        hits.len() == 2 && hits.iter().any(|hit| hit["meet"].is_string())
    });
    let mut reach: Vec<&str> = hits.iter().map(|hit| hit["reach"].as_str().unwrap()).collect();
    reach.sort_unstable();
    assert_eq!(reach, ["meet", "push"], "{hits:?}");
    gets(&network, LOOKS, (hits[0]["sha1"].as_str().unwrap(), "looks"), &bytes);
    for mut running in [sharing, alone, middle] {
        running.signal("INT");
        assert_eq!(running.ended().code(), Some(0));
    }
}

/// The place of the first neighbour says nothing, and its connection stays: that of another is
/// used, as soon as that has shown.
#[test]
fn pa_16_a_place_of_a_neighbour_that_does_not_answer_keeps_no_other_out() {
    let Some(network) = Network::new(NETWORK, &[], &[]) else { return };
    let other = "20.0.0.1:6446";
    let neighbour = |name: &str, listen: &str, place: &str| {
        let place = format!("--place={place}");
        let mut running = shares(&network, MIDDLE, (name, b"words"), &["--listen", listen, &place]);
        running.event("hashed");
        running
    };
    let dead = neighbour("dead", NEIGHBOUR, "20.0.0.1:6349");
    let mut alive = neighbour("alive", other, "20.0.0.1:6449");
    let meet = ["--peer", NEIGHBOUR, "--peer", other, "--meet", "neighbour"];
    let mut sharing = shares(&network, SHARES, ("song", b"words"), &meet);
    let first = sharing.event("meeting")["place"].as_str().unwrap().to_owned();
    sharing.event("at_place");
    let (stopped, second) = match first.as_str() {
        "20.0.0.1:6349" => (&dead, "20.0.0.1:6449"),
        _ => (&alive, "20.0.0.1:6349"),
    };
    stopped.signal("STOP");
    let clock = servent::Clock::new();
    let begun = clock.now();
    assert_eq!(sharing.event("meeting")["place"], second);
    sharing.event("at_place");
    let took = clock.now().since(begun).as_secs();
    assert!(took < 120, "{took} s");
    stopped.signal("CONT");
    sharing.signal("INT");
    assert_eq!(sharing.ended().code(), Some(0));
    alive.signal("INT");
    assert_eq!(alive.ended().code(), Some(0));
}
