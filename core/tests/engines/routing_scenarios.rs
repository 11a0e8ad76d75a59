//! Overlays of routers: floods, answers that walk back, and what goes wrong
//! on the way.

use crate::routing_support;

use routing_support::{Net, address, config, guid, hit_of, message, query, servent};
use servent_core::id::FileIndex;
use servent_core::routing::{Config, DropReason, Event, RoutingVerdict};
use servent_core::time::Duration;
use servent_core::wire::gnutella::{
    Deflater, FrameLimits, Framer, InflateLimits, Inflater, MessageBody,
};
use servent_core::wire::gnutella::{MessageKind, OverlayMessage, OverlayPayload, Push};

const NAME: &str = "a rare thing.txt";

/// Query copies that were sent, and of these the ones that were new.
fn efficiency(net: &Net) -> (u64, u64) {
    let sum = |count: &dyn Fn(&servent_core::routing::RoutingCounters) -> u64| {
        net.routers.iter().map(|router| count(router.counters())).sum::<u64>()
    };
    let sent = sum(&|counters| counters.sent_of(MessageKind::Query));
    let duplicate = sum(&|counters| counters.dropped_of(MessageKind::Query, DropReason::Duplicate));
    (sent, sent - duplicate)
}

/// Searches from the first for what the last one has; what it cost.
fn flood(net: &mut Net, reached: usize) -> (u64, u64) {
    let last = net.routers.len() - 1;
    net.shared[last] = vec![NAME];
    let guid = net.search(0, 1, "rare thing");
    net.check_flood(guid);
    assert_eq!(net.seen.len(), reached, "how many look at it");
    assert_eq!(net.hits, [(0, guid, servent(last))], "one answer, once");
    efficiency(net)
}

#[test]
fn a_line_is_flooded_without_waste() {
    let mut net = Net::line(7, &config());
    assert_eq!(flood(&mut net, 6), (6, 6));
}

#[test]
fn a_ring_meets_itself_once() {
    let mut net = Net::ring(8, &config());
    let (sent, useful) = flood(&mut net, 7);
    assert_eq!(useful, 7);
    assert!(sent <= 9, "the two ends of the wave meet: {sent}");
}

#[test]
fn a_star_wastes_nothing() {
    let mut net = Net::star(30, &config());
    assert_eq!(flood(&mut net, 30), (30, 30));
}

#[test]
fn a_mesh_wastes_nearly_everything() {
    let mut net = Net::mesh(10, &config());
    assert_eq!(flood(&mut net, 9), (9 + 9 * 8, 9));
}

#[test]
fn random_overlays_answer_once() {
    for seed in 0..4 {
        let mut net = Net::random(60, seed, &Config { max_ttl: 15, ..config() });
        let (sent, useful) = flood(&mut net, 59);
        assert_eq!(useful, 59);
        assert!(sent > useful, "cycles cost something");
    }
}

#[test]
fn small_worlds_answer_once() {
    for seed in 0..4 {
        let mut net = Net::small_world(40, seed, &Config { max_ttl: 15, ..config() });
        assert_eq!(flood(&mut net, 39).1, 39);
    }
}

#[test]
fn a_horizon_is_seven_links() {
    let mut net = Net::line(12, &config());
    net.shared[7] = vec![NAME];
    net.shared[8] = vec![NAME];
    let guid = net.search(0, 1, "rare");
    assert_eq!(net.seen.len(), 7);
    assert_eq!(net.hits, [(0, guid, servent(7))], "the eighth is too far away");
}

#[test]
fn a_push_walks_to_the_end_of_the_line_29_minutes_later_and_not_after_61() {
    let mut net = Net::line(5, &config());
    net.shared[4] = vec![NAME];
    net.search(0, 1, "rare");
    net.wait(Duration::from_secs(29 * 60));
    net.push(0, 2, 4);
    assert_eq!(net.pushed.len(), 1);
    let (node, push) = &net.pushed[0];
    assert_eq!((*node, std::net::SocketAddr::V4(push.at)), (4, address(0)));
    net.wait(Duration::from_secs(32 * 60));
    net.push(0, 3, 4);
    assert_eq!((net.pushed.len(), net.no_way.len()), (1, 1), "no neighbour knows the way any more");
}

#[test]
fn a_route_expires_and_the_hit_is_dropped_for_that() {
    let mut net = Net::line(3, &config());
    let guid = net.search(0, 1, "rare");
    net.wait(Duration::from_secs(1_201));
    let conn = net.conn(1, 2);
    let late = message(1, 7, 0, MessageBody::Hit(hit_of(2, NAME)));
    assert_eq!(net.inject(1, conn, &late), Some(RoutingVerdict::Drop { why: DropReason::NoRoute }));
    assert!(net.verdicts(guid).len() > 1 && net.hits.is_empty());
}

#[test]
fn a_cut_on_the_way_back_loses_the_answer_and_says_so() {
    let mut net = Net::line(4, &config());
    net.search(0, 1, "rare");
    let (cut, from) = (net.conn(1, 0), net.conn(1, 2));
    net.cut(1, cut);
    let late = message(1, 7, 0, MessageBody::Hit(hit_of(3, NAME)));
    assert_eq!(
        net.inject(1, from, &late),
        Some(RoutingVerdict::Drop { why: DropReason::RouteGone })
    );
    net.link(0, 1);
    net.run();
    let asked = |told: &&routing_support::Told| {
        matches!(told.event, Event::Sent { kind: MessageKind::Query, .. }) && told.node == 0
    };
    let times = net.told.iter().filter(asked).count();
    assert_eq!(times, 2, "a search that still runs is asked of a new neighbour");
}

#[test]
fn a_replay_from_elsewhere_changes_nothing() {
    let mut net = Net::star(3, &config());
    let (a, b, c) = (net.conn(0, 1), net.conn(0, 2), net.conn(0, 3));
    let ask = message(1, 5, 0, MessageBody::Query(query("rare")));
    net.inject(0, a, &ask);
    assert_eq!(net.inject(0, c, &ask), Some(RoutingVerdict::Drop { why: DropReason::Duplicate }));
    let hit = message(1, 5, 0, MessageBody::Hit(hit_of(2, NAME)));
    assert_eq!(net.inject(0, b, &hit), Some(RoutingVerdict::Forward { to: vec![a] }));
}

#[test]
fn two_servents_with_one_id_are_noticed_and_the_first_keeps_its_pushes() {
    let mut net = Net::star(3, &config());
    net.ourselves(2, servent(1));
    net.shared[1] = vec!["a rare one"];
    net.search(3, 1, "rare");
    let hit = |name| message(1, 7, 0, MessageBody::Hit(hit_of(1, name)));
    let second = net.conn(0, 2);
    net.inject(0, second, &hit("another rare one"));
    net.run();
    let conflict = |told: &routing_support::Told| {
        matches!(told.event, Event::Conflict { .. }) && told.node == 0
    };
    assert_eq!(net.told.iter().filter(|told| conflict(told)).count(), 1);
    net.push(3, 2, 1);
    assert_eq!(net.pushed.len(), 1);
    assert_eq!(net.pushed[0].0, 1, "not the one that came later");
}

#[test]
fn the_same_hit_from_both_neighbours_arrives_once() {
    let mut net = Net::ring(4, &config());
    net.shared[2] = vec![NAME];
    let guid = net.search(0, 1, "rare");
    let hit = message(1, 7, 1, MessageBody::Hit(hit_of(2, NAME)));
    for neighbour in [1, 3] {
        let conn = net.conn(0, neighbour);
        net.inject(0, conn, &hit);
    }
    assert_eq!(net.hits, [(0, guid, servent(2))]);
}

#[test]
fn a_million_questions_of_one_neighbour_evict_no_other_route() {
    let few = Config { trace_messages: false, ..Config::default() };
    let mut net = Net::star(2, &few);
    let (honest, flooder) = (net.conn(0, 1), net.conn(0, 2));
    let ask = message(1, 5, 1, MessageBody::Query(query("rare")));
    net.inject(0, honest, &ask);
    let mut flood = message(0, 1, 1, MessageBody::Query(query("flood")));
    for n in 0..1_000_000_u64 {
        flood.guid = guid(1_000 + n);
        net.inject(0, flooder, &flood);
        if n % 1_000 == 0 {
            net.seen.clear();
        }
    }
    let counters = net.routers[0].counters();
    assert_eq!(counters.dropped_of(MessageKind::Query, DropReason::Quota), 1_000_000 - 131_072);
    let bytes = net.routers[0].table_bytes();
    assert!(bytes < 131_073 * 40, "{bytes} bytes");
    let before = net.routers[0].counters().sent_of(MessageKind::Hit);
    net.inject(0, flooder, &message(1, 5, 1, MessageBody::Hit(hit_of(2, NAME))));
    assert_eq!(
        net.routers[0].counters().sent_of(MessageKind::Hit),
        before + 1,
        "the answer finds its way"
    );
}

#[test]
fn messages_cut_anywhere_many_at_once_and_deflated_are_the_same_messages() {
    let messages: Vec<OverlayMessage> = (0..40)
        .map(|n| match n % 3 {
            0 => message(n, 5, 1, MessageBody::Query(query("some thing"))),
            1 => message(n, 5, 1, MessageBody::Hit(hit_of(1, "some thing"))),
            _ => {
                let (servent, index) = (servent(1), FileIndex(1));
                let at = "80.1.1.1:1".parse().unwrap();
                message(
                    n,
                    5,
                    1,
                    MessageBody::Push(Push { servent, index, at, ggep: OverlayPayload::new() }),
                )
            }
        })
        .collect();
    let plain: Vec<u8> = messages.iter().flat_map(OverlayMessage::to_bytes).collect();
    let packed = Deflater::new().push(&plain);
    for size in [1, 2, 7, 22, 23, 24, 1_000, 1_000_000] {
        let mut inflater = Inflater::new(InflateLimits { bytes: 1 << 20, ratio: 64 });
        let mut unpacked = Vec::new();
        packed.chunks(size).for_each(|piece| unpacked.extend(inflater.push(piece).unwrap()));
        for stream in [&plain, &unpacked] {
            let mut framer = Framer::new(FrameLimits { payload: 65_536 });
            let mut read = Vec::new();
            for piece in stream.chunks(size) {
                framer.push(OverlayPayload::copy_from_slice(piece));
                while let Some(frame) = framer.next_frame().unwrap() {
                    read.push(OverlayMessage::parse(frame).unwrap());
                }
            }
            assert_eq!(read, messages, "cut every {size} bytes");
        }
    }
}

#[test]
fn what_goes_through_is_counted_by_kind_and_by_neighbour() {
    let mut net = Net::line(3, &config());
    let (from, to) = (net.conn(1, 0), net.conn(1, 2));
    let counts = |net: &Net| {
        let (counters, view) = (net.routers[1].counters(), net.routers[1].view());
        let link = |conn| view.links.iter().find(|link| link.conn == conn).expect("a neighbour");
        let queries =
            [counters.received_of(MessageKind::Query), counters.sent_of(MessageKind::Query)];
        (queries, [link(from).received, link(from).sent], [link(to).received, link(to).sent])
    };
    let (queries, one, other) = counts(&net);
    for id in 1..=3 {
        net.inject(1, from, &message(id, 3, 1, MessageBody::Query(query("some thing"))));
    }
    let added = |[received, sent]: [u64; 2], by: [u64; 2]| [received + by[0], sent + by[1]];
    let expected = (added(queries, [3, 3]), added(one, [3, 0]), added(other, [0, 3]));
    assert_eq!(counts(&net), expected);
}
