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
use super::source::{Link, Src};
use super::{Answer, Event, Output, Source, SourceTrouble};
use crate::queue::client;
use crate::wire::http::ResponseHead;

/// The longest `Location` that is followed.
const LONGEST: usize = 4_096;

impl Download {
    /// A source redirects us. One that says so with 503 is a member of a site that
    /// leaves its clients to another one.
    pub(super) fn sent_on(&mut self, no: u32, head: &ResponseHead, cx: &mut Cx<'_>) {
        let to = head.headers.get("Location").filter(|to| to.len() <= LONGEST).map(String::from);
        self.release(no, cx);
        self.client(no, client::Input::Rest, cx);
        let Some(src) = self.sources.get_mut(&no) else { return };
        src.moves += 1;
        let Some(to) = to.filter(|_| src.moves <= cx.config.moves && !src.pushed) else {
            return self.lose(no, SourceTrouble::Astray, cx);
        };
        src.away = Some(matches!(head.status, 307 | 503));
        let (fetch, from, at) = (self.id, src.source.clone(), src.at());
        cx.fx.event(Event::Moved { fetch, at, to: to.clone() });
        cx.fx.output(Output::Answer(Answer::Moved { fetch, from, to }));
    }

    /// The host reports where that leads.
    pub(super) fn moved(&mut self, from: &Source, to: Option<Source>, cx: &mut Cx<'_>) {
        let away = self.sources.iter().find(|(_, s)| s.away.is_some() && s.source == *from);
        let Some(no) = away.map(|(&no, _)| no) else { return };
        let of_site = |s: &Src, to: &Source| s.at() == to.at && (s.home.is_some() || s.told);
        let known = |to: &Source| {
            let mut asked = self.sources.iter().filter(|(_, s)| s.usable());
            asked.any(|(&other, s)| other != no && (s.source == *to || of_site(s, to)))
        };
        let beside = to.as_ref().filter(|to| known(to)).map(|to| to.at);
        // One that redirects us to itself leads nowhere.
        let to = to.filter(|to| beside.is_none() && to != from);
        let Some(src) = self.sources.get_mut(&no) else { return };
        let temporary = src.away.take() == Some(true);
        if let (true, Some(at)) = (temporary, beside) {
            // We ask that one already, and it has our place.
            (src.beside, src.moves) = (Some(at), 0);
            if let Some(place) = src.client.remembered() {
                self.hand_over(no, place, |other| other.at() == at, cx);
            }
            let pause = cx.config.busy_retry.scaled(cx.config.time_scale);
            self.client(no, client::Input::Busy(Some(pause)), cx);
            self.waiting(no, SourceTrouble::Busy, cx);
            // The range it was asked for is free for others again.
            return self.wake(cx);
        }
        let Some(to) = to else { return self.lose(no, SourceTrouble::Astray, cx) };
        let told = src.told;
        if to.at != src.at() {
            let secure = to.target.starts_with("https://");
            if let Err(why) = may_follow(src.at(), to.at, secure) {
                cx.fx.event(Event::AltRefused { fetch: self.id, at: to.at, why });
                return self.lose(no, SourceTrouble::Astray, cx);
            }
            src.told = true;
        }
        let from = core::mem::replace(&mut src.source, to);
        if temporary {
            src.home.get_or_insert((from, told));
        }
        (src.otherwise, src.failures) = (false, 0);
        cx.fx.event(Event::Source { fetch: self.id, at: src.at() });
        if self.state == State::Running {
            self.client(no, client::Input::Want, cx);
        }
    }

    /// A source has failed. When another member of its site sent us there, we ask
    /// that one again. When another source is a member that left us to this one,
    /// the place is claimed there.
    pub(super) fn back_home(&mut self, no: u32, cx: &mut Cx<'_>) {
        let Some(src) = self.sources.get_mut(&no) else { return };
        let at = src.at();
        if let Some(home) = src.home.take() {
            (src.source, src.told, src.moves) = (home.0, home.1, 0);
            let at = src.at();
            return cx.fx.event(Event::Source { fetch: self.id, at });
        }
        if let Some(place) = src.client.remembered() {
            self.hand_over(no, place, |other| other.beside == Some(at), cx);
        }
    }

    /// Another member of the site is asked for a place from now on.
    fn hand_over(
        &mut self,
        no: u32,
        place: client::Remembered,
        to: impl Fn(&Src) -> bool,
        cx: &mut Cx<'_>,
    ) {
        let heir = self.sources.iter().find(|(other, src)| {
            let idle = matches!(src.link, Link::None | Link::Kept { .. }) && src.away.is_none();
            let has_none = src.client.remembered().is_none();
            **other != no && src.usable() && idle && has_none && to(src)
        });
        let Some(heir) = heir.map(|(&no, _)| no) else { return };
        if let Some(src) = self.sources.get_mut(&no) {
            src.client = Src::new(cx.config, src.source.clone()).client;
        }
        let Some(other) = self.sources.get_mut(&heir) else { return };
        other.beside = None;
        other.client.restore(place, cx.now);
        self.client(heir, client::Input::AskNow, cx);
    }
}
