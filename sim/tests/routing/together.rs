//! The recordings of several servents are one picture: what one of them said and
//! another heard is one message, and a node that recorded nothing is there as others
//! heard of it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::id::{ConnId, FileIndex};
use servent_core::node::{
    Config, ConnInput, ConnOutput, DiskInput, FileInfo, Input, Node, NodeCommand, Output,
    OverlayCommand, RestoredNode, RunBit,
};
use servent_core::queue::FileKey;
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;
use servent_core::trace::player::Player;
use servent_core::trace::qlog;
use servent_core::trace::tape::{RecordingLog, Start};
use servent_core::wire::gnutella::MessageKind;
use servent_sim::routing::{
    MergedOverlay, ObservedOverlay, Traffic, fate, pseudonymise, shifts, unasked,
};

/// How long bytes take.
const LATENCY: Duration = Duration::from_millis(3);
/// By how much the clock of the last servent is ahead.
const AHEAD: u64 = 7_000_000;

/// A servent on a tape.
struct Taped {
    node: Node,
    writer: RecordingLog,
    lines: Vec<String>,
    /// The other end of each of its connections.
    ends: BTreeMap<ConnId, (usize, ConnId)>,
    accepted: u64,
    /// By how much its clock is ahead.
    ahead: u64,
}

/// A few servents, and the wires between them.
struct Wires {
    all: Vec<Taped>,
    now: Instant,
    due: Vec<(Instant, usize, Input)>,
}

fn at(k: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, k as u8 + 1], 6346))
}

impl Wires {
    fn new(many: usize) -> Self {
        let now = Instant::from_secs(1_700_000_000);
        let taped = |k: usize| {
            let mut config = Config { agent: format!("tester {k}"), ..Config::default() };
            config.overlay.enabled = true;
            let start = Start::new(NodeId(0), &format!("n{k}"), k as u64 + 1, config.clone());
            let (mut lines, ahead) = (Vec::new(), if k + 1 == many { AHEAD } else { 0 });
            let node = Node::new(config, k as u64 + 1);
            let writer = RecordingLog::new(now, start, &mut lines);
            Taped { node, writer, lines, ends: BTreeMap::new(), accepted: 0, ahead }
        };
        let mut wires = Self { all: (0..many).map(taped).collect(), now, due: Vec::new() };
        for k in 0..many {
            wires.give(k, Some(Input::Start(RestoredNode::default())));
        }
        wires
    }

    /// Passes a servent something, or runs its timers, and carries out what it asks
    /// for.
    fn give(&mut self, k: usize, input: Option<Input>) {
        let (one, mut fx) = (&mut self.all[k], Fx::new());
        let now = Instant::from_micros(self.now.as_micros() + one.ahead);
        match input {
            Some(input) => {
                one.writer.input(now, &input, &mut one.lines);
                one.node.handle(now, input, &mut fx);
            }
            None => {
                one.writer.timeout(now, &mut one.lines);
                one.node.handle_timeout(now, &mut fx);
            }
        }
        one.writer.effects(now, fx.as_slice(), &mut one.lines);
        for effect in fx.drain() {
            if let Effect::Output(output) = effect {
                self.output(k, output);
            }
        }
    }

    fn output(&mut self, k: usize, output: Output) {
        let due = self.now + LATENCY;
        match output {
            Output::Connection(conn, ConnOutput::Dial { to }) => {
                let other = (0..self.all.len()).find(|m| at(*m) == to).expect("it is known");
                let there = ConnId(2 * self.all[other].accepted);
                self.all[other].accepted += 1;
                self.all[k].ends.insert(conn, (other, there));
                self.all[other].ends.insert(there, (k, conn));
                // As from any other program, the port says nothing.
                let peer = SocketAddr::from(([10, 0, 0, k as u8 + 1], 50_000 + conn.0 as u16));
                let accepted =
                    Input::Connection(there, ConnInput::Accepted { peer, local: Some(to) });
                self.due.push((due, other, accepted));
                self.due.push((
                    due,
                    k,
                    Input::Connection(conn, ConnInput::Dialed { local: at(k) }),
                ));
            }
            Output::Connection(conn, ConnOutput::Write { data }) => {
                let (other, conn) = self.all[k].ends[&conn];
                self.due.push((due, other, Input::Connection(conn, ConnInput::Bytes { data })));
            }
            Output::Connection(conn, ConnOutput::Close { .. }) => {
                let (other, there) = self.all[k].ends[&conn];
                self.due.push((due, other, Input::Connection(there, ConnInput::Closed)));
                self.due.push((due, k, Input::Connection(conn, ConnInput::Closed)));
            }
            _ => {}
        }
    }

    /// Everything that happens in so many seconds.
    fn run(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        loop {
            let timer = |k: usize| {
                let one = &self.all[k];
                let (when, _) = one.node.poll_timeout()?;
                Some((Instant::from_micros(when.as_micros().saturating_sub(one.ahead)), k))
            };
            let timer = (0..self.all.len()).filter_map(timer).min();
            let next = self.due.iter().enumerate().min_by_key(|(i, (when, ..))| (*when, *i));
            let next = next.map(|(i, (when, ..))| (*when, i));
            match (next, timer) {
                (Some((when, i)), timer) if timer.is_none_or(|(due, _)| when <= due) => {
                    if when > end {
                        break;
                    }
                    let (_, k, input) = self.due.remove(i);
                    self.now = self.now.max(when);
                    self.give(k, Some(input));
                }
                (_, Some((when, k))) if when <= end => {
                    self.now = self.now.max(when);
                    self.give(k, None);
                }
                _ => break,
            }
        }
        self.now = end;
    }

    fn command(&mut self, k: usize, command: NodeCommand) {
        self.give(k, Some(Input::Command(command)));
    }

    fn share(&mut self, k: usize, name: &str) {
        let name = name.to_owned();
        let file = FileInfo {
            index: FileIndex(1),
            name,
            size: 10,
            sha1: None,
            key: FileKey(1),
            modified: None,
            tree: None,
            run: RunBit(false),
        };
        self.give(k, Some(Input::Disk(DiskInput::Shared(file))));
    }

    fn tape(&mut self, k: usize) -> Player {
        let one = &mut self.all[k];
        let now = Instant::from_micros(self.now.as_micros() + one.ahead);
        one.writer.checkpoint(now, &mut one.lines);
        let mut player = Player::new();
        for line in &one.lines {
            player.append(qlog::frame(line).as_bytes());
        }
        assert!(player.report().is_sound(), "{}", player.report());
        player
    }
}

/// Four in a row; the second one recorded nothing, and the last one's clock is
/// ahead. The first one looks for what the last one has.
fn row() -> Vec<ObservedOverlay> {
    let mut wires = Wires::new(4);
    wires.share(3, "waltz.ogg");
    for k in 0..3 {
        wires.command(k, NodeCommand::Overlay(OverlayCommand::Join { at: at(k + 1) }));
        wires.run(2);
    }
    wires.command(
        0,
        NodeCommand::Overlay(OverlayCommand::Search { search: 1, words: "waltz".into() }),
    );
    wires.run(5);
    [0, 2, 3].map(|k| ObservedOverlay::from_player(&wires.tape(k))).into()
}

fn picture(tapes: &[ObservedOverlay]) -> (MergedOverlay, Vec<i64>, Traffic) {
    let merged = MergedOverlay::new(tapes);
    let ways = merged.ways(tapes);
    let shifts = shifts(tapes.len(), |k, m| ways.get(&(k, m)).copied());
    let traffic = merged.traffic(tapes, &shifts, |tape, i| tape as u64 * 1_000_000 + i);
    (merged, shifts, traffic)
}

/// WB-5
#[test]
fn what_one_says_and_another_hears_is_one_message() {
    let tapes = row();
    let (merged, shifts, traffic) = picture(&tapes);
    assert!(merged.are_neighbours());
    // The second one was not recorded: it is there under the address at which it
    // was reached, and under that from which it came.
    assert_eq!(merged.strangers().len(), 2);
    assert_eq!(merged.strangers()[0], at(1));
    assert_eq!(merged.strangers()[1].ip(), at(1).ip());
    assert_eq!(traffic.wires(), [[0, 3], [1, 4], [1, 2]]);
    // The third and the last one are neighbours, and one clock is put right.
    assert_eq!(merged.other(1, 1), Some(2));
    assert_eq!(shifts[..2], [0, 0]);
    let between: Vec<_> = traffic.legs().iter().filter(|leg| leg.wire == 2).collect();
    let known =
        |kind: MessageKind| between.iter().filter(|leg| leg.kind == kind).collect::<Vec<_>>();
    let [queries, hits] = [known(MessageKind::Query), known(MessageKind::Hit)];
    assert_eq!((queries.len(), hits.len()), (1, 1), "{between:?}");
    assert_eq!((queries[0].from, queries[0].to), (1, 2));
    assert_eq!((hits[0].from, hits[0].to, hits[0].fate), (2, 1, fate::FORWARDED));
    let late = shifts[2] + AHEAD as i64;
    assert!(late.unsigned_abs() < 1_000, "{late} microseconds apart");
    for leg in [queries[0], hits[0]] {
        let way = leg.arrives.since(leg.departs).as_micros();
        assert!((2_000..4_000).contains(&way), "{way} microseconds");
    }
    // No node lost anything.
    assert!(traffic.legs().iter().all(|leg| leg.fate < fate::LOST), "{:?}", traffic.legs());
}

/// WB-5
#[test]
fn a_search_goes_through_all_and_its_hit_comes_back() {
    let tapes = row();
    let (_, _, traffic) = picture(&tapes);
    let journeys = traffic.journeys();
    let [journey] = journeys else { panic!("{journeys:?}") };
    assert_eq!((journey.node, journey.words.as_str(), journey.found), (0, "waltz", 1));
    let end = Instant::from_secs(1_700_000_100);
    let totals = traffic.totals(end);
    assert_eq!((totals.hits, totals.nodes), (1, 4));
    // The second one is two in the picture, as no recording says that it is one.
    assert_eq!(totals.reached, 3);
    let (up, _) = traffic.up(end);
    assert_eq!(up, [true, true, true]);
    assert_eq!(unasked(&tapes), (2, Vec::new()));
}

/// WB-5
#[test]
fn what_was_said_causes_what_was_heard() {
    let tapes = row();
    let merged = MergedOverlay::new(&tapes);
    let query = |tape: &ObservedOverlay, ours| {
        let found =
            tape.passed().iter().find(|one| one.ours == ours && one.kind == MessageKind::Query);
        *found.expect("a query")
    };
    let (sent, came) = (query(&tapes[1], true), query(&tapes[2], false));
    let conn = tapes[2].links()[came.link as usize].conn;
    assert_eq!(merged.cause((2, conn), came.step, &tapes), Some((1, sent.record)));
    // The node that said this to the first one was not recorded.
    let other = tapes[0].links()[0].conn;
    let step = tapes[0].passed().iter().find(|one| !one.ours).unwrap().step;
    assert_eq!(merged.cause((0, other), step, &tapes), None);
}

/// What a recording has been given and has said, as text: also what is in bytes on it.
fn read(tape: &str) -> String {
    let bytes = |hex: &str| -> Vec<u8> {
        let digits = hex.as_bytes().chunks_exact(2);
        digits.filter_map(|d| u8::from_str_radix(std::str::from_utf8(d).ok()?, 16).ok()).collect()
    };
    let hex = tape.split('"').filter(|word| {
        word.len() > 8 && word.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    });
    let said: Vec<u8> = hex.flat_map(bytes).collect();
    (tape.to_owned() + &String::from_utf8_lossy(&said)).to_lowercase()
}

#[test]
fn wb_10_a_recording_under_other_names_tells_the_same_and_is_verified() {
    let mut wires = Wires::new(3);
    wires.share(2, "Waltz of Annabella.ogg");
    for k in 0..2 {
        wires.command(k, NodeCommand::Overlay(OverlayCommand::Join { at: at(k + 1) }));
        wires.run(2);
    }
    wires.command(
        0,
        NodeCommand::Overlay(OverlayCommand::Search { search: 1, words: "annabella waltz".into() }),
    );
    wires.run(5);
    let tapes =
        |players: &[Player]| players.iter().map(ObservedOverlay::from_player).collect::<Vec<_>>();
    let players: Vec<Player> = (0..3).map(|k| wires.tape(k)).collect();
    let all = pseudonymise(&players, Rng::new(3));
    let again: Vec<Player> = all
        .iter()
        .map(|one| {
            let mut player = Player::new();
            player.append(one.tape.as_bytes());
            assert!(player.report().is_sound(), "{}", player.report());
            assert_eq!((one.changed, one.left_out), (0, 0), "{}", one.name);
            let said = read(&one.tape);
            for word in ["waltz", "annabella", "10.0.0.1:", "10.0.0.2:", "10.0.0.3:"] {
                assert!(!said.contains(word), "{word}");
            }
            player
        })
        .collect();
    let (before, now) = (tapes(&players), tapes(&again));
    let shape = |tapes: &[ObservedOverlay]| {
        let legs = picture(tapes).2;
        legs.legs().iter().map(|leg| (leg.kind, leg.from, leg.to, leg.fate)).collect::<Vec<_>>()
    };
    assert_eq!(now[0].hits().len(), 1, "what was found is found");
    assert!(read(&all[2].tape).contains(".ogg"), "of what kind a file is is no secret");
    assert_eq!(shape(&before), shape(&now));
    // Without the recording between them, the others have heard nothing that can be said.
    let two = pseudonymise(&[&players[..1], &players[2..]].concat(), Rng::new(3));
    assert!(two.iter().all(|one| one.left_out > 0 && !read(&one.tape).contains("waltz")));
}
