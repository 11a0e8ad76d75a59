//! The services of a node, side by side: who is told what, and what one wants of
//! another. No service calls another.

use alloc::boxed::Box;

use super::connections::{ConnEnds, Owner};
use super::cx::{CrossWish, NodeCx, Passed};
use super::datagrams::Datagrams;
use super::downloads::Downloads;
use super::event::clip;
use super::http::Http;
use super::lines::{self, First};
use super::meet::Meetings;
use super::overlay::OverlayService;
use super::service::Service;
use super::swarm::Swarm;
use super::{
    Config, ConnEvent, ConnInput, DialError, DiskInput, MessageInput, Misuse, NodeLimit, SiteInput,
};
use crate::engine::earlier;
use crate::id::ConnId;
use crate::rng::Rng;
use crate::time::Instant;
use crate::wire::queue::SignalLine;

/// The services of a node.
#[derive(Debug, Clone)]
pub(super) struct Services {
    pub(super) http: Http,
    pub(super) downloads: Downloads,
    /// `None` when not configured; the next three as well.
    pub(super) overlay: Option<Box<OverlayService>>,
    pub(super) datagrams: Option<Box<Datagrams>>,
    pub(super) meetings: Option<Box<Meetings>>,
    pub(super) swarm: Option<Box<Swarm>>,
}

impl Services {
    pub(super) fn new(config: &Config, root: &Rng) -> Self {
        let overlay = config.overlay.enabled;
        let overlay = overlay.then(|| Box::new(OverlayService::new(&config.overlay, root)));
        let datagrams = config.datagrams.as_ref();
        let datagrams =
            datagrams.map(|config| Box::new(Datagrams::new(config, root.fork("datagrams", 0))));
        let meetings = config.meet.as_ref().map(|config| Box::new(Meetings::new(config, root)));
        let swarm = config.swarm.is_on().then(|| Box::new(Swarm::new(&config.swarm, root)));
        let http = Http::new(config.queue, root);
        Self { http, downloads: Downloads::new(config), overlay, datagrams, meetings, swarm }
    }

    /// Handles what happened on a connection.
    pub(super) fn connection(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, input: ConnInput) {
        match input {
            ConnInput::Accepted { peer, local } => {
                accept(cx, conn, ConnEnds { peer, local });
                // Without an address of ours it came another way, such as by a meeting:
                // that others can connect to us it does not prove.
                if let Some(overlay) = self.overlay.as_mut().filter(|_| local.is_some()) {
                    overlay.reached_from(cx, peer.ip());
                }
            }
            ConnInput::Bytes { data } => cx.io.receive(conn, data),
            ConnInput::Dialed { .. } => {
                if let Some(owner) = dialing(cx, conn) {
                    cx.io.dialed(conn);
                    cx.tell(ConnEvent::Dialed { conn });
                    self.on(cx, owner, conn, input);
                }
            }
            ConnInput::DialFailed { why } => self.dial_failed(cx, conn, why),
            ConnInput::Closed => self.closed(cx, conn),
            // What was answered on a connection that we have closed since may
            // still wait to be said.
            ConnInput::Retracted { several } => self.http.retract_replies(cx, conn, several),
            input => {
                if let Some(owner) = cx.io.open(conn).map(|state| state.owner) {
                    self.on(cx, owner, conn, input);
                }
            }
        }
    }

    fn dial_failed(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, why: DialError) {
        if cx.io.get(conn).is_some_and(|state| state.is_closing()) {
            // Closed by us while the dial was under way.
            return self.closed(cx, conn);
        }
        if let Some(owner) = dialing(cx, conn) {
            cx.io.remove(conn);
            cx.tell(ConnEvent::DialFailed { conn, why });
            self.on(cx, owner, conn, ConnInput::DialFailed { why });
        }
    }

    fn closed(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        let Some(gone) = cx.io.remove(conn) else { return };
        cx.tell(ConnEvent::Closed { conn });
        // The owner of one that we have closed has let it go already.
        if !gone.is_closing() {
            self.on(cx, gone.owner, conn, ConnInput::Closed);
        }
    }

    /// Tells the owner of a connection what happened on it.
    fn on(&mut self, cx: &mut NodeCx<'_>, owner: Owner, conn: ConnId, input: ConnInput) {
        match owner {
            Owner::Undecided | Owner::Http => self.http.on(cx, conn, input),
            Owner::Downloads => self.downloads.on(cx, conn, input),
            Owner::Overlay => self.overlay.on(cx, conn, input),
            Owner::Swarm => self.swarm.on(cx, conn, input),
        }
    }

    fn read(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        match cx.io.open(conn).map(|state| state.owner) {
            None => {}
            Some(Owner::Undecided) => self.decide(cx, conn),
            Some(Owner::Http) => self.http.read(cx, conn),
            Some(Owner::Downloads) => self.downloads.read(cx, conn),
            Some(Owner::Overlay) => self.overlay.read(cx, conn),
            Some(Owner::Swarm) => self.swarm.read(cx, conn),
        }
    }

    /// The first line of a connection decides which service it belongs to; from
    /// then on that service reads it.
    fn decide(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        let Some(state) = cx.io.open(conn) else { return };
        let frames = self.swarm.as_ref().is_some_and(|swarm| swarm.takes_frames());
        match lines::first(&state.unread, cx.config.limits.head_bytes, frames) {
            First::More => state.drop_read(0),
            First::Http => {
                let taken = self.swarm.as_mut().is_some_and(|swarm| swarm.asked(cx, conn));
                if !taken {
                    self.http.read(cx, conn);
                }
            }
            First::Frame => {
                if let Some(swarm) = &mut self.swarm {
                    swarm.opened(cx, conn);
                }
            }
            First::Overlay if self.overlay.is_some() => {
                cx.io.pass_to(conn, Owner::Overlay);
                self.overlay.read(cx, conn);
            }
            First::Line(line, used) => {
                state.drop_read(used);
                cx.tell(ConnEvent::Line { conn, line: clip(&line) });
                match SignalLine::parse(line.as_bytes()) {
                    Some(_) if !cx.config.download => {
                        self.http.close(cx, conn, true, "nothing is downloaded here");
                    }
                    Some(line) => self.downloads.invited(cx, conn, line),
                    None => self.http.refuse(cx, conn, NodeLimit::Garbage, None),
                }
            }
            First::Tls => {
                cx.io.write(conn, lines::PLAIN.into(), cx.fx);
                self.http.close(cx, conn, true, "it speaks TLS, and we do not");
            }
            First::Overlay | First::Garbage => self.http.refuse(cx, conn, NodeLimit::Garbage, None),
        }
    }

    /// Reads the connections that are ready again, and does what services want
    /// of each other, until nothing is left. Called at the end of every call of
    /// the node, so that no service has to remember it.
    pub(super) fn settle(&mut self, cx: &mut NodeCx<'_>) {
        loop {
            if let Some(wish) = cx.wishes.pop_front() {
                self.grant(cx, wish);
            } else if let Some(conn) = cx.io.next_ready() {
                self.read(cx, conn);
            } else {
                return;
            }
        }
    }

    fn grant(&mut self, cx: &mut NodeCx<'_>, wish: CrossWish) {
        match wish {
            CrossWish::Push(wish) => {
                let passed = match &mut self.overlay {
                    Some(overlay) => overlay.pass_push(cx, &wish),
                    None => Passed::Unknown,
                };
                self.http.push_answered(cx, &wish, passed);
            }
            CrossWish::Giv { to, index } => {
                self.http.offer_file(cx, to, index);
            }
            CrossWish::Route { peer, to } => {
                self.datagrams.iter_mut().for_each(|datagrams| datagrams.route(cx, peer, to));
            }
        }
    }

    /// What is in the shared folders and in the inbox has changed.
    pub(super) fn disk(&mut self, cx: &mut NodeCx<'_>, input: DiskInput) {
        match input {
            DiskInput::Shared(info) => {
                if let Some(overlay) = &mut self.overlay {
                    overlay.shares(cx, &info);
                }
                cx.shelf.files.put(info);
            }
            DiskInput::Unshared { index } if cx.shelf.files.get(index).is_none() => {
                cx.tell(ConnEvent::Misuse { fault: Misuse::UnknownFile { index } });
            }
            DiskInput::Unshared { index } => {
                if let Some(overlay) = &mut self.overlay {
                    overlay.lacks(cx, index);
                }
                cx.shelf.files.remove(index);
            }
            DiskInput::Inbox { held } => self.http.inbox(held),
        }
    }

    /// About datagrams. What is about meetings is taken out first.
    pub(super) fn messages(&mut self, cx: &mut NodeCx<'_>, input: MessageInput) {
        let Some(meetings) = &mut self.meetings else { return self.unsifted(cx, input) };
        let MessageInput::Datagrams { from, segment, data } = input else {
            return self.unsifted(cx, input);
        };
        for (segment, data) in meetings.sift(cx, (from, segment, data)) {
            self.unsifted(cx, MessageInput::Datagrams { from, segment, data });
        }
    }

    /// About datagrams. Without reliable messages they are the overlay's.
    fn unsifted(&mut self, cx: &mut NodeCx<'_>, input: MessageInput) {
        match (input, &mut self.datagrams, &mut self.overlay) {
            (MessageInput::Datagrams { from, segment, data }, Some(datagrams), _) => {
                datagrams.arrived(cx, (from, segment, &data));
            }
            (MessageInput::Datagrams { from, data, .. }, None, Some(overlay)) => {
                overlay.receive(cx, from, &data);
            }
            (MessageInput::Flush, Some(datagrams), _) => datagrams.flush(cx),
            (MessageInput::Path(news), Some(datagrams), _) => datagrams.path(cx, news),
            (_, None, _) => {}
        }
    }

    /// About the store, and the site that shares it.
    pub(super) fn site(&mut self, cx: &mut NodeCx<'_>, input: SiteInput) {
        match input {
            SiteInput::StoreUnavailable => self.http.store(cx, false),
            SiteInput::StoreAvailable => self.http.store(cx, true),
            SiteInput::Divided { leaders } => {
                self.swarm.iter_mut().for_each(|swarm| swarm.divided(cx, &leaders));
                self.http.divided(cx, leaders);
            }
            SiteInput::Leads { parts, queue } => {
                self.swarm.iter_mut().for_each(|swarm| swarm.leads(cx, &parts));
                self.http.leads(cx, &parts, queue);
            }
        }
    }

    /// Runs what is due.
    pub(super) fn handle_timeout(&mut self, cx: &mut NodeCx<'_>) {
        while let Some(expired) = cx.io.expired(cx.now) {
            match cx.io.get(expired.conn).map(|state| state.owner) {
                Some(Owner::Overlay) => self.overlay.run_out(cx, expired),
                _ => self.http.run_out(cx, expired),
            }
        }
        run_due(&mut self.http, cx);
        run_due(&mut self.downloads, cx);
        run_due(&mut self.overlay, cx);
        run_due(&mut self.swarm, cx);
        run_due(&mut self.datagrams, cx);
        run_due(&mut self.meetings, cx);
    }

    /// The next deadline of a service.
    pub(super) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let first = earlier(self.http.poll_timeout(), self.downloads.poll_timeout());
        let first = earlier(first, self.overlay.poll_timeout());
        let first = earlier(first, self.datagrams.poll_timeout());
        let first = earlier(first, self.meetings.poll_timeout());
        earlier(first, self.swarm.poll_timeout())
    }
}

fn run_due(service: &mut impl Service, cx: &mut NodeCx<'_>) {
    if service.poll_timeout().is_some_and(|(at, _)| at <= cx.now) {
        service.handle_timeout(cx);
    }
}

/// A peer connected.
fn accept(cx: &mut NodeCx<'_>, conn: ConnId, ends: ConnEnds) {
    let wrong = if !conn.is_inbound() {
        Some(Misuse::Parity { conn })
    } else {
        cx.io.get(conn).map(|_| Misuse::Repeated { conn })
    };
    match wrong {
        Some(fault) => cx.tell(ConnEvent::Misuse { fault }),
        None => cx.io.accept(cx.now, conn, ends, cx.fx),
    }
}

/// Who wants a dial, if it is still under way; one that we gave up in the
/// meantime is no fault of the host.
fn dialing(cx: &mut NodeCx<'_>, conn: ConnId) -> Option<Owner> {
    match cx.io.get(conn) {
        Some(state) if state.is_dialing() => return Some(state.owner),
        Some(state) if state.is_closing() => {}
        _ => cx.tell(ConnEvent::Misuse { fault: Misuse::NotDialing { conn } }),
    }
    None
}
