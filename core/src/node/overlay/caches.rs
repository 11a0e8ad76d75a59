//! Host caches over datagrams, as client and as server (RT-23): a ping with the
//! extension `SCP` is answered by a pong with `IPP`.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

use super::OverlayService;
use crate::address::{canonical, may_dial};
use crate::id::Guid;
use crate::node::cx::NodeCx;
use crate::node::{MessageOutput, Output};
use crate::time::{Duration, Instant};
use crate::wire::gnutella::ggep::{self, GgepBlock};
use crate::wire::gnutella::{
    HEADER, MessageBody, MessageFrame, MessageHeader, MessageKind, OverlayMessage, OverlayPayload,
    Ping, Pong,
};

/// Requests of ours that may still be answered.
const ASKED: usize = 32;
/// Addresses we answered lately.
const ANSWERED: usize = 256;
/// Minimum time between two answers to one address.
const EVERY: Duration = Duration::from_secs(1);
/// Hosts in one answer.
const TOLD: usize = 10;
/// Bytes of one host in it.
const HOST: usize = 6;
/// Limits of the extensions in a stranger's message.
const LIMITS: ggep::GgepLimits = ggep::GgepLimits { blocks: 16, bytes: 2_048 };

/// The state of host cache requests, ours and others'.
#[derive(Debug, Clone, Default)]
pub(super) struct Caches {
    asked: Vec<(Guid, SocketAddr)>,
    answered: BTreeMap<IpAddr, Instant>,
}

impl Caches {
    /// True when an address may be answered again; counts the answer.
    fn admits(&mut self, now: Instant, ip: IpAddr) -> bool {
        if self.answered.get(&ip).is_some_and(|last| now.since(*last) < EVERY) {
            return false;
        }
        if self.answered.len() >= ANSWERED {
            self.answered.retain(|_, last| now.since(*last) < EVERY);
        }
        let room = self.answered.len() < ANSWERED;
        if room {
            self.answered.insert(ip, now);
        }
        room
    }
}

impl OverlayService {
    /// Asks a host for others: it may be a host cache.
    pub(super) fn ask_cache(&mut self, cx: &mut NodeCx<'_>, at: SocketAddr) {
        if cx.config.datagrams.is_some() || !at.is_ipv4() {
            return;
        }
        let guid = self.draw();
        if self.caches.asked.len() >= ASKED {
            self.caches.asked.remove(0);
        }
        self.caches.asked.push((guid, at));
        let mut ggep = Vec::new();
        let kind = u8::from(cx.config.overlay.router.relay);
        ggep::write(&[GgepBlock::new(b"SCP", &[kind])], false, &mut ggep);
        send(cx, at, guid, MessageBody::Ping(Ping { ggep: ggep.into() }));
    }

    /// A datagram was received; anything but a ping or a pong is ignored.
    pub(in crate::node) fn receive(
        &mut self,
        cx: &mut NodeCx<'_>,
        from: SocketAddr,
        data: &OverlayPayload,
    ) {
        let from = canonical(from);
        let Some(header) = data.first_chunk::<HEADER>().map(MessageHeader::parse) else { return };
        let payload = data.slice(HEADER..);
        let kind = header.kind.filter(|kind| matches!(kind, MessageKind::Ping | MessageKind::Pong));
        let Some(kind) = kind.filter(|_| header.length as usize == payload.len()) else { return };
        match OverlayMessage::parse(MessageFrame { header, kind, payload }) {
            Ok(OverlayMessage { guid, body: MessageBody::Ping(ping), .. }) => {
                self.tell_hosts(cx, (guid, from), &ping);
            }
            Ok(OverlayMessage { guid, body: MessageBody::Pong(pong), .. }) => {
                self.learn_hosts(cx, (guid, from), &pong);
            }
            _ => {}
        }
    }

    fn tell_hosts(&mut self, cx: &mut NodeCx<'_>, (guid, from): (Guid, SocketAddr), ping: &Ping) {
        let Some(at) = self.reachable(cx) else { return };
        if from.port() == 0 || !self.caches.admits(cx.now, from.ip()) {
            return;
        }
        let mut ggep = Vec::new();
        if block(&ping.ggep, b"SCP").is_some() {
            let told = |at: &SocketAddr| may_dial(*at, from.ip()) && *at != from;
            let hosts = self.hosts.some(usize::MAX).into_iter().filter(told);
            let hosts: Vec<u8> = hosts.filter_map(packed).take(TOLD).flatten().collect();
            ggep::write(&[GgepBlock::new(b"IPP", &hosts)], false, &mut ggep);
        }
        let files = u32::try_from(cx.shelf.files.len()).unwrap_or(u32::MAX);
        let pong = Pong { at, files, kilobytes: cx.shelf.files.kilobytes(), ggep: ggep.into() };
        send(cx, from, guid, MessageBody::Pong(pong));
    }

    fn learn_hosts(&mut self, cx: &mut NodeCx<'_>, asked: (Guid, SocketAddr), pong: &Pong) {
        let Some(place) = self.caches.asked.iter().position(|other| *other == asked) else {
            return;
        };
        self.caches.asked.remove(place);
        let teller = asked.1.ip();
        // A pure host cache is no servent.
        let itself = block(&pong.ggep, b"UDPHC").is_none().then_some(SocketAddr::V4(pong.at));
        let packed = block(&pong.ggep, b"IPP").unwrap_or_default();
        let named = packed.chunks_exact(HOST).take(4 * TOLD).filter_map(unpacked);
        for at in itself.into_iter().chain(named) {
            if may_dial(at, teller) {
                self.hear_of(cx, at, false);
            }
        }
        if self.look.is_none_or(|at| at > cx.now + super::BETWEEN) {
            self.look_around(cx);
        }
    }
}

fn send(cx: &mut NodeCx<'_>, to: SocketAddr, guid: Guid, body: MessageBody) {
    let data = OverlayMessage { guid, ttl: 1, hops: 0, body }.to_bytes();
    cx.fx.output(Output::Messages(MessageOutput::Datagrams {
        to,
        segment: data.len() as u32,
        data: data.into(),
    }));
}

/// The data of an extension.
fn block(area: &[u8], id: &[u8]) -> Option<Vec<u8>> {
    let (blocks, _) = ggep::parse(area, &LIMITS).ok()?;
    blocks.into_iter().find(|block| block.id == id).map(|block| block.data)
}

fn packed(at: SocketAddr) -> Option<[u8; HOST]> {
    let SocketAddr::V4(at) = at else { return None };
    let ([a, b, c, d], [low, high]) = (at.ip().octets(), at.port().to_le_bytes());
    Some([a, b, c, d, low, high])
}

fn unpacked(bytes: &[u8]) -> Option<SocketAddr> {
    let [a, b, c, d, low, high] = *bytes.first_chunk::<HOST>()?;
    let at = SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), u16::from_le_bytes([low, high]));
    Some(SocketAddr::V4(at))
}
