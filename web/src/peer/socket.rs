//! The connections of a page: WebSockets and channels, inside of which the bytes
//! of an ordinary connection travel.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::{Rc, Weak};

use js_sys::{Array, ArrayBuffer, Date, Uint8Array};
use servent_core::fetch::{DialError, StoreError};
use servent_core::id::ConnId;
use servent_core::node::{ConnInput, Input};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{BinaryType, Blob, MessageEvent, WebSocket};

use super::channel::Channel;
use super::disk::read;
use super::host::{Happened, PageHost};

/// The sub-protocol: the name of what travels inside.
pub(super) const PROTOCOL: &str = "servent.1";
/// Bytes of one message. A servent refuses more than four times this.
pub(super) const MESSAGE: u32 = 64 * 1024;
/// Bytes that the browser may hold unsent before no more of a file is read, and
/// below which it is read on.
const UNSENT: [u32; 2] = [256 * 1024, 1 << 20];
/// How often to look whether they are fewer, in milliseconds.
const UNSENT_WAIT: i32 = 10;
/// Bytes given to a channel after which progress is reported.
const GIVEN: u64 = 1 << 20;
/// Every how many looks progress is reported.
const LOOKS: u32 = 20;
/// Bytes of a download that are saved at a time, and for how many milliseconds
/// fewer may wait for that.
const PIECE: u64 = 4 << 20;
const PIECE_WAIT: u64 = 1_000;

/// A connection.
pub(super) struct Socket {
    pub(super) wire: ByteChannel,
    pub(super) open: bool,
    /// Who was dialed, when it is no answer to a call.
    pub(super) dialed: Option<SocketAddr>,
    /// Who has called, when it is the answer to a call.
    pub(super) caller: Option<SocketAddr>,
    /// It calls another page, and is open when that has answered.
    pub(super) calls: bool,
    jobs: VecDeque<SocketJob>,
    /// A job that takes time is being done.
    busy: bool,
    /// The other end is gone.
    pub(super) gone: bool,
    /// When something was last received, or it was dialed, in milliseconds.
    pub(super) heard: f64,
    /// Where received bytes go, when not to the node.
    body: Option<RangeBody>,
    /// What was received behind that, until it is stored.
    behind: Vec<Uint8Array>,
}

/// What the bytes of a connection travel on.
pub(super) enum ByteChannel {
    /// A WebSocket, to a servent or through ours to another page.
    Web(Web),
    /// A channel to another page.
    Channel(Channel),
}

/// A WebSocket, and its listeners.
pub(super) struct Web {
    socket: WebSocket,
    _events: [Closure<dyn FnMut(JsValue)>; 3],
}

/// What is to be done on a connection, in order.
pub(super) enum SocketJob {
    Write(Vec<u8>),
    Serve { file: Result<Blob, StoreError>, start: u64, end: u64 },
    Close,
}

/// A range of a download that is being received.
struct RangeBody {
    part: u64,
    start: u64,
    /// Where in the file the next received byte belongs.
    at: u64,
    end: u64,
    /// Received, and not given to the door yet.
    pieces: Vec<Uint8Array>,
    waiting: u64,
    since: u64,
    /// Bytes that the door has kept.
    kept: u64,
}

type SharedSocket = Rc<RefCell<PageHost>>;

/// Connects; the node learns how that ends.
pub(super) fn dial(host: &SharedSocket, conn: ConnId, url: &str) -> Result<ByteChannel, DialError> {
    let socket = WebSocket::new_with_str(url, PROTOCOL).map_err(|_| DialError::Unreachable)?;
    socket.set_binary_type(BinaryType::Arraybuffer);
    let event = |then: fn(ConnId, JsValue) -> Happened| {
        let host: Weak<RefCell<PageHost>> = Rc::downgrade(host);
        Closure::new(move |event: JsValue| {
            if let Some(host) = host.upgrade() {
                PageHost::happened(&host, [then(conn, event)]);
            }
        })
    };
    let opened = event(|conn, _| Happened::Opened(conn));
    let closed = event(|conn, _| Happened::Closed(conn));
    let message = event(|conn, event| {
        let data = event.unchecked_into::<MessageEvent>().data();
        Happened::Data(conn, Uint8Array::new(data.unchecked_ref::<ArrayBuffer>()))
    });
    socket.set_onopen(Some(opened.as_ref().unchecked_ref()));
    socket.set_onclose(Some(closed.as_ref().unchecked_ref()));
    socket.set_onmessage(Some(message.as_ref().unchecked_ref()));
    Ok(ByteChannel::Web(Web { socket, _events: [opened, closed, message] }))
}

impl Drop for Web {
    fn drop(&mut self) {
        self.socket.set_onopen(None);
        self.socket.set_onclose(None);
        self.socket.set_onmessage(None);
        let _ = self.socket.close(); // It may be closed already.
    }
}

impl Socket {
    /// A connection that is not open yet.
    pub(super) fn new(wire: ByteChannel) -> Self {
        Self {
            wire,
            open: false,
            dialed: None,
            caller: None,
            calls: false,
            jobs: VecDeque::new(),
            busy: false,
            gone: false,
            heard: Date::now(),
            body: None,
            behind: Vec::new(),
        }
    }

    /// Closes at once: true for a channel, whose end is not told.
    pub(super) fn cut(&mut self) -> bool {
        self.jobs.clear();
        match &self.wire {
            ByteChannel::Web(Web { socket, .. }) => {
                let _ = socket.close(); // It may be closed already.
                false
            }
            ByteChannel::Channel(_) => true,
        }
    }

    /// True for a WebSocket on which nothing was received since then.
    pub(super) fn is_silent(&self, since: f64) -> bool {
        matches!(self.wire, ByteChannel::Web(_)) && self.heard < since
    }

    /// The channel, if it is one.
    pub(super) const fn channel(&mut self) -> Option<&mut Channel> {
        match &mut self.wire {
            ByteChannel::Channel(channel) => Some(channel),
            ByteChannel::Web(_) => None,
        }
    }

    /// The job that took time is done.
    pub(super) fn free(&mut self) {
        self.busy = false;
    }

    fn send(&mut self, data: &[u8]) {
        match &mut self.wire {
            ByteChannel::Channel(channel) => channel.write(data),
            ByteChannel::Web(Web { socket, .. }) => {
                for message in data.chunks(MESSAGE as usize) {
                    // One that is closing discards it, and its end is told.
                    let _ = socket.send_with_u8_array(message);
                }
            }
        }
    }

    fn end(&mut self) {
        match &mut self.wire {
            ByteChannel::Channel(channel) => channel.end(),
            ByteChannel::Web(_) => drop(self.cut()),
        }
    }

    /// Received bytes: those that are the node's are returned.
    pub(super) fn receive(&mut self, data: Uint8Array, now: u64) -> Option<Uint8Array> {
        let Some(body) = &mut self.body else { return Some(data) };
        let length = u64::from(data.length());
        let taken = length.min(body.end - body.at);
        if taken < length {
            self.behind.push(data.subarray(taken as u32, data.length()));
        }
        if taken > 0 {
            if body.pieces.is_empty() {
                body.since = now;
            }
            body.pieces.push(data.subarray(0, taken as u32));
            (body.at, body.waiting) = (body.at + taken, body.waiting + taken);
        }
        None
    }

    /// The next bytes belong to a download.
    pub(super) fn store(&mut self, part: u64, (start, end): (u64, u64), now: u64) {
        let (pieces, waiting, kept) = (Vec::new(), 0, 0);
        self.body =
            Some(RangeBody { part, start, at: start, end, pieces, waiting, since: now, kept });
    }

    /// What the door should keep now: the part, where, and the bytes.
    pub(super) fn piece(&mut self, now: u64) -> Option<(u64, u64, Array, u64)> {
        let gone = self.gone;
        let body = self.body.as_mut().filter(|body| body.waiting > 0)?;
        let late = now >= body.since + PIECE_WAIT * 1_000;
        if body.waiting < PIECE && body.at < body.end && !late && !gone {
            return None;
        }
        let (pieces, length) = (std::mem::take(&mut body.pieces), body.waiting);
        body.waiting = 0;
        Some((body.part, body.at - length, pieces.iter().collect(), length))
    }

    /// The door has kept so many more bytes: how many it has kept of the range.
    pub(super) fn kept(&mut self, length: u64) -> Option<u64> {
        let body = self.body.as_mut()?;
        body.kept += length;
        let kept = body.kept;
        if body.at == body.end && !body.is_behind() {
            self.body = None;
        }
        Some(kept)
    }

    /// Bytes of a download that wait for the door.
    pub(super) fn behind(&self) -> u64 {
        self.body.as_ref().map_or(0, |body| body.at - body.start - body.kept)
    }

    /// True while bytes of a download wait for the door.
    pub(super) fn is_storing(&self) -> bool {
        self.body.as_ref().is_some_and(RangeBody::is_behind)
    }

    /// Nothing more is stored.
    pub(super) fn store_failed(&mut self) {
        self.body = None;
    }

    /// What was received behind a range that is stored now.
    pub(super) fn take_behind(&mut self) -> Vec<Uint8Array> {
        if self.body.is_none() { std::mem::take(&mut self.behind) } else { Vec::new() }
    }
}

impl RangeBody {
    /// Something was received that the door has not kept yet.
    const fn is_behind(&self) -> bool {
        self.at - self.start > self.kept
    }
}

/// Adds a job, and does what can be done.
pub(super) fn push(host: &SharedSocket, this: &mut Socket, conn: ConnId, job: SocketJob) {
    this.jobs.push_back(job);
    work(host, this, conn);
}

/// Does the jobs of a connection until one takes time.
pub(super) fn work(host: &SharedSocket, this: &mut Socket, conn: ConnId) {
    while !this.busy && this.open {
        match this.jobs.pop_front() {
            Some(SocketJob::Write(data)) => this.send(&data),
            Some(SocketJob::Close) => this.end(),
            Some(SocketJob::Serve { file: Err(why), .. }) => {
                later(
                    host,
                    Happened::Input(Input::Connection(conn, ConnInput::DiskFailed { why })),
                );
            }
            Some(SocketJob::Serve { file: Ok(file), start, end }) => {
                this.busy = true;
                let host = Rc::clone(host);
                let socket = match &this.wire {
                    ByteChannel::Web(web) => Some(web.socket.clone()),
                    ByteChannel::Channel(_) => None,
                };
                spawn_local(async move {
                    let served = match socket {
                        Some(socket) => serve(&host, conn, (&socket, &file), (start, end)).await,
                        None => serve_channel(&host, conn, &file, (start, end)).await,
                    };
                    let input = match served {
                        Ok(bytes) => Input::Connection(conn, ConnInput::Served { bytes }),
                        Err(_) => Input::Connection(
                            conn,
                            ConnInput::DiskFailed { why: StoreError::Changed },
                        ),
                    };
                    PageHost::happened(&host, [Happened::Free(conn), Happened::Input(input)]);
                });
            }
            None => return,
        }
    }
}

/// An input that follows from an output, after those that are being carried out.
fn later(host: &SharedSocket, what: Happened) {
    let host = Rc::clone(host);
    spawn_local(async move { PageHost::happened(&host, [what]) });
}

/// Sends a part of a file, as fast as the other end takes it.
async fn serve(
    host: &SharedSocket,
    conn: ConnId,
    (socket, file): (&WebSocket, &Blob),
    (start, end): (u64, u64),
) -> Result<u64, JsValue> {
    let mut at = start;
    while at < end {
        let next = end.min(at + u64::from(MESSAGE));
        let data = read(file, at, next).await?;
        if u64::from(data.length()) != next - at {
            return Err(JsValue::NULL); // The file has shrunk.
        }
        if socket.ready_state() != WebSocket::OPEN {
            break;
        }
        socket.send_with_array_buffer_view(&data)?;
        at = next;
        if socket.buffered_amount() > UNSENT[1] {
            drained(host, conn, socket, at - start).await;
        }
    }
    Ok(at - start)
}

/// The same on a channel, as fast as its send window takes it.
async fn serve_channel(
    host: &SharedSocket,
    conn: ConnId,
    file: &Blob,
    (start, end): (u64, u64),
) -> Result<u64, JsValue> {
    let (mut at, mut told) = (start, start);
    while at < end {
        let next = end.min(at + u64::from(MESSAGE));
        let data = read(file, at, next).await?;
        if u64::from(data.length()) != next - at {
            return Err(JsValue::NULL); // The file has shrunk.
        }
        let Some(room) = PageHost::give(host, conn, &data.to_vec()) else { break };
        at = next;
        if room.await.is_err() {
            break; // The connection has ended.
        }
        if at - told >= GIVEN {
            told = at;
            let bytes = (at - start).saturating_sub(PageHost::unsent(host, conn));
            PageHost::happened(
                host,
                [Happened::Input(Input::Connection(conn, ConnInput::Served { bytes }))],
            );
        }
    }
    Ok(at - start)
}

/// Waits until the browser has sent enough of the `given` bytes.
async fn drained(host: &SharedSocket, conn: ConnId, socket: &WebSocket, given: u64) {
    let mut looks = 0;
    while socket.buffered_amount() > UNSENT[0] && socket.ready_state() == WebSocket::OPEN {
        sleep(UNSENT_WAIT).await;
        looks += 1;
        if looks % LOOKS == 0 {
            let bytes = given.saturating_sub(u64::from(socket.buffered_amount()));
            PageHost::happened(
                host,
                [Happened::Input(Input::Connection(conn, ConnInput::Served { bytes }))],
            );
        }
    }
}

/// Waits for so many milliseconds.
pub(super) async fn sleep(ms: i32) {
    let waited = js_sys::Promise::new(&mut |done, _| {
        if let Some(window) = web_sys::window() {
            let _ = window.set_timeout_with_callback_and_timeout_and_arguments_0(&done, ms);
        }
    });
    let _ = JsFuture::from(waited).await;
}
