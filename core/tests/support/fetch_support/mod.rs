//! A desk for testing downloads by hand: it stands for the node, keeps what
//! the engine asked for, and speaks for the servers.
#![allow(dead_code, unreachable_pub)] // Each test binary uses its own part of the desk.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::fetch::{
    Config, DownloadSource, Event, FetchAnswer, Fetches, Get, Input, Output, PartRow,
};
use servent_core::id::{ConnId, FetchId, Guid, Sha1};
use servent_core::queue::Dialect;
use servent_core::time::{Duration, Instant};
use servent_core::wire::http::{HeadLimits, RangeSpec, RequestHead, ResponseHead};

/// Where our dials leave from.
pub const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::new(81, 0, 0, 7));
pub const LIMITS: HeadLimits = HeadLimits { bytes: 16 * 1024, lines: 64 };
pub const ID: &str = "6a074979f3201edbf323b6425fef4a53";
pub const FETCH: FetchId = FetchId(0);
pub const GOOD: Sha1 = Sha1([7; 20]);

pub fn id() -> Guid {
    Guid::parse(ID.as_bytes()).unwrap()
}

pub fn addr(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// A source at that address with a plain target.
pub fn source(at: &str) -> DownloadSource {
    DownloadSource { at: addr(at), target: "/get/1/a".into(), host: at.into() }
}

pub fn get(sha1: Option<Sha1>, sources: &[&str]) -> Get {
    Get { name: "a".into(), sha1, sources: sources.iter().map(|at| source(at)).collect() }
}

/// A request that left, as its server reads it.
#[derive(Debug, Clone)]
pub struct Asked {
    pub conn: ConnId,
    pub at: Instant,
    pub head: RequestHead,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name)
    }
    pub fn range(&self) -> RangeSpec {
        RangeSpec::parse(self.header("Range").unwrap()).unwrap()
    }
}

/// The node's side of the engine.
pub struct Desk {
    pub fetches: Fetches,
    pub now: Instant,
    pub outputs: Vec<Output>,
    pub events: Vec<Event>,
    pub asked: Vec<Asked>,
}

impl Desk {
    pub fn new(config: Config, dialect: Dialect) -> Self {
        Self {
            fetches: Fetches::new(config, "Servent/test".into(), dialect),
            now: Instant::from_secs(1_000),
            outputs: Vec::new(),
            events: Vec::new(),
            asked: Vec::new(),
        }
    }

    /// A desk with one PARQ download from those sources on its way.
    pub fn getting(sha1: Option<Sha1>, sources: &[&str]) -> Self {
        let mut desk = Self::new(Config::default(), Dialect::Parq);
        desk.input(Input::Get(get(sha1, sources)));
        desk
    }

    pub fn input(&mut self, input: Input) {
        let mut fx = Fx::new();
        self.fetches.handle(self.now, input, &mut fx);
        self.take(fx);
    }

    fn take(&mut self, mut fx: Fx<Output, Event>) {
        for effect in fx.drain() {
            match effect {
                Effect::Event(event) => self.events.push(event),
                Effect::Output(output) => {
                    if let Output::Write { conn, data } = &output {
                        let (head, used) = RequestHead::parse(data, &LIMITS).unwrap().unwrap();
                        assert_eq!(used, data.len());
                        self.asked.push(Asked { conn: *conn, at: self.now, head });
                    }
                    self.outputs.push(output);
                }
            }
        }
    }

    /// Lets time pass, timer by timer.
    pub fn pass(&mut self, length: Duration) {
        let until = self.now + length;
        while let Some((due, _)) = self.fetches.poll_timeout().filter(|(due, _)| *due <= until) {
            self.now = due.max(self.now);
            let mut fx = Fx::new();
            self.fetches.handle_timeout(self.now, &mut fx);
            let next = self.fetches.poll_timeout().map(|(at, _)| at);
            assert!(next.is_none_or(|at| at > self.now), "a timer stays due");
            self.take(fx);
        }
        self.now = until;
    }

    pub fn secs(&mut self, secs: u64) {
        self.pass(Duration::from_secs(secs));
    }

    /// The dials so far.
    pub fn dials(&self) -> Vec<(ConnId, SocketAddr)> {
        let dial = |o: &Output| match o {
            Output::Dial { conn, to } => Some((*conn, *to)),
            _ => None,
        };
        self.outputs.iter().filter_map(dial).collect()
    }

    /// The last dial succeeds; gives what is asked on it.
    pub fn connect(&mut self) -> Asked {
        let (conn, _) = *self.dials().last().expect("a dial");
        self.input(Input::Dialed { conn, local: LOCAL });
        self.last()
    }

    /// The last request.
    pub fn last(&self) -> Asked {
        self.asked.last().expect("a request").clone()
    }

    /// A server answers.
    pub fn reply(&mut self, conn: ConnId, head: &str) {
        let text = format!("{}\r\n\r\n", head.trim_end().replace('\n', "\r\n"));
        let (head, _) = ResponseHead::parse(text.as_bytes(), &LIMITS).unwrap().unwrap();
        self.input(Input::Head { conn, head });
    }

    /// A server sends `start..end` of `size` and all of it is stored.
    pub fn serve(&mut self, conn: ConnId, start: u64, end: u64, size: u64) {
        self.grant(conn, start, end, size);
        self.input(Input::Stored { conn, bytes: end - start });
    }

    /// A server begins to send `start..end` of `size`.
    pub fn grant(&mut self, conn: ConnId, start: u64, end: u64, size: u64) {
        let head = format!(
            "HTTP/1.1 206 OK\nContent-Range: bytes {start}-{}/{size}\nContent-Length: {}",
            end - 1,
            end - start
        );
        self.reply(conn, &head);
    }

    pub fn answers(&self) -> Vec<FetchAnswer> {
        let answer = |o: &Output| match o {
            Output::Answer(answer) => Some(answer.clone()),
            _ => None,
        };
        self.outputs.iter().filter_map(answer).collect()
    }

    /// The row saved last.
    pub fn row(&self) -> PartRow {
        let row = |o: &Output| match o {
            Output::Save(row) => Some((**row).clone()),
            _ => None,
        };
        self.outputs.iter().rev().find_map(row).expect("a saved row")
    }

    pub fn closed(&self, conn: ConnId) -> bool {
        self.outputs.contains(&Output::Close { conn })
    }

    pub fn stores(&self) -> Vec<(ConnId, u64, u64)> {
        let store = |o: &Output| match o {
            Output::Store { conn, start, end, .. } => Some((*conn, *start, *end)),
            _ => None,
        };
        self.outputs.iter().filter_map(store).collect()
    }

    /// State and sources of the first download.
    pub fn state(&self) -> String {
        self.fetches.view()[0].state.clone()
    }

    pub fn source_state(&self, n: usize) -> String {
        self.fetches.view()[0].sources[n].state.clone()
    }
}
