//! Uploads: a visitor puts a file into the inbox (`PUT`, RFC 9110 §9.3.4). The
//! node decides whether and under which name; the bytes go to the host's disk.
//!
//! No file is ever replaced, so a name that is taken gets a number, which the
//! reply says.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::mem;
use core::net::IpAddr;

use super::Http;
use super::exchange::Exchange;
use super::form::Give;
use super::pages;
use super::reply::{Form, ReplyWriter};
use super::request::{MISDIRECTED, OTHER_NAME};
use crate::address::owner;
use crate::id::ConnId;
use crate::node::connections::Timer;
use crate::node::cx::NodeCx;
use crate::node::event::{clip, request_received};
use crate::node::inbox::{Arriving, InboxLimits, InboxUsage, InboxView};
use crate::node::{ConnEvent, ConnOutput, NodeAnswer, NodeLimit, Output, StoreError};
use crate::queue::Dialect;
use crate::text::Size;
use crate::time::{Duration, Instant};
use crate::wire::http::{HttpMethod, HttpVersion, RequestHead, Target};

/// How soon a visitor is asked to come back when too many uploads arrive.
const RETRY: Duration = Duration::from_secs(5);

/// The inbox: what is in it, and what is arriving.
#[derive(Debug, Clone, Default)]
pub(super) struct Inbox {
    /// `None`: there is no inbox.
    held: Option<InboxUsage>,
    coming: BTreeMap<ConnId, Coming>,
}

/// A file that is arriving.
#[derive(Debug, Clone)]
struct Coming {
    from: IpAddr,
    name: String,
    /// Its size, if known.
    size: Option<u64>,
    /// Room that is kept for it.
    most: u64,
    stored: u64,
    /// Bytes stored when the rate was last checked.
    judged: u64,
    /// All of it is stored, and it is getting its name.
    whole: bool,
    form: Form,
}

/// An upload that may begin.
struct UploadOffer {
    from: IpAddr,
    name: String,
    size: Option<u64>,
    most: u64,
}

/// Why an upload may not begin.
struct UploadRefusal {
    status: (u16, &'static str),
    text: String,
    limit: Option<NodeLimit>,
}

impl UploadRefusal {
    fn new(status: (u16, &'static str), text: impl Into<String>) -> Self {
        Self { status, text: text.into(), limit: None }
    }

    fn with_limit(self, limit: NodeLimit) -> Self {
        Self { limit: Some(limit), ..self }
    }
}

const BAD: (u16, &str) = (400, "Bad Request");
const FORBIDDEN: (u16, &str) = (403, "Forbidden");
const TIMEOUT: (u16, &str) = (408, "Request Timeout");
const NO_LENGTH: (u16, &str) = (411, "Length Required");
const TOO_LARGE: (u16, &str) = (413, "Content Too Large");
const FAILED: (u16, &str) = (500, "Internal Server Error");
const BUSY: (u16, &str) = (503, "Busy");
const NO_ROOM: (u16, &str) = (507, "Insufficient Storage");

impl Inbox {
    pub(super) const fn is_open(&self) -> bool {
        self.held.is_some()
    }

    /// Bytes that are still free; `None` without an inbox.
    pub(super) fn room(&self, limits: &InboxLimits) -> Option<u64> {
        let reserved: u64 = self.coming.values().map(|coming| coming.most).sum();
        Some(limits.bytes.saturating_sub(self.held?.bytes).saturating_sub(reserved))
    }

    pub(super) fn forget(&mut self, conn: ConnId) {
        self.coming.remove(&conn);
    }

    /// Checks an upload against the limits.
    fn admits(
        &self,
        limits: &InboxLimits,
        (from, name): (IpAddr, String),
        size: Option<u64>,
    ) -> Result<UploadOffer, UploadRefusal> {
        let held = self.held.unwrap_or_default();
        let room = self.room(limits).unwrap_or(0);
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let arriving = count(self.coming.len());
        let from = owner(from);
        let ours = count(self.coming.values().filter(|coming| coming.from == from).count());
        if size.is_some_and(|size| size > limits.file_bytes) {
            let text = format!("A file may have {} here.", Size(limits.file_bytes));
            return Err(UploadRefusal::new(TOO_LARGE, text).with_limit(NodeLimit::InboxFile));
        }
        if held.files.saturating_add(arriving) >= limits.files {
            let text = "There are as many files in the inbox as there may be.";
            return Err(UploadRefusal::new(NO_ROOM, text).with_limit(NodeLimit::InboxFiles));
        }
        if size.unwrap_or(1) > room {
            let text = format!("The inbox has room for {}.", Size(room));
            return Err(UploadRefusal::new(NO_ROOM, text).with_limit(NodeLimit::InboxBytes));
        }
        if arriving >= limits.at_once || ours >= limits.at_once_per_ip {
            let text = "Too many files arrive at this moment.";
            return Err(UploadRefusal::new(BUSY, text).with_limit(NodeLimit::InboxUploads));
        }
        let most = size.unwrap_or_else(|| room.min(limits.file_bytes));
        Ok(UploadOffer { from, name, size, most })
    }

    /// The inbox as plain data; `None` without one.
    pub(super) fn view(
        &self,
        limits: &InboxLimits,
        peer: impl Fn(ConnId) -> Option<String>,
    ) -> Option<InboxView> {
        let InboxUsage { files, bytes } = self.held?;
        let arriving = |(conn, coming): (&ConnId, &Coming)| Arriving {
            peer: peer(*conn).unwrap_or_else(|| coming.from.to_string()),
            name: coming.name.clone(),
            stored: coming.stored,
            size: coming.size,
        };
        let arriving = self.coming.iter().map(arriving).collect();
        Some(InboxView { files, bytes, limit: limits.bytes, arriving })
    }
}

impl Http {
    /// The host says what is in the inbox.
    pub(in crate::node) fn inbox(&mut self, held: Option<InboxUsage>) {
        self.inbox.held = held;
    }

    /// The inbox as plain data.
    pub(in crate::node) fn inbox_view(
        &self,
        limits: &InboxLimits,
        peer: impl Fn(ConnId) -> Option<String>,
    ) -> Option<InboxView> {
        self.inbox.view(limits, peer)
    }

    /// What a visitor may upload now; `None` without an inbox.
    pub(super) fn may_give(&self, limits: &InboxLimits) -> Option<Give> {
        let room = self.inbox.room(limits)?;
        Some(Give { most: limits.file_bytes.min(room) })
    }

    /// True when there is an inbox.
    pub(super) const fn takes_uploads(&self) -> bool {
        self.inbox.is_open()
    }

    /// True while a file is received on a connection.
    pub(super) fn receives(&self, conn: ConnId) -> bool {
        self.inbox.coming.contains_key(&conn)
    }

    /// True when a request is an upload that may be answered here.
    pub(super) fn is_upload(&self, head: &RequestHead) -> bool {
        self.inbox.is_open() && matches!(&head.method, HttpMethod::Other(method) if method == "PUT")
    }

    /// A visitor uploads a file. `after` are the bytes received after the head;
    /// returns how many of them belong to the file.
    pub(super) fn upload(
        &mut self,
        cx: &mut NodeCx<'_>,
        conn: ConnId,
        head: &RequestHead,
        after: &[u8],
    ) -> usize {
        cx.tell(request_received(conn, head));
        let offer = match self.offer(cx, conn, head) {
            Ok(offer) => offer,
            Err(refusal) => {
                self.turn_down(cx, conn, refusal);
                return 0;
            }
        };
        let UploadOffer { from, name, size, most } = offer;
        let waits = head
            .headers
            .get("Expect")
            .is_some_and(|expected| expected.trim_ascii().eq_ignore_ascii_case("100-continue"));
        cx.tell(ConnEvent::Incoming { conn, name: clip(&name), size });
        if waits && after.is_empty() && head.version == HttpVersion::Http11 {
            cx.io.write(conn, b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(), cx.fx);
        }
        let ours = size.map_or(after.len(), |size| {
            usize::try_from(size).unwrap_or(usize::MAX).min(after.len())
        });
        self.exchanges.insert(conn, Exchange::Receiving);
        cx.io.wake(conn, cx.now + window(cx), Timer::Rate);
        let form = Form::for_request(head, Dialect::Passive);
        let coming = Coming { from, name, size, most, stored: 0, judged: 0, whole: false, form };
        self.inbox.coming.insert(conn, coming);
        cx.fx.output(Output::Connection(
            conn,
            ConnOutput::Incoming { size, most, early: after[..ours].to_vec() },
        ));
        ours
    }

    /// Whether an upload may begin.
    fn offer(
        &self,
        cx: &NodeCx<'_>,
        conn: ConnId,
        head: &RequestHead,
    ) -> Result<UploadOffer, UploadRefusal> {
        let peer = cx.io.get(conn).map(|c| c.peer.ip()).ok_or(UploadRefusal::new(BAD, ""))?;
        let called = !conn.is_inbound();
        if !cx.config.http || called {
            return Err(UploadRefusal::new(FORBIDDEN, "Files are not taken here."));
        }
        if !head.names_one_host() || head.headers.get("Content-Range").is_some() {
            return Err(UploadRefusal::new(BAD, "Only whole files are taken."));
        }
        if pages::is_by_another_name(head, [&cx.config.hosts, &self.hosts]) {
            return Err(UploadRefusal::new(MISDIRECTED, OTHER_NAME.trim_ascii_end()));
        }
        if pages::is_of_another_origin(&head.headers) {
            return Err(UploadRefusal::new(FORBIDDEN, "A page elsewhere asked for this."));
        }
        let limits = &cx.config.inbox;
        let name = Target::path_of(&head.target).unwrap_or_default();
        fits(&name, limits)?;
        self.inbox.admits(limits, (peer, name), size_of(head)?)
    }

    /// Refuses an upload. Its bytes are not read, so the connection ends.
    fn turn_down(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, refusal: UploadRefusal) {
        let UploadRefusal { status, text, limit } = refusal;
        if let Some(limit) = limit {
            cx.tell(ConnEvent::Limit { conn, limit });
        }
        if self.refuse_over_rate(cx, conn, Form::CLOSE) {
            return;
        }
        let writer = ReplyWriter::from_cx(cx);
        let reply = match status {
            BUSY => writer.come_back(BUSY, RETRY, Form::CLOSE),
            _ => writer.in_short(status, &format!("{text}\n"), Form::CLOSE),
        };
        self.say(cx, conn, reply);
    }

    /// So many bytes of an upload are stored.
    pub(in crate::node) fn stored(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, bytes: u64) {
        let Some(coming) = self.inbox.coming.get_mut(&conn) else { return };
        coming.stored = coming.stored.max(bytes);
        if coming.size.is_some_and(|size| coming.stored >= size) {
            self.whole(cx, conn);
        }
    }

    /// An upload whose length was not known is complete.
    pub(in crate::node) fn upload_ended(
        &mut self,
        cx: &mut NodeCx<'_>,
        conn: ConnId,
        unread: Vec<u8>,
    ) {
        if let (Some(state), true) = (cx.io.open(conn), self.inbox.coming.contains_key(&conn)) {
            state.push(unread);
            self.whole(cx, conn);
        }
    }

    /// All bytes are stored: the file gets its name.
    fn whole(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        let Some(coming) = self.inbox.coming.get_mut(&conn) else { return };
        if mem::replace(&mut coming.whole, true) {
            return;
        }
        coming.size = Some(coming.stored);
        let name = coming.name.clone();
        cx.io.rest(conn);
        cx.fx.output(Output::Connection(conn, ConnOutput::Commit { name }));
    }

    /// A file of the inbox has its name.
    pub(in crate::node) fn upload_committed(
        &mut self,
        cx: &mut NodeCx<'_>,
        conn: ConnId,
        name: String,
    ) {
        let Some(coming) = self.inbox.coming.remove(&conn) else { return };
        let bytes = coming.stored;
        if let Some(held) = &mut self.inbox.held {
            held.files = held.files.saturating_add(1);
            held.bytes = held.bytes.saturating_add(bytes);
        }
        let Some(from) = cx.io.get(conn).map(|c| c.peer) else { return };
        cx.tell(ConnEvent::Committed { conn, name: clip(&name), bytes });
        let text = format!("Kept as {name}\n");
        cx.fx.output(Output::Answer(NodeAnswer::Received { name, bytes, from }));
        let reply = ReplyWriter::from_cx(cx).in_short((201, "Created"), &text, coming.form);
        self.exchanges.insert(conn, Exchange::IDLE);
        self.say(cx, conn, reply);
        super::serving::await_request(self, cx, conn, true);
        cx.io.read_again(conn);
    }

    /// An upload cannot be stored.
    pub(in crate::node) fn not_kept(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, why: StoreError) {
        if self.inbox.coming.remove(&conn).is_none() {
            return;
        }
        let (status, text) = match why {
            StoreError::Full => (NO_ROOM, "The disk is full.\n"),
            _ => (FAILED, "The file cannot be stored.\n"),
        };
        let reply = ReplyWriter::from_cx(cx).in_short(status, text, Form::CLOSE);
        self.say(cx, conn, reply);
    }

    /// Checks the rate of a visitor at the end of a window, which was `due`.
    pub(super) fn check_visitor(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, due: Instant) {
        let Some(coming) = self.inbox.coming.get_mut(&conn) else { return };
        let came = coming.stored - coming.judged;
        coming.judged = coming.stored;
        let length = window(cx);
        let wanted = u128::from(cx.config.inbox.rate) * u128::from(length.as_micros());
        // When we are this late, we were suspended ourselves.
        let slept = cx.now.since(due) >= length;
        if slept || u128::from(came) * 1_000_000 >= wanted {
            return cx.io.wake(conn, cx.now + length, Timer::Rate);
        }
        cx.tell(ConnEvent::Limit { conn, limit: NodeLimit::InboxRate });
        let text = "The file arrives too slowly; nothing of it is kept.\n";
        let reply = ReplyWriter::from_cx(cx).in_short(TIMEOUT, text, Form::CLOSE);
        self.say(cx, conn, reply);
    }
}

/// The time over which a visitor's rate is averaged. A window of zero length
/// would expire again at once.
fn window(cx: &NodeCx<'_>) -> Duration {
    cx.config.inbox.window.max(Duration::from_millis(1))
}

/// Whether a file of the inbox may have this name.
fn fits(name: &str, limits: &InboxLimits) -> Result<(), UploadRefusal> {
    let bad = |c: char| c == '\\' || c == '\u{fffd}' || c.is_control();
    if name.is_empty() || name.contains('/') {
        return Err(UploadRefusal::new(FORBIDDEN, "Files go to the first level: PUT /NAME"));
    }
    if name.starts_with('.') {
        return Err(UploadRefusal::new(FORBIDDEN, "Hidden files are not taken."));
    }
    if name.trim() != name || name.chars().any(bad) {
        return Err(UploadRefusal::new(BAD, "Files of such a name are not taken."));
    }
    if name.len() > limits.name_bytes as usize {
        let text = format!("A name may have {} bytes.", limits.name_bytes);
        return Err(UploadRefusal::new(BAD, text).with_limit(NodeLimit::InboxName));
    }
    Ok(())
}

/// The size of the body; `None` when it comes in chunks. A request that two
/// readers could understand differently is refused (RFC 9112 §6.3).
fn size_of(head: &RequestHead) -> Result<Option<u64>, UploadRefusal> {
    let mut codings = head.headers.all("Transfer-Encoding");
    let coding = codings.next();
    let mut lengths = head.headers.all("Content-Length").map(str::trim_ascii);
    let length = lengths.next();
    let plain = codings.next().is_none() && lengths.all(|other| Some(other) == length);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match (coding, length) {
        (Some(coding), None)
            if plain
                && head.version == HttpVersion::Http11
                && coding.trim_ascii().eq_ignore_ascii_case("chunked") =>
        {
            Ok(None)
        }
        (None, Some(length)) if plain && digits(length) => match length.parse() {
            Ok(length) => Ok(Some(length)),
            Err(_) => Err(UploadRefusal::new(TOO_LARGE, "A file that large is not taken.")),
        },
        (None, None) => Err(UploadRefusal::new(NO_LENGTH, "The length of the file is missing.")),
        _ => Err(UploadRefusal::new(BAD, "The length of the file is not clear.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::http::HeadLimits;

    fn size(lines: &str) -> Result<Option<u64>, u16> {
        let text = format!("PUT /a HTTP/1.1\r\n{lines}\r\n");
        let limits = HeadLimits { bytes: 4_096, lines: 64 };
        let (head, _) = RequestHead::parse(text.as_bytes(), &limits).unwrap().unwrap();
        size_of(&head).map_err(|refusal| refusal.status.0)
    }

    #[test]
    fn the_length_of_a_body_is_clear_or_it_is_not_read() {
        assert_eq!(size("Content-Length: 7\r\n"), Ok(Some(7)));
        assert_eq!(size("Content-Length: 7\r\nContent-Length: 7\r\n"), Ok(Some(7)));
        assert_eq!(size("Transfer-Encoding: Chunked\r\n"), Ok(None));
        assert_eq!(size(""), Err(411));
        for unclear in [
            "Content-Length: 7\r\nContent-Length: 8\r\n",
            "Content-Length: +7\r\n",
            "Content-Length: 7, 7\r\n",
            "Content-Length:\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 7\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        ] {
            assert_eq!(size(unclear), Err(400), "{unclear}");
        }
        assert_eq!(size("Content-Length: 99999999999999999999\r\n"), Err(413));
    }

    #[test]
    fn a_name_is_one_plain_visible_name() {
        let limits = InboxLimits { name_bytes: 9, ..InboxLimits::default() };
        let status = |name: &str| fits(name, &limits).err().map_or(0, |refusal| refusal.status.0);
        for good in ["a", "ü.ogg", "a b.c", "a..b", "%2e"] {
            assert_eq!(status(good), 0, "{good}");
        }
        for (bad, why) in [
            ("", 403),
            ("a/b", 403),
            ("/a", 403),
            (".", 403),
            ("..", 403),
            (".ssh", 403),
            ("a\\b", 400),
            ("a\nb", 400),
            ("a\0", 400),
            (" a", 400),
            ("a ", 400),
            ("\u{fffd}", 400),
            ("0123456789", 400),
        ] {
            assert_eq!(status(bad), why, "{bad:?}");
        }
    }
}
