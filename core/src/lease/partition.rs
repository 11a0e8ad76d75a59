//! How the files of a site are divided: into a fixed number of parts by their
//! keys, and the parts among the members by rendezvous hashing.
//!
//! All members compute the same answer from the addresses of the members alone,
//! and when a member comes or goes, only its own parts change hands.

use core::hash::Hasher as _;
use core::net::SocketAddr;

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;

use crate::address::hash_ip;
use crate::id::FileKey;

/// How many parts a divided site has. Part of what is stored: never changed.
pub const PARTS: u16 = 64;

/// A part of a divided site, below [`PARTS`].
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Partition(pub u16);

impl Partition {
    /// All parts.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..PARTS).map(Self)
    }

    /// The part that a file belongs to.
    ///
    /// ```
    /// use servent_core::id::FileKey;
    /// use servent_core::lease::{PARTS, Partition};
    ///
    /// let part = Partition::containing(FileKey(7));
    /// assert!(part.0 < PARTS && part == Partition::containing(FileKey(7)));
    /// ```
    #[must_use]
    pub fn containing(file: FileKey) -> Self {
        let mut hasher = SipHasher13::new_with_keys(0, 0);
        hasher.write(&file.0.to_be_bytes());
        Self((hasher.finish() % u64::from(PARTS)) as u16)
    }

    /// Whose part it is among these members: the one whose address and the part
    /// have the highest hash together. `None` when there is no member.
    pub fn owner(self, members: impl Iterator<Item = SocketAddr>) -> Option<SocketAddr> {
        members.max_by_key(|at| (self.weight(*at), *at))
    }

    /// Its bit in a set of parts.
    #[must_use]
    pub const fn bit(self) -> u64 {
        1 << (self.0 % PARTS)
    }

    fn weight(self, at: SocketAddr) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(0, 1);
        hasher.write(&self.0.to_be_bytes());
        hash_ip(at.ip().to_canonical(), &mut hasher);
        hasher.write(&at.port().to_be_bytes());
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use core::net::IpAddr;
    use std::collections::BTreeMap;
    use std::vec::Vec;

    use super::*;

    fn members(ids: impl Iterator<Item = u8>) -> Vec<SocketAddr> {
        ids.map(|n| SocketAddr::from(([192, 0, 2, n], 6346))).collect()
    }

    #[test]
    fn st_4_a_member_that_goes_leaves_its_parts_and_no_other_part_moves() {
        let all = members(1..6);
        let rest = members(1..5);
        for part in Partition::all() {
            let (before, after) =
                (part.owner(all.iter().copied()), part.owner(rest.iter().copied()));
            assert!(before == after || before == Some(all[4]), "{part:?}");
        }
        assert_eq!(Partition(0).owner([].into_iter()), None);
    }

    #[test]
    fn st_4_every_member_has_a_part_and_files_are_spread() {
        for count in 2..6 {
            let all = members(1..count + 1);
            let mut parts = BTreeMap::new();
            for part in Partition::all() {
                *parts.entry(part.owner(all.iter().copied())).or_insert(0) += 1;
            }
            assert_eq!(parts.len(), usize::from(count));
            let fair = u32::from(PARTS) / u32::from(count);
            assert!(parts.values().all(|&n| n >= fair / 3), "{parts:?}");
        }
        let mut files = BTreeMap::new();
        for key in 0..6_400 {
            *files.entry(Partition::containing(FileKey(key))).or_insert(0) += 1;
        }
        assert!(files.len() == usize::from(PARTS) && files.values().all(|&n| n > 50), "{files:?}");
    }

    /// What is stored depends on these: they never change.
    #[test]
    fn st_4_the_division_is_the_same_in_every_version() {
        assert_eq!([1, 2, u64::MAX].map(|key| Partition::containing(FileKey(key)).0), PART_OF);
        let all = members(1..4);
        let owners = (0..8).filter_map(|part| Partition(part).owner(all.iter().copied()));
        let owners: Vec<u8> = owners
            .filter_map(|at| if let IpAddr::V4(ip) = at.ip() { Some(ip.octets()[3]) } else { None })
            .collect();
        assert_eq!(owners, OWNERS);
    }

    const PART_OF: [u16; 3] = [19, 8, 13];
    const OWNERS: [u8; 8] = [3, 2, 3, 3, 1, 3, 1, 3];
}
