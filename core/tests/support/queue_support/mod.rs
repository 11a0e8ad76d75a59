//! A bench for the queue server: clients in plain words, answers as values.
#![allow(dead_code, unreachable_pub)] // Each test binary uses its part.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use servent_core::engine::{Engine, Fx};
use servent_core::id::{ConnId, Guid};
use servent_core::queue::server::{Input, Output, QueueRequest, QueueServer, QueueVerdict};
use servent_core::queue::{
    Config, Dialect, Event, FileKey, PositionLoss, QueuePosition, QueueRefusal, StoredEntry,
};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::trace::Digest;

/// A server, its clock, and everything it ever said.
#[derive(Clone)]
pub struct Bench {
    pub server: QueueServer,
    pub now: Instant,
    pub events: Vec<Event>,
    pub outputs: Vec<Output>,
    /// Of everything it ever did, and of when it wanted to be called.
    pub digest: Digest,
    next_conn: u64,
}

/// A client with its last reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    pub dialect: Dialect,
    pub peer: IpAddr,
    pub conn: ConnId,
    pub file: FileKey,
    pub bytes: u64,
    /// Bytes of the file behind those.
    pub rest: u64,
    pub ticket: Option<Guid>,
    pub told: Option<u32>,
    pub callback: Option<SocketAddr>,
    pub waits: bool,
    pub sleeps: bool,
}

impl Client {
    /// What it asks.
    pub fn request(&self) -> QueueRequest {
        QueueRequest {
            conn: self.conn,
            peer: self.peer,
            dialect: self.dialect,
            file: self.file,
            bytes: self.bytes,
            rest: self.rest,
            ticket: self.ticket,
            told: self.told,
            callback: self.callback,
            waits: self.waits,
            sleeps: self.sleeps,
        }
    }
}

/// What a client got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Got {
    Slot,
    Place(QueuePosition),
    Busy(QueueRefusal),
    Hammering(Duration),
    HungUp(PositionLoss),
}

impl Got {
    pub fn place(self) -> QueuePosition {
        match self {
            Self::Place(place) => place,
            other => panic!("no place but {other:?}"),
        }
    }
}

pub fn secs(s: u64) -> Duration {
    Duration::from_secs(s)
}

pub fn config(slots: u32) -> Config {
    Config { slots, capacity: 1_000, per_ip: 1_000, ..Config::default() }
}

impl Bench {
    pub fn new(config: Config) -> Self {
        let server = QueueServer::new(config, Rng::new(7));
        let (events, outputs, digest) = (Vec::new(), Vec::new(), Digest::default());
        Self { server, now: Instant::from_secs(1_000_000), events, outputs, digest, next_conn: 0 }
    }

    /// A client that was never here: own address, own connection.
    pub fn client(&mut self, dialect: Dialect) -> Client {
        let conn = self.conn();
        let n = u32::try_from(conn.0).unwrap();
        let peer = IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + n));
        let file = FileKey(1);
        Client {
            dialect,
            peer,
            conn,
            file,
            bytes: 1_000,
            rest: 0,
            ticket: None,
            told: None,
            callback: None,
            waits: false,
            sleeps: false,
        }
    }

    pub fn conn(&mut self) -> ConnId {
        self.next_conn += 2;
        ConnId(self.next_conn)
    }

    pub fn input(&mut self, input: Input) -> Vec<Output> {
        let mut fx = Fx::new();
        self.server.handle(self.now, input, &mut fx);
        self.take(&mut fx)
    }

    fn take(&mut self, fx: &mut Fx<Output, Event>) -> Vec<Output> {
        self.digest.add(&self.server.poll_timeout());
        fx.as_slice().iter().for_each(|effect| self.digest.add(effect));
        fx.events().for_each(|event| self.digest.add(&(event.id(), event.clause())));
        let outputs: Vec<Output> = fx.outputs().cloned().collect();
        self.events.extend(fx.events().cloned());
        self.outputs.extend(outputs.iter().cloned());
        outputs
    }

    pub fn ask(&mut self, client: &mut Client) -> Got {
        let outputs = self.input(Input::Request(client.request()));
        let mut answers = outputs.into_iter().filter_map(|output| match output {
            Output::Reply { conn, verdict } if conn == client.conn => Some(verdict_got(verdict)),
            Output::Hangup { conn, why } if conn == client.conn => Some(Got::HungUp(why)),
            _ => None,
        });
        let got = answers.next().expect("every request is answered");
        assert_eq!(answers.next(), None, "and answered once");
        if let Got::Place(place) = got
            && matches!(client.dialect, Dialect::Parq | Dialect::Parq11)
        {
            (client.ticket, client.told) = (Some(place.ticket), Some(place.position));
        }
        got
    }

    /// A client that asks for the first time.
    pub fn arrive(&mut self, dialect: Dialect) -> (Client, Got) {
        let mut client = self.client(dialect);
        let got = self.ask(&mut client);
        (client, got)
    }

    /// A client that arrives and gets a place.
    pub fn queue(&mut self, dialect: Dialect) -> Client {
        let (client, got) = self.arrive(dialect);
        got.place();
        client
    }

    /// A client that arrives and gets a slot.
    pub fn upload(&mut self, dialect: Dialect) -> Client {
        let (client, got) = self.arrive(dialect);
        assert_eq!(got, Got::Slot);
        client
    }

    /// Lets time pass, with every timer at its time.
    pub fn pass(&mut self, length: Duration) -> Vec<Output> {
        let until = self.now + length;
        let mut all = Vec::new();
        while let Some((at, _)) = self.server.poll_timeout()
            && at <= until
        {
            self.now = self.now.max(at);
            let mut fx = Fx::new();
            self.server.handle_timeout(self.now, &mut fx);
            all.extend(self.take(&mut fx));
            let next = self.server.poll_timeout();
            assert!(next.is_none_or(|(next, _)| next > self.now), "{next:?}");
        }
        self.now = until;
        all
    }

    pub fn finish(&mut self, client: &Client) {
        self.input(Input::Finished { conn: client.conn, last: true });
    }

    pub fn gone(&mut self, client: &Client) {
        self.input(Input::Gone { conn: client.conn });
    }

    /// The position of a client by its id or connection, 0 for none.
    pub fn position(&self, client: &Client) -> u32 {
        let view = self.server.view(1, u32::MAX, self.now);
        let found = view.places.iter().find(|place| {
            client.ticket == Some(place.ticket)
                || place.conn == Some(client.conn)
                || (client.dialect == Dialect::Passive && place.peer == client.peer)
        });
        found.map_or(0, |place| place.position)
    }

    pub fn lost(&self) -> Vec<PositionLoss> {
        let loss = |event: &Event| match event {
            Event::Lost { why, .. } => Some(*why),
            _ => None,
        };
        self.events.iter().filter_map(loss).collect()
    }

    /// What the store holds after everything said so far.
    pub fn store(&self) -> Vec<StoredEntry> {
        let mut rows: Vec<StoredEntry> = Vec::new();
        for output in &self.outputs {
            match output {
                Output::Save(row) => {
                    rows.retain(|old| old.ticket != row.ticket);
                    rows.push(*row);
                }
                Output::Forget(ticket) => rows.retain(|old| old.ticket != *ticket),
                _ => {}
            }
        }
        rows.sort_by_key(|row| row.arrival);
        rows
    }

    /// kill -9, and a start from the store after `away`.
    pub fn restart(&mut self, away: Duration) -> Vec<Output> {
        let rows = self.store();
        self.server = QueueServer::new(*self.server.config(), Rng::new(8));
        self.now += away;
        for row in rows {
            self.input(Input::Restore(row));
        }
        self.input(Input::Resume)
    }
}

fn verdict_got(verdict: QueueVerdict) -> Got {
    match verdict {
        QueueVerdict::Start { .. } => Got::Slot,
        QueueVerdict::Wait(place) => Got::Place(place),
        QueueVerdict::Busy { why, retry_after } => {
            assert!(retry_after > Duration::ZERO, "every 503 says when to come back");
            Got::Busy(why)
        }
        QueueVerdict::Hammering { retry_after } => Got::Hammering(retry_after),
    }
}
