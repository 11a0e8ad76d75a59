//! Serving only those who know a password (RFC 7617). Whether the words of a
//! request are the right ones, the host says: that takes long on purpose. What
//! it has found right is not asked again.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

use super::Http;
use super::reply::{Form, Writer};
use super::request::heard;
use crate::id::ConnId;
use crate::node::cx::Cx;
use crate::node::{Limit, Output};
use crate::wire::http::RequestHead;

/// Right words that are remembered. There are as many as people.
const KNOWN: usize = 64;

/// Who may pass.
#[derive(Debug, Clone, Default)]
pub(super) struct Guard {
    /// What the host is looking at.
    judged: BTreeMap<ConnId, String>,
    /// What it has found right.
    right: BTreeSet<String>,
}

impl Guard {
    /// A connection is over.
    pub(super) fn left(&mut self, conn: ConnId) {
        self.judged.remove(&conn);
    }
}

/// What is to be done with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passage {
    Open,
    /// The host looks at it.
    Waits,
    /// It has been refused.
    Closed,
}

impl Http {
    /// Whether a request may be answered, with so many bytes from its head on
    /// that wait for that.
    pub(super) fn pass(
        &mut self,
        cx: &mut Cx<'_>,
        conn: ConnId,
        head: &RequestHead,
        waiting: usize,
    ) -> Passage {
        let words = head.headers.get("Authorization");
        if !cx.config.guarded || words.is_some_and(|words| self.guard.right.contains(words)) {
            return Passage::Open;
        }
        let Some(words) = words else {
            cx.tell(heard(conn, head));
            self.turn_away(cx, conn);
            return Passage::Closed;
        };
        if self.guard.judged.contains_key(&conn) {
            if waiting > cx.config.limits.head_bytes as usize {
                self.refuse(cx, conn, Limit::Pipeline, None);
            }
            return Passage::Waits;
        }
        let words = String::from(words);
        self.guard.judged.insert(conn, words.clone());
        cx.fx.output(Output::Judge { conn, words });
        Passage::Waits
    }

    /// The host has looked at somebody's words. What was asked with right ones
    /// is to be read then.
    pub(in crate::node) fn judged(&mut self, cx: &mut Cx<'_>, conn: ConnId, good: bool) {
        let Some(words) = self.guard.judged.remove(&conn) else { return };
        if good {
            if self.guard.right.len() >= KNOWN {
                self.guard.right.clear();
            }
            self.guard.right.insert(words);
            return;
        }
        let Some(state) = cx.io.open(conn) else { return };
        if let Ok(Some((head, _))) = RequestHead::parse(&state.unread, &cx.config.limits.head()) {
            cx.tell(heard(conn, &head));
        }
        self.turn_away(cx, conn);
    }

    /// Guesses are counted as what costs nothing is: whoever makes too many is
    /// not heard for a while.
    fn turn_away(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        if !self.hammers(cx, conn, Form::CLOSE) {
            let reply = Writer::of(cx).unauthorized();
            self.say(cx, conn, reply);
        }
    }
}
