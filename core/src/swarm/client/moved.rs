//! A coordinator that is a member of a divided site sends its clients to whichever
//! member has their file (ST-4).
//!
//! That is an address that a stranger names: it is judged as those of peers are,
//! and the host dials it through the gate of such dials.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;

use super::io::{Event, Ignored, Output};
use super::{ClientEffects, SwarmClient};
use crate::address::may_dial;
use crate::time::Instant;
use crate::wire::pdtp::Text;

impl SwarmClient {
    /// The coordinator says that another one has the file.
    pub(super) fn moved(
        &mut self,
        now: Instant,
        url: &Text,
        to: SocketAddr,
        fx: &mut ClientEffects,
    ) {
        let (Some(at), Some(by)) = (self.file(url), self.coordinator) else { return };
        if !may_dial(to, by) {
            fx.event(Event::Ignored { why: Ignored::Address });
            let why = format!("the coordinator sends us to {to}, where we do not go");
            return self.give_up(at, why, fx);
        }
        if self.files.len() > 1 {
            let why = format!("it is at another coordinator than the other files: at {to}");
            return self.give_up(at, why, fx);
        }
        self.moves += 1;
        if self.moves > self.config.moves {
            fx.event(Event::Astray { to });
            if self.files[at].size == 0 {
                let why = format!("the coordinators send us in a circle, at last to {to}");
                self.give_up(at, why, fx);
            }
            self.moves = 0;
            fx.output(Output::Leave { to: None });
            return self.offline(now, fx);
        }
        fx.event(Event::Moved { to });
        self.hang_up();
        self.connecting = true;
        fx.output(Output::Leave { to: Some(to) });
    }

    /// The file cannot be had; one that is here needs nothing any more.
    fn give_up(&mut self, at: usize, why: String, fx: &mut ClientEffects) {
        if !self.files[at].done {
            let url = self.files.remove(at).url;
            fx.output(Output::Failed { url, why });
        }
    }

    /// Where else the site of the coordinator answers.
    pub(super) fn beside(&self, mut others: Vec<SocketAddr>, fx: &mut ClientEffects) {
        let Some(by) = self.coordinator else { return };
        others.retain(|at| may_dial(*at, by));
        if !others.is_empty() {
            fx.output(Output::Others { at: others });
        }
    }
}
