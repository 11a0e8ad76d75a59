//! How many slots each address holds, and its share of them.
//!
//! One address must not keep all others out. Alone it may hold every slot; what
//! it holds beyond its share is *lent*: for others those slots count as free,
//! so that a newcomer is served beside it at once, and it gets no new slot
//! before others have had theirs. So no slot idles, no running transfer is
//! interrupted, and the number of uploads exceeds the number of slots by at
//! most what was lent.

use alloc::collections::BTreeMap;
use core::net::IpAddr;

use crate::address::owner;
use crate::queue::Config;

/// Slots held, by address; an IPv6 address counts as its /64 network.
#[derive(Debug, Clone, Default)]
pub(super) struct Shares {
    held: BTreeMap<IpAddr, u32>,
    /// The share of one address.
    share: u32,
    /// Slots held beyond the shares of their holders.
    lent: u32,
}

impl Shares {
    pub(super) fn new(config: &Config) -> Self {
        Self { share: share(config), ..Self::default() }
    }

    /// The number of slots has changed.
    pub(super) fn resize(&mut self, config: &Config) {
        self.share = share(config);
        self.lent = self.held.values().map(|held| held.saturating_sub(self.share)).sum();
    }

    /// A client of this address gets a slot.
    pub(super) fn take(&mut self, peer: IpAddr) {
        let held = self.held.entry(owner(peer)).or_default();
        *held += 1;
        self.lent += u32::from(*held > self.share);
    }

    /// A client of this address leaves its slot.
    pub(super) fn give(&mut self, peer: IpAddr) {
        let owner = owner(peer);
        let Some(held) = self.held.get_mut(&owner) else { return };
        self.lent -= u32::from(*held > self.share);
        *held -= 1;
        if *held == 0 {
            self.held.remove(&owner);
        }
    }

    /// How many slots an address holds.
    pub(super) fn slots_held(&self, peer: IpAddr) -> u32 {
        self.held.get(&owner(peer)).copied().unwrap_or(0)
    }

    /// How many slots one address may hold while others wait.
    pub(super) const fn share(&self) -> u32 {
        self.share
    }

    /// How many slots are held beyond the shares of their holders.
    pub(super) const fn lent(&self) -> u32 {
        self.lent
    }
}

fn share(config: &Config) -> u32 {
    match config.slots_per_ip {
        0 => config.slots.div_ceil(2).max(1),
        some => some,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    proptest! {
        #[test]
        fn what_is_lent_is_what_a_count_of_all_would_say(
            steps in prop::collection::vec((0_u8..3, 0_u8..4, 0_u32..6), 0..60),
        ) {
            let mut config = Config::default();
            let mut shares = Shares::new(&config);
            let mut all: Vec<IpAddr> = Vec::new();
            for (step, who, slots) in steps {
                let peer = IpAddr::from([10, 0, 0, who]);
                match step {
                    0 => {
                        shares.take(peer);
                        all.push(peer);
                    }
                    1 if all.contains(&peer) => {
                        shares.give(peer);
                        let at = all.iter().position(|one| *one == peer).unwrap();
                        all.remove(at);
                    }
                    _ => {
                        config.slots = slots;
                        shares.resize(&config);
                    }
                }
                let held = |who: u8| {
                    all.iter().filter(|one| **one == IpAddr::from([10, 0, 0, who])).count() as u32
                };
                let beyond = (0..4).map(|who| held(who).saturating_sub(shares.share()));
                prop_assert_eq!(shares.lent(), beyond.sum::<u32>());
                prop_assert_eq!(shares.slots_held(peer), held(who));
            }
        }
    }

    #[test]
    fn a_network_of_ipv6_has_one_share() {
        let mut shares = Shares::new(&Config { slots: 2, ..Config::default() });
        for ip in ["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"] {
            shares.take(ip.parse().unwrap());
        }
        assert_eq!((shares.slots_held("2001:db8::3".parse().unwrap()), shares.lent()), (2, 1));
    }
}
