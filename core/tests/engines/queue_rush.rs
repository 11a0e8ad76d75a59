//! A rush of clients, watched by a judge that knows only what they did and
//! were told: no slot idles while it may be used, and no client is passed that is
//! inside the window it was told, but by others of the line, after a bounded
//! reserve, and once (PQ-16, decision §2.5).

use crate::queue_support;

use proptest::prelude::*;
use queue_support::{Bench, Client, Got, config, secs};
use servent_core::id::Guid;
use servent_core::queue::Dialect::{Active, Parq, Parq11, Passive};
use servent_core::queue::{Event, QueuePosition};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};

const RESERVE: Duration = Duration::from_secs(60);

struct Waiting {
    client: Client,
    ticket: Guid,
    deadline: Instant,
    ask_at: Instant,
    keeps_connection: bool,
    gone: bool,
    lapsed: bool,
    /// Another client of the line was served past it; the slot may have been kept
    /// for that one.
    passed: bool,
    /// It asked in its time since then.
    proven: bool,
}

impl Waiting {
    /// True when no other may pass it at `now`, but after the reserve.
    fn obeys(&self, now: Instant) -> bool {
        !self.gone && now < self.deadline
    }

    /// True when a slot may still be kept for it at `now`.
    fn may_come(&self, now: Instant) -> bool {
        !self.gone && !self.lapsed && now <= self.deadline
    }
}

/// Since when each free slot stands free. Which of several is taken is the
/// server's choice; it may be the oldest or the newest.
#[derive(Default)]
struct Free {
    /// As if the newest were always taken.
    early: Vec<Instant>,
    /// As if the oldest were always taken.
    late: Vec<Instant>,
}

impl Free {
    fn set(&mut self, count: u32, now: Instant) {
        self.early.resize(count as usize, now);
        let surplus = self.late.len().saturating_sub(count as usize);
        self.late.drain(..surplus);
        self.late.resize(count as usize, now);
    }

    fn some_surely_open(&self, now: Instant) -> bool {
        self.late.first().is_some_and(|&since| since + RESERVE <= now)
    }

    fn some_maybe_open(&self, now: Instant) -> bool {
        self.early.first().is_some_and(|&since| since + RESERVE <= now)
    }
}

struct Rush {
    bench: Bench,
    rng: Rng,
    line: Vec<Waiting>,
    uploads: Vec<(Client, Instant)>,
    free: Free,
    served: u32,
}

impl Rush {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let bench = Bench::new(config(rng.between(1, 3) as u32));
        let (line, uploads, free) = (Vec::new(), Vec::new(), Free::default());
        let mut rush = Self { bench, rng, line, uploads, free, served: 0 };
        rush.look();
        rush
    }

    /// Takes note of lapses, lost places and free slots.
    fn look(&mut self) {
        for event in self.bench.events.split_off(0) {
            match event {
                Event::Lapsed { ticket } => self.mark(ticket, true),
                Event::Told { ticket, .. } => self.mark(ticket, false),
                Event::Lost { ticket, .. } => self.line.retain(|one| one.ticket != ticket),
                _ => {}
            }
        }
        self.free.set(self.bench.server.free(), self.bench.now);
    }

    fn mark(&mut self, ticket: Guid, lapsed: bool) {
        if let Some(one) = self.line.iter_mut().find(|one| one.ticket == ticket) {
            one.lapsed = lapsed;
        }
    }

    /// The next thing that happens: an end, a poll, or a new client.
    fn step(&mut self) {
        let ends = self.uploads.iter().map(|(_, end)| *end).min();
        let polls = self.line.iter().map(|one| one.ask_at).min();
        let arrival = self.bench.now + Duration::from_millis(self.rng.below(90_000));
        let at = [ends, polls].into_iter().flatten().min().map_or(arrival, |at| at.min(arrival));
        self.bench.pass(at.since(self.bench.now));
        self.look();
        if self.rng.chance(1, 12) && !self.line.is_empty() {
            self.break_one();
        } else if let Some(done) = self.uploads.iter().position(|(_, end)| *end <= at) {
            let (client, _) = self.uploads.swap_remove(done);
            self.bench.finish(&client);
        } else if let Some(due) = self.line.iter().position(|one| one.ask_at <= at) {
            self.poll(due);
        } else if self.line.len() < 40 {
            self.arrive();
        }
        self.look();
    }

    fn break_one(&mut self) {
        let at = self.rng.below(self.line.len() as u64) as usize;
        let one = &mut self.line[at];
        if one.keeps_connection && !one.gone {
            one.gone = true;
            self.bench.gone(&one.client);
            one.client.conn = self.bench.conn();
        }
    }

    fn poll(&mut self, at: usize) {
        let (now, slots) = (self.bench.now, self.free.late.len());
        let ahead = &self.line[..at];
        let obeying = ahead.iter().filter(|one| one.obeys(now)).count();
        let coming = ahead.iter().filter(|one| one.may_come(now)).count();
        let borne = ahead.iter().filter(|one| one.may_come(now) && one.proven).count();
        let mut one = self.line.remove(at);
        let proven = one.proven || one.passed;
        match self.bench.ask(&mut one.client) {
            Got::Slot => {
                assert!(slots > 0);
                if obeying >= slots {
                    assert!(self.free.some_maybe_open(now), "it passed a client that obeys");
                    self.line[..at].iter_mut().for_each(|ahead| ahead.passed = true);
                }
                self.start(one.client);
            }
            Got::Place(place) => {
                assert!(coming >= slots, "a slot idles and is kept for no client");
                let open = self.free.some_surely_open(now);
                assert!(!open || borne > 0, "a slot idles after the reserve");
                let again = self.waiting(one.client, &place);
                self.line.insert(at, Waiting { proven, ..again });
            }
            // A client that asks too late loses its place.
            got => assert!(matches!(got, Got::HungUp(_)), "{got:?}"),
        }
    }

    fn arrive(&mut self) {
        let now = self.bench.now;
        let dialect = *self.rng.pick(&[Active, Parq, Parq11, Passive]).expect("there are four");
        let slots = self.free.late.len();
        let obeying = self.line.iter().filter(|one| one.obeys(now)).count();
        let coming = self.line.iter().filter(|one| one.may_come(now)).count();
        let (client, got) = self.bench.arrive(dialect);
        match got {
            Got::Slot => {
                assert!(obeying < slots, "a newcomer passed a client that obeys");
                self.start(client);
            }
            Got::Place(place) => {
                assert!(coming >= slots, "a slot idles, kept for no client in line");
                let new = self.waiting(client, &place);
                self.line.push(new);
            }
            got => panic!("{got:?}"),
        }
    }

    fn start(&mut self, client: Client) {
        self.served += 1;
        let length = Duration::from_millis(1_000 + self.rng.below(300_000));
        self.uploads.push((client, self.bench.now + length));
    }

    /// Most ask soon after they may, some late in their window, some never.
    fn waiting(&mut self, client: Client, place: &QueuePosition) -> Waiting {
        let not_before = self.bench.now + place.retry_after;
        let deadline = self.bench.now + place.lifetime;
        let window = deadline.since(not_before).as_micros();
        let ask_at = match self.rng.below(10) {
            0 => deadline + secs(1_000),
            1 | 2 => not_before + Duration::from_micros(self.rng.below(window)),
            _ => not_before + Duration::from_millis(self.rng.below(3_000)),
        };
        let (ticket, keeps_connection) = (place.ticket, place.keep);
        Waiting {
            client,
            ticket,
            deadline,
            ask_at,
            keeps_connection,
            gone: false,
            lapsed: false,
            passed: false,
            proven: false,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_slot_idles_that_may_be_used_and_no_client_that_obeys_is_passed(seed in any::<u64>()) {
        let mut rush = Rush::new(seed);
        for _ in 0..600 {
            rush.step();
        }
        prop_assert!(rush.served > 20, "only {} served", rush.served);
    }
}

#[test]
fn a_client_that_may_not_be_passed_again_lends_no_time_to_others() {
    // Drawn once: a slot that was kept for a client of that kind went, and the
    // other one then stayed kept for a client that never came.
    let mut rush = Rush::new(17_431_618_361_043_649_110);
    for _ in 0..600 {
        rush.step();
    }
}
