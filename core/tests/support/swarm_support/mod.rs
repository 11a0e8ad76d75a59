//! A coordinator and clients that are nothing but names: a test says what
//! each of them says and looks at what it is told.

#![allow(dead_code, unreachable_pub)]

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::id::ConnId;
use servent_core::rng::Rng;
use servent_core::swarm::manager::ClientView;
use servent_core::swarm::{Config, Event, FileSpec, Input, LedgerRow, Manager, Output, Pick};
use servent_core::time::{Duration, Instant};
use servent_core::trace::Digest;
use servent_core::wire::pdtp::{
    AgreedExtensions, Completed, Hash, PdtpMessage, Reason, Span, Text, TransferKey,
    TransferMethod, TransferOrder,
};

pub const CHUNK: u64 = 100;

pub struct Swarm {
    pub manager: Manager,
    pub now: Instant,
    /// What each client was told and has not looked at.
    pub told: BTreeMap<u64, Vec<PdtpMessage>>,
    pub events: Vec<Event>,
    /// The store, and in which order it was written to.
    pub rows: BTreeMap<IpAddr, LedgerRow>,
    pub closed: Vec<u64>,
    /// Of everything it ever said, and of when it wanted to be called.
    pub digest: Digest,
    pieces: u32,
}

pub fn url() -> Text {
    "http://origin/file".into()
}

pub fn hash(piece: u32) -> Hash {
    Hash([piece as u8; 32])
}

pub fn source() -> SocketAddr {
    SocketAddr::from(([9, 9, 9, 9], 80))
}

pub fn ip(n: u64) -> IpAddr {
    IpAddr::from([10, 0, 0, n as u8])
}

impl Swarm {
    pub fn new(config: Config, pieces: u32) -> Self {
        Self::with_source(config, pieces, 8)
    }

    pub fn with_source(config: Config, pieces: u32, slots: u32) -> Self {
        let mut swarm = Self {
            manager: Manager::new(config, &Rng::new(1)),
            now: Instant::from_secs(1_000),
            told: BTreeMap::new(),
            events: Vec::new(),
            rows: BTreeMap::new(),
            closed: Vec::new(),
            digest: Digest::default(),
            pieces,
        };
        let hashes: Vec<Hash> = (0..pieces).map(hash).collect();
        let size = u64::from(pieces) * CHUNK;
        let spec = FileSpec { url: url(), size, chunk: CHUNK, hashes: hashes.into(), sha256: None };
        swarm.input(Input::Serve(spec));
        swarm.input(Input::Source { addr: source(), slots });
        swarm
    }

    pub fn input(&mut self, input: Input) {
        self.give(input);
        self.settle();
    }

    /// Something that happens at the same instant as what follows.
    pub fn give(&mut self, input: Input) {
        let mut fx = Fx::new();
        self.manager.handle(self.now, input, &mut fx);
        self.carry_out(fx);
    }

    pub fn settle(&mut self) {
        while self.manager.poll_timeout().is_some_and(|(at, _)| at <= self.now) {
            let mut fx = Fx::new();
            self.manager.handle_timeout(self.now, &mut fx);
            self.carry_out(fx);
        }
    }

    fn carry_out(&mut self, mut fx: Fx<Output, Event>) {
        self.digest.add(&self.manager.poll_timeout());
        for effect in fx.drain() {
            self.digest.add(&effect);
            if let Effect::Event(event) = &effect {
                self.digest.add(&(event.id(), event.clause(), event.clients()));
            }
            match effect {
                Effect::Event(event) => self.events.push(event),
                Effect::Output(Output::Send { conn, message }) => {
                    self.told.entry(conn.0).or_default().push(message);
                }
                Effect::Output(Output::Close { conn }) => self.closed.push(conn.0),
                Effect::Output(Output::Save(row)) => {
                    self.rows.insert(row.owner, row);
                }
                Effect::Output(Output::Forget(owner)) => {
                    self.rows.remove(&owner);
                }
            }
        }
    }

    /// Time passes, timers run.
    pub fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some((at, _)) = self.manager.poll_timeout().filter(|(at, _)| *at <= end) {
            self.now = self.now.max(at);
            self.settle();
        }
        self.now = end;
    }

    pub fn secs(&mut self, secs: u64) {
        self.pass(Duration::from_secs(secs));
    }

    pub fn say(&mut self, client: u64, message: PdtpMessage) {
        self.input(Input::Message { conn: ConnId(client), message });
    }

    /// A client comes from an address of its own and registers; port 0 is
    /// none.
    pub fn comes(&mut self, client: u64, port: u16) {
        self.comes_from(client, ip(client), port);
    }

    pub fn comes_from(&mut self, client: u64, peer: IpAddr, port: u16) {
        self.input(Input::Opened { conn: ConnId(client), peer });
        self.say(
            client,
            PdtpMessage::Register {
                client_id: name(client),
                listen_port: Some(port).filter(|port| *port != 0),
                extensions: AgreedExtensions::default(),
            },
        );
    }

    pub fn goes(&mut self, client: u64) {
        self.input(Input::Closed { conn: ConnId(client) });
    }

    pub fn wants(&mut self, client: u64) {
        self.say(client, PdtpMessage::Request { url: url(), span: Span::ALL });
    }

    pub fn wants_piece(&mut self, client: u64, piece: u32) {
        self.say(client, PdtpMessage::Request { url: url(), span: span(piece) });
    }

    pub fn has(&mut self, client: u64, pieces: std::ops::Range<u32>) {
        let span = Span::new(u64::from(pieces.start) * CHUNK, u64::from(pieces.end) * CHUNK);
        self.say(client, PdtpMessage::Provide { url: url(), span });
    }

    /// Everything a client was told since the last look.
    pub fn heard(&mut self, client: u64) -> Vec<PdtpMessage> {
        self.told.remove(&client).unwrap_or_default()
    }

    /// The transfers a client was told to begin since the last look.
    pub fn orders(&mut self, client: u64) -> Vec<TransferOrder> {
        let told = self.heard(client).into_iter();
        told.filter_map(|m| if let PdtpMessage::Transfer(it) = m { Some(it) } else { None })
            .collect()
    }

    /// The only transfer it was told to begin.
    pub fn order(&mut self, client: u64) -> TransferOrder {
        let orders = self.orders(client);
        let [order] = &orders[..] else { panic!("one order to {client}, not {orders:?}") };
        order.clone()
    }

    /// The receiver says it has the piece, and it is right.
    pub fn got(&mut self, client: u64, order: &TransferOrder) {
        let piece = piece_of(order.about.span);
        self.report(client, &order.about, Some(hash(piece)), None, None);
    }

    /// The one that connected and sent, or that was fetched from, says so.
    pub fn gave(&mut self, client: u64, to: u64, order: &TransferOrder) {
        let about = TransferKey { peer: ip(to), peer_id: name(to), ..order.about.clone() };
        self.report(client, &about, None, None, None);
    }

    /// Both ends of a GET report success; the uploader is the order's peer.
    pub fn both(&mut self, down: u64, order: &TransferOrder) {
        let up = number(&order.about.peer_id);
        if let Some(up) = up {
            self.gave(up, down, order);
        }
        self.got(down, order);
    }

    pub fn report(
        &mut self,
        client: u64,
        about: &TransferKey,
        hash: Option<Hash>,
        offset: Option<u64>,
        reason: Option<Reason>,
    ) {
        let report = Completed { about: about.clone(), hash, offset, reason, took: None };
        self.say(client, PdtpMessage::Completed(report));
    }

    /// The receiver says that it failed.
    pub fn failed(&mut self, client: u64, order: &TransferOrder, reason: Reason) {
        self.report(client, &order.about, None, None, Some(reason));
    }

    /// The listener asks whether the connector of an order may come.
    pub fn asks(&mut self, listener: u64, connector: u64, order: &TransferOrder) {
        let about =
            TransferKey { peer: ip(connector), peer_id: name(connector), ..order.about.clone() };
        self.say(listener, PdtpMessage::AskVerify(about));
    }

    pub fn view(&self, client: u64) -> ClientView {
        let view = self.manager.view(0, u32::MAX, self.now);
        let mut all = view.files.into_iter().flat_map(|file| file.clients);
        all.find(|row| row.client == ConnId(client)).expect("a client on the file")
    }

    /// The pieces it has, as the coordinator knows.
    pub fn held(&self, client: u64) -> Vec<u32> {
        let words = self.view(client).have;
        let words = words.iter().map(|word| u64::from_str_radix(word, 16).unwrap());
        let bits = words.flat_map(|word| (0..64).map(move |bit| word >> bit & 1 == 1));
        (0..).zip(bits).filter(|(_, here)| *here).map(|(piece, _)| piece).collect()
    }

    /// Events of a kind since the last look at all of them.
    pub fn saw<T>(&self, pick: impl Fn(&Event) -> Option<T>) -> Vec<T> {
        self.events.iter().filter_map(pick).collect()
    }

    /// How the last piece was chosen.
    pub fn last_pick(&self) -> Option<Pick> {
        self.saw(|e| if let Event::Assigned { why, .. } = e { Some(*why) } else { None }).pop()
    }

    /// Every client obeys at once, until there are no more orders;
    /// returns the transfers.
    pub fn obey(&mut self) -> usize {
        let mut count = 0;
        loop {
            let clients: Vec<u64> = self.told.keys().copied().collect();
            let orders: Vec<(u64, TransferOrder)> = clients
                .into_iter()
                .flat_map(|client| self.orders(client).into_iter().map(move |o| (client, o)))
                .collect();
            if orders.is_empty() {
                return count;
            }
            for (client, order) in orders {
                count += 1;
                match order.method {
                    TransferMethod::Get => self.both(client, &order),
                    TransferMethod::Put => {
                        let to = number(&order.about.peer_id).expect("a client");
                        self.say(client, PdtpMessage::Completed(plain(&order.about)));
                        let about =
                            TransferKey { peer: ip(client), peer_id: name(client), ..order.about };
                        let piece = piece_of(about.span);
                        self.report(to, &about, Some(hash(piece)), None, None);
                    }
                }
            }
            assert!(count < 100_000, "it does not end");
        }
    }

    pub fn complete(&self, client: u64) -> bool {
        self.view(client).held == self.pieces
    }
}

fn plain(about: &TransferKey) -> Completed {
    Completed { about: about.clone(), hash: None, offset: None, reason: None, took: None }
}

pub fn name(client: u64) -> Text {
    format!("c{client}").into()
}

/// The number of a client by its id; the source has none.
pub fn number(id: &str) -> Option<u64> {
    id.strip_prefix('c')?.parse().ok()
}

pub fn span(piece: u32) -> Span {
    let start = u64::from(piece) * CHUNK;
    Span::new(start, start + CHUNK)
}

pub fn piece_of(span: Span) -> u32 {
    (span.start / CHUNK) as u32
}

/// True when the order is for the source.
pub fn from_source(order: &TransferOrder) -> bool {
    order.about.peer_id.is_empty() && order.about.peer == source().ip()
}
