//! How many transfers each address may have at once, and which connections give way
//! that have offered nothing yet.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use servent_core::address::owner;
use tokio::task::AbortHandle;

/// Connections that may be open without an offer. One more puts off the oldest of the
/// address that has most of them: a silent peer costs no other peer its place.
const GREETED: usize = 64;
/// Parallel senders per address, so that one address cannot use up all places.
const SENDERS_EACH: usize = 32;

/// The number of senders per address.
#[derive(Clone, Default)]
pub(crate) struct SenderSeats(Arc<Mutex<BTreeMap<IpAddr, usize>>>);

/// One of them; released when it is dropped.
pub(crate) struct SenderSeat(SenderSeats, IpAddr);

impl SenderSeats {
    fn all(&self) -> MutexGuard<'_, BTreeMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a sender, unless its address has too many.
    pub(crate) fn take(&self, peer: SocketAddr) -> Option<SenderSeat> {
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

/// The connections that have offered nothing yet, in the order in which they came.
#[derive(Default)]
pub(crate) struct Greetings {
    seats: SenderSeats,
    all: BTreeMap<u64, Greeting>,
    next: u64,
}

/// One of them.
struct Greeting {
    owner: IpAddr,
    seat: SenderSeat,
    task: AbortHandle,
}

impl Greetings {
    /// A seat for one more, if need be that of one that came before and said nothing.
    /// `None`: as many transfers of its address are under way as there may be.
    pub(crate) fn seat(&mut self, peer: SocketAddr) -> Option<SenderSeat> {
        if self.all.len() >= GREETED
            && let Some(owner) = self.busiest()
        {
            self.put_off(owner);
        }
        let seat = self.seats.take(peer);
        seat.or_else(|| {
            self.put_off(owner(peer.ip()));
            self.seats.take(peer)
        })
    }

    /// Begins to wait for the offer of a connection, which `task` reads. Returns its
    /// number.
    pub(crate) fn add(&mut self, seat: SenderSeat, task: impl FnOnce(u64) -> AbortHandle) {
        let (number, owner) = (self.next, seat.1);
        self.next += 1;
        self.all.insert(number, Greeting { owner, seat, task: task(number) });
    }

    /// The seat of a connection that has made its offer, or has ended; `None`: it was put
    /// off.
    pub(crate) fn done(&mut self, number: u64) -> Option<SenderSeat> {
        self.all.remove(&number).map(|greeting| greeting.seat)
    }

    fn busiest(&self) -> Option<IpAddr> {
        let mut counts: BTreeMap<IpAddr, usize> = BTreeMap::new();
        self.all.values().for_each(|one| *counts.entry(one.owner).or_default() += 1);
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(owner, _)| owner)
    }

    fn put_off(&mut self, owner: IpAddr) {
        let oldest = self.all.iter().find(|(_, one)| one.owner == owner).map(|(&n, _)| n);
        if let Some(greeting) = oldest.and_then(|number| self.all.remove(&number)) {
            greeting.task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_silent_peer_gives_way_and_one_of_another_address_does_not() {
        let mut greetings = Greetings::default();
        let mut tasks = tokio::task::JoinSet::new();
        let at = |n: u8, port| SocketAddr::from(([10, 0, 0, n], port));
        let mut greet = |greetings: &mut Greetings, peer| {
            let seat = greetings.seat(peer)?;
            greetings.add(seat, |_| tasks.spawn(std::future::pending::<()>()));
            Some(())
        };
        for port in 0..200 {
            assert!(greet(&mut greetings, at(1, port)).is_some(), "the oldest one gives way");
        }
        assert_eq!(greetings.all.len(), SENDERS_EACH);
        greet(&mut greetings, at(2, 1)).unwrap();
        for n in 3..200 {
            greet(&mut greetings, at(n, 1)).unwrap();
        }
        assert_eq!(greetings.all.len(), GREETED);
        assert!(greetings.all.values().any(|one| one.owner == at(199, 1).ip()));
        // Transfers that are under way give nothing up.
        let under_way: Vec<_> = (0..SENDERS_EACH).map(|_| greetings.seats.take(at(1, 0))).collect();
        let mine = greetings.all.values().filter(|one| one.owner == at(1, 0).ip()).count();
        assert!(under_way.iter().flatten().count() + mine <= SENDERS_EACH);
    }
}
