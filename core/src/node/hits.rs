//! Query hits that say what we share: in answer to a query, or to a client that
//! browses everything.

use alloc::vec::Vec;
use core::net::SocketAddrV4;

use super::FileInfo;
use crate::id::Guid;
use crate::wire::gnutella::ggep::GgepBlock;
use crate::wire::gnutella::{HitBuilder, Quality, QueryHit};

/// Our vendor code in hits.
const VENDOR: [u8; 4] = *b"SRVT";
/// Maximum bytes of one hit; more results make more hits.
const HIT: usize = 4_000;
/// The speed we announce, in kbit/s: it is not measured.
const SPEED: u32 = 1_000;

/// What a hit says about us.
#[derive(Debug, Clone)]
pub(super) struct HitSender {
    pub(super) servent: Guid,
    /// Our address; `0.0.0.0:0` when we do not know it.
    pub(super) at: SocketAddrV4,
    /// We cannot be reached: a push is needed.
    pub(super) push: bool,
    /// All upload slots are taken.
    pub(super) busy: bool,
    /// Our push proxies.
    pub(super) proxies: Vec<SocketAddrV4>,
}

impl HitSender {
    /// Hits that list these files, each filled up to the maximum size.
    pub(super) fn hits<'a>(self, files: impl Iterator<Item = &'a FileInfo>) -> Vec<QueryHit> {
        let quality = Quality { push: Some(self.push), busy: Some(self.busy), uploaded: None };
        let blocks = self.blocks();
        let new = || {
            let hit = HitBuilder::new(self.at, SPEED, (VENDOR, quality), self.servent, HIT);
            hit.with(&blocks)
        };
        let (mut hits, mut hit) = (Vec::new(), new());
        for file in files {
            if !hit.add(file.index, file.size, &file.name, file.sha1) {
                hits.extend(core::mem::replace(&mut hit, new()).finish());
                // A name too long for any hit is left out.
                hit.add(file.index, file.size, &file.name, file.sha1);
            }
        }
        hits.extend(hit.finish());
        hits
    }

    /// Extension blocks: that we can be browsed, and our push proxies.
    fn blocks(&self) -> Vec<GgepBlock> {
        let mut blocks = alloc::vec![GgepBlock::new(b"BH", b"")];
        if self.push && !self.proxies.is_empty() {
            let packed = self.proxies.iter().flat_map(|at| {
                let ([a, b, c, d], [low, high]) = (at.ip().octets(), at.port().to_le_bytes());
                [a, b, c, d, low, high]
            });
            blocks.push(GgepBlock::new(b"PUSH", &packed.collect::<Vec<u8>>()));
        }
        blocks
    }
}
