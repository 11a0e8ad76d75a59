//! Hosts asked of caches over datagrams, and told to a host that asks.

use crate::node_support;

use std::net::SocketAddr;

use node_support::{Host, config};
use servent_core::engine::Effect;
use servent_core::id::Guid;
use servent_core::node::{
    Config, HostRow, Input, MessageInput, MessageOutput, NodeCommand, Output, OverlayCommand,
    RestoredNode,
};
use servent_core::time::{Duration, Instant};
use servent_core::wire::gnutella::ggep::{self, GgepBlock};
use servent_core::wire::gnutella::{
    FrameLimits, Framer, MessageBody, OverlayMessage, OverlayPayload, Ping, Pong,
};

const CACHE: &str = "80.9.9.9:6346";

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn host(known: &[&str]) -> Host {
    let mut config: Config = config();
    (config.overlay.enabled, config.overlay.degree) = (true, 9);
    let mut host = Host::blank(config, &[100]);
    host.now = Instant::from_secs(1_000);
    let (listen, shared) = (Some(at("1.2.3.4:6346")), host.shared());
    let row = |text: &&str| HostRow { at: at(text), heard: Instant::from_secs(900) };
    let hosts = known.iter().map(row).collect();
    host.input(Input::Start(RestoredNode { listen, shared, hosts, ..RestoredNode::default() }));
    host
}

/// The messages it sent as datagrams so far.
fn sent(host: &Host) -> Vec<(SocketAddr, OverlayMessage)> {
    let datagram = |effect: &_| match effect {
        Effect::Output(Output::Messages(MessageOutput::Datagrams { to, segment, data })) => {
            assert_eq!(*segment as usize, data.len(), "one at a time");
            let mut framer = Framer::new(FrameLimits { payload: 2_048 });
            framer.push(data.clone());
            Some((*to, OverlayMessage::parse(framer.next_frame().unwrap().unwrap()).unwrap()))
        }
        _ => None,
    };
    host.log.iter().filter_map(datagram).collect()
}

fn say(host: &mut Host, from: &str, guid: Guid, body: MessageBody) {
    let data: OverlayPayload = OverlayMessage { guid, ttl: 1, hops: 0, body }.to_bytes().into();
    host.input(Input::Messages(MessageInput::Datagrams {
        from: at(from),
        segment: data.len() as u32,
        data,
    }));
}

fn blocks(of: &[(&[u8], &[u8])]) -> OverlayPayload {
    let blocks: Vec<GgepBlock> = of.iter().map(|(id, data)| GgepBlock::new(id, data)).collect();
    let mut out = Vec::new();
    ggep::write(&blocks, false, &mut out);
    out.into()
}

fn pong(ggep: OverlayPayload) -> MessageBody {
    let at = "80.9.9.9:6346".parse().unwrap();
    MessageBody::Pong(Pong { at, files: 0, kilobytes: 0, ggep })
}

#[test]
fn rt_23_a_cache_is_asked_and_the_hosts_it_names_are_called_and_kept() {
    let mut host = host(&[]);
    host.input(Input::Command(NodeCommand::Overlay(OverlayCommand::Join { at: at(CACHE) })));
    let [(to, OverlayMessage { guid, ttl: 1, body: MessageBody::Ping(ping), .. })] =
        &sent(&host)[..]
    else {
        panic!("{:?}", sent(&host))
    };
    assert_eq!((*to, ping.ggep.windows(3).any(|id| id == b"SCP")), (at(CACHE), true));
    let named =
        [[80, 1, 1, 1, 0xca, 0x18], [10, 0, 0, 1, 0xca, 0x18], [80, 1, 1, 2, 0, 0]].concat();
    let answer = || pong(blocks(&[(b"IPP", &named), (b"UDPHC", b"")]));
    // Only the cache that was asked can answer, and only what was asked.
    say(&mut host, "80.9.9.8:6346", *guid, answer());
    say(&mut host, CACHE, Guid([9; 16]), answer());
    assert_eq!(host.node.hosts(), 1, "the cache alone");
    say(&mut host, CACHE, *guid, answer());
    assert_eq!(host.node.hosts(), 2, "no host inside a network of ours, none without a port");
    host.wait(Duration::from_secs(1));
    assert!(host.dials.iter().any(|(_, to)| *to == at("80.1.1.1:6346")), "{:?}", host.dials);
    let kept = |op: &servent_core::node::NodeOp| matches!(op, servent_core::node::NodeOp::Host(row) if row.at == at("80.1.1.1:6346"));
    assert!(host.ops.iter().any(kept), "over a restart too");
    // Once.
    say(&mut host, CACHE, *guid, pong(blocks(&[(b"IPP", &[81, 1, 1, 1, 1, 1])])));
    assert_eq!(host.node.hosts(), 2);
}

#[test]
fn rt_23_a_host_that_asks_is_told_of_others() {
    let mut host = host(&["80.1.1.1:6346", "80.1.1.2:8193", "10.0.0.1:6346"]);
    let before = sent(&host).len();
    let asks = || MessageBody::Ping(Ping { ggep: blocks(&[(b"SCP", &[1])]) });
    say(&mut host, "80.2.2.2:4000", Guid([5; 16]), asks());
    let told = sent(&host).split_off(before);
    let [(to, OverlayMessage { guid, body: MessageBody::Pong(pong), .. })] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!((*to, *guid), (at("80.2.2.2:4000"), Guid([5; 16])));
    assert_eq!(SocketAddr::V4(pong.at), at("1.2.3.4:6346"));
    let limits = ggep::GgepLimits { blocks: 4, bytes: 500 };
    let (blocks, _) = ggep::parse(&pong.ggep, &limits).unwrap();
    assert_eq!((blocks.len(), &blocks[0].id[..]), (1, &b"IPP"[..]));
    let mut hosts: Vec<&[u8]> = blocks[0].data.chunks(6).collect();
    hosts.sort();
    assert_eq!(hosts, [[80, 1, 1, 1, 0xca, 0x18], [80, 1, 1, 2, 1, 32]], "those it can reach");
    // No host is buried under answers, and a plain ping gets a plain pong.
    say(&mut host, "80.2.2.2:4001", Guid([6; 16]), asks());
    assert_eq!(sent(&host).len(), before + 1);
    host.wait(Duration::from_secs(1));
    let before = sent(&host).len();
    say(&mut host, "80.2.2.2:4000", Guid([7; 16]), MessageBody::Ping(Ping::default()));
    let plain = sent(&host).split_off(before);
    assert!(
        matches!(&plain[..], [(_, OverlayMessage { body: MessageBody::Pong(pong), .. })] if pong.ggep.is_empty())
    );
}

#[test]
fn datagrams_that_are_no_ping_and_no_pong_are_ignored() {
    let mut host = host(&[]);
    let before = host.log.len();
    for data in [&b""[..], b"x", &[0; 22], &[0; 40], &[0xff; 23], &[0xff; 2_000]] {
        let (segment, data) = (data.len().max(1) as u32, data.to_vec().into());
        host.input(Input::Messages(MessageInput::Datagrams {
            from: at("80.2.2.2:1"),
            segment,
            data,
        }));
    }
    let said = host.log[before..].iter().filter(|it| matches!(it, Effect::Output(_)));
    assert_eq!(said.count(), 0);
}
