//! The host of a node in a page: what happens is handled one thing at a time,
//! and what the node wants is carried out in order, once what it promises is
//! saved.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;

use js_sys::{Array, Date, Uint8Array};
use servent_core::engine::{Effect, Engine as _, FxOf};
use servent_core::fetch::{DialError, StoreError};
use servent_core::id::{ConnId, FetchId, FileIndex};
use servent_core::node::{
    ConnInput, ConnOutput, DiskInput, FetchInput, FetchOutput, FileInfo, FileRef, Input,
    MessageOutput, Node, NodeAnswer, NodeCommand, NodeOp, Output, OverlayCommand, SearchHit,
};
use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;
use servent_core::trace::tape::Start;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::Blob;

use super::How;
use super::config::config;
use super::disk::{self, Disk, Door, RowOf};
use super::line::CallLine;
use super::routes::Ways;
use super::rows;
use super::socket::{self, Socket, SocketJob};
use super::tape::PageRecording;

/// Hits that are kept; further ones are not told.
const HITS: usize = 10_000;
/// A timer that is this late was not only slowed down, as those of a hidden page
/// are: the page was put to sleep.
const SLEPT: Duration = Duration::from_secs(90);
/// The longest timer of a browser, in milliseconds.
const LONGEST: u64 = i32::MAX as u64;

/// Something that happened.
#[allow(clippy::large_enum_variant)] // Handled and dropped one at a time.
pub(super) enum Happened {
    Input(Input),
    Opened(ConnId),
    Closed(ConnId),
    Data(ConnId, Uint8Array),
    /// A connection is free for its next job.
    Free(ConnId),
    /// The door has kept so many bytes, or could not.
    Committed(ConnId, u64, bool),
    Timer,
    /// The page is seen again, or its network is back.
    Woke,
    /// The other page says something to arrange a channel.
    Signal(ConnId, Uint8Array),
    /// It says nothing more.
    SignalsOver(ConnId),
    /// The channel did not open, or cannot.
    NoChannel(ConnId),
    /// The channel has ended.
    ChannelOver(ConnId),
    Datagram(ConnId, Uint8Array),
    /// What a channel has to send goes into the send window.
    Send(ConnId),
    /// What was unsent at its end had time enough.
    Lingered(ConnId),
}

pub(super) struct PageHost {
    pub(super) node: Node,
    fx: FxOf<Node>,
    pub(super) how: How,
    pub(super) disk: Disk,
    pub(super) sockets: BTreeMap<ConnId, Socket>,
    pub(super) ways: Ways,
    pub(super) line: CallLine,
    pub(super) waiting: VecDeque<Happened>,
    outputs: Vec<Output>,
    changes: Vec<RowOf>,
    /// Rows are being saved; until they are nothing else is done.
    saving: bool,
    /// Someone above is handling what waits.
    working: bool,
    last: Instant,
    tape: PageRecording,
    timer: Timer,
    pub(super) answers: Vec<NodeAnswer>,
    pub(super) hits: Vec<SearchHit>,
    searches: u32,
    pub(super) trouble: Option<String>,
}

#[derive(Default)]
struct Timer {
    id: Option<i32>,
    rings: Option<Closure<dyn FnMut()>>,
}

type SharedHost = Rc<RefCell<PageHost>>;

impl PageHost {
    pub(super) fn new(how: How, seed: u64, files: &Array, door: Door) -> SharedHost {
        let config = config(&how.name, how.rules);
        let mut restored = rows::restored(&how.rows);
        let disk = Disk::new(door, &how.rows, files);
        restored.shared = disk.infos();
        restored.listen = how.line.as_ref().map(|(at, _)| SocketAddr::V4(*at));
        let now = Instant::from_micros((Date::now() * 1_000.0) as u64);
        let start = Start::new(NodeId(0), &how.name, seed, config.clone());
        let tape = PageRecording::new(now, start);
        let mut waiting = VecDeque::from([Happened::Input(Input::Start(restored))]);
        let join = how.own.first().map(|at| NodeCommand::Overlay(OverlayCommand::Join { at: *at }));
        waiting.extend(join.map(|join| Happened::Input(Input::Command(join))));
        let host = Rc::new(RefCell::new(Self {
            node: Node::new(config, seed),
            fx: FxOf::<Node>::new(),
            how,
            disk,
            sockets: BTreeMap::new(),
            ways: Ways::default(),
            line: CallLine::default(),
            waiting,
            outputs: Vec::new(),
            changes: Vec::new(),
            saving: false,
            working: false,
            last: now,
            tape,
            timer: Timer::default(),
            answers: Vec::new(),
            hits: Vec::new(),
            searches: 0,
            trouble: None,
        }));
        let ring = Rc::downgrade(&host);
        host.borrow_mut().timer.rings = Some(Closure::new(move || {
            if let Some(host) = ring.upgrade() {
                CallLine::look(&host);
                Self::happened(&host, [Happened::Timer]);
            }
        }));
        Self::turn(&host);
        CallLine::open(&host);
        let shared: Vec<_> = host.borrow().disk.infos();
        shared.iter().for_each(|info| Self::hash_share(&host, info.index));
        host
    }

    /// Handles what happened, as soon as its turn comes.
    pub(super) fn happened(this: &SharedHost, what: impl IntoIterator<Item = Happened>) {
        this.borrow_mut().waiting.extend(what);
        Self::turn(this);
    }

    /// Handles what waits, until rows have to be saved first.
    fn turn(this: &SharedHost) {
        loop {
            let mut host = this.borrow_mut();
            if host.saving || host.working || host.trouble.is_some() {
                return;
            }
            let Some(what) = host.waiting.pop_front().or_else(|| host.due()) else { break };
            host.handle(this, what);
            if host.changes.is_empty() {
                host.carry_out(this);
                continue;
            }
            host.saving = true;
            let rows = host.changes.drain(..).map(|(key, text)| {
                let text = text.map_or(JsValue::NULL, JsValue::from);
                JsValue::from(Array::of2(&key.into(), &text))
            });
            let rows: Array = rows.collect();
            let saved = host.disk.door.save(&rows);
            drop(host);
            let this = Rc::clone(this);
            spawn_local(async move {
                let saved = JsFuture::from(saved).await;
                let mut host = this.borrow_mut();
                host.saving = false;
                match saved {
                    Ok(_) => host.carry_out(&this),
                    // What could not be saved is not promised: nothing goes on.
                    Err(why) => host.trouble = Some(words(&why)),
                }
                drop(host);
                Self::turn(&this);
            });
            return;
        }
        let mut host = this.borrow_mut();
        host.wind();
        host.working = true;
        drop(host);
        // The page may look at us, and may command something.
        this.borrow().disk.door.turned();
        this.borrow_mut().working = false;
    }

    pub(super) fn now(&self) -> Instant {
        self.last.max(Instant::from_micros((Date::now() * 1_000.0) as u64))
    }

    /// What the node wants to do by now, as at the end of each turn: messages and
    /// acknowledgements of one turn share datagrams.
    fn due(&self) -> Option<Happened> {
        let due = self.node.poll_timeout().is_some_and(|(at, _)| at <= self.now());
        due.then_some(Happened::Timer)
    }

    fn handle(&mut self, this: &SharedHost, what: Happened) {
        self.last = self.now();
        let now = self.last;
        self.woke(now, matches!(what, Happened::Woke));
        while self.node.poll_timeout().is_some_and(|(at, _)| at <= now) {
            self.tape.timeout(now);
            self.node.handle_timeout(now, &mut self.fx);
            self.gather();
        }
        let input = match what {
            Happened::Timer | Happened::Woke => None,
            Happened::Input(
                input @ Input::Connection(
                    conn,
                    ConnInput::Served { .. } | ConnInput::DiskFailed { .. },
                ),
            ) => self.sockets.contains_key(&conn).then_some(input),
            Happened::Input(input) => Some(input),
            Happened::Opened(conn) => self.opened(conn, false),
            Happened::Data(conn, data) => self.data(this, conn, data),
            Happened::Closed(conn) => self.closed(this, conn),
            Happened::Committed(conn, length, kept) => self.kept(conn, length, kept),
            Happened::Free(conn) => {
                if let Some(socket) = self.sockets.get_mut(&conn) {
                    socket.free();
                }
                None
            }
            what => self.channel_happened(this, what),
        };
        if let Some(input) = input {
            self.feed(input);
        }
        self.resume(this);
    }

    /// Tells the node that nothing could be done for a while, before it does what is
    /// overdue by now.
    fn woke(&mut self, now: Instant, told: bool) {
        let due = self.node.poll_timeout().map_or(now, |(at, _)| at);
        let slept = now.since(due);
        if told || slept >= SLEPT {
            self.feed(Input::Command(NodeCommand::Woke { slept }));
        }
    }

    /// WebSockets on which nothing was received since then are dead, whatever the
    /// browser thinks.
    pub(super) fn dead(this: &SharedHost, since: f64) {
        let host = this.borrow();
        let silent = host.sockets.iter().filter(|(_, socket)| socket.is_silent(since));
        let mut all: Vec<_> = silent.map(|(conn, _)| Happened::Closed(*conn)).collect();
        drop(host);
        all.push(Happened::Woke);
        Self::happened(this, all);
    }

    fn feed(&mut self, input: Input) {
        self.tape.input(self.last, &input);
        self.node.handle(self.last, input, &mut self.fx);
        self.gather();
    }

    /// A connection is open, or the page that it calls has answered.
    fn opened(&mut self, conn: ConnId, answered: bool) -> Option<Input> {
        let socket = self.sockets.get_mut(&conn)?;
        socket.open = answered || !socket.calls;
        if let Some(channel) = socket.channel() {
            channel.opened();
            self.ways.counts.opened += 1;
        }
        // A page does not know its own address.
        let local = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        socket.open.then_some(match socket.caller {
            Some(peer) => Input::Connection(conn, ConnInput::Accepted { peer, local: None }),
            None => Input::Connection(conn, ConnInput::Dialed { local }),
        })
    }

    /// Received bytes: the node's, or a download's.
    fn data(&mut self, this: &SharedHost, conn: ConnId, data: Uint8Array) -> Option<Input> {
        let now = self.last.as_micros();
        let socket = self.sockets.get_mut(&conn)?;
        socket.heard = Date::now();
        if !socket.open {
            return self.opened(conn, true);
        }
        let bytes = socket.receive(data, now);
        self.keep(this, conn);
        bytes.map(|bytes| Input::Connection(conn, ConnInput::Bytes { data: bytes.to_vec() }))
    }

    /// Gives the door the next piece of a download, if there is a whole one.
    fn keep(&mut self, this: &SharedHost, conn: ConnId) {
        let now = self.last.as_micros();
        let Some(socket) = self.sockets.get_mut(&conn) else { return };
        let Some((part, start, pieces, length)) = socket.piece(now) else { return };
        let kept = self.disk.door.put(part as f64, start as f64, &pieces);
        let this = Rc::clone(this);
        spawn_local(async move {
            let kept = JsFuture::from(kept).await.is_ok();
            Self::happened(&this, [Happened::Committed(conn, length, kept)]);
        });
    }

    fn kept(&mut self, conn: ConnId, length: u64, kept: bool) -> Option<Input> {
        let socket = self.sockets.get_mut(&conn)?;
        if !kept {
            socket.store_failed();
            return Some(Input::Connection(conn, ConnInput::DiskFailed { why: StoreError::Full }));
        }
        let bytes = socket.kept(length)?;
        if socket.gone && !socket.is_storing() {
            self.waiting.push_front(Happened::Closed(conn));
        }
        for data in socket.take_behind().into_iter().rev() {
            self.waiting.push_front(Happened::Data(conn, data));
        }
        Some(Input::Connection(conn, ConnInput::Stored { bytes }))
    }

    /// The other end is gone. What it has sent of a download is kept first.
    fn closed(&mut self, this: &SharedHost, conn: ConnId) -> Option<Input> {
        self.sockets.get_mut(&conn)?.gone = true;
        self.keep(this, conn);
        if self.sockets.get(&conn).is_some_and(Socket::is_storing) {
            return None;
        }
        let mut socket = self.sockets.remove(&conn)?;
        self.forget_channel(&mut socket);
        let failed = Input::Connection(conn, ConnInput::DialFailed { why: DialError::Refused });
        match (socket.open, socket.caller) {
            (true, _) => Some(Input::Connection(conn, ConnInput::Closed)),
            (false, None) => Some(failed),
            (false, Some(_)) => None, // The node does not know of it.
        }
    }

    /// Sorts what the node wants: changes to save first, outputs to carry out.
    fn gather(&mut self) {
        self.tape.effects(self.last, self.fx.as_slice());
        let mut gone = Vec::new();
        for effect in self.fx.drain() {
            let Effect::Output(output) = effect else { continue };
            match &output {
                Output::Persist(op) => {
                    self.changes.extend(rows::row(op));
                    if let NodeOp::FetchGone(fetch) = op {
                        gone.push(*fetch);
                    }
                    continue;
                }
                Output::Fetch(FetchOutput::Allocate { fetch, name, size }) => {
                    let now = self.last.as_micros();
                    self.changes.push(self.disk.allocate(*fetch, (name, *size), now));
                }
                Output::Fetch(FetchOutput::Complete { fetch }) => {
                    self.changes.extend(self.disk.complete(*fetch))
                }
                _ => {}
            }
            self.outputs.push(output);
        }
        // One that is complete is not on this list any more, and keeps its bytes.
        self.changes.extend(gone.into_iter().filter_map(|fetch| self.disk.give_up(fetch)));
    }

    fn carry_out(&mut self, this: &SharedHost) {
        for output in std::mem::take(&mut self.outputs) {
            self.act(this, output);
        }
    }

    fn act(&mut self, this: &SharedHost, output: Output) {
        match output {
            Output::Connection(conn, wanted) => self.act_on(this, conn, wanted),
            Output::Fetch(FetchOutput::Verify { fetch }) => self.verify(this, fetch),
            Output::Fetch(FetchOutput::Hash { fetch, start, .. }) => {
                self.next(Input::Fetch(FetchInput::Hashed { fetch, start, tth: None }));
            }
            Output::Messages(MessageOutput::Datagrams { to, segment, data }) => {
                self.post(to, segment, &data);
            }
            Output::Messages(MessageOutput::Deliver { from, messages, .. }) => {
                self.deliver(from, messages);
            }
            Output::Messages(MessageOutput::Refused { to, messages, why }) => {
                self.refused(to, messages, why);
            }
            Output::Messages(MessageOutput::Writable { to }) => self.writable(to),
            Output::Answer(answer) => self.answer(answer),
            // Files are made when their first bytes come, what is to be saved is
            // saved by now, and there are no swarms.
            Output::Fetch(FetchOutput::Allocate { .. } | FetchOutput::Complete { .. })
            | Output::Persist(_)
            | Output::Swarm(_) => {}
        }
    }

    fn act_on(&mut self, this: &SharedHost, conn: ConnId, wanted: ConnOutput) {
        match wanted {
            ConnOutput::Dial { to } => match self.dial(this, conn, to) {
                Ok(socket) => drop(self.sockets.insert(conn, socket)),
                Err(why) => self.next(Input::Connection(conn, ConnInput::DialFailed { why })),
            },
            ConnOutput::Write { data } => self.push(this, conn, SocketJob::Write(data)),
            ConnOutput::Close { flush } => self.close(this, conn, flush),
            ConnOutput::Serve { file, start, end } => {
                let file = match file {
                    FileRef::Shared(index) => self.disk.shared(index).cloned().map(Blob::from),
                    _ => None,
                };
                let file = file.ok_or(StoreError::Changed);
                self.push(this, conn, SocketJob::Serve { file, start, end });
            }
            ConnOutput::Store { file: FileRef::Fetch(fetch), start, end, early } => {
                self.store(this, conn, fetch, (start, end), &early);
            }
            // There is no inbox either.
            ConnOutput::Store { .. }
            | ConnOutput::StoreBody { .. }
            | ConnOutput::Incoming { .. }
            | ConnOutput::Commit { .. } => {
                let why = StoreError::Failed;
                self.next(Input::Connection(conn, ConnInput::DiskFailed { why }));
            }
            ConnOutput::Authenticate { .. } => {
                self.next(Input::Connection(conn, ConnInput::Authenticated { good: false }));
            }
        }
    }

    /// An input that follows from an output.
    pub(super) fn next(&mut self, input: Input) {
        self.waiting.push_back(Happened::Input(input));
    }

    pub(super) fn push(&mut self, this: &SharedHost, conn: ConnId, job: SocketJob) {
        if let Some(socket) = self.sockets.get_mut(&conn) {
            socket::push(this, socket, conn, job);
        }
    }

    /// Goes on with the jobs of connections that are free again.
    fn resume(&mut self, this: &SharedHost) {
        for (conn, socket) in &mut self.sockets {
            socket::work(this, socket, *conn);
        }
        self.pump();
    }

    fn store(
        &mut self,
        this: &SharedHost,
        conn: ConnId,
        fetch: FetchId,
        range: (u64, u64),
        early: &[u8],
    ) {
        match self.disk.part(fetch) {
            Err(why) => self.next(Input::Connection(conn, ConnInput::DiskFailed { why })),
            Ok(_) if range.0 == range.1 => {
                self.next(Input::Connection(conn, ConnInput::Stored { bytes: 0 }))
            }
            Ok(part) => {
                let now = self.last.as_micros();
                if let Some(socket) = self.sockets.get_mut(&conn) {
                    socket.store(part, range, now);
                }
                let _ = self.data(this, conn, Uint8Array::from(early));
            }
        }
    }

    /// Hashes a download that has all its bytes.
    fn verify(&mut self, this: &SharedHost, fetch: FetchId) {
        let Ok(part) = self.disk.part(fetch) else {
            return self
                .next(Input::Fetch(FetchInput::VerifyFailed { fetch, why: StoreError::Failed }));
        };
        let answer = self.disk.door.digest(part as f64, self.disk.size(fetch) as f64);
        let this = Rc::clone(this);
        spawn_local(async move {
            let input = match disk::hashed(answer).await {
                Some(sha1) => Input::Fetch(FetchInput::Verified { fetch, sha1: Some(sha1) }),
                None => Input::Fetch(FetchInput::VerifyFailed { fetch, why: StoreError::Failed }),
            };
            Self::happened(&this, [Happened::Input(input)]);
        });
    }

    fn answer(&mut self, answer: NodeAnswer) {
        if let NodeAnswer::Found(hit) = &answer {
            if self.hits.len() >= HITS {
                return;
            }
            self.hits.push(hit.clone());
        }
        self.answers.push(answer);
    }

    /// Where it waits for calls, when it can be called.
    pub(super) fn line_url(&self) -> Option<String> {
        let (at, secret) = self.how.line.as_ref()?;
        Some(format!("{}/listen/{at}/{secret}", self.how.url))
    }

    /// Sets the one timer.
    fn wind(&mut self) {
        let Some(window) = web_sys::window() else { return };
        if let Some(id) = self.timer.id.take() {
            window.clear_timeout_with_handle(id);
        }
        let (Some((at, _)), Some(rings)) = (self.node.poll_timeout(), &self.timer.rings) else {
            return;
        };
        let wait = at.since(self.now()).as_micros().div_ceil(1_000).min(LONGEST);
        let set = window.set_timeout_with_callback_and_timeout_and_arguments_0(
            rings.as_ref().unchecked_ref(),
            i32::try_from(wait).unwrap_or(i32::MAX),
        );
        self.timer.id = set.ok();
    }

    pub(super) fn add_share(&mut self, file: web_sys::File) -> (FileInfo, FileIndex) {
        let info = self.disk.share(file);
        let index = info.index;
        (info, index)
    }

    pub(super) fn drop_share(&mut self, index: u32) -> Option<Input> {
        let index = FileIndex(index);
        self.disk.unshare(index).then_some(Input::Disk(DiskInput::Unshared { index }))
    }

    /// Hashes a shared file beside everything else.
    pub(super) fn hash_share(this: &SharedHost, index: FileIndex) {
        let Some(file) = this.borrow().disk.shared(index).cloned() else { return };
        let answer = this.borrow().disk.door.hash(&file);
        let this = Rc::clone(this);
        spawn_local(async move {
            let Some(sha1) = disk::hashed(answer).await else { return };
            let info = this.borrow_mut().disk.hashed(index, sha1);
            Self::happened(
                &this,
                info.map(|info| Happened::Input(Input::Disk(DiskInput::Shared(info)))),
            );
        });
    }

    /// Takes a complete download off the list.
    pub(super) fn forget(this: &SharedHost, part: f64) {
        let row = this.borrow_mut().disk.forget(part as u64);
        this.borrow_mut().changes.extend(row);
        Self::happened(this, [Happened::Timer]);
    }

    pub(super) fn next_search(&mut self) -> u32 {
        self.searches += 1;
        self.searches
    }

    /// The lines of the recording from that one on, with the digest of everything until
    /// now as the last one; nothing when there are none.
    pub(super) fn tape_from(&mut self, line: usize) -> String {
        self.tape.text_from(line, self.last)
    }

    pub(super) fn tape_lines(&self) -> u32 {
        u32::try_from(self.tape.lines()).unwrap_or(u32::MAX)
    }

    /// The recording so far, with the digest of everything until now.
    pub(super) fn tape(&mut self) -> String {
        self.tape.text(self.last)
    }
}

/// What went wrong, as the browser says it.
fn words(why: &JsValue) -> String {
    why.dyn_ref::<js_sys::Error>().map_or_else(|| format!("{why:?}"), |why| why.message().into())
}
