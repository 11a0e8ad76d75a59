//! The routing tables, requirement by requirement.

use crate::routing_support;

use proptest::prelude::*;
use routing_support::{Net, address, config, guid, hit_of, message, neighbour, query, servent};
use servent_core::id::{ConnId, FileIndex, Guid};
use servent_core::routing::{
    Config, DropReason, Event, Input, NeighbourEnding, PushRouting, RoutingVerdict,
};
use servent_core::time::Duration;
use servent_core::wire::gnutella::{
    Bye, MessageBody, MessageKind, OverlayMessage, OverlayPayload, PayloadError, Ping, Pong, Push,
    Qrp, Vendor, code,
};

const fn drop(why: DropReason) -> Option<RoutingVerdict> {
    Some(RoutingVerdict::Drop { why })
}

/// A router with neighbours 1, 2 and 3, and their connections.
fn middle(config: &Config) -> (Net, [ConnId; 3]) {
    let net = Net::star(3, config);
    let conns = [1, 2, 3].map(|node| net.conn(0, node));
    (net, conns)
}

fn push_of(target: usize) -> MessageBody {
    let at = "80.9.9.9:6346".parse().unwrap();
    MessageBody::Push(Push {
        servent: servent(target),
        index: FileIndex(1),
        at,
        ggep: OverlayPayload::new(),
    })
}

#[test]
fn rt_1_a_hit_finds_the_way_of_its_query_for_ten_minutes_at_least() {
    let (mut net, [a, b, c]) = middle(&config());
    let ask = message(1, 5, 2, MessageBody::Query(query("some thing")));
    assert_eq!(net.inject(0, a, &ask), Some(RoutingVerdict::Forward { to: vec![b, c] }));
    let answer = message(1, 5, 0, MessageBody::Hit(hit_of(2, "some thing")));
    net.wait(Duration::from_secs(599));
    assert_eq!(net.inject(0, b, &answer), Some(RoutingVerdict::Forward { to: vec![a] }));
    net.wait(Duration::from_secs(602));
    let other = message(1, 5, 0, MessageBody::Hit(hit_of(3, "some thing")));
    assert_eq!(net.inject(0, b, &other), drop(DropReason::NoRoute), "two lives are over");
}

#[test]
fn rt_2_a_hit_for_our_own_query_is_for_us_and_one_without_a_route_is_dropped() {
    let (mut net, [a, ..]) = middle(&config());
    net.search(0, 1, "some thing");
    let answer = message(1, 5, 0, MessageBody::Hit(hit_of(1, "some thing")));
    assert_eq!(net.inject(0, a, &answer), Some(RoutingVerdict::Local));
    assert_eq!(net.hits, [(0, guid(1), servent(1))]);
    let stray = message(2, 5, 0, MessageBody::Hit(hit_of(1, "some thing")));
    assert_eq!(net.inject(0, a, &stray), drop(DropReason::NoRoute));
    let back = message(1, 5, 3, MessageBody::Query(query("some thing")));
    assert_eq!(net.inject(0, a, &back), drop(DropReason::Duplicate), "our own query came round");
}

#[test]
fn rt_2_a_hit_never_reaches_a_neighbour_that_took_the_place_of_its_asker() {
    let (mut net, [a, b, _]) = middle(&Config { links: 3, ..config() });
    net.inject(0, a, &message(1, 5, 1, MessageBody::Query(query("some thing"))));
    net.cut(0, a);
    net.link(0, 1);
    let answer = message(1, 5, 0, MessageBody::Hit(hit_of(2, "some thing")));
    assert_eq!(net.inject(0, b, &answer), drop(DropReason::RouteGone), "the slot has another user");
}

#[test]
fn rt_3_a_push_finds_the_way_of_a_hit_for_thirty_minutes_at_least() {
    let (mut net, [a, b, c]) = middle(&config());
    net.inject(0, a, &message(1, 5, 1, MessageBody::Query(query("some thing"))));
    net.inject(0, b, &message(1, 5, 1, MessageBody::Hit(hit_of(9, "some thing"))));
    net.wait(Duration::from_secs(29 * 60));
    let push = message(2, 5, 1, push_of(9));
    assert_eq!(net.inject(0, a, &push), Some(RoutingVerdict::Forward { to: vec![b] }));
    assert_eq!(net.inject(0, b, &message(3, 5, 1, push_of(9))), drop(DropReason::WayItCame));
    assert_eq!(net.inject(0, c, &message(4, 5, 1, push_of(8))), drop(DropReason::NoRoute));
    net.wait(Duration::from_secs(32 * 60));
    assert_eq!(net.inject(0, a, &message(5, 5, 1, push_of(9))), drop(DropReason::NoRoute));
    assert_eq!(net.inject(0, a, &message(6, 5, 1, push_of(0))), Some(RoutingVerdict::Local));
    assert_eq!(net.pushed.len(), 1, "that one is for us");
}

#[test]
fn rt_3_the_way_to_a_servent_is_not_taken_over_while_it_lives() {
    let (mut net, [a, b, c]) = middle(&config());
    net.inject(0, a, &message(1, 5, 1, MessageBody::Query(query("some thing"))));
    net.inject(0, b, &message(1, 5, 1, MessageBody::Hit(hit_of(9, "some thing"))));
    net.inject(0, c, &message(1, 5, 1, MessageBody::Hit(hit_of(9, "other thing"))));
    let conflict = Event::Conflict { conn: c, servent: servent(9) };
    assert!(net.told.iter().any(|told| told.event == conflict));
    assert_eq!(
        net.inject(0, a, &message(2, 5, 1, push_of(9))),
        Some(RoutingVerdict::Forward { to: vec![b] })
    );
    net.cut(0, b);
    assert_eq!(net.inject(0, a, &message(3, 5, 1, push_of(9))), drop(DropReason::RouteGone));
    net.inject(0, c, &message(1, 5, 1, MessageBody::Hit(hit_of(9, "third thing"))));
    assert_eq!(
        net.inject(0, a, &message(4, 5, 1, push_of(9))),
        Some(RoutingVerdict::Forward { to: vec![c] }),
        "the first way is gone"
    );
}

#[test]
fn rt_4_a_broadcast_push_goes_to_all_that_brought_a_hit_duplicates_too() {
    let all = Config { push_routing: PushRouting::Broadcast, ..config() };
    let (mut net, [a, b, c]) = middle(&all);
    net.inject(0, a, &message(1, 5, 1, MessageBody::Query(query("some thing"))));
    let answer = message(1, 5, 1, MessageBody::Hit(hit_of(9, "some thing")));
    assert_eq!(net.inject(0, b, &answer), Some(RoutingVerdict::Forward { to: vec![a] }));
    assert_eq!(net.inject(0, c, &answer), drop(DropReason::Duplicate));
    let push = message(2, 5, 1, push_of(9));
    assert_eq!(net.inject(0, a, &push), Some(RoutingVerdict::Forward { to: vec![b, c] }));
    let from_one = message(3, 5, 1, push_of(9));
    assert_eq!(net.inject(0, b, &from_one), Some(RoutingVerdict::Forward { to: vec![c] }));
    assert_eq!(net.inject(0, a, &message(4, 5, 1, push_of(8))), drop(DropReason::NoRoute));
}

#[test]
fn rt_5_entries_leave_by_time_and_a_flooder_takes_no_place_of_others() {
    let few = Config { queries_per_link: 1_000, ..config() };
    let (mut net, [a, b, c]) = middle(&few);
    net.inject(0, a, &message(1, 5, 1, MessageBody::Query(query("honest question"))));
    for n in 0..20_000 {
        let verdict = net.inject(0, c, &message(100 + n, 5, 1, MessageBody::Query(query("flood"))));
        let forwarded = matches!(verdict, Some(RoutingVerdict::Forward { .. }));
        assert_eq!(forwarded, n < 1_000, "{n}: {verdict:?}");
        net.run();
        net.told.clear();
    }
    let told = Event::Limit { conn: c, why: DropReason::Quota };
    net.wait(Duration::from_secs(500));
    let answer = message(1, 5, 1, MessageBody::Hit(hit_of(9, "honest question")));
    assert_eq!(net.inject(0, b, &answer), Some(RoutingVerdict::Forward { to: vec![a] }));
    let fresh = net.inject(0, b, &message(2, 5, 1, MessageBody::Query(query("honest too"))));
    assert!(matches!(fresh, Some(RoutingVerdict::Forward { .. })), "another's quota is its own");
    assert_eq!(net.routers[0].counters().dropped_of(MessageKind::Query, DropReason::Quota), 19_000);
    net.wait(Duration::from_secs(101));
    net.inject(0, c, &message(50, 5, 1, MessageBody::Query(query("flood"))));
    assert!(matches!(net.verdicts(guid(50)).first(), Some((0, RoutingVerdict::Forward { .. }))));
    assert!(!net.told.iter().any(|other| other.event == told), "told once, before");
}

#[test]
fn rt_5_a_flood_takes_a_part_of_its_quota_at_once_and_the_rest_over_time() {
    // One in a second, and ten before that.
    let even = Config { queries_per_link: 600, queries_at_once: 10, ..config() };
    let (mut net, [a, _, c]) = middle(&even);
    let mut id = 100;
    let mut flood = |net: &mut Net, conn, count: u64| {
        let mut taken = 0;
        for _ in 0..count {
            id += 1;
            let verdict =
                net.inject(0, conn, &message(id, 5, 1, MessageBody::Query(query("flood"))));
            taken += u64::from(matches!(verdict, Some(RoutingVerdict::Forward { .. })));
        }
        net.run();
        taken
    };
    assert_eq!(flood(&mut net, c, 1_000), 10);
    let told = Event::Limit { conn: c, why: DropReason::Quota };
    assert_eq!(net.told.iter().filter(|other| other.event == told).count(), 1);
    assert_eq!(flood(&mut net, a, 5), 5, "another's is its own");
    net.wait(Duration::from_secs(4));
    assert_eq!(flood(&mut net, c, 1_000), 4);
    net.wait(Duration::from_secs(60));
    assert_eq!(flood(&mut net, c, 1_000), 10, "what was not asked is not saved up");
    let entries = net.routers[0].view().tables[0].young;
    assert_eq!(entries, 10 + 5 + 4 + 10, "nothing else is remembered of it");
}

#[test]
fn rt_14_a_neighbour_that_floods_with_keyword_tables_is_told_so_and_left() {
    let few = Config { tables_at_once: 4, ..config() };
    let (mut net, [_, _, c]) = middle(&few);
    let reset = || MessageBody::Qrp(Qrp::Reset { length: 65_536, infinity: 7 });
    let taken = |net: &mut Net, count: u64| {
        let told = (0..count).map(|n| net.inject(0, c, &message(500 + n, 1, 0, reset())));
        told.filter(|verdict| *verdict == Some(RoutingVerdict::Local)).count()
    };
    assert_eq!(taken(&mut net, 10), 4);
    net.wait(Duration::from_secs(20));
    assert_eq!(taken(&mut net, 10), 2, "one in ten seconds");
    net.wait(Duration::from_secs(100));
    assert_eq!(taken(&mut net, 4), 4);
    assert_eq!(net.routers[0].counters().dropped_of(MessageKind::Qrp, DropReason::Quota), 14);
    taken(&mut net, 40);
    let left = |event: &Event| matches!(event, Event::Closed { conn, .. } if *conn == c);
    assert!(net.told.iter().any(|told| left(&told.event)), "it goes on and on");
}

#[test]
fn rt_6_a_ping_comes_once() {
    let (mut net, [a, b, _]) = middle(&config());
    let ping = message(1, 7, 0, MessageBody::Ping(Ping::default()));
    net.wait(Duration::from_secs(2));
    assert_eq!(net.inject(0, a, &ping), Some(RoutingVerdict::Local));
    assert_eq!(net.inject(0, b, &ping), drop(DropReason::Duplicate));
}

#[test]
fn rt_7_a_pong_is_known_by_guid_and_address() {
    let (mut net, [a, b, _]) = middle(&config());
    let (one, other) = ("80.5.5.5:6341", "80.5.5.5:6342");
    assert_eq!(net.pong(0, a, one), Some(RoutingVerdict::Local));
    assert_eq!(net.pong(0, a, one), drop(DropReason::Duplicate));
    assert_eq!(net.pong(0, a, other), Some(RoutingVerdict::Local), "another port");
    assert_eq!(net.pong(0, b, one), Some(RoutingVerdict::Local), "another ping's");
}

#[test]
fn rt_8_a_query_comes_once_from_wherever() {
    let (mut net, [a, b, c]) = middle(&config());
    let ask = message(1, 5, 1, MessageBody::Query(query("some thing")));
    assert!(matches!(net.inject(0, a, &ask), Some(RoutingVerdict::Forward { .. })));
    assert_eq!(net.inject(0, b, &ask), drop(DropReason::Duplicate));
    assert_eq!(net.inject(0, c, &ask), drop(DropReason::Duplicate));
    // The way stays that of the first: a replay does not draw the answers.
    let answer = message(1, 5, 1, MessageBody::Hit(hit_of(9, "some thing")));
    assert_eq!(net.inject(0, c, &answer), Some(RoutingVerdict::Forward { to: vec![a] }));
}

#[test]
fn rt_9_a_hit_is_known_by_query_servent_and_result_set() {
    let (mut net, [a, b, c]) = middle(&config());
    net.inject(0, a, &message(1, 5, 1, MessageBody::Query(query("some thing"))));
    let to_a = Some(RoutingVerdict::Forward { to: vec![a] });
    let hit = |node, name| message(1, 5, 1, MessageBody::Hit(hit_of(node, name)));
    assert_eq!(net.inject(0, b, &hit(9, "one thing")), to_a);
    assert_eq!(
        net.inject(0, c, &hit(9, "one thing")),
        drop(DropReason::Duplicate),
        "both neighbours"
    );
    assert_eq!(net.inject(0, b, &hit(9, "one thing")), drop(DropReason::Duplicate), "twice");
    assert_eq!(net.inject(0, b, &hit(9, "two thing")), to_a, "more results of one servent");
    assert_eq!(net.inject(0, b, &hit(8, "one thing")), to_a, "the same of another servent");
    // A relay writes into the private area: the same hit still.
    let MessageBody::Hit(known) = hit(9, "one thing").body else { unreachable!() };
    let mut bytes = known.payload().to_vec();
    let at = bytes.len() - 16;
    bytes.splice(at..at, *b"rewritten");
    let rewritten = servent_core::wire::gnutella::QueryHit::parse(bytes.into()).unwrap();
    assert_eq!(
        net.inject(0, c, &message(1, 5, 1, MessageBody::Hit(rewritten))),
        drop(DropReason::Duplicate)
    );
}

#[test]
fn rt_10_a_push_comes_once_by_its_own_guid() {
    let (mut net, [a, b, c]) = middle(&config());
    net.inject(0, a, &message(1, 5, 1, MessageBody::Query(query("some thing"))));
    net.inject(0, b, &message(1, 5, 1, MessageBody::Hit(hit_of(9, "some thing"))));
    let push = message(2, 5, 1, push_of(9));
    assert_eq!(net.inject(0, a, &push), Some(RoutingVerdict::Forward { to: vec![b] }));
    assert_eq!(net.inject(0, c, &push), drop(DropReason::Duplicate));
    assert_eq!(
        net.inject(0, c, &message(3, 5, 1, push_of(9))),
        Some(RoutingVerdict::Forward { to: vec![b] })
    );
}

#[test]
fn rt_11_a_bye_ends_the_connection() {
    let (mut net, [a, ..]) = middle(&config());
    let bye = Bye { code: code::EXIT, text: "gone".into() };
    assert_eq!(
        net.inject(0, a, &message(1, 1, 0, MessageBody::Bye(bye))),
        Some(RoutingVerdict::Local)
    );
    assert_eq!(net.routers[0].links(), 2);
    let why = NeighbourEnding::Bye { code: 200, text: "gone".into() };
    assert!(net.told.iter().any(|told| told.event == Event::Closed { conn: a, why: why.clone() }));
    let lost = |told: &routing_support::Told| {
        told.node == 1 && matches!(told.event, Event::Closed { why: NeighbourEnding::Lost, .. })
    };
    assert!(net.told.iter().any(lost), "and the other side sees it closed");
}

#[test]
fn rt_12_duplicates_are_known_for_ten_minutes_at_least() {
    let (mut net, [a, b, _]) = middle(&config());
    net.inject(0, a, &message(1, 5, 1, MessageBody::Query(query("some thing"))));
    net.inject(0, a, &message(2, 5, 1, push_of(0)));
    net.wait(Duration::from_secs(599));
    for n in 1..=2 {
        let body = if n == 1 { MessageBody::Query(query("some thing")) } else { push_of(0) };
        assert_eq!(net.inject(0, b, &message(n, 5, 1, body)), drop(DropReason::Duplicate));
    }
    net.wait(Duration::from_secs(602));
    assert_ne!(net.inject(0, b, &message(2, 5, 1, push_of(0))), drop(DropReason::Duplicate));
}

#[test]
fn rt_13_pings_are_answered_with_remembered_pongs_and_not_passed_on() {
    let (mut net, [a, b, c]) = middle(&config());
    for (conn, n) in [(b, 1), (b, 2), (c, 3)] {
        net.pong(0, conn, &format!("80.7.7.{n}:6346"));
    }
    net.wait(Duration::from_secs(2));
    let mark = net.told.len();
    net.inject(0, a, &message(9, 7, 0, MessageBody::Ping(Ping::default())));
    net.run();
    let pongs: Vec<_> = net.told[mark..]
        .iter()
        .filter_map(|told| match told.event {
            Event::Judged { guid: id, kind: MessageKind::Pong, ttl, hops, .. } if id == guid(9) => {
                Some((told.node, ttl + hops, hops))
            }
            _ => None,
        })
        .collect();
    assert!(pongs.iter().all(|(node, sum, _)| *node == 1 && *sum <= 7), "{pongs:?}");
    assert!(pongs.contains(&(1, 7, 0)), "our own");
    assert!(pongs.iter().filter(|(_, _, hops)| *hops == 3).count() == 3, "one hop more: {pongs:?}");
    let pings = |told: &&routing_support::Told| matches!(told.event, Event::Judged { kind: MessageKind::Ping, .. } if told.node != 0);
    assert_eq!(net.told[mark..].iter().filter(pings).count(), 0, "nothing is passed on");
    let ping = |n| message(n, 7, 0, MessageBody::Ping(Ping::default()));
    assert_eq!(net.inject(0, a, &ping(10)), drop(DropReason::TooSoon));
    net.wait(Duration::from_micros(999_999));
    assert_eq!(net.inject(0, a, &ping(11)), drop(DropReason::TooSoon));
    net.wait(Duration::from_micros(1));
    assert_eq!(net.inject(0, a, &ping(12)), Some(RoutingVerdict::Local), "one a second");
}

#[test]
fn rt_13_pongs_that_cannot_be_true_are_dropped() {
    let (mut net, [a, ..]) = middle(&config());
    for at in ["80.1.1.1:0", "10.0.0.1:1", "127.0.0.1:1", "224.0.0.1:1", "80.0.0.0:6346"] {
        assert_eq!(net.pong(0, a, at), drop(DropReason::BadAddress), "{at}");
    }
    let verdicts: Vec<_> = (0..20).map(|n| net.pong(0, a, &format!("80.1.1.{n}:1"))).collect();
    assert!(verdicts.contains(&drop(DropReason::Unasked)), "more than a ping asks for");
}

#[test]
fn rt_13_a_pong_is_taken_only_for_a_ping_that_is_out() {
    let (mut net, [a, b, _]) = middle(&config());
    let at = "80.7.7.7:6346".parse().unwrap();
    let answer = |net: &mut Net, conn, id| {
        let body =
            MessageBody::Pong(Pong { at, files: 1, kilobytes: 1, ggep: OverlayPayload::new() });
        net.inject(0, conn, &OverlayMessage { guid: id, ttl: 5, hops: 1, body })
    };
    let (mine, others) = (net.ping_out(0, a), net.ping_out(0, b));
    assert_eq!(answer(&mut net, a, guid(1)), drop(DropReason::Unasked), "no query's");
    assert_eq!(answer(&mut net, a, others), drop(DropReason::Unasked), "another neighbour's");
    net.wait(Duration::from_secs(31));
    assert_ne!(net.ping_out(0, a), mine);
    assert_eq!(answer(&mut net, a, mine), drop(DropReason::Unasked), "the one before");
    let out = net.ping_out(0, a);
    assert_eq!(answer(&mut net, a, out), Some(RoutingVerdict::Local));
}

#[test]
fn rt_14_keyword_tables_and_vendor_messages_go_no_further() {
    let (mut net, [a, b, c]) = middle(&config());
    let vendor = Vendor {
        standard: false,
        vendor: *b"TEST",
        selector: 1,
        version: 1,
        data: OverlayPayload::new(),
    };
    let vendor = message(1, 7, 0, MessageBody::Vendor(vendor));
    assert_eq!(net.inject(0, a, &vendor), drop(DropReason::Unknown));
    assert_eq!(net.inject(0, b, &vendor), drop(DropReason::Unknown), "no table of duplicates");
    let mut table = servent_core::wire::gnutella::Keywords::new(12);
    table.add("only this");
    for part in table.messages() {
        assert_eq!(
            net.inject(0, a, &message(2, 1, 0, MessageBody::Qrp(part))),
            Some(RoutingVerdict::Local)
        );
    }
    let last_hop = |n, words| message(n, 2, 1, MessageBody::Query(query(words)));
    let ask = last_hop(3, "something else");
    assert_eq!(net.inject(0, b, &ask), Some(RoutingVerdict::Forward { to: vec![c] }), "not to a");
    assert_eq!(
        net.inject(0, b, &last_hop(4, "only this")),
        Some(RoutingVerdict::Forward { to: vec![a, c] })
    );
    let farther = message(5, 4, 1, MessageBody::Query(query("something else")));
    assert_eq!(net.inject(0, b, &farther), Some(RoutingVerdict::Forward { to: vec![a, c] }));
    let bad = Qrp::Reset { length: 1_000, infinity: 7 };
    assert_eq!(
        net.inject(0, a, &message(6, 1, 0, MessageBody::Qrp(bad))),
        drop(DropReason::Improper)
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rt_15_no_choice_of_guids_makes_strangers_meet(ids in prop::collection::btree_set(any::<[u8; 16]>(), 50)) {
        let (mut net, [a, ..]) = middle(&config());
        for id in ids.iter().flat_map(|id| {
            let mut near = *id;
            near[15] ^= 1;
            let mut swapped = *id;
            swapped.reverse();
            [*id, near, swapped]
        }) {
            let mut ask = message(0, 5, 1, MessageBody::Query(query("some thing")));
            ask.guid = Guid(id);
            let verdict = net.inject(0, a, &ask);
            let again = net.verdicts(Guid(id)).len() > 1;
            prop_assert_eq!(verdict == drop(DropReason::Duplicate), again);
        }
    }
}

#[test]
fn ttl_and_hops_have_their_bounds() {
    let (mut net, [a, b, c]) = middle(&config());
    let mut id = 0;
    let mut inject = |ttl, hops| {
        id += 1;
        let ask = message(id, ttl, hops, MessageBody::Query(query("some thing")));
        let verdict = net.inject(0, a, &ask);
        net.run();
        let onward = net.told.iter().find_map(|told| match told.event {
            Event::Judged { guid: at, ttl, hops, .. } if at == guid(id) && told.node != 0 => {
                Some((ttl, hops))
            }
            _ => None,
        });
        (verdict, onward)
    };
    let on = || Some(RoutingVerdict::Forward { to: vec![b, c] });
    assert_eq!(inject(0, 0), (drop(DropReason::TtlZero), None));
    assert_eq!(inject(0, 3), (Some(RoutingVerdict::Local), None));
    assert_eq!(inject(1, 0), (Some(RoutingVerdict::Local), None));
    assert_eq!(inject(7, 0), (on(), Some((6, 1))));
    assert_eq!(inject(15, 0), (on(), Some((6, 1))), "clamped");
    assert_eq!(inject(5, 5), (on(), Some((1, 6))), "clamped together");
    assert_eq!(inject(3, 9), (Some(RoutingVerdict::Local), None));
    for (ttl, hops) in [(16, 0), (200, 0), (255, 0), (1, 255), (255, 255), (1, 16)] {
        assert_eq!(inject(ttl, hops), (drop(DropReason::TtlTooLarge), None), "{ttl} {hops}");
    }
}

#[test]
fn a_neighbour_that_keeps_sending_what_it_must_not_is_told_so_and_left() {
    let bye = |net: &Net, conn| {
        net.told.iter().find_map(|told| match &told.event {
            Event::Closed { conn: at, why: NeighbourEnding::Given { code } } if *at == conn => {
                Some(*code)
            }
            _ => None,
        })
    };
    let (mut net, [a, b, c]) = middle(&config());
    for n in 0..40 {
        net.inject(0, a, &message(n, 200, 0, MessageBody::Query(query("x"))));
        net.inject(0, b, &message(77, 5, 0, MessageBody::Query(query("x"))));
        net.give(0, Input::Improper { conn: c, kind: MessageKind::Hit, why: PayloadError::Short });
    }
    assert_eq!(bye(&net, a), Some(code::TTL_TOO_LARGE));
    assert_eq!(bye(&net, b), Some(code::DUPLICATES));
    assert_eq!(bye(&net, c), Some(code::IMPROPER));
    assert_eq!(net.routers[0].links(), 0);
}

#[test]
fn pushes_at_third_parties_have_their_bounds() {
    let (mut net, [a, ..]) = middle(&config());
    let mut id = 0;
    let mut push = |at: &str| {
        id += 1;
        let mut body = push_of(0);
        if let MessageBody::Push(push) = &mut body {
            push.at = at.parse().unwrap();
        }
        net.inject(0, a, &message(id, 5, 1, body))
    };
    let beyond = ["224.0.0.1:6346", "255.255.255.255:6346", "10.0.0.1:6346", "127.0.0.1:6346"];
    for at in ["80.9.9.9:0", "80.9.9.9:25", "80.9.9.9:1023"].into_iter().chain(beyond) {
        assert_eq!(push(at), drop(DropReason::BadAddress), "{at}");
    }
    assert_eq!(push("80.0.0.0:6346"), drop(DropReason::BadAddress), "ourselves");
    for n in 0..5 {
        assert_eq!(push(&format!("80.9.9.9:{}", 1_024 + n)), Some(RoutingVerdict::Local));
    }
    assert_eq!(push("80.9.9.9:6346"), drop(DropReason::PushLimit));
    assert_eq!(push("80.9.9.8:6346"), Some(RoutingVerdict::Local), "another target");
    net.wait(Duration::from_secs(31));
    assert!(net.inject(0, a, &message(99, 5, 1, push_of(0))) == Some(RoutingVerdict::Local));
}

#[test]
fn pushes_at_more_targets_than_are_counted_are_not_obeyed() {
    let (mut net, [a, ..]) = middle(&Config { push_targets: 2, ..config() });
    let mut push = |id, at: &str| {
        let MessageBody::Push(push) = push_of(0) else { unreachable!() };
        let body = MessageBody::Push(Push { at: at.parse().unwrap(), ..push });
        net.inject(0, a, &message(id, 5, 1, body))
    };
    assert_eq!(push(1, "80.9.9.1:6346"), Some(RoutingVerdict::Local));
    assert_eq!(push(2, "80.9.9.2:6346"), Some(RoutingVerdict::Local));
    assert_eq!(push(3, "80.9.9.3:6346"), drop(DropReason::PushLimit));
    assert_eq!(push(4, "80.9.9.2:6347"), Some(RoutingVerdict::Local), "it is counted already");
}

#[test]
fn answers_to_one_query_have_their_bounds() {
    let (mut net, [a, b, _]) = middle(&config());
    net.inject(0, a, &message(1, 5, 1, MessageBody::Query(query("some thing"))));
    let mut passed = 0;
    for n in 0..200 {
        let answer = message(1, 5, 1, MessageBody::Hit(hit_of(9, &format!("some thing {n}"))));
        passed +=
            usize::from(matches!(net.inject(0, b, &answer), Some(RoutingVerdict::Forward { .. })));
    }
    assert_eq!(passed, 100);
    net.inject(0, a, &message(2, 5, 1, MessageBody::Query(query("some thing"))));
    let long = "x".repeat(3_000);
    let many = (0..40).filter(|n| {
        let answer = message(2, 5, 1, MessageBody::Hit(hit_of(9, &format!("{long}{n}"))));
        matches!(net.inject(0, b, &answer), Some(RoutingVerdict::Forward { .. }))
    });
    assert_eq!(many.count(), 16, "50 000 bytes");
    let question = message(3, 5, 1, MessageBody::Query(query(&"y".repeat(300))));
    assert_eq!(net.inject(0, a, &question), drop(DropReason::TooLong));
}

#[test]
fn a_neighbour_that_takes_nothing_costs_bounded_memory_and_is_left() {
    let (mut net, [a, b, _]) = middle(&config());
    let mut told = Vec::new();
    for n in 0..3_000_u64 {
        // The host never gets rid of anything for b.
        let ask = message(n, 5, 1, MessageBody::Query(query(&format!("some thing {n:0>150}"))));
        let mut fx = servent_core::engine::Fx::new();
        use servent_core::engine::Engine as _;
        net.routers[0].handle(net.now, Input::Message { conn: a, message: ask }, &mut fx);
        told.extend(fx.events().cloned());
        let view = net.routers[0].view();
        assert!(view.links.iter().all(|link| link.waiting <= 128 * 1_024));
    }
    assert!(told.contains(&Event::Limit { conn: b, why: DropReason::Overflow }));
    assert!(net.routers[0].counters().dropped_of(MessageKind::Query, DropReason::Overflow) > 500);
    net.give(0, Input::Backlog { conn: a, bytes: 0 });
    net.wait(Duration::from_secs(61));
    let gone = |conn| Event::Closed { conn, why: NeighbourEnding::Given { code: code::OVERFLOW } };
    assert!(net.told.iter().any(|told| told.event == gone(b)));
}

#[test]
fn a_silent_neighbour_is_left() {
    let mut net = Net::new(1, &config());
    let conn = ConnId(900);
    net.give(0, Input::Opened { conn, peer: address(7), neighbour: neighbour(7) });
    net.wait(Duration::from_secs(119));
    assert_eq!(net.routers[0].links(), 1);
    net.wait(Duration::from_secs(2));
    assert_eq!(net.routers[0].links(), 0);
    let why = NeighbourEnding::Given { code: code::NO_PONG };
    assert!(net.told.iter().any(|told| told.event == Event::Closed { conn, why: why.clone() }));
}
