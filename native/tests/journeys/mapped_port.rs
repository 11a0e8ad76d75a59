//! A router is asked to let others in (`--map-port`, PA-11): a real `miniupnpd` in a
//! network of namespaces. The place of meetings is at 20.0.0.1; the first person is
//! behind the router at 20.0.0.11, which runs it, and the second behind another one. The
//! addresses look like those of the world, because it forwards nothing to others.

use crate::namespaces::Network;
use crate::program::{Running, assert_same, noise, until};

/// Makes the machines. The arguments are what the router speaks: NAT-PMP and PCP, and
/// UPnP.
const NETWORK: &str = r#"
ip link add middle type bridge && ip addr add 20.0.0.1/24 dev middle
ip link set middle up
pids= homes= n=0
for side in 1 2; do
  apart; router=$pid; apart; home=$pid; pids="$pids $router $home"; homes="$homes $router $home"
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
  # Every destination gets another port, so that two cannot meet without help.
  $inside nft -f - <<END
table inet t {
  chain to { type nat hook prerouting priority dstnat; jump asked_to; }
  chain asked_to { }
  chain from { type nat hook postrouting priority srcnat; jump asked_from
    oifname w masquerade random,fully-random; }
  chain asked_from { }
  chain pass { type filter hook forward priority filter; policy drop; iifname inner accept
    ct state established,related accept; jump asked; }
  chain asked { }
}
END
done
cat > miniupnpd.conf <<END
ext_ifname=w
listening_ip=inner
port=0
enable_natpmp=$1
enable_upnp=$2
min_lifetime=1
upnp_table_name=t
upnp_nat_table_name=t
upnp_forward_chain=asked
upnp_nat_chain=asked_to
upnp_nat_postrouting_chain=asked_from
uuid=c8fb5a48-cadc-4377-a82a-84c589a2754e
allow 1024-65535 0.0.0.0/0 1024-65535
deny 0-65535 0.0.0.0/0 0-65535
END
router=${homes# }; router=${router%% *}
if [ $1$2 != nono ]; then
  nsenter -t $router -n miniupnpd -d -f miniupnpd.conf -P miniupnpd.pid > miniupnpd.log 2>&1 <&- &
  pids="$! $pids"
  while ! grep -q -e 'HTTP listening' -e 'NAT-PMP/PCP traffic' miniupnpd.log; do sleep 0.05; done
fi
"#;

/// How the program is told of the place, which is in the network in between.
const VIA: &str = "20.0.0.1:6349";
/// The port of what is shared, and of the router.
const PORT: &str = "6346";

/// The machines of the network, by what is on them.
const ROUTER: usize = 1;
const INSIDE: usize = 2;
const OTHER: usize = 4;

/// `None` where it cannot be made. `speaks`: NAT-PMP and PCP, and UPnP.
fn network(speaks: [bool; 2]) -> Option<Network> {
    let speaks = speaks.map(|speaks| if speaks { "yes" } else { "no" });
    Network::new(NETWORK, &speaks, &[("miniupnpd", "miniupnpd-nftables")])
}

/// Whether the router forwards anything now.
fn forwards(network: &Network) -> bool {
    let mut nft = network.command(ROUTER, "nft");
    let rules = nft.args(["list", "chain", "inet", "t", "asked_to"]).output().unwrap();
    assert!(rules.status.success(), "{}", String::from_utf8_lossy(&rules.stderr));
    String::from_utf8_lossy(&rules.stdout).contains("dnat")
}

/// The servent behind the router, which shares a song.
fn sharing(network: &Network, bytes: &[u8]) -> Running {
    let folder = network.place.path("songs");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("song.ogg"), bytes).unwrap();
    let listen = format!(":{PORT}");
    let share = ["share", "songs", "--map-port", "--listen", &listen, "--state", "sharing"];
    let renewed_often = ["--set", "map_port_for=8s", "--json"];
    Running::start(network.servent(INSIDE, &[&share[..], &renewed_often].concat()))
}

#[test]
fn pa_11_a_router_that_is_asked_lets_others_in_until_the_end() {
    for (speaks, by) in [([true, false], "PCP"), ([false, true], "UPnP")] {
        let Some(network) = network(speaks) else { return };
        let bytes = noise(300_000);
        let mut sharing = sharing(&network, &bytes);
        let told = sharing.event("port_mapped");
        assert_eq!(told["outside"], format!("20.0.0.11:{PORT}"), "{told}");
        assert_eq!(told["by"], by, "{told}");
        // It was asked for eight seconds, and is asked again after half of that.
        for _ in 0..2 {
            sharing.event("port_renewed");
        }
        assert!(forwards(&network), "{by}: the port is renewed");
        let url = format!("http://20.0.0.11:{PORT}/songs/song.ogg");
        let getting = network.servent(OTHER, &["get", &url, "-o", "here.ogg", "--json"]);
        assert_eq!(Running::start(getting).end().code(), Some(0), "{by}: it is downloaded");
        assert_same(&network.place.path("here.ogg"), &bytes);
        sharing.signal("INT");
        assert_eq!(sharing.end().code(), Some(0), "{by}");
        until("the router has its port back", || !forwards(&network));
    }
}

#[test]
fn pa_11_a_router_that_forwards_nothing_is_one_sentence() {
    let Some(network) = network([false, false]) else { return };
    let mut sharing = sharing(&network, b"words");
    let told = sharing.event("no_port");
    assert_eq!(told["why"], "no router answers PCP, NAT-PMP or UPnP", "{told}");
    sharing.signal("INT");
    assert_eq!(sharing.end().code(), Some(0));
}

/// Both routers give every destination another port, and the place does not relay.
#[test]
fn pa_11_two_whose_routers_are_symmetric_meet_when_one_is_asked() {
    let Some(network) = network([true, true]) else { return };
    let bytes = noise(300_000);
    std::fs::write(network.place.path("song.ogg"), &bytes).unwrap();
    std::fs::create_dir(network.place.path("inbox")).unwrap();
    let mut meeting = Running::start(network.servent(0, &["meet", "--listen", VIA, "--json"]));
    meeting.event("listening");
    let take = ["receive", "--via", VIA, "--map-port", "-o", "inbox", "--yes", "--json"];
    let mut receiver = Running::start(network.servent(INSIDE, &take));
    receiver.event("port_mapped");
    receiver.event("at_place");
    let mut sender =
        Running::start(network.servent(OTHER, &["send", "--via", VIA, "song.ogg", "--json"]));
    let sent = sender.event("sent");
    assert_eq!(sent["path"], "direct", "{sent}");
    assert_eq!(sender.end().code(), Some(0));
    assert_same(&network.place.path("inbox/song.ogg"), &bytes);
    receiver.signal("INT");
    assert_eq!(receiver.end().code(), Some(0));
    until("the router has its port back", || !forwards(&network));
}
