//! Ends a download early when none of its sources was ever reached, if its user
//! wants that, instead of retrying for long.

use super::cx::FetchCx;
use super::download::{Download, State};
use super::{SourceTrouble, keys_where};
use crate::time::{Duration, Instant};

impl Download {
    /// No source was reached in time: gives up all that were tried.
    pub(super) fn give_up_strangers(&mut self, cx: &mut FetchCx<'_>) {
        let late = self.first_contact.is_some_and(|until| until <= cx.now);
        if !late || self.state != State::Running {
            return;
        }
        self.first_contact = None;
        for no in keys_where(&self.sources, |s| s.lost.is_none()) {
            self.lose(no, SourceTrouble::Unreachable, cx);
        }
    }
}

/// The deadline for reaching a first source, as long as none was reached.
pub(super) fn first_contact(strangers: bool, cx: &FetchCx<'_>) -> Option<Instant> {
    let limit = Some(cx.config.first_contact).filter(|l| strangers && *l > Duration::ZERO)?;
    Some(cx.now + limit.scaled(cx.config.time_scale))
}
