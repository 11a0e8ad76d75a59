//! What a visitor may spend on knocks, however often a place introduces others to it.

use alloc::collections::BTreeMap;
use core::net::SocketAddr;

use super::super::Config;
use crate::time::{Duration, Instant};

/// Addresses and ports at which a visitor may still knock. It lasts for the visitor, not for
/// a visit or an introduction: a place can send as many introductions as it likes, a visitor
/// that waits visits again and again, and a place that finds out the first words of the code
/// can seal cards with whatever addresses.
#[derive(Debug, Clone)]
pub(super) struct KnockBudget {
    addresses: Spent,
    /// Knocks and choices sent to each, in however many introductions: no more addresses
    /// than were taken lately, so it stays small.
    knocks: BTreeMap<SocketAddr, Spent>,
    /// Ports that were guessed, and sockets from which it knocked.
    ports: Spent,
    /// Answers to all addresses that have not proved themselves.
    answers: Spent,
    /// The same for each of them: no more addresses than there were answers lately.
    answered: BTreeMap<SocketAddr, Spent>,
}

/// How much was taken and has not been given back, and since when that is so.
#[derive(Debug, Clone, Copy)]
struct Spent {
    taken: u32,
    since: Instant,
}

impl KnockBudget {
    pub(super) const fn new() -> Self {
        let [addresses, ports, answers] = [Spent::nothing(); 3];
        Self { addresses, knocks: BTreeMap::new(), ports, answers, answered: BTreeMap::new() }
    }

    /// Takes an address; false when there is none left.
    pub(super) fn take_address(&mut self, now: Instant, config: &Config) -> bool {
        self.addresses.take(now, 1, (config.candidates, config.candidate_again))
    }

    /// Takes one knock at an address; false when there is none left. A meeting takes a few of
    /// [`Config::knocks`], so that one who tries again at once finds some; they are given back
    /// as addresses are, so what all were given back for is forgotten.
    pub(super) fn take_knock(&mut self, now: Instant, at: SocketAddr, config: &Config) -> bool {
        let every = config.candidate_again;
        if !self.knocks.contains_key(&at) {
            self.knocks.retain(|_, spent| !spent.is_given_back(now, every));
        }
        self.knocks.entry(at).or_insert_with(Spent::nothing).take(now, 1, (config.knocks, every))
    }

    /// Takes one answer to an address; false when there is none left. Where a knock seems to
    /// come from is shown by the next step alone: an other side that forges that would have
    /// an answer sent to a third party for each knock. An address has [`Config::knocks`] of
    /// them, as the other side knocks no more often, and all together [`Config::answers`].
    pub(super) fn take_answer(&mut self, now: Instant, at: SocketAddr, config: &Config) -> bool {
        let every = config.candidate_again;
        let mut spent = self.answered.get(&at).copied().unwrap_or(Spent::nothing());
        let fits = spent.take(now, 1, (config.knocks, every))
            && self.answers.take(now, 1, (config.answers, config.answer_again));
        if fits {
            if !self.answered.contains_key(&at) {
                self.answered.retain(|_, spent| !spent.is_given_back(now, every));
            }
            self.answered.insert(at, spent);
        }
        fits
    }

    /// The other side has proved that it is at this address: no third party was knocked at
    /// there, and the next meeting finds as much as this one did.
    pub(super) fn give_back(&mut self, at: SocketAddr) {
        if let Some(answered) = self.answered.remove(&at) {
            self.answers.taken = self.answers.taken.saturating_sub(answered.taken);
        }
        if self.knocks.remove(&at).is_some() {
            self.addresses.taken = self.addresses.taken.saturating_sub(1);
        }
    }

    /// Takes so many ports or sockets; false when fewer are left. All guesses of a last
    /// resort are given back in [`Config::resort_again`], one after the other: one that
    /// hits needs 252 of 2 048 on average, so a right code that follows a wrong one, or
    /// several, finds enough.
    pub(super) fn take_ports(&mut self, now: Instant, ports: u32, config: &Config) -> bool {
        let every = config.resort_again.ratio(1, u64::from(config.guesses.max(1)));
        self.ports.take(now, ports, (config.guesses, every))
    }
}

impl Spent {
    const fn nothing() -> Self {
        Self { taken: 0, since: Instant::ZERO }
    }

    /// True when all that was taken has been given back, one each `every`.
    fn is_given_back(&self, now: Instant, every: Duration) -> bool {
        now >= self.since + every.ratio(u64::from(self.taken), 1)
    }

    /// Takes so much of `most`; one is given back each `every`.
    fn take(&mut self, now: Instant, wanted: u32, (most, every): (u32, Duration)) -> bool {
        let back = now.since(self.since).as_micros() / every.as_micros().max(1);
        let back = u32::try_from(back).unwrap_or(u32::MAX).min(self.taken);
        self.taken -= back;
        self.since =
            if self.taken == 0 { now } else { self.since + every.ratio(u64::from(back), 1) };
        let fits = wanted <= most.saturating_sub(self.taken);
        if fits {
            self.taken += wanted;
        }
        fits
    }
}
