//! Messages between two neighbours only (RT-14): which vendor messages each
//! understands, how many hops queries may have, and the keyword table of what
//! we share.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::decide::{Fate, Judgement};
use super::memories::memory::RoutingEffects;
use super::{DropReason, Output, Router, proxies};
use crate::id::{ConnId, Guid};
use crate::time::Instant;
use crate::wire::gnutella::{
    Keywords, MessageBody, OverlayMessage, OverlayPayload, Qrp, Vendor, code,
};

/// The name of a vendor message: vendor code and selector.
pub(super) type Name = ([u8; 4], u16);

/// The list of messages supported; it has no vendor and is not on the list
/// itself.
const SUPPORTED: Name = ([0; 4], 0);
/// Queries with this many hops or more are not wanted: one byte.
const HOPS_FLOW: Name = (*b"BEAR", 4);
/// A request to connect to the sender, so that it learns whether others can: its port,
/// two bytes.
const DIAL_BACK: Name = (*b"BEAR", 7);
/// Bytes of one entry of the list.
const ITEM: usize = 8;

impl Router {
    /// Sends a new neighbour what concerns it alone.
    pub(super) fn introduce(&mut self, now: Instant, slot: u32, fx: &mut RoutingEffects) {
        let Some(link) = self.links.at(slot) else { return };
        let (vendor, keywords) = (link.neighbour.vendor, link.neighbour.keywords);
        if vendor {
            self.tell(now, &[slot], MessageBody::Vendor(self.supported()), fx);
        }
        let table = self.keywords.as_ref().filter(|_| keywords);
        for part in table.map(|table| table.1.clone()).unwrap_or_default() {
            self.tell(now, &[slot], MessageBody::Qrp(part), fx);
        }
    }

    /// Sets the keyword table of what we share.
    pub(super) fn share_keywords(
        &mut self,
        now: Instant,
        table: Keywords,
        fx: &mut RoutingEffects,
    ) {
        self.shared = Some(Box::new(table));
        self.tell_keywords(now, fx);
    }

    /// When other ultrapeers are told that the keywords of leaves have changed.
    pub(super) fn leaves_due(&self) -> Option<Instant> {
        let every = self.config.merge_every.scaled(self.config.time_scale);
        (self.leaves_changed && self.config.relay).then(|| self.told_leaves + every)
    }

    /// What can be found here; at an ultrapeer that includes its leaves' files,
    /// because it forwards queries to them at their last hop.
    fn findable(&self) -> Option<Keywords> {
        let leaves = self.links.iter().filter(|_| self.config.relay);
        let leaves = leaves.filter(|link| link.is_leaf_with_keywords());
        let tables = leaves.filter_map(|link| link.keywords.as_deref());
        let tables: Vec<&Keywords> = self.shared.as_deref().into_iter().chain(tables).collect();
        let bits = tables.iter().map(|table| table.bits()).max()?;
        let mut all = Keywords::new(bits);
        tables.into_iter().for_each(|table| all.join(table));
        Some(all)
    }

    /// Tells neighbours that want it what has changed.
    pub(super) fn tell_keywords(&mut self, now: Instant, fx: &mut RoutingEffects) {
        (self.leaves_changed, self.told_leaves) = (false, now);
        let Some(table) = self.findable() else { return };
        let all = table.messages();
        let changes: Vec<Qrp> = match &self.keywords {
            Some(before) => table.changes(&before.0),
            None => all.clone(),
        };
        self.keywords = Some(Box::new((table, all)));
        let wants = |slot: &u32| self.links.at(*slot).is_some_and(|link| link.neighbour.keywords);
        let to: Vec<u32> = self.links.slots().iter().copied().filter(wants).collect();
        for part in changes {
            self.tell(now, &to, MessageBody::Qrp(part), fx);
        }
    }

    fn tell(&mut self, now: Instant, to: &[u32], body: MessageBody, fx: &mut RoutingEffects) {
        if !to.is_empty() {
            let guid = self.draw();
            self.originate(now, to, OverlayMessage { guid, ttl: 1, hops: 0, body }, fx);
        }
    }

    pub(super) fn decide_vendor(&mut self, slot: u32, guid: Guid, vendor: &Vendor) -> Judgement {
        let Some(link) = self.links.at_mut(slot) else { return DropReason::NoRoute.into() };
        let known = match (vendor.vendor, vendor.selector) {
            SUPPORTED => list(&vendor.data).is_some(),
            HOPS_FLOW => vendor.data.first().map(|hops| link.hops_flow = *hops).is_some(),
            DIAL_BACK if self.config.dial_back => {
                if core::mem::replace(&mut link.dialed_back, true) {
                    return DropReason::PushLimit.into();
                }
                port(&vendor.data).is_some()
            }
            proxies::REQUEST => return self.decide_request(slot, guid, vendor.version),
            proxies::GRANTED => return self.decide_grant(slot, guid, vendor),
            _ => return DropReason::Unknown.into(),
        };
        if known {
            return Fate::Local.into();
        }
        let fate = Fate::Drop { why: DropReason::Improper };
        Judgement { fate, strike: Some(code::IMPROPER) }
    }

    /// Acts on a vendor message for us.
    pub(super) fn obey_vendor(
        &mut self,
        now: Instant,
        slot: u32,
        (guid, vendor): (Guid, &Vendor),
        fx: &mut RoutingEffects,
    ) {
        match (vendor.vendor, vendor.selector) {
            SUPPORTED => {
                let offers = |wanted| {
                    list(&vendor.data).into_iter().flatten().find(|(name, _)| *name == wanted)
                };
                if let Some((_, version)) = offers(proxies::REQUEST) {
                    self.ask_proxy(now, slot, version, fx);
                }
                let conn = self.links.at(slot).map(|link| link.conn);
                if let Some(conn) = conn.filter(|_| self.config.dial_back)
                    && offers(DIAL_BACK).is_some()
                {
                    fx.output(Output::OffersDialBack { conn });
                }
            }
            DIAL_BACK => {
                let conn = self.links.at(slot).map(|link| link.conn);
                if let (Some(conn), Some(port)) = (conn, port(&vendor.data)) {
                    fx.output(Output::DialBack { conn, port });
                }
            }
            proxies::REQUEST => self.grant(now, slot, (guid, vendor.version), fx),
            _ => {}
        }
    }

    /// Asks a neighbour to connect to us.
    pub(super) fn ask_dial_back(
        &mut self,
        now: Instant,
        conn: ConnId,
        port: u16,
        fx: &mut RoutingEffects,
    ) {
        let Some(slot) = self.links.slot(conn) else { return };
        let (vendor, selector) = DIAL_BACK;
        let data = OverlayPayload::from(port.to_le_bytes().to_vec());
        let body = Vendor { standard: false, vendor, selector, version: 1, data };
        self.tell(now, &[slot], MessageBody::Vendor(body), fx);
    }

    /// The list of messages we support, with their newest versions.
    fn supported(&self) -> Vendor {
        // Only a node that forwards queries is asked for pushes.
        let ours = [
            (true, HOPS_FLOW, 1),
            (self.config.relay, proxies::REQUEST, proxies::VERSION),
            (self.config.dial_back, DIAL_BACK, 1),
        ];
        let ours: Vec<_> = ours.into_iter().filter(|(offered, ..)| *offered).collect();
        let mut data = (ours.len() as u16).to_le_bytes().to_vec();
        for (_, (vendor, selector), version) in ours {
            data.extend_from_slice(&vendor);
            data.extend_from_slice(&selector.to_le_bytes());
            data.extend_from_slice(&version.to_le_bytes());
        }
        let (vendor, selector) = SUPPORTED;
        Vendor { standard: false, vendor, selector, version: 0, data: OverlayPayload::from(data) }
    }
}

/// The port in a request to connect to its sender.
fn port(data: &[u8]) -> Option<u16> {
    let port = data.first_chunk::<2>().map(|port| u16::from_le_bytes(*port));
    port.filter(|port| *port != 0)
}

/// The number of messages, then each with its version.
fn list(data: &[u8]) -> Option<impl Iterator<Item = (Name, u16)>> {
    let (count, list) = data.split_first_chunk::<2>()?;
    let word = |item: &[u8], at: usize| u16::from_le_bytes([item[at], item[at + 1]]);
    let items = list
        .chunks_exact(ITEM)
        .map(move |item| (([item[0], item[1], item[2], item[3]], word(item, 4)), word(item, 6)));
    (list.len() == usize::from(u16::from_le_bytes(*count)) * ITEM).then_some(items)
}
