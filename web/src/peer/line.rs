//! A page cannot listen. It holds a line to its servent, on which it is told who
//! calls, and answers each call with a connection of its own: see `relay` of the
//! program. Its node has listened and accepted, as far as it knows.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::{Rc, Weak};

use js_sys::{ArrayBuffer, Date, Uint8Array};
use servent_core::id::ConnId;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::{BinaryType, MessageEvent, WebSocket};

use super::host::PageHost;
use super::socket::PROTOCOL;

/// Time until a line that was lost is opened again, and the most it grows to, in
/// milliseconds.
const AGAIN: [i32; 2] = [500, 30_000];
/// The servent says something at least every 25 s. After this long without a word
/// it is asked for one, in milliseconds.
const QUIET: f64 = 40_000.0;
/// A page that has not answered after this long is not there any more, whatever the
/// browser thinks: sockets of phones stay open while they are dead.
const ANSWER: i32 = 2_500;
/// What the host of the room says to pages, see `part` of the page.
const SAID: [&str; 12] = [
    "SAY", "RULES", "OUT", "TAPE", "LOSS", "FREEZE", "CUT", "MEND", "PART", "JOIN", "CLASS",
    "RESET",
];
/// Bytes of a line that is not complete.
const LONGEST: usize = 2_048;

/// Where a page is called.
#[derive(Default)]
pub(super) struct CallLine {
    socket: Option<WebSocket>,
    open: bool,
    /// When something was last heard, in milliseconds.
    heard: f64,
    /// When it was asked for a word, while that is not checked.
    asked: Option<f64>,
    /// How often it could not be opened in a row.
    failed: u32,
    /// What was received of the next line.
    begun: Vec<u8>,
    /// Another tab goes on with this servent: this one is called no more.
    moved: bool,
    /// Calls so far.
    calls: u64,
    events: Vec<Closure<dyn FnMut(JsValue)>>,
}

/// What the servent says.
enum LineNotice {
    /// A page calls.
    Call(ConnId, String, SocketAddr),
    /// A page wants to arrange a channel.
    Signal(ConnId, String, SocketAddr),
    /// For the person: what it is, and words.
    Said(String, String),
}

type SharedLine = Rc<RefCell<PageHost>>;

/// True when a page is called there.
pub(super) const fn is_page(at: SocketAddr) -> bool {
    match at {
        SocketAddr::V4(at) => matches!(at.ip().octets()[0], 240..=254),
        SocketAddr::V6(_) => false,
    }
}

impl CallLine {
    /// True while others can call.
    pub(super) const fn is_open(&self) -> bool {
        self.open
    }

    /// Opens the line, in the place of any other.
    pub(super) fn open(this: &SharedLine) {
        let Some(url) = this.borrow().line_url() else { return };
        if this.borrow().line.moved {
            return;
        }
        let Ok(socket) = WebSocket::new_with_str(&url, PROTOCOL) else { return };
        socket.set_binary_type(BinaryType::Arraybuffer);
        let event = |then: fn(&SharedLine, JsValue)| {
            let host: Weak<RefCell<PageHost>> = Rc::downgrade(this);
            Closure::new(move |event: JsValue| {
                if let Some(host) = host.upgrade() {
                    then(&host, event);
                }
            })
        };
        let opened: Closure<dyn FnMut(JsValue)> = event(|host, _| {
            let mut host = host.borrow_mut();
            (host.line.open, host.line.failed, host.line.heard) = (true, 0, Date::now());
        });
        let closed = event(|host, _| Self::again(host));
        let message = event(|host, event| {
            let data = event.unchecked_into::<MessageEvent>().data();
            let data = Uint8Array::new(data.unchecked_ref::<ArrayBuffer>()).to_vec();
            let all = host.borrow_mut().line.read(&data);
            for told in all {
                match told {
                    LineNotice::Call(conn, ticket, peer) => {
                        PageHost::called(host, conn, &ticket, peer)
                    }
                    LineNotice::Signal(conn, ticket, peer) => {
                        PageHost::signalled(host, conn, &ticket, peer);
                    }
                    LineNotice::Said(what, words) => host.borrow().disk.door.told(&what, &words),
                }
            }
        });
        socket.set_onopen(Some(opened.as_ref().unchecked_ref()));
        socket.set_onclose(Some(closed.as_ref().unchecked_ref()));
        socket.set_onmessage(Some(message.as_ref().unchecked_ref()));
        let line = &mut this.borrow_mut().line;
        line.hang_up();
        line.heard = Date::now();
        line.socket = Some(socket);
        line.events = vec![opened, closed, message];
    }

    /// The page is seen again: a line that was lost is opened at once, and one that
    /// seems open has to show that it is.
    pub(super) fn wake(this: &SharedLine) {
        let lost = |it: &WebSocket| it.ready_state() > WebSocket::OPEN;
        if this.borrow().line.socket.as_ref().is_none_or(lost) {
            Self::later(this, 0, Self::open);
        } else if this.borrow().line.open {
            Self::ask(this);
        } else if Date::now() - this.borrow().line.heard > f64::from(ANSWER) {
            Self::renew(this, Date::now());
        }
    }

    /// A line on which nothing was said for long has to show that it is open.
    pub(super) fn look(this: &SharedLine) {
        if Date::now() - this.borrow().line.heard > QUIET {
            Self::wake(this);
        }
    }

    /// The line is dead, and so is every socket to the servent on which nothing was
    /// heard since then: all are opened anew.
    fn renew(this: &SharedLine, since: f64) {
        Self::open(this);
        PageHost::dead(this, since);
    }

    /// Asks the servent for a word.
    fn ask(this: &SharedLine) {
        let line = &mut this.borrow_mut().line;
        let Some(socket) = line.socket.as_ref().filter(|_| line.open && line.asked.is_none())
        else {
            return;
        };
        // One that is closing discards it, and its end is told.
        let _ = socket.send_with_u8_array(b"\n");
        line.asked = Some(Date::now());
        Self::later(this, ANSWER, Self::check);
    }

    /// Without an answer the line is dead.
    fn check(this: &SharedLine) {
        let asked = this.borrow_mut().line.unanswered();
        if let Some(asked) = asked {
            Self::renew(this, asked);
        }
    }

    /// When it was asked for a word, if there was none since.
    fn unanswered(&mut self) -> Option<f64> {
        let (open, heard) = (self.open, self.heard);
        self.asked.take().filter(|asked| open && heard < *asked)
    }

    /// The line was lost, or could not be opened.
    fn again(this: &SharedLine) {
        let line = &mut this.borrow_mut().line;
        line.open = false;
        let wait = AGAIN[0].saturating_mul(1 << line.failed.min(8)).min(AGAIN[1]);
        line.failed += 1;
        Self::later(this, wait, Self::open);
    }

    /// Does something after so many milliseconds, when nothing else runs.
    fn later(this: &SharedLine, ms: i32, then: fn(&SharedLine)) {
        let this = Rc::downgrade(this);
        let then = Closure::once_into_js(move || {
            if let Some(this) = this.upgrade() {
                then(&this);
            }
        });
        if let Some(window) = web_sys::window() {
            let then = then.unchecked_ref();
            let _ = window.set_timeout_with_callback_and_timeout_and_arguments_0(then, ms);
        }
    }

    /// This servent goes on elsewhere.
    pub(super) fn leave(&mut self) {
        self.moved = true;
        self.hang_up();
    }

    fn hang_up(&mut self) {
        (self.open, self.asked) = (false, None);
        self.begun.clear();
        if let Some(socket) = self.socket.take() {
            socket.set_onopen(None);
            socket.set_onclose(None);
            socket.set_onmessage(None);
            let _ = socket.close(); // It may be closed already.
        }
    }

    /// Reads what the servent says.
    fn read(&mut self, data: &[u8]) -> Vec<LineNotice> {
        self.heard = Date::now();
        self.begun.extend(data);
        let mut all = Vec::new();
        while let Some(end) = self.begun.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.begun.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line[..end]);
            let (what, words) = line.split_once(' ').unwrap_or((&line, ""));
            let call = words.split_once(' ').and_then(|(t, at)| Some((t, at.parse().ok()?)));
            match (what, call) {
                ("CALL" | "SIGNAL", Some((ticket, peer))) => {
                    self.calls += 1;
                    // Those that are accepted are even.
                    let (conn, ticket) = (ConnId(self.calls * 2), ticket.to_owned());
                    all.push(match what {
                        "CALL" => LineNotice::Call(conn, ticket, peer),
                        _ => LineNotice::Signal(conn, ticket, peer),
                    });
                }
                ("MOVED", _) => {
                    self.moved = true;
                    all.push(LineNotice::Said(what.to_owned(), String::new()));
                }
                (what, _) if SAID.contains(&what) => {
                    all.push(LineNotice::Said(what.to_owned(), words.to_owned()));
                }
                _ => {}
            }
        }
        self.begun.truncate(LONGEST);
        all
    }
}

impl Drop for CallLine {
    fn drop(&mut self) {
        self.hang_up();
    }
}
