//! What one visit may spend on knocks, however often a place introduces others to it.

use super::super::Config;
use crate::time::Instant;

/// Addresses at which a visitor may still knock, and when it went to the last resort. It
/// lasts for a visit, not for an introduction: a place can send as many of those as it
/// likes, with whatever numbers, and if it finds out the first words of the code with
/// whatever addresses.
#[derive(Debug, Clone)]
pub(super) struct KnockBudget {
    /// Those that were taken and have not been given back.
    taken: u32,
    /// When one was given back last.
    since: Instant,
    /// When many ports or sockets were tried last.
    resort: Option<Instant>,
}

impl KnockBudget {
    pub(super) const fn new() -> Self {
        Self { taken: 0, since: Instant::ZERO, resort: None }
    }

    /// Takes an address; false when there is none left.
    pub(super) fn take_address(&mut self, now: Instant, config: &Config) -> bool {
        let every = config.candidate_again.as_micros().max(1);
        let back = now.since(self.since).as_micros() / every;
        let back = u32::try_from(back).unwrap_or(u32::MAX).min(self.taken);
        self.taken -= back;
        self.since = if self.taken == 0 {
            now
        } else {
            self.since + config.candidate_again.ratio(u64::from(back), 1)
        };
        let fits = self.taken < config.candidates;
        self.taken += u32::from(fits);
        fits
    }

    /// Takes the last resort; false when it was taken a while ago.
    pub(super) fn take_resort(&mut self, now: Instant, config: &Config) -> bool {
        let again = self.resort.is_none_or(|at| now.since(at) >= config.resort_again);
        if again {
            self.resort = Some(now);
        }
        again
    }
}
