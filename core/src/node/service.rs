//! The shape that all services have, and how they run their engines.
//!
//! A service is told what happens on its own connections, and reads them when
//! they have something unread. What it knows of a connection it keeps itself.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use super::ConnInput;
use super::connections::ExpiredTimer;
use super::cx::NodeCx;
use crate::engine::{Effect, Fx};
use crate::id::ConnId;
use crate::time::Instant;

/// A part of a node that does one thing for its user.
pub(super) trait Service {
    /// What the user can command it.
    type Command;
    /// What the store remembered of it.
    type Restored;

    /// Takes back what the store remembered. No timer runs yet.
    fn restore(&mut self, cx: &mut NodeCx<'_>, restored: Self::Restored);

    /// All services have been restored.
    fn resume(&mut self, _cx: &mut NodeCx<'_>) {}

    /// Something happened on a connection of this service, which is open, apart
    /// from `Closed` and `DialFailed`: then it is gone already. Received bytes
    /// are not passed here, see [`Service::read`].
    fn on(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, input: ConnInput);

    /// Processes the unread bytes of a connection of this service.
    fn read(&mut self, cx: &mut NodeCx<'_>, conn: ConnId);

    /// A timer of a connection of this service has expired.
    fn run_out(&mut self, _cx: &mut NodeCx<'_>, _expired: ExpiredTimer) {}

    /// Carries out a command of the user.
    fn command(&mut self, cx: &mut NodeCx<'_>, command: Self::Command);

    /// Runs what is due.
    fn handle_timeout(&mut self, cx: &mut NodeCx<'_>);

    /// The next deadline, and the name of its timer.
    fn poll_timeout(&self) -> Option<(Instant, &'static str)>;
}

/// A service that may not be configured.
impl<S: Service> Service for Option<Box<S>> {
    type Command = S::Command;
    type Restored = S::Restored;

    fn restore(&mut self, cx: &mut NodeCx<'_>, restored: S::Restored) {
        if let Some(service) = self {
            service.restore(cx, restored);
        }
    }

    fn resume(&mut self, cx: &mut NodeCx<'_>) {
        if let Some(service) = self {
            service.resume(cx);
        }
    }

    fn on(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, input: ConnInput) {
        if let Some(service) = self {
            service.on(cx, conn, input);
        }
    }

    fn read(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        if let Some(service) = self {
            service.read(cx, conn);
        }
    }

    fn run_out(&mut self, cx: &mut NodeCx<'_>, expired: ExpiredTimer) {
        if let Some(service) = self {
            service.run_out(cx, expired);
        }
    }

    fn command(&mut self, cx: &mut NodeCx<'_>, command: S::Command) {
        if let Some(service) = self {
            service.command(cx, command);
        }
    }

    fn handle_timeout(&mut self, cx: &mut NodeCx<'_>) {
        if let Some(service) = self {
            service.handle_timeout(cx);
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.as_ref().and_then(|service| service.poll_timeout())
    }
}

/// One call of an engine.
#[derive(Debug, Clone)]
pub(super) enum EngineCall<I> {
    Input(I),
    Timeout,
}

/// Calls of an engine that follow from effects which are being carried out.
#[derive(Debug, Clone)]
pub(super) struct FollowUps<I> {
    calls: VecDeque<EngineCall<I>>,
    /// Effects are being carried out.
    busy: bool,
}

impl<I> Default for FollowUps<I> {
    fn default() -> Self {
        Self { calls: VecDeque::new(), busy: false }
    }
}

impl<I> FollowUps<I> {
    /// Adds an input that follows from an effect which is being carried out.
    pub(super) fn push(&mut self, input: I) {
        self.calls.push_back(EngineCall::Input(input));
    }

    /// True while effects are being carried out.
    pub(super) const fn are_collected(&self) -> bool {
        self.busy
    }
}

/// Runs an engine and carries out its effects, in a context `C`.
///
/// All effects of one call are carried out, in order, before the engine is
/// called again: what they lead to is queued. So events and saved rows keep the
/// order in which the engine decided, and no row replaces a later one.
pub(super) trait RunsEngine<C: ?Sized> {
    /// An input of the engine.
    type Input;
    /// An output of the engine.
    type Output;
    /// An event of the engine.
    type Event;

    /// Calls that wait.
    fn follow_ups(&mut self) -> &mut FollowUps<Self::Input>;

    /// Calls the engine.
    fn call(
        &mut self,
        cx: &mut C,
        call: EngineCall<Self::Input>,
        fx: &mut Fx<Self::Output, Self::Event>,
    );

    /// Carries out one effect.
    fn carry_out(&mut self, cx: &mut C, effect: Effect<Self::Output, Self::Event>);

    /// Gives the engine an input: now, or after the effects that are being
    /// carried out.
    fn feed(&mut self, cx: &mut C, input: Self::Input) {
        self.run(cx, EngineCall::Input(input));
    }

    /// Runs the engine's expired timers.
    fn feed_timeout(&mut self, cx: &mut C) {
        self.run(cx, EngineCall::Timeout);
    }

    /// Calls the engine: now, or after the effects that are being carried out.
    fn run(&mut self, cx: &mut C, call: EngineCall<Self::Input>) {
        if self.follow_ups().busy {
            return self.follow_ups().calls.push_back(call);
        }
        self.follow_ups().busy = true;
        let mut fx = Fx::new();
        let mut next = Some(call);
        while let Some(call) = next {
            self.call(cx, call, &mut fx);
            for effect in fx.drain() {
                self.carry_out(cx, effect);
            }
            next = self.follow_ups().calls.pop_front();
        }
        self.follow_ups().busy = false;
    }
}
