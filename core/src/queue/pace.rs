//! The formulas of the poll schedule: pure functions, each a decision of the
//! requirements. All intervals are at full scale.

use super::Dialect;
use crate::time::Duration;

/// The last position whose `Retry-After` still grows (decision §2.1).
pub(crate) const LAST_GROWING_PLACE: u32 = 20;
/// `Retry-After` of positions beyond that.
pub(crate) const FAR_RETRY: Duration = Duration::from_secs(600);
/// The longest wait announced to a passive client (decision §2.3).
pub(crate) const PASSIVE_RETRY_MAX: Duration = Duration::from_secs(250);
/// The shortest time a place is kept without a request (PARQ §4, §5).
pub(crate) const REMANENCE: Duration = Duration::from_secs(300);
/// How much longer than `Retry-After` the lifetime is at least (decision §2.2).
pub(crate) const LIFETIME_SLACK: Duration = Duration::from_secs(60);
/// `Retry-After` of a plain 503: the longest that passive clients get.
pub(crate) const BUSY_RETRY: Duration = PASSIVE_RETRY_MAX;
/// The same for a client that finds all places of its address taken: they are given
/// up one by one, much sooner than a whole line.
pub(super) const ADDRESS_RETRY: Duration = Duration::from_secs(30);

/// PARQ's `Retry-After`: 30 s for position 1, 20 s more for each further one
/// up to 20, then ten minutes (PARQ §4, PQ-9).
#[must_use]
pub const fn retry_after(position: u32) -> Duration {
    if position > LAST_GROWING_PLACE { FAR_RETRY } else { growing(position) }
}

/// `Retry-After` of a passive client: the same, limited to 250 s so that it is
/// shorter than the 300 s a passive place is kept (PARQ §5, PQ-11).
#[must_use]
pub(crate) fn passive_retry(position: u32) -> Duration {
    growing(position).min(PASSIVE_RETRY_MAX)
}

/// How long a PARQ place is kept without a request: 300 s, but at least a
/// minute more than `Retry-After`, so that a client that obeys is never dropped
/// (PQ-4).
#[must_use]
pub fn lifetime(retry_after: Duration) -> Duration {
    (retry_after + LIFETIME_SLACK).max(REMANENCE)
}

/// Active Queueing's `pollMin`: 45 s times a factor that grows to 5 with the
/// position (AQ-11).
#[must_use]
pub(crate) const fn poll_min(position: u32) -> Duration {
    Duration::from_secs(45 * poll_factor(position))
}

/// Active Queueing's `pollMax`: 120 s times the same factor.
#[must_use]
pub(crate) const fn poll_max(position: u32) -> Duration {
    Duration::from_secs(120 * poll_factor(position))
}

/// What a client of `dialect` at `position` is told: the time before which it
/// must not ask, and the time by which it must have asked.
#[must_use]
pub fn window(dialect: Dialect, position: u32) -> (Duration, Duration) {
    match dialect {
        Dialect::Active => (poll_min(position), poll_max(position)),
        Dialect::Parq | Dialect::Parq11 => {
            let retry = retry_after(position);
            (retry, lifetime(retry))
        }
        Dialect::Passive => (passive_retry(position), REMANENCE),
    }
}

/// The shortest wait an adaptive server announces to a client whose connection
/// is kept.
pub const FLOOR_CONNECTED: Duration = Duration::from_secs(1);
/// The shortest wait it announces to a client that has to reconnect.
pub const FLOOR: Duration = Duration::from_secs(5);

/// What an adaptive server announces instead (QA-1): half of the time until a
/// slot is expected, so that each poll comes closer to it; in whole seconds,
/// never longer than [`window`] and never shorter than the floor. While nothing
/// is measured, a floor for each position. `connected`: the connection is kept.
#[must_use]
pub fn adaptive(
    dialect: Dialect,
    position: u32,
    expected: Option<Duration>,
    connected: bool,
) -> (Duration, Duration) {
    let (earliest, latest) = window(dialect, position);
    let floor = if connected { FLOOR_CONNECTED } else { FLOOR };
    let aim = expected.map_or(floor.ratio(u64::from(position), 1), |left| left.ratio(1, 2));
    let retry = Duration::from_secs(aim.as_secs_ceil()).max(floor).min(earliest);
    let latest = match dialect {
        Dialect::Active => retry + (latest - earliest),
        Dialect::Parq | Dialect::Parq11 => lifetime(retry),
        Dialect::Passive => latest,
    };
    (retry, latest)
}

const fn growing(position: u32) -> Duration {
    Duration::from_secs(30 + 20 * position.saturating_sub(1) as u64)
}

const fn poll_factor(position: u32) -> u64 {
    match position {
        0 | 1 => 1,
        2..=9 => (position as u64).div_ceil(2),
        _ => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_client_that_obeys_is_dropped() {
        for dialect in [Dialect::Active, Dialect::Parq, Dialect::Parq11, Dialect::Passive] {
            for position in (0..100).chain([u32::MAX]) {
                let (earliest, latest) = window(dialect, position);
                assert!(latest.as_secs() >= earliest.as_secs() + 50, "{dialect:?} {position}");
            }
        }
    }

    #[test]
    fn an_adaptive_window_lies_between_a_floor_and_that_of_the_text() {
        for dialect in [Dialect::Active, Dialect::Parq, Dialect::Parq11, Dialect::Passive] {
            for position in [1, 2, 7, 50, 1_000, u32::MAX] {
                for left in [0, 1, 3, 90, 100_000] {
                    let text = window(dialect, position);
                    let left = Duration::from_secs(left);
                    let (earliest, latest) = adaptive(dialect, position, Some(left), true);
                    assert!(earliest >= FLOOR_CONNECTED && earliest <= text.0);
                    assert!(latest <= text.1 && latest >= earliest + Duration::from_secs(50));
                    assert!(earliest <= FLOOR_CONNECTED.max(left), "before the slot is expected");
                }
            }
        }
        let told = |left| adaptive(Dialect::Parq, 3, left, false).0.as_secs();
        assert_eq!((told(None), told(Some(Duration::from_secs(41)))), (15, 21));
        assert_eq!((told(Some(Duration::ZERO)), told(Some(Duration::MAX))), (5, 70));
    }

    #[test]
    fn the_factor_of_active_queueing_is_half_of_one_more_than_the_position() {
        for position in 1..=9 {
            assert_eq!(poll_min(position).as_secs(), 45 * u64::from(position).div_ceil(2));
        }
        assert_eq!(poll_max(10).as_secs(), 600);
    }
}
