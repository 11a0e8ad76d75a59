//! Pings and pongs: never forwarded, answered from remembered pongs (RT-13).

use alloc::vec::Vec;
use core::net::{SocketAddr, SocketAddrV4};

use super::decide::{Fate, Judgement};
use super::links::CachedPong;
use super::memories::memory::{Full, RoutingEffects};
use super::{DropReason, Output, Router};
use crate::address::may_dial;
use crate::id::Guid;
use crate::time::{Duration, Instant};
use crate::wire::gnutella::{MessageBody, OverlayMessage, OverlayPayload, Ping, Pong, code};

impl Router {
    pub(super) fn decide_ping(
        &mut self,
        now: Instant,
        slot: u32,
        message: &OverlayMessage,
    ) -> Judgement {
        let every = self.config.ping_answer.scaled(self.config.time_scale);
        let Some(link) = self.links.at(slot) else { return DropReason::NoRoute.into() };
        let (route, answered) = (link.route, link.answered);
        let mark = self.marks.of_id(message.guid);
        if let Some(first) = self.pings.get(mark) {
            return Self::twice(first, route);
        }
        if answered.is_some_and(|at| now < at + every) {
            return DropReason::TooSoon.into();
        }
        if self.pings.put(now, mark, route) == Err(Full) {
            return DropReason::Quota.into();
        }
        Fate::Local.into()
    }

    pub(super) fn decide_pong(
        &mut self,
        now: Instant,
        slot: u32,
        guid: Guid,
        pong: &Pong,
    ) -> Judgement {
        let Some(link) = self.links.at_mut(slot) else { return DropReason::NoRoute.into() };
        let (route, peer) = (link.route, link.peer.ip());
        if link.pongs_due == 0 || link.pinged != Some(guid) {
            return DropReason::Unasked.into();
        }
        let mark = self.marks.derive_mark(&[
            &guid.0,
            &pong.at.ip().octets(),
            &pong.at.port().to_le_bytes(),
        ]);
        if self.pongs.get(mark).is_some() {
            return DropReason::Duplicate.into();
        }
        link.pongs_due -= 1;
        if self.pongs.put(now, mark, route) == Err(Full) {
            return DropReason::Quota.into();
        }
        let known = may_dial(pong.at.into(), peer);
        if !known || self.listen == Some(pong.at) {
            return DropReason::BadAddress.into();
        }
        Fate::Local.into()
    }

    /// Remembers a host that can be reached.
    pub(super) fn keep_pong(&mut self, slot: u32, hops: u8, pong: &Pong, fx: &mut RoutingEffects) {
        let most = self.config.pongs as usize;
        let Some(link) = self.links.at_mut(slot) else { return };
        let Pong { at, files, kilobytes, .. } = *pong;
        link.pongs.retain(|kept| kept.at != at);
        link.pongs.push(CachedPong { at, files, kilobytes, hops });
        if link.pongs.len() > most {
            link.pongs.remove(0);
        }
        fx.output(Output::Host { at });
    }

    /// Answers a ping: with TTL 1 we alone answer; with TTL 2 from a neighbour
    /// (a crawler), our neighbours are named too; otherwise all remembered
    /// hosts.
    pub(super) fn answer_ping(
        &mut self,
        now: Instant,
        slot: u32,
        ping: &OverlayMessage,
        fx: &mut RoutingEffects,
    ) {
        let Some(link) = self.links.at_mut(slot) else { return };
        link.answered = Some(now);
        let most = self.config.pongs_per_ping as usize;
        let mut pongs = Vec::new();
        if let Some(at) = self.listen {
            let (files, kilobytes) = (self.files, self.kilobytes);
            pongs.push((0, CachedPong { at, files, kilobytes, hops: 0 }));
        }
        if ping.ttl == 2 && ping.hops == 0 {
            pongs.extend(self.neighbours(slot).map(|kept| (1, kept)));
        } else if ping.ttl > 1 {
            self.remembered(slot, most, &mut pongs);
        }
        pongs.truncate(most);
        for (hops, CachedPong { at, files, kilobytes, .. }) in pongs {
            let body =
                MessageBody::Pong(Pong { at, files, kilobytes, ggep: OverlayPayload::new() });
            let ttl = self.config.max_ttl.saturating_sub(hops).max(1);
            let message = OverlayMessage { guid: ping.guid, ttl, hops, body };
            self.transmit(now, &[slot], message, fx);
        }
    }

    /// Our neighbours that can be reached, except one.
    fn neighbours(&self, but: u32) -> impl Iterator<Item = CachedPong> {
        let others = self.links.iter().filter(move |link| link.route.slot() != Some(but));
        others.filter_map(|link| match link.neighbour.listen {
            Some(SocketAddr::V4(at)) => Some(CachedPong { at, files: 0, kilobytes: 0, hops: 0 }),
            _ => None,
        })
    }

    /// Adds the newest pong of every other neighbour, then the second newest of
    /// each, and so on, without repeating an address.
    fn remembered(&self, but: u32, most: usize, into: &mut Vec<(u8, CachedPong)>) {
        let asker = self.links.at(but).and_then(|link| link.neighbour.listen);
        let told = |at: SocketAddrV4| asker == Some(SocketAddr::V4(at));
        for age in 0..self.config.pongs as usize {
            for link in self.links.iter().filter(|link| link.route.slot() != Some(but)) {
                let Some(kept) = link.pongs.iter().rev().nth(age) else { continue };
                let known = into.iter().any(|(_, other)| other.at == kept.at);
                let hops = kept.hops.saturating_add(1);
                if !known && !told(kept.at) && hops < self.config.max_ttl {
                    into.push((hops, *kept));
                }
                if into.len() >= most {
                    return;
                }
            }
        }
    }

    /// Pings a neighbour, and sets when to check it next.
    pub(super) fn ping(&mut self, now: Instant, slot: u32, fx: &mut RoutingEffects) {
        if self.config.ping_every == Duration::ZERO {
            return;
        }
        let guid = self.draw();
        let Some(link) = self.links.at_mut(slot) else { return };
        (link.pinged, link.pongs_due) = (Some(guid), self.config.pongs_per_ping.max(1));
        let next = now + self.config.ping_every.scaled(self.config.time_scale);
        self.agenda.insert((next, slot));
        let body = MessageBody::Ping(Ping::default());
        let message = OverlayMessage { guid, ttl: self.config.max_ttl, hops: 0, body };
        self.originate(now, &[slot], message, fx);
    }

    /// Checks a neighbour: it is disconnected when it is silent or reads
    /// nothing, and pinged otherwise.
    pub(super) fn look_after(&mut self, now: Instant, slot: u32, fx: &mut RoutingEffects) {
        let Some(link) = self.links.at(slot) else { return };
        let conn = link.conn;
        let stuck = link.flow.under_way() + link.flow.bytes() > 0
            && now.since(link.took) >= self.config.stall.scaled(self.config.time_scale);
        if now.since(link.heard) >= self.config.silence.scaled(self.config.time_scale) {
            self.give_up(conn, code::NO_PONG, fx);
        } else if stuck {
            self.give_up(conn, code::OVERFLOW, fx);
        } else {
            self.ping(now, slot, fx);
        }
    }
}
