//! A store that is away: nothing new is promised, and what was promised before
//! that was known is taken back.

use super::Http;
use super::exchange::Exchange;
use super::reply::{Form, ReplyWriter};
use super::serving;
use crate::id::ConnId;
use crate::node::cx::NodeCx;
use crate::node::service::RunsEngine as _;
use crate::node::{ConnEvent, ConnOutput, Output};
use crate::queue::server;
use crate::time::Duration;

/// What is to be saved before it is promised cannot be saved now.
const UNAVAILABLE: (u16, &str) = (503, "Service Unavailable");
/// When a client that hears that asks again.
const MUTE: Duration = Duration::from_secs(5);

impl Http {
    /// Whether places can be saved, from now on.
    pub(in crate::node) fn store(&mut self, cx: &mut NodeCx<'_>, there: bool) {
        let was_mute = core::mem::replace(&mut self.mute, !there);
        if there && was_mute {
            self.feed(cx, server::Input::Excuse);
        }
    }

    /// Answers a request whose answer would be a promise.
    pub(super) fn promise_nothing(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, form: Form) {
        let again = MUTE.scaled(cx.config.queue.time_scale);
        let reply = ReplyWriter::from_cx(cx).come_back(UNAVAILABLE, again, form);
        self.say(cx, conn, reply);
    }

    /// What was answered on a connection is not said, because it could not be
    /// saved in time: the client is told to come back. After `several` writes it
    /// is not known how many answers it waits for, and the connection ends.
    pub(in crate::node) fn retract_replies(
        &mut self,
        cx: &mut NodeCx<'_>,
        conn: ConnId,
        several: bool,
    ) {
        let Some(state) = cx.io.get(conn).filter(|_| self.mute) else { return };
        if !state.answers() {
            return;
        }
        let closed = state.is_closing();
        let (keep, granted) = match self.exchanges.get(&conn) {
            _ if closed => (false, false),
            Some(Exchange::Sending(transfer)) => (transfer.keep && !several, true),
            _ => (!several, false),
        };
        cx.tell(ConnEvent::Retracted { conn });
        if granted {
            cx.io.rest(conn);
            self.exchanges.insert(conn, Exchange::IDLE);
        }
        let form = if keep { Form::KEEP } else { Form::CLOSE };
        let again = MUTE.scaled(cx.config.queue.time_scale);
        let reply = ReplyWriter::from_cx(cx).come_back(UNAVAILABLE, again, form);
        let why = reply.why;
        // The answer comes first: what the queue changes would hold it back.
        self.write(cx, conn, reply);
        if !closed {
            self.feed(cx, server::Input::Retracted { conn });
        }
        if closed {
            cx.fx.output(Output::Connection(conn, ConnOutput::Close { flush: true }));
        } else if keep {
            serving::await_request(self, cx, conn, true);
            cx.io.read_again(conn);
        } else {
            self.close(cx, conn, true, why);
        }
    }
}
