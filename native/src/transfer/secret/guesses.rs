//! Limits on guessing a code.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use servent_core::address::owner;
use servent_core::time::{Duration, Instant};

use super::TransferCode;
use crate::clock::Clock;

/// Wrong codes in a row from one address, and how soon it may try again.
const OF_ONE: GuessLimit = GuessLimit { most: 5, every: Duration::from_secs(60) };
/// Wrong codes from all addresses together.
const OF_ALL: GuessLimit = GuessLimit { most: 30, every: Duration::from_secs(10) };
/// Addresses that are remembered.
const ADDRESSES: usize = 1_024;

/// What a sender needs to be admitted: the code, or nothing.
pub struct SecretDoor {
    code: Option<TransferCode>,
    clock: Clock,
    guesses: Mutex<Guesses>,
}

/// The limit of guesses is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::transfer) struct GuessesExhausted;

/// A guess that counts as wrong until it turns out to be right, and against which owner of
/// addresses: the peer may be elsewhere by then.
#[derive(Debug)]
pub(in crate::transfer) struct CountedGuess(IpAddr);

impl SecretDoor {
    /// Admits peers that know the code.
    #[must_use]
    pub fn locked(code: TransferCode) -> Self {
        Self { code: Some(code), ..Self::open() }
    }

    /// Admits every peer.
    #[must_use]
    pub fn open() -> Self {
        Self { code: None, clock: Clock::new(), guesses: Mutex::default() }
    }

    pub(in crate::transfer) const fn code(&self) -> Option<&TransferCode> {
        self.code.as_ref()
    }

    /// Counts a guess before it is checked.
    pub(in crate::transfer) fn count_guess(
        &self,
        ip: IpAddr,
    ) -> Result<CountedGuess, GuessesExhausted> {
        let owner = owner(ip);
        self.guesses().take(self.clock.now(), owner)?;
        Ok(CountedGuess(owner))
    }

    /// The guess was right, and no longer counts.
    pub(in crate::transfer) fn opened(&self, CountedGuess(owner): CountedGuess) {
        self.guesses().give_back(owner);
    }

    fn guesses(&self) -> std::sync::MutexGuard<'_, Guesses> {
        self.guesses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `most` at once, and one more after each `every`.
struct GuessLimit {
    most: u64,
    every: Duration,
}

/// Guesses counted against a limit.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    wrong: u64,
    since: Instant,
}

impl Count {
    /// Forgets old guesses.
    fn fade(&mut self, now: Instant, limit: &GuessLimit) {
        let every = limit.every.as_micros();
        let forgotten = now.since(self.since).as_micros() / every;
        self.wrong = self.wrong.saturating_sub(forgotten);
        self.since = match self.wrong {
            0 => now,
            _ => Instant::from_micros(self.since.as_micros() + forgotten * every),
        };
    }
}

#[derive(Debug, Default)]
struct Guesses {
    all: Count,
    each: BTreeMap<IpAddr, Count>,
}

impl Guesses {
    fn take(&mut self, now: Instant, who: IpAddr) -> Result<(), GuessesExhausted> {
        self.all.fade(now, &OF_ALL);
        self.each.retain(|_, count| {
            count.fade(now, &OF_ONE);
            count.wrong > 0
        });
        let one = self.each.get(&who).map_or(0, |count| count.wrong);
        let full = one == 0 && self.each.len() >= ADDRESSES;
        if one >= OF_ONE.most || self.all.wrong >= OF_ALL.most || full {
            return Err(GuessesExhausted);
        }
        self.all.wrong += 1;
        self.each.entry(who).or_insert(Count { wrong: 0, since: now }).wrong += 1;
        Ok(())
    }

    fn give_back(&mut self, who: IpAddr) {
        self.all.wrong = self.all.wrong.saturating_sub(1);
        if let Some(count) = self.each.get_mut(&who) {
            count.wrong = count.wrong.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(n: u8) -> IpAddr {
        [10, 0, 0, n].into()
    }

    #[test]
    fn guesses_are_few_and_come_back_with_time() {
        let mut guesses = Guesses::default();
        let at = Instant::from_secs;
        for _ in 0..5 {
            assert_eq!(guesses.take(at(100), ip(1)), Ok(()));
        }
        assert_eq!(guesses.take(at(159), ip(1)), Err(GuessesExhausted));
        assert_eq!(guesses.take(at(159), ip(2)), Ok(()), "others are not to blame");
        assert_eq!(guesses.take(at(160), ip(1)), Ok(()));
        assert_eq!(guesses.take(at(160), ip(1)), Err(GuessesExhausted));
        guesses.give_back(ip(1));
        assert_eq!(guesses.take(at(160), ip(1)), Ok(()), "a right one does not count");
    }

    #[test]
    fn many_addresses_have_few_guesses_together() {
        let mut guesses = Guesses::default();
        let tried =
            (0..200).filter(|n| guesses.take(Instant::from_secs(1), ip(*n)).is_ok()).count();
        assert_eq!(tried, 30);
        assert!(guesses.take(Instant::from_secs(11), ip(201)).is_ok());
        assert!(guesses.take(Instant::from_secs(11), ip(202)).is_err());
    }

    #[test]
    fn a_right_guess_is_given_back_where_it_was_counted() {
        let door = SecretDoor::open();
        for _ in 0..100 {
            let guess = door.count_guess(ip(1)).expect("all before were right");
            door.opened(guess);
        }
    }
}
