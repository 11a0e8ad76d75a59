//! A client of a swarm between a coordinator that says anything, peers that
//! come unasked, and a host whose jobs end well or badly.

use std::fmt::Write as _;
use std::net::IpAddr;

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::id::ConnId;
use servent_core::rng::Rng;
use servent_core::swarm::client::{
    Config, Input, JobOutcome, Output, PeerRequest, SwarmClient, TransferJob,
};
use servent_core::time::{Duration, Instant};
use servent_core::trace::Digest;
use servent_core::wire::pdtp::{
    AgreedExtensions, Hash, PdtpMessage, Reason, SiteAnnouncement, Span, Text, TransferKey,
    TransferMethod, TransferOrder,
};

const CHUNK: u64 = 100;
const SIZE: u64 = 770;

struct Life {
    client: SwarmClient,
    dice: Rng,
    now: Instant,
    digest: Digest,
    jobs: Vec<(TransferJob, u64, bool)>,
    asked: Vec<TransferKey>,
    conns: u64,
}

fn hash(piece: u64) -> Hash {
    Hash([piece as u8; 32])
}

fn coordinator() -> IpAddr {
    IpAddr::from([80, 0, 0, 99])
}

impl Life {
    fn new(seed: u64) -> Self {
        let mut dice = Rng::new(seed);
        let config = Config {
            id: "c0".into(),
            listen_port: Some(7),
            max_download: Some(3).filter(|_| dice.chance(1, 2)),
            max_upload: Some(2).filter(|_| dice.chance(1, 2)),
            send_at_once: dice.between(1, 3) as u32,
            waiting: 3,
            allowed: 3,
            jobs: dice.between(3, 9) as u32,
            pieces: 12,
            job_timeout: Duration::from_secs(9),
            retry_most: Duration::from_secs(6),
            ..Config::default()
        };
        Self {
            client: SwarmClient::new(config),
            dice,
            now: Instant::from_secs(50),
            digest: Digest::default(),
            jobs: Vec::new(),
            asked: Vec::new(),
            conns: 0,
        }
    }

    fn give(&mut self, input: Input) {
        let mut fx = Fx::new();
        self.client.handle(self.now, input, &mut fx);
        self.hear(fx);
    }

    fn told(&mut self, message: PdtpMessage) {
        self.give(Input::Message(message));
    }

    fn hear(&mut self, mut fx: Fx<Output, servent_core::swarm::client::Event>) {
        for effect in fx.drain() {
            self.digest.add(&effect);
            let Effect::Output(output) = effect else { continue };
            match output {
                Output::Fetch { job, span, .. } | Output::Take { job, span, .. } => {
                    self.jobs.push((job, span.start / CHUNK, true));
                }
                Output::Push { job, span, .. } | Output::Serve { job, span, .. } => {
                    self.jobs.push((job, span.start / CHUNK, false));
                }
                Output::Send(PdtpMessage::AskVerify(about)) => self.asked.push(about),
                _ => {}
            }
        }
        self.digest.add(&self.client.poll_timeout());
        self.digest.add(&(self.client.running(), self.client.agreed()));
        self.digest.add(&(self.client.progress("f"), self.client.progress("g")));
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some((at, _)) = self.client.poll_timeout().filter(|(at, _)| *at <= until) {
            self.now = self.now.max(at);
            let mut fx = Fx::new();
            self.client.handle_timeout(self.now, &mut fx);
            self.hear(fx);
        }
        self.now = until;
    }

    fn span(&mut self) -> Span {
        let piece = self.dice.below(8);
        let (start, end) = (piece * CHUNK, ((piece + 1) * CHUNK).min(SIZE));
        match self.dice.below(12) {
            0 => Span::new(start + 30, end),
            1 => Span::new(start, end - 40),
            2 => Span { start, end: None },
            3 => Span::new(start, end + 1),
            4 => Span::new(start, start),
            _ => Span::new(start, end),
        }
    }

    fn url(&mut self) -> Text {
        match self.dice.below(12) {
            0 | 1 => "g".into(),
            2 => "h".into(),
            _ => "f".into(),
        }
    }

    fn about(&mut self) -> TransferKey {
        let (url, span, peer) = (self.url(), self.span(), self.dice.below(4));
        let peer_id = if self.dice.chance(1, 6) { "".into() } else { format!("c{peer}").into() };
        let local = self.dice.chance(1, 12);
        let peer = IpAddr::from([if local { 10 } else { 80 }, 1, 1, peer as u8 + 1]);
        TransferKey { peer, url, span, peer_id }
    }

    fn ordered(&mut self) {
        let about = self.about();
        let port = *self.dice.pick(&[7_000, 7_001, 80, 443, 25]).unwrap();
        let method = if self.dice.chance(2, 3) { TransferMethod::Get } else { TransferMethod::Put };
        let hash = Some(hash(about.span.start / CHUNK)).filter(|_| self.dice.chance(1, 2));
        self.told(PdtpMessage::Transfer(TransferOrder { about, port, method, hash }));
    }

    fn comes(&mut self) {
        let TransferKey { peer, url, span, peer_id } = self.about();
        let method = if self.dice.chance(2, 3) { TransferMethod::Get } else { TransferMethod::Put };
        self.conns += 1;
        let conn = ConnId(self.conns);
        self.give(Input::Incoming(PeerRequest { conn, peer, peer_id, method, url, span }));
    }

    fn verifies(&mut self) {
        let known = self.dice.chance(3, 4).then(|| self.asked.pop()).flatten();
        let about = known.unwrap_or_else(|| self.about());
        let authorized = self.dice.chance(4, 5);
        self.told(PdtpMessage::TellVerify { about, authorized });
    }

    fn ends(&mut self) {
        if self.jobs.is_empty() {
            return;
        }
        let at = self.dice.below(self.jobs.len() as u64) as usize;
        let (job, piece, down) = self.jobs.remove(at);
        let took = Duration::from_millis(self.dice.below(900));
        let hash = if self.dice.chance(1, 5) { hash(99) } else { hash(piece) };
        let outcome = if self.dice.chance(1, 4) {
            let reason = *self.dice.pick(&[Reason::Data, Reason::Connect]).unwrap();
            JobOutcome::Broken { reason, bytes: self.dice.below(3) * 30 }
        } else {
            JobOutcome::Whole { hash: down.then_some(hash), took }
        };
        self.give(Input::Ended { job, outcome });
        if down && self.dice.chance(2, 3) {
            let span = Span::new(piece * CHUNK, ((piece + 1) * CHUNK).min(SIZE));
            let hash_ok = self.dice.chance(2, 3);
            self.told(PdtpMessage::HashVerify { url: "f".into(), span, hash_ok });
        }
    }

    fn info(&mut self, url: &str) {
        let size = match self.dice.below(12) {
            0 => None,
            1 => Some(1_201),
            2 => Some(1_200),
            _ => Some(SIZE),
        };
        let chunk_size = match self.dice.below(12) {
            0 => Some(0),
            1 => Some(120),
            _ => Some(CHUNK).filter(|_| size.is_some()),
        };
        let gone = self.dice.chance(1, 20).then(|| "over".into());
        let (url, sha256) = (url.into(), Some(hash(7)));
        self.told(PdtpMessage::TellInfo {
            url,
            size,
            chunk_size,
            streaming: false,
            sha256,
            gone,
            site: SiteAnnouncement::default(),
        });
    }

    fn files(&mut self) {
        match self.dice.below(8) {
            0 => self.give(Input::Leave { url: "f".into() }),
            1 => self.give(Input::Leave { url: "g".into() }),
            2 => self.give(Input::Offer { url: "g".into() }),
            3 | 4 => {
                let have = (0..self.dice.below(5)).map(|_| self.dice.below(14) as u32).collect();
                let chunk = *self.dice.pick(&[CHUNK, CHUNK, 90]).unwrap();
                self.give(Input::Want { url: "f".into(), chunk, have });
            }
            5 => self.info("g"),
            _ => self.info("f"),
        }
    }

    fn line(&mut self) {
        match self.dice.below(8) {
            0 => self.give(Input::Offline),
            1 | 2 => self.give(Input::Online { coordinator: coordinator() }),
            3 => {
                let early = self.dice.chance(2, 3);
                self.told(PdtpMessage::Extensions(AgreedExtensions { merge: true, early }));
            }
            4 => {
                let port = Some(8).filter(|_| self.dice.chance(1, 2));
                self.give(Input::Listen { port });
            }
            5 => {
                let conn = ConnId(self.conns - self.dice.below(4).min(self.conns));
                self.give(Input::Gone { conn });
            }
            6 => self.told(PdtpMessage::Error { reason: "x".into(), message: "no".into() }),
            _ => self.told(PdtpMessage::AskInfo { url: "f".into() }),
        }
    }

    fn live(mut self, steps: u64) -> u64 {
        self.give(Input::Want { url: "f".into(), chunk: CHUNK, have: vec![1, 2, 7] });
        self.give(Input::Offer { url: "g".into() });
        self.give(Input::Online { coordinator: coordinator() });
        self.told(PdtpMessage::Extensions(AgreedExtensions { merge: true, early: true }));
        self.info("f");
        self.info("g");
        for _ in 0..steps {
            match self.dice.below(30) {
                0..9 => self.ordered(),
                9..14 => self.comes(),
                14..18 => self.verifies(),
                18..25 => self.ends(),
                25 => self.files(),
                26 => self.line(),
                27 => {
                    let time = Duration::from_secs(self.dice.below(12));
                    self.pass(time);
                }
                _ => {
                    let time = Duration::from_millis(self.dice.below(400));
                    self.pass(time);
                }
            }
        }
        self.digest.value()
    }
}

#[test]
fn drawn_clients_of_a_swarm_do_what_they_did() {
    let mut now = String::new();
    for seed in 0..24 {
        writeln!(now, "{seed} {:016x}", Life::new(seed).live(300)).unwrap();
    }
    super::compare("swarm_client", include_str!("swarm_client.txt"), &now);
}
