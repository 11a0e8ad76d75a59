//! Serving only clients that know a password (RFC 7617). The host checks the
//! credentials, which is slow on purpose; those it found good are not checked
//! again.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

use super::Http;
use super::reply::{Form, ReplyWriter};
use crate::id::ConnId;
use crate::node::cx::NodeCx;
use crate::node::event::request_received;
use crate::node::{ConnOutput, NodeLimit, Output};
use crate::wire::http::RequestHead;

/// Good credentials that are remembered: about as many as there are users.
const KNOWN: usize = 64;

/// Which credentials are good.
#[derive(Debug, Clone, Default)]
pub(super) struct Guard {
    /// Credentials the host is checking; true: by a password that is another one now.
    checking: BTreeMap<ConnId, (String, bool)>,
    /// Credentials that were found good.
    right: BTreeSet<String>,
}

impl Guard {
    /// The host has another password: what was good under the old one, or is being
    /// checked by it, counts for nothing.
    pub(super) fn check_again(&mut self) {
        self.right.clear();
        self.checking.values_mut().for_each(|(_, outdated)| *outdated = true);
    }

    /// Forgets a connection that is closed.
    pub(super) fn left(&mut self, conn: ConnId) {
        self.checking.remove(&conn);
    }
}

/// What to do with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passage {
    Open,
    /// The host is checking its credentials.
    Waits,
    /// It was refused.
    Closed,
}

impl Http {
    /// Whether a request may be answered. `waiting` is how many unread bytes
    /// there are, from its head on, that must wait for the answer.
    pub(super) fn pass(
        &mut self,
        cx: &mut NodeCx<'_>,
        conn: ConnId,
        head: &RequestHead,
        waiting: usize,
    ) -> Passage {
        let words = head.headers.get("Authorization");
        if !cx.config.guarded || words.is_some_and(|words| self.guard.right.contains(words)) {
            return Passage::Open;
        }
        let Some(words) = words else {
            cx.tell(request_received(conn, head));
            self.turn_away(cx, conn);
            return Passage::Closed;
        };
        if self.guard.checking.contains_key(&conn) {
            if waiting > cx.config.limits.head_bytes as usize {
                self.refuse(cx, conn, NodeLimit::Pipeline, None);
            }
            return Passage::Waits;
        }
        self.authenticate(cx, conn, String::from(words));
        Passage::Waits
    }

    fn authenticate(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, words: String) {
        self.guard.checking.insert(conn, (words.clone(), false));
        cx.fx.output(Output::Connection(conn, ConnOutput::Authenticate { words }));
    }

    /// The host has checked the credentials of a request. If they are good, it is
    /// answered now.
    pub(in crate::node) fn finish_authentication(
        &mut self,
        cx: &mut NodeCx<'_>,
        conn: ConnId,
        good: bool,
    ) {
        let Some((words, outdated)) = self.guard.checking.remove(&conn) else { return };
        if outdated {
            return self.authenticate(cx, conn, words);
        }
        if good {
            if self.guard.right.len() >= KNOWN {
                self.guard.right.clear();
            }
            self.guard.right.insert(words);
            return cx.io.read_again(conn);
        }
        let Some(state) = cx.io.open(conn) else { return };
        if let Ok(Some((head, _))) = RequestHead::parse(&state.unread, &cx.config.limits.head()) {
            cx.tell(request_received(conn, &head));
        }
        self.turn_away(cx, conn);
    }

    /// Failed attempts count like requests that need no slot: an address with
    /// too many of them is refused for a while.
    fn turn_away(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        if !self.refuse_over_rate(cx, conn, Form::CLOSE) {
            let reply = ReplyWriter::from_cx(cx).unauthorized();
            self.say(cx, conn, reply);
        }
    }
}
