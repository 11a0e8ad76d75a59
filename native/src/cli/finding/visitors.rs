//! The visitors of one that waits at a meeting place: for how many there is room, and a socket
//! for each, because a place relays between two addresses.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;
use servent::unicast::{Endpoint, EndpointOptions, MeetNews};
use servent_core::meet::visitor_owner;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};

use super::via::{ViaPlace, bind_any, waiting_for_it};
use crate::exit::Failure;
use crate::progress::Reporter;

/// Visitors at once. One more puts off the one that is there for longest without having shown
/// the code, of the network that has most of these.
const VISITORS: usize = 64;
/// How many may come at one time before they show the code; from then on one each so often.
/// What may be spent on knocks is that of a socket, and each visitor has one: a place that
/// finds out the words of the meeting has us knock at so many addresses, and no more.
const STRANGERS: u32 = 20;
const STRANGER_EVERY: Duration = Duration::from_secs(3);
/// Visitors of one network whose code is looked at together. Until one has shown that it is
/// right it counts as a wrong guess, and all that are behind one router have five of these: a
/// class that comes at once is looked at one after the other.
const GREETED: usize = 3;
/// How long a visitor that is gone may take to acknowledge that.
pub(crate) const GOODBYE: Duration = Duration::from_secs(2);

/// For how many visitors there is room.
#[derive(Clone, Default)]
pub(crate) struct VisitorRoom(Arc<RoomInside>);

#[derive(Default)]
struct RoomInside {
    seats: Mutex<RoomSeats>,
    /// Told when a seat is free, or one that comes need not wait any more.
    changed: Notify,
}

/// The visitors that are there.
#[derive(Default)]
struct RoomSeats {
    all: BTreeMap<u64, TakenSeat>,
    next: u64,
    /// When all strangers that have come are made up for.
    made_up: Option<Instant>,
    greeted: BTreeMap<IpAddr, Arc<Semaphore>>,
}

struct TakenSeat {
    since: Instant,
    known: bool,
    /// Its network, once it was found.
    owner: Option<IpAddr>,
    gives_way: Arc<Notify>,
}

/// The room of one visitor, until it is dropped.
pub(crate) struct VisitorSeat {
    room: Arc<RoomInside>,
    /// Its number, once it was introduced.
    number: Option<u64>,
    gives_way: Arc<Notify>,
}

impl RoomSeats {
    /// When the next stranger may come.
    fn next_stranger(&self) -> Option<Instant> {
        self.made_up.and_then(|all| all.checked_sub(STRANGER_EVERY * (STRANGERS - 1)))
    }

    /// True when the next one may come now.
    fn is_open(&self, now: Instant) -> bool {
        let room = self.all.len() < VISITORS || self.all.values().any(|seat| !seat.known);
        room && self.next_stranger().is_none_or(|at| at <= now)
    }

    /// A visitor was introduced; its number. If there are too many, another gives way.
    fn begin(&mut self, now: Instant, gives_way: Arc<Notify>) -> u64 {
        if self.all.len() >= VISITORS
            && let Some(stale) = self.stalest().and_then(|number| self.all.remove(&number))
        {
            stale.gives_way.notify_one();
        }
        self.made_up = Some(self.made_up.unwrap_or(now).max(now) + STRANGER_EVERY);
        let number = self.next;
        self.next += 1;
        self.all.insert(number, TakenSeat { since: now, known: false, owner: None, gives_way });
        number
    }

    /// The stranger that came first, of the network that has most of them.
    fn stalest(&self) -> Option<u64> {
        let strangers = || self.all.iter().filter(|(_, seat)| !seat.known);
        let mut counts: BTreeMap<Option<IpAddr>, usize> = BTreeMap::new();
        strangers().for_each(|(_, seat)| *counts.entry(seat.owner).or_default() += 1);
        let (busiest, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        strangers().find(|(_, seat)| seat.owner == busiest).map(|(&number, _)| number)
    }

    /// A visitor has shown the code: one more may come instead, if it counts still.
    fn known(&mut self, number: u64, now: Instant) {
        let Some(seat) = self.all.get_mut(&number) else { return };
        let counts = now.duration_since(seat.since) < STRANGER_EVERY * STRANGERS;
        if !std::mem::replace(&mut seat.known, true) && counts {
            self.made_up = self.made_up.and_then(|all| all.checked_sub(STRANGER_EVERY));
        }
    }

    /// Those of a network whose code is looked at.
    fn greeted(&mut self, owner: IpAddr) -> Arc<Semaphore> {
        self.greeted.retain(|_, all| Arc::strong_count(all) > 1);
        let all = self.greeted.entry(owner).or_insert_with(|| Arc::new(Semaphore::new(GREETED)));
        Arc::clone(all)
    }
}

impl RoomInside {
    fn seats(&self) -> MutexGuard<'_, RoomSeats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VisitorRoom {
    pub(crate) fn is_full(&self) -> bool {
        !self.0.seats().is_open(Instant::now())
    }

    /// A seat for the next visitor, once there is one. It is taken when that was introduced.
    pub(crate) async fn take(&self) -> VisitorSeat {
        loop {
            let next = {
                let seats = self.0.seats();
                if seats.is_open(Instant::now()) {
                    let room = Arc::clone(&self.0);
                    return VisitorSeat { room, number: None, gives_way: Arc::default() };
                }
                seats.next_stranger().filter(|next| *next > Instant::now())
            };
            let later = async {
                match next {
                    Some(next) => sleep_until(next).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = later => {}
                () = self.0.changed.notified() => {}
            }
        }
    }
}

impl VisitorSeat {
    /// The visitor was introduced now.
    pub(crate) fn begin(&mut self) {
        let way = Arc::clone(&self.gives_way);
        self.number = Some(self.room.seats().begin(Instant::now(), way));
    }

    /// The visitor was found there, or is seen there by the place that relays to it.
    pub(crate) fn found(&self, at: SocketAddr) {
        let mut seats = self.room.seats();
        if let Some(seat) = self.number.and_then(|number| seats.all.get_mut(&number)) {
            seat.owner = Some(visitor_owner(at.ip()));
        }
    }

    /// Waits until the code of this visitor, which was found or is seen there, may be looked at.
    /// Those that are looked at together are few.
    pub(crate) async fn greeting(&self, at: SocketAddr) -> Option<OwnedSemaphorePermit> {
        let greeted = self.room.seats().greeted(visitor_owner(at.ip()));
        greeted.acquire_owned().await.ok() // It is never closed.
    }

    /// It has shown that it knows the code, which the place does not.
    pub(crate) fn is_known(&self) {
        if let Some(number) = self.number {
            self.room.seats().known(number, Instant::now());
            self.room.changed.notify_one();
        }
    }

    /// Waits until it is to make room for another: it has not shown the code.
    pub(crate) async fn gives_way(&self) {
        self.gives_way.notified().await;
    }
}

impl Drop for VisitorSeat {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.room.seats().all.remove(&number);
            self.room.changed.notify_one();
        }
    }
}

/// A visitor that was introduced: our socket for it alone.
pub(crate) struct ComingVisitor {
    pub(crate) endpoint: Endpoint,
    pub(crate) place: ViaPlace,
    pub(crate) news: MeetNews,
}

/// Waits at the place for the next visitor, or the end. `waits` is called when the place has
/// given us our seat.
pub(crate) async fn next_visitor(
    place: ViaPlace,
    options: EndpointOptions,
    (reporter, waits): (&Reporter, &impl Fn()),
    end: impl Future,
) -> Result<Option<ComingVisitor>, Failure> {
    let endpoint = bind_any(None, options).await?;
    let waits = || {
        waits();
        reporter.fact(&json!({ "event": "at_place", "place": place.name() }));
    };
    let caller = tokio::select! {
        caller = place.one_caller(&endpoint, (waits, reporter)) => caller,
        _ = end => {
            place.leave_seat(endpoint, GOODBYE).await;
            return Ok(None);
        }
    };
    match caller {
        Ok((news, seen)) => {
            let place = place.seen_at(seen);
            Ok(Some(ComingVisitor { endpoint, place, news }))
        }
        Err(failure) => {
            let _ = endpoint.shutdown_within(GOODBYE).await; // It has nothing to say.
            Err(failure)
        }
    }
}

/// The pause before a place is asked again that does not answer: it doubles up to the longest.
pub(crate) struct PlacePause(Duration);

impl PlacePause {
    const SHORTEST: Duration = Duration::from_secs(2);
    const LONGEST: Duration = Duration::from_secs(60);

    pub(crate) const fn new() -> Self {
        Self(Self::SHORTEST)
    }

    /// Says why no visitor can come, and waits for a pause, or the end.
    pub(crate) async fn after(&mut self, failure: &Failure, reporter: &Reporter, end: impl Future) {
        let fact = json!({ "event": "unmet", "why": failure.what });
        reporter.tell(&fact, &waiting_for_it(failure));
        let _ = timeout(self.0, end).await;
        self.0 = (self.0 * 2).min(Self::LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comes(seats: &mut RoomSeats, now: Instant, last: u8) -> (u64, Arc<Notify>) {
        let way = Arc::<Notify>::default();
        let number = seats.begin(now, Arc::clone(&way));
        seats.all.get_mut(&number).unwrap().owner = Some(IpAddr::from([192, 0, 2, last]));
        (number, way)
    }

    #[test]
    fn strangers_keep_the_next_visitor_out_for_three_seconds_and_no_longer() {
        let (mut seats, now) = (RoomSeats::default(), Instant::now());
        let later = |ms| now + Duration::from_millis(ms);
        let mut first = 0;
        for n in 0..STRANGERS {
            assert!(seats.is_open(now), "stranger {n}");
            first = comes(&mut seats, now, 1).0;
        }
        assert!(!seats.is_open(later(2_900)), "what is spent on knocks is bounded");
        assert!(seats.is_open(later(3_000)), "they are still there, and one more may come");
        seats.known(first, now);
        assert!(seats.is_open(now), "one that knows the code is no stranger");
        seats.known(first, now);
        comes(&mut seats, now, 1);
        assert!(!seats.is_open(now), "it was given back once");
        // In a minute there are as many as at first, and no more.
        let mut came = 0;
        for ms in (0..60_000).step_by(100) {
            while seats.is_open(later(ms)) {
                comes(&mut seats, later(ms), 1);
                came += 1;
            }
        }
        assert_eq!(came, 19);
    }

    #[test]
    fn one_that_has_not_shown_the_code_gives_way_when_all_seats_are_taken() {
        let (mut seats, mut now) = (RoomSeats::default(), Instant::now());
        let mut next = |seats: &mut RoomSeats, last| {
            now += STRANGER_EVERY;
            assert!(seats.is_open(now), "a seat can be had");
            comes(seats, now, last).0
        };
        let known = next(&mut seats, 1);
        seats.known(known, Instant::now());
        let honest = next(&mut seats, 2);
        for _ in 2..VISITORS {
            next(&mut seats, 1);
        }
        for _ in 2..VISITORS {
            next(&mut seats, 3);
            assert_eq!(seats.all.len(), VISITORS);
        }
        assert!(seats.all.contains_key(&known), "it knows the code");
        assert!(seats.all.contains_key(&honest), "it is the only one of its network");
        let numbers: Vec<u64> = seats.all.keys().copied().collect();
        numbers.into_iter().for_each(|number| seats.known(number, Instant::now()));
        assert!(!seats.is_open(Instant::now() + Duration::from_secs(9_999)), "all know the code");
    }

    #[tokio::test]
    async fn a_seat_is_free_when_its_visitor_has_left() {
        let room = VisitorRoom::default();
        let mut seats = Vec::new();
        while !room.is_full() {
            let mut seat = room.take().await;
            seat.begin();
            seat.is_known();
            seats.push(seat);
        }
        assert_eq!(seats.len(), VISITORS);
        let mut waits = std::pin::pin!(room.take());
        assert!(timeout(Duration::from_millis(20), &mut waits).await.is_err());
        seats.pop();
        assert!(timeout(Duration::from_secs(5), waits).await.is_ok());
    }

    #[tokio::test]
    async fn those_of_one_network_are_looked_at_one_after_the_other_and_delay_no_other() {
        let room = VisitorRoom::default();
        let seat = room.take().await;
        let [one, other] = ["192.0.2.1:7000", "198.51.100.1:7000"].map(|at| at.parse().unwrap());
        let mut greeted = Vec::new();
        for _ in 0..GREETED {
            greeted.push(seat.greeting(one).await);
        }
        assert!(timeout(Duration::from_millis(20), seat.greeting(one)).await.is_err());
        assert!(timeout(Duration::from_secs(5), seat.greeting(other)).await.is_ok());
        greeted.pop();
        assert!(timeout(Duration::from_secs(5), seat.greeting(one)).await.is_ok());
    }
}
