//! The trait of all engines: inputs and instants in, effects out, nothing kept
//! back.
//!
//! An engine pushes every consequence of an input into the caller's list and
//! keeps no outbox of its own, so a forgotten drain is impossible and the
//! order of outputs and events survives into the trace.

use alloc::vec::Vec;

use crate::time::Instant;

/// A state machine with no clock, randomness, input or output of its own.
///
/// ```
/// use servent_core::engine::{Engine, Fx, FxOf};
/// use servent_core::time::{Duration, Instant};
///
/// /// Rings once, a minute after it was wound.
/// struct Alarm(Option<Instant>);
///
/// impl Engine for Alarm {
///     type Input = ();
///     type Output = &'static str;
///     type Event = ();
///     fn handle(&mut self, now: Instant, (): (), _: &mut FxOf<Self>) {
///         self.0 = Some(now + Duration::from_secs(60));
///     }
///     fn handle_timeout(&mut self, now: Instant, fx: &mut FxOf<Self>) {
///         if self.0.take_if(|at| *at <= now).is_some() {
///             fx.output("ring");
///         }
///     }
///     fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
///         self.0.map(|at| (at, "alarm"))
///     }
/// }
///
/// let (mut alarm, mut fx) = (Alarm(None), Fx::new());
/// alarm.handle(Instant::from_secs(5), (), &mut fx);
/// assert!(fx.is_empty());
/// let (due, _timer) = alarm.poll_timeout().unwrap();
/// alarm.handle_timeout(due, &mut fx);
/// assert!(fx.outputs().eq([&"ring"]));
/// assert_eq!(due, Instant::from_secs(65));
/// ```
pub trait Engine {
    /// What can happen to it.
    type Input;
    /// What it asks its host to do.
    type Output;
    /// What it reports to observers. Never needed for correct operation.
    type Event;

    /// Takes one input. Cannot fail: a peer's fault is an event plus an
    /// output, a bug is a panic.
    fn handle(&mut self, now: Instant, input: Self::Input, fx: &mut FxOf<Self>);

    /// Runs whatever is due at `now`. Afterwards [`Engine::poll_timeout`] is
    /// later than `now`, or `None`.
    fn handle_timeout(&mut self, now: Instant, fx: &mut FxOf<Self>);

    /// When [`Engine::handle_timeout`] wants to be called next, and the name
    /// of the timer that asks for it.
    fn poll_timeout(&self) -> Option<(Instant, &'static str)>;
}

/// The earlier of two timers; `one` when both are due at the same instant.
#[must_use]
#[doc(hidden)]
pub fn earlier<T>(one: Option<(Instant, T)>, other: Option<(Instant, T)>) -> Option<(Instant, T)> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.0 < one.0 { other } else { one }),
        (one, other) => one.or(other),
    }
}

/// One consequence of an input: something to do, or something to report.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Effect<O, E> {
    /// For the host to carry out.
    Output(O),
    /// For observers: logs, traces, oracles.
    Event(E),
}

/// The caller-owned list of effects, reused from call to call.
///
/// ```
/// use servent_core::engine::{Effect, Fx};
///
/// let mut fx = Fx::<&str, u32>::new();
/// fx.output("write");
/// fx.event(7_u32);
/// assert_eq!(fx.as_slice(), [Effect::Output("write"), Effect::Event(7)]);
/// assert_eq!(fx.drain().count(), 2);
/// assert!(fx.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fx<O, E> {
    list: Vec<Effect<O, E>>,
}

/// The effect list of an engine.
pub type FxOf<T> = Fx<<T as Engine>::Output, <T as Engine>::Event>;

impl<O, E> Default for Fx<O, E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<O, E> Fx<O, E> {
    /// An empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self { list: Vec::new() }
    }

    /// Adds an output.
    pub fn output(&mut self, output: O) {
        self.list.push(Effect::Output(output));
    }

    /// Adds an event.
    pub fn event(&mut self, event: impl Into<E>) {
        self.list.push(Effect::Event(event.into()));
    }

    /// The effects so far, in order.
    #[must_use]
    pub fn as_slice(&self) -> &[Effect<O, E>] {
        &self.list
    }

    /// Empties the list, handing out its effects in order.
    pub fn drain(&mut self) -> impl Iterator<Item = Effect<O, E>> + '_ {
        self.list.drain(..)
    }

    /// True when there are no effects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many effects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// The outputs alone, for tests and simple hosts.
    pub fn outputs(&self) -> impl Iterator<Item = &O> {
        self.list.iter().filter_map(|e| match e {
            Effect::Output(o) => Some(o),
            Effect::Event(_) => None,
        })
    }

    /// The events alone, for tests and observers.
    pub fn events(&self) -> impl Iterator<Item = &E> {
        self.list.iter().filter_map(|e| match e {
            Effect::Event(e) => Some(e),
            Effect::Output(_) => None,
        })
    }
}
