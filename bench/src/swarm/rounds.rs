//! A coordinator and clients that do what they are told, one piece a second.

use core::fmt;
use core::net::Ipv4Addr;
use std::collections::BTreeMap;
use std::sync::Arc;

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::id::ConnId;
use servent_core::rng::Rng;
use servent_core::swarm::{Config, Event, FileSpec, Input, Manager, Output};
use servent_core::time::{Duration, Instant};
use servent_core::wire::pdtp::{
    AgreedExtensions, Completed, Hash, PdtpMessage, Reason, Span, Text, TransferOrder,
};

use crate::measure::now;

/// What every piece takes.
const PIECE: Duration = Duration::from_secs(1);
/// Nothing happened for so long: the swarm is stuck.
const STUCK: Duration = Duration::from_secs(600);
/// What every piece hashes to.
const HASH: Hash = Hash([1; 32]);

/// Who wants how much.
#[derive(Clone, Copy)]
pub(super) struct Swarm {
    /// How many clients.
    pub(super) clients: u64,
    /// Pieces of the file.
    pub(super) pieces: u64,
    /// How many of a hundred clients take and never give.
    pub(super) riders: u64,
}

impl fmt::Display for Swarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "N = {}, M = {}", self.clients, self.pieces)?;
        if self.riders > 0 {
            write!(f, ", {} % free riders", self.riders)?;
        }
        Ok(())
    }
}

/// How it went.
pub(super) struct RoundsResult {
    pub(super) swarm: Swarm,
    /// Piece times until every honest client had all; infinite when stuck.
    pub(super) rounds: f64,
    /// M + ⌊log2 N⌋.
    pub(super) bound: f64,
    /// Copies of the file that left the source.
    pub(super) copies: f64,
    /// Assignments a second spent in the coordinator.
    pub(super) speed: f64,
}

impl Swarm {
    /// True for a client that never gives.
    const fn rides(self, client: u64) -> bool {
        client % 100 < self.riders
    }

    /// Runs it to the end.
    pub(super) fn run(self) -> RoundsResult {
        let mut run = Run::new(self);
        let ended = run.finish();
        RoundsResult {
            swarm: self,
            rounds: ended.map_or(f64::INFINITY, |rounds| rounds as f64),
            bound: (self.pieces + u64::from(self.clients.ilog2())) as f64,
            copies: run.from_source as f64 / self.pieces as f64,
            speed: run.assigned as f64 / run.spent,
        }
    }
}

/// One run.
struct Run {
    swarm: Swarm,
    manager: Manager,
    fx: Fx<Output, Event>,
    now: Instant,
    names: BTreeMap<Text, ConnId>,
    /// Who is told what when.
    reports: BTreeMap<Instant, Vec<(ConnId, Completed)>>,
    /// Until when each client sends.
    busy: BTreeMap<ConnId, Instant>,
    /// Pieces honest clients still miss.
    missing: u64,
    from_source: u64,
    assigned: u64,
    /// Seconds spent in the coordinator.
    spent: f64,
}

impl Run {
    fn new(swarm: Swarm) -> Self {
        let config = Config { piece_time: PIECE, ..Config::default() };
        let honest = (0..swarm.clients).filter(|c| !swarm.rides(*c)).count() as u64;
        let mut run = Self {
            swarm,
            manager: Manager::new(config, &Rng::new(1)),
            fx: Fx::new(),
            now: Instant::from_secs(1),
            names: BTreeMap::new(),
            reports: BTreeMap::new(),
            busy: BTreeMap::new(),
            missing: honest * swarm.pieces,
            from_source: 0,
            assigned: 0,
            spent: 0.0,
        };
        run.begin();
        run
    }

    fn say(&mut self, input: Input) {
        let watch = now();
        self.manager.handle(self.now, input, &mut self.fx);
        self.spent += watch.elapsed().as_secs_f64();
    }

    fn begin(&mut self) {
        let url: Text = "f".into();
        let hashes: Arc<[Hash]> = vec![HASH; self.swarm.pieces as usize].into();
        let size = self.swarm.pieces * 100;
        let file = FileSpec { url: url.clone(), size, chunk: 100, hashes, sha256: None };
        self.manager.handle(self.now, Input::Serve(file), &mut self.fx);
        let source = Input::Source { addr: ([192, 0, 2, 1], 80).into(), slots: 1 };
        self.manager.handle(self.now, source, &mut self.fx);
        for client in 0..self.swarm.clients {
            let conn = ConnId(2 * client);
            let peer = Ipv4Addr::from_bits(0x0a00_0001 + client as u32).into();
            self.manager.handle(self.now, Input::Opened { conn, peer }, &mut self.fx);
            let name: Text = format!("c{client}").into();
            self.names.insert(name.clone(), conn);
            let extensions = AgreedExtensions { merge: true, early: true };
            let register =
                PdtpMessage::Register { client_id: name, listen_port: Some(1_000), extensions };
            let request = PdtpMessage::Request { url: url.clone(), span: Span::ALL };
            for message in [register, request] {
                self.manager.handle(self.now, Input::Message { conn, message }, &mut self.fx);
            }
        }
    }

    /// Whole piece times it took, or `None` when nothing moves any more.
    fn finish(&mut self) -> Option<u64> {
        let begin = self.now;
        let mut last = self.now;
        loop {
            let watch = now();
            while self.manager.poll_timeout().is_some_and(|(at, _)| at <= self.now) {
                self.manager.handle_timeout(self.now, &mut self.fx);
            }
            self.spent += watch.elapsed().as_secs_f64();
            self.obey();
            if self.missing == 0 {
                return Some(last.since(begin).as_micros().div_ceil(PIECE.as_micros()));
            }
            let reported = self.reports.first_key_value().map(|(at, _)| *at);
            let timer = self.manager.poll_timeout().map(|(at, _)| at);
            self.now = reported.into_iter().chain(timer).min()?;
            if self.now > last + STUCK {
                return None;
            }
            for (conn, report) in self.reports.remove(&self.now).into_iter().flatten() {
                last = self.now;
                self.note(conn, &report);
                self.say(Input::Message { conn, message: PdtpMessage::Completed(report) });
            }
        }
    }

    /// Counts what an honest client has got.
    fn note(&mut self, conn: ConnId, report: &Completed) {
        if report.hash.is_some() && !self.swarm.rides(conn.0 / 2) {
            self.missing -= 1;
        }
    }

    /// Starts the transfers that were assigned.
    fn obey(&mut self) {
        let told: Vec<_> = self.fx.drain().collect();
        for effect in told {
            if let Effect::Output(Output::Send { conn, message: PdtpMessage::Transfer(it) }) =
                effect
            {
                self.assigned += 1;
                self.transfer(conn, it);
            }
        }
    }

    fn transfer(&mut self, down: ConnId, it: TransferOrder) {
        let mut got = Completed {
            about: it.about,
            hash: Some(HASH),
            offset: None,
            reason: None,
            took: Some(PIECE.as_micros()),
        };
        let Some(&up) = self.names.get(&got.about.peer_id) else {
            self.from_source += 1;
            self.reports.entry(self.now + PIECE).or_default().push((down, got));
            return;
        };
        let free = self.busy.entry(up).or_insert(self.now);
        let end = self.now.max(*free) + PIECE;
        *free = end;
        let reports = self.reports.entry(end).or_default();
        if self.swarm.rides(up.0 / 2) {
            got.hash = None;
            got.reason = Some(Reason::Data);
        } else {
            let mut sent = got.clone();
            sent.about.peer_id = format!("c{}", down.0 / 2).into();
            sent.hash = None;
            reports.push((up, sent));
        }
        reports.push((down, got));
    }
}
