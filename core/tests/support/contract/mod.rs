//! What every engine has to keep, whatever it does (ARCHITECTURE, Tests).
//!
//! Give it an engine that can be cloned and a list of steps; it checks that
//! nothing happens before a deadline, that time moves, that equal inputs have
//! equal effects, that a clone has the same future, and that the effects of
//! one input stay bounded.

#![allow(unreachable_pub)]

use std::fmt::Debug;

use servent_core::engine::{Engine, Fx, FxOf};
use servent_core::time::{Duration, Instant};

/// Something that happens to the engine after some time.
#[derive(Debug, Clone)]
pub struct Step<I> {
    pub after: Duration,
    pub input: I,
}

/// Plays the steps on two engines built alike and checks the contract.
/// `most` bounds the effects of one call. Returns the engine and the time.
pub fn keeps_the_contract<E>(build: impl Fn() -> E, steps: &[Step<E::Input>], most: usize) -> E
where
    E: Engine + Clone,
    E::Input: Clone + Debug,
    FxOf<E>: PartialEq + Debug,
{
    let (mut engine, mut twin) = (build(), build());
    let mut now = Instant::from_secs(1_000_000);
    let (mut fx, mut twin_fx) = (Fx::new(), Fx::new());
    for (number, step) in steps.iter().enumerate() {
        let until = now + step.after;
        now = run_timers(&mut engine, now, until, most);
        run_timers(&mut twin, until - step.after, until, most);
        if number == steps.len() / 2 {
            twin = engine.clone();
        }
        engine.handle(now, step.input.clone(), &mut fx);
        twin.handle(now, step.input.clone(), &mut twin_fx);
        assert_eq!(fx, twin_fx, "equal inputs have equal effects: {step:?}");
        assert!(fx.len() <= most, "{} effects of one input: {step:?}", fx.len());
        fx.drain().for_each(drop);
        twin_fx.drain().for_each(drop);
    }
    engine
}

/// Runs every timer that is due by `until`, early calls included.
fn run_timers<E: Engine>(engine: &mut E, mut now: Instant, until: Instant, most: usize) -> Instant {
    let mut fx: FxOf<E> = Fx::new();
    while let Some((at, timer)) = engine.poll_timeout()
        && at <= until
    {
        let early = at - Duration::from_micros(1);
        if early > now {
            engine.handle_timeout(early, &mut fx);
            assert!(fx.is_empty(), "{timer} ran before its time");
        }
        now = now.max(at);
        engine.handle_timeout(now, &mut fx);
        assert!(fx.len() <= most, "{} effects of one timer", fx.len());
        fx.drain().for_each(drop);
        let next = engine.poll_timeout();
        assert!(next.is_none_or(|(next, _)| next > now), "after {timer} at {now:?}: {next:?}");
    }
    until
}
