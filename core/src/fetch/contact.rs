//! Whether anybody is there at all: a download whose sources were never
//! reached ends soon when its user wants that, instead of knocking for long.

use super::cx::Cx;
use super::download::{Download, State};
use super::{SourceTrouble, keys_where};
use crate::time::{Duration, Instant};

impl Download {
    /// Nobody was reached in time: gives up whoever was tried.
    pub(super) fn give_up_strangers(&mut self, cx: &mut Cx<'_>) {
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

/// Until when somebody must be reached, when nobody ever was.
pub(super) fn first_contact(strangers: bool, cx: &Cx<'_>) -> Option<Instant> {
    let limit = Some(cx.config.first_contact).filter(|l| strangers && *l > Duration::ZERO)?;
    Some(cx.now + limit.scaled(cx.config.time_scale))
}
