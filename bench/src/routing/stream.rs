//! Bytes in, verdicts, bytes out: the whole way of a message through a
//! router with eight neighbours.

use core::net::SocketAddrV4;
use std::collections::VecDeque;

use servent_core::engine::{Effect, Engine as _};
use servent_core::id::{ConnId, FileIndex, Guid, Sha1};
use servent_core::rng::Rng;
use servent_core::routing::{Config, DropReason, Input, Output};
use servent_core::wire::gnutella::{
    FrameLimits, Framer, HitBuilder, MessageBody, MessageKind, OverlayMessage, OverlayPayload,
    Push, Quality, Query, Wishes,
};

use super::{NEIGHBOURS, begin, release, router};
use crate::measure::{median, now};
use crate::report::{Report, Target};

/// Bytes read at a time, as a socket brings them.
const READ: usize = 16 * 1_024;
/// Queries and servents that answers and pushes are about: the latest.
const RECENT: usize = 1_000;
/// Messages after which it is sure that what a neighbour sent has been read,
/// so that no neighbour repeats or answers it before.
const SETTLED: usize = 8_192;
/// Queries a second and core of gtk-gnutella: a figure from elsewhere, the best
/// that is known, not measured in this run.
const PEER: f64 = 89_000.0;

/// What neighbours send, in the order it arrives: who, and bytes.
struct Traffic {
    reads: Vec<(u64, OverlayPayload)>,
    messages: u64,
    bytes: u64,
}

pub(crate) fn run(report: &mut Report, quick: bool) {
    let (messages, rounds) = if quick { (200_000, 1) } else { (1_000_000, 5) };
    let traffic = traffic(messages);
    let mut rates = Vec::new();
    let mut last = (0, 0, 0);
    for _ in 0..rounds {
        let (rate, sums) = pass(&traffic);
        rates.push(rate);
        last = sums;
    }
    let (sent, written, duplicates) = last;
    report.add(
        ("routing", "parse, verdict, write again".to_owned(), "messages/s"),
        median(&mut rates),
        ("gtk-gnutella's queries (quoted)", Some(PEER)),
        &Target::AtLeast(1_000_000.0),
    );
    for (case, figure, unit) in [
        ("of that: messages written", sent as f64 / traffic.messages as f64, "per message"),
        ("of that: bytes read", traffic.bytes as f64 / traffic.messages as f64, "per message"),
        ("of that: bytes written", written as f64 / traffic.messages as f64, "per message"),
        ("of that: duplicates", duplicates as f64 / traffic.messages as f64, "per message"),
    ] {
        report.add(("routing", case.to_owned(), unit), figure, ("", None), &Target::None);
    }
}

/// One pass of a fresh router over all of it; messages a second, and what it
/// sent, wrote and found twice.
fn pass(traffic: &Traffic) -> (f64, (u64, u64, u64)) {
    let (mut router, mut fx) = router(Config::default());
    let limits = FrameLimits { payload: 65_536 };
    let mut framers: Vec<_> = (0..NEIGHBOURS).map(|_| Framer::new(limits)).collect();
    let mut outs: Vec<Vec<u8>> = vec![Vec::with_capacity(1 << 20); NEIGHBOURS as usize];
    let (mut sent, mut written) = (0, 0);
    let began = now();
    for (from, bytes) in &traffic.reads {
        let framer = &mut framers[*from as usize];
        framer.push(bytes.clone());
        while let Some(frame) = framer.next_frame().expect("our own stream") {
            let message = OverlayMessage::parse(frame).expect("our own payload");
            router.handle(begin(), Input::Message { conn: ConnId(*from), message }, &mut fx);
            for effect in fx.drain() {
                if let Effect::Output(Output::Send { to, message }) = effect {
                    sent += to.len() as u64;
                    for conn in to {
                        message.write(&mut outs[conn.0 as usize]);
                    }
                }
            }
        }
        // The host writes what came of one read and says so.
        for out in &mut outs {
            written += out.len() as u64;
            std::hint::black_box(&*out);
            out.clear();
        }
        release(&mut router, &mut fx);
    }
    let rate = traffic.messages as f64 / began.elapsed().as_secs_f64();
    let counters = router.counters();
    let received: u64 = MessageKind::ALL.iter().map(|kind| counters.received_of(*kind)).sum();
    assert_eq!(received, traffic.messages, "everything was looked at");
    let overflow: u64 =
        MessageKind::ALL.iter().map(|k| counters.dropped_of(*k, DropReason::Overflow)).sum();
    assert!(overflow < traffic.messages / 100, "{overflow} had no room");
    assert_eq!(counters.dropped_of(MessageKind::Hit, DropReason::NoRoute), 0);
    (rate, (sent, written, counters.dropped_of(MessageKind::Query, DropReason::Duplicate)))
}

/// 80 % queries, half of them known already, 15 % hits, 5 % pushes.
fn traffic(messages: u64) -> Traffic {
    let mut dice = Rng::new(11);
    let mut streams: Vec<Vec<u8>> = vec![Vec::new(); NEIGHBOURS as usize];
    let mut traffic = Traffic { reads: Vec::new(), messages, bytes: 0 };
    let mut queries: Vec<(u64, OverlayMessage)> = Vec::new();
    let mut servents: Vec<(u64, Guid)> = Vec::new();
    let mut fresh = VecDeque::new();
    let mut hits = VecDeque::new();
    for n in 0..messages {
        if fresh.len() > SETTLED {
            fresh.pop_front().into_iter().for_each(|query| remember(&mut queries, query, n));
        }
        if hits.len() > SETTLED {
            hits.pop_front().into_iter().for_each(|hit| remember(&mut servents, hit, n));
        }
        let roll = dice.below(100);
        let (from, message) = if roll < 40 || queries.is_empty() {
            let from = dice.below(NEIGHBOURS);
            let message = query(n, &mut dice);
            fresh.push_back((from, message.clone()));
            (from, message)
        } else if roll < 80 {
            let (first, message) = dice.pick(&queries).cloned().expect("some");
            (other(first, &mut dice), OverlayMessage { ttl: 3, hops: 4, ..message })
        } else if roll < 95 || servents.is_empty() {
            let (asker, OverlayMessage { guid, .. }) = dice.pick(&queries).cloned().expect("some");
            let from = other(asker, &mut dice);
            let servent = Guid(dice.bytes());
            hits.push_back((from, servent));
            (
                from,
                OverlayMessage { guid, ttl: 5, hops: 1, body: MessageBody::Hit(hit(n, servent)) },
            )
        } else {
            let (holder, servent) = *dice.pick(&servents).expect("some");
            let at = place(n);
            let push = Push { servent, index: FileIndex(7), at, ggep: OverlayPayload::new() };
            let message = OverlayMessage {
                guid: Guid(dice.bytes()),
                ttl: 4,
                hops: 2,
                body: MessageBody::Push(push),
            };
            (other(holder, &mut dice), message)
        };
        let stream = &mut streams[from as usize];
        message.write(stream);
        if stream.len() >= READ {
            traffic.flush(from, stream);
        }
    }
    for (from, stream) in streams.iter_mut().enumerate() {
        traffic.flush(from as u64, stream);
    }
    traffic
}

impl Traffic {
    fn flush(&mut self, from: u64, stream: &mut Vec<u8>) {
        self.bytes += stream.len() as u64;
        self.reads.push((from, OverlayPayload::from(std::mem::take(stream))));
    }
}

fn remember<T>(list: &mut Vec<T>, item: T, n: u64) {
    if list.len() < RECENT {
        list.push(item);
    } else {
        let at = n as usize % RECENT;
        list[at] = item;
    }
}

fn other(than: u64, dice: &mut Rng) -> u64 {
    (than + 1 + dice.below(NEIGHBOURS - 1)) % NEIGHBOURS
}

fn place(n: u64) -> SocketAddrV4 {
    SocketAddrV4::new(core::net::Ipv4Addr::from(0x5000_0000 | n as u32 & 0xff_ffff), 6_346)
}

fn query(n: u64, dice: &mut Rng) -> OverlayMessage {
    let words = format!("some words of a title {n}");
    let body = MessageBody::Query(Query::new(Wishes::default(), &words, &[]));
    OverlayMessage { guid: Guid(dice.bytes()), ttl: 4, hops: 3, body }
}

fn hit(n: u64, servent: Guid) -> servent_core::wire::gnutella::QueryHit {
    let mut hit = HitBuilder::new(place(n), 1_000, (*b"SRVT", Quality::default()), servent, 4_096);
    for file in 0..3 {
        let name = format!("some words of a title {n} part {file}.ogg");
        assert!(hit.add(FileIndex(file), 4_000_000, &name, Some(Sha1([n as u8; 20]))));
    }
    hit.finish().expect("three files")
}
