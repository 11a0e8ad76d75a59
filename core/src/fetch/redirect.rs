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
use core::net::SocketAddr;

use super::alts::AltRefusal;
use super::cx::FetchCx;
use super::download::{Download, State};
use super::source::{SourceLink, Src};
use super::{DownloadSource, Event, FetchAnswer, Output, SourceTrouble, keys_where};
use crate::address::{LOWEST_PORT, plausible};
use crate::queue::client;
use crate::time::Duration;
use crate::wire::http::ResponseHead;

/// The longest `Location` that is followed.
const LONGEST: usize = 4_096;

/// Checks an address to which the source at `from` redirects us; `secure` is
/// true when it is to be asked over TLS.
///
/// Web servers redirect to each other on their usual ports, so those are
/// allowed here, as is the port of the source itself.
///
/// # Errors
/// Why we do not go there.
pub fn may_follow_redirect(
    from: SocketAddr,
    to: SocketAddr,
    secure: bool,
) -> Result<(), AltRefusal> {
    if !plausible(to.ip(), from.ip()) {
        return Err(AltRefusal::Private);
    }
    let usual = if secure { 443 } else { 80 };
    if to.port() < LOWEST_PORT && to.port() != usual && to.port() != from.port() {
        return Err(AltRefusal::Port);
    }
    Ok(())
}

impl Download {
    /// A source redirects us. One that says so with 503 is a member of a site that
    /// leaves its clients to another one.
    pub(super) fn redirected(&mut self, no: u32, head: &ResponseHead, cx: &mut FetchCx<'_>) {
        let to = head.headers.get("Location").filter(|to| to.len() <= LONGEST).map(String::from);
        self.release(no, cx);
        self.client(no, client::Input::Rest, cx);
        let Some(src) = self.sources.get_mut(&no) else { return };
        src.moves += 1;
        if src.moves > cx.config.moves {
            return self.lose(no, SourceTrouble::Redirects, cx);
        }
        let Some(to) = to.filter(|_| !src.pushed) else {
            return self.lose(no, SourceTrouble::Astray, cx);
        };
        src.away = Some(matches!(head.status, 307 | 503));
        if src.moves == 1 || head.status == 503 {
            src.trail.clear(); // Members of a site may name each other.
        }
        // With another cookie the same address is another request.
        src.changed = src.cookies.read(&src.source, &head.headers) && head.status != 503;
        if src.changed {
            src.trail.clear();
        } else if head.status != 503 {
            src.trail.push(src.source.clone());
        }
        let (fetch, from, at) = (self.id, src.source.clone(), src.at());
        cx.fx.event(Event::Moved { fetch, at, to: to.clone() });
        cx.fx.output(Output::Answer(FetchAnswer::Moved { fetch, from, to }));
    }

    /// The host reports where that leads.
    pub(super) fn redirect_located(
        &mut self,
        from: &DownloadSource,
        to: Option<DownloadSource>,
        cx: &mut FetchCx<'_>,
    ) {
        let away = self.sources.iter().find(|(_, s)| s.away.is_some() && s.source == *from);
        let Some(no) = away.map(|(&no, _)| no) else { return };
        let temporary = self.sources[&no].away == Some(true);
        // A member of a site names the others by address, the user may by name.
        let same = |s: &Src, to: &DownloadSource| s.source == *to || s.at() == to.at && temporary;
        let known = |to: &DownloadSource| {
            let mut asked = self.sources.iter().filter(|&(&other, s)| other != no && s.usable());
            asked.find(|(_, s)| same(s, to)).map(|(&other, _)| other)
        };
        let named = to.as_ref().and_then(known);
        let round = to.as_ref().is_some_and(|to| self.sources[&no].trail.contains(to));
        let Some(src) = self.sources.get_mut(&no) else { return };
        // One that redirects us to itself leads nowhere.
        let to = to.filter(|to| named.is_none() && (src.changed || to != from));
        src.away = None;
        if let (true, Some(named)) = (temporary, named) {
            return self.left_to(no, named, cx);
        }
        if round {
            return self.lose(no, SourceTrouble::Circle, cx);
        }
        let Some(to) = to else { return self.lose(no, SourceTrouble::Astray, cx) };
        let told = src.told;
        if to.at != src.at() {
            let secure = to.target.starts_with("https://");
            if let Err(why) = may_follow_redirect(src.at(), to.at, secure) {
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

    /// A member of a site leaves us to another source of ours, which has our place
    /// from now on, and is asked for it at once.
    ///
    /// When that one was not reached, the first one is asked again soon: another
    /// member may answer for the file by then, and it knows which. When they name each
    /// other, as while the file changes hands, we do not run to and fro.
    fn left_to(&mut self, no: u32, named: u32, cx: &mut FetchCx<'_>) {
        let Some(other) = self.sources.get_mut(&named) else { return };
        let (at, silent) = (other.at(), other.failures > 0);
        // The server that named it should know that it is there.
        other.failures = other.failures.min(1);
        let beside = other.beside.take();
        let Some(src) = self.sources.get_mut(&no) else { return };
        (src.beside, src.moves) = (Some(at), 0);
        let mutual = beside == Some(src.at());
        if silent || mutual {
            src.unreached += 1;
        }
        let pause = match silent {
            true => src.soon(cx.config),
            false => cx.config.busy_retry.scaled(cx.config.time_scale),
        };
        let handed = self.hand_over(no, named, cx);
        self.client(no, client::Input::Broken(pause), cx);
        if silent {
            self.waiting(no, self.sources[&no].at(), SourceTrouble::Elsewhere, cx);
        }
        if mutual {
            self.ask_soon(named, cx);
        } else if handed || silent && self.sources[&named].link == SourceLink::None {
            self.client(named, client::Input::AskNow, cx);
        }
        // The range it was asked for is free for others again.
        self.wake(cx);
    }

    /// The member of a site that has a place of ours by now is known as another
    /// source, too, which need not be asked beside it. If that member fails, the
    /// first one is asked where it was.
    pub(super) fn calls_from(&mut self, no: u32, at: SocketAddr, cx: &mut FetchCx<'_>) {
        let same = |src: &Src| src.at() == at && src.is_free();
        let other = self.sources.iter().find(|&(&other, src)| other != no && same(src));
        let Some(other) = other.map(|(&other, _)| other) else { return };
        if let Some(src) = self.sources.get_mut(&no) {
            src.home.get_or_insert((src.source.clone(), src.told));
        }
        let Some(src) = self.sources.get_mut(&other).filter(|s| s.client.place().is_none()) else {
            return;
        };
        src.beside = Some(at);
        self.release(other, cx);
        let pause = cx.config.busy_retry.scaled(cx.config.time_scale);
        self.client(other, client::Input::Broken(pause), cx);
    }

    /// A source has failed. When another member of its site sent us there, we ask
    /// that one again; the pause before that is returned.
    pub(super) fn back_home(&mut self, no: u32, cx: &mut FetchCx<'_>) -> Option<Duration> {
        let src = self.sources.get_mut(&no)?;
        let home = src.home.take()?;
        (src.source, src.told, src.moves) = (home.0, home.1, 0);
        src.unreached += 1;
        cx.fx.event(Event::Source { fetch: self.id, at: src.at() });
        Some(src.soon(cx.config))
    }

    /// Source `no` has failed, at this address. Those that left us to it are asked
    /// again soon, one of them for its place, unless it is asked elsewhere itself.
    pub(super) fn ask_those_beside(&mut self, at: SocketAddr, no: u32, cx: &mut FetchCx<'_>) {
        let mut elsewhere = self.sources[&no].at() != at;
        for heir in keys_where(&self.sources, |src| src.beside == Some(at) && src.usable()) {
            elsewhere = elsewhere || self.hand_over(no, heir, cx);
            self.ask_soon(heir, cx);
        }
    }

    /// Asks a source that waits after the pause for members of a site, if it would
    /// be asked later.
    fn ask_soon(&mut self, no: u32, cx: &mut FetchCx<'_>) {
        let Some(src) = self.sources.get_mut(&no).filter(|src| src.is_free()) else { return };
        src.unreached = src.unreached.max(1);
        let (at, pause) = (src.at(), src.soon(cx.config));
        if src.client.ask_at().is_none_or(|due| due > cx.now + pause) {
            self.client(no, client::Input::Rest, cx);
            self.client(no, client::Input::Broken(pause), cx);
            self.waiting(no, at, SourceTrouble::Elsewhere, cx);
        }
    }

    /// The place of a source is another member's from now on; false when there is
    /// none, or that one cannot take it.
    fn hand_over(&mut self, no: u32, heir: u32, cx: &mut FetchCx<'_>) -> bool {
        let Some(place) = self.sources.get(&no).and_then(|src| src.client.remembered()) else {
            return false;
        };
        let fits = |src: &Src| src.is_free() && src.client.remembered().is_none();
        if no == heir || !self.sources.get(&heir).is_some_and(|heir| fits(heir)) {
            return false;
        }
        if let Some(src) = self.sources.get_mut(&no) {
            let due = src.client.ask_at();
            src.client = Src::new(cx.config, src.source.clone()).client;
            if let Some(due) = due {
                self.client(no, client::Input::Broken(due.since(cx.now)), cx);
            }
        }
        self.client(heir, client::Input::Rest, cx);
        if let Some(heir) = self.sources.get_mut(&heir) {
            heir.client.restore(place, cx.now);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_leads_to_web_servers_and_servents_and_to_no_other_service() {
        let follow = |from: &str, to: &str, secure| {
            may_follow_redirect(from.parse().unwrap(), to.parse().unwrap(), secure)
        };
        for (to, secure) in
            [("81.1.2.3:80", false), ("81.1.2.3:443", true), ("81.1.2.3:1024", true)]
        {
            assert_eq!(follow("80.1.2.3:6346", to, secure), Ok(()), "{to}");
        }
        for (to, secure) in [("81.1.2.3:80", true), ("81.1.2.3:443", false), ("81.1.2.3:25", false)]
        {
            assert_eq!(follow("80.1.2.3:6346", to, secure), Err(AltRefusal::Port), "{to}");
        }
        assert_eq!(follow("80.1.2.3:81", "80.1.2.4:81", false), Ok(()));
        for to in ["10.0.0.1:80", "127.0.0.1:6346", "[fc00::1]:443", "224.0.0.1:80"] {
            assert_eq!(follow("80.1.2.3:80", to, false), Err(AltRefusal::Private), "{to}");
        }
        assert_eq!(follow("10.0.0.1:80", "10.0.0.2:80", false), Ok(()));
    }
}
