//! The verdict on a message, and carrying it out.

use alloc::vec::Vec;

use super::links::{Even, NeighbourLink};
use super::memories::memory::{Full, RoutingEffects};
use super::memories::route::Route;
use super::{
    Config, DropReason, Event, NeighbourEnding, Output, PushRouting, Router, RoutingVerdict,
};
use crate::id::{ConnId, Guid};
use crate::time::Instant;
use crate::wire::gnutella::{
    Keywords, KeywordsLimits, MessageBody, MessageKind, OverlayMessage, Push, Qrp, Query, QueryHit,
    code,
};

/// A [`RoutingVerdict`] with slots instead of connections.
pub(super) enum Fate {
    Forward {
        slots: Vec<u32>,
    },
    /// The same for a query that was answered here before.
    Onward {
        slots: Vec<u32>,
    },
    Local,
    Drop {
        why: DropReason,
    },
}

/// A verdict, and the Bye code for a neighbour that should not have sent the
/// message.
pub(super) struct Judgement {
    pub(super) fate: Fate,
    pub(super) strike: Option<u16>,
}

impl From<Fate> for Judgement {
    fn from(fate: Fate) -> Self {
        Self { fate, strike: None }
    }
}
impl From<DropReason> for Judgement {
    fn from(why: DropReason) -> Self {
        Fate::Drop { why }.into()
    }
}
/// Forward to these slots; when there are none, it ends here.
impl From<Vec<u32>> for Judgement {
    fn from(slots: Vec<u32>) -> Self {
        if slots.is_empty() { Fate::Local.into() } else { Fate::Forward { slots }.into() }
    }
}

impl Router {
    pub(super) fn message(
        &mut self,
        now: Instant,
        conn: ConnId,
        message: OverlayMessage,
        fx: &mut RoutingEffects,
    ) {
        let Some(slot) = self.links.slot(conn) else { return };
        let kind = message.kind();
        self.counters.received(kind);
        let Judgement { fate, strike } = self.decide(now, slot, &message, fx);
        let dropped = match fate {
            Fate::Drop { why } => Some(why),
            Fate::Forward { .. } | Fate::Onward { .. } | Fate::Local => None,
        };
        if let Some(link) = self.links.at_mut(slot) {
            link.heard = now;
            link.received += 1;
            link.dropped += u64::from(dropped.is_some());
            if let Some(why) = dropped.filter(|why| is_limit(*why))
                && link.tell(why)
            {
                fx.event(Event::Limit { conn, why });
            }
        }
        if let Some(why) = dropped {
            self.counters.dropped(kind, why);
        }
        if self.config.trace_messages {
            let OverlayMessage { guid, ttl, hops, .. } = message;
            let verdict = self.verdict(&fate);
            fx.event(Event::Judged { conn, guid, kind, ttl, hops, verdict });
        }
        let led = match &message.body {
            MessageBody::Query(query) if dropped.is_none() && self.leads(slot) => {
                Some(query.clone())
            }
            _ => None,
        };
        let (guid, hops) = (message.guid, message.hops);
        self.carry(now, slot, message, fate, fx);
        if let Some((query, link)) = led.zip(self.links.at(slot)) {
            let from = link.route;
            self.lead(now, (guid, from), (query, hops.saturating_add(1)), fx);
        }
        if let Some(code) = strike {
            self.strike(slot, code, fx);
        }
    }

    /// Decides on a message. Remembers it, and sends nothing.
    fn decide(
        &mut self,
        now: Instant,
        slot: u32,
        message: &OverlayMessage,
        fx: &mut RoutingEffects,
    ) -> Judgement {
        let Some(link) = self.links.at(slot) else { return DropReason::NoRoute.into() };
        let route = link.route;
        match &message.body {
            MessageBody::Bye(_) => return Fate::Local.into(),
            MessageBody::Qrp(qrp) => return self.decide_qrp(now, slot, qrp, fx),
            MessageBody::Vendor(vendor) => return self.decide_vendor(slot, message.guid, vendor),
            MessageBody::Ping(_)
            | MessageBody::Pong(_)
            | MessageBody::Push(_)
            | MessageBody::Query(_)
            | MessageBody::Hit(_) => {}
        }
        let hard = self.config.hard_ttl;
        if message.ttl > hard || message.hops > hard {
            let fate = Fate::Drop { why: DropReason::TtlTooLarge };
            return Judgement { fate, strike: Some(code::TTL_TOO_LARGE) };
        }
        if message.ttl == 0 && message.hops == 0 {
            return DropReason::TtlZero.into();
        }
        let most = match message.kind() {
            MessageKind::Query => self.config.relayed_query,
            MessageKind::Hit => self.config.relayed_hit,
            _ => self.config.relayed,
        };
        if message.body.len() > most as usize {
            return DropReason::TooLong.into();
        }
        match &message.body {
            MessageBody::Ping(_) => self.decide_ping(now, slot, message),
            MessageBody::Pong(pong) => self.decide_pong(now, slot, message.guid, pong),
            MessageBody::Query(query) => self.decide_query(now, (slot, route), message, query),
            MessageBody::Hit(hit) => self.decide_hit(now, (slot, route), message, hit, fx),
            MessageBody::Push(push) => self.decide_push(now, (slot, route), message, push),
            MessageBody::Bye(_) | MessageBody::Qrp(_) | MessageBody::Vendor(_) => {
                Fate::Local.into()
            }
        }
    }

    /// TTL and hops of a forwarded message; `None` when it must not be
    /// forwarded.
    pub(super) fn step(&self, message: &OverlayMessage) -> Option<(u8, u8)> {
        let ttl = message.ttl.min(self.config.max_ttl.saturating_sub(message.hops));
        (ttl > 1).then(|| (ttl - 1, message.hops + 1))
    }

    /// A duplicate (RT-6, RT-8, RT-10); from the same neighbour, that is a
    /// fault.
    pub(super) fn twice(first: Route, route: Route) -> Judgement {
        let strike = (first == route).then_some(code::DUPLICATES);
        Judgement { fate: Fate::Drop { why: DropReason::Duplicate }, strike }
    }

    fn decide_query(
        &mut self,
        now: Instant,
        (slot, route): (u32, Route),
        message: &OverlayMessage,
        query: &Query,
    ) -> Judgement {
        let mark = self.marks.of_id(message.guid);
        if let Some(first) = self.queries.get(mark) {
            return match self.goes_on(now, (slot, first, route), message, query) {
                Some(slots) => Fate::Onward { slots }.into(),
                None => Self::twice(first, route),
            };
        }
        let even = Even { pause: self.queries.pause(), at_once: self.config.queries_at_once };
        if !self.links.admit_query(now, slot, even)
            || self.queries.put(now, mark, route) == Err(Full)
        {
            return DropReason::Quota.into();
        }
        // The tables turn at different times: what this one still knows of an
        // earlier life of the query is over.
        if let Some(earlier) = self.probed.get_mut(mark) {
            *earlier = Route::LOCAL;
        }
        if !self.config.relay {
            return Fate::Local.into();
        }
        let last = self.config.dynamic && message.ttl == 1;
        if last && self.links.at(slot).is_some_and(|link| link.neighbour.relays) {
            // It came to be answered here only, and may come again.
            let _ = self.probed.renew(now, mark, route);
        }
        self.onward(slot, message, query, |_| true).into()
    }

    /// The slots a query is forwarded to, among those that match: leaves even
    /// with its last hop, ultrapeers while its TTL allows, and none for a
    /// leaf's query whose search is controlled here.
    fn onward(
        &self,
        slot: u32,
        message: &OverlayMessage,
        query: &Query,
        fits: impl Fn(&NeighbourLink) -> bool,
    ) -> Vec<u32> {
        let (led, step) = (self.leads(slot), self.step(message));
        let hops = message.hops.saturating_add(1);
        let wanted = |link: &NeighbourLink| {
            let goes = !link.neighbour.relays || (step.is_some() && !led);
            let last = step.is_some_and(|(ttl, _)| ttl == 1);
            goes && fits(link) && hops < link.hops_flow && link.could_match(query.criteria(), last)
        };
        let others = self.links.slots().iter().copied().filter(|other| *other != slot);
        let mut slots = Vec::with_capacity(self.links.len());
        slots.extend(others.filter(|slot| self.links.at(*slot).is_some_and(&wanted)));
        slots
    }

    /// A query that was here with a TTL of 1 comes again with a larger one: it
    /// is forwarded to the ultrapeers, once. Its answers take the way it came
    /// first, while that is there.
    fn goes_on(
        &mut self,
        now: Instant,
        (slot, first, route): (u32, Route, Route),
        message: &OverlayMessage,
        query: &Query,
    ) -> Option<Vec<u32>> {
        let mark = self.marks.of_id(message.guid);
        let probed = self.probed.get(mark).is_some_and(|route| route != Route::LOCAL);
        if !probed || self.step(message).is_none() {
            return None;
        }
        let slots = self.onward(slot, message, query, |link| link.neighbour.relays);
        let back = if self.links.by_route(first).is_some() { first } else { route };
        if slots.is_empty() || self.queries.renew(now, mark, back) == Err(Full) {
            return None;
        }
        if let Some(route) = self.probed.get_mut(mark) {
            *route = Route::LOCAL;
        }
        Some(slots)
    }

    /// The verdict as observers see it.
    fn verdict(&self, fate: &Fate) -> RoutingVerdict {
        let conn = |slot: &u32| self.links.at(*slot).map(|link| link.conn);
        match fate {
            Fate::Forward { slots } | Fate::Onward { slots } => {
                RoutingVerdict::Forward { to: slots.iter().filter_map(conn).collect() }
            }
            Fate::Local => RoutingVerdict::Local,
            Fate::Drop { why } => RoutingVerdict::Drop { why: *why },
        }
    }

    fn decide_hit(
        &mut self,
        now: Instant,
        (slot, route): (u32, Route),
        message: &OverlayMessage,
        hit: &QueryHit,
        fx: &mut RoutingEffects,
    ) -> Judgement {
        let (guid, servent) = (message.guid, hit.servent());
        let asked = self.marks.of_id(guid);
        let Some(way) = self.queries.get(asked) else { return DropReason::NoRoute.into() };
        if self.config.push_routing == PushRouting::Broadcast {
            // Duplicates too (RT-4), and every time (RT-22).
            let holder = self.marks.derive_mark(&[&servent.0, &route.number().to_le_bytes()]);
            let _ = self.holders.renew(now, holder, route);
        }
        let known = self.marks.of_id(servent);
        if self.servents.get(known) == Some(route) {
            let _ = self.servents.renew(now, known, route);
        }
        let mark = self.marks.derive_mark(&[&guid.0, &servent.0, hit.result_set()]);
        if self.hits.get(mark).is_some() {
            // No fault even when from the same neighbour: many deployed
            // servents forward every copy they receive.
            return DropReason::Duplicate.into();
        }
        if way == route {
            return DropReason::WayItCame.into();
        }
        if way != Route::LOCAL && self.links.by_route(way).is_none() {
            return DropReason::RouteGone.into();
        }
        // Our own searches get all hits.
        if way != Route::LOCAL && !self.has_room(now, (guid, route), message.len()) {
            return DropReason::ResultLimit.into();
        }
        if self.hits.put(now, mark, route) == Err(Full) {
            return DropReason::Quota.into();
        }
        self.learn(now, slot, route, servent, fx);
        self.deepenings.found(guid, hit.count());
        let Some(slot) = way.slot() else { return Fate::Local.into() };
        if self.step(message).is_none() {
            return DropReason::TtlSpent.into();
        }
        alloc::vec![slot].into()
    }

    /// Remembers the route to a servent (RT-3), unless another one is alive:
    /// a servent that claims another's id does not get its pushes.
    fn learn(
        &mut self,
        now: Instant,
        slot: u32,
        route: Route,
        servent: Guid,
        fx: &mut RoutingEffects,
    ) {
        let mark = self.marks.of_id(servent);
        let known = self.servents.get(mark);
        let other =
            known.is_some_and(|known| known != route && self.links.by_route(known).is_some());
        if other || servent == self.servent {
            if let Some(link) = self.links.at(slot) {
                fx.event(Event::Conflict { conn: link.conn, servent });
            }
            return;
        }
        // A neighbour whose quota is used up keeps the routes it has.
        let _ = self.servents.renew(now, mark, route);
    }

    /// Counts a hit for its query and the neighbour that sent it; false when
    /// there are enough. Each neighbour has a quota of its own, so that none
    /// silences another (RT-21).
    fn has_room(&mut self, now: Instant, (asked, by): (Guid, Route), bytes: usize) -> bool {
        let asked = self.marks.derive_mark(&[&asked.0, &by.number().to_le_bytes()]);
        // Ten bits for the number of hits, twenty-two for bytes.
        let sum = self.answers.get(asked).map_or(0, Route::number);
        let (hits, so_far) = (sum >> 22, sum & ((1 << 22) - 1));
        let (hits, so_far) = (hits + 1, so_far.saturating_add(bytes as u32));
        if hits > self.config.hits_per_query.min(1_000)
            || so_far > self.config.hit_bytes_per_query.min(4_000_000)
        {
            return false;
        }
        let sum = Route::from_number(hits << 22 | so_far);
        match self.answers.get_mut(asked) {
            Some(known) => *known = sum,
            None => self.answers.fresh(now, asked, sum),
        }
        true
    }

    fn decide_push(
        &mut self,
        now: Instant,
        (slot, route): (u32, Route),
        message: &OverlayMessage,
        push: &Push,
    ) -> Judgement {
        let mark = self.marks.of_id(message.guid);
        if let Some(first) = self.pushes.get(mark) {
            return Self::twice(first, route);
        }
        if self.pushes.put(now, mark, route) == Err(Full) {
            return DropReason::Quota.into();
        }
        if push.servent == self.servent {
            return self.decide_own_push(now, slot, push);
        }
        match self.push_routes(push, Some(route)) {
            Ok(_) if self.step(message).is_none() => DropReason::TtlSpent.into(),
            Ok(slots) => slots.into(),
            Err(why) => why.into(),
        }
    }

    /// The slots a push is to be sent to.
    pub(super) fn push_routes(
        &self,
        push: &Push,
        from: Option<Route>,
    ) -> Result<Vec<u32>, DropReason> {
        if self.config.push_routing == PushRouting::Broadcast {
            let has = |link: &&NeighbourLink| {
                let number = link.route.number().to_le_bytes();
                let mark = self.marks.derive_mark(&[&push.servent.0, &number]);
                Some(link.route) != from && self.holders.get(mark).is_some()
            };
            let ways = self.links.iter().filter(has).filter_map(|link| link.route.slot());
            let ways: Vec<u32> = ways.collect();
            return if ways.is_empty() { Err(DropReason::NoRoute) } else { Ok(ways) };
        }
        let mark = self.marks.of_id(push.servent);
        let way = self.servents.get(mark).ok_or(DropReason::NoRoute)?;
        if Some(way) == from {
            return Err(DropReason::WayItCame);
        }
        let link = self.links.by_route(way).ok_or(DropReason::RouteGone)?;
        Ok(link.route.slot().into_iter().collect())
    }

    fn decide_qrp(
        &mut self,
        now: Instant,
        slot: u32,
        qrp: &Qrp,
        fx: &mut RoutingEffects,
    ) -> Judgement {
        let Config { tables_at_once: at_once, tables_every, time_scale, .. } = self.config;
        let even = Even { pause: tables_every.scaled(time_scale), at_once };
        // Only these cost time and memory.
        let costs = match qrp {
            Qrp::Reset { .. } => true,
            Qrp::Patch { seq, count, .. } => seq >= count,
        };
        if costs && !self.links.admit_table(now, slot, even) {
            if let Some(link) = self.links.at_mut(slot) {
                link.keywords = None; // It would not be true.
            }
            let fate = Fate::Drop { why: DropReason::Quota };
            return Judgement { fate, strike: Some(code::IMPROPER) };
        }
        let limits = KeywordsLimits { entries: self.config.keyword_entries };
        let Some(link) = self.links.at_mut(slot) else { return DropReason::NoRoute.into() };
        let conn = link.conn;
        let taken = match qrp {
            Qrp::Reset { length, .. } => Keywords::reset(*length, limits).map(|table| {
                link.keywords = Some(alloc::boxed::Box::new(table));
                false
            }),
            Qrp::Patch { seq, count, compressor, bits, data } => match &mut link.keywords {
                Some(table) => table.patch((*seq, *count), *compressor, *bits, data),
                None => Err(crate::wire::gnutella::KeywordsError::Patch),
            },
        };
        match taken {
            Ok(false) => Fate::Local.into(),
            Ok(true) => {
                self.leaves_changed |= !link.neighbour.relays;
                let (filled, entries) =
                    link.keywords.as_ref().map(|table| table.filled()).unwrap_or_default();
                fx.event(Event::Keywords { conn, filled, entries });
                Fate::Local.into()
            }
            Err(_) => {
                link.keywords = None;
                let fate = Fate::Drop { why: DropReason::Improper };
                Judgement { fate, strike: Some(code::IMPROPER) }
            }
        }
    }

    /// Carries out a verdict.
    fn carry(
        &mut self,
        now: Instant,
        slot: u32,
        message: OverlayMessage,
        fate: Fate,
        fx: &mut RoutingEffects,
    ) {
        let (guid, hops) = (message.guid, message.hops);
        match fate {
            Fate::Drop { .. } => return,
            Fate::Forward { slots } => {
                if let MessageBody::Query(query) = &message.body {
                    fx.output(Output::Query { guid, hops, query: query.clone() });
                }
                // Leaves get a query even with its last hop.
                let (ttl, hops) = self.step(&message).unwrap_or((1, hops.saturating_add(1)));
                self.transmit(now, &slots, OverlayMessage { ttl, hops, ..message }, fx);
                return;
            }
            Fate::Onward { slots } => {
                if let Some((ttl, hops)) = self.step(&message) {
                    self.transmit(now, &slots, OverlayMessage { ttl, hops, ..message }, fx);
                }
                return;
            }
            Fate::Local => {}
        }
        match message.body {
            MessageBody::Ping(_) => self.answer_ping(now, slot, &message, fx),
            MessageBody::Pong(pong) => self.keep_pong(slot, hops, &pong, fx),
            MessageBody::Query(query) => fx.output(Output::Query { guid, hops, query }),
            MessageBody::Hit(hit) => {
                if let Some(link) = self.links.at(slot) {
                    let (conn, from) = (link.conn, link.peer.ip());
                    fx.output(Output::Hit { guid, conn, from, hops, hit });
                }
            }
            MessageBody::Push(push) => fx.output(Output::Push { index: push.index, at: push.at }),
            MessageBody::Bye(bye) => {
                if let Some(link) = self.links.at(slot) {
                    let conn = link.conn;
                    fx.output(Output::Close { conn });
                    self.forget(conn, NeighbourEnding::Bye { code: bye.code, text: bye.text }, fx);
                }
            }
            MessageBody::Vendor(vendor) => self.obey_vendor(now, slot, (guid, &vendor), fx),
            MessageBody::Qrp(_) => {}
        }
    }

    /// Sends to some slots, or queues for those that cannot take it now.
    pub(super) fn transmit(
        &mut self,
        now: Instant,
        slots: &[u32],
        message: OverlayMessage,
        fx: &mut RoutingEffects,
    ) {
        let (window, queue) = (self.config.window, self.config.queue);
        // Not every servent can read extension blocks.
        let bare = |slot: &u32| self.links.at(*slot).is_some_and(|link| !link.neighbour.ggep);
        let bare = slots.iter().any(bare).then(|| message.without_ggep()).flatten();
        let (mut to, mut to_bare) = (Vec::with_capacity(slots.len()), Vec::new());
        for slot in slots {
            let Some(link) = self.links.at_mut(*slot) else { continue };
            let (message, to) = match &bare {
                Some(bare) if !link.neighbour.ggep => (bare, &mut to_bare),
                _ => (&message, &mut to),
            };
            if link.flow.under_way() == 0 {
                link.took = now;
            }
            if link.flow.leave(message, window) {
                link.sent += 1;
                to.push(link.conn);
                continue;
            }
            let conn = link.conn;
            for lost in link.flow.keep(message, queue) {
                link.dropped += 1;
                self.counters.dropped(lost.kind(), DropReason::Overflow);
                if link.tell(DropReason::Overflow) {
                    fx.event(Event::Limit { conn, why: DropReason::Overflow });
                }
                if self.config.trace_messages {
                    fx.event(Event::Overflow { conn, guid: lost.guid, kind: lost.kind() });
                }
            }
        }
        for (to, message) in [(to, Some(message)), (to_bare, bare)] {
            if let Some(message) = message.filter(|_| !to.is_empty()) {
                self.counters.sent(message.kind(), to.len());
                fx.output(Output::Send { to, message });
            }
        }
    }
}

/// True for reasons that are limits a neighbour exceeds.
const fn is_limit(why: DropReason) -> bool {
    matches!(
        why,
        DropReason::TtlTooLarge
            | DropReason::TooLong
            | DropReason::Quota
            | DropReason::ResultLimit
            | DropReason::PushLimit
    )
}
