//! The code of a room: a page that does not know it gets no WebSocket here.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use servent_core::address::owner;
use servent_core::time::{Duration, Instant};

use crate::clock::Clock;
use crate::dice;

/// Wrong codes that an address may say in a minute; then it is not listened to for
/// the rest of that minute.
const WRONG: u32 = 20;
const MINUTE: Duration = Duration::from_secs(60);
/// Addresses whose wrong codes are counted; while there are more, no new one may try.
const ADDRESSES: usize = 1_024;
/// Letters of a code, and those it is drawn from: none looks or sounds like another,
/// and none makes a word.
const LENGTH: usize = 5;
const LETTERS: &[u8; 24] = b"BCDFGHJKLMNPRSTVWXZ34679";

/// A code, and the addresses that have guessed.
#[derive(Debug)]
pub(super) struct GuardedCode {
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    code: Option<String>,
    wrong: BTreeMap<IpAddr, (Instant, u32)>,
}

impl GuardedCode {
    pub(super) fn new() -> Self {
        Self { clock: Clock::new(), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The code; `None` when none is needed.
    pub(super) fn get(&self) -> Option<String> {
        self.state().code.clone()
    }

    /// Draws another one, or needs none any more.
    pub(super) fn renew(&self, needed: bool) {
        let code = needed.then(draw).flatten();
        *self.state() = State { code, ..State::default() };
    }

    /// True when a visitor at this address may come in with this code.
    pub(super) fn fits(&self, ip: IpAddr, said: Option<&str>) -> bool {
        self.fits_at(owner(ip), said, self.clock.now())
    }

    fn fits_at(&self, ip: IpAddr, said: Option<&str>, now: Instant) -> bool {
        let mut state = self.state();
        let Some(code) = &state.code else { return true };
        let Some(said) = said else { return false };
        let right = plain(said) == *code;
        state.wrong.retain(|_, (since, _)| now.since(*since) < MINUTE);
        let known = state.wrong.get(&ip).copied();
        let (since, wrong) = known.unwrap_or((now, 0));
        if wrong >= WRONG || (known.is_none() && !right && state.wrong.len() >= ADDRESSES) {
            return false;
        }
        if !right {
            state.wrong.insert(ip, (since, wrong + 1));
        }
        right
    }
}

/// As it is compared: people type small letters, and gaps.
fn plain(said: &str) -> String {
    said.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase()).collect()
}

fn draw() -> Option<String> {
    let letter = |four: &[u8]| {
        let n = four.iter().fold(0, |n, byte| n << 8 | usize::from(*byte));
        char::from(LETTERS[n % LETTERS.len()])
    };
    let bytes = dice::draw::<{ 4 * LENGTH }>().ok()?;
    Some(bytes.chunks(4).map(letter).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(n: u8) -> IpAddr {
        [10, 0, 0, n].into()
    }

    #[test]
    fn wb_8_a_code_is_needed_while_there_is_one_and_is_typed_as_people_do() {
        let code = GuardedCode::new();
        assert!(code.fits(ip(1), None));
        code.renew(true);
        let first = code.get().unwrap();
        assert_eq!(first.len(), LENGTH);
        let typed = format!("{} {}", &first[..2].to_lowercase(), &first[2..]);
        assert!(code.fits(ip(1), Some(&typed)) && code.fits(ip(1), Some(&first)));
        assert!(!code.fits(ip(1), None) && !code.fits(ip(1), Some("")));
        code.renew(true);
        assert!(!code.fits(ip(1), Some(&first)), "another one holds now");
        code.renew(false);
        assert!(code.fits(ip(1), None));
    }

    #[test]
    fn wb_6_an_address_that_guesses_is_not_listened_to_for_a_minute_and_others_are() {
        let code = GuardedCode::new();
        code.renew(true);
        let right = code.get().unwrap();
        let now = Instant::from_secs(1_000);
        for _ in 0..WRONG {
            assert!(!code.fits_at(ip(1), Some("AAAAA"), now));
        }
        assert!(!code.fits_at(ip(1), Some(&right), now));
        assert!(code.fits_at(ip(2), Some(&right), now));
        assert!(code.fits_at(ip(1), Some(&right), now + MINUTE));
        // From many addresses, too.
        for n in 0..ADDRESSES as u32 {
            let ip = IpAddr::from((0x0b00_0000 + n).to_be_bytes());
            assert!(!code.fits_at(ip, Some("AAAAA"), now + MINUTE));
        }
        assert!(code.state().wrong.len() <= ADDRESSES);
        assert!(code.fits_at(ip(2), Some(&right), now + MINUTE));
    }
}
