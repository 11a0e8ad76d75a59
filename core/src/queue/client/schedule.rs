//! When to ask again: from what a server announced to three instants. Pure
//! functions.

use super::Config;
use crate::queue::Dialect;
use crate::time::{Duration, Instant};
use crate::wire::queue::ToldPlace;

/// The window a server announced, and when we ask in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PollWindow {
    /// Asking earlier loses the place (AQ-5, PQ-7).
    pub not_before: Instant,
    /// When we ask.
    pub ask_at: Instant,
    /// Not asking by then loses the place (AQ-6, PQ-8).
    pub deadline: Instant,
}

/// Places the next request well inside the window the server announced (AQ-13):
/// a margin after the earliest instant, but no more than that wait itself and
/// no more than a quarter of the window, so that a free slot does not wait for
/// us. Missing values are filled in: the default interval for the earliest
/// instant, `Retry-After` plus a slack for the latest (decision §2.7).
///
/// When a server announces a lifetime shorter than its `Retry-After`, the
/// latter is obeyed. `None` when it requires a wait longer than
/// [`Config::longest`].
#[must_use]
pub fn window(config: &Config, told: &ToldPlace, now: Instant) -> Option<PollWindow> {
    let scaled = |d: Duration| d.ratio(1, u64::from(config.time_scale.max(1)));
    let earliest = told.retry_after.unwrap_or(Duration::ZERO);
    if earliest > scaled(config.longest) {
        return None;
    }
    let usual = earliest.max(scaled(config.interval));
    let latest = match (told.lifetime, told.retry_after) {
        (Some(latest), _) => latest.max(earliest),
        (None, Some(earliest)) => earliest + scaled(config.lifetime_slack),
        (None, None) => usual + scaled(config.lifetime_slack),
    };
    let ask = match told.retry_after {
        Some(_) => {
            let margin = scaled(config.margin).min(earliest);
            earliest + margin.min((latest - earliest).ratio(1, 4))
        }
        None => usual.min(latest.ratio(1, 2)),
    };
    let ask = ask.max(scaled(config.shortest));
    Some(PollWindow { not_before: now + earliest, ask_at: now + ask, deadline: now + latest })
}

/// When to ask again after a plain busy reply: after `Retry-After`, at least
/// the shortest wait and at most the longest, otherwise after the default
/// interval.
#[must_use]
pub fn retry(config: &Config, retry_after: Option<Duration>, now: Instant) -> Instant {
    let scaled = |d: Duration| d.ratio(1, u64::from(config.time_scale.max(1)));
    let pause = retry_after.unwrap_or(scaled(config.interval));
    now + pause.max(scaled(config.shortest)).min(scaled(config.longest))
}

/// True when a place outlives its connection: in PARQ it is bound to an id, in
/// Active Queueing to the connection (AQ-7).
#[must_use]
pub(crate) const fn outlives_connection(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Parq | Dialect::Parq11)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Instant = Instant::from_secs(1_000);

    fn announced(min: Option<u64>, max: Option<u64>) -> ToldPlace {
        ToldPlace {
            dialect: Dialect::Active,
            ticket: None,
            position: Some(1),
            length: Some(1),
            limit: None,
            retry_after: min.map(Duration::from_millis),
            lifetime: max.map(Duration::from_millis),
            eta: None,
            keep: true,
            lost: None,
        }
    }

    fn ask(min: Option<u64>, max: Option<u64>) -> u64 {
        let window = window(&Config::default(), &announced(min, max), NOW).unwrap();
        window.ask_at.since(NOW).as_millis()
    }

    #[test]
    fn we_ask_inside_the_window_and_near_its_beginning() {
        assert_eq!(ask(Some(45_000), Some(120_000)), 47_000);
        assert_eq!(ask(Some(45_000), Some(46_000)), 45_250);
        assert_eq!(ask(Some(30_000), None), 32_000);
        assert_eq!(ask(Some(1_000), Some(300_000)), 2_000);
        assert_eq!(ask(None, Some(40_000)), 20_000);
        assert_eq!(ask(None, None), 60_000);
    }

    #[test]
    fn a_contradiction_is_obeyed_in_what_it_forbids() {
        assert_eq!(ask(Some(120_000), Some(45_000)), 120_000);
        assert_eq!(ask(Some(0), Some(0)), 1_000);
        assert_eq!(window(&Config::default(), &announced(Some(u64::MAX), None), NOW), None);
        let day = Config::default().longest.as_millis();
        assert!(window(&Config::default(), &announced(Some(day), None), NOW).is_some());
        assert_eq!(window(&Config::default(), &announced(Some(day + 1), None), NOW), None);
    }

    proptest! {
        #[test]
        fn we_never_ask_too_early_nor_without_need_too_late(
            min in prop::option::of(0..90_000_000_u64), max in prop::option::of(0..u64::MAX),
            time_scale in 1..200_u32,
        ) {
            let config = Config { time_scale, ..Config::default() };
            if let Some(w) = window(&config, &announced(min, max), NOW) {
                prop_assert!(w.not_before <= w.ask_at);
                prop_assert!(w.not_before <= w.deadline);
                let shortest = NOW + config.shortest;
                prop_assert!(w.ask_at <= w.deadline || w.ask_at <= shortest);
                prop_assert!(w.ask_at > NOW);
            }
        }
    }
}
