//! Our own time: microseconds in a `u64`.
//!
//! The host decides what zero means. The native program counts from the Unix
//! epoch, so that deadlines written to disk stay true over a restart; the
//! simulator counts from the beginning of its world.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// A point in time, in microseconds since the host's zero.
///
/// ```
/// use servent_core::time::{Duration, Instant};
///
/// let deadline = Instant::from_secs(1_000) + Duration::from_millis(1_500);
/// assert_eq!(deadline.since(Instant::from_secs(1_000)), Duration::from_micros(1_500_000));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Instant(u64);

/// A length of time in microseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Duration(u64);

impl Instant {
    /// The host's zero.
    pub const ZERO: Self = Self(0);
    /// Later than any deadline that is ever set.
    pub const MAX: Self = Self(u64::MAX);

    /// From microseconds since the host's zero.
    #[must_use]
    pub const fn from_micros(us: u64) -> Self {
        Self(us)
    }
    /// From seconds since the host's zero.
    #[must_use]
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000))
    }
    /// Microseconds since the host's zero.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }
    /// How long this is after `earlier`; zero when it is before.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

/// A number of microseconds that says so in its `format`, so that a program can
/// tell it from a count and let people write `30s`.
#[cfg(feature = "schema")]
impl schemars::JsonSchema for Duration {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Duration".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "integer", "minimum": 0, "format": Self::FORMAT })
    }
}

impl Duration {
    /// The `format` of a duration in a JSON schema.
    pub const FORMAT: &str = "microseconds";
    /// No time.
    pub const ZERO: Self = Self(0);
    /// The longest time there is.
    pub const MAX: Self = Self(u64::MAX);

    /// From microseconds.
    #[must_use]
    pub const fn from_micros(us: u64) -> Self {
        Self(us)
    }
    /// From milliseconds.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000))
    }
    /// From seconds.
    #[must_use]
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000))
    }
    /// In microseconds.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }
    /// In whole milliseconds, rounded down.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000
    }
    /// In whole seconds, rounded down.
    #[must_use]
    pub const fn as_secs(self) -> u64 {
        self.0 / 1_000_000
    }
    /// In whole seconds, rounded up, for headers that must not promise too
    /// little.
    #[must_use]
    pub const fn as_secs_ceil(self) -> u64 {
        self.0.div_ceil(1_000_000)
    }
    /// `self × numerator ÷ denominator`, saturating.
    ///
    /// # Panics
    /// When `denominator` is zero.
    #[must_use]
    pub const fn ratio(self, numerator: u64, denominator: u64) -> Self {
        let whole = self.0 as u128 * numerator as u128 / denominator as u128;
        Self(if whole > u64::MAX as u128 { u64::MAX } else { whole as u64 })
    }
    /// A protocol interval divided by `time_scale` (0 counts as 1), for runs
    /// with shortened times. At least one microsecond: a timer of zero would be
    /// due again at once, forever.
    #[must_use]
    pub const fn scaled(self, time_scale: u32) -> Self {
        let by = if time_scale == 0 { 1 } else { time_scale as u64 };
        if self.0 < by { Self(1) } else { Self(self.0 / by) }
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}
impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}
impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, d: Duration) -> Self {
        Self(self.0.saturating_sub(d.0))
    }
}
impl Add for Duration {
    type Output = Self;
    fn add(self, d: Self) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}
impl Sub for Duration {
    type Output = Self;
    fn sub(self, d: Self) -> Self {
        Self(self.0.saturating_sub(d.0))
    }
}

/// How far the clock on the host's wall is from the one that engines have, which goes on
/// evenly when people set the other one.
///
/// ```
/// use servent_core::time::{Instant, WallClock};
///
/// let mut wall = WallClock::default();
/// wall.set(Instant::from_secs(1_000), Instant::from_secs(4_600));
/// assert_eq!(wall.at(Instant::from_secs(1_010)), Instant::from_secs(4_610));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WallClock {
    ahead: Duration,
    behind: Duration,
}

impl WallClock {
    /// It shows `at` when the other one shows `now`.
    pub const fn set(&mut self, now: Instant, at: Instant) {
        // Of two instants the earlier one is zero after the later one.
        *self = Self { ahead: at.since(now), behind: now.since(at) };
    }

    /// What it shows when the other one shows `now`.
    #[must_use]
    pub fn at(self, now: Instant) -> Instant {
        now + self.ahead - self.behind
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}.{:06}s", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}
impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}s", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scaled_interval_is_shorter_and_never_nothing() {
        let minute = Duration::from_secs(60);
        assert_eq!(minute.scaled(20), Duration::from_secs(3));
        assert_eq!((minute.scaled(1), minute.scaled(0)), (minute, minute));
        assert_eq!(minute.scaled(u32::MAX), Duration::from_micros(1));
        assert_eq!(Duration::ZERO.scaled(3), Duration::from_micros(1));
    }

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(Instant::MAX + Duration::from_secs(1), Instant::MAX);
        assert_eq!(Instant::ZERO - Duration::from_secs(1), Instant::ZERO);
        assert_eq!(Instant::ZERO.since(Instant::from_secs(1)), Duration::ZERO);
        assert_eq!(Duration::MAX.ratio(3, 2), Duration::MAX);
    }

    #[test]
    fn a_promise_in_seconds_rounds_up() {
        assert_eq!(Duration::from_millis(29_001).as_secs_ceil(), 30);
        assert_eq!(Duration::from_millis(29_001).as_secs(), 29);
    }

    #[test]
    fn what_is_dated_follows_a_clock_that_was_set() {
        let (now, later) = (Instant::from_secs(1_000), Instant::from_secs(1_010));
        let mut wall = WallClock::default();
        assert_eq!(wall.at(now), now);
        for (at, then) in [(4_600, 4_610), (400, 410), (1_000, 1_010)] {
            wall.set(now, Instant::from_secs(at));
            assert_eq!(wall.at(later), Instant::from_secs(then));
        }
    }
}
