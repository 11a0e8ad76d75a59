//! Who gets an upload slot, and who waits how long.
//!
//! # The protocol on one page
//!
//! A client asks for a file. When a slot is free and kept for nobody else, it
//! is served at once (AQ-2). Otherwise it gets a place at the end of the one
//! line (AQ-3, PQ-1) and a 503 that says which place, when to ask again at
//! the earliest and by when at the latest. Then it asks again and again:
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
//! **Who is next.** A free slot is kept for the first *present* client of the
//! line: one that is connected, or was sent away to come back, until the
//! deadline it was told. Whoever is absent or lets that pass keeps its place
//! as long as its dialect allows, and the next one present is served. Once the
//! slot has stood free for `entitled_reserve`, anybody in line who asks is
//! served, though nobody is passed like that who was passed before and asked
//! in its time since; a newcomer is served only when nobody in line is inside
//! its window. So no slot idles while somebody entitled asks, nobody jumps the
//! line, and nobody who obeys starves (decision §2.5; `claims`).
//!
//! **Shares.** One address (a /64 of IPv6 is one) may hold every slot while
//! nobody else wants one, but no more than `slots_per_ip` of them keep others
//! out: for these the rest counts as free (`shares`).
//!
//! **Held requests.** An adaptive server does not answer a client of the first
//! `sync_places` that waits for its answer: it is there, and gets the slot in
//! the instant that it is free (QA-3; `holds`). Whoever is next, is not held and
//! gave an address is called shortly before its slot is expected, or when it
//! is there (QA-2; `beckon`).
//!
//! **In the slot.** A finished upload frees its slot at once when the whole
//! file was sent, or all of it from some byte on. After any other range the
//! slot waits `continue_hold` for the next request on the same connection
//! (AQ-9), `ranges_per_slot` times; a closed connection ends that wait. A
//! range that ends with the file but names both its ends (`-n` does too) is
//! such another: players and swarms fetch the tail first, and AQ-9 knows no
//! order of the pieces. Who takes pieces and then stays without a word costs
//! the line one `continue_hold`. An adaptive server counts a turn in bytes:
//! whoever takes file after file on one connection keeps its slot for the next
//! one, waited for `turn_hold` long, while all of them are within `turn_bytes`
//! and `turn_time` (QA-7). A transfer whose connection
//! broke keeps its slot `slot_reserve` long for its id, or for the same
//! address and file (PQ-14); not so in Active Queueing, where hanging up is
//! how a client says that it has lost interest.
//!
//! **The store.** Every durable change is an [`Output::Save`] or
//! [`Output::Forget`] before the reply that promises it (PQ-12). After a
//! restart nobody is blamed for our absence: whoever waits may ask at once,
//! has 300 s to do so, and may know an older position than the one written
//! last; holders of an `X-Node` are called, owners of slots first.
//!
//! **Scale.** `time_scale` divides every interval, told and enforced alike.
//! At scale 1 all told intervals are whole seconds.
//!
//! # The parts
//!
//! `places` finds entries by id, connection and address, over `index`;
//! `line` knows their order, over `sums`; `wheel` their deadlines;
//! `claims` and `turns` for whom slots are kept; `shares` who has how many of
//! them; `holds` whose answers are still to come;
//! `throttle` which addresses ask too
//! often; `rate` and `estimate` when a slot may come. `request`, `slots`, `absence` and `restore` are the rules.

mod absence;
mod beckon;
mod claims;
mod entry;
mod estimate;
mod holds;
mod index;
mod io;
mod line;
mod places;
mod rate;
mod request;
mod restore;
mod shares;
mod slab;
mod slots;
mod sums;
mod throttle;
mod turns;
mod view;
mod wheel;

use alloc::collections::{BTreeMap, BTreeSet};

use self::claims::Claims;
use self::entry::Entry;
use self::holds::Holds;
pub use self::io::{Input, Output, Request, Verdict};
use self::line::Line;
use self::places::Places;
use self::rate::Rate;
use self::shares::Shares;
use self::slots::Upload;
use self::throttle::Throttle;
pub use self::view::{KeptView, PlaceView, UploadView, View};
use self::wheel::Wheel;
use super::{Config, Dialect, Event, Loss};
use crate::engine::{Engine, Fx, FxOf, earlier};
use crate::id::ConnId;
use crate::keyed::Key;
use crate::rng::Rng;
use crate::time::{Duration, Instant};

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::view::{Lane, Lanes, Windows};

/// Due entries handled in one [`Engine::handle_timeout`]; the rest follows a
/// moment later, so that a million at once never hold up the host.
const BATCH: usize = 1_024;
/// That moment.
const BREATH: Duration = Duration::from_millis(1);
/// How exactly deadlines are cleaned up after.
const TICK: Duration = Duration::from_millis(100);
/// The time over which the requests of an address are counted.
const HAMMER_WINDOW: Duration = Duration::from_secs(60);

type Effects = Fx<Output, Event>;

/// The upload queue: one line in front of the slots.
///
/// ```
/// use servent_core::engine::{Effect, Engine, Fx};
/// use servent_core::id::{ConnId, FileKey};
/// use servent_core::queue::server::{Input, Output, Request, Server, Verdict};
/// use servent_core::queue::{Config, Dialect};
/// use servent_core::rng::Rng;
/// use servent_core::time::Instant;
///
/// let mut queue = Server::new(Config { slots: 1, ..Config::default() }, Rng::new(42));
/// let (now, mut fx) = (Instant::from_secs(1_000), Fx::new());
/// for (conn, ip) in [(0, "192.0.2.1"), (2, "192.0.2.2")] {
///     queue.handle(now, Input::Request(Request {
///         conn: ConnId(conn),
///         peer: ip.parse().unwrap(),
///         dialect: Dialect::Parq,
///         file: FileKey(7),
///         bytes: 1_000_000,
///         ticket: None,
///         told: None,
///         callback: None,
///         waits: false,
///     }), &mut fx);
/// }
/// let verdicts: Vec<_> = fx.outputs().filter_map(|output| match output {
///     Output::Reply { verdict, .. } => Some(verdict),
///     _ => None,
/// }).collect();
/// assert!(matches!(verdicts[0], Verdict::Start { .. }));
/// assert!(matches!(verdicts[1], Verdict::Wait(place) if place.position == 1));
/// ```
#[derive(Debug, Clone)]
pub struct Server {
    config: Config,
    rng: Rng,
    places: Places,
    line: Line,
    wheel: Wheel,
    claims: Claims,
    /// Those in a slot, by order of arrival.
    uploads: BTreeMap<u64, Upload>,
    shares: Shares,
    /// Connections on which a file was sent to its end: the next one there shows
    /// that several are wanted.
    served: BTreeSet<ConnId>,
    rate: Rate,
    holds: Holds,
    /// When places were called to come early, by arrival.
    beckoned: BTreeMap<u64, Instant>,
    knocks: Throttle,
    calls: Throttle,
    /// When the next call may be made.
    next_call: Instant,
    next_arrival: u64,
    /// More entries are due than one batch.
    rest: Option<Instant>,
}

impl Server {
    /// An empty line. `rng` draws the ids and the hash keys.
    #[must_use]
    pub fn new(config: Config, mut rng: Rng) -> Self {
        let key = Key::new(&mut rng.fork("throttle", 0));
        let throttle = |count, window: Duration, pause: Duration| {
            let (window, pause) =
                (window.scaled(config.time_scale), pause.scaled(config.time_scale));
            Throttle::new(count, window, pause, config.hammer_table, key.clone())
        };
        let requests = config.hammer_requests;
        let knocks = throttle(requests, HAMMER_WINDOW, config.hammer_pause);
        let spacing = config.call_spacing;
        let calls = throttle(config.calls_per_ip, spacing, spacing);
        Self {
            places: Places::new(config.capacity, &mut rng),
            line: Line::new(),
            wheel: Wheel::new(TICK.scaled(config.time_scale)),
            claims: Claims::default(),
            uploads: BTreeMap::new(),
            shares: Shares::new(&config),
            served: BTreeSet::new(),
            rate: Rate::default(),
            holds: Holds::default(),
            beckoned: BTreeMap::new(),
            knocks,
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

    /// Places in the line.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.line.len()
    }

    /// Takes an entry out of the line: the first half of leaving it.
    fn leave_line(&mut self, at: u32, orphaned: bool) {
        let Entry { seat, arrival, .. } = self.places.slab[at];
        self.line.remove(seat);
        self.claims.remove(arrival, orphaned);
        self.holds.remove(arrival);
        self.beckoned.remove(&arrival);
    }

    /// Puts an entry at the end of the line.
    fn join_line(&mut self, at: u32) {
        let slab = &mut self.places.slab;
        self.line.close_up(|at, seat| slab[at].seat = seat);
        let entry = &mut self.places.slab[at];
        entry.seat = self.line.push(at, entry.bytes);
    }

    /// A place in the line is gone.
    fn lose(&mut self, at: u32, why: Loss, fx: &mut Effects) {
        self.leave_line(at, true);
        let ticket = self.places.slab[at].ticket;
        self.discard(at, fx);
        fx.event(Event::Lost { ticket, why, length: self.line.len() });
    }

    /// Has the store remember an entry as it is now. Active Queueing places
    /// die with their connection, so they are never written.
    fn save(&mut self, at: u32, fx: &mut Effects) {
        let entry = &mut self.places.slab[at];
        if entry.dialect != Dialect::Active {
            entry.saved = true;
            fx.output(Output::Save(entry.row()));
        } else if core::mem::take(&mut entry.saved) {
            fx.output(Output::Forget(entry.ticket));
        }
    }

    /// Takes an entry out of everything but the line and the slots.
    fn discard(&mut self, at: u32, fx: &mut Effects) {
        self.wake_at(at, None);
        let entry = self.places.remove(at);
        if entry.saved {
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

impl Engine for Server {
    type Input = Input;
    type Output = Output;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input, fx: &mut FxOf<Self>) {
        self.rate.turn_to(now);
        match input {
            Input::Restore(row) => self.restore(now, row, fx),
            Input::Resume => self.resume(now, fx),
            Input::Request(request) => self.request(now, request, fx),
            Input::Answer { conn } => self.answer(now, conn, fx),
            Input::Progress { conn, bytes } => {
                self.progress(conn, bytes);
                return self.beckon_ahead(now, fx);
            }
            Input::Finished { conn, last } => self.finished(now, conn, last, fx),
            Input::Parted { conn } => self.parted(now, conn, fx),
            Input::Broken { conn } => {
                self.served.remove(&conn);
                self.broken(now, conn, fx);
            }
            Input::Gone { conn } => {
                self.served.remove(&conn);
                self.gone(now, conn, fx);
            }
            Input::Light { conn, peer } => self.light(now, conn, peer, fx),
            Input::Slots(slots) => {
                self.config.slots = slots;
                self.shares.resize(&self.config);
                fx.event(Event::Slots { slots });
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
