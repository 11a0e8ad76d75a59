//! When one router lets in only the very port that was written to, and the other gives
//! every destination another port, no knock arrives: neither side knows that port. Then the
//! one behind the second router knocks from many sockets, each with a port of its own,
//! and the other guesses ports until it hits one of them (PA-12).

use alloc::collections::BTreeSet;
use core::net::{IpAddr, SocketAddr};

use super::super::Config;
use super::budget::KnockBudget;
use super::knocker::Knocker;
use super::{VisitEffects, VisitOutput};
use crate::address::LOWEST_PORT;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::wire::meet::{Introduction, MeetCard, MeetPacket, NatMapping};

/// How much later than the sockets are opened the guesses begin.
const AFTER: Duration = Duration::from_millis(100);

/// What one side does when ordinary knocks have not helped.
#[derive(Debug, Clone)]
pub(super) enum LastResort {
    /// Knock at this address from many sockets.
    Spread { to: SocketAddr, nonce: u64, at: Instant },
    /// Knock at ports of this address.
    Guess(PortGuesses),
}

/// Ports that are guessed.
#[derive(Debug, Clone)]
pub(super) struct PortGuesses {
    ip: IpAddr,
    nonce: u64,
    begin: Instant,
    at: Instant,
    tried: BTreeSet<u16>,
}

impl LastResort {
    /// What we do after `begin`, if anything: only at addresses that the other side has
    /// signed, so that no place can point us at a third party.
    pub(super) fn new(
        begin: Instant,
        (it, card, ours): (&Introduction, &MeetCard, NatMapping),
        (config, rng): (&Config, &mut Rng),
    ) -> Option<Self> {
        let nonce = rng.next_u64();
        let at = begin + config.guess_after;
        let signed = |fits: fn(&SocketAddr, &SocketAddr) -> bool| {
            card.candidates.iter().any(|candidate| fits(candidate, &it.seen))
        };
        match (ours, card.mapping) {
            (NatMapping::Varies, NatMapping::Same | NatMapping::None)
                if signed(|one, other| one == other) =>
            {
                Some(Self::Spread { to: it.seen, nonce, at })
            }
            (NatMapping::Same | NatMapping::None, NatMapping::Varies)
                if signed(|one, other| one.ip() == other.ip()) =>
            {
                let (ip, at) = (it.seen.ip(), at + AFTER);
                Some(Self::Guess(PortGuesses { ip, nonce, begin: at, at, tried: BTreeSet::new() }))
            }
            _ => None,
        }
    }

    pub(super) const fn deadline(&self) -> Instant {
        match self {
            Self::Spread { at, .. } | Self::Guess(PortGuesses { at, .. }) => *at,
        }
    }

    /// True for an answer with this number from there.
    pub(super) fn has_asked(&self, at: SocketAddr, number: u64) -> bool {
        match self {
            Self::Spread { to, nonce, .. } => (*to, *nonce) == (at, number),
            Self::Guess(PortGuesses { ip, nonce, .. }) => (*ip, *nonce) == (at.ip(), number),
        }
    }

    /// Does what is due; false when there is nothing more to do.
    pub(super) fn run(
        &mut self,
        now: Instant,
        (knocker, config): (&Knocker, &Config),
        (budget, rng): (&mut KnockBudget, &mut Rng),
        fx: &mut VisitEffects,
    ) -> bool {
        if self.deadline() > now {
            return true;
        }
        match self {
            Self::Spread { to, nonce, .. } => {
                let (to, sockets) = (*to, config.sockets);
                if budget.take_ports(now, sockets, config) {
                    let packet = MeetPacket::Knock(knocker.ask(*nonce));
                    fx.output(VisitOutput::Spread { to, sockets, packet });
                }
                false
            }
            Self::Guess(guesses) => guesses.run(now, (knocker, config), (budget, rng), fx),
        }
    }
}

impl PortGuesses {
    fn run(
        &mut self,
        now: Instant,
        (knocker, config): (&Knocker, &Config),
        (budget, rng): (&mut KnockBudget, &mut Rng),
        fx: &mut VisitEffects,
    ) -> bool {
        // A host that was late makes up for it.
        let passed = (now + config.guess_pause).since(self.begin).as_micros();
        let volleys = passed / config.guess_pause.as_micros().max(1);
        let due = volleys.saturating_mul(u64::from(config.volley)).min(u64::from(config.guesses));
        while (self.tried.len() as u64) < due {
            let port = rng.between(u64::from(LOWEST_PORT), u64::from(u16::MAX)) as u16;
            if self.tried.contains(&port) {
                continue;
            }
            if !budget.take_ports(now, 1, config) {
                break;
            }
            self.tried.insert(port);
            knocker.say(SocketAddr::new(self.ip, port), knocker.ask(self.nonce), fx);
        }
        self.at = now + config.guess_pause;
        (self.tried.len() as u64) < u64::from(config.guesses)
    }
}
