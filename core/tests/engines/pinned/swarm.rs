//! A coordinator whose clients obey, lie, break off, say nothing, come and go.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};

use servent_core::engine::Engine as _;
use servent_core::id::ConnId;
use servent_core::rng::Rng;
use servent_core::swarm::manager::{ManagedFileView, View};
use servent_core::swarm::{Config, FileSpec, Input, Manager, SwarmPolicy};
use servent_core::time::Duration;
use servent_core::wire::pdtp::{
    AgreedExtensions, Completed, Hash, PdtpMessage, Reason, Span, Text, TransferKey,
    TransferMethod, TransferOrder,
};

use crate::swarm_support::{CHUNK, Swarm, hash, name, source, url as file};

/// An order that neither side has reported on to the end.
#[derive(Clone)]
struct Pending {
    order: TransferOrder,
    down: u64,
    up: Option<u64>,
}

struct Life {
    swarm: Swarm,
    dice: Rng,
    config: Config,
    here: BTreeMap<u64, IpAddr>,
    ids: BTreeMap<Text, u64>,
    pending: Vec<Pending>,
    next: u64,
    pieces: u64,
}

fn address(n: u64) -> IpAddr {
    match n % 5 {
        0 => format!("2001:db8::{n}").parse().expect("an address"),
        _ => IpAddr::from([10, 0, 0, n as u8]),
    }
}

fn config(dice: &mut Rng, policy: SwarmPolicy) -> Config {
    Config {
        policy,
        ratio: *dice.pick(&[2_000, 1_000, 1_500, 500]).unwrap(),
        free_pieces: dice.between(0, 2) as u32,
        default_download: dice.between(1, 4) as u32,
        default_upload: dice.between(1, 4) as u32,
        hard_limit: 6,
        search_limit: 3,
        rarest: dice.chance(4, 5),
        strict: dice.chance(1, 4),
        quarantine: dice.between(1, 3) as u32,
        connect_failures: dice.between(0, 2) as u32,
        clients: 130,
        per_address: 30,
        ledger: 40,
        files: 3,
        files_per_client: 2,
        purge: Duration::from_secs(300),
        explain: true,
        ..Config::default()
    }
}

impl Life {
    fn new(seed: u64, policy: SwarmPolicy) -> Self {
        let mut dice = Rng::new(seed);
        let config = config(&mut dice, policy);
        let pieces: u64 = *dice.pick(&[3, 9, 40, 140]).unwrap();
        let slots = dice.below(5) as u32;
        let mut life = Self {
            swarm: Swarm::with_source(config.clone(), pieces as u32, slots),
            dice,
            config,
            here: BTreeMap::new(),
            ids: BTreeMap::new(),
            pending: Vec::new(),
            next: 0,
            pieces,
        };
        life.serve("short", 3 * CHUNK - 30);
        life
    }

    fn serve(&mut self, url: &str, size: u64) {
        let hashes: Vec<Hash> = (0..size.div_ceil(CHUNK) as u32).map(hash).collect();
        let sha256 = Some(Hash([9; 32]));
        let spec = FileSpec { url: url.into(), size, chunk: CHUNK, hashes: hashes.into(), sha256 };
        self.swarm.give(Input::Serve(spec));
    }

    fn say(&mut self, client: u64, message: PdtpMessage) {
        self.swarm.give(Input::Message { conn: ConnId(client), message });
    }

    fn any_client(&mut self) -> u64 {
        let all: Vec<u64> = self.here.keys().copied().collect();
        self.dice.pick(&all).copied().unwrap_or(999)
    }

    fn comes(&mut self) {
        self.next += 1;
        let (client, peer) = (self.next, address(self.dice.below(30)));
        self.swarm.give(Input::Opened { conn: ConnId(client), peer });
        self.here.insert(client, peer);
        if self.dice.chance(1, 12) {
            return;
        }
        let taken = self.dice.chance(1, 12);
        let client_id = name(if taken { self.any_client() } else { client });
        let owner = self.ids.get(&client_id).and_then(|at| self.here.get(at));
        if owner.is_none_or(|ip| *ip == peer) {
            self.ids.insert(client_id.clone(), client);
        }
        let listen_port = Some(7_000 + client as u16).filter(|_| self.dice.chance(2, 3));
        let early = self.dice.chance(1, 2);
        let extensions = AgreedExtensions { merge: early, early };
        self.say(client, PdtpMessage::Register { client_id, listen_port, extensions });
        if self.dice.chance(1, 2) {
            self.has(client);
        }
        if self.dice.chance(2, 3) {
            self.wants(client);
        }
    }

    fn span(&mut self) -> (Text, Span) {
        if self.dice.chance(1, 8) {
            let end = *self.dice.pick(&[None, Some(100), Some(270), Some(271)]).unwrap();
            return ("short".into(), Span { start: self.dice.below(2) * CHUNK, end });
        }
        let from = self.dice.below(self.pieces);
        let to = from + 1 + self.dice.below(self.pieces.min(12));
        let skew = if self.dice.chance(1, 6) { self.dice.below(CHUNK) } else { 0 };
        let end = self.dice.chance(9, 10).then_some((to * CHUNK).min(self.pieces * CHUNK) - skew);
        (file(), Span { start: from * CHUNK + skew / 2, end })
    }

    fn wants(&mut self, client: u64) {
        let all = self.dice.chance(1, 2);
        let (url, span) = if all { (file(), Span::ALL) } else { self.span() };
        self.say(client, PdtpMessage::Request { url, span });
    }

    fn has(&mut self, client: u64) {
        let all = self.dice.chance(1, 12);
        let (url, span) = if all { (file(), Span::ALL) } else { self.span() };
        self.say(client, PdtpMessage::Provide { url, span });
    }

    /// Takes note of what every client was told to do.
    fn listen(&mut self) {
        for client in std::mem::take(&mut self.swarm.closed) {
            self.here.remove(&client);
        }
        for (client, messages) in std::mem::take(&mut self.swarm.told) {
            for message in messages {
                let PdtpMessage::Transfer(order) = message else { continue };
                let other = self.ids.get(&order.about.peer_id).copied();
                let (down, up) = match order.method {
                    TransferMethod::Get => (client, other),
                    TransferMethod::Put => (other.unwrap_or(0), Some(client)),
                };
                self.pending.push(Pending { order, down, up });
            }
        }
    }

    fn about(&self, pending: &Pending, other: Option<u64>) -> TransferKey {
        let found = self.ids.iter().find(|(_, client)| Some(**client) == other);
        let peer_id = found.map_or_else(|| "".into(), |(id, _)| id.clone());
        TransferKey { peer_id, ..pending.order.about.clone() }
    }

    fn down_says(&mut self, pending: &Pending) {
        let about = self.about(pending, pending.up);
        let took = self.dice.chance(1, 3).then(|| self.dice.below(3_000_000));
        let piece = (about.span.start / CHUNK) as u32;
        let offset = Some(self.dice.below(CHUNK + 20)).filter(|_| self.dice.chance(2, 3));
        let (hash, reason, offset) = match self.dice.below(20) {
            0 => (Some(Hash([200; 32])), None, None),
            1 => (None, Some(Reason::Connect), None),
            2 | 3 => (None, Some(Reason::Data), offset),
            4 => (None, Some(Reason::Hash), offset),
            5 => (None, None, offset),
            _ => (Some(hash(piece)), None, None),
        };
        let report = Completed { about, hash, offset, reason, took };
        self.say(pending.down, PdtpMessage::Completed(report));
    }

    fn up_says(&mut self, pending: &Pending) {
        let Some(up) = pending.up else { return };
        let about = self.about(pending, Some(pending.down));
        let took = self.dice.chance(2, 3).then(|| self.dice.below(2_000_000));
        let reason = match self.dice.below(16) {
            0 => Some(Reason::Connect),
            1 => Some(Reason::Data),
            _ => None,
        };
        let report = Completed { about, hash: None, offset: None, reason, took };
        self.say(up, PdtpMessage::Completed(report));
    }

    /// The listener asks about the side that connects.
    fn asks(&mut self, pending: &Pending) {
        let (listener, connector) = match pending.order.method {
            TransferMethod::Get => (pending.up, Some(pending.down)),
            TransferMethod::Put => (Some(pending.down), pending.up),
        };
        let about = self.about(pending, connector);
        self.say(listener.unwrap_or(0), PdtpMessage::AskVerify(about));
    }

    fn one_goes_on(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let at = self.dice.below(self.pending.len() as u64) as usize;
        let pending = self.pending[at].clone();
        match self.dice.below(10) {
            0 => return self.asks(&pending),
            1 => self.up_says(&pending),
            2 => self.down_says(&pending),
            3 => {}
            4 | 5 => {
                self.down_says(&pending);
                self.asks(&pending);
                self.up_says(&pending);
            }
            _ => {
                self.up_says(&pending);
                self.down_says(&pending);
            }
        }
        if self.dice.chance(5, 6) {
            self.pending.remove(at);
        }
    }

    fn changes(&mut self, client: u64) {
        match self.dice.below(8) {
            0 | 1 => {
                let listen_port = Some(8_000).filter(|_| self.dice.chance(1, 2));
                self.say(client, PdtpMessage::ChangePort { listen_port });
            }
            2 | 3 => {
                let max_download = Some(self.dice.below(8) as u32);
                let max_upload = Some(self.dice.below(8) as u32).filter(|_| self.dice.chance(3, 4));
                self.say(client, PdtpMessage::SetConcurrency { max_download, max_upload });
            }
            4 => {
                let (url, span) = self.span();
                self.say(client, PdtpMessage::Unprovide { url, span });
            }
            5 => {
                let (url, span) = self.span();
                self.say(client, PdtpMessage::Unrequest { url, span });
            }
            6 => self.say(client, PdtpMessage::AskInfo { url: "short".into() }),
            _ => self.say(client, PdtpMessage::Error { reason: "no".into(), message: "no".into() }),
        }
    }

    fn disturbs(&mut self, client: u64) {
        let (conn, kind) = (ConnId(client), self.dice.below(9));
        match kind {
            0 | 1 => {
                self.swarm.give(Input::Closed { conn });
                self.here.remove(&client);
            }
            2 => self.swarm.give(Input::Unreadable { conn, why: "what".into() }),
            3 => {
                let (addr, slots) = (source(), self.dice.below(6) as u32);
                self.swarm.give(Input::Source { addr, slots });
            }
            4 => {
                let addr = SocketAddr::from(([9, 9, 9, 8], 80));
                let slots = self.dice.below(3) as u32;
                self.swarm.give(Input::Source { addr, slots });
            }
            5 => self.swarm.give(Input::Withdraw { url: "short".into(), why: "over".into() }),
            6 => {
                let size = self.dice.below(900);
                self.serve("short", size);
            }
            7 if self.dice.chance(1, 6) => self.restarts(),
            _ => self.say(client, PdtpMessage::Extensions(AgreedExtensions::default())),
        }
    }

    /// The coordinator is killed; what it saved is what the next one knows.
    fn restarts(&mut self) {
        let (now, seed) = (self.swarm.now, self.dice.next_u64());
        let (digest, rows) = (self.swarm.digest, std::mem::take(&mut self.swarm.rows));
        self.swarm = Swarm::with_source(self.config.clone(), self.pieces as u32, 2);
        self.swarm.manager = Manager::new(self.config.clone(), &Rng::new(seed));
        (self.swarm.now, self.swarm.digest) = (now, digest);
        for row in rows.values() {
            self.swarm.give(Input::Restore(row.clone()));
        }
        self.swarm.rows = rows;
        self.serve(&file(), self.pieces * CHUNK);
        self.swarm.give(Input::Source { addr: source(), slots: 2 });
        self.serve("short", 3 * CHUNK - 30);
        self.here.clear();
        self.pending.clear();
        self.ids.clear();
    }

    fn time(&mut self) -> Duration {
        match self.dice.below(100) {
            0 => Duration::from_secs(self.dice.below(900)),
            1..5 => Duration::from_secs(self.dice.below(70)),
            5..40 => Duration::from_millis(self.dice.below(3_000)),
            _ => Duration::from_millis(self.dice.below(80)),
        }
    }

    fn step(&mut self) {
        let client = self.any_client();
        match self.dice.below(100) {
            0..9 => self.comes(),
            9..14 => self.wants(client),
            14..18 => self.has(client),
            18..26 => self.changes(client),
            26..29 => self.disturbs(client),
            29..82 => self.one_goes_on(),
            _ => {
                let time = self.time();
                self.swarm.pass(time);
            }
        }
        if self.dice.chance(3, 4) {
            self.swarm.settle();
        }
        // What comes next may come at the very instant of a timer.
        let next = self.swarm.manager.poll_timeout().map(|(at, _)| at);
        let soon = next.filter(|at| at.since(self.swarm.now) < Duration::from_secs(1));
        if let Some(at) = soon.filter(|_| self.dice.chance(1, 12)) {
            self.swarm.now = self.swarm.now.max(at);
        }
        self.listen();
    }

    /// What anybody could count again from the state that is shown.
    fn judge(&self, view: &View) {
        for file in &view.files {
            for (piece, copies) in file.copies.iter().enumerate() {
                assert_eq!(*copies, copies_of(file, piece as u32), "copies of {piece}");
            }
            for client in &file.clients {
                let held: u32 = client.have.iter().map(|word| ones(word)).sum();
                assert_eq!(client.held, held);
                assert_eq!(client.have.len() as u32, file.pieces.div_ceil(64));
            }
        }
        let transfers = || view.files.iter().flat_map(|file| &file.transfers);
        for client in view.files.iter().flat_map(|file| &file.clients) {
            let down = transfers().filter(|t| t.down == client.client && !t.down_said).count();
            let up = transfers().filter(|t| t.up == Some(client.client) && !t.up_said).count();
            assert_eq!((client.receiving as usize, client.sending as usize), (down, up));
            assert!(client.receiving <= self.config.hard_limit);
        }
    }

    fn look(&mut self) {
        self.swarm.manager.explain(self.dice.chance(2, 3));
        let (manager, now) = (&self.swarm.manager, self.swarm.now);
        let view = manager.view(0, u32::MAX, now);
        self.judge(&view);
        let digest = &mut self.swarm.digest;
        digest.add(&serde_json::to_string(&view).expect("a view is data"));
        digest.add(&serde_json::to_string(&manager.rows()).expect("rows are data"));
        let part = manager.view(1, 2, now);
        digest.add(&part.files.iter().map(|file| file.clients.len()).sum::<usize>());
        for client in self.here.keys().copied().chain([998]) {
            let conn = ConnId(client);
            for file in 0..3 {
                digest.add(&format!("{:?}", manager.standing(conn, file)));
                manager.failed(conn, file).for_each(|failed| digest.add(&failed));
            }
        }
        digest.add(&format!("{:?}", manager.counters()));
        digest.add(manager.config());
        digest.add(&(manager.pace(0), manager.pace(7), manager.copies(0, 1), manager.copies(7, 1)));
        for pending in &self.pending {
            let (id, TransferKey { url, span, .. }) = (name(pending.down), &pending.order.about);
            let wider = Span { start: span.start, end: None };
            let early = Span { start: span.start.saturating_sub(1), end: span.end };
            for span in [*span, wider, early] {
                digest.add(&manager.source_may_serve(&id, url, span));
            }
        }
    }

    fn live(mut self, crowd: u64, steps: u64) -> u64 {
        (0..crowd).for_each(|_| self.comes());
        self.swarm.settle();
        self.listen();
        for step in 0..steps {
            self.step();
            if step % 20 == 0 {
                self.look();
            }
        }
        self.swarm.digest.value()
    }
}

fn ones(word: &str) -> u32 {
    u64::from_str_radix(word, 16).expect("sixteen digits").count_ones()
}

/// Copies at clients that count as uploaders, and those on their way.
fn copies_of(file: &ManagedFileView, piece: u32) -> u32 {
    let has = |words: &[String]| {
        let word = u64::from_str_radix(&words[piece as usize / 64], 16).expect("digits");
        word >> (piece % 64) & 1 == 1
    };
    let holders = file.clients.iter().filter(|client| !client.quarantined && has(&client.have));
    let coming = file.transfers.iter().filter(|t| t.piece == piece && !t.down_said);
    (holders.count() + coming.count()) as u32
}

#[test]
fn drawn_swarms_are_coordinated_as_they_were() {
    let mut now = String::new();
    for (policy, name) in [(SwarmPolicy::Adaptive, "adaptive"), (SwarmPolicy::Seed2004, "seed2004")]
    {
        for seed in 0..10 {
            let few = Life::new(seed, policy).live(4, 500);
            writeln!(now, "{name} few {seed} {few:016x}").unwrap();
        }
        for seed in 100..102 {
            let crowd = Life::new(seed, policy).live(120, 400);
            writeln!(now, "{name} crowd {seed} {crowd:016x}").unwrap();
        }
    }
    super::compare("swarm", include_str!("swarm.txt"), &now);
}
