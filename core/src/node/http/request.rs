//! One request: what it asks for, the queue's decision, and the reply.

use alloc::string::String;
use alloc::sync::Arc;
use core::net::IpAddr;

use super::Http;
use super::archive;
use super::browse;
use super::conditions::{Condition, Validators};
use super::exchange::{BodyTransfer, Exchange};
use super::links::VisitedOrigin;
use super::list;
use super::page::{self, ListingQuery, Visitor};
use super::pages;
use super::push;
use super::reply::{Described, Form, HttpReply, ReplyWriter};
use crate::id::{ConnId, FileIndex, Guid, Sha1};
use crate::lease::membership::Leader;
use crate::node::catalog::Catalog;
use crate::node::connections::Timer;
use crate::node::cx::{CrossWish, NodeCx};
use crate::node::event::request_received;
use crate::node::parts::{BodySource, RequestSubject};
use crate::node::service::RunsEngine as _;
use crate::node::{ConnOutput, FileRef, Output};
use crate::queue::Dialect;
use crate::queue::server::{self, QueueVerdict};
use crate::thex::Tree;
use crate::time::Duration;
use crate::wire::http::{Alts, HttpMethod, RangeSpec, RequestHead, Target};
use crate::wire::percent;
use crate::wire::queue as headers;

/// A request for a file body, while the queue decides on it.
#[derive(Debug, Clone)]
pub(super) struct UploadRequest {
    pub(super) subject: RequestSubject,
    pub(super) start: u64,
    pub(super) end: u64,
    /// A range was requested: 206 instead of 200.
    pub(super) partial: bool,
    /// The request names both ends of a range that does not begin the file:
    /// such a client takes the file piece by piece, in any order (AQ-9).
    pub(super) piece: bool,
    /// It goes on with bytes that came under the tag of before the content was known.
    pub(super) former: bool,
    pub(super) dialect: Dialect,
    pub(super) form: Form,
}

impl Http {
    /// Answers one request, or lets the queue decide on it. A request for a
    /// push is passed on by the overlay, and answered by [`Http::push_answered`].
    pub(super) fn request(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, head: &RequestHead) {
        cx.tell(request_received(conn, head));
        let writer = ReplyWriter::from_cx(cx);
        if !cx.config.http {
            self.say(cx, conn, writer.short((503, "Service Unavailable"), Form::CLOSE));
            return;
        }
        let dialect = headers::spoken(&head.headers);
        let form = Form::for_request(head, dialect);
        if let Some((status, no)) = self.no_person(cx, conn, head) {
            if !self.refuse_over_rate(cx, conn, form) {
                self.say(cx, conn, writer.in_short(status, no, Form::CLOSE));
            }
            return;
        }
        if let Some(ticket) = headers::leaves(&head.headers).filter(|_| form.head_only) {
            self.feed(cx, server::Input::Leave { conn, ticket });
        }
        let target = Target::parse(&head.target);
        let found = self.find_subject(cx, &target, head);
        // A client that may have the file may have its hash tree, too.
        let peer = || cx.io.get(conn).map(|c| c.peer.ip().to_canonical());
        let belongs =
            matches!(target, Target::Tree(_)) && peer().is_some_and(|peer| self.queue.serves(peer));
        let light = (found.is_none() && !belongs)
            || head.method != HttpMethod::Get
            || !head.names_one_host();
        if light && self.refuse_over_rate(cx, conn, form) {
            return;
        }
        // Old servents leave out the host on connections that we opened.
        let called = !conn.is_inbound();
        if called {
            cx.io.answered(conn);
        }
        let reply = match (target, found) {
            _ if !called && !head.names_one_host() => {
                writer.short((400, "Bad Request"), Form::CLOSE)
            }
            _ if matches!(head.method, HttpMethod::Other(_)) => {
                writer.not_allowed(self.takes_uploads())
            }
            // The body would be read as the next request.
            _ if has_body(head) => writer.short((400, "Bad Request"), Form::CLOSE),
            (Target::Root { .. }, _) if browse::is_wanted(&head.headers) => {
                self.browse(cx, conn, head.version, form);
                return;
            }
            (Target::Push { servent, index }, _) => {
                let Some(reply) = self.push_request(cx, conn, (servent, index), head, form) else {
                    return;
                };
                reply
            }
            (Target::Tree(sha1), _) => match tree(&cx.shelf.files, sha1) {
                Some(tree) => writer.tree(&tree, form),
                None => writer.short((404, "Not Found"), form),
            },
            (_, Some(subject)) => {
                self.file_request(cx, conn, subject, head, (dialect, form));
                return;
            }
            (target, None) => {
                let reply = self.folder_request(cx, conn, target, head, (dialect, form));
                let Some(reply) = reply else { return };
                reply
            }
        };
        self.say(cx, conn, reply);
    }

    /// Why a request is refused that a web page may have caused, if it is.
    fn no_person(
        &self,
        cx: &NodeCx<'_>,
        conn: ConnId,
        head: &RequestHead,
    ) -> Option<((u16, &'static str), &'static str)> {
        // On a connection that we opened, no client found us by a name.
        let called = !conn.is_inbound();
        if pages::is_of_another_page(&head.headers) {
            let text = "A page elsewhere asked for this. Follow its link, or open the address by itself.\n";
            Some((FORBIDDEN, text))
        } else if !called && pages::is_by_another_name(head, [&cx.config.hosts, &self.hosts]) {
            Some((MISDIRECTED, OTHER_NAME))
        } else {
            None
        }
    }

    /// The file that a request names: by its number, its hash or its path.
    fn find_subject(
        &self,
        cx: &NodeCx<'_>,
        target: &Target,
        head: &RequestHead,
    ) -> Option<RequestSubject> {
        let found = match target {
            Target::File { index, name } => numbered(&cx.shelf.files, *index, name, head),
            Target::Urn(sha1) => {
                self.content(cx, *sha1).filter(|subject| content_fits(subject, head) != Some(false))
            }
            Target::Tree(_)
            | Target::Root { .. }
            | Target::Push { .. }
            | Target::Path { .. }
            | Target::Other => None,
        };
        found.or_else(|| named(&cx.shelf.files, &head.target, head))
    }

    /// Leaves the wish for a push to the overlay; what is answered at once.
    fn push_request(
        &mut self,
        cx: &mut NodeCx<'_>,
        conn: ConnId,
        wanted: (Option<Guid>, FileIndex),
        head: &RequestHead,
        form: Form,
    ) -> Option<HttpReply> {
        let peer = cx.io.get(conn)?.peer.ip();
        let Some(wish) = push::wanted(conn, wanted, &head.headers, peer) else {
            return Some(ReplyWriter::from_cx(cx).short((400, "Bad Request"), form));
        };
        self.pushes.insert(conn, form);
        cx.wishes.push_back(CrossWish::Push(wish));
        None
    }

    /// What is to be said of a folder; nothing yet where the queue decides on
    /// all of it as one file.
    fn folder_request(
        &mut self,
        cx: &mut NodeCx<'_>,
        conn: ConnId,
        target: Target,
        head: &RequestHead,
        (dialect, form): (Dialect, Form),
    ) -> Option<HttpReply> {
        match archive::wanted(&cx.shelf.files, &target) {
            Some(archive::ArchiveRequest::Archive(folder)) => {
                self.folders.note(&cx.shelf.files, &folder);
                self.file_request(cx, conn, folder, head, (dialect, form));
                None
            }
            Some(archive::ArchiveRequest::TooMany) => {
                Some(ReplyWriter::from_cx(cx).in_short(TOO_LARGE, archive::TOO_MANY, form))
            }
            None => Some(self.folder(cx, conn, target, head, form)),
        }
    }

    /// The list of a folder, if there is one of that name.
    fn folder(
        &self,
        cx: &NodeCx<'_>,
        conn: ConnId,
        target: Target,
        head: &RequestHead,
        form: Form,
    ) -> HttpReply {
        let writer = ReplyWriter::from_cx(cx);
        let (path, query) = match target {
            Target::Root { query } => (String::new(), query),
            Target::Path { path, query } => (path, query),
            _ => (Target::path_of(&head.target).unwrap_or_default(), String::new()),
        };
        let is_folder = path.is_empty() || path.ends_with('/');
        if is_folder && (path.is_empty() || cx.shelf.files.has_folder(&path)) {
            let origin = VisitedOrigin::parse(&head.headers, cx.config.secure);
            if let Some(wanted) = list::wanted(&query) {
                let list = list::list(&cx.shelf.files, &path, &wanted, origin);
                return writer.list(list, form);
            }
            let peer = cx.io.get(conn).map(|c| c.peer.ip().to_canonical());
            let visitor = Visitor {
                origin,
                places: peer.map(|peer| self.queue.places_of(peer)).unwrap_or_default(),
                length: self.queue.length(),
                free: self.queue.free(),
                give: self.may_give(&cx.config.inbox),
            };
            let most = cx.config.limits.index_page as usize;
            let wanted = ListingQuery::parse(&path, &query);
            let gives = visitor.give.is_some() && wanted.is_top();
            return writer.page(page::page(&cx.shelf.files, &wanted, most, &visitor), gives, form);
        }
        if !is_folder && cx.shelf.files.has_folder(&alloc::format!("{path}/")) {
            let last = path.rsplit('/').next().unwrap_or_default();
            let query = if query.is_empty() { query } else { alloc::format!("?{query}") };
            // Relative: in front of us there may be a server with a path of its own.
            let to = alloc::format!("./{}/{query}", percent::path(last));
            return writer.moved(&to, form);
        }
        writer.short((404, "Not Found"), form)
    }

    /// The shared file with this content, or else a download of ours.
    fn content(&self, cx: &NodeCx<'_>, sha1: Sha1) -> Option<RequestSubject> {
        // Another member of a site has no part of our download.
        let ours = |subject: &RequestSubject| self.leader(subject.key) == Leader::Us;
        let part = || cx.shelf.parts.by_sha1(sha1).filter(|it| cx.config.share_parts && ours(it));
        cx.shelf.files.by_sha1(sha1).map(RequestSubject::from).or_else(part)
    }

    /// A file is requested: checks the range, then asks the queue.
    fn file_request(
        &mut self,
        cx: &mut NodeCx<'_>,
        conn: ConnId,
        subject: RequestSubject,
        head: &RequestHead,
        (dialect, form): (Dialect, Form),
    ) {
        let Some(peer) = cx.io.get(conn).map(|c| c.peer) else { return };
        let writer = ReplyWriter::from_cx(cx);
        if let BodySource::File(FileRef::Shared(index)) = subject.body {
            self.learn_alternates(cx, index, head, peer.ip());
        }
        let validators = Validators::from_subject(&subject);
        let former = validators.continues_former(&head.headers);
        let condition = validators.evaluate(&head.headers);
        if let Condition::NotModified | Condition::Fails = condition {
            if form.head_only || !self.refuse_over_rate(cx, conn, form) {
                let reply = match condition {
                    Condition::Fails => writer.short((412, "Precondition Failed"), form),
                    _ => writer.not_modified(&self.described(cx, conn, &subject), form),
                };
                self.say(cx, conn, reply);
            }
            return;
        }
        if form.head_only {
            // Never queued, and does not affect a place (reference §3).
            let reply = writer.head_of(&self.described(cx, conn, &subject), form);
            return self.say(cx, conn, reply);
        }
        // Anything but one well-formed range is ignored, as HTTP requires.
        let range = head.headers.get("Range").and_then(RangeSpec::parse);
        let is_file = matches!(subject.body, BodySource::File(_));
        let range = range.filter(|_| is_file && condition != Condition::Whole);
        let whole = Some((0, subject.size));
        let wanted = range.map_or(whole, |range| range.resolve(subject.size));
        let Some((start, end)) = wanted.and_then(|(start, end)| subject.within(start, end)) else {
            if !self.refuse_over_rate(cx, conn, form) {
                let reply = writer.unsatisfiable(&self.described(cx, conn, &subject), form);
                self.say(cx, conn, reply);
            }
            return;
        };
        let claim = headers::PositionClaim::parse(&head.headers);
        let request = server::QueueRequest {
            conn,
            peer: peer.ip().to_canonical(),
            dialect,
            file: subject.key,
            bytes: end - start,
            rest: subject.size - end,
            ticket: claim.ticket,
            told: claim.told,
            callback: headers::callback(&head.headers).filter(|_| cx.config.calls_back),
            waits: headers::waits(&head.headers, dialect),
            sleeps: headers::sleeps(&head.headers),
        };
        let partial = range.is_some() || end < subject.size;
        let piece = start > 0 && !matches!(range, None | Some(RangeSpec::From(_)));
        let asked = UploadRequest { subject, start, end, partial, piece, former, dialect, form };
        match self.leader(asked.subject.key) {
            Leader::Us => self.ask_queue(cx, request, asked),
            leader if !self.refuse_over_rate(cx, conn, form) => {
                self.elsewhere(cx, conn, &asked, leader)
            }
            _ => {}
        }
    }

    /// Lets the queue decide, and carries out its other effects in order, so
    /// that what is saved before a reply is persisted before the reply is
    /// written.
    fn ask_queue(
        &mut self,
        cx: &mut NodeCx<'_>,
        request: server::QueueRequest,
        asked: UploadRequest,
    ) {
        let conn = request.conn;
        if self.mute {
            return self.promise_nothing(cx, conn, asked.form);
        }
        // The queue will say again whether there is a place.
        self.exchanges.insert(conn, Exchange::IDLE);
        self.asked.insert(conn, asked);
        self.feed(cx, server::Input::Request(request));
        if self.asked.contains_key(&conn) {
            cx.io.rest(conn);
            self.exchanges.insert(conn, Exchange::Held);
        }
    }

    /// Answers a request as the queue decided.
    pub(super) fn verdict(
        &mut self,
        cx: &mut NodeCx<'_>,
        conn: ConnId,
        asked: &UploadRequest,
        verdict: QueueVerdict,
    ) {
        let writer = ReplyWriter::from_cx(cx);
        match verdict {
            QueueVerdict::Start { .. } if !asked.subject.is_current(&cx.shelf.files) => {
                // What would be sent is not what the head would say: it asks anew.
                self.feed(cx, server::Input::Broken { conn });
                self.close(cx, conn, true, "the file has changed while it was waited for");
            }
            QueueVerdict::Start { ticket, told_ticket } => {
                let file = self.described(cx, conn, &asked.subject);
                let reply = writer.start(&file, asked, told_ticket.then_some(ticket));
                self.start_body(cx, conn, asked, reply);
            }
            QueueVerdict::Wait(place) => {
                let file = self.described(cx, conn, &asked.subject);
                let reply = writer.wait(&file, asked, &place);
                if reply.keep {
                    // The queue closes the connection when the place is lost;
                    // this only covers a place that is lost without notice.
                    let grace = cx.config.limits.request_deadline;
                    let place_until = Some(cx.now + place.lifetime + grace);
                    self.exchanges.insert(conn, Exchange::Idle { place_until });
                }
                self.say(cx, conn, reply);
            }
            QueueVerdict::Busy { retry_after, .. } => {
                let reply = writer.come_back((503, "Busy"), retry_after, Form::CLOSE);
                self.say(cx, conn, reply);
            }
            QueueVerdict::Hammering { retry_after } => {
                self.say(cx, conn, writer.come_back(TOO_MANY, retry_after, Form::CLOSE));
            }
        }
    }

    /// A slot was granted: sends the head, then the bytes.
    fn start_body(
        &mut self,
        cx: &mut NodeCx<'_>,
        conn: ConnId,
        asked: &UploadRequest,
        reply: HttpReply,
    ) {
        let &UploadRequest { start, end, .. } = asked;
        let RequestSubject { size, ref body, .. } = asked.subject;
        let (keep, why) = (reply.keep, reply.why);
        self.write(cx, conn, reply);
        let last = end == size && !asked.piece && !body.is_continued();
        if start == end {
            self.feed(cx, server::Input::Finished { conn, last });
            if !keep {
                self.close(cx, conn, true, why);
            }
            return;
        }
        if cx.io.open(conn).is_none() {
            return;
        }
        let archive = archive::begun(&cx.shelf.files, body);
        let transfer = BodyTransfer { start, end, sent: 0, last, keep, judged: 0, archive };
        self.exchanges.insert(conn, Exchange::Sending(transfer.into()));
        cx.io.wake(conn, cx.now + cx.config.limits.reader_window, Timer::Rate);
        match *body {
            BodySource::File(file) => {
                cx.fx.output(Output::Connection(conn, ConnOutput::Serve { file, start, end }))
            }
            BodySource::Folder(_) => self.archive_on(cx, conn),
        }
    }

    /// Counts a request that needs no slot. `Some` when its address has sent too
    /// many of them: when it may send the next one.
    fn count_unqueued(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) -> Option<Duration> {
        let peer = cx.io.get(conn)?.peer.ip();
        self.feed(cx, server::Input::Light { conn, peer });
        let (of, again) = self.hammering.take()?;
        (of == conn).then_some(again)
    }

    /// Counts a request that needs no slot, and refuses it when its address has
    /// sent too many of them: then it returns true, and there is nothing more to
    /// say. A client with a place keeps both place and connection.
    pub(super) fn refuse_over_rate(
        &mut self,
        cx: &mut NodeCx<'_>,
        conn: ConnId,
        mut form: Form,
    ) -> bool {
        let Some(again) = self.count_unqueued(cx, conn) else { return cx.io.get(conn).is_none() };
        let exchange = self.exchanges.get(&conn);
        form.keep &= matches!(
            exchange,
            Some(Exchange::Idle { place_until: Some(until) }) if *until > cx.now
        );
        let reply = ReplyWriter::from_cx(cx).come_back(TOO_MANY, again, form);
        self.say(cx, conn, reply);
        true
    }

    pub(super) fn described<'a>(
        &self,
        cx: &NodeCx<'_>,
        conn: ConnId,
        subject: &'a RequestSubject,
    ) -> Described<'a> {
        let mut alternates = Alts::default();
        let peer = cx.io.get(conn).map(|c| c.peer.ip().to_canonical());
        if let (&BodySource::File(FileRef::Shared(index)), Some(peer)) = (&subject.body, peer) {
            let most = cx.config.limits.alternates_told as usize;
            let members = self.members().into_iter();
            alternates.0.extend(members.chain(cx.shelf.files.alternates(index, peer)).take(most));
        }
        Described { subject, alternates }
    }

    /// Learns alternate locations of this file from the request's headers.
    fn learn_alternates(
        &mut self,
        cx: &mut NodeCx<'_>,
        index: FileIndex,
        head: &RequestHead,
        teller: IpAddr,
    ) {
        let teller = teller.to_canonical();
        let most = cx.config.limits.alternates;
        for at in Alts::parse(&head.headers.joined("X-Alt")).0 {
            if Some(at) != cx.us.listen {
                cx.shelf.files.learn(index, at, teller, most);
            }
        }
        for at in Alts::parse(&head.headers.joined("X-NAlt")).0 {
            cx.shelf.files.unlearn(index, at, teller);
        }
        // A client that can be called, and says which ranges it has, is a
        // source itself.
        if head.headers.get("X-Available-Ranges").is_some_and(|r| r.contains('-'))
            && let Some(at) = headers::callback(&head.headers)
            && at.ip().to_canonical() == teller
        {
            cx.shelf.files.learn(index, at, teller, most);
        }
    }
}

/// A shared file by name.
fn named(files: &Catalog, target: &str, head: &RequestHead) -> Option<RequestSubject> {
    let subject = RequestSubject::from(files.by_target(target)?);
    (content_fits(&subject, head) != Some(false)).then_some(subject)
}

/// The shared file with this number, if it is the one the client means:
/// after a restart the number may belong to another file. The content
/// decides when the request names it, otherwise the name (reference §3).
fn numbered(
    files: &Catalog,
    index: FileIndex,
    name: &str,
    head: &RequestHead,
) -> Option<RequestSubject> {
    let info = files.get(index)?;
    let subject = RequestSubject::from(info);
    // Others may know it by its name without folders.
    let called = |known: &str| known.eq_ignore_ascii_case(name);
    let meant =
        content_fits(&subject, head).unwrap_or_else(|| called(&info.name) || called(info.leaf()));
    meant.then_some(subject)
}

/// The hash tree that is requested. It needs no slot: it is a small reply,
/// and costs as much as a miss.
fn tree(files: &Catalog, sha1: Sha1) -> Option<Arc<Tree>> {
    files.by_sha1(sha1)?.tree.clone()
}

/// The address sends requests too often.
const TOO_MANY: (u16, &str) = (429, "Too Many Requests");

/// A folder has too many files for one archive.
const TOO_LARGE: (u16, &str) = (413, "Content Too Large");

/// A page, and no person, asks.
const FORBIDDEN: (u16, &str) = (403, "Forbidden");

/// A name that any host may have pointed to us (RFC 9110 §15.5.20).
pub(super) const MISDIRECTED: (u16, &str) = (421, "Misdirected Request");
/// What is said of that.
pub(super) const OTHER_NAME: &str = "This servent does not know itself by that name. Use its IP address, or have its owner start it with --name.\n";

/// Whether a file has the content the request names. `None` when it names none,
/// or when the content of the file is not known yet.
fn content_fits(subject: &RequestSubject, head: &RequestHead) -> Option<bool> {
    let have = subject.sha1?;
    head.headers
        .all("X-Gnutella-Content-URN")
        .flat_map(|v| v.split(','))
        .filter_map(|urn| Sha1::parse_urn(urn.trim_ascii().as_bytes()))
        .map(|wanted| wanted == have)
        .reduce(|all, one| all && one)
}

/// True when a body follows the head; none of the requests we serve has one.
fn has_body(head: &RequestHead) -> bool {
    head.headers.get("Transfer-Encoding").is_some()
        || head.headers.all("Content-Length").any(|n| n.trim_ascii() != "0")
}
