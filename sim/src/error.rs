//! What is wrong with a scenario, or with an action in its world.

use alloc::format;
use alloc::string::{String, ToString as _};
use core::error::Error;
use core::fmt::{self, Display, Formatter};
use core::ops::RangeInclusive;

use serde::de::DeserializeOwned;
use servent_core::time::{Duration, Instant};
use thiserror::Error;

/// Why no world can be made from a scenario, or why an action is impossible.
/// Its `Display` is a sentence that begins with the place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScenarioError {
    /// The path of the key, such as `clients[2].up`; empty for the scenario as
    /// a whole, and for actions.
    pub place: String,
    /// What is wrong there.
    pub why: ScenarioMistake,
}

/// What is wrong at one place of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ScenarioMistake {
    /// The text is not a scenario; the parser's message, with the line.
    #[error("{0}")]
    Text(String),
    /// A value is out of range; durations are in microseconds.
    #[error("{value} is not {}", range(*.least, *.most))]
    Range {
        /// The value.
        value: u64,
        /// The smallest allowed value.
        least: u64,
        /// The largest allowed value.
        most: u64,
    },
    /// A ratio `[n, of]` has denominator 0, or is more than one.
    #[error("[{n}, {of}] is no ratio: it is [n, of], with n at most of, and of more than 0")]
    Ratio {
        /// The numerator.
        n: u64,
        /// The denominator.
        of: u64,
    },
    /// There are too few or too many of something.
    #[error("{count} {what} are {}", if count < least {
        format!("fewer than {least}")
    } else {
        format!("more than {most}")
    })]
    Count {
        /// What there are too few or too many of.
        what: &'static str,
        /// How many.
        count: u64,
        /// The smallest allowed number.
        least: u64,
        /// The largest allowed number.
        most: u64,
    },
    /// It names something that does not exist.
    #[error("there is no {what} {number}: there are {count}, numbered from 0")]
    Missing {
        /// A node, a client, a server.
        what: &'static str,
        /// Its number.
        number: u32,
        /// How many there are.
        count: u64,
    },
    /// It names the same one twice where two different ones are needed.
    #[error("two different {what}s are needed, and {what} {number} is one")]
    Same {
        /// A node, a client.
        what: &'static str,
        /// Its number.
        number: u32,
    },
    /// A node that is down would have to be running.
    #[error("node {node} is down; restart it first")]
    Down {
        /// Which.
        node: u32,
    },
    /// A node is down already.
    #[error("node {node} is down already")]
    DownAlready {
        /// Which.
        node: u32,
    },
    /// No link joins these two.
    #[error("there is no link between {a} and {b}")]
    NoLink {
        /// One of them.
        a: u32,
        /// The other.
        b: u32,
    },
    /// The datagram can no longer be dropped, delayed or duplicated.
    #[error("that datagram has arrived, or is lost already")]
    TooLate,
}

impl Display for ScenarioError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { place, why } = self;
        if place.is_empty() { write!(f, "{why}") } else { write!(f, "`{place}`: {why}") }
    }
}

impl Error for ScenarioError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.why)
    }
}

impl From<ScenarioMistake> for ScenarioError {
    fn from(why: ScenarioMistake) -> Self {
        Self { place: String::new(), why }
    }
}

impl ScenarioError {
    /// An error at a place.
    pub(crate) fn at(place: impl Into<String>, why: ScenarioMistake) -> Self {
        Self { place: place.into(), why }
    }

    /// The same error with its place inside `outer`.
    pub(crate) fn within(self, outer: impl Display) -> Self {
        let Self { place, why } = self;
        let place = if place.is_empty() { outer.to_string() } else { format!("{outer}.{place}") };
        Self { place, why }
    }
}

/// Parses a part of a scenario.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, ScenarioError> {
    serde_json::from_str(text).map_err(|why| ScenarioMistake::Text(why.to_string()).into())
}

/// A value that is written as a number.
pub(crate) trait WrittenNumber {
    /// The number: durations in microseconds.
    fn written(self) -> u64;
}

impl WrittenNumber for u64 {
    fn written(self) -> u64 {
        self
    }
}

impl WrittenNumber for u32 {
    fn written(self) -> u64 {
        self.into()
    }
}

impl WrittenNumber for Duration {
    fn written(self) -> u64 {
        self.as_micros()
    }
}

impl WrittenNumber for Instant {
    fn written(self) -> u64 {
        self.as_micros()
    }
}

/// Checks that a key's value is in a range.
pub(crate) fn within<N: WrittenNumber>(
    key: &str,
    value: N,
    range: RangeInclusive<N>,
) -> Result<(), ScenarioError> {
    let (least, most) = range.into_inner();
    let (value, least, most) = (value.written(), least.written(), most.written());
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(ScenarioError::at(key, ScenarioMistake::Range { value, least, most }))
}

/// Checks that a key's value is at least `least`.
pub(crate) fn least<N: WrittenNumber>(key: &str, value: N, least: N) -> Result<(), ScenarioError> {
    within(key, value.written(), least.written()..=u64::MAX)
}

/// Checks that the number of elements of a key is in a range.
pub(crate) fn count(
    key: &str,
    what: &'static str,
    count: u64,
    range: RangeInclusive<u64>,
) -> Result<(), ScenarioError> {
    if range.contains(&count) {
        return Ok(());
    }
    let (least, most) = range.into_inner();
    Err(ScenarioError::at(key, ScenarioMistake::Count { what, count, least, most }))
}

/// Checks that a number exists.
pub(crate) fn there(what: &'static str, number: u32, count: u64) -> Result<(), ScenarioMistake> {
    if u64::from(number) < count {
        Ok(())
    } else {
        Err(ScenarioMistake::Missing { what, number, count })
    }
}

/// Checks that both numbers exist and are different.
pub(crate) fn pair(
    what: &'static str,
    (first, second): (u32, Option<u32>),
    count: u64,
) -> Result<(), ScenarioMistake> {
    there(what, first, count)?;
    let Some(second) = second else { return Ok(()) };
    there(what, second, count)?;
    if first == second { Err(ScenarioMistake::Same { what, number: first }) } else { Ok(()) }
}

/// Checks a key's ratio.
pub(crate) fn ratio(key: &str, (n, of): (u64, u64)) -> Result<(), ScenarioError> {
    if of > 0 && n <= of {
        Ok(())
    } else {
        Err(ScenarioError::at(key, ScenarioMistake::Ratio { n, of }))
    }
}

/// A range in words.
fn range(least: u64, most: u64) -> String {
    match (least, most) {
        (least, u64::MAX) => format!("{least} or more"),
        (0, most) => format!("{most} or less"),
        (least, most) => format!("{least} to {most}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_where_and_what() {
        let told = |wrong: Result<(), ScenarioError>| wrong.unwrap_err().within("clients[2]");
        for (wrong, sentence) in [
            (told(within("up", 0_u64, 1..=9)), "`clients[2].up`: 0 is not 1 to 9"),
            (told(least("up", 0_u32, 1)), "`clients[2].up`: 0 is not 1 or more"),
            (
                told(within("first", Duration::from_millis(2), Duration::ZERO..=Duration::ZERO)),
                "`clients[2].first`: 2000 is not 0 or less",
            ),
            (told(count("", "pets", 3, 4..=5)), "`clients[2]`: 3 pets are fewer than 4"),
            (told(count("", "pets", 6, 4..=5)), "`clients[2]`: 6 pets are more than 5"),
            (
                there("server", 4, 4).unwrap_err().into(),
                "there is no server 4: there are 4, numbered from 0",
            ),
        ] {
            assert_eq!(wrong.to_string(), sentence);
        }
    }
}
