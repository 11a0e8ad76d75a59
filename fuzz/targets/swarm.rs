//! Frames from strangers to a coordinator that serves a file: no client is told
//! too much, none is remembered past the limits.
#![no_main]

use std::sync::Arc;

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::id::ConnId;
use servent_core::rng::Rng;
use servent_core::swarm::{Config, Event, FileSpec, Input, Manager, Output, SwarmPolicy};
use servent_core::time::{Duration, Instant};
use servent_core::wire::pdtp::{
    AgreedExtensions, Hash, PdtpLimits, PdtpMessage, Span, Text, encode, parse,
};

/// Most effects of one input: every client is told of a few transfers.
const EFFECTS: usize = 400;
/// Connections that strangers have.
const CONNS: u8 = 6;
/// Clients there may be.
const CLIENTS: u32 = 5;
/// Addresses that may be remembered.
const ADDRESSES: u32 = 6;
const PIECES: u64 = 6;
const CHUNK: u64 = 100;
/// Frames a stranger need not invent.
const FRAMES: usize = 6;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((first, mut data)) = data.split_first() else { return };
    let policy = if first % 2 == 0 { SwarmPolicy::Adaptive } else { SwarmPolicy::Seed2004 };
    let config = Config {
        policy,
        clients: CLIENTS,
        per_address: 3,
        ledger: ADDRESSES,
        files_per_client: 2,
        explain: true,
        ..Config::default()
    };
    let mut play = Play { manager: Manager::new(config, &Rng::new(1)), now: Instant::ZERO };
    play.begin();
    while let [op, what, rest @ ..] = data {
        data = rest;
        let conn = ConnId(u64::from(what % CONNS));
        match op % 5 {
            0 => play.give(Input::Opened { conn, peer: [80, 0, 0, what >> 4].into() }),
            1 => play.give(Input::Closed { conn }),
            2 => play.wait(Duration::from_millis(u64::from(*what) * u64::from(*what))),
            3 => play.say(conn, &template(*what / CONNS)),
            _ => {
                let (said, rest) = rest.split_at(rest.len().min(usize::from(*op)));
                data = rest;
                play.frame(conn, said);
            }
        }
    }
});

struct Play {
    manager: Manager,
    now: Instant,
}

impl Play {
    fn begin(&mut self) {
        let hashes: Arc<[Hash]> = (0..PIECES).map(|piece| Hash([piece as u8; 32])).collect();
        let spec =
            FileSpec { url: "f".into(), size: PIECES * CHUNK, chunk: CHUNK, hashes, sha256: None };
        self.give(Input::Serve(spec));
        self.give(Input::Source { addr: ([9, 9, 9, 9], 80).into(), slots: 1 });
        for n in 0..3_u8 {
            let conn = ConnId(n.into());
            self.give(Input::Opened { conn, peer: [80, 0, 0, n].into() });
            self.say(conn, &[template(n), template(3)].concat());
        }
    }

    /// Bytes as they come in, parsed as the program parses them.
    fn frame(&mut self, conn: ConnId, body: &[u8]) {
        match parse(body, &PdtpLimits::default()) {
            Ok(messages) => self.say(conn, &messages),
            Err(why) => self.give(Input::Unreadable { conn, why: why.to_string() }),
        }
    }

    fn say(&mut self, conn: ConnId, messages: &[PdtpMessage]) {
        for message in messages {
            self.give(Input::Message { conn, message: message.clone() });
        }
    }

    fn wait(&mut self, length: Duration) {
        let until = self.now + length;
        for _ in 0..100 {
            let Some((at, _)) = self.manager.poll_timeout().filter(|(at, _)| *at <= until) else {
                break;
            };
            self.now = self.now.max(at);
            let mut fx = Fx::new();
            self.manager.handle_timeout(self.now, &mut fx);
            look(fx);
        }
        self.now = self.now.max(until);
    }

    fn give(&mut self, input: Input) {
        let mut fx = Fx::new();
        self.manager.handle(self.now, input, &mut fx);
        look(fx);
        let view = self.manager.view(0, 0, self.now);
        assert!(view.clients <= u32::from(CONNS) && view.ledger <= ADDRESSES, "{view:?}");
    }
}

/// Something an honest client says.
fn template(which: u8) -> Vec<PdtpMessage> {
    let url: Text = "f".into();
    let id = which / FRAMES as u8;
    vec![match usize::from(which) % FRAMES {
        n @ 0..=2 => PdtpMessage::Register {
            client_id: format!("c{n}{id}").into(),
            listen_port: Some(7).filter(|_| n != 2),
            extensions: AgreedExtensions { merge: true, early: n == 0 },
        },
        3 => PdtpMessage::Request { url, span: Span::ALL },
        4 => PdtpMessage::Provide { url, span: Span::new(0, CHUNK * u64::from(id)) },
        _ => PdtpMessage::AskInfo { url },
    }]
}

fn look(mut fx: Fx<Output, Event>) {
    let (mut effects, mut bytes) = (0, Vec::new());
    for effect in fx.drain() {
        effects += 1;
        if let Effect::Output(Output::Send { message, .. }) = effect {
            bytes.clear();
            encode(&[message], true, &mut bytes);
            assert!(!bytes.is_empty());
        }
    }
    assert!(effects <= EFFECTS, "one input has {effects} effects");
}
