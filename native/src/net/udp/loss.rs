//! Deliberate loss of datagrams.

use std::fmt;
use std::str::FromStr;

use servent_core::rng::Rng;

use super::Train;

/// A loss rate, as a ratio of whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossRate {
    lost: u64,
    of: u64,
}

/// The error for text that is not a loss rate such as `5%`, `0.5%` or `1/20`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a loss is written like 5%, 0.5% or 1/20, and is less than everything")]
pub struct NoLoss;

impl LossRate {
    /// No deliberate loss.
    pub const NONE: Self = Self { lost: 0, of: 1 };

    /// `lost` of `of` datagrams; `None` if that would be all of them, or `of`
    /// is 0.
    #[must_use]
    pub const fn new(lost: u64, of: u64) -> Option<Self> {
        match lost {
            0 if of > 0 => Some(Self::NONE), // However it is written.
            _ if lost < of => Some(Self { lost, of }),
            _ => None,
        }
    }

    /// True when any are dropped.
    pub(super) const fn some(self) -> bool {
        self.lost > 0
    }

    /// Draws whether to drop this one.
    pub(super) fn hits(self, dice: &mut Rng) -> bool {
        self.some() && dice.chance(self.lost, self.of)
    }
}

impl FromStr for LossRate {
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

impl fmt::Display for LossRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.lost, self.of)
    }
}

/// Passes the datagrams that are not dropped on purpose to `keep`; returns how
/// many were dropped.
pub(super) fn lose(
    train: Train,
    loss: LossRate,
    dice: &mut Rng,
    mut keep: impl FnMut(Train),
) -> u64 {
    if !loss.some() {
        keep(train);
        return 0;
    }
    let Train { segment, ref data, .. } = train;
    let (mut lost, mut begin) = (0, 0);
    let mut run = |begin: usize, end: usize| {
        if begin < end {
            keep(Train { data: data.slice(begin..end), ..train });
        }
    };
    for at in (0..data.len()).step_by(segment) {
        if loss.hits(dice) {
            lost += 1;
            run(begin, at);
            begin = data.len().min(at + segment);
        }
    }
    run(begin, data.len());
    lost
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn a_loss_is_read_exactly() {
        assert_eq!("5%".parse(), Ok(LossRate { lost: 5, of: 100 }));
        assert_eq!("0%".parse(), Ok(LossRate::NONE), "the default of the commands");
        assert_eq!("0.5%".parse(), Ok(LossRate { lost: 5, of: 1_000 }));
        assert_eq!("1/20".parse(), Ok(LossRate { lost: 1, of: 20 }));
        assert_eq!("0%".parse::<LossRate>().map(|l| l.lost), Ok(0));
        for none in ["", "%", "100%", "-1%", "5.-1%", "a/b", "1/0", "3/2", "1.23456789%"] {
            assert_eq!(none.parse::<LossRate>(), Err(NoLoss), "{none}");
        }
    }

    #[test]
    fn it_hits_as_often_as_it_says() {
        let loss = LossRate { lost: 5, of: 100 };
        let mut dice = Rng::new(3);
        let hits = (0..10_000).filter(|_| loss.hits(&mut dice)).count();
        assert!((400..600).contains(&hits), "{hits}");
        assert!(!LossRate::NONE.hits(&mut dice));
    }

    fn train(data: &'static [u8], segment: usize) -> Train {
        Train::new(([127, 0, 0, 1], 1).into(), segment, Bytes::from_static(data))
    }

    #[test]
    fn what_is_not_lost_is_kept_in_runs() {
        let loss = LossRate::new(1, 3).unwrap();
        let mut dice = Rng::new(7);
        let (mut lost, mut kept, mut datagrams) = (0, Vec::new(), 0);
        for _ in 0..100 {
            lost += lose(train(b"aabbccddeef", 2), loss, &mut dice, |run| {
                datagrams += run.count();
                kept.push(run.data);
            });
        }
        assert_eq!(lost + datagrams as u64, 600);
        assert!((100..300).contains(&lost), "{lost}");
        let runs: &[&[u8]] = &[b"aabb", b"ccddeef", b"f", b"ee"];
        for run in runs {
            assert!(kept.iter().any(|it| &it[..] == *run), "{run:?}");
        }
        assert!(kept.iter().all(|it| it.len() % 2 == 0 || it.ends_with(b"f")));
    }
}
