//! The first line decides what a connection is: an HTTP request, a `GIV`, a
//! `QUEUE`, or nothing we speak. And the lines we open connections with.

use alloc::string::{String, ToString};
use core::net::SocketAddr;

use super::conn::{Phase, Purpose, Timer};
use super::serve::clip;
use super::{ConnEvent, DialError, Effects, Limit, Node, Output, tell};
use crate::fetch;
use crate::id::{ConnId, FileIndex, Guid};
use crate::queue::server;
use crate::time::Instant;
use crate::wire::queue::Line;

/// Longest line that is not HTTP.
const LINE: usize = 1_024;

/// What the first line of a connection makes of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum First {
    /// The line is not whole yet.
    More,
    /// An HTTP request.
    Http,
    /// A `GIV` or `QUEUE` line, and how many bytes it had.
    Line(String, usize),
    /// A handshake of the overlay.
    Overlay,
    /// Nothing we speak.
    Garbage,
}

/// Looks at the first line, after any empty ones.
pub(super) fn first(bytes: &[u8], limit: u32) -> First {
    let Some(from) = bytes.iter().position(|b| !matches!(b, b'\r' | b'\n')) else {
        return First::More;
    };
    if !bytes[from].is_ascii_alphabetic() {
        return First::Garbage;
    }
    let Some(length) = bytes[from..].iter().position(|&b| b == b'\n') else {
        // Too long a line is for the head parser to refuse properly.
        return if bytes.len() >= limit as usize { First::Http } else { First::More };
    };
    let line = &bytes[from..from + length];
    if line.starts_with(b"GIV ") || line.starts_with(b"QUEUE ") {
        if length > LINE {
            return First::Garbage;
        }
        let text = String::from_utf8_lossy(line);
        return First::Line(text.trim_ascii_end().to_string(), from + length + 1);
    }
    if line.starts_with(b"GNUTELLA ") {
        return First::Overlay;
    }
    if line.windows(6).any(|w| w == b" HTTP/") { First::Http } else { First::Garbage }
}

impl Node {
    /// A `GIV` or `QUEUE` line opened this connection. Either makes us the
    /// one that asks on it, if we were waiting for it.
    pub(super) fn line(&mut self, now: Instant, conn: ConnId, line: &str, fx: &mut Effects) {
        tell(fx, ConnEvent::Line { conn, line: clip(line) });
        match Line::parse(line.as_bytes()) {
            Some(line) => self.invited(now, conn, line, fx),
            None => self.refuse(now, conn, Limit::Garbage, None, fx),
        }
    }

    /// Calls a client back to its place: `QUEUE` goes out once the dial is
    /// through (PARQ §4).
    pub(super) fn call(
        &mut self,
        now: Instant,
        ticket: Guid,
        to: core::net::SocketAddr,
        fx: &mut Effects,
    ) {
        if !self.dial(to, Purpose::Call(ticket), fx) {
            self.queue(now, server::Input::CallDone { ticket, ok: false }, fx);
        }
    }

    /// Gives a file to somebody who cannot reach us.
    pub(super) fn give(&mut self, to: core::net::SocketAddr, index: FileIndex, fx: &mut Effects) {
        if self.files.get(index).is_some() {
            self.dial(to, Purpose::Giv(index), fx);
        }
    }

    /// Asks the host to connect, unless a limit forbids it.
    pub(super) fn dial(
        &mut self,
        to: core::net::SocketAddr,
        purpose: Purpose,
        fx: &mut Effects,
    ) -> bool {
        let conn = self.conns.number();
        self.dial_as(conn, to, purpose, fx)
    }

    /// The same with a number chosen before.
    pub(super) fn dial_as(
        &mut self,
        conn: ConnId,
        to: core::net::SocketAddr,
        purpose: Purpose,
        fx: &mut Effects,
    ) -> bool {
        if !self.conns.dial(conn, to, purpose, &self.config.limits) {
            tell(fx, ConnEvent::Limit { conn, limit: Limit::Connections });
            return false;
        }
        tell(fx, ConnEvent::Dialing { conn, to });
        fx.output(Output::Dial { conn, to });
        true
    }

    /// A dial is through: say what it is for.
    pub(super) fn dialed(
        &mut self,
        now: Instant,
        conn: ConnId,
        local: core::net::SocketAddr,
        fx: &mut Effects,
    ) {
        let Some(state) = self.conns.open(conn) else { return };
        let Phase::Dialing(purpose) = state.phase else { return };
        state.phase = Phase::Fresh;
        tell(fx, ConnEvent::Dialed { conn });
        match purpose {
            Purpose::Call(ticket) => {
                let line = Line::Queue { ticket, server: Some(self.reached_at(local)) };
                self.serve_after(now, conn, &line, fx);
                self.queue(now, server::Input::CallDone { ticket, ok: true }, fx);
            }
            Purpose::Giv(index) => {
                let Some(name) = self.files.get(index).map(|f| f.name.clone()) else {
                    return self.close(now, conn, false, "the file is no longer shared", fx);
                };
                let line = Line::Giv { index, servent: self.servent, name };
                self.serve_after(now, conn, &line, fx);
            }
            Purpose::Fetch => self.fetch_dialed(now, conn, local.ip(), fx),
            Purpose::Neighbour => self.overlay_dialed(now, conn, fx),
        }
    }

    /// Writes the line that opens a connection of ours; from then on it is
    /// served, and queued, as any other.
    fn serve_after(&mut self, now: Instant, conn: ConnId, line: &Line, fx: &mut Effects) {
        fx.output(Output::Write { conn, data: line.to_bytes() });
        self.conns.wake(conn, now + self.config.limits.request_deadline, Timer::Head);
    }

    /// A dial came to nothing.
    pub(super) fn dial_failed(
        &mut self,
        now: Instant,
        conn: ConnId,
        why: DialError,
        fx: &mut Effects,
    ) {
        let Some(state) = self.conns.get(conn) else { return };
        let purpose = match state.phase {
            Phase::Dialing(purpose) => purpose,
            // Given up while it was under way.
            Phase::Closing => return self.closed(now, conn, fx),
            _ => return,
        };
        self.conns.remove(conn);
        tell(fx, ConnEvent::DialFailed { conn, why });
        match purpose {
            Purpose::Call(ticket) => {
                self.queue(now, server::Input::CallDone { ticket, ok: false }, fx);
            }
            Purpose::Giv(_) => {}
            Purpose::Neighbour => self.overlay_gone(now, conn, fx),
            Purpose::Fetch => self.fetch(now, fetch::Input::DialFailed { conn, why }, fx),
        }
    }

    /// Where others reach us, as far as we know: the port we listen on, at
    /// the address this connection left from when we listen on all of them.
    fn reached_at(&self, local: core::net::SocketAddr) -> core::net::SocketAddr {
        match self.listen {
            Some(at) if !at.ip().is_unspecified() => at,
            Some(at) => SocketAddr::new(local.ip().to_canonical(), at.port()),
            None => local,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_decides() {
        assert_eq!(first(b"", 100), First::More);
        assert_eq!(first(b"\r\nGET / HT", 100), First::More);
        assert_eq!(first(b"\r\nGET / HTTP/1.1\r\n", 100), First::Http);
        assert_eq!(first(b"\x16\x03", 100), First::Garbage);
        assert_eq!(first(b"GNUTELLA CONNECT/0.6\r\n", 100), First::Overlay);
        assert_eq!(first(b"GIV 1:x/y\r\n\r\n", 100), First::Line("GIV 1:x/y".into(), 11));
        assert_eq!(first(b"\nQUEUE a b\nrest", 100), First::Line("QUEUE a b".into(), 11));
        assert_eq!(first(&[b'A'; 100], 100), First::Http);
        assert_eq!(first(&[b"GIV ", &[b'x'; 2_000][..], b"\n"].concat(), 9_000), First::Garbage);
    }
}
