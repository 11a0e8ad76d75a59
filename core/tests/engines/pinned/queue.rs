//! A queue whose clients ask in time, too early, too late or never, on lines
//! that break, and a server that restarts.

use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};

use servent_core::id::{ConnId, FileKey, Guid};
use servent_core::queue::server::{Input, Output, QueueServer, QueueVerdict, Windows};
use servent_core::queue::{Config, Dialect, QueuePolicy};
use servent_core::rng::Rng;
use servent_core::time::Duration;

use crate::queue_support::{Bench, Client};

const DIALECTS: [Dialect; 4] = [Dialect::Active, Dialect::Parq, Dialect::Parq11, Dialect::Passive];

struct Life {
    bench: Bench,
    dice: Rng,
    clients: Vec<Client>,
    calls: Vec<Guid>,
    addresses: u64,
}

fn config(dice: &mut Rng, policy: QueuePolicy) -> Config {
    Config {
        policy,
        slots: *dice.pick(&[1, 2, 3, 5, 20]).unwrap(),
        slots_per_ip: dice.below(4) as u32,
        capacity: dice.between(6, 60) as u32,
        per_ip: dice.between(3, 12) as u32,
        holds: dice.between(1, 9) as u32,
        holds_per_ip: dice.between(1, 4) as u32,
        sync_places: dice.between(1, 9) as u32,
        breaks_allowed: dice.below(3) as u8,
        slot_breaks: dice.below(3) as u8,
        ranges_per_slot: dice.between(2, 6) as u32,
        turn_bytes: dice.below(3) * 100_000,
        calls: dice.below(3) as u8,
        calls_per_ip: dice.between(1, 3) as u32,
        calls_per_second: dice.between(1, 4) as u32,
        hammer_requests: dice.between(8, 40) as u32,
        hammer_table: dice.between(2, 9) as u32,
        bandwidth: dice.below(2) * 50_000,
        time_scale: if dice.chance(1, 5) { 4 } else { 1 },
        ..Config::default()
    }
}

impl Life {
    fn new(seed: u64, policy: QueuePolicy) -> Self {
        let mut dice = Rng::new(seed);
        let bench = Bench::new(config(&mut dice, policy));
        let addresses = dice.between(3, 14);
        Self { bench, dice, clients: Vec::new(), calls: Vec::new(), addresses }
    }

    fn input(&mut self, input: Input) {
        let outputs = self.bench.input(input);
        self.hear(&outputs);
    }

    /// Clients learn their ids; calls are noted.
    fn hear(&mut self, outputs: &[Output]) {
        for output in outputs {
            match output {
                Output::Reply { conn, verdict } => {
                    let (ticket, told) = match verdict {
                        QueueVerdict::Wait(place) => (place.ticket, Some(place.position)),
                        QueueVerdict::Start { ticket, .. } => (*ticket, None),
                        QueueVerdict::Busy { .. } | QueueVerdict::Hammering { .. } => continue,
                    };
                    let found = self.clients.iter_mut().find(|client| client.conn == *conn);
                    if let Some(client) = found {
                        (client.ticket, client.told) = (Some(ticket), told.or(client.told));
                    }
                }
                Output::Call { ticket, .. } => self.calls.push(*ticket),
                _ => {}
            }
        }
    }

    fn address(&mut self) -> IpAddr {
        match self.dice.below(self.addresses) {
            0 => "::ffff:10.0.0.3".parse().expect("an address"),
            1 => format!("2001:db8::{}", self.dice.below(9)).parse().expect("an address"),
            n => IpAddr::from([10, 0, 0, n as u8]),
        }
    }

    fn comes(&mut self) {
        let dialect = *self.dice.pick(&DIALECTS).unwrap();
        let mut client = self.bench.client(dialect);
        client.peer = self.address();
        client.file = FileKey(self.dice.below(4));
        client.bytes = 1 << self.dice.between(5, 24);
        client.waits = self.dice.chance(2, 3);
        client.callback =
            Some(SocketAddr::new(client.peer, 6_346)).filter(|_| self.dice.chance(1, 3));
        let request = client.request();
        self.clients.push(client);
        self.input(Input::Request(request));
        if self.clients.len() > 40 {
            self.clients.remove(0);
        }
    }

    fn client(&mut self) -> Option<usize> {
        let count = self.clients.len() as u64;
        (count > 0).then(|| self.dice.below(count) as usize)
    }

    fn asks(&mut self, at: usize) {
        let fresh = self.bench.conn();
        let (other, peer) = (self.clients[0].conn, self.address());
        let dice = &mut self.dice;
        let client = &mut self.clients[at];
        if dice.chance(1, 3) {
            client.conn = if dice.chance(1, 9) { other } else { fresh };
        }
        match dice.below(24) {
            0 => client.told = Some(dice.below(9) as u32),
            1 => client.ticket = None,
            2 => client.dialect = *dice.pick(&DIALECTS).unwrap(),
            3 => client.file = FileKey(dice.below(4)),
            4 => client.bytes = 1 << dice.between(5, 45),
            5 => client.peer = peer,
            6 => client.callback = Some(SocketAddr::new(client.peer, 6_347)),
            7 => client.waits = !client.waits,
            _ => {}
        }
        let request = client.request();
        self.input(Input::Request(request));
    }

    /// The client that is due next asks then, or somewhat later.
    fn next_asks(&mut self) {
        let view = self.bench.server.view(1, u32::MAX, self.bench.now);
        let due = view.places.iter().min_by_key(|place| place.not_before);
        let Some((ticket, at)) = due.map(|place| (place.ticket, place.not_before)) else { return };
        let late = if self.dice.chance(1, 4) { self.dice.below(200_000) } else { 0 };
        self.pass(at.since(self.bench.now) + Duration::from_millis(late));
        let found = self.clients.iter().position(|client| client.ticket == Some(ticket));
        if let Some(at) = found {
            self.asks(at);
        }
    }

    fn pass(&mut self, time: Duration) {
        let outputs = self.bench.pass(time);
        self.hear(&outputs);
    }

    /// Something happens to an upload, or to a connection of any client.
    fn happens(&mut self) {
        let view = self.bench.server.view(1, 0, self.bench.now);
        let uploads: Vec<ConnId> = view.uploads.iter().filter_map(|upload| upload.conn).collect();
        let any = self.client().map_or(ConnId(1), |at| self.clients[at].conn);
        let conn = self.dice.pick(&uploads).copied().filter(|_| self.dice.chance(4, 5));
        let conn = conn.unwrap_or(any);
        let bytes = 1 << self.dice.between(3, 24);
        let last = self.dice.chance(2, 3);
        let input = match self.dice.below(16) {
            0..4 => Input::Finished { conn, last },
            4..9 => Input::Progress { conn, bytes },
            9 | 10 => Input::Broken { conn },
            11 => Input::Parted { conn },
            12 => Input::Retracted { conn },
            13 | 14 => Input::Gone { conn },
            _ => Input::Answer { conn },
        };
        self.input(input);
    }

    fn server(&mut self) {
        match self.dice.below(10) {
            0 | 1 => {
                let slots = self.dice.below(6) as u32;
                self.input(Input::Slots(slots));
            }
            2 => self.input(Input::Excuse),
            3 => {
                let parts = self.dice.next_u64() & self.dice.next_u64();
                self.input(Input::Release { parts });
            }
            4 => {
                let (conn, peer) = (self.bench.conn(), self.address());
                (0..3).for_each(|_| self.input(Input::Light { conn, peer }));
            }
            5..8 => {
                let ok = self.dice.chance(1, 2);
                if let Some(ticket) = self.calls.pop() {
                    self.input(Input::CallDone { ticket, ok });
                }
            }
            8 if self.dice.chance(1, 2) => self.restarts(),
            _ => self.joined(),
        }
    }

    fn restarts(&mut self) {
        let away = Duration::from_secs(self.dice.below(400));
        let outputs = self.bench.restart(away);
        self.hear(&outputs);
    }

    /// Another server of the site has the same rows, and a stranger's.
    fn joined(&mut self) {
        let mut rows = self.bench.store();
        let known: Vec<Guid> = {
            let view = self.bench.server.view(1, u32::MAX, self.bench.now);
            let waiting = view.places.iter().map(|place| place.ticket);
            waiting.chain(view.uploads.iter().map(|upload| upload.ticket)).collect()
        };
        rows.retain(|row| !known.contains(&row.ticket));
        for row in rows.into_iter().take(3) {
            self.input(Input::Restore(row));
        }
        self.input(Input::Joined);
    }

    fn look(&mut self) {
        let (server, now): (&QueueServer, _) = (&self.bench.server, self.bench.now);
        let windows = Windows { sync: (1, 2), asynchronous: (0, 3), grace: (0, 2) };
        let view = server.view(1, u32::MAX, now);
        let positions: Vec<u32> = view.places.iter().map(|place| place.position).collect();
        assert!(positions.into_iter().eq(1..=view.length), "1, 2, 3 and so on");
        let shown = (&view, server.view(2, 3, now), server.lanes(&windows, now));
        self.bench.digest.add(&format!("{shown:?}"));
        let server = &self.bench.server;
        self.bench.digest.add(server.config());
        self.bench.digest.add(&(server.length(), server.free(), server.has_room()));
    }

    fn live(mut self, steps: u64) -> u64 {
        for step in 0..steps {
            let at = self.client();
            match (self.dice.below(40), at) {
                (0..8, _) | (_, None) => self.comes(),
                (8..10, Some(at)) => self.asks(at),
                (10..20, _) => self.next_asks(),
                (20..33, _) => self.happens(),
                (33 | 34, _) => self.server(),
                (35, _) => {
                    let time = Duration::from_secs(self.dice.below(120));
                    self.pass(time);
                }
                _ => {
                    let time = Duration::from_millis(self.dice.below(9_000));
                    self.pass(time);
                }
            }
            if step % 10 == 0 {
                self.look();
            }
        }
        self.bench.digest.value()
    }
}

#[test]
fn drawn_queues_are_served_as_they_were() {
    let mut now = String::new();
    for (policy, name) in [(QueuePolicy::Text, "text"), (QueuePolicy::Adaptive, "adaptive")] {
        for seed in 0..16 {
            writeln!(now, "{name} {seed} {:016x}", Life::new(seed, policy).live(700)).unwrap();
        }
    }
    super::compare("queue", include_str!("queue.txt"), &now);
}
