//! Replies: every head we write, and the few bodies we generate. Nothing here
//! decides anything.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::Write as _;
use core::net::SocketAddr;

use data_encoding::BASE64;

use super::archive;
use super::browse::PACKETS;
use super::conditions::{Validators, date_of};
use super::form::SCRIPT_HASH;
use super::list;
use super::request::UploadRequest;
use crate::id::Guid;
use crate::node::cx::NodeCx;
use crate::node::parts::{ArchiveFiles, BodySource, RequestSubject};
use crate::queue::{Dialect, QueuePosition};
use crate::thex::Tree;
use crate::time::{Duration, Instant};
use crate::wire::http::{
    Alts, ContentRange, HeadWriter, HttpMethod, HttpVersion, RequestHead, Target,
};
use crate::wire::percent;
use crate::wire::queue::{self as headers, Seconds};
use crate::wire::thex::{self, ThexUri};

/// The parameters that every reply to a request depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    /// The client wants the connection kept, and knows how to.
    pub(super) keep: bool,
    /// The reply must say so: by default the client's version would close.
    say_keep: bool,
    /// Only the head.
    pub(super) head_only: bool,
}

impl Form {
    /// For a reply after which the connection closes.
    pub(super) const CLOSE: Self = Self { keep: false, say_keep: false, head_only: false };

    /// For a reply in place of one whose form is not known any more: it says
    /// that the connection is kept, whatever the client's version.
    pub(super) const KEEP: Self = Self { keep: true, say_keep: true, head_only: false };

    /// For a reply to this request.
    pub(super) fn for_request(head: &RequestHead, dialect: Dialect) -> Self {
        // Near the front of the queue a client waits on its connection, so any
        // client that can queue may keep one, whatever its version.
        let queues = || dialect != Dialect::Passive && !head.headers.lists("Connection", "close");
        let keep = head.keep_alive() || queues();
        Self {
            keep,
            say_keep: keep && head.version == HttpVersion::Http10,
            head_only: head.method == HttpMethod::Head,
        }
    }

    /// Writes whether the connection is kept, when that is not the default of
    /// the client's version.
    fn announce(self, head: &mut HeadWriter) {
        if !self.keep {
            head.header("Connection", "close");
        } else if self.say_keep {
            head.header("Connection", "keep-alive");
        }
    }
}

/// A reply in bytes, complete or without the bytes of a file.
pub(super) struct HttpReply {
    pub(super) status: u16,
    /// The range of a file that follows.
    pub(super) range: (u64, u64),
    pub(super) data: Vec<u8>,
    /// The connection is kept for the next request; otherwise it is closed for
    /// the reason given.
    pub(super) keep: bool,
    pub(super) why: &'static str,
}

/// How the end of a body is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// It has so many bytes.
    Known(usize),
    /// It comes in chunks.
    Chunked,
    /// The body ends with the connection.
    ToTheEnd,
}

/// A file that a reply describes.
pub(super) struct Described<'a> {
    pub(super) subject: &'a RequestSubject,
    /// Alternate locations.
    pub(super) alternates: Alts,
}

/// Writes replies.
#[derive(Clone, Copy)]
pub(super) struct ReplyWriter<'a> {
    /// `Server`.
    agent: &'a str,
    /// `Date`.
    now: Instant,
}

impl<'a> ReplyWriter<'a> {
    /// A writer with our agent name and the current time.
    pub(super) fn from_cx(cx: &NodeCx<'a>) -> Self {
        Self { agent: &cx.config.agent, now: cx.us.wall.at(cx.now) }
    }

    /// The head before the bytes of a file.
    pub(super) fn start(
        self,
        file: &Described<'_>,
        asked: &UploadRequest,
        ticket: Option<Guid>,
    ) -> HttpReply {
        let &UploadRequest { start, end, partial, form, former, .. } = asked;
        let (status, reason) = if partial { (206, "Partial Content") } else { (200, "OK") };
        let mut head = self.head(status, reason);
        let validators = Validators::from_subject(file.subject);
        let validators = if former { validators.with_former_tag() } else { validators };
        self.represent_as(validators, file, &mut head);
        if partial {
            let size = Some(file.subject.size);
            head.header("Content-Range", ContentRange { range: Some((start, end)), size });
        }
        file.kind(&mut head);
        head.header("Content-Length", end - start);
        if let Some(ticket) = ticket {
            head.header("X-Queued", format_args!("ID={ticket}"));
            if asked.dialect == Dialect::Parq {
                headers::write_may_leave(&mut head);
            }
        }
        form.announce(&mut head);
        whole(status, (start, end), head.finish(), form)
    }

    /// A place in the queue (AQ-3, PQ-4).
    pub(super) fn wait(
        self,
        file: &Described<'_>,
        asked: &UploadRequest,
        place: &QueuePosition,
    ) -> HttpReply {
        let mut head = self.head(503, "Queued");
        file.describe(&mut head);
        if asked.dialect == Dialect::Passive {
            return in_words(head, place);
        }
        headers::write_place(&mut head, place);
        let mut form = asked.form;
        if place.keep {
            form.announce(&mut head);
        } else {
            // `write_place` has already written it.
            form.keep = false;
        }
        let mut reply = whole(503, (0, 0), head.finish(), form);
        if !place.keep {
            reply.why = "far back in the line";
        }
        reply
    }

    /// Neither place nor slot: a plain refusal that says when to come back.
    pub(super) fn come_back(
        self,
        why: (u16, &str),
        retry_after: Duration,
        form: Form,
    ) -> HttpReply {
        let (status, reason) = why;
        let text = format!("{reason}: ask again in {} seconds.\n", retry_after.as_secs_ceil());
        let mut head = self.head(status, reason);
        head.header("Retry-After", Seconds(retry_after));
        text_reply(status, head, ("text/plain", text), form)
    }

    /// The file is at another member of the site. A plain client is redirected
    /// (RFC 9110 §15.4.8). One that queues may not follow that: it hears that there
    /// is no slot here, and of another source.
    pub(super) fn elsewhere(
        self,
        file: &Described<'_>,
        (at, name): (SocketAddr, &Target),
        (dialect, again): (Dialect, Duration),
        form: Form,
    ) -> HttpReply {
        let plain = dialect == Dialect::Passive;
        let status = if plain { 307 } else { 503 };
        let mut head = self.head(status, if plain { "Temporary Redirect" } else { "Elsewhere" });
        file.describe(&mut head);
        // Without a scheme, so that it is that of this connection.
        head.header("Location", format_args!("//{at}{name}"));
        if !plain {
            head.header("Retry-After", Seconds(again));
        }
        text_reply(status, head, ("text/plain", format!("Ask {at} for it.\n")), form)
    }

    /// The head of the reply to a `HEAD` of this file.
    pub(super) fn head_of(self, file: &Described<'_>, form: Form) -> HttpReply {
        let mut head = self.head(200, "OK");
        self.represent(file, &mut head);
        file.kind(&mut head);
        head.header("Content-Length", file.subject.size);
        form.announce(&mut head);
        whole(200, (0, 0), head.finish(), form)
    }

    /// The client already has this version (RFC 9110 §15.4.5).
    pub(super) fn not_modified(self, file: &Described<'_>, form: Form) -> HttpReply {
        let mut head = self.head(304, "Not Modified");
        self.represent(file, &mut head);
        form.announce(&mut head);
        whole(304, (0, 0), head.finish(), form)
    }

    /// The head before a list of query hits.
    pub(super) fn packets(self, length: Length, form: Form) -> HttpReply {
        let mut head = self.head(200, "OK");
        head.header("Content-Type", PACKETS).header("Vary", "Accept");
        match length {
            Length::Known(bytes) => head.header("Content-Length", bytes),
            Length::Chunked => head.header("Transfer-Encoding", "chunked"),
            Length::ToTheEnd => &mut head,
        };
        form.announce(&mut head);
        let why = "the reply ends the connection";
        HttpReply { why, ..whole(200, (0, 0), head.finish(), form) }
    }

    /// The listing for browsers; `gives` when it has the form for uploads.
    pub(super) fn page(self, html: String, gives: bool, form: Form) -> HttpReply {
        let mut head = self.head(200, "OK");
        let mut policy = String::from("default-src 'none'; style-src 'unsafe-inline'");
        if gives {
            let _ = write!(policy, "; connect-src 'self'; script-src 'sha256-{SCRIPT_HASH}'");
        }
        head.header("Content-Security-Policy", policy).header("Vary", "Accept");
        text_reply(200, head, ("text/html; charset=utf-8", html), form)
    }

    /// The hash tree of a file.
    pub(super) fn tree(self, tree: &Tree, form: Form) -> HttpReply {
        let head = self.head(200, "OK");
        body_reply(200, head, (thex::CONTENT_TYPE, &thex::write(tree)), form)
    }

    /// A list of URLs.
    pub(super) fn list(self, list: String, form: Form) -> HttpReply {
        let head = self.head(200, "OK");
        text_reply(200, head, (list::URIS, list), form)
    }

    /// A folder was requested without its slash.
    pub(super) fn moved(self, to: &str, form: Form) -> HttpReply {
        let mut head = self.head(301, "Moved Permanently");
        head.header("Location", to);
        text_reply(301, head, ("text/plain", String::from("That is a folder.\n")), form)
    }

    /// The range asked for is not in the file, or not here yet.
    pub(super) fn unsatisfiable(self, file: &Described<'_>, form: Form) -> HttpReply {
        let size = file.subject.size;
        let mut head = self.head(416, "Range Not Satisfiable");
        file.describe(&mut head);
        head.header("Content-Range", ContentRange { range: None, size: Some(size) });
        let text = format!("The file has {size} bytes.\n");
        text_reply(416, head, ("text/plain", text), form)
    }

    /// A password is required.
    pub(super) fn unauthorized(self) -> HttpReply {
        let mut head = self.head(401, "Unauthorized");
        head.header("WWW-Authenticate", "Basic realm=\"Servent\", charset=\"UTF-8\"");
        let text = String::from("Only for those who know the password.\n");
        text_reply(401, head, ("text/plain", text), Form::CLOSE)
    }

    /// Only `GET` and `HEAD` are served here, and `PUT` where visitors may
    /// upload.
    pub(super) fn not_allowed(self, uploads: bool) -> HttpReply {
        let mut head = self.head(405, "Method Not Allowed");
        head.header("Allow", if uploads { "GET, HEAD, PUT" } else { "GET, HEAD" });
        let text = if uploads { "Only GET, HEAD and PUT.\n" } else { "Only GET and HEAD.\n" };
        let text = String::from(text);
        text_reply(405, head, ("text/plain", text), Form::CLOSE)
    }

    /// A reply whose body only repeats the reason.
    pub(super) fn short(self, (status, reason): (u16, &str), form: Form) -> HttpReply {
        self.in_short((status, reason), &format!("{reason}.\n"), form)
    }

    /// A reply with a text of its own.
    pub(super) fn in_short(
        self,
        (status, reason): (u16, &str),
        text: &str,
        form: Form,
    ) -> HttpReply {
        body_reply(status, self.head(status, reason), ("text/plain", text.as_bytes()), form)
    }

    /// The head of every reply.
    fn head(self, status: u16, reason: &str) -> HeadWriter {
        let mut head = HeadWriter::status(status, reason);
        head.header("Server", self.agent).header("Date", date_of(self.now));
        head
    }

    /// Writes the headers that describe a file and identify its content.
    fn represent(self, file: &Described<'_>, head: &mut HeadWriter) {
        self.represent_as(Validators::from_subject(file.subject), file, head);
    }

    fn represent_as(self, validators: Validators, file: &Described<'_>, head: &mut HeadWriter) {
        file.describe(head);
        let Validators { tag, modified, .. } = validators;
        if let Some(tag) = tag {
            head.header("ETag", tag);
        }
        if let Some(at) = modified {
            // When the clock was set back, a file must not seem to be changed
            // in the future.
            head.header("Last-Modified", at.min(date_of(self.now)));
        }
        if file.subject.run.0 {
            head.header("X-Executable", "1");
        }
        if let Some(sha1) = file.subject.sha1 {
            let digest = BASE64.encode(&sha1.0);
            head.header("Digest", format_args!("SHA={digest}"))
                .header("Repr-Digest", format_args!("sha=:{digest}:"));
        }
    }
}

impl Described<'_> {
    /// The media type, that browsers neither guess another one nor run what is in
    /// the file as a page of ours, and the file name of an archive (RFC 6266).
    fn kind(&self, head: &mut HeadWriter) {
        head.header("X-Content-Type-Options", "nosniff");
        if self.subject.is_active {
            head.header("Content-Security-Policy", "sandbox");
        }
        let BodySource::Folder(ArchiveFiles { folder, .. }) = &self.subject.body else {
            head.header("Content-Type", "application/octet-stream");
            return;
        };
        let name = percent::escape(&archive::file_name(folder)).to_string();
        head.header("Content-Type", "application/x-tar")
            .header("Content-Disposition", format_args!("attachment; filename*=UTF-8''{name}"));
    }

    /// What there is to know of a file: the mesh travels with every reply,
    /// queued or not (PQ-17).
    fn describe(&self, head: &mut HeadWriter) {
        let ranges =
            if matches!(self.subject.body, BodySource::File(_)) { "bytes" } else { "none" };
        head.header("Accept-Ranges", ranges);
        if let Some(sha1) = self.subject.sha1 {
            head.header("X-Gnutella-Content-URN", format_args!("urn:sha1:{sha1}"));
            if let Some(root) = self.subject.tree.as_ref().map(|tree| tree.root()) {
                head.header("X-Content-URN", format_args!("urn:bitprint:{sha1}.{root}"))
                    .header("X-Thex-URI", ThexUri::ours(sha1, root));
            }
        }
        if let Some(available) = &self.subject.available {
            head.header("X-Available-Ranges", available);
        }
        if !self.alternates.0.is_empty() {
            head.header("X-Alt", &self.alternates);
        }
    }
}

/// A place for a client without a queueing dialect: often a person with a
/// browser, so the body says it in words (PARQ §5).
fn in_words(mut head: HeadWriter, place: &QueuePosition) -> HttpReply {
    head.header("Retry-After", Seconds(place.retry_after));
    let text = format!(
        "You are number {} of {} in line for an upload slot; ask again in {} seconds.\n",
        place.position,
        place.length,
        place.retry_after.as_secs_ceil()
    );
    text_reply(503, head, ("text/plain", text), Form::CLOSE)
}

fn text_reply(
    status: u16,
    head: HeadWriter,
    (kind, text): (&str, String),
    form: Form,
) -> HttpReply {
    body_reply(status, head, (kind, text.as_bytes()), form)
}

fn body_reply(status: u16, mut head: HeadWriter, body: (&str, &[u8]), form: Form) -> HttpReply {
    let (kind, bytes) = body;
    head.header("Content-Type", kind)
        .header("X-Content-Type-Options", "nosniff")
        .header("Content-Length", bytes.len());
    form.announce(&mut head);
    let mut data = head.finish();
    if !form.head_only {
        data.extend_from_slice(bytes);
    }
    let why = "the reply ends the connection";
    HttpReply { status, range: (0, 0), data, keep: form.keep, why }
}

fn whole(status: u16, range: (u64, u64), data: Vec<u8>, form: Form) -> HttpReply {
    HttpReply { status, range, data, keep: form.keep, why: "the client wants no more" }
}
