//! Our place in the queue of another server, in either dialect.
//!
//! A [`QueueClient`] knows when to ask and what to claim; its owner knows which file
//! is requested and over which connection. It speaks PARQ, and follows Active
//! Queueing whenever a server answers in it (PQ-5). In Active Queueing a place
//! is bound to the connection; in PARQ to an id, which is restored from the
//! store after a restart (PQ-12).

mod config;
#[doc(hidden)]
pub mod schedule;

use core::mem;

use serde::{Deserialize, Serialize};

pub use self::config::Config;
use self::schedule::outlives_connection;
use super::{Dialect, PositionLoss};
use crate::engine::{Engine, FxOf};
use crate::id::Guid;
use crate::time::{Duration, Instant};
use crate::wire::queue::{PositionClaim, ToldPlace};

/// What happened at the server, or what our user wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Input {
    /// There is something to request, as soon as that is allowed.
    Want,
    /// There is nothing to request any more.
    Rest,
    /// The server told us a place.
    Told(ToldPlace),
    /// The server is plainly busy: any place is lost.
    Busy(Option<Duration>),
    /// The transfer begins; the server may give an id with it.
    Served(Option<Guid>),
    /// The connection broke or could not be opened: wait at least this long.
    Broken(Duration),
    /// The server called us (PQ-8).
    Called,
    /// The user wants a request now, even before it is allowed.
    AskNow,
    /// The user wants no request for this long.
    Sleep(Duration),
    /// The host slept, or its network was away: what failed meanwhile says
    /// nothing, so a pause after a failure ends. What the server wants is waited
    /// for as before.
    Woke,
}

/// What a client asks of its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Output {
    /// Send a request with this claim, on the kept connection or on a new one.
    Ask(PositionClaim),
}

/// What a client reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[allow(missing_docs)] // The fields of a variant are named by what they hold.
pub enum Event {
    /// The server told us a place.
    Queued {
        dialect: Dialect,
        ticket: Option<Guid>,
        position: Option<u32>,
        length: Option<u32>,
        ask_at: Instant,
        deadline: Instant,
    },
    /// The place is gone.
    Lost { why: PlaceLoss },
}

/// Why our place is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PlaceLoss {
    /// The connection that held the place was closed (AQ-7).
    ConnectionLost,
    /// The server answered as if we had none.
    Refused,
    /// We asked too early, says the server.
    TooEarly,
    /// We did not ask in time.
    Overdue,
    /// We named another position than it told us.
    WrongPosition,
    /// Our connection broke too often.
    BrokeTooOften,
    /// It called us in vain.
    Unreachable,
    /// We took another place instead.
    Replaced,
    /// We gave it back.
    Left,
}

impl From<PositionLoss> for PlaceLoss {
    fn from(why: PositionLoss) -> Self {
        match why {
            PositionLoss::TooEarly => Self::TooEarly,
            PositionLoss::Overdue => Self::Overdue,
            PositionLoss::ConnectionLost => Self::ConnectionLost,
            PositionLoss::WrongPosition => Self::WrongPosition,
            PositionLoss::BrokeTooOften => Self::BrokeTooOften,
            PositionLoss::Unreachable => Self::Unreachable,
            PositionLoss::Replaced => Self::Replaced,
            PositionLoss::Left => Self::Left,
        }
    }
}

/// A place as the store keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StoredPosition {
    /// The id of the place.
    pub ticket: Guid,
    /// The last position the server told us.
    pub told: Option<u32>,
    /// Asking earlier loses the place (PQ-7).
    pub not_before: Instant,
    /// Not asking by then loses it, unless the server calls.
    pub deadline: Instant,
}

/// What we know of our place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HeldPosition {
    /// The dialect of the server's reply.
    pub dialect: Dialect,
    /// Its id.
    pub ticket: Option<Guid>,
    /// 1 is next in line.
    pub position: Option<u32>,
    /// The length of the queue.
    pub length: Option<u32>,
    /// Estimated time to a slot, according to the server.
    pub eta: Option<Duration>,
    /// Asking earlier loses it.
    pub not_before: Instant,
    /// Not asking by then loses it.
    pub deadline: Instant,
    /// It has become a transfer; the server may still call the id.
    pub served: bool,
}

/// Our side of one server's queue.
///
/// ```
/// use servent_core::engine::{Engine, Fx};
/// use servent_core::queue::client::{QueueClient, Config, Input, Output};
/// use servent_core::time::{Duration, Instant};
/// use servent_core::wire::queue::PositionClaim;
///
/// let (mut client, mut fx) = (QueueClient::new(Config::default()), Fx::new());
/// let now = Instant::from_secs(1_000);
/// client.handle(now, Input::Want, &mut fx);
/// // It holds no place yet, so it claims none.
/// assert!(fx.outputs().eq([&Output::Ask(PositionClaim::default())]));
///
/// // The server is busy for now: the next request is due when it said.
/// client.handle(now, Input::Busy(Some(Duration::from_secs(60))), &mut fx);
/// assert!(client.ask_at().unwrap() >= now + Duration::from_secs(60));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueClient {
    config: Config,
    place: Option<HeldPosition>,
    ask_at: Option<Instant>,
    /// The server wants no request before.
    allowed: Instant,
    asleep: Instant,
    /// Why the place before this one is gone.
    lost: Option<PlaceLoss>,
}

impl QueueClient {
    /// Without a place, and with nothing to request.
    #[must_use]
    pub const fn new(config: Config) -> Self {
        Self {
            config,
            place: None,
            ask_at: None,
            allowed: Instant::ZERO,
            asleep: Instant::ZERO,
            lost: None,
        }
    }

    /// Our place, or the one we had before the transfer began.
    #[must_use]
    pub const fn place(&self) -> Option<&HeldPosition> {
        self.place.as_ref()
    }

    /// When the next request is due, if any.
    #[must_use]
    pub const fn ask_at(&self) -> Option<Instant> {
        self.ask_at
    }

    /// Why the place that we had before is gone, until a transfer begins.
    #[must_use]
    pub const fn lost(&self) -> Option<PlaceLoss> {
        self.lost
    }

    /// The place, if it survives a restart of ours (PQ-12).
    #[must_use]
    pub fn remembered(&self) -> Option<StoredPosition> {
        let HeldPosition { ticket, position, not_before, deadline, .. } = self.place?;
        Some(StoredPosition { ticket: ticket?, told: position, not_before, deadline })
    }

    /// What a request says about the place (PQ-6).
    #[must_use]
    pub fn claim(&self) -> PositionClaim {
        match self.place {
            Some(HeldPosition { ticket: Some(id), position, .. }) => {
                PositionClaim { ticket: Some(id), told: position }
            }
            _ => PositionClaim::default(),
        }
    }

    /// Restores a place from the store (PQ-12). No wait that a server announces
    /// is longer than [`Config::longest`]; a row that says more was written
    /// before our clock was set back.
    pub fn restore(&mut self, row: StoredPosition, now: Instant) {
        let StoredPosition { ticket, told, not_before, deadline } = row;
        let longest = self.config.longest.ratio(1, u64::from(self.config.time_scale.max(1)));
        let not_before = not_before.min(now + longest);
        self.allowed = not_before;
        self.place = Some(HeldPosition {
            dialect: Dialect::Parq,
            ticket: Some(ticket),
            position: told,
            length: None,
            eta: None,
            not_before,
            deadline,
            served: false,
        });
    }

    fn receive_position(&mut self, now: Instant, told: &ToldPlace, fx: &mut FxOf<Self>) {
        let Some(window) = schedule::window(&self.config, told, now) else {
            return self.busy(now, told.retry_after, fx);
        };
        let ticket = told.ticket.or(match told.dialect {
            Dialect::Active | Dialect::Passive => None,
            Dialect::Parq | Dialect::Parq11 => self.place.and_then(|p| p.ticket),
        });
        if let Some(why) = told.lost.filter(|_| ticket != self.claim().ticket) {
            self.lose(why.into(), fx);
        }
        self.place = Some(HeldPosition {
            dialect: told.dialect,
            ticket,
            position: told.position,
            length: told.length,
            eta: told.eta,
            not_before: window.not_before,
            deadline: window.deadline,
            served: false,
        });
        self.allowed = window.not_before;
        let ask_at = window.ask_at.max(self.asleep);
        self.ask_at = Some(ask_at);
        fx.event(Event::Queued {
            dialect: told.dialect,
            ticket,
            position: told.position,
            length: told.length,
            ask_at,
            deadline: window.deadline,
        });
    }

    fn busy(&mut self, now: Instant, retry_after: Option<Duration>, fx: &mut FxOf<Self>) {
        // Another member of a site may have the place, or its store be away for a
        // moment: the id costs nothing, and a server that knows it gives the place back.
        if self.remembered().is_none() {
            self.lose(PlaceLoss::Refused, fx);
        }
        self.allowed = schedule::retry(&self.config, retry_after, now);
        self.ask_at = Some(self.allowed.max(self.asleep));
    }

    fn served(&mut self, ticket: Option<Guid>) {
        (self.ask_at, self.lost, self.allowed) = (None, None, Instant::ZERO);
        match (&mut self.place, ticket) {
            (Some(place), id) => {
                place.served = true;
                place.ticket = id.or(place.ticket);
            }
            (none, Some(id)) => {
                *none = Some(HeldPosition {
                    dialect: Dialect::Parq,
                    ticket: Some(id),
                    position: None,
                    length: None,
                    eta: None,
                    not_before: Instant::ZERO,
                    deadline: Instant::MAX,
                    served: true,
                });
            }
            (None, None) => {}
        }
    }

    /// The connection is lost. An Active Queueing place is lost with it (AQ-7);
    /// a PARQ place remains, and its `Retry-After` still holds (PQ-7).
    fn broken(&mut self, now: Instant, pause: Duration, fx: &mut FxOf<Self>) {
        let mut ask_at = now + pause;
        match self.place {
            Some(place) if outlives_connection(place.dialect) => {
                if !place.served {
                    let due = self.ask_at.unwrap_or(place.not_before);
                    ask_at = ask_at.max(due).max(place.not_before);
                }
            }
            _ => self.lose(PlaceLoss::ConnectionLost, fx),
        }
        self.ask_at = Some(ask_at.max(self.asleep));
    }

    fn lose(&mut self, why: PlaceLoss, fx: &mut FxOf<Self>) {
        if let Some(HeldPosition { served: false, .. }) = mem::take(&mut self.place) {
            self.lost = Some(why);
            fx.event(Event::Lost { why });
        }
    }

    /// A request that was put off because of a failure is made as soon as the
    /// server allows it.
    fn woke(&mut self, now: Instant, fx: &mut FxOf<Self>) {
        let Some(due) = self.ask_at else { return };
        let due = due.min(self.allowed.max(self.asleep).max(now));
        self.ask_at = Some(due);
        if due <= now {
            self.ask(fx);
        }
    }

    fn ask(&mut self, fx: &mut FxOf<Self>) {
        self.ask_at = None;
        fx.output(Output::Ask(self.claim()));
    }
}

impl Engine for QueueClient {
    type Input = Input;
    type Output = Output;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input, fx: &mut FxOf<Self>) {
        match input {
            Input::Want => {
                let allowed = match self.place {
                    Some(HeldPosition { served: false, not_before, .. }) => not_before,
                    _ => now,
                };
                let due = self.ask_at.unwrap_or(allowed).max(allowed).max(self.asleep);
                self.ask_at = Some(due);
                if due <= now {
                    self.ask(fx);
                }
            }
            Input::Rest => self.ask_at = None,
            Input::Told(told) => self.receive_position(now, &told, fx),
            Input::Busy(retry_after) => self.busy(now, retry_after, fx),
            Input::Served(ticket) => self.served(ticket),
            Input::Broken(pause) => self.broken(now, pause, fx),
            Input::Called | Input::AskNow => self.ask(fx),
            Input::Woke => self.woke(now, fx),
            Input::Sleep(length) => {
                self.asleep = now + length;
                self.ask_at = self.ask_at.map(|at| at.max(self.asleep));
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant, fx: &mut FxOf<Self>) {
        if self.ask_at.is_some_and(|at| at <= now) {
            self.ask(fx);
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        Some((self.ask_at?, "ask"))
    }
}
