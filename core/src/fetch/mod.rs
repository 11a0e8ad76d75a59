//! Downloads: one file from several sources, resumable, verified, persistent.
//!
//! An engine of its own between [`crate::queue::client`], which manages one
//! place at one server, and the node, which owns the connections.
//!
//! Each source has a queue client that decides when to ask; the download
//! decides for which range, anew at each poll (AQ-13), and trusts nothing a
//! source says: sizes, ranges and addresses are checked against what is known.

mod alts;
mod answers;
mod config;
mod contact;
mod cookies;
mod cx;
mod download;
mod event;
mod goodbye;
mod io;
mod open;
mod proof;
mod ranges;
mod redirect;
mod reply;
mod row;
mod source;
mod spare;
mod talk;
mod view;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;

pub use self::alts::AltRefusal;
pub use self::config::Config;
use self::cx::{Conns, FetchCx, Speech};
use self::download::{Download, State};
pub use self::event::{Event, FetchFailure, FetchLimit, SourceTrouble};
pub use self::io::{DialError, StoreError};
pub use self::proof::version::FileVersion;
pub use self::redirect::may_follow_redirect;
pub use self::row::{DownloadSource, Get, PartRow, Ticket};
pub use self::view::{FetchView, SourceView};
use crate::engine::{Engine, FxOf};
use crate::id::{ConnId, FetchId, FileIndex, Guid};
use crate::queue::{Dialect, client};
use crate::time::Instant;

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::io::{FetchAnswer, Input, Output};

/// The keys of the matching entries: a copy, because processing an entry may
/// change the map.
fn keys_where<K: Copy, V>(map: &BTreeMap<K, V>, wanted: impl Fn(&V) -> bool) -> Vec<K> {
    map.iter().filter(|(_, value)| wanted(value)).map(|(key, _)| *key).collect()
}

/// All downloads of a node.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct Fetches {
    config: Config,
    speech: Speech,
    conns: Conns,
    next: u32,
    /// Boxed, like its contents: most nodes have one or none, and a leaf of the
    /// map has room for eleven.
    downloads: BTreeMap<FetchId, Box<Download>>,
    /// The next deadline of each download.
    due: BTreeMap<FetchId, (Instant, &'static str)>,
    turns: Turns,
}

/// Which downloads run, and which wait until there is room for them.
#[derive(Debug, Clone, Default)]
struct Turns {
    running: BTreeSet<FetchId>,
    resting: BTreeSet<FetchId>,
    /// False until everything is restored: no turn begins before.
    began: bool,
}

impl Turns {
    /// Notes the state of a download; `None` for one that is gone.
    fn note(&mut self, fetch: FetchId, state: Option<State>) {
        let running = matches!(state, Some(State::Running | State::Verifying));
        let sets =
            [(&mut self.running, running), (&mut self.resting, state == Some(State::Resting))];
        for (set, belongs) in sets {
            if belongs {
                set.insert(fetch);
            } else {
                set.remove(&fetch);
            }
        }
    }
}

impl Fetches {
    /// Without downloads. `agent` goes into `User-Agent`; `dialect` is the
    /// queueing dialect we announce.
    #[must_use]
    pub fn new(config: Config, agent: String, dialect: Dialect) -> Self {
        let sleeps = config.place.sleeps;
        Self {
            config,
            speech: Speech { agent, dialect, sleeps, callback: None },
            conns: Conns::default(),
            next: 0,
            downloads: BTreeMap::new(),
            due: BTreeMap::new(),
            turns: Turns::default(),
        }
    }

    /// True when only other sources have named this address, not the user.
    pub(crate) fn is_told_by_others(&self, at: SocketAddr) -> bool {
        let all = self.downloads.values().flat_map(|download| download.sources.values());
        let mut there = all.filter(|src| src.at() == at).peekable();
        there.peek().is_some() && there.all(|src| src.told)
    }

    /// How many places and slots are being given back.
    #[must_use]
    pub fn leaving(&self) -> usize {
        self.conns.goodbyes.len()
    }

    /// The state of all downloads, by number.
    #[must_use]
    pub fn view(&self) -> Vec<FetchView> {
        self.downloads.values().map(|d| d.view()).collect()
    }

    /// Runs a step of one download, if it exists.
    fn with(
        &mut self,
        fetch: FetchId,
        now: Instant,
        fx: &mut FxOf<Self>,
        step: impl FnOnce(&mut Download, &mut FetchCx<'_>),
    ) {
        let Self { config, speech, conns, downloads, due, turns, .. } = self;
        let Some(download) = downloads.get_mut(&fetch) else { return };
        let cx = &mut FetchCx { now, config, speech, conns, fx };
        step(download, cx);
        if download.is_stuck() {
            download.begin_anew_with_one(cx);
        }
        turns.note(fetch, Some(download.state));
        match download.due() {
            Some(at) => due.insert(fetch, at),
            None => due.remove(&fetch),
        };
    }

    /// Runs a step of the source that a connection belongs to; unknown
    /// connections are ignored.
    fn at(
        &mut self,
        conn: ConnId,
        now: Instant,
        fx: &mut FxOf<Self>,
        step: impl FnOnce(&mut Download, u32, &mut FetchCx<'_>),
    ) {
        if let Some((fetch, no)) = self.conns.owner(conn) {
            self.with(fetch, now, fx, |d, cx| step(d, no, cx));
        }
    }

    /// Handles what happens on a connection on which a hash tree is requested;
    /// returns the input if it is about something else.
    fn about_tree(&mut self, now: Instant, input: Input, fx: &mut FxOf<Self>) -> Option<Input> {
        let conn = match input {
            Input::Dialed { conn, .. }
            | Input::DialFailed { conn, .. }
            | Input::Head { conn, .. }
            | Input::Collected { conn, .. }
            | Input::Garbage { conn }
            | Input::SpeaksTls { conn }
            | Input::Closed { conn } => conn,
            _ => return Some(input),
        };
        let owner = self.conns.owner(conn).and_then(|(fetch, _)| self.downloads.get(&fetch));
        if !owner.is_some_and(|download| download.asks_for_tree_on(conn)) {
            return Some(input);
        }
        self.at(conn, now, fx, |d, _, cx| match input {
            Input::Dialed { .. } => d.tree_dialed(cx),
            Input::Head { head, .. } => d.tree_reply(&head, cx),
            Input::Collected { data, .. } => d.tree_came(&data, cx),
            _ => d.no_tree(cx),
        });
        None
    }

    /// Handles what happens on a connection that no download uses; returns the
    /// input if it is about something else. Whatever a server sends there was
    /// not asked for.
    fn about_spare(&mut self, input: Input, fx: &mut FxOf<Self>) -> Option<Input> {
        match input {
            Input::Closed { conn } if self.conns.spares.forget(conn) => None,
            Input::Head { conn, .. } | Input::Garbage { conn } | Input::SpeaksTls { conn }
                if self.conns.spares.forget(conn) =>
            {
                fx.output(Output::Close { conn });
                None
            }
            other => Some(other),
        }
    }

    /// Handles what happens on a connection that carries a goodbye; returns the
    /// input if it is about something else.
    fn about_goodbye(&mut self, input: Input, fx: &mut FxOf<Self>) -> Option<Input> {
        let goodbyes = &mut self.conns.goodbyes;
        match input {
            Input::Dialed { conn, .. } => match goodbyes.request(conn) {
                Some(data) => {
                    fx.output(Output::Write { conn, data });
                    None
                }
                None => Some(input),
            },
            Input::DialFailed { conn, .. } | Input::Closed { conn } if goodbyes.forget(conn) => {
                None
            }
            Input::Head { conn, .. } | Input::Garbage { conn } | Input::SpeaksTls { conn }
                if goodbyes.forget(conn) =>
            {
                fx.output(Output::Close { conn });
                None
            }
            other => Some(other),
        }
    }

    fn insert(&mut self, row: PartRow, now: Instant, fx: &mut FxOf<Self>) {
        let fetch = row.fetch;
        self.next = self.next.max(fetch.0.saturating_add(1));
        let Self { config, speech, conns, .. } = self;
        let download = Download::new(row, &FetchCx { now, config, speech, conns, fx });
        self.downloads.insert(fetch, Box::new(download));
        self.turns.note(fetch, Some(State::Resting));
    }

    fn remove(&mut self, fetch: FetchId) {
        self.downloads.remove(&fetch);
        self.due.remove(&fetch);
        self.turns.note(fetch, None);
    }

    /// Begins downloads that wait, the oldest first, as far as there is room.
    fn take_turns(&mut self, now: Instant, fx: &mut FxOf<Self>) {
        while self.turns.began
            && self.turns.running.len() < self.config.fetches as usize
            && let Some(&fetch) = self.turns.resting.first()
        {
            self.with(fetch, now, fx, Download::begin);
        }
    }

    fn get(&mut self, get: Get, now: Instant, fx: &mut FxOf<Self>) {
        if let Some(fetch) = self.same(&get) {
            fx.output(Output::Answer(FetchAnswer::Fetching { fetch }));
            self.with(fetch, now, fx, |d, cx| d.again(get, cx));
            return;
        }
        self.forget_finished();
        let fetch = FetchId(self.next);
        self.next += 1;
        fx.output(Output::Answer(FetchAnswer::Fetching { fetch }));
        if self.turns.resting.len() >= self.config.fetches_waiting as usize {
            let why = FetchFailure::TooMany;
            fx.event(Event::Limit { fetch, limit: FetchLimit::Fetches });
            fx.event(Event::Failed { fetch, why });
            fx.output(Output::Answer(FetchAnswer::Failed { fetch, why }));
            return;
        }
        let get = Arc::new(get);
        let row = PartRow::new(fetch, get);
        self.insert(row, now, fx);
        self.with(fetch, now, fx, Download::save);
        self.turns.began = true;
    }

    /// The remembered download that a command means: of the same name, and of
    /// the same content as far as that is known; otherwise both must have a
    /// source in common.
    fn same(&self, get: &Get) -> Option<FetchId> {
        let shared = |d: &Download| {
            d.get.sources == get.sources || d.get.sources.iter().any(|s| get.sources.contains(s))
        };
        let same = |d: &Download| {
            d.get.name == get.name
                && d.state != State::Done
                && match (d.get.sha1, get.sha1) {
                    (Some(a), Some(b)) => a == b,
                    _ => shared(d),
                }
        };
        self.downloads.values().find(|d| same(d)).map(|d| d.id)
    }

    /// Drops the oldest downloads that are over and not needed.
    fn forget_finished(&mut self) {
        let over = |d: &Download| matches!(d.state, State::Done | State::Failed(_));
        let ids = keys_where(&self.downloads, |d| over(d));
        let many = ids.len().saturating_sub(self.config.finished as usize);
        for id in &ids[..many] {
            self.remove(*id);
        }
    }

    /// Carries out a command of the user.
    fn wish(&mut self, wish: Input, now: Instant, fx: &mut FxOf<Self>) {
        match wish {
            Input::Get(get) => self.get(get, now, fx),
            Input::Cancel { fetch } if self.is_done(fetch) => self.remove(fetch),
            Input::Cancel { fetch } => {
                self.command(fetch, now, fx, |d, cx| d.fail(FetchFailure::Cancelled, cx));
                self.remove(fetch);
            }
            Input::AskNow { fetch } => self.ask_now(fetch, now, fx),
            Input::Sleep { fetch, length } => {
                self.sources(fetch, client::Input::Sleep(length), now, fx);
            }
            Input::Pause { fetch } => self.command(fetch, now, fx, Download::pause),
            Input::GoOn { fetch } => self.command(fetch, now, fx, Download::go_on),
            Input::Relink { fetch, sources } => {
                self.command(fetch, now, fx, |d, cx| d.relink(sources, cx));
            }
            _ => {}
        }
    }

    fn is_done(&self, fetch: FetchId) -> bool {
        self.downloads.get(&fetch).is_some_and(|d| d.state == State::Done)
    }

    /// Carries out a command for one download.
    fn command(
        &mut self,
        fetch: FetchId,
        now: Instant,
        fx: &mut FxOf<Self>,
        step: impl FnOnce(&mut Download, &mut FetchCx<'_>),
    ) {
        let over = self.downloads.get(&fetch).is_none_or(|d| d.state == State::Done);
        if over {
            fx.output(Output::Answer(FetchAnswer::Unknown { fetch }));
        } else {
            self.with(fetch, now, fx, step);
        }
    }

    /// Gives the same input to the queue clients of all sources of a download.
    fn sources(&mut self, fetch: FetchId, input: client::Input, now: Instant, fx: &mut FxOf<Self>) {
        self.command(fetch, now, fx, |d, cx| {
            if d.state == State::Resting {
                return;
            }
            for no in keys_where(&d.sources, |s| s.lost.is_none()) {
                d.client(no, input, cx);
            }
        });
    }

    /// A user who asks again has patience again: what failed before is not
    /// counted, so that asking never makes a download end sooner.
    fn ask_now(&mut self, fetch: FetchId, now: Instant, fx: &mut FxOf<Self>) {
        self.command(fetch, now, fx, |d, cx| {
            if d.state == State::Resting {
                return;
            }
            for no in keys_where(&d.sources, |s| s.lost.is_none()) {
                d.sources.entry(no).and_modify(|source| {
                    (source.failures, source.refusals) = (0, 0);
                });
                d.client(no, client::Input::AskNow, cx);
            }
        });
    }

    /// The host slept, or its network was away: what failed meanwhile says nothing
    /// about any source.
    fn woke(&mut self, now: Instant, fx: &mut FxOf<Self>) {
        for fetch in keys_where(&self.downloads, |d| d.state == State::Running) {
            self.with(fetch, now, fx, |d, cx| {
                for no in keys_where(&d.sources, |s| s.lost.is_none()) {
                    d.sources.entry(no).and_modify(|source| source.failures = 0);
                    d.client(no, client::Input::Woke, cx);
                }
            });
        }
    }

    fn giv(
        &mut self,
        (conn, peer): (ConnId, SocketAddr),
        (servent, index): (Guid, FileIndex),
        name: &str,
        now: Instant,
        fx: &mut FxOf<Self>,
    ) {
        // Some servents invent index and name (`GIV 0:<id>/file`): the id says
        // which servent it is, and the index at most which download.
        let awaited = |d: &Download| {
            let exact = d.givs.iter().position(|g| (g.0, g.1) == (servent, index));
            let at = exact.or_else(|| d.givs.iter().position(|g| g.0 == servent))?;
            (d.state == State::Running).then_some((exact.is_none(), d.id, at))
        };
        let found = self.downloads.values().filter_map(|d| awaited(d)).min_by_key(|found| found.0);
        let Some((_, fetch, at)) = found else {
            fx.event(Event::GivUnknown { conn, servent });
            fx.output(Output::Close { conn });
            return;
        };
        self.with(fetch, now, fx, |d, cx| {
            let (_, index, _) = d.givs.remove(at);
            d.given(conn, peer, (index, name.into()), cx);
        });
    }

    fn called(
        &mut self,
        conn: ConnId,
        ticket: Guid,
        from: (SocketAddr, Option<SocketAddr>),
        now: Instant,
        fx: &mut FxOf<Self>,
    ) {
        let running = self.downloads.values().filter(|d| d.state == State::Running);
        let mut places = running.flat_map(|d| d.sources.iter().map(move |(&no, s)| (d.id, no, s)));
        let found = places.find(|(_, _, s)| s.client.claim().ticket == Some(ticket));
        let found = found.map(|(fetch, no, _)| (fetch, no));
        drop(places);
        match found {
            Some((fetch, no)) => {
                self.with(fetch, now, fx, |d, cx| d.called(no, conn, from, cx));
            }
            None => {
                fx.event(Event::CallUnknown { conn, ticket });
                fx.output(Output::Close { conn });
            }
        }
    }

    /// Expects a `GIV` until a deadline.
    fn expect(
        &mut self,
        fetch: FetchId,
        giv: (Guid, FileIndex),
        now: Instant,
        fx: &mut FxOf<Self>,
    ) {
        self.command(fetch, now, fx, |d, cx| {
            if d.givs.len() >= cx.config.sources as usize {
                cx.fx.event(Event::Limit { fetch, limit: FetchLimit::Sources });
                return;
            }
            d.givs.push((
                giv.0,
                giv.1,
                cx.now + cx.config.giv_deadline.scaled(cx.config.time_scale),
            ));
            if let State::Failed(FetchFailure::NoSource) = d.state {
                d.begin(cx);
            }
        });
    }

    /// Handles an input that is about downloads themselves.
    fn step(&mut self, now: Instant, input: Input, fx: &mut FxOf<Self>) {
        match input {
            Input::Restore(row) => self.insert(row, now, fx),
            Input::RestoreTree(fetch, tree) => {
                self.with(fetch, now, fx, |d, _| d.checks.restore(d.size, tree));
            }
            Input::Resume => self.turns.began = true,
            Input::Listening(at) => self.speech.callback = at,
            Input::Get(_)
            | Input::Cancel { .. }
            | Input::AskNow { .. }
            | Input::Sleep { .. }
            | Input::Pause { .. }
            | Input::Relink { .. }
            | Input::GoOn { .. } => self.wish(input, now, fx),
            Input::ExpectGiv { fetch, servent, index } => {
                self.expect(fetch, (servent, index), now, fx);
            }
            Input::Dialed { conn, local } => {
                self.at(conn, now, fx, |d, no, cx| d.dialed(no, conn, local, cx));
            }
            Input::DialFailed { conn, .. } => self.at(conn, now, fx, |d, no, cx| {
                cx.conns.forget(conn);
                d.unreachable(no, cx);
            }),
            Input::Head { conn, head } => {
                self.at(conn, now, fx, |d, no, cx| d.reply(no, &head, cx));
            }
            Input::Collected { .. } => {} // Not needed any more.
            Input::Hashed { fetch, start, tth } => {
                self.with(fetch, now, fx, |d, cx| d.hashed(start, tth, cx));
            }
            Input::Garbage { conn } => {
                self.at(conn, now, fx, |d, no, cx| d.garbled(no, cx));
            }
            Input::SpeaksTls { conn } => {
                self.at(conn, now, fx, |d, no, cx| d.lose(no, SourceTrouble::SpeaksTls, cx));
            }
            Input::Stored { conn, bytes } => {
                self.at(conn, now, fx, |d, no, cx| d.stored(no, bytes, cx));
            }
            Input::DiskFailed { conn, .. } => {
                self.at(conn, now, fx, |d, _, cx| d.fail(FetchFailure::Disk, cx));
            }
            Input::BodyEnded { conn } => self.at(conn, now, fx, |d, no, cx| d.body_ended(no, cx)),
            Input::Closed { conn } => self.at(conn, now, fx, |d, no, cx| d.closed(no, cx)),
            Input::Giv { conn, peer, index, servent, name } => {
                self.giv((conn, peer), (servent, index), &name, now, fx);
            }
            Input::Called { conn, peer, ticket, server } => {
                self.called(conn, ticket, (peer, server), now, fx);
            }
            Input::Verified { fetch, sha1 } => {
                self.with(fetch, now, fx, |d, cx| d.verified(sha1, cx));
            }
            Input::Moved { fetch, from, to } => {
                self.with(fetch, now, fx, |d, cx| d.redirect_located(&from, to, cx));
            }
            Input::RestorePaused(fetch) => {
                self.with(fetch, now, fx, |d, _| d.state = State::Paused);
            }
            Input::Woke => self.woke(now, fx),
            Input::VerifyFailed { fetch, .. } => {
                self.with(fetch, now, fx, Download::unreadable);
            }
        }
    }
}

impl Engine for Fetches {
    type Input = Input;
    type Output = Output;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input, fx: &mut FxOf<Self>) {
        let others = self.about_goodbye(input, fx);
        let others = others.and_then(|input| self.about_tree(now, input, fx));
        if let Some(input) = others.and_then(|input| self.about_spare(input, fx)) {
            self.step(now, input, fx);
        }
        // Whatever it was, it may have ended a download.
        self.take_turns(now, fx);
    }

    fn handle_timeout(&mut self, now: Instant, fx: &mut FxOf<Self>) {
        let spares = self.conns.spares.expire(now);
        for conn in spares.into_iter().chain(self.conns.goodbyes.expire(now)) {
            fx.output(Output::Close { conn });
        }
        for fetch in keys_where(&self.due, |(at, _)| *at <= now) {
            self.with(fetch, now, fx, Download::timeout);
        }
        self.take_turns(now, fx);
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let first = self.due.values().min().copied();
        let others = [self.conns.spares.due(), self.conns.goodbyes.due()];
        [first].into_iter().chain(others).flatten().min()
    }
}
