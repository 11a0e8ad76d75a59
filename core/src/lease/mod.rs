//! Who leads a site: a lease in a store that its servents share.
//!
//! One of them holds the lease and renews it by counting its heartbeat up. The
//! others look at it. None of them trusts a clock but its own: a member that has seen
//! the same heartbeat for a whole [`Config::patience`], and could look all the time,
//! takes the lease over. Taking it counts its fencing number up; the store lets
//! no member write with an older number, so a servent that was only slow does no
//! harm with what it still believes.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::engine::{Engine, FxOf};
use crate::time::{Duration, Instant};

pub mod membership;
mod partition;
#[cfg(test)]
mod tests;

pub use self::partition::{PARTS, Partition};

/// How often is looked, and how long is waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Config {
    /// How often the one that leads renews its lease.
    pub beat: Duration,
    /// How often the others look at it.
    pub look: Duration,
    /// How long a lease that is not renewed is still respected. Several times
    /// `beat`, because a heartbeat may be late.
    pub patience: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            beat: Duration::from_secs(1),
            look: Duration::from_millis(500),
            patience: Duration::from_secs(5),
        }
    }
}

/// The lease as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LeaseState {
    /// How often it was taken.
    pub fence: u64,
    /// How often its holder has renewed it.
    pub beat: u64,
    /// Its holder has said goodbye, or there never was one.
    pub free: bool,
}

/// What the store answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// The answer to [`Output::Look`].
    Seen(LeaseState),
    /// [`Output::Take`] has succeeded: this is the new number.
    Taken(u64),
    /// [`Output::Renew`] has succeeded.
    Renewed,
    /// Another member has the lease: taking it came too late, or the one that
    /// leads was replaced.
    Missed,
    /// The store cannot be asked.
    Away,
    /// We end.
    Stop,
}

/// What is asked of the store, and of the servent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// Read the lease.
    Look,
    /// Take it, if it is still as it was seen.
    Take(LeaseState),
    /// Count its heartbeat up, if it is still ours.
    Renew,
    /// Record that no member holds it any more.
    Free,
    /// We lead, with this number.
    Lead(u64),
    /// We do not lead any more.
    Yield,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Another member leads, as far as can be seen.
    StandsBy {
        /// The lease.
        seen: LeaseState,
    },
    /// We take the lease.
    Takes {
        /// Its last number.
        fence: u64,
        /// Why it may be taken.
        why: String,
    },
    /// Another member was quicker, or has replaced us.
    Lost,
}

/// One servent's view of the lease.
#[derive(Debug, Clone)]
pub struct Lease {
    config: Config,
    state: State,
    /// When the store is asked next.
    next: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// What was seen last, and since when it is like that.
    Watching(Option<(LeaseState, Instant)>),
    Leading,
}

impl Lease {
    /// A servent that does not lead yet, and looks at once.
    #[must_use]
    pub const fn new(config: Config, now: Instant) -> Self {
        Self { config, state: State::Watching(None), next: Some(now) }
    }

    /// True while it leads, as far as it knows.
    #[must_use]
    pub const fn leads(&self) -> bool {
        matches!(self.state, State::Leading)
    }

    fn observe(&mut self, now: Instant, seen: LeaseState, fx: &mut FxOf<Self>) {
        let State::Watching(before) = &mut self.state else { return };
        let why = if seen.free {
            "nobody holds it"
        } else {
            match before {
                Some((last, since)) if *last == seen => {
                    if now.since(*since) < self.config.patience {
                        return;
                    }
                    "its holder is silent"
                }
                _ => {
                    if before.is_none() {
                        fx.event(Event::StandsBy { seen });
                    }
                    *before = Some((seen, now));
                    return;
                }
            }
        };
        fx.event(Event::Takes { fence: seen.fence, why: why.into() });
        fx.output(Output::Take(seen));
    }
}

impl Engine for Lease {
    type Input = Input;
    type Output = Output;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input, fx: &mut FxOf<Self>) {
        match (input, self.state) {
            (Input::Seen(seen), _) => self.observe(now, seen, fx),
            (Input::Taken(fence), State::Watching(_)) => {
                self.state = State::Leading;
                self.next = Some(now + self.config.beat);
                fx.output(Output::Lead(fence));
            }
            (Input::Missed, State::Watching(_)) => {
                self.state = State::Watching(None);
                fx.event(Event::Lost);
            }
            (Input::Missed, State::Leading) => {
                self.state = State::Watching(None);
                self.next = Some(now + self.config.look);
                fx.event(Event::Lost);
                fx.output(Output::Yield);
            }
            // Time without a look is no time in which the holder was silent.
            (Input::Away, State::Watching(_)) => self.state = State::Watching(None),
            // What it writes is conditional on its number, so it may go on.
            (Input::Away, State::Leading)
            | (Input::Renewed, _)
            | (Input::Taken(_), State::Leading) => {}
            (Input::Stop, state) => {
                self.next = None;
                if let State::Leading = state {
                    self.state = State::Watching(None);
                    fx.output(Output::Free);
                }
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant, fx: &mut FxOf<Self>) {
        if self.next.is_none_or(|at| at > now) {
            return;
        }
        let (output, after) = match self.state {
            State::Watching(_) => (Output::Look, self.config.look),
            State::Leading => (Output::Renew, self.config.beat),
        };
        self.next = Some(now + after);
        fx.output(output);
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.next.map(|at| (at, "lease"))
    }
}
