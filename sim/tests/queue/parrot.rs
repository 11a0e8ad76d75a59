//! The simplest guest a world can host: a server that serves one file to
//! any client that speaks, a client that asks once and stores it.

use std::sync::Arc;

use servent_core::engine::{Engine, FxOf};
use servent_core::id::{ConnId, FetchId, FileIndex, Guid};
use servent_core::node::{
    Config, ConnEvent, ConnInput, ConnOutput, FetchCommand, FetchInput, FetchOutput, FileRef, Get,
    Input, NodeAnswer, NodeCommand, NodeOp, Output,
};
use servent_core::time::{Duration, Instant};
use servent_core::trace::Event;
use servent_sim::queue::Guest;

#[derive(Debug, Clone)]
pub(crate) struct Parrot {
    boots: u8,
    size: u64,
    next: u64,
    want: Option<Get>,
    heard: Vec<u8>,
    stored: u64,
    alarm: Option<Instant>,
}

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";

impl Guest for Parrot {
    fn born(_config: Arc<Config>, _seed: u64) -> Self {
        Self { boots: 0, size: 0, next: 1, want: None, heard: vec![], stored: 0, alarm: None }
    }
}

impl Parrot {
    fn dial(&mut self, fx: &mut FxOf<Self>) {
        let Some(get) = &self.want else { return };
        let conn = ConnId(self.next);
        self.next += 2;
        fx.event(Event::Conn(ConnEvent::Dialing { conn, to: get.sources[0].at }));
        fx.output(Output::Connection(conn, ConnOutput::Dial { to: get.sources[0].at }));
    }

    fn bytes(&mut self, conn: ConnId, data: &[u8], fx: &mut FxOf<Self>) {
        self.heard.extend(data);
        if self.want.is_some() && self.heard.starts_with(HEAD) {
            let early = self.heard.split_off(HEAD.len());
            self.heard.clear();
            let (fetch, end) = (FetchId(1), self.size);
            let file = FileRef::Fetch(fetch);
            fx.output(Output::Connection(conn, ConnOutput::Store { file, start: 0, end, early }));
        } else if self.want.is_none() && self.heard.ends_with(b"please\r\n") {
            self.heard.clear();
            fx.output(Output::Connection(conn, ConnOutput::Write { data: HEAD.to_vec() }));
            let file = FileRef::Shared(FileIndex(0));
            fx.output(Output::Connection(
                conn,
                ConnOutput::Serve { file, start: 0, end: self.size },
            ));
        }
    }
}

impl Engine for Parrot {
    type Input = Input;
    type Output = Output;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input, fx: &mut FxOf<Self>) {
        match input {
            Input::Start(restored) => {
                self.boots = restored.servent.map_or(0, |id| id.0[0]) + 1;
                self.size = restored.shared.first().map_or(0, |f| f.size);
                let restored_places = u32::from(self.boots);
                let (restored_fetches, shared) = (0, 0);
                fx.event(Event::Conn(ConnEvent::Started {
                    restored_places,
                    restored_fetches,
                    shared,
                }));
                fx.output(Output::Persist(NodeOp::Servent(Guid([self.boots; 16]))));
                if self.boots.is_multiple_of(2) {
                    // A promise: everything before it must be safe.
                    fx.output(Output::Answer(NodeAnswer::Stopped));
                }
            }
            Input::Command(NodeCommand::Fetch(FetchCommand::Get(get))) => {
                self.size = 1_000_000;
                self.want = Some(get);
                self.dial(fx);
            }
            Input::Command(NodeCommand::Fetch(FetchCommand::AskNow { .. })) => self.dial(fx),
            Input::Connection(conn, ConnInput::Accepted { peer, .. }) => {
                fx.event(Event::Conn(ConnEvent::Accepted { conn, peer }));
            }
            Input::Connection(conn, ConnInput::Dialed { .. }) => {
                fx.event(Event::Conn(ConnEvent::Dialed { conn }));
                fx.output(Output::Connection(
                    conn,
                    ConnOutput::Write { data: b"the file, please\r\n".to_vec() },
                ));
            }
            Input::Connection(conn, ConnInput::DialFailed { why }) => {
                fx.event(Event::Conn(ConnEvent::DialFailed { conn, why }));
                self.alarm = Some(now + Duration::from_secs(10));
            }
            Input::Connection(conn, ConnInput::Bytes { data }) => self.bytes(conn, &data, fx),
            Input::Connection(conn, ConnInput::Served { bytes }) if bytes == self.size => {
                fx.event(Event::Conn(ConnEvent::Sent { conn, bytes }));
            }
            Input::Connection(conn, ConnInput::Stored { bytes }) => {
                assert!(bytes >= self.stored, "progress never goes back");
                self.stored = bytes;
                if bytes == self.size {
                    fx.output(Output::Fetch(FetchOutput::Verify { fetch: FetchId(1) }));
                    fx.output(Output::Connection(conn, ConnOutput::Close { flush: true }));
                }
            }
            Input::Fetch(FetchInput::Verified { fetch, sha1 }) => {
                let expected = self.want.as_ref().and_then(|g| g.sha1);
                if expected == sha1 {
                    let bytes = self.stored;
                    fx.output(Output::Answer(NodeAnswer::Fetched { fetch, bytes, sha1: expected }));
                } else {
                    let why = servent_core::fetch::FetchFailure::Corrupt;
                    fx.output(Output::Answer(NodeAnswer::Failed { fetch, why }));
                }
            }
            Input::Connection(conn, ConnInput::Closed) => {
                fx.event(Event::Conn(ConnEvent::Closed { conn }));
                if self.want.is_some() && self.stored < self.size {
                    self.stored = 0;
                    self.alarm = Some(now + Duration::from_secs(10));
                }
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant, fx: &mut FxOf<Self>) {
        if self.alarm.is_some_and(|at| at <= now) {
            self.alarm = None;
            self.dial(fx);
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.alarm.map(|at| (at, "again"))
    }
}
