//! How long a sender waits for a receiver that is not there, or not there any more.

use std::time::Duration;

use tokio::time::Instant;

use crate::exit::Failure;

/// How long a receiver that was there may take to come again.
const COME_AGAIN: Duration = Duration::from_secs(60);

/// How long to wait for a receiver; `None`: for as long as it takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct SendPatience {
    pub(super) to_come: Option<Duration>,
    to_come_again: Option<Duration>,
    /// The user has said how long.
    pub(super) asked: bool,
}

impl SendPatience {
    pub(super) fn new(wait: Option<Option<Duration>>) -> Self {
        match wait {
            None => Self {
                to_come: Some(Duration::ZERO),
                to_come_again: Some(COME_AGAIN),
                asked: false,
            },
            Some(wait) => Self { to_come: wait, to_come_again: wait, asked: true },
        }
    }
}

/// The wait for one receiver, over several attempts.
pub(super) struct ReceiverWait {
    patience: SendPatience,
    begun: Instant,
    /// Since when it is not there, as far as that has shown.
    away: Option<Instant>,
    was_there: bool,
    /// It is there, as far as is known, and no path leads to it; that was said or not.
    pathless: bool,
    said_pathless: bool,
    /// Why it is not there. Of one that was there it is known that the code is right.
    why: Option<Failure>,
}

impl ReceiverWait {
    pub(super) const fn new(begun: Instant, patience: SendPatience) -> Self {
        Self {
            patience,
            begun,
            away: None,
            was_there: false,
            pathless: false,
            said_pathless: false,
            why: None,
        }
    }

    const fn most(&self) -> Option<Duration> {
        if self.was_there { self.patience.to_come_again } else { self.patience.to_come }
    }

    /// When the attempt that is made now ends, unless the receiver is there by then. One
    /// attempt is always made.
    pub(super) fn until(&self) -> Option<Instant> {
        let since = if self.was_there { self.away? } else { self.begun };
        self.most().filter(|most| !most.is_zero()).map(|most| since + most)
    }

    /// The receiver was there.
    pub(super) fn came(&mut self) {
        *self = Self { was_there: true, ..Self::new(self.begun, self.patience) };
    }

    /// The attempt that is about to be told has found the receiver, and no path to it: that
    /// is why it is waited for, whatever was before.
    pub(super) fn no_path(&mut self) {
        self.pathless = true;
    }

    pub(super) const fn has_no_path(&self) -> bool {
        self.pathless
    }

    /// An attempt has failed. `waits` is called when that is the first since the receiver
    /// was there, or the first that has found no path to it.
    ///
    /// # Errors
    /// The wait is over.
    pub(super) fn missed(
        &mut self,
        (now, trouble): (Instant, Failure),
        waits: impl FnOnce(&Failure, Option<Duration>),
    ) -> Result<(), Failure> {
        let learned = std::mem::take(&mut self.pathless) && !self.said_pathless;
        self.said_pathless |= learned;
        let (news, most) = (self.away.is_none() || learned, self.most());
        let begun = if self.was_there { now } else { self.begun };
        let since = *self.away.get_or_insert(begun);
        if news && most.is_none_or(|most| now.duration_since(since) < most) {
            let left = |most: Duration| most.saturating_sub(now.duration_since(since));
            waits(&trouble, if learned { most.map(left) } else { most });
        }
        if !self.was_there || self.why.is_none() || learned {
            self.why = Some(trouble);
        }
        if most.is_some_and(|most| now.duration_since(since) >= most) {
            self.over()
        } else {
            Ok(())
        }
    }

    /// When the next attempt begins, after a pause of that length; true when the wait is
    /// over by then, and ends at that time.
    pub(super) fn next(&self, now: Instant, pause: Duration) -> (Instant, bool) {
        let next = now + pause;
        self.until().filter(|until| *until <= next).map_or((next, false), |until| (until, true))
    }

    /// Why it is not waited for any longer.
    ///
    /// # Errors
    /// Always, after an attempt that failed.
    pub(super) fn over(&mut self) -> Result<(), Failure> {
        self.why.take().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    const MINUTE: Duration = Duration::from_secs(60);
    const PAUSE: Duration = Duration::from_millis(1_500);

    fn failure(what: &str) -> Failure {
        Failure::new(Exit::Network, what.to_owned())
    }

    /// Attempts of ten seconds each, which the wait ends at its limit: when it is over, and
    /// why.
    fn attempts(wait: &mut ReceiverWait, mut now: Instant) -> (Instant, Failure) {
        loop {
            let natural = now + Duration::from_secs(10);
            now = wait.until().map_or(natural, |until| until.min(natural));
            if let Err(why) = wait.missed((now, failure("again")), |_, _| {}) {
                return (now, why);
            }
            let (next, over) = wait.next(now, PAUSE);
            now = next;
            if over && let Err(why) = wait.over() {
                return (now, why);
            }
        }
    }

    #[test]
    fn a_receiver_that_was_there_is_awaited_for_a_minute_and_no_longer() {
        let begun = Instant::now();
        let mut wait = ReceiverWait::new(begun, SendPatience::new(None));
        wait.came();
        assert_eq!(wait.until(), None, "a transfer has no limit");
        let (gone, mut said) = (begun + MINUTE * 5, None);
        wait.missed((gone, failure("first")), |_, most| said = most).unwrap();
        assert_eq!(said, Some(MINUTE));
        let (over, why) = attempts(&mut wait, gone + PAUSE);
        assert_eq!((over - gone, why.what.as_str()), (MINUTE, "first"));
    }

    #[test]
    fn that_no_path_leads_to_a_receiver_is_said_once_and_is_why_it_ends() {
        let begun = Instant::now();
        let mut wait = ReceiverWait::new(begun, SendPatience::new(None));
        let mut said = Vec::new();
        wait.came();
        for (after, what, pathless) in [
            (0, "the place ends", false),
            (3, "no path", true),
            (8, "no path", true),
            (12, "the other side is absent", false),
            (60, "the other side is absent", false),
        ] {
            if pathless {
                wait.no_path();
            }
            let now = begun + Duration::from_secs(after);
            let over = wait.missed((now, failure(what)), |why, _| said.push(why.what.clone()));
            assert_eq!(over.err().map(|why| why.what), (after == 60).then(|| "no path".into()));
        }
        assert_eq!(said, ["the place ends", "no path"]);
    }

    #[test]
    fn one_that_never_was_is_awaited_as_long_as_the_user_says() {
        let begun = Instant::now();
        let patience = |wait| ReceiverWait::new(begun, SendPatience::new(wait));
        let mut once = patience(None);
        assert_eq!(once.until(), None, "one attempt takes as long as it takes");
        let over = once.missed((begun, failure("none")), |_, _| panic!("it does not wait"));
        assert!(over.is_err());
        let mut asked = patience(Some(Some(Duration::from_secs(25))));
        assert_eq!(attempts(&mut asked, begun).0 - begun, Duration::from_secs(25));
        assert_eq!(patience(Some(None)).until(), None, "for ever");
    }
}
