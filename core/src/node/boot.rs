//! The beginning and the end of a node, and what its user says in between.

use super::conn::Phase;
use super::{Answer, Command, ConnEvent, Effects, Node, Op, Output, Restored, State, tell};
use crate::fetch;
use crate::id::{ConnId, Guid};
use crate::queue::server;
use crate::time::Instant;
use alloc::sync::Arc;
use alloc::vec::Vec;

impl Node {
    /// Takes over what the store remembered. Places and slots first, then
    /// downloads, then the clocks of both: nobody is called back or asked
    /// before everything is in its place (PQ-12).
    pub(super) fn start(&mut self, now: Instant, restored: Restored, fx: &mut Effects) {
        if !matches!(self.state, State::New) {
            return;
        }
        self.state = State::Running;
        self.listen = restored.listen;
        if let Some(servent) = restored.servent {
            self.servent = servent;
        } else {
            self.servent = Guid(self.root.fork("servent", 0).bytes());
            fx.output(Output::Persist(Op::Servent(self.servent)));
        }
        tell(
            fx,
            ConnEvent::Started {
                restored_places: count(restored.queue.len()),
                restored_fetches: count(restored.fetches.len()),
                shared: count(restored.shared.len()),
            },
        );
        for file in restored.shared {
            self.overlay_shares(&file);
            self.files.put(file);
        }
        for row in restored.queue {
            self.queue(now, server::Input::Restore(row), fx);
        }
        self.tell_callback(now, fx);
        for row in restored.fetches {
            self.parts.put(&Arc::new(row.clone()));
            self.fetch(now, fetch::Input::Restore(row), fx);
        }
        self.queue(now, server::Input::Resume, fx);
        self.fetch(now, fetch::Input::Resume, fx);
        self.overlay_knows(now, restored.hosts, fx);
    }

    /// The user wants something.
    pub(super) fn command(&mut self, now: Instant, command: Command, fx: &mut Effects) {
        let input = match command {
            Command::Get(get) => fetch::Input::Get(get),
            Command::Cancel { fetch } => fetch::Input::Cancel { fetch },
            Command::AskNow { fetch } => fetch::Input::AskNow { fetch },
            Command::Sleep { fetch, length } => fetch::Input::Sleep { fetch, length },
            Command::ExpectGiv { fetch, servent, index } => {
                fetch::Input::ExpectGiv { fetch, servent, index }
            }
            Command::Listening { at } => {
                self.listen = Some(at);
                return self.tell_callback(now, fx);
            }
            Command::Giv { to, index } => return self.give(to, index, fx),
            Command::Slots { slots } => return self.queue(now, server::Input::Slots(slots), fx),
            Command::Join { .. }
            | Command::Nearby { .. }
            | Command::Search { .. }
            | Command::EndSearch { .. }
            | Command::AskPush { .. } => return self.overlay_command(now, command, fx),
            Command::SendMessages { .. }
            | Command::TakenMessages { .. }
            | Command::CloseMessages { .. }
            | Command::ForgetMessages { .. } => {
                if let Some(datagrams) = &mut self.datagrams {
                    datagrams.command(now, command, fx);
                }
                return;
            }
            Command::Stop => return self.stop(now, fx),
        };
        self.fetch(now, input, fx);
    }

    /// Says goodbye. The engines are not told: to them it is as if the power
    /// failed now, and what they have saved is what the next start finds, so
    /// that running slots and places are given back to their owners (PQ-12).
    fn stop(&mut self, now: Instant, fx: &mut Effects) {
        self.overlay_stop(now, fx);
        self.state = State::Stopped;
        let open: Vec<ConnId> = self
            .conns
            .iter()
            .filter(|(_, c)| !matches!(c.phase, Phase::Closing))
            .map(|(conn, _)| conn)
            .collect();
        for conn in open {
            let Some(state) = self.conns.open(conn) else { continue };
            let flush = matches!(state.phase, Phase::Serving { .. } | Phase::Overlay);
            state.phase = Phase::Closing;
            state.unread = Vec::new();
            self.conns.rest(conn);
            tell(fx, ConnEvent::Closing { conn, why: "the servent stops".into() });
            fx.output(Output::Close { conn, flush });
        }
        tell(fx, ConnEvent::Stopped);
        fx.output(Output::Answer(Answer::Stopped));
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
