//! Handles what a source sends or fails to send: replies, bytes, timeouts and
//! lost connections.

use alloc::string::String;
use core::net::{IpAddr, SocketAddr};

use super::alts::{check_location, teller};
use super::cx::FetchCx;
use super::download::{Download, State};
use super::event::FetchLimit;
use super::ranges::{ByteRange, RangeSet};
use super::reply::{self, FetchRequest, SourceReply, TakenEncodings};
use super::source::{Receiving, SourceLink, Src, stall_window};
use super::{DownloadSource, Event, Output, SourceTrouble, keys_where};
use crate::id::{ConnId, FileIndex};
use crate::queue::client;
use crate::wire::http::{Alts, AvailableRanges, ResponseHead, Target, disposed_name};
use crate::wire::queue::{PositionClaim, QueueReply};

/// The bytes that a reply announces, beside those it was asked for.
struct OfferedBody {
    asked: ByteRange,
    given: ByteRange,
    size: Option<u64>,
    /// True when the reply taught something of the file that has to be saved.
    learnt: bool,
}

impl Download {
    /// The head of a reply.
    pub(super) fn reply(&mut self, no: u32, head: &ResponseHead, cx: &mut FetchCx<'_>) {
        self.read(no, head, cx);
        self.ask_for_tree(cx);
    }

    /// A source begins to send bytes: they are taken if they belong to the file
    /// that is being downloaded.
    fn take_body(
        &mut self,
        no: u32,
        offered: OfferedBody,
        head: &ResponseHead,
        cx: &mut FetchCx<'_>,
    ) {
        let OfferedBody { asked, given, size, learnt } = offered;
        if given.0 < asked.0 && !self.only(no) {
            // The range was ignored. A sole source may start at the beginning
            // again; among several, it would only repeat the others.
            return self.lose(no, SourceTrouble::RangeUnavailable, cx);
        }
        if !self.goes_with_the_others(no, head) {
            return self.keep_back(no, SourceTrouble::Unlike, cx);
        }
        if self.must_overlap(no, given.0, head, cx) || self.only_repeats(no, given, cx) {
            return;
        }
        let first = self.have.is_empty();
        self.note_version(no, given, head);
        if first {
            let modified = self.version.modified.clone();
            cx.fx.event(Event::Described { fetch: self.id, size, modified });
        }
        self.believe(no, size);
        self.receive(no, (given, None), head, cx);
        if learnt {
            self.save(cx);
        }
    }

    fn read(&mut self, no: u32, head: &ResponseHead, cx: &mut FetchCx<'_>) {
        let Some(src) = self.sources.get(&no) else { return };
        let SourceLink::Asked { range, .. } = src.link else {
            return self.trouble(no, SourceTrouble::Garbage, cx);
        };
        if let Some(src) = self.sources.get_mut(&no) {
            src.reused = false;
        }
        if self.is_another_version(no, head) && !self.meet_another_version(no, head, cx) {
            return;
        }
        let range = self.sources.get(&no).and_then(|src| src.link.in_flight()).unwrap_or(range);
        let reply = self.understand(no, head, range, cx);
        let queued = matches!(reply, SourceReply::Told(QueueReply::Place(_)));
        if let (400.., Some(src), false) = (head.status, self.sources.get(&no), queued) {
            let (fetch, at, status) = (self.id, src.at(), head.status);
            cx.fx.event(Event::Status { fetch, at, status });
        }
        let status = Some(head.status).filter(|status| *status >= 400 && !queued);
        self.sources.entry(no).and_modify(|src| src.status = status);
        let learnt = reply != SourceReply::Interim && self.learn(no, head, cx);
        match reply {
            SourceReply::Interim => {}
            SourceReply::Body { range: given, size } => {
                self.take_body(no, OfferedBody { asked: range, given, size, learnt }, head, cx);
            }
            SourceReply::Open { chunked } => self.take_to_the_end(no, (head, chunked), cx),
            SourceReply::Empty => {
                // Bytes that are there are of another version.
                (self.size, self.have) = (Some(0), RangeSet::default());
                self.note_version(no, (0, 0), head);
                self.allocate(cx);
                self.finish_if_whole(cx);
            }
            SourceReply::Told(QueueReply::Busy { .. })
                if head.headers.get("Location").is_some() =>
            {
                self.redirected(no, head, cx);
            }
            SourceReply::Told(told) => {
                self.receive_position(no, told, head, cx);
                // The range it was asked for is free for others again.
                self.wake(cx);
            }
            SourceReply::Unsatisfiable { size } => {
                // Among several sources, only one that sends bytes is believed.
                if self.size.is_none() && size.is_some() && self.only(no) {
                    self.believe(no, size);
                    self.release(no, cx);
                    self.allocate(cx);
                    if !self.finish_if_whole(cx) {
                        self.wake(cx);
                    }
                } else {
                    self.trouble(no, SourceTrouble::RangeUnavailable, cx);
                }
            }
            SourceReply::Moved => self.redirected(no, head, cx),
            SourceReply::Trouble(why) => self.trouble(no, why, cx),
            SourceReply::Useless(why) => {
                if !self.ask_otherwise(no, head, cx) {
                    self.lose(no, why, cx);
                }
            }
        }
    }

    /// What a reply to a request for this range means.
    fn understand(
        &self,
        no: u32,
        head: &ResponseHead,
        range: ByteRange,
        cx: &mut FetchCx<'_>,
    ) -> SourceReply {
        let (size, sha1, largest) = (self.size, self.sha1, cx.config.largest);
        let decodes = cx.config.decodes && sha1.is_none() && self.sources.len() == 1;
        let target = self.sources.get(&no).map_or("", |src| &src.source.target);
        let encodings = TakenEncodings::of_file(&self.get.name, target, decodes);
        let now = cx.now;
        let asked = FetchRequest { range, size, sha1, largest, encodings, now };
        let reply = reply::read(head, &asked);
        if let SourceReply::Body { .. } | SourceReply::Open { .. } = reply {
            self.tell_body(head, encodings, cx);
        }
        reply
    }

    /// Tells the host what a reply says of its body.
    fn tell_body(&self, head: &ResponseHead, taken: TakenEncodings, cx: &mut FetchCx<'_>) {
        let fetch = self.id;
        if let Ok(Some(encoding)) = taken.to_decode(head) {
            cx.fx.event(Event::Encoded { fetch, encoding });
        }
        if let Some(name) = disposed_name(&head.headers) {
            cx.fx.event(Event::Named { fetch, name });
        }
    }

    /// A refusal may be about how the file was named: some servents know only
    /// hashes, some only numbers (RT-16); and a source whose own hash is asked for
    /// may have another file under that name by now, which begins anew. True when
    /// there is another way to ask.
    fn ask_otherwise(&mut self, no: u32, head: &ResponseHead, cx: &mut FetchCx<'_>) -> bool {
        let (sha1, learnt) = (self.sha1, self.version.learnt);
        let Some(src) = self.sources.get_mut(&no) else { return false };
        let refused = (400..500).contains(&head.status);
        let unhashed = learnt && head.status == 404 && !src.unhashed;
        if !refused || !unhashed && (src.otherwise || src.second(sha1).is_none()) {
            return false;
        }
        let body = head.content_length().filter(|&body| body <= cx.config.refusal_body);
        let conn = src.link.conn().filter(|_| head.keep_alive()).zip(body);
        if src.pushed && conn.is_none() {
            return false;
        }
        (src.unhashed, src.otherwise) = (src.unhashed || unhashed, src.otherwise || !unhashed);
        match conn {
            Some((conn, body)) => {
                src.link = SourceLink::Kept { conn };
                if body > 0 {
                    cx.fx.output(Output::Skip { conn, bytes: body });
                }
            }
            None => self.release(no, cx),
        }
        self.client(no, client::Input::Want, cx);
        true
    }

    /// True when no other source is left to ask.
    pub(super) fn only(&self, no: u32) -> bool {
        self.sources.iter().all(|(&n, s)| n == no || !s.usable())
    }

    /// Takes the size from the first source that tells it.
    pub(super) fn believe(&mut self, no: u32, size: Option<u64>) {
        if self.size.is_none() && size.is_some() {
            (self.size, self.size_from) = (size, Some(no));
        }
    }

    pub(super) fn allocate(&self, cx: &mut FetchCx<'_>) {
        let (fetch, name) = (self.id, self.get.name.clone());
        cx.fx.output(Output::Allocate { fetch, name, size: self.size });
    }

    /// The whole file is sent from the beginning although a part of it is there:
    /// progress that is made anew each time is no sign that it will ever end. True
    /// when that was done too often, and the source is given up.
    fn only_repeats(&mut self, no: u32, given: ByteRange, cx: &mut FetchCx<'_>) -> bool {
        let again = given.0 == 0 && self.have.gaps((0, 1)).is_empty();
        let Some(src) = self.sources.get_mut(&no).filter(|_| again) else {
            return false;
        };
        src.opened = src.opened.max(1) + 1;
        let many = src.opened > cx.config.attempts;
        if many {
            self.lose(no, SourceTrouble::Disconnected, cx);
        }
        many
    }

    /// The bytes of a range follow; or, with `open`, a body of unknown length,
    /// chunked or not.
    pub(super) fn receive(
        &mut self,
        no: u32,
        (range, open): (ByteRange, Option<bool>),
        head: &ResponseHead,
        cx: &mut FetchCx<'_>,
    ) {
        let sized = self.size_from == Some(no) && self.have.bytes() == 0;
        let Some(src) = self.sources.get_mut(&no) else { return };
        let Some(conn) = src.link.conn() else { return };
        src.touched.insert(range);
        src.note_leave(head);
        (src.beside, src.unreached) = (None, 0);
        self.probe_begins(no, range);
        let Some(src) = self.sources.get_mut(&no) else { return };
        src.link = SourceLink::Receiving(Receiving {
            conn,
            range,
            stored: 0,
            reuse: head.keep_alive(),
            judged_at: cx.now + stall_window(cx),
            judged_from: 0,
        });
        let before = src.client.remembered();
        self.client(no, client::Input::Served(PositionClaim::parse(&head.headers).ticket), cx);
        if before != self.sources[&no].client.remembered() || sized {
            self.save(cx);
        }
        if sized {
            self.allocate(cx);
        }
        let (fetch, (start, end)) = (self.id, range);
        cx.fx.event(Event::Receiving { fetch, conn, start, end });
        cx.fx.output(match open {
            None => Output::Store { conn, fetch, start, end },
            Some(chunked) => Output::StoreBody { conn, fetch, chunked },
        });
        self.wake(cx);
    }

    /// A place in a queue, or busy.
    fn receive_position(
        &mut self,
        no: u32,
        told: QueueReply,
        head: &ResponseHead,
        cx: &mut FetchCx<'_>,
    ) {
        let Some(src) = self.sources.get_mut(&no) else { return };
        let Some(conn) = src.link.conn() else { return };
        (src.failures, src.moves, src.beside, src.unreached) = (0, 0, None, 0);
        src.note_leave(head);
        match told {
            QueueReply::Place(place) => {
                src.refusals = 0;
                self.client(no, client::Input::Told(place), cx);
                // Some servers leave out the length of an empty body.
                let body = head.content_length().unwrap_or_default();
                // The id is on disk before anything else happens (PQ-12).
                self.save(cx);
                if !place.keep || body > cx.config.refusal_body {
                    return self.release(no, cx);
                }
                if body > 0 {
                    cx.fx.output(Output::Skip { conn, bytes: body });
                }
                if let Some(src) = self.sources.get_mut(&no) {
                    src.link = SourceLink::Kept { conn };
                }
            }
            QueueReply::Busy { retry_after } => {
                src.refusals += 1;
                if (1..=src.refusals).contains(&cx.config.refusals) {
                    return self.lose(no, SourceTrouble::Busy, cx);
                }
                let pause =
                    retry_after.unwrap_or(cx.config.busy_retry.scaled(cx.config.time_scale));
                self.client(no, client::Input::Busy(Some(pause)), cx);
                self.sources.entry(no).and_modify(|src| src.trouble = Some(SourceTrouble::Busy));
                self.release(no, cx);
                self.waiting(no, self.sources[&no].at(), SourceTrouble::Busy, cx);
                if self.sources[&no].pushed {
                    self.lose(no, SourceTrouble::Busy, cx);
                }
            }
        }
    }

    /// Says that a source is asked again later, because of what happened at this
    /// address, which may be that of another member of its site.
    pub(super) fn waiting(
        &self,
        no: u32,
        at: SocketAddr,
        why: SourceTrouble,
        cx: &mut FetchCx<'_>,
    ) {
        if let Some(ask_at) = self.sources[&no].client.ask_at() {
            cx.fx.event(Event::Waiting { fetch: self.id, at, why, ask_at });
        }
    }

    /// Learns what else a reply says: the hash, the ranges a partial source
    /// has, and alternate locations. True when the hash is new.
    fn learn(&mut self, no: u32, head: &ResponseHead, cx: &mut FetchCx<'_>) -> bool {
        let Some(src) = self.sources.get_mut(&no) else { return false };
        let told = head.headers.get("X-Available-Ranges");
        if told.is_some() || matches!(head.status, 200 | 206) {
            src.available = told.and_then(AvailableRanges::parse);
        }
        let teller = teller(&src.source);
        let unknown = self.sha1.is_none();
        if let (None, Some(sha1), 200 | 206) = (self.sha1, reply::content_sha1(head), head.status) {
            (self.sha1, self.version.learnt) = (Some(sha1), true);
            cx.fx.event(Event::HashLearnt { fetch: self.id, sha1 });
        }
        if self.sha1.is_some() {
            let alts = Alts::parse(&head.headers.joined("X-Alt"));
            for at in alts.0.into_iter().take(cx.config.alts_per_reply as usize) {
                self.alternate(at, teller, cx);
            }
        }
        self.hear_of_tree(no, head);
        unknown && self.sha1.is_some()
    }

    fn alternate(&mut self, at: SocketAddr, teller: IpAddr, cx: &mut FetchCx<'_>) {
        let known = self.sources.values().any(|s| s.at() == at);
        if known || cx.speech.callback == Some(at) {
            return;
        }
        let at_ip = self.sources.values().filter(|s| s.at().ip() == at.ip()).count();
        let verdict = check_location(cx.config, at, teller, at_ip, self.sources.len());
        if let Err(why) = verdict {
            cx.fx.event(Event::AltRefused { fetch: self.id, at, why });
            return;
        }
        let Some(source) = self.by_hash(at) else { return };
        if let Some(no) = self.add(source, cx) {
            if let Some(src) = self.sources.get_mut(&no) {
                src.told = true;
            }
            cx.fx.event(Event::Source { fetch: self.id, at });
            self.client(no, client::Input::Want, cx);
        }
    }

    /// Bytes are safe on disk, counted from the start of the range.
    pub(super) fn stored(&mut self, no: u32, bytes: u64, cx: &mut FetchCx<'_>) {
        let Some(src) = self.sources.get_mut(&no) else { return };
        let SourceLink::Receiving(transfer) = &mut src.link else { return };
        let (start, end) = transfer.range;
        let upto = bytes.min(end - start);
        if upto <= transfer.stored {
            return;
        }
        let fresh = (start + transfer.stored, start + upto);
        transfer.stored = upto;
        transfer.judge(cx);
        let Receiving { conn, reuse, .. } = *transfer;
        let before = self.have.bytes();
        self.have.insert(fresh);
        self.checks.written(fresh);
        src.wrote.insert(fresh);
        let gained = self.have.bytes() - before;
        self.unsaved += gained;
        src.gave = true;
        src.trouble = None;
        if gained > 0 {
            // Bytes we already had are no progress: a liar could repeat them.
            (src.failures, src.refusals) = (0, 0);
        }
        let done = fresh.1 == end;
        if done {
            cx.fx.event(Event::Stored { fetch: self.id, start, end });
            if reuse {
                src.link = SourceLink::Kept { conn };
            } else {
                self.release(no, cx);
            }
        }
        if done {
            self.probe_stored(no, cx);
        }
        if self.finish_if_whole(cx) {
            return;
        }
        self.probe(cx);
        self.check(cx);
        let due = self.unsaved >= cx.config.save_bytes || cx.now >= self.save_at;
        if done || due {
            self.save(cx);
        }
        if done {
            self.client(no, client::Input::Want, cx);
        }
        self.prune(cx);
    }

    /// A connection is lost.
    pub(super) fn closed(&mut self, no: u32, cx: &mut FetchCx<'_>) {
        let Some(src) = self.sources.get_mut(&no) else { return };
        let idle = matches!(src.link, SourceLink::Kept { .. }) && src.waiting().is_none();
        let stale =
            core::mem::take(&mut src.reused) && matches!(src.link, SourceLink::Asked { .. });
        if let Some(conn) = src.link.conn() {
            cx.conns.forget(conn);
        }
        src.link.tell_part(self.id, cx);
        src.link = SourceLink::None;
        if stale {
            // Closed before it read the request: that is no failure of it.
            return self.dial(no, cx);
        }
        if idle && !src.pushed {
            self.doubt_unvouched(no);
            return self.probe(cx);
        }
        self.trouble(no, SourceTrouble::Disconnected, cx);
    }

    /// A dial failed.
    pub(super) fn unreachable(&mut self, no: u32, cx: &mut FetchCx<'_>) {
        if let Some(src) = self.sources.get_mut(&no) {
            src.link = SourceLink::None;
        }
        self.trouble(no, SourceTrouble::Unreachable, cx);
    }

    /// A failure that may be temporary.
    pub(super) fn trouble(&mut self, no: u32, why: SourceTrouble, cx: &mut FetchCx<'_>) {
        self.release(no, cx);
        let Some(src) = self.sources.get_mut(&no) else { return };
        src.failures += 1;
        let at = src.at();
        self.doubt_unvouched(no);
        let Some(src) = self.sources.get_mut(&no) else { return };
        let repeats = src.opened > 1 && src.opened >= cx.config.attempts;
        if src.pushed || repeats || src.failures >= cx.config.attempts {
            return self.lose(no, why, cx);
        }
        src.trouble = Some(why);
        let usual = src.pause(cx.config);
        let mut pause = self.back_home(no, cx).unwrap_or(usual);
        if self.first_contact.is_some() {
            pause = pause.min(cx.config.first_contact.ratio(1, 5).scaled(cx.config.time_scale));
        }
        self.client(no, client::Input::Broken(pause), cx);
        self.waiting(no, at, why, cx);
        self.ask_those_beside(at, no, cx);
        if self.unsaved > 0 {
            self.save(cx);
        }
        self.wake(cx);
    }

    /// What came is not HTTP. A server of which nothing else is known speaks something
    /// else, and is not asked again.
    pub(super) fn garbled(&mut self, no: u32, cx: &mut FetchCx<'_>) {
        let Some(src) = self.sources.get(&no) else { return };
        match src.gave || src.version.is_some() || src.client.remembered().is_some() {
            true => self.trouble(no, SourceTrouble::Garbage, cx),
            false => self.lose(no, SourceTrouble::Garbage, cx),
        }
    }

    /// Runs all expired timers.
    pub(super) fn timeout(&mut self, cx: &mut FetchCx<'_>) {
        self.give_up_strangers(cx);
        if self.checks.asking.as_ref().is_some_and(|asking| asking.until <= cx.now) {
            self.no_tree(cx);
        }
        let due = |s: &Src| s.due().is_some_and(|(at, _)| at <= cx.now);
        for no in keys_where(&self.sources, |s| due(s)) {
            self.source_due(no, cx);
        }
        self.givs.retain(|&(_, _, until)| until > cx.now);
        self.fail_if_lonely(cx);
    }

    /// Runs the expired timers of a source.
    fn source_due(&mut self, no: u32, cx: &mut FetchCx<'_>) {
        let Some(src) = self.sources.get_mut(&no) else { return };
        let mut fx = crate::engine::Fx::new();
        crate::engine::Engine::handle_timeout(&mut src.client, cx.now, &mut fx);
        let late = src.link.until().is_some_and(|(until, _)| until <= cx.now);
        let link = src.link;
        self.follow(no, fx, cx);
        match link {
            _ if !late || self.state != State::Running => {}
            SourceLink::Dialing { .. } => self.trouble(no, SourceTrouble::Unreachable, cx),
            SourceLink::Asked { .. } | SourceLink::Receiving(_) => {
                self.trouble(no, SourceTrouble::Stalled, cx);
            }
            SourceLink::None | SourceLink::Kept { .. } => {}
        }
    }

    /// A servent that we expected connected to us. The file is requested by its
    /// hash if that is known: file numbers change, and some servents answer
    /// only hashes.
    pub(super) fn given(
        &mut self,
        conn: ConnId,
        peer: SocketAddr,
        (index, name): (FileIndex, String),
        cx: &mut FetchCx<'_>,
    ) {
        let fetch = self.id;
        let name = if self.sha1.is_some() { self.get.name.clone() } else { name };
        let file = Target::File { index, name };
        let target = match self.sha1 {
            Some(sha1) => alloc::format!("{}#{file}", Target::Urn(sha1)),
            None => alloc::format!("{file}"),
        };
        let source = DownloadSource { at: peer, target, host: alloc::format!("{peer}") };
        if self.sources.len() >= cx.config.sources as usize {
            cx.fx.event(Event::Limit { fetch, limit: FetchLimit::Sources });
            cx.fx.output(Output::Close { conn });
            return self.fail_if_lonely(cx);
        }
        let Some(no) = self.add(source, cx) else {
            cx.fx.output(Output::Close { conn });
            return self.fail_if_lonely(cx);
        };
        if let Some(src) = self.sources.get_mut(&no) {
            (src.pushed, src.link) = (true, SourceLink::Kept { conn });
        }
        self.first_contact = None;
        cx.conns.adopt(conn, fetch, no);
        cx.fx.event(Event::Source { fetch, at: peer });
        self.client(no, client::Input::Want, cx);
    }

    /// A server calls us about a place of ours (PQ-8). Only the server knows
    /// the id, so this connection replaces any other we have with it. Its new
    /// address is accepted if it is the one it calls from.
    pub(super) fn called(
        &mut self,
        no: u32,
        conn: ConnId,
        from: (SocketAddr, Option<SocketAddr>),
        cx: &mut FetchCx<'_>,
    ) {
        self.release(no, cx);
        let Some(src) = self.sources.get_mut(&no) else { return };
        let Some(ticket) = src.client.claim().ticket else { return };
        let (peer, server) = from;
        if let Some(at) = server.filter(|at| at.ip() == peer.ip() && *at != src.at()) {
            self.calls_from(no, at, cx);
            let Some(src) = self.sources.get_mut(&no) else { return };
            src.source.at = at;
            src.source.host = alloc::format!("{at}");
            cx.fx.event(Event::Source { fetch: self.id, at });
        }
        let Some(src) = self.sources.get_mut(&no) else { return };
        src.link = SourceLink::Kept { conn };
        (src.failures, src.beside) = (0, None);
        self.first_contact = None;
        cx.conns.adopt(conn, self.id, no);
        cx.fx.event(Event::CalledBack { fetch: self.id, conn, ticket });
        self.save(cx);
        self.client(no, client::Input::Called, cx);
    }
}
