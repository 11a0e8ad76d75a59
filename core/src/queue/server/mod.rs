//! Decides who gets an upload slot, and who waits how long.
//!
//! # The protocol on one page
//!
//! A client requests a file. When a slot is free and not reserved for another
//! client, it is served at once (AQ-2). Otherwise it gets a place at the end of
//! the one queue (AQ-3, PQ-1) and a 503 that tells it the position, when to ask
//! again at the earliest, and by when at the latest. Then it asks again and
//! again:
//!
//! | | Active Queueing | PARQ 1.0, 1.1 | passive |
//! |---|---|---|---|
//! | the place is | the connection | the id | the address |
//! | connection kept | always | in the first `sync_places` | never |
//! | asks too early | place and connection lost (AQ-5) | place lost, new one at the end (PQ-7) | forgiven |
//! | asks too late | place and connection lost (AQ-6) | called at its `X-Node`, then lost (PQ-8) | lost (PQ-11) |
//! | connection drops | place lost (AQ-7) | held 300 s, `breaks_allowed` times (PQ-10) | nothing |
//! | names a wrong position | | place lost (PQ-6) | |
//! | asks for another file | to the end (AQ-8) | keeps its place (PQ-13) | keeps its place |
//! | survives our restart | no | yes; called back (PQ-12) | yes |
//!
//! **Who is next.** A free slot is reserved for the first *present* client of
//! the queue: one that is connected, or was disconnected on purpose, until the
//! deadline it was told. A client that is absent or misses its deadline keeps
//! its place as long as its dialect allows, and the next present one is served.
//! Once the slot has been free for `entitled_reserve`, any client of the queue
//! that asks is served, except that no client is skipped in this way that was skipped
//! before and then asked in time; a newcomer is served only when no client in the
//! queue is inside its window. So no slot idles while an entitled client asks,
//! no client jumps the queue, and no obedient client starves (decision §2.5;
//! `claims`).
//!
//! **Shares.** One address (an IPv6 /64 network is one) may hold every slot
//! while no other client wants one, but at most `slots_per_ip` of them keep others
//! out: for others, the rest counts as free (`shares`).
//!
//! **Held requests.** An adaptive server holds back its answer to a client
//! among the first `sync_places` that waits for it: the client is present and
//! gets the slot the instant it is free (QA-3; `parked`). When the next client
//! is not held and gave a callback address, it is called shortly before its
//! slot is expected, or when the slot is free (QA-2; `call_back`).
//!
//! **In the slot.** A finished upload frees its slot at once when the whole
//! file was sent, or everything from some byte on. After any other range the
//! slot waits `continue_hold` for the next request on the same connection
//! (AQ-9), up to `ranges_per_slot` times; a closed connection ends that wait. A
//! range that ends with the file but names both its ends (`-n` does too) counts
//! as such another range: players and swarms fetch the tail first, and AQ-9
//! does not require an order of the pieces. A client that takes pieces and then
//! stays without a request costs the queue one `continue_hold`. An adaptive
//! server counts a turn in bytes: a client that takes file after file on one
//! connection keeps its slot for the next one, for which it waits `turn_hold`,
//! while all of them are within `turn_bytes` and `turn_time` (QA-7). When the
//! connection of a transfer breaks, its slot is reserved for `slot_reserve` for
//! the same id, or for the same address and file (PQ-14); not in Active
//! Queueing, where a client closes its connection to say that it has lost
//! interest.
//!
//! **Sleepers.** A client that says that it may wake only once a minute, as the
//! tab of a browser does, gets windows that are `sleep_window` wide or wider, its
//! connection may break `sleep_breaks` times, and a client that comes back too late is
//! told why its place is gone (WB-7; `gone`).
//!
//! **Goodbye.** A client that wants no more says so with its id, and nothing
//! waits for it: neither its place nor the slot of its transfer (QA-8).
//!
//! **The store.** Every durable change is an [`Output::Save`] or
//! [`Output::Forget`] before the reply that promises it (PQ-12). After a
//! restart no client is blamed for our absence: those that wait may ask at
//! once, have 300 s to do so, and may know an older position than the one
//! written last; clients with an `X-Node` are called, owners of slots first.
//! But no slot waits for them longer than for a client whose connection broke:
//! after [`Config::slot_reserve_contested`] those that were connected and have
//! not come back count as absent, and an adaptive server gives their slots on.
//!
//! **Scale.** `time_scale` divides every interval, announced and enforced
//! alike. At scale 1 all announced intervals are whole seconds.
//!
//! # The parts
//!
//! `places` finds entries by id, connection and address, using `index`; `line`
//! keeps their order, using `sums`; `wheel` their deadlines; `claims` and
//! `turns` reserve slots for clients; `shares` counts the slots of each
//! address; `parked` keeps the requests that are held; `throttle` limits
//! addresses that ask too often; `rate` and `estimate` estimate when a slot may
//! come. `request`, `slots`, `absence`, `restore` and `release` are the rules.

mod absence;
mod call_back;
mod claims;
mod estimate;
mod gone;
mod io;
mod parked;
mod rate;
mod release;
mod request;
mod restore;
mod shares;
mod slots;
mod tables;
mod throttle;
mod turns;
mod view;

use alloc::collections::{BTreeMap, BTreeSet};

use self::claims::Claims;
use self::gone::Gone;
pub use self::io::{Input, Output, QueueRequest, QueueVerdict};
use self::parked::Holds;
use self::rate::Rate;
use self::shares::Shares;
use self::slots::Upload;
use self::tables::entry::{QueueEntry, Stored};
use self::tables::line::WaitingLine;
use self::tables::places::Places;
use self::tables::wheel::Wheel;
use self::throttle::Throttle;
pub use self::view::{KeptView, PlaceView, UploadView, View};
use super::{Config, Dialect, Event, PositionLoss};
use crate::engine::{Engine, Fx, FxOf, earlier};
use crate::id::ConnId;
use crate::keyed::Key;
use crate::rng::Rng;
use crate::time::{Duration, Instant};

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::view::{Lanes, QueueLane, Windows};

/// Due entries handled in one [`Engine::handle_timeout`]; the rest follows a
/// moment later, so that even a million due at once do not block the host.
const BATCH: usize = 1_024;
/// Length of that moment.
const BREATH: Duration = Duration::from_millis(1);
/// Granularity of the timers that remove overdue places.
const TICK: Duration = Duration::from_millis(100);
/// The window over which the requests of an address are counted.
const HAMMER_WINDOW: Duration = Duration::from_secs(60);

type QueueEffects = Fx<Output, Event>;

/// The upload queue: one queue in front of the slots.
///
/// ```
/// use servent_core::engine::{Effect, Engine, Fx};
/// use servent_core::id::{ConnId, FileKey};
/// use servent_core::queue::server::{Input, Output, QueueRequest, QueueServer, QueueVerdict};
/// use servent_core::queue::{Config, Dialect};
/// use servent_core::rng::Rng;
/// use servent_core::time::Instant;
///
/// let mut queue = QueueServer::new(Config { slots: 1, ..Config::default() }, Rng::new(42));
/// let (now, mut fx) = (Instant::from_secs(1_000), Fx::new());
/// for (conn, ip) in [(0, "192.0.2.1"), (2, "192.0.2.2")] {
///     queue.handle(now, Input::Request(QueueRequest {
///         conn: ConnId(conn),
///         peer: ip.parse().unwrap(),
///         dialect: Dialect::Parq,
///         file: FileKey(7),
///         bytes: 1_000_000,
///         rest: 0,
///         ticket: None,
///         told: None,
///         callback: None,
///         waits: false,
///         sleeps: false,
///     }), &mut fx);
/// }
/// let verdicts: Vec<_> = fx.outputs().filter_map(|output| match output {
///     Output::Reply { verdict, .. } => Some(verdict),
///     _ => None,
/// }).collect();
/// assert!(matches!(verdicts[0], QueueVerdict::Start { .. }));
/// assert!(matches!(verdicts[1], QueueVerdict::Wait(place) if place.position == 1));
/// ```
#[derive(Debug, Clone)]
pub struct QueueServer {
    config: Config,
    rng: Rng,
    places: Places,
    line: WaitingLine,
    wheel: Wheel,
    claims: Claims,
    /// The clients in slots, by order of arrival.
    uploads: BTreeMap<u64, Upload>,
    shares: Shares,
    /// Connections on which a file was sent to its end: the next file there
    /// shows that the client wants several.
    served: BTreeSet<ConnId>,
    rate: Rate,
    holds: Holds,
    /// When places were called to come early, by arrival.
    called_back: BTreeMap<u64, Instant>,
    gone: Gone,
    requests: Throttle,
    calls: Throttle,
    /// When the next call may be made.
    next_call: Instant,
    next_arrival: u64,
    /// When the rest of the due entries is handled, if there are more than a
    /// batch.
    rest: Option<Instant>,
}

impl QueueServer {
    /// An empty queue. `rng` draws the ids and the hash keys.
    #[must_use]
    pub fn new(config: Config, mut rng: Rng) -> Self {
        let key = Key::new(&mut rng.fork("throttle", 0));
        let throttle = |count, window: Duration, pause: Duration| {
            let (window, pause) =
                (window.scaled(config.time_scale), pause.scaled(config.time_scale));
            Throttle::new(count, window, pause, config.hammer_table, key.clone())
        };
        let requests = config.hammer_requests;
        let requests = throttle(requests, HAMMER_WINDOW, config.hammer_pause);
        let spacing = config.call_spacing;
        let calls = throttle(config.calls_per_ip, spacing, spacing);
        Self {
            places: Places::new(config.capacity, &mut rng),
            line: WaitingLine::new(),
            wheel: Wheel::new(TICK.scaled(config.time_scale)),
            claims: Claims::default(),
            uploads: BTreeMap::new(),
            shares: Shares::new(&config),
            served: BTreeSet::new(),
            rate: Rate::default(),
            holds: Holds::default(),
            called_back: BTreeMap::new(),
            gone: Gone::default(),
            requests,
            calls,
            next_call: Instant::ZERO,
            next_arrival: 1,
            rest: None,
            rng,
            config,
        }
    }

    /// Its configuration.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The length of the queue.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.line.len()
    }

    /// Takes an entry out of the queue's order: the first half of leaving it.
    fn leave_line(&mut self, at: u32, orphaned: bool) {
        let QueueEntry { seat, arrival, .. } = self.places.slab[at];
        self.line.remove(seat);
        self.claims.remove(arrival, orphaned);
        self.holds.remove(arrival);
        self.called_back.remove(&arrival);
    }

    /// Puts an entry at the end of the queue.
    fn join_line(&mut self, at: u32) {
        let slab = &mut self.places.slab;
        self.line.close_up(|at, seat| slab[at].seat = seat);
        let entry = &mut self.places.slab[at];
        entry.seat = self.line.push(at, entry.bytes);
    }

    /// A place in the queue is lost.
    fn lose(&mut self, at: u32, why: PositionLoss, fx: &mut QueueEffects) {
        self.leave_line(at, true);
        let entry = self.places.slab[at];
        let ticket = entry.ticket;
        self.remember_loss(&entry, why);
        self.discard(at, fx);
        fx.event(Event::Lost { ticket, why, length: self.line.len() });
    }

    /// Saves an entry as it is now. Active Queueing places end with their
    /// connection, so they are never saved.
    fn save(&mut self, at: u32, fx: &mut QueueEffects) {
        let entry = &mut self.places.slab[at];
        if entry.stored == Stored::Released {
            return;
        }
        if entry.dialect != Dialect::Active {
            entry.stored = Stored::Row;
            fx.output(Output::Save(entry.row()));
        } else if entry.stored == Stored::Row {
            entry.stored = Stored::Nothing;
            fx.output(Output::Forget(entry.ticket));
        }
    }

    /// Removes an entry from everything but the queue's order and the slots.
    fn discard(&mut self, at: u32, fx: &mut QueueEffects) {
        self.wake_at(at, None);
        let entry = self.places.remove(at);
        if entry.stored == Stored::Row {
            fx.output(Output::Forget(entry.ticket));
        }
    }

    fn wake_at(&mut self, at: u32, when: Option<Instant>) {
        self.wheel.set(&mut self.places.slab, at, when);
    }

    fn draw_arrival(&mut self) -> u64 {
        self.next_arrival += 1;
        self.next_arrival - 1
    }
}

impl Engine for QueueServer {
    type Input = Input;
    type Output = Output;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input, fx: &mut FxOf<Self>) {
        self.rate.turn_to(now);
        match input {
            Input::Restore(row) => self.restore(now, row, fx),
            Input::Resume => {
                // Claims made between restored rows may be outranked by later rows.
                self.claims.clear();
                self.resume(now, fx);
            }
            Input::Joined => self.resume(now, fx),
            Input::Release { parts } => self.release(parts, fx),
            Input::Excuse => self.excuse(now),
            Input::Request(request) => self.request(now, request, fx),
            Input::Answer { conn } => self.answer(now, conn, fx),
            Input::Progress { conn, bytes } => {
                self.progress(conn, bytes);
                return self.call_back_ahead(now, fx);
            }
            Input::Finished { conn, last } => self.finished(now, conn, last, fx),
            Input::Parted { conn } => self.parted(now, conn, fx),
            Input::Retracted { conn } => self.retract_reply(now, conn),
            Input::Broken { conn } => {
                self.served.remove(&conn);
                self.broken(now, conn, fx);
            }
            Input::Gone { conn } => {
                self.served.remove(&conn);
                self.gone(now, conn, fx);
            }
            Input::Leave { conn, ticket } => self.leave(conn, ticket, fx),
            Input::Light { conn, peer } => self.admit_unqueued(now, conn, peer, fx),
            Input::Slots(slots) => {
                self.config.slots = slots;
                self.shares.resize(&self.config);
                fx.event(Event::Slots { slots });
            }
            Input::Policy(policy) => {
                self.config.policy = policy;
                fx.event(Event::Policy { policy });
            }
            Input::CallDone { ticket, ok } => self.call_done(now, ticket, ok, fx),
        }
        self.settle(now, fx);
        self.serve_held(now, fx);
    }

    fn handle_timeout(&mut self, now: Instant, fx: &mut FxOf<Self>) {
        self.rest = None;
        self.rate.turn_to(now);
        for _ in 0..BATCH {
            let Some(at) = self.wheel.due(now) else { break };
            if !self.wheel.postpone(&mut self.places.slab, at, now) {
                self.wake(now, at, fx);
            }
        }
        self.settle(now, fx);
        self.serve_held(now, fx);
        if self.wheel.due(now).is_some() {
            self.rest = Some(now + BREATH);
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        if let Some(rest) = self.rest {
            return Some((rest, "rest"));
        }
        let deadline = self.wheel.next().map(|at| (at, "deadline"));
        let reserve = self.claims.next().map(|at| (at, "reserve"));
        earlier(earlier(deadline, reserve), self.next_open())
    }
}
