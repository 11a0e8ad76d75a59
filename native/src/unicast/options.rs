//! What an endpoint can be told.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use servent_core::rng::Rng;
use servent_core::unicast::Config;

/// How an endpoint is to work.
#[derive(Debug, Clone)]
pub struct Options {
    /// The protocol's own limits and intervals.
    pub config: Config,
    /// Datagrams thrown away on purpose, in both directions.
    pub loss: Loss,
    /// Decides which ones. Ids and tokens never depend on it.
    pub seed: u64,
    /// Peers that may wait for [`super::Endpoint::accept`]; who comes when
    /// there are so many is not heard and has to try again.
    pub backlog: usize,
    /// A file for everything the protocol is given and says, to be run again
    /// by `servent replay`; about twice as long as what is carried. Only its
    /// owner may read it: it holds the messages.
    pub trace: Option<PathBuf>,
    /// How long a close waits for the last acknowledgement.
    pub close_deadline: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            config: Config::default(),
            loss: Loss::NONE,
            seed: 1,
            backlog: 128,
            trace: None,
            close_deadline: Duration::from_secs(5),
        }
    }
}

/// A share of datagrams, as a ratio of whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    lost: u64,
    of: u64,
}

/// `5%`, `0.5%` or `1/20` is a loss; this was none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a loss is written like 5%, 0.5% or 1/20, and is less than everything")]
pub struct NoLoss;

impl Loss {
    /// Nothing is lost on purpose.
    pub const NONE: Self = Self { lost: 0, of: 1 };

    /// `lost` of `of` datagrams; `None` when that is everything, or of none.
    #[must_use]
    pub const fn new(lost: u64, of: u64) -> Option<Self> {
        if lost < of { Some(Self { lost, of }) } else { None }
    }

    /// True when this one is lost.
    pub(super) fn hits(self, dice: &mut Rng) -> bool {
        self.lost > 0 && dice.chance(self.lost, self.of)
    }
}

impl FromStr for Loss {
    type Err = NoLoss;

    fn from_str(text: &str) -> Result<Self, NoLoss> {
        let ratio = |text: &str| {
            if let Some((lost, of)) = text.split_once('/') {
                return Some((lost.trim().parse().ok()?, of.trim().parse().ok()?));
            }
            let number = text.strip_suffix('%').unwrap_or(text).trim();
            let (whole, part) = number.split_once('.').unwrap_or((number, ""));
            if part.len() > 6 || !part.bytes().all(|digit| digit.is_ascii_digit()) {
                return None;
            }
            let digits: u64 = format!("{whole}{part}").parse().ok()?;
            Some((digits, 100 * 10_u64.pow(part.len() as u32)))
        };
        ratio(text.trim()).and_then(|(lost, of)| Self::new(lost, of)).ok_or(NoLoss)
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.lost, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_read_exactly() {
        assert_eq!("5%".parse(), Ok(Loss { lost: 5, of: 100 }));
        assert_eq!("0.5%".parse(), Ok(Loss { lost: 5, of: 1_000 }));
        assert_eq!("1/20".parse(), Ok(Loss { lost: 1, of: 20 }));
        assert_eq!("0%".parse::<Loss>().map(|l| l.lost), Ok(0));
        for none in ["", "%", "100%", "-1%", "5.-1%", "a/b", "1/0", "3/2", "1.23456789%"] {
            assert_eq!(none.parse::<Loss>(), Err(NoLoss), "{none}");
        }
    }

    #[test]
    fn it_hits_as_often_as_it_says() {
        let loss = Loss { lost: 5, of: 100 };
        let mut dice = Rng::new(3);
        let hits = (0..10_000).filter(|_| loss.hits(&mut dice)).count();
        assert!((400..600).contains(&hits), "{hits}");
        assert!(!Loss::NONE.hits(&mut dice));
    }
}
