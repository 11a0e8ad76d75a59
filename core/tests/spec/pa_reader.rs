//! PA-9: a host that reads the line of a connection proves its own address, and moves it there
//! no longer than until the peer speaks.

use crate::unicast_support;

use std::cell::Cell;
use std::rc::Rc;

use servent_core::time::{Duration, Instant};
use servent_core::unicast::{Config, Event, Input, Profile};
use servent_core::wire::unicast::{ConnBlock, Packet, UnicastConnId};
use unicast_support::{World, addr, config, number};

const PEER: usize = 0;
const OURS: usize = 1;
/// A node that does nothing by itself.
const READER: usize = 2;

/// A peer that sends us something, and a host that reads its line.
struct ReadLine {
    world: World,
    conn: UnicastConnId,
    /// What the reader is asked to return.
    token: Rc<Cell<Option<u64>>>,
    sent: u64,
}

impl ReadLine {
    fn new() -> Self {
        let config = Config { prove: true, ..config(Profile::Adaptive) };
        let mut world = World::new(config, 3, 1);
        world.nodes[READER].up = false;
        let (token, seen) = (Rc::new(Cell::new(None)), Rc::new(Cell::new(None)));
        let (asked, conn) = (Rc::clone(&token), Rc::clone(&seen));
        world.hook(move |from, packet| {
            for block in &packet.blocks {
                match block {
                    ConnBlock::Data(data) if from == PEER => conn.set(Some(data.conn)),
                    ConnBlock::Challenge { token, .. } if from == OURS => asked.set(Some(*token)),
                    _ => {}
                }
            }
            unicast_support::Fate::Pass
        });
        let mut line = Self { world, conn: UnicastConnId(0), token, sent: 0 };
        line.speaks(100);
        line.world.run_secs(1);
        line.conn = seen.get().expect("a connection");
        line
    }

    /// The peer sends so many messages.
    fn speaks(&mut self, messages: u64) {
        let first = self.sent + 1;
        self.sent += messages;
        self.world.send_all(PEER, OURS, first..=self.sent);
    }

    fn inject(&mut self, block: ConnBlock) {
        self.world.inject(OURS, addr(READER), Packet { blocks: vec![block] });
    }

    /// The reader shows where it is.
    fn proves(&mut self) {
        let conn = self.conn;
        self.inject(ConnBlock::SizeProbe { conn, size: 1_200 });
        let token = self.token.get().expect("it is asked for a proof");
        self.inject(ConnBlock::Response { conn, token });
    }

    /// Where the peer has gone, one after the other.
    fn moves(&self) -> Vec<(Instant, std::net::SocketAddr)> {
        self.world.found(OURS, |event| match event {
            Event::Moved { to, .. } => Some(*to),
            _ => None,
        })
    }

    fn all_arrived(&self) {
        let got: Vec<u64> =
            self.world.nodes[OURS].got.iter().map(|got| number(&got.payload)).collect();
        assert_eq!(got, (1..=self.sent).collect::<Vec<_>>(), "each once");
    }
}

#[test]
fn pa_9_a_reader_of_the_line_moves_nothing_while_the_peer_speaks() {
    let mut line = ReadLine::new();
    for _ in 0..100 {
        line.speaks(10);
        line.world.run_ms(100);
        line.proves();
    }
    line.world.run_ms(100);
    line.speaks(1);
    line.world.run_secs(1);
    assert_eq!(line.moves(), [], "the peer is where it was");
    line.all_arrived();
}

#[test]
fn pa_9_a_peer_that_was_silent_takes_its_connection_back_when_it_speaks() {
    let mut line = ReadLine::new();
    for round in 1..=3 {
        line.world.run_secs(1);
        line.proves();
        line.world.run_secs(1);
        let to: Vec<_> = line.moves().into_iter().map(|(_, to)| to).collect();
        assert_eq!(to.len(), 2 * round - 1, "the reader is taken for it: {to:?}");
        let (begun, before) = (line.world.now, line.world.nodes[OURS].got.len());
        line.speaks(50);
        // The reader goes on, and is not silent.
        for _ in 0..10 {
            line.proves();
            line.world.run_ms(20);
        }
        let moves = line.moves();
        assert_eq!((moves.len(), moves[2 * round - 1].1), (2 * round, addr(PEER)), "{moves:?}");
        let took = moves[2 * round - 1].0.since(begun);
        assert!(took <= Duration::from_millis(30), "a round trip and a half: {took:?}");
        assert_eq!(line.world.nodes[OURS].got.len(), before + 50);
    }
    line.all_arrived();
}

/// The other side of a meeting has a name, and is at the relay at first.
#[test]
fn pa_13_a_reader_of_a_relayed_line_gets_nothing_of_it() {
    let mut line = ReadLine::new();
    let name = "[fd73:6578::1]:6349".parse().unwrap();
    line.world.restart(OURS);
    line.world.restart(PEER);
    line.sent = 0;
    line.world.input(OURS, Input::Route { peer: name, to: addr(PEER) });
    line.speaks(10);
    line.world.run_secs(1);
    let conn = line.world.nodes[OURS].got[0].conn;
    line.conn = conn;
    for _ in 0..20 {
        line.speaks(10);
        line.world.run_ms(50);
        line.proves();
    }
    line.world.run_ms(100);
    line.speaks(1);
    line.world.run_secs(2);
    line.proves(); // Now it is silent.
    line.world.run_secs(2);
    line.speaks(100);
    line.world.run_secs(1);
    let to: Vec<_> = line.moves().into_iter().map(|(_, to)| to).collect();
    assert_eq!(to, [addr(PEER), addr(READER), addr(PEER)]);
    line.all_arrived();
    assert_eq!(line.world.unacked(PEER, OURS), 0, "what we acknowledge reaches it");
}
