//! What two neighbours tell each other and nobody else (RT-14): which vendor
//! messages each understands, how far queries may have come, and the keywords
//! of what we share.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::judge::{Fate, Judgement};
use super::memory::Effects;
use super::{Router, Why};
use crate::time::Instant;
use crate::wire::gnutella::{Body, Keywords, Message, Payload, Qrp, Vendor, code};

/// Whose a message is, and which of them.
type Name = ([u8; 4], u16);

/// The list of what somebody understands; nobody's, and never on it.
const SUPPORTED: Name = ([0; 4], 0);
/// Queries that have come this far are not wanted: one byte.
const HOPS_FLOW: Name = (*b"BEAR", 4);
/// What we understand, with the newest version.
const OURS: [(Name, u16); 1] = [(HOPS_FLOW, 1)];
/// Bytes of one on the list.
const ITEM: usize = 8;

impl Router {
    /// Tells a new neighbour what concerns it alone.
    pub(super) fn introduce(&mut self, now: Instant, slot: u32, fx: &mut Effects) {
        let Some(link) = self.links.at(slot) else { return };
        let (vendor, keywords) = (link.neighbour.vendor, link.neighbour.keywords);
        if vendor {
            self.tell(now, &[slot], Body::Vendor(supported()), fx);
        }
        let table = self.keywords.as_ref().filter(|_| keywords);
        for part in table.map(|table| table.1.clone()).unwrap_or_default() {
            self.tell(now, &[slot], Body::Qrp(part), fx);
        }
    }

    /// The keywords of what we share are these now.
    pub(super) fn share_keywords(&mut self, now: Instant, table: Keywords, fx: &mut Effects) {
        self.shared = Some(Box::new(table));
        self.tell_keywords(now, fx);
    }

    /// When other ultrapeers are told that the keywords of leaves have changed.
    pub(super) fn leaves_due(&self) -> Option<Instant> {
        let every = self.config.merge_every.scaled(self.config.time_scale);
        (self.leaves_changed && self.config.relay).then(|| self.told_leaves + every)
    }

    /// What can be found here: by an ultrapeer's word also what its leaves
    /// have, because it passes the last link of a query on to them.
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

    /// Neighbours that want to know learn what has changed.
    pub(super) fn tell_keywords(&mut self, now: Instant, fx: &mut Effects) {
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
            self.tell(now, &to, Body::Qrp(part), fx);
        }
    }

    fn tell(&mut self, now: Instant, to: &[u32], body: Body, fx: &mut Effects) {
        if !to.is_empty() {
            let guid = self.draw();
            self.originate(now, to, Message { guid, ttl: 1, hops: 0, body }, fx);
        }
    }

    pub(super) fn judge_vendor(&mut self, slot: u32, vendor: &Vendor) -> Judgement {
        let Some(link) = self.links.at_mut(slot) else { return Why::NoRoute.into() };
        let known = match (vendor.vendor, vendor.selector) {
            SUPPORTED => is_list(&vendor.data),
            HOPS_FLOW => vendor.data.first().map(|hops| link.hops_flow = *hops).is_some(),
            _ => return Why::Unknown.into(),
        };
        if known {
            return Fate::Local.into();
        }
        let fate = Fate::Drop { why: Why::Improper };
        Judgement { fate, strike: Some(code::IMPROPER) }
    }
}

/// A number of messages, then each with its version.
fn is_list(data: &[u8]) -> bool {
    let Some((count, list)) = data.split_first_chunk::<2>() else { return false };
    list.len() == usize::from(u16::from_le_bytes(*count)) * ITEM
}

fn supported() -> Vendor {
    let mut data = (OURS.len() as u16).to_le_bytes().to_vec();
    for ((vendor, selector), version) in OURS {
        data.extend_from_slice(&vendor);
        data.extend_from_slice(&selector.to_le_bytes());
        data.extend_from_slice(&version.to_le_bytes());
    }
    let (vendor, selector) = SUPPORTED;
    Vendor { standard: false, vendor, selector, version: 0, data: Payload::from(data) }
}
