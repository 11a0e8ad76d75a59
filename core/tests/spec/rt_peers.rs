//! What deployed peers taught: the second edition's requirements of the
//! router.

use crate::routing_support;

use routing_support::{Net, config, hit_of, message, query, servent};
use servent_core::id::{ConnId, FileIndex};
use servent_core::routing::{Config, PushRouting, Verdict, Why};
use servent_core::time::Duration;
use servent_core::wire::gnutella::{Body, Payload, Push};

/// A router with neighbours 1, 2 and 3, and their connections.
fn middle(config: &Config) -> (Net, [ConnId; 3]) {
    let net = Net::star(3, config);
    let conns = [1, 2, 3].map(|node| net.conn(0, node));
    (net, conns)
}

fn push_of(target: usize) -> Body {
    let at = "80.9.9.9:6346".parse().unwrap();
    Body::Push(Push { servent: servent(target), index: FileIndex(1), at, ggep: Payload::new() })
}

#[test]
fn rt_21_one_neighbours_hits_silence_nobody() {
    let (mut net, [a, b, c]) = middle(&config());
    net.inject(0, a, &message(1, 5, 1, Body::Query(query("some thing"))));
    let hit = |of, n| message(1, 5, 1, Body::Hit(hit_of(of, &format!("some thing {n}"))));
    for n in 0..150 {
        let verdict = net.inject(0, b, &hit(9, n));
        let to = if n < 100 {
            Verdict::Forward { to: vec![a] }
        } else {
            Verdict::Drop { why: Why::ResultLimit }
        };
        assert_eq!(verdict, Some(to), "{n}");
    }
    for n in 0..100 {
        let verdict = net.inject(0, c, &hit(8, n));
        assert_eq!(verdict, Some(Verdict::Forward { to: vec![a] }), "{n} of another");
    }
}

#[test]
fn rt_21_our_own_search_hears_everybody() {
    let (mut net, [a, b, _]) = middle(&config());
    net.search(0, 1, "some thing");
    for n in 0..300 {
        let hit = message(1, 5, 1, Body::Hit(hit_of(9, &format!("some thing {n}"))));
        assert_eq!(net.inject(0, a, &hit), Some(Verdict::Local), "{n}");
    }
    let other = message(1, 5, 1, Body::Hit(hit_of(8, "some thing")));
    assert_eq!(net.inject(0, b, &other), Some(Verdict::Local));
    assert_eq!(net.hits.len(), 301);
}

#[test]
fn rt_22_every_hit_renews_the_way_of_a_push() {
    for push_routing in [PushRouting::Standard, PushRouting::Broadcast] {
        let (mut net, [a, b, _]) = middle(&Config { push_routing, ..config() });
        let bring = |net: &mut Net, n| {
            net.inject(0, a, &message(n, 5, 1, Body::Query(query("some thing"))));
            net.inject(0, b, &message(n, 5, 1, Body::Hit(hit_of(9, "some thing"))));
            // A copy of it counts too.
            let again = message(n, 5, 1, Body::Hit(hit_of(9, "some thing")));
            net.wait(Duration::from_secs(8 * 60));
            assert_eq!(net.inject(0, b, &again), Some(Verdict::Drop { why: Why::Duplicate }));
        };
        bring(&mut net, 1);
        net.wait(Duration::from_secs(23 * 60));
        bring(&mut net, 2);
        net.wait(Duration::from_secs(29 * 60 + 50));
        let push = message(3, 5, 1, push_of(9));
        let verdict = net.inject(0, a, &push);
        assert_eq!(verdict, Some(Verdict::Forward { to: vec![b] }), "{push_routing:?}");
    }
}
