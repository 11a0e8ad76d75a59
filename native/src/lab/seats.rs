//! Who of those that connect to the lab is served when. Each address (an IPv6
//! network is one) has a share of the seats, so that no client keeps all of them;
//! a client that finds none waits; and health checks have seats of their own.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use servent::{LAB_CONNECTIONS, LAB_WAITING};
use servent_core::address::owner;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Seats that one address may have. Behind a proxy, or the router of a school,
/// one address is many people.
const SHARE: usize = LAB_CONNECTIONS as usize * 3 / 4;
/// Connections of one address that may wait; one more puts off the first.
const WAITING_SHARE: usize = LAB_WAITING as usize / 2;
/// Seats for health checks.
const RESERVE: usize = 8;

/// The seats of one listener.
pub(super) struct Seats {
    all: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    reserve: Arc<Semaphore>,
    shares: Mutex<BTreeMap<IpAddr, SeatShare>>,
}

/// What one address has.
struct SeatShare {
    seats: Arc<Semaphore>,
    /// Its connections that wait, the first one first.
    waiting: VecDeque<Waiting>,
}

/// A connection that waits for a seat, and the room that it takes up. One that is
/// put off gives its room back at once, not when its task runs next.
struct Waiting {
    put_off: oneshot::Sender<Infallible>,
    _room: OwnedSemaphorePermit,
}

impl Default for SeatShare {
    fn default() -> Self {
        Self { seats: Arc::new(Semaphore::new(SHARE)), waiting: VecDeque::new() }
    }
}

/// A connection that is admitted; dropping it ends its waiting.
pub(super) struct Queued {
    pub(super) from: IpAddr,
    /// Resolves when it has waited for too long.
    pub(super) put_off: oneshot::Receiver<Infallible>,
}

/// A seat; dropping it gives it back.
pub(super) struct Seat {
    _held: Vec<OwnedSemaphorePermit>,
}

impl Seats {
    pub(super) fn new() -> Arc<Self> {
        let limit = |n| Arc::new(Semaphore::new(n));
        Arc::new(Self {
            all: limit(LAB_CONNECTIONS as usize),
            waiting: limit(LAB_WAITING as usize - RESERVE),
            reserve: limit(RESERVE),
            shares: Mutex::default(),
        })
    }

    /// What each address has; one without connections is forgotten.
    fn shares(&self) -> MutexGuard<'_, BTreeMap<IpAddr, SeatShare>> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        shares.retain(|_, share| {
            share.waiting.retain(|waiting| !waiting.put_off.is_closed());
            !share.waiting.is_empty()
                || share.seats.available_permits() < SHARE
                || Arc::strong_count(&share.seats) > 1
        });
        shares
    }

    /// Lets a connection wait; `None` when too many do.
    pub(super) fn queue(&self, from: IpAddr) -> Option<Queued> {
        let from = owner(from.to_canonical());
        let mut shares = self.shares();
        let waiting = &mut shares.entry(from).or_default().waiting;
        if waiting.len() >= WAITING_SHARE {
            waiting.pop_front();
        }
        let room = Arc::clone(&self.waiting).try_acquire_owned().ok()?;
        let (sender, put_off) = oneshot::channel();
        waiting.push_back(Waiting { put_off: sender, _room: room });
        Some(Queued { from, put_off })
    }

    /// A seat at once, if there is one that no connection waits for.
    pub(super) fn take(&self, from: IpAddr) -> Option<Seat> {
        let from = owner(from.to_canonical());
        let share = Arc::clone(&self.shares().entry(from).or_default().seats);
        let one = share.try_acquire_owned().ok()?;
        let all = Arc::clone(&self.all).try_acquire_owned().ok()?;
        Some(Seat { _held: vec![one, all] })
    }

    /// A seat, as soon as there is one.
    pub(super) async fn wait(&self, from: IpAddr) -> Option<Seat> {
        let share = Arc::clone(&self.shares().entry(from).or_default().seats);
        let one = share.acquire_owned().await.ok()?;
        let all = Arc::clone(&self.all).acquire_owned().await.ok()?;
        Some(Seat { _held: vec![one, all] })
    }

    /// A seat for a health check, if there is one.
    pub(super) fn take_reserved(&self) -> Option<Seat> {
        let one = Arc::clone(&self.reserve).try_acquire_owned().ok()?;
        Some(Seat { _held: vec![one] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(n: u8) -> IpAddr {
        [10, 0, 0, n].into()
    }

    #[test]
    fn one_address_leaves_seats_and_room_to_wait_for_others() {
        let seats = Seats::new();
        let mut held = Vec::new();
        let mut waits: Vec<Queued> = Vec::new();
        for _ in 0..300 {
            match seats.take(ip(1)) {
                Some(seat) => held.push(seat),
                None => waits.push(seats.queue(ip(1)).expect("the first of its own makes room")),
            }
            let put_off = |queued: &mut Queued| {
                let waited = queued.put_off.try_recv();
                waited == Err(oneshot::error::TryRecvError::Closed)
            };
            waits.retain_mut(|queued| !put_off(queued));
        }
        assert_eq!((held.len(), waits.len()), (SHARE, WAITING_SHARE));
        assert!(seats.queue(ip(2)).is_some(), "others may wait");
        assert!(seats.take(ip(2)).is_some());
        assert!(seats.take_reserved().is_some());
    }

    #[test]
    fn a_connection_that_is_put_off_takes_no_room_until_its_task_runs() {
        let seats = Seats::new();
        // No task of theirs has run yet: nothing is dropped.
        let held: Vec<Queued> = (0..300).filter_map(|_| seats.queue(ip(1))).collect();
        assert_eq!(held.len(), 300);
        assert!(seats.queue(ip(2)).is_some(), "others may come");
    }

    #[test]
    fn what_is_given_back_is_there_for_others_and_no_address_is_remembered() {
        let seats = Seats::new();
        let queued: Vec<Queued> = (0..9).filter_map(|n| seats.queue(ip(n))).collect();
        let held: Vec<Seat> = (0..9).filter_map(|n| seats.take(ip(n))).collect();
        assert_eq!((queued.len(), held.len(), seats.shares().len()), (9, 9, 9));
        drop((queued, held));
        let last = seats.take(ip(99));
        assert!(last.is_some());
        assert_eq!(seats.shares().len(), 1);
        drop(last);
        assert_eq!(seats.all.available_permits(), LAB_CONNECTIONS as usize);
    }
}
