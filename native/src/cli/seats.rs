//! How many transfers each address may have at once.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use servent_core::address::owner;

/// Parallel senders per address, so that one address cannot use up all places.
const SENDERS_EACH: usize = 32;

/// The number of senders per address.
#[derive(Clone, Default)]
pub(super) struct SenderSeats(Arc<Mutex<BTreeMap<IpAddr, usize>>>);

/// One of them; released when it is dropped.
pub(super) struct SenderSeat(SenderSeats, IpAddr);

impl SenderSeats {
    fn all(&self) -> MutexGuard<'_, BTreeMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a sender, unless its address has too many.
    pub(super) fn take(&self, peer: SocketAddr) -> Option<SenderSeat> {
        let owner = owner(peer.ip());
        let mut all = self.all();
        let taken = all.entry(owner).or_default();
        if *taken >= SENDERS_EACH {
            return None;
        }
        *taken += 1;
        Some(SenderSeat(self.clone(), owner))
    }
}

impl Drop for SenderSeat {
    fn drop(&mut self) {
        let mut all = self.0.all();
        if let Some(taken) = all.get_mut(&self.1) {
            *taken -= 1;
            if *taken == 0 {
                all.remove(&self.1);
            }
        }
    }
}
