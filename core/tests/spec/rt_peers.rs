//! What deployed peers taught: the second edition's requirements of the
//! router.

use crate::routing_support;

use routing_support::{Net, address, config, guid, hit_of, message, neighbour, query, servent};
use servent_core::engine::{Engine as _, Fx};
use servent_core::id::{ConnId, FileIndex};
use servent_core::rng::Rng;
use servent_core::routing::{
    Breakage, Config, DropReason, Event, Input, Neighbour, Output, PushRouting, Router,
    RoutingVerdict,
};
use servent_core::time::Duration;
use servent_core::wire::gnutella::{
    Compressor, Keywords, MessageBody, MessageFrameError, MessageKind, OverlayPayload,
    PayloadError, Push, Qrp, Vendor,
};

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
fn rt_21_one_neighbours_hits_silence_no_other() {
    let (mut net, [a, b, c]) = middle(&config());
    net.inject(0, a, &message(1, 5, 1, MessageBody::Query(query("some thing"))));
    let hit = |of, n| message(1, 5, 1, MessageBody::Hit(hit_of(of, &format!("some thing {n}"))));
    for n in 0..150 {
        let verdict = net.inject(0, b, &hit(9, n));
        let to = if n < 100 {
            RoutingVerdict::Forward { to: vec![a] }
        } else {
            RoutingVerdict::Drop { why: DropReason::ResultLimit }
        };
        assert_eq!(verdict, Some(to), "{n}");
    }
    for n in 0..100 {
        let verdict = net.inject(0, c, &hit(8, n));
        assert_eq!(verdict, Some(RoutingVerdict::Forward { to: vec![a] }), "{n} of another");
    }
}

#[test]
fn rt_21_our_own_search_hears_all_neighbours() {
    let (mut net, [a, b, _]) = middle(&config());
    net.search(0, 1, "some thing");
    for n in 0..300 {
        let hit = message(1, 5, 1, MessageBody::Hit(hit_of(9, &format!("some thing {n}"))));
        assert_eq!(net.inject(0, a, &hit), Some(RoutingVerdict::Local), "{n}");
    }
    let other = message(1, 5, 1, MessageBody::Hit(hit_of(8, "some thing")));
    assert_eq!(net.inject(0, b, &other), Some(RoutingVerdict::Local));
    assert_eq!(net.hits.len(), 301);
}

#[test]
fn rt_22_every_hit_renews_the_way_of_a_push() {
    for push_routing in [PushRouting::Standard, PushRouting::Broadcast] {
        let (mut net, [a, b, _]) = middle(&Config { push_routing, ..config() });
        let bring = |net: &mut Net, n| {
            net.inject(0, a, &message(n, 5, 1, MessageBody::Query(query("some thing"))));
            net.inject(0, b, &message(n, 5, 1, MessageBody::Hit(hit_of(9, "some thing"))));
            // A copy of it counts too.
            let again = message(n, 5, 1, MessageBody::Hit(hit_of(9, "some thing")));
            net.wait(Duration::from_secs(8 * 60));
            assert_eq!(
                net.inject(0, b, &again),
                Some(RoutingVerdict::Drop { why: DropReason::Duplicate })
            );
        };
        bring(&mut net, 1);
        net.wait(Duration::from_secs(23 * 60));
        bring(&mut net, 2);
        net.wait(Duration::from_secs(29 * 60 + 50));
        let push = message(3, 5, 1, push_of(9));
        let verdict = net.inject(0, a, &push);
        assert_eq!(verdict, Some(RoutingVerdict::Forward { to: vec![b] }), "{push_routing:?}");
    }
}

/// A router that leads searches, with so many ultrapeers for neighbours and a
/// leaf behind each of `leaves`.
fn leading(ultrapeers: u64, leaves: u64, config: &Config) -> (Net, Vec<ConnId>, Vec<ConnId>) {
    let mut net = Net::new(1, &Config { dynamic: true, ..config.clone() });
    let mut open = |n: u64, relays| {
        let conn = ConnId(900 + n);
        let extra = Neighbour { relays, probes: relays, keywords: relays, ..neighbour(n as usize) };
        net.give(0, Input::Opened { conn, peer: address(n as usize), neighbour: extra });
        conn
    };
    let all = (1..=ultrapeers).map(|n| open(n, true)).collect();
    let leaves = (1..=leaves).map(|n| open(ultrapeers + n, false)).collect();
    (net, all, leaves)
}

/// The neighbours a query was sent to so far, with which TTL, and when.
fn asked(net: &Net, id: u64) -> Vec<(u8, Vec<ConnId>)> {
    let sent = |told: &routing_support::Told| match &told.event {
        Event::Sent { guid: of, kind: MessageKind::Query, ttl, to } if *of == guid(id) => {
            Some((*ttl, to.clone()))
        }
        _ => None,
    };
    net.told.iter().filter_map(sent).collect()
}

fn keywords(net: &mut Net, conn: ConnId, words: &str) {
    let mut table = Keywords::new(10);
    table.add(words);
    for part in table.messages() {
        let told = net.inject(0, conn, &message(900, 1, 0, MessageBody::Qrp(part)));
        assert_eq!(told, Some(RoutingVerdict::Local));
    }
}

#[test]
fn rt_18_a_search_goes_to_more_and_farther_neighbours_until_none_is_left() {
    let (mut net, all, _) = leading(20, 0, &config());
    net.search(0, 1, "some thing");
    assert_eq!(asked(&net, 1).len(), 1, "one at first");
    assert_eq!(asked(&net, 1)[0].0, 2, "and near");
    let mut counts = vec![1];
    for _ in 0..6 {
        net.wait(Duration::from_secs(10));
        counts.push(asked(&net, 1).len());
    }
    assert_eq!(counts, [1, 3, 7, 15, 20, 20, 20], "twice as many each time that nothing comes");
    let ttls: Vec<u8> = asked(&net, 1).iter().map(|(ttl, _)| *ttl).collect();
    assert!(ttls.is_sorted() && ttls.ends_with(&[4]), "farther and never beyond four: {ttls:?}");
    let mut sent = sent_to(&net, 1);
    sent.sort();
    assert_eq!(sent, all, "each once");
}

#[test]
fn rt_18_a_search_ends_when_it_has_found_enough() {
    let (mut net, all, _) = leading(20, 0, &config());
    net.search(0, 1, "some thing");
    for n in 0..150 {
        let hit = message(1, 5, 1, MessageBody::Hit(hit_of(9, &format!("some thing {n}"))));
        assert_eq!(net.inject(0, all[0], &hit), Some(RoutingVerdict::Local));
    }
    net.wait(Duration::from_secs(100));
    assert_eq!(asked(&net, 1).len(), 1, "no other is asked");
    // What comes is counted, so the next is asked no farther than it must.
    net.search(0, 2, "other thing");
    for n in 0..30 {
        net.inject(
            0,
            all[1],
            &message(2, 5, 1, MessageBody::Hit(hit_of(9, &format!("other thing {n}")))),
        );
    }
    net.wait(Duration::from_secs(8));
    assert!(asked(&net, 2).iter().all(|(ttl, _)| *ttl == 2), "{:?}", asked(&net, 2));
}

#[test]
fn rt_18_a_leaf_is_answered_by_its_ultrapeer_and_content_with_ten_rare_ones() {
    let (mut net, all, leaves) = leading(6, 3, &config());
    keywords(&mut net, leaves[1], "some thing");
    keywords(&mut net, leaves[2], "different");
    let ask = message(1, 7, 0, MessageBody::Query(query("some thing")));
    let told = net.inject(0, leaves[0], &ask);
    assert_eq!(told, Some(RoutingVerdict::Forward { to: vec![leaves[1]] }), "the leaf that has it");
    assert_eq!(asked(&net, 1).len(), 1, "and one ultrapeer");
    for n in 0..10 {
        let hit = message(1, 5, 1, MessageBody::Hit(hit_of(9, &format!("some thing {n}"))));
        assert_eq!(
            net.inject(0, all[0], &hit),
            Some(RoutingVerdict::Forward { to: vec![leaves[0]] })
        );
    }
    net.wait(Duration::from_secs(150));
    let many = asked(&net, 1).len();
    assert!((3..6).contains(&many), "half of them could not bring more: {many}");
}

/// Every neighbour a query was sent to so far.
fn sent_to(net: &Net, id: u64) -> Vec<ConnId> {
    asked(net, id).into_iter().flat_map(|(_, to)| to).collect()
}

#[test]
fn rt_18_a_neighbour_that_wants_no_queries_is_asked_by_no_search() {
    let (mut net, all, _) = leading(2, 0, &config());
    let (vendor, data) = (*b"BEAR", OverlayPayload::from_static(b"\0"));
    let none = Vendor { standard: false, vendor, selector: 4, version: 1, data };
    net.inject(0, all[0], &message(9, 1, 0, MessageBody::Vendor(none)));
    net.search(0, 1, "some thing");
    net.wait(Duration::from_secs(60));
    assert_eq!(sent_to(&net, 1), [all[1]]);
}

#[test]
fn rt_18_a_search_for_a_leaf_goes_no_farther_than_any_query_may() {
    let (mut net, _, leaves) = leading(6, 1, &Config { max_ttl: 3, ..config() });
    net.inject(0, leaves[0], &message(1, 3, 0, MessageBody::Query(query("some thing"))));
    net.wait(Duration::from_secs(150));
    let ttls: Vec<u8> = asked(&net, 1).iter().map(|(ttl, _)| *ttl).collect();
    assert!(ttls.len() > 3 && ttls.iter().all(|ttl| *ttl <= 2), "one hop is behind it: {ttls:?}");
}

#[test]
fn rt_18_the_last_link_goes_where_the_words_may_be() {
    let (mut net, all, leaves) = leading(4, 2, &config());
    keywords(&mut net, all[1], "some thing");
    keywords(&mut net, all[2], "different");
    keywords(&mut net, leaves[0], "some thing");
    keywords(&mut net, leaves[1], "different");
    let last = message(1, 2, 1, MessageBody::Query(query("some thing")));
    let to = vec![all[1], all[3], leaves[0]];
    assert_eq!(
        net.inject(0, all[0], &last),
        Some(RoutingVerdict::Forward { to }),
        "no word of one"
    );
    let end = message(2, 1, 2, MessageBody::Query(query("some thing")));
    let to = vec![leaves[0]];
    assert_eq!(
        net.inject(0, all[0], &end),
        Some(RoutingVerdict::Forward { to }),
        "leaves at its end"
    );
    // Neighbours whose words promise an answer are asked first, one link deep.
    net.search(0, 3, "some thing");
    assert_eq!(asked(&net, 3)[..], [(4, vec![leaves[0]]), (1, vec![all[1]])]);
}

#[test]
fn rt_18_what_came_to_look_may_come_again_and_go_farther_once() {
    let (mut net, all, _) = leading(3, 0, &config());
    let ask = |ttl| message(1, ttl, 0, MessageBody::Query(query("some thing")));
    assert_eq!(net.inject(0, all[0], &ask(1)), Some(RoutingVerdict::Local));
    let looked = net.seen.len();
    let on = RoutingVerdict::Forward { to: vec![all[1], all[2]] };
    assert_eq!(net.inject(0, all[0], &ask(3)), Some(on));
    assert_eq!(net.seen.len(), looked, "it was looked at before");
    assert_eq!(
        net.inject(0, all[0], &ask(4)),
        Some(RoutingVerdict::Drop { why: DropReason::Duplicate })
    );
}

#[test]
fn rt_18_what_came_again_is_answered_where_it_came_first_while_that_is_there() {
    for leaves in [false, true] {
        let (mut net, all, _) = leading(3, 0, &config());
        let ask = |ttl| message(1, ttl, 0, MessageBody::Query(query("some thing")));
        net.inject(0, all[0], &ask(1));
        if leaves {
            net.give(0, Input::Closed { conn: all[0] });
        }
        net.inject(0, all[1], &ask(3));
        let hit = message(1, 5, 1, MessageBody::Hit(hit_of(9, "some thing")));
        let to = vec![if leaves { all[1] } else { all[0] }];
        assert_eq!(net.inject(0, all[2], &hit), Some(RoutingVerdict::Forward { to }));
    }
}

#[test]
fn rt_21_the_last_byte_that_one_neighbour_may_send_for_a_query_is_passed_on() {
    let hit = |n| message(1, 5, 1, MessageBody::Hit(hit_of(9, &format!("some thing {n}"))));
    let bytes = hit(0).len() as u32;
    for (most, passed) in [(2 * bytes, 2), (2 * bytes - 1, 1)] {
        let few = Config { hit_bytes_per_query: most, ..config() };
        let (mut net, [a, b, _]) = middle(&few);
        net.inject(0, a, &message(1, 5, 1, MessageBody::Query(query("some thing"))));
        let took = (0..5)
            .filter(|n| matches!(net.inject(0, b, &hit(*n)), Some(RoutingVerdict::Forward { .. })));
        assert_eq!(took.count(), passed);
    }
}

#[test]
fn rt_14_a_table_in_many_parts_counts_once() {
    let few = Config { tables_at_once: 4, ..config() };
    let (mut net, [a, ..]) = middle(&few);
    let mut said = |body| net.inject(0, a, &message(900, 1, 0, MessageBody::Qrp(body)));
    assert_eq!(said(Qrp::Reset { length: 128, infinity: 7 }), Some(RoutingVerdict::Local));
    let part = |seq, count: u8| {
        let data = OverlayPayload::from(vec![0; 128 / usize::from(count)]);
        Qrp::Patch { seq, count, compressor: Compressor::None, bits: 8, data }
    };
    for seq in 1..=8 {
        assert_eq!(said(part(seq, 8)), Some(RoutingVerdict::Local), "part {seq}");
    }
    assert_eq!(
        [said(part(1, 1)), said(part(1, 1))],
        [Some(RoutingVerdict::Local), Some(RoutingVerdict::Local)]
    );
    assert_eq!(said(part(1, 1)), Some(RoutingVerdict::Drop { why: DropReason::Quota }));
}

/// The words of the Bye that a neighbour hears for its first fault.
fn words_for(fault: impl Fn(ConnId) -> Vec<Input>) -> String {
    let conn = ConnId(7);
    let strict = Config { strikes: 1, ..config() };
    let (mut router, mut fx) = (Router::new(strict, Rng::new(1)), Fx::new());
    let now = servent_core::time::Instant::from_secs(1_000);
    router.handle(now, Input::Opened { conn, peer: address(1), neighbour: neighbour(1) }, &mut fx);
    fault(conn).into_iter().for_each(|input| router.handle(now, input, &mut fx));
    let bye = |output: &Output| match output {
        Output::Send { message, .. } => match &message.body {
            MessageBody::Bye(bye) => Some(bye.text.clone()),
            _ => None,
        },
        _ => None,
    };
    fx.outputs().find_map(bye).expect("a goodbye")
}

#[test]
fn rt_11_a_bye_says_in_words_what_the_fault_was() {
    let says = |conn, ttl| {
        let message = message(5, ttl, 0, MessageBody::Query(query("some thing")));
        Input::Message { conn, message }
    };
    assert_eq!(words_for(|conn| vec![says(conn, 200)]), "A TTL too large");
    assert_eq!(words_for(|conn| vec![says(conn, 3), says(conn, 3)]), "Too many duplicates");
    let (kind, why) = (MessageKind::Hit, PayloadError::Short);
    let improper = |conn| vec![Input::Improper { conn, kind, why }];
    assert_eq!(words_for(improper), "Too many improper messages");
    let broken = |why| move |conn| vec![Input::Broken { conn, why }];
    let frame = |error| broken(Breakage::Frame(error));
    assert_eq!(words_for(frame(MessageFrameError::TooLong(9))), "A message too large");
    assert_eq!(words_for(frame(MessageFrameError::Kind(9))), "An unknown message");
    assert_eq!(words_for(broken(Breakage::Deflate)), "The stream cannot be read");
    assert_eq!(words_for(|_| vec![Input::Shutdown]), "Closing");
}

#[test]
fn what_a_neighbour_lost_that_reads_nothing_is_counted() {
    let small = Config { window: 1, queue: 150, ..config() };
    let (mut net, [a, b, _]) = middle(&small);
    net.give(0, Input::Backlog { conn: b, bytes: 1 });
    let dropped = |net: &Net| {
        let view = net.routers[0].view();
        view.links.iter().find(|link| link.conn == b).expect("it is there").dropped
    };
    let mut lost = Vec::new();
    for n in 0..12 {
        net.give(
            0,
            Input::Message { conn: a, message: message(n, 5, 1, MessageBody::Query(query("x"))) },
        );
        lost.push(dropped(&net));
    }
    let waiting = net.routers[0].view().links.iter().map(|link| link.waiting).max();
    assert!(waiting.is_some_and(|bytes| bytes <= 150) && lost[0] == 0 && lost[11] >= 2);
    assert!(lost.windows(2).all(|two| two[1] - two[0] <= 1), "{lost:?}");
}

#[test]
fn rt_19_ultrapeers_tell_each_other_what_their_leaves_have() {
    let (mut net, _, leaves) = leading(2, 1, &config());
    net.give(0, Input::Keywords { table: Keywords::new(10) });
    let tables = |net: &Net| {
        let qrp = |told: &&routing_support::Told| {
            matches!(told.event, Event::Sent { kind: MessageKind::Qrp, .. })
        };
        net.told.iter().filter(qrp).count()
    };
    let before = tables(&net);
    keywords(&mut net, leaves[0], "some thing");
    net.wait(Duration::from_secs(11));
    assert_eq!(tables(&net), before + 1, "the change, to both at once");
    net.give(0, Input::Closed { conn: leaves[0] });
    net.wait(Duration::from_secs(11));
    assert_eq!(tables(&net), before + 2, "and that it is gone");
}
