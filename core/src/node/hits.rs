//! Hits that tell others what we share: in answer to a query, or to somebody
//! who looks through all of it.

use alloc::vec::Vec;
use core::net::SocketAddrV4;

use super::FileInfo;
use crate::id::Guid;
use crate::wire::gnutella::ggep::Block;
use crate::wire::gnutella::{Hit, HitBuilder, Quality};

/// Whose servent this is, in hits.
const VENDOR: [u8; 4] = *b"SRVT";
/// Bytes of one hit; more results make more hits.
const HIT: usize = 4_000;
/// What we say of our speed, in kbit/s: nobody measures it.
const SPEED: u32 = 1_000;

/// What a hit says of us.
#[derive(Debug, Clone)]
pub(super) struct Sender {
    pub(super) servent: Guid,
    /// Where we are reached; `0.0.0.0:0` when we do not know.
    pub(super) at: SocketAddrV4,
    /// We cannot be reached: ask by push.
    pub(super) push: bool,
    /// All slots are taken.
    pub(super) busy: bool,
    /// Who passes pushes on to us, should we need it.
    pub(super) proxies: Vec<SocketAddrV4>,
}

impl Sender {
    /// Hits that hold these files, each as large as one may be.
    pub(super) fn hits<'a>(self, files: impl Iterator<Item = &'a FileInfo>) -> Vec<Hit> {
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
                // A name too long for any hit is in none.
                hit.add(file.index, file.size, &file.name, file.sha1);
            }
        }
        hits.extend(hit.finish());
        hits
    }

    /// That everything can be looked through, and the proxies.
    fn blocks(&self) -> Vec<Block> {
        let mut blocks = alloc::vec![Block::new(b"BH", b"")];
        if self.push && !self.proxies.is_empty() {
            let packed = self.proxies.iter().flat_map(|at| {
                let ([a, b, c, d], [low, high]) = (at.ip().octets(), at.port().to_le_bytes());
                [a, b, c, d, low, high]
            });
            blocks.push(Block::new(b"PUSH", &packed.collect::<Vec<u8>>()));
        }
        blocks
    }
}
