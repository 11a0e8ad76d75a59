//! Query hits that say what we share: in answer to a query, or to a client that
//! browses everything.

use alloc::vec::Vec;
use core::net::{Ipv6Addr, SocketAddrV4};

use super::FileInfo;
use crate::id::Guid;
use crate::wire::gnutella::ggep::GgepBlock;
use crate::wire::gnutella::{HitBuilder, HitMeeting, Quality, QueryHit};

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
    /// Our address, where it is one of IPv6 alone.
    pub(super) six: Option<Ipv6Addr>,
    /// We cannot be reached: a push is needed.
    pub(super) push: bool,
    /// All upload slots are taken.
    pub(super) busy: bool,
    /// Our push proxies.
    pub(super) proxies: Vec<SocketAddrV4>,
    /// Where we are met by clients that no push helps.
    pub(super) meeting: Option<HitMeeting>,
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
        if let Some(six) = self.six {
            blocks.push(GgepBlock::new(b"6", &six.octets()));
        }
        if self.push && !self.proxies.is_empty() {
            let packed = self.proxies.iter().flat_map(|at| {
                let ([a, b, c, d], [low, high]) = (at.ip().octets(), at.port().to_le_bytes());
                [a, b, c, d, low, high]
            });
            blocks.push(GgepBlock::new(b"PUSH", &packed.collect::<Vec<u8>>()));
        }
        if let Some(meeting) = self.meeting.as_ref().filter(|_| self.push) {
            blocks.push(GgepBlock::new(b"SM", &meeting.to_bytes()));
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use core::net::{Ipv4Addr, SocketAddr};

    use super::*;
    use crate::id::{FileIndex, FileKey};
    use crate::node::RunBit;

    #[test]
    fn a_servent_of_ipv6_alone_says_where_it_is_and_any_other_as_ever() {
        let (v4, v6) = (Ipv4Addr::new(10, 0, 0, 1), "2001:db8::7".parse().unwrap());
        for (ip, six, wanted) in [
            (Ipv4Addr::UNSPECIFIED, Some(v6), "[2001:db8::7]:6346"),
            (v4, None, "10.0.0.1:6346"),
            (v4, Some(v6), "10.0.0.1:6346"),
            (Ipv4Addr::UNSPECIFIED, None, "0.0.0.0:6346"),
        ] {
            let (at, proxies) = (SocketAddrV4::new(ip, 6346), Vec::new());
            let (servent, meeting) = (Guid([1; 16]), None);
            let sender = HitSender { servent, at, six, push: false, busy: false, proxies, meeting };
            let (index, key, name) = (FileIndex(1), FileKey(1), String::from("a"));
            let (sha1, modified, tree, run) = (None, None, None, RunBit(false));
            let file = FileInfo { index, name, size: 1, sha1, key, modified, tree, run };
            let hits = sender.hits([&file].into_iter());
            assert_eq!(hits[0].address(), wanted.parse::<SocketAddr>().unwrap());
        }
    }
}
