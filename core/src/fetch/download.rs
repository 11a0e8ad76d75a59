//! One download: its file, its sources, and how it ends.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;

use super::contact::first_contact;
use super::cx::FetchCx;
use super::event::FetchLimit;
use super::proof::check::Checks;
use super::proof::doubt::Doubt;
use super::ranges::RangeSet;
use super::source::{SourceLink, Src};
use super::{
    DownloadSource, Event, FetchAnswer, FetchFailure, FetchView, FileVersion, Get, Output, PartRow,
    SourceTrouble, Ticket, keys_where,
};
use crate::engine::Fx;
use crate::id::{FetchId, FileIndex, Guid, Sha1};
use crate::queue::client::{self, StoredPosition};
use crate::time::Instant;
use crate::wire::http::Target;

/// The state of a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It waits its turn.
    Resting,
    /// Sources are asked.
    Running,
    /// All bytes are there and are being hashed.
    Verifying,
    /// Complete, verified and named.
    Done,
    /// Ended without its file.
    Failed(FetchFailure),
    /// Paused by the user: no source is asked.
    Paused,
}

/// One file from several sources.
#[derive(Debug, Clone)]
pub(super) struct Download {
    pub(super) id: FetchId,
    pub(super) get: Arc<Get>,
    pub(super) state: State,
    /// The SHA-1 it must have: given by the user, or learnt from a source.
    pub(super) sha1: Option<Sha1>,
    pub(super) size: Option<u64>,
    /// The source that told the size, if it was in this run.
    pub(super) size_from: Option<u32>,
    pub(super) have: RangeSet,
    /// Bytes stored since the row was saved.
    pub(super) unsaved: u64,
    /// What has come is saved from then on.
    pub(super) save_at: Instant,
    pub(super) sources: BTreeMap<u32, Box<Src>>,
    next_source: u32,
    /// `GIV`s that are expected, and until when.
    pub(super) givs: Vec<(Guid, FileIndex, Instant)>,
    /// Some source must be reached by then; `None` once one was.
    pub(super) first_contact: Option<Instant>,
    /// Some bytes come from an earlier run, from unknown sources.
    pub(super) resumed: bool,
    /// Which version of the file the bytes are of.
    pub(super) version: FileVersion,
    /// How many times it began anew because the file had become another one.
    pub(super) renewed: u32,
    /// Its sources were replaced: one with another version is given up, and what is
    /// there is kept.
    pub(super) relinked: bool,
    /// How many times the hash did not match.
    pub(super) corrupt: u32,
    pub(super) doubt: Doubt,
    pub(super) checks: Checks,
}

impl Download {
    pub(super) fn new(row: PartRow, cx: &FetchCx<'_>) -> Self {
        let PartRow { fetch, get, size, have, tickets, version } = row;
        // A body of unknown length that nothing vouches for begins anew.
        let begins = size.is_none() && version.is_silent() && get.sha1.is_none();
        let have = RangeSet::new(if begins { &[] } else { &have });
        // A source that told the size or gave a place was reached in an earlier
        // run.
        let strangers = size.is_none() && tickets.is_empty();
        let mut new = Self {
            id: fetch,
            state: State::Resting,
            sha1: get.sha1,
            size,
            size_from: None,
            resumed: have.bytes() > 0,
            have,
            unsaved: 0,
            save_at: cx.now + cx.config.save_interval.scaled(cx.config.time_scale),
            sources: BTreeMap::new(),
            next_source: 0,
            givs: Vec::new(),
            first_contact: first_contact(strangers, cx),
            version,
            renewed: 0,
            relinked: false,
            corrupt: 0,
            doubt: Doubt::default(),
            checks: Checks::default(),
            get,
        };
        for source in new.get.sources.clone().into_iter().take(cx.config.sources as usize) {
            new.add(source, cx);
        }
        for ticket in tickets {
            new.remember(&ticket, cx);
        }
        new
    }

    /// Adds a source; `None` when it is known already.
    pub(super) fn add(&mut self, source: DownloadSource, cx: &FetchCx<'_>) -> Option<u32> {
        let same = |s: &Src| !s.pushed && s.at() == source.at && s.source.target == source.target;
        if self.sources.values().any(|s| same(s)) {
            return None;
        }
        let no = self.next_source;
        self.next_source += 1;
        self.sources.insert(no, Box::new(Src::new(cx.config, source)));
        Some(no)
    }

    /// A source at this address that is asked for the file by hash.
    pub(super) fn by_hash(&self, at: SocketAddr) -> Option<DownloadSource> {
        let target = alloc::format!("{}", Target::Urn(self.sha1?));
        Some(DownloadSource { at, target, host: alloc::format!("{at}") })
    }

    /// Restores a place that survived our restart (PQ-12); its server may be a
    /// source that was learnt.
    fn remember(&mut self, row: &Ticket, cx: &FetchCx<'_>) {
        let known = self.sources.iter().find(|(_, s)| s.at() == row.at).map(|(&no, _)| no);
        let no = match (known, self.by_hash(row.at)) {
            (Some(no), _) => no,
            (None, Some(source)) => match self.add(source, cx) {
                Some(no) => no,
                None => return,
            },
            (None, None) => return,
        };
        let Ticket { ticket, told, not_before, deadline, .. } = *row;
        if let Some(src) = self.sources.get_mut(&no) {
            src.client.restore(StoredPosition { ticket, told, not_before, deadline }, cx.now);
        }
    }

    /// Starts or continues.
    pub(super) fn begin(&mut self, cx: &mut FetchCx<'_>) {
        self.state = State::Running;
        // Waiting for a turn is no time in which a source could be reached.
        self.first_contact = self.first_contact.and_then(|_| first_contact(true, cx));
        let (fetch, name) = (self.id, self.get.name.clone());
        cx.fx.event(Event::Begun { fetch, name: name.clone(), have: self.have.bytes() });
        cx.fx.output(Output::Allocate { fetch, name, size: self.size });
        if self.get.sources.len() > cx.config.sources as usize {
            cx.fx.event(Event::Limit { fetch, limit: FetchLimit::Sources });
        }
        if !self.finish_if_whole(cx) {
            self.check(cx);
            self.wake(cx);
            self.fail_if_lonely(cx);
        }
    }

    /// Continues after a pause or a failure.
    pub(super) fn go_on(&mut self, cx: &mut FetchCx<'_>) {
        if let State::Failed(_) | State::Paused = self.state {
            let Get { name, sha1, .. } = (*self.get).clone();
            self.again(Get { name, sha1, sources: Vec::new() }, cx);
        }
    }

    /// Continues from other sources. What the former ones said of the version says
    /// nothing of these: they are compared by length and overlapping bytes.
    pub(super) fn relink(&mut self, sources: Vec<DownloadSource>, cx: &mut FetchCx<'_>) {
        if matches!(self.state, State::Verifying | State::Done) {
            return;
        }
        self.release_all(cx);
        self.leave_tree(cx);
        self.sources.clear();
        Arc::make_mut(&mut self.get).sources.clear();
        let resumed = !self.have.is_empty();
        self.version = FileVersion { learnt: self.version.learnt, ..FileVersion::default() };
        (self.size_from, self.doubt) = (None, Doubt::default());
        (self.resumed, self.relinked) = (resumed, resumed);
        let Get { name, sha1, .. } = (*self.get).clone();
        self.state = if self.state == State::Resting { State::Resting } else { State::Paused };
        self.again(Get { name, sha1, sources }, cx);
    }

    /// Merges a repeated command into this download and continues it.
    pub(super) fn again(&mut self, get: Get, cx: &mut FetchCx<'_>) {
        for source in get.sources {
            // A source that was redirected is still the same one.
            let moved = self.sources.values().any(|s| s.moves > 0);
            if moved && self.get.sources.contains(&source) {
                continue;
            }
            if self.sources.len() < cx.config.sources as usize
                && self.add(source.clone(), cx).is_some()
            {
                cx.fx.event(Event::Source { fetch: self.id, at: source.at });
                Arc::make_mut(&mut self.get).sources.push(source);
            }
        }
        if let State::Failed(_) | State::Paused = self.state {
            for src in self.sources.values_mut() {
                if !src.pushed {
                    (src.lost, src.failures, src.refusals) = (None, 0, 0);
                }
            }
            let placed = self.sources.values().any(|s| s.client.remembered().is_some());
            self.first_contact = first_contact(self.size.is_none() && !placed, cx);
            self.save(cx);
            self.unpause(cx);
            self.state = State::Resting;
        } else {
            self.save(cx);
        }
        if self.state != State::Resting {
            self.wake(cx);
        }
    }

    /// Asks no source until the user resumes it, even after a restart. When all
    /// bytes are there, it ends as it would have anyway.
    pub(super) fn pause(&mut self, cx: &mut FetchCx<'_>) {
        if !matches!(self.state, State::Running | State::Resting | State::Failed(_)) {
            return;
        }
        self.state = State::Paused;
        self.release_all(cx);
        self.leave_tree(cx);
        self.checks.stop();
        self.save(cx);
        let fetch = self.id;
        cx.fx.output(Output::Paused(fetch, true));
        cx.fx.event(Event::Paused { fetch });
    }

    /// Ends a pause.
    fn unpause(&mut self, cx: &mut FetchCx<'_>) {
        if self.state == State::Paused {
            cx.fx.output(Output::Paused(self.id, false));
        }
    }

    /// Wakes every idle source, to look for something to do.
    pub(super) fn wake(&mut self, cx: &mut FetchCx<'_>) {
        self.begin_pieces_anew();
        self.probe(cx);
        for no in keys_where(&self.sources, |s| s.idle()) {
            if self.state == State::Running && self.sources[&no].idle() {
                self.client(no, client::Input::Want, cx);
            }
        }
    }

    /// Gives an input to the queue client of a source, and carries out its
    /// outputs.
    pub(super) fn client(&mut self, no: u32, input: client::Input, cx: &mut FetchCx<'_>) {
        let Some(src) = self.sources.get_mut(&no) else { return };
        let mut fx = Fx::new();
        crate::engine::Engine::handle(&mut src.client, cx.now, input, &mut fx);
        self.follow(no, fx, cx);
    }

    /// Carries out the outputs of a source's queue client.
    pub(super) fn follow(
        &mut self,
        no: u32,
        mut fx: Fx<client::Output, client::Event>,
        cx: &mut FetchCx<'_>,
    ) {
        for effect in fx.drain() {
            match effect {
                crate::engine::Effect::Output(client::Output::Ask(_)) => self.ask(no, cx),
                crate::engine::Effect::Event(event) => self.tell(no, event, cx),
            }
        }
    }

    fn tell(&self, no: u32, event: client::Event, cx: &mut FetchCx<'_>) {
        let (fetch, src) = (self.id, &self.sources[&no]);
        cx.fx.event(match event {
            client::Event::Lost { why } => Event::PlaceLost { fetch, at: src.at(), why },
            client::Event::Queued { dialect, ticket, position, length, ask_at, deadline } => {
                let conn = src.link.conn().unwrap_or_default();
                Event::Queued { fetch, conn, dialect, ticket, position, length, ask_at, deadline }
            }
        });
    }

    /// The row to be saved.
    fn row(&self, cx: &mut FetchCx<'_>) -> PartRow {
        let tickets = self.sources.values().filter(|s| s.lost.is_none() && !s.pushed);
        let tickets = tickets.filter_map(|s| {
            let StoredPosition { ticket, told, not_before, deadline } = s.client.remembered()?;
            // A restart asks where the user said.
            let at = s.home.as_ref().map_or(s.at(), |(home, _)| home.at);
            Some(Ticket { at, ticket, told, not_before, deadline })
        });
        let most = cx.config.pieces as usize;
        if self.have.as_slice().len() > most {
            cx.fx.event(Event::Limit { fetch: self.id, limit: FetchLimit::Pieces });
        }
        let mut get = Arc::clone(&self.get);
        if get.sha1 != self.sha1 {
            // A hash learnt from a source is required after a restart too.
            Arc::make_mut(&mut get).sha1 = self.sha1;
        }
        PartRow {
            fetch: self.id,
            get,
            size: self.size,
            have: self.proven().largest(most),
            tickets: tickets.collect(),
            version: self.version.clone(),
        }
    }

    /// Saves the download.
    pub(super) fn save(&mut self, cx: &mut FetchCx<'_>) {
        self.unsaved = 0;
        self.save_at = cx.now + cx.config.save_interval.scaled(cx.config.time_scale);
        let row = self.row(cx);
        cx.fx.output(Output::Save(Arc::new(row)));
    }

    /// Closes the connection of a source, if any.
    pub(super) fn release(&mut self, no: u32, cx: &mut FetchCx<'_>) {
        let Some(src) = self.sources.get_mut(&no) else { return };
        if let Some(conn) = src.link.conn() {
            cx.conns.forget(conn);
            cx.fx.output(Output::Close { conn });
        }
        src.link.tell_part(self.id, cx);
        src.link = SourceLink::None;
    }

    /// Leaves the connection of a source to the next download from there, if
    /// nothing is going on on it.
    fn leave(&mut self, no: u32, cx: &mut FetchCx<'_>) {
        let Some(src) = self.sources.get_mut(&no) else { return };
        let SourceLink::Kept { conn } = src.link else { return };
        let free = !src.pushed && src.waiting().is_none() && src.usable();
        let (left, now) = ((src.server(), src.local), cx.now);
        if free && cx.conns.spares.keep(conn, left, (cx.config, now)) {
            cx.conns.forget(conn);
            src.link = SourceLink::None;
        }
    }

    fn release_all(&mut self, cx: &mut FetchCx<'_>) {
        for no in self.sources.keys().copied().collect::<Vec<_>>() {
            self.say_goodbye(no, cx);
            self.release(no, cx);
            self.client(no, client::Input::Rest, cx);
        }
        self.givs.clear();
    }

    /// When every byte is there, and correct as far as the pieces tell: closes
    /// all connections and has the file hashed.
    pub(super) fn finish_if_whole(&mut self, cx: &mut FetchCx<'_>) -> bool {
        let Some(size) = self.size.filter(|_| self.has_all()) else { return false };
        if self.state != State::Running || !self.all_proven() || !self.pieces_agree(size, cx) {
            return false;
        }
        self.state = State::Verifying;
        for no in self.sources.keys().copied().collect::<Vec<_>>() {
            self.leave(no, cx);
        }
        self.release_all(cx);
        self.save(cx);
        cx.fx.event(Event::Verifying { fetch: self.id, bytes: size });
        cx.fx.output(Output::Verify { fetch: self.id });
        true
    }

    /// The file was hashed.
    pub(super) fn verified(&mut self, found: Option<Sha1>, cx: &mut FetchCx<'_>) {
        if self.state != State::Verifying {
            return;
        }
        let (fetch, bytes) = (self.id, self.size.unwrap_or_default());
        match (self.sha1, found) {
            (Some(_), None) => self.unreadable(cx),
            (Some(expected), Some(found)) if expected != found => {
                cx.fx.event(Event::Corrupt { fetch, expected, found });
                if !self.ask_the_pieces(cx) {
                    self.refetch(cx);
                }
            }
            _ => {
                self.convict(cx);
                self.leave_tree(cx);
                self.state = State::Done;
                self.tell_unvouched(cx);
                cx.fx.output(Output::Complete { fetch });
                cx.fx.output(Output::Forget(fetch));
                cx.fx.event(Event::Done { fetch, bytes, sha1: found });
                cx.fx.output(Output::Answer(FetchAnswer::Fetched { fetch, bytes, sha1: found }));
            }
        }
    }

    /// The bytes are there but cannot be read.
    pub(super) fn unreadable(&mut self, cx: &mut FetchCx<'_>) {
        if self.state == State::Verifying || self.checks.hashes() || self.doubt.probe.is_some() {
            self.fail(FetchFailure::Disk, cx);
        }
    }

    /// Gives a source up for good. If only this source told the size, the size
    /// is forgotten too.
    pub(super) fn lose(&mut self, no: u32, why: SourceTrouble, cx: &mut FetchCx<'_>) {
        if why.is_about_its_bytes() {
            self.say_goodbye(no, cx);
        }
        self.release(no, cx);
        let Some(src) = self.sources.get_mut(&no) else { return };
        (src.lost, src.trouble) = (Some(why), Some(why));
        let had_place = src.client.remembered().is_some();
        self.drop_unproven(no);
        let Some(src) = self.sources.get_mut(&no) else { return };
        src.client = Src::new(cx.config, src.source.clone()).client;
        let (at, gave) = (src.at(), src.gave);
        cx.fx.event(Event::SourceLost { fetch: self.id, at, why });
        if self.size_from == Some(no) && !gave {
            self.doubt_size();
            if let Some(src) = self.sources.get_mut(&no) {
                src.lost = Some(why);
            }
        }
        if self.state == State::Running {
            if had_place {
                self.save(cx);
            }
            self.ask_those_beside(at, no, cx);
            self.wake(cx);
            self.fail_if_lonely(cx);
        }
    }

    /// Fails when no source is left to ask.
    pub(super) fn fail_if_lonely(&mut self, cx: &mut FetchCx<'_>) {
        let alone = self.sources.values().all(|s| !s.usable()) && self.givs.is_empty();
        if self.state != State::Running || !alone || self.has_all() {
            return;
        }
        if !self.doubt_tree(cx) && !self.ask_those_left_out(cx) {
            self.fail(FetchFailure::NoSource, cx);
        }
    }

    /// Ends without the file. The bytes are kept for another attempt, unless
    /// they are wrong or the user cancelled.
    pub(super) fn fail(&mut self, why: FetchFailure, cx: &mut FetchCx<'_>) {
        self.state = State::Failed(why);
        self.release_all(cx);
        self.leave_tree(cx);
        self.checks.stop();
        match why {
            FetchFailure::Cancelled | FetchFailure::Corrupt | FetchFailure::TooMany => {
                cx.fx.output(Output::Forget(self.id));
            }
            FetchFailure::NoSource | FetchFailure::Disk => self.save(cx),
        }
        cx.fx.event(Event::Failed { fetch: self.id, why });
        cx.fx.output(Output::Answer(FetchAnswer::Failed { fetch: self.id, why }));
    }

    /// The next deadline.
    pub(super) fn due(&self) -> Option<(Instant, &'static str)> {
        if self.state != State::Running {
            return None;
        }
        let givs = self.givs.iter().map(|&(_, _, until)| (until, "giv"));
        let contact = self.first_contact.map(|until| (until, "first contact"));
        let tree = self.checks.asking.as_ref().map(|asking| (asking.until, "tree"));
        self.sources.values().filter_map(|s| s.due()).chain(givs).chain(contact).chain(tree).min()
    }

    pub(super) fn view(&self) -> FetchView {
        FetchView {
            fetch: self.id.0,
            name: self.get.name.clone(),
            size: self.size,
            have: self.have.bytes(),
            front: self.checks.trusted(&self.proven()).front(),
            sources: self.sources.values().map(|s| s.view()).collect(),
            state: alloc::string::String::from(match self.state {
                State::Resting => "waiting",
                State::Running => "running",
                State::Verifying => "verifying",
                State::Done => "done",
                State::Failed(FetchFailure::NoSource) => "no source",
                State::Failed(FetchFailure::Disk) => "disk failed",
                State::Failed(FetchFailure::Corrupt) => "corrupt",
                State::Failed(FetchFailure::Cancelled) => "cancelled",
                State::Failed(FetchFailure::TooMany) => "too many downloads",
                State::Paused => "paused",
            }),
        }
    }
}
