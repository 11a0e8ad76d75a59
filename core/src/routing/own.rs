//! Messages of our own: searches, answers, pushes.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::memories::memory::RoutingEffects;
use super::memories::route::Route;
use super::{Event, Output, Router};
use crate::id::{ConnId, Guid};
use crate::time::Instant;
use crate::wire::gnutella::{MessageBody, OverlayMessage, Push, Query, QueryHit};

impl Router {
    /// Sends a message of ours to some slots.
    pub(super) fn originate(
        &mut self,
        now: Instant,
        slots: &[u32],
        message: OverlayMessage,
        fx: &mut RoutingEffects,
    ) {
        if self.config.trace_messages {
            let conn = |slot: &u32| self.links.at(*slot).map(|link| link.conn);
            let (guid, kind, ttl) = (message.guid, message.kind(), message.ttl);
            let to: Vec<_> = slots.iter().filter_map(conn).collect();
            fx.event(Event::Sent { guid, kind, ttl, to });
        }
        self.transmit(now, slots, message, fx);
    }

    /// Sends a search to all neighbours; its hits are for us (RT-2).
    pub(super) fn search(
        &mut self,
        now: Instant,
        guid: Guid,
        query: Query,
        fx: &mut RoutingEffects,
    ) {
        let mark = self.marks.of_id(guid);
        if self.queries.get(mark).is_some() {
            return;
        }
        let _ = self.queries.put(now, mark, Route::LOCAL);
        if self.searches.len() >= self.config.searches as usize && !self.searches.is_empty() {
            self.searches.remove(0);
        }
        self.searches.push((guid, query.clone()));
        let leads = self.config.relay && self.config.dynamic;
        let all = self.links.iter().filter(|link| match leads {
            true => !link.neighbour.relays && link.could_match(query.criteria(), true),
            false => true,
        });
        let slots: Vec<u32> = all.filter_map(|link| link.route.slot()).collect();
        self.ask(now, &slots, guid, &query, fx);
        if leads {
            self.lead(now, (guid, Route::LOCAL), (query, 0), fx);
        }
    }

    /// Sends a search to some neighbours, with the TTL that each accepts.
    fn ask(
        &mut self,
        now: Instant,
        slots: &[u32],
        guid: Guid,
        query: &Query,
        fx: &mut RoutingEffects,
    ) {
        let deep = if self.config.dynamic { self.config.deep_ttl } else { u8::MAX };
        let most = self.config.max_ttl.min(deep).max(1);
        let mut by_ttl: BTreeMap<u8, Vec<u32>> = BTreeMap::new();
        for slot in slots {
            let takes = self.links.at(*slot).and_then(|link| link.neighbour.max_ttl);
            by_ttl.entry(takes.map_or(most, |ttl| ttl.clamp(1, most))).or_default().push(*slot);
        }
        for (ttl, slots) in by_ttl {
            let message =
                OverlayMessage { guid, ttl, hops: 0, body: MessageBody::Query(query.clone()) };
            self.originate(now, &slots, message, fx);
        }
    }

    /// Sends a new neighbour the searches that are running.
    pub(super) fn ask_newcomer(&mut self, now: Instant, slot: u32, fx: &mut RoutingEffects) {
        let leads = self.config.relay && self.config.dynamic;
        if leads && self.links.at(slot).is_some_and(|link| link.neighbour.relays) {
            return self.wake_searches(now);
        }
        for (guid, query) in self.searches.clone() {
            // The search may have outlived its route.
            let mark = self.marks.of_id(guid);
            if self.queries.renew(now, mark, Route::LOCAL).is_ok() {
                self.ask(now, &[slot], guid, &query, fx);
            }
        }
    }

    /// Sends a hit of ours along the route of its query.
    pub(super) fn answer(
        &mut self,
        now: Instant,
        (guid, hops): (Guid, u8),
        hit: QueryHit,
        fx: &mut RoutingEffects,
    ) {
        let mark = self.marks.of_id(guid);
        let way = self.queries.get(mark).and_then(|way| self.links.by_route(way));
        let Some(slot) = way.and_then(|link| link.route.slot()) else { return };
        self.deepenings.found(guid, hit.count());
        let ttl = hops.saturating_add(2).clamp(1, self.config.max_ttl);
        let message = OverlayMessage { guid, ttl, hops: 0, body: MessageBody::Hit(hit) };
        self.originate(now, &[slot], message, fx);
    }

    /// Asks a servent to connect to us.
    pub(super) fn ask_push(
        &mut self,
        now: Instant,
        (guid, via): (Guid, Option<ConnId>),
        push: Push,
        fx: &mut RoutingEffects,
    ) {
        let servent = push.servent;
        let said = || via.and_then(|conn| self.links.slot(conn)).into_iter().collect();
        let slots = self.push_routes(&push, None).unwrap_or_else(|_| said());
        if slots.is_empty() {
            return fx.output(Output::NoWay { servent });
        }
        let mark = self.marks.of_id(guid);
        let _ = self.pushes.put(now, mark, Route::LOCAL);
        let message = OverlayMessage {
            guid,
            ttl: self.config.max_ttl,
            hops: 0,
            body: MessageBody::Push(push),
        };
        self.originate(now, &slots, message, fx);
    }
}
