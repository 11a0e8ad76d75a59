//! Push proxies (RT-25): a servent that cannot be reached asks its neighbours
//! to pass pushes on to it, and names them in its hits. A client that wants a
//! push then asks a proxy itself, and no route has to be remembered for it.

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddrV4};

use super::decide::{Fate, Judgement};
use super::links::NeighbourLink;
use super::memories::memory::RoutingEffects;
use super::peers::Name;
use super::{DropReason, Output, Router};
use crate::address::may_dial;
use crate::id::Guid;
use crate::time::Instant;
use crate::wire::gnutella::{MessageBody, OverlayMessage, OverlayPayload, Push, Vendor};

/// A request to be the sender's proxy: the id of the message is the servent's
/// id; no payload.
pub(super) const REQUEST: Name = (*b"LIME", 21);
/// The answer of a proxy, with its listening address. Version 1 has a port,
/// version 2 an IP address too.
pub(super) const GRANTED: Name = (*b"LIME", 22);
/// The newest version of both that we know.
pub(super) const VERSION: u16 = 2;
/// Proxies named in one hit.
const TOLD: usize = 4;

/// What a neighbour is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Proxy {
    #[default]
    None,
    /// It was asked to pass pushes on to us.
    Asked,
    /// It is our proxy, and listens there.
    At(SocketAddrV4),
}

impl Router {
    /// A few of our push proxies.
    #[must_use]
    pub fn proxies(&self) -> Vec<SocketAddrV4> {
        let at = |link: &NeighbourLink| match link.proxy {
            Proxy::At(at) => Some(at),
            Proxy::None | Proxy::Asked => None,
        };
        self.links.iter().filter_map(at).take(TOLD).collect()
    }

    /// Whether a push that was requested would be passed on.
    ///
    /// # Errors
    /// [`DropReason::NoRoute`] when we are not the proxy of its servent, otherwise
    /// what is wrong with its target.
    pub fn passes(&self, now: Instant, push: &Push) -> Result<(), DropReason> {
        self.proxied(push.servent).ok_or(DropReason::NoRoute)?;
        // The target is also where the request comes from.
        if !may_dial(push.at.into(), IpAddr::V4(*push.at.ip())) {
            return Err(DropReason::BadAddress);
        }
        let spared = self.spares(now, IpAddr::V4(*push.at.ip()));
        if spared { Ok(()) } else { Err(DropReason::PushLimit) }
    }

    /// Passes a requested push on.
    pub(super) fn pass_push(
        &mut self,
        now: Instant,
        guid: Guid,
        push: Push,
        fx: &mut RoutingEffects,
    ) {
        let servent = push.servent;
        let Some(slot) = self.proxied(servent) else {
            return fx.output(Output::NoWay { servent });
        };
        if self.passes(now, &push).is_err() {
            return;
        }
        self.count_target(now, IpAddr::V4(*push.at.ip()));
        let message = OverlayMessage { guid, ttl: 1, hops: 0, body: MessageBody::Push(push) };
        self.originate(now, &[slot], message, fx);
    }

    /// The neighbour to which pushes for a servent are passed on.
    fn proxied(&self, servent: Guid) -> Option<u32> {
        let link = self.links.iter().find(|link| link.proxied == Some(servent))?;
        link.route.slot()
    }

    /// A neighbour can be a proxy: asks it, if we need one.
    pub(super) fn ask_proxy(
        &mut self,
        now: Instant,
        slot: u32,
        version: u16,
        fx: &mut RoutingEffects,
    ) {
        let needed = self.listen.is_none() && self.servent != Guid::default();
        let Some(link) = self.links.at_mut(slot) else { return };
        if !needed || !link.neighbour.relays || link.proxy != Proxy::None {
            return;
        }
        link.proxy = Proxy::Asked;
        let body = vendor(REQUEST, version.min(VERSION), Vec::new());
        let message = OverlayMessage { guid: self.servent, ttl: 1, hops: 0, body };
        self.originate(now, &[slot], message, fx);
    }

    /// A neighbour asks us to be its proxy. If another neighbour has the same
    /// id already, that one stays.
    pub(super) fn decide_request(&mut self, slot: u32, servent: Guid, version: u16) -> Judgement {
        let offered = self.config.relay && self.listen.is_some() && version > 0;
        let ours = servent == self.servent || servent == Guid::default();
        if !offered || ours || self.proxied(servent).is_some_and(|other| other != slot) {
            return DropReason::Unknown.into();
        }
        if let Some(link) = self.links.at_mut(slot) {
            link.proxied = Some(servent);
        }
        Fate::Local.into()
    }

    /// Tells a neighbour that we are its proxy now.
    pub(super) fn grant(
        &mut self,
        now: Instant,
        slot: u32,
        (servent, version): (Guid, u16),
        fx: &mut RoutingEffects,
    ) {
        let Some(at) = self.listen else { return };
        let version = version.min(VERSION);
        let mut data = Vec::new();
        if version >= 2 {
            data.extend_from_slice(&at.ip().octets());
        }
        data.extend_from_slice(&at.port().to_le_bytes());
        let body = vendor(GRANTED, version, data);
        self.originate(now, &[slot], OverlayMessage { guid: servent, ttl: 1, hops: 0, body }, fx);
    }

    /// A neighbour that we asked is our proxy. It is believed about its port;
    /// its IP address is the one we are connected to.
    pub(super) fn decide_grant(&mut self, slot: u32, guid: Guid, granted: &Vendor) -> Judgement {
        let ours = self.servent;
        let Some(link) = self.links.at_mut(slot) else { return DropReason::NoRoute.into() };
        if link.proxy == Proxy::None || guid != ours {
            return DropReason::Unasked.into();
        }
        let port = match (granted.version, &granted.data[..]) {
            (1, [low, high]) | (2.., [_, _, _, _, low, high, ..]) => {
                u16::from_le_bytes([*low, *high])
            }
            _ => return DropReason::Improper.into(),
        };
        let ip: Option<Ipv4Addr> = match link.peer.ip().to_canonical() {
            IpAddr::V4(ip) => Some(ip),
            IpAddr::V6(_) => None,
        };
        let Some(at) = ip.map(|ip| SocketAddrV4::new(ip, port)).filter(|_| port != 0) else {
            return DropReason::BadAddress.into();
        };
        link.proxy = Proxy::At(at);
        Fate::Local.into()
    }
}

fn vendor((vendor, selector): Name, version: u16, data: Vec<u8>) -> MessageBody {
    MessageBody::Vendor(Vendor {
        standard: false,
        vendor,
        selector,
        version,
        data: OverlayPayload::from(data),
    })
}
