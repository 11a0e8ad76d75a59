//! Redirects: sources that say the file is elsewhere (RFC 9110 §15.4).
//!
//! An engine cannot resolve another host's name, so the host is asked to.
//! Meanwhile the source waits; then it continues at the new location. What is
//! saved of the download names the original source, because tomorrow it may
//! redirect us elsewhere.
//!
//! A redirect is an address that a stranger named: it is judged like one, and
//! dialed through the gate of such dials.

use alloc::string::String;

use super::alts::may_follow;
use super::cx::Cx;
use super::download::{Download, State};
use super::{Answer, Event, Output, Source, SourceTrouble};
use crate::queue::client;
use crate::wire::http::ResponseHead;

/// The longest `Location` that is followed.
const LONGEST: usize = 4_096;

impl Download {
    /// A source redirects us.
    pub(super) fn sent_on(&mut self, no: u32, head: &ResponseHead, cx: &mut Cx<'_>) {
        let to = head.headers.get("Location").filter(|to| to.len() <= LONGEST).map(String::from);
        self.release(no, cx);
        self.client(no, client::Input::Rest, cx);
        let Some(src) = self.sources.get_mut(&no) else { return };
        src.moves += 1;
        let Some(to) = to.filter(|_| src.moves <= cx.config.moves && !src.pushed) else {
            return self.lose(no, SourceTrouble::Astray, cx);
        };
        src.away = true;
        let (fetch, from, at) = (self.id, src.source.clone(), src.at());
        cx.fx.event(Event::Moved { fetch, at, to: to.clone() });
        cx.fx.output(Output::Answer(Answer::Moved { fetch, from, to }));
    }

    /// The host reports where that leads.
    pub(super) fn moved(&mut self, from: &Source, to: Option<Source>, cx: &mut Cx<'_>) {
        let away = self.sources.iter().find(|(_, s)| s.away && s.source == *from);
        let Some(no) = away.map(|(&no, _)| no) else { return };
        let known = |to: &Source| self.sources.values().any(|s| s.source == *to);
        let to = to.filter(|to| !known(to));
        let Some(src) = self.sources.get_mut(&no) else { return };
        src.away = false;
        let Some(to) = to else { return self.lose(no, SourceTrouble::Astray, cx) };
        if to.at != src.at() {
            let secure = to.target.starts_with("https://");
            if let Err(why) = may_follow(src.at(), to.at, secure) {
                cx.fx.event(Event::AltRefused { fetch: self.id, at: to.at, why });
                return self.lose(no, SourceTrouble::Astray, cx);
            }
            src.told = true;
        }
        src.source = to;
        (src.otherwise, src.failures) = (false, 0);
        cx.fx.event(Event::Source { fetch: self.id, at: src.at() });
        if self.state == State::Running {
            self.client(no, client::Input::Want, cx);
        }
    }
}
