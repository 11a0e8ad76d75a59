//! Downloads whose pieces are checked against the hash tree of their file: who
//! lies is found, dropped and named, and what is right is kept.

use std::net::SocketAddr;

use proptest::prelude::*;
use servent_core::fetch::{
    Config, DialError, Event, FetchAnswer, FetchFailure, Input, Output, PartRow, SourceTrouble,
};
use servent_core::id::{ConnId, Sha1, Tth};
use servent_core::queue::Dialect;
use servent_core::thex::{Tree, TreeHasher};
use servent_core::wire::http::RangeSpec;
use servent_core::wire::thex;

use crate::fetch_support::{Desk, FETCH, GOOD, LOCAL, addr, get};

const AT: [&str; 4] = ["80.1.1.1:6346", "80.2.2.2:6346", "80.3.3.3:6346", "80.4.4.4:6346"];
const PIECE: usize = 256 * 1_024;
/// Seven pieces and a bit.
const SIZE: usize = 7 * PIECE + 1_000;
const BAD: Sha1 = Sha1([9; 20]);

fn content() -> Vec<u8> {
    (0..SIZE).map(|n| (n * 7 + n / 1_000) as u8).collect()
}

fn tree_of(bytes: &[u8]) -> Tree {
    let mut hasher = TreeHasher::new(bytes.len() as u64);
    hasher.update(bytes);
    hasher.finish().unwrap()
}

/// How a source behaves.
#[derive(Debug, Clone)]
struct Server {
    at: SocketAddr,
    bytes: Vec<u8>,
    /// The tree it says it has, and what it sends when it is asked for that.
    root: Option<Tth>,
    message: Option<Vec<u8>>,
    /// It is gone after so many requests for bytes.
    requests: usize,
}

impl Server {
    fn honest(n: usize) -> Self {
        Self { at: addr(AT[n]), bytes: content(), root: None, message: None, requests: usize::MAX }
    }

    /// It has other bytes in these pieces.
    fn lying(n: usize, pieces: &[usize]) -> Self {
        let mut server = Self::honest(n);
        for piece in pieces {
            let end = (piece * PIECE + PIECE).min(SIZE);
            server.bytes[piece * PIECE..end].iter_mut().for_each(|byte| *byte ^= 0x5a);
        }
        server
    }

    /// It announces the tree of these bytes and gives it.
    fn with_tree_of(self, bytes: &[u8]) -> Self {
        let tree = tree_of(bytes);
        Self { root: Some(tree.root()), message: Some(thex::write(&tree)), ..self }
    }

    fn with_tree(self) -> Self {
        self.with_tree_of(&content())
    }
}

/// What servers do, and what has come of it.
struct Crowd {
    desk: Desk,
    servers: Vec<Server>,
    disk: Vec<u8>,
    /// Bytes that were sent.
    sent: usize,
    /// Trees that were asked for, and of which source.
    trees: Vec<SocketAddr>,
    /// The host can hash pieces.
    hashes: bool,
    dialed: usize,
    answered: usize,
    done: usize,
}

impl Crowd {
    fn new(servers: Vec<Server>) -> Self {
        let config = Config { chunk: 2 * PIECE as u64, attempts: 2, ..Config::default() };
        let at: Vec<_> = servers.iter().map(|server| server.at.to_string()).collect();
        let at: Vec<_> = at.iter().map(|at| &at[..]).collect();
        let mut crowd = Self {
            desk: Desk::new(config, Dialect::Parq),
            servers,
            disk: vec![0; SIZE],
            sent: 0,
            trees: Vec::new(),
            hashes: true,
            dialed: 0,
            answered: 0,
            done: 0,
        };
        crowd.desk.input(Input::Get(get(Some(GOOD), &at)));
        crowd
    }

    /// Goes on with what an earlier run has left on disk.
    fn resumed(servers: Vec<Server>, disk: &[u8], tree: Option<Tree>) -> Self {
        let mut crowd = Self::new(servers);
        let get = crowd.desk.row().get;
        crowd.desk = Desk::new(Config { attempts: 2, ..Config::default() }, Dialect::Parq);
        crowd.disk.copy_from_slice(disk);
        let (size, have) = (Some(SIZE as u64), vec![(0, SIZE as u64)]);
        let row = PartRow { size, have, ..PartRow::new(FETCH, get) };
        crowd.desk.input(Input::Restore(row));
        if let Some(tree) = tree {
            crowd.desk.input(Input::RestoreTree(FETCH, tree.into()));
        }
        crowd.desk.input(Input::Resume);
        crowd
    }

    /// Every source answers until the download has ended.
    fn run(&mut self) {
        for _ in 0..3_000 {
            while let Some(&(conn, to)) = self.desk.dials().get(self.dialed) {
                self.dialed += 1;
                let gone = self.server(to).requests == 0;
                self.desk.input(match gone {
                    true => Input::DialFailed { conn, why: DialError::Refused },
                    false => Input::Dialed { conn, local: LOCAL },
                });
            }
            while self.answered < self.desk.asked.len() {
                self.answer(self.answered);
                self.answered += 1;
            }
            self.hash();
            if !matches!(&self.desk.state()[..], "running" | "verifying") {
                return;
            }
            self.desk.secs(1);
        }
        panic!("it does not end");
    }

    fn server(&mut self, at: SocketAddr) -> &mut Server {
        self.servers.iter_mut().find(|server| server.at == at).unwrap()
    }

    fn answer(&mut self, n: usize) {
        let asked = self.desk.asked[n].clone();
        let dials = self.desk.dials();
        let (conn, from) = *dials.iter().find(|(conn, _)| *conn == asked.conn).unwrap();
        if self.desk.closed(conn) {
            return;
        }
        if asked.head.target.starts_with("/uri-res/N2X") {
            self.trees.push(from);
            let Some(message) = self.server(from).message.clone() else {
                return self.desk.reply(conn, "HTTP/1.1 404 No\nContent-Length: 0");
            };
            let length = message.len();
            self.desk.reply(conn, &format!("HTTP/1.1 200 OK\nContent-Length: {length}"));
            let length = Some(length as u64);
            assert!(self.desk.outputs.contains(&Output::Collect { conn, length }));
            return self.desk.input(Input::Collected { conn, data: message });
        }
        self.give(conn, from, asked.range());
    }

    fn give(&mut self, conn: ConnId, from: SocketAddr, range: RangeSpec) {
        if self.server(from).requests == 0 {
            return self.desk.input(Input::Closed { conn });
        }
        self.server(from).requests -= 1;
        let (start, end) = range.resolve(SIZE as u64).unwrap();
        let mut head = format!(
            "HTTP/1.1 206 OK\nContent-Range: bytes {start}-{}/{SIZE}\nContent-Length: {}",
            end - 1,
            end - start
        );
        if let Some(root) = self.server(from).root {
            head.push_str(&format!("\nX-Thex-URI: /uri-res/N2X?urn:sha1:{GOOD};{root}"));
        }
        let stores = self.desk.stores().len();
        self.desk.reply(conn, &head);
        if self.desk.stores().len() > stores {
            let bytes = start as usize..end as usize;
            let given = self.server(from).bytes[bytes.clone()].to_vec();
            self.disk[bytes].copy_from_slice(&given);
            self.sent += given.len();
            self.desk.input(Input::Stored { conn, bytes: end - start });
        }
    }

    /// The host hashes what it was asked to.
    fn hash(&mut self) {
        while let Some(output) = self.desk.outputs.get(self.done).cloned() {
            self.done += 1;
            match output {
                Output::Hash { fetch, start, end } => {
                    let mut hasher = TreeHasher::of_piece(end - start);
                    hasher.update(&self.disk[start as usize..end as usize]);
                    let tth = hasher.finish().map(|tree| tree.root()).filter(|_| self.hashes);
                    self.desk.input(Input::Hashed { fetch, start, tth });
                }
                Output::Verify { fetch } => {
                    let sha1 = Some(if self.disk == content() { GOOD } else { BAD });
                    self.desk.input(Input::Verified { fetch, sha1 });
                }
                _ => {}
            }
        }
    }

    fn fetched(&self) -> bool {
        let is = |answer: &FetchAnswer| matches!(answer, FetchAnswer::Fetched { .. });
        let told = self.desk.answers().iter().any(is);
        assert!(!told || self.disk == content(), "what is said to be right is right");
        told
    }

    fn lost(&self, why: SourceTrouble) -> Vec<SocketAddr> {
        let lost = |e: &Event| match e {
            Event::SourceLost { at, why: of, .. } if *of == why => Some(*at),
            _ => None,
        };
        self.desk.events.iter().filter_map(lost).collect()
    }

    fn wrong_pieces(&self) -> usize {
        let wrong = |e: &&Event| matches!(e, Event::PieceWrong { .. });
        self.desk.events.iter().filter(wrong).count()
    }
}

#[test]
fn one_liar_among_several_is_named_and_no_more_than_it_gave_is_fetched_again() {
    for many in [2, 3] {
        for (liar, at) in AT.iter().enumerate().take(many) {
            let all: Vec<usize> = (0..8).collect();
            let server = |n| match n == liar {
                true => Server::lying(n, &all),
                false => Server::honest(n).with_tree(),
            };
            let mut crowd = Crowd::new((0..many).map(server).collect());
            crowd.run();
            assert!(crowd.fetched(), "{liar} of {many}");
            assert_eq!(crowd.lost(SourceTrouble::Mismatch), [addr(at)]);
            assert!(crowd.lost(SourceTrouble::Corrupt).is_empty());
            assert_eq!(crowd.trees.len(), 1, "it is asked for once");
            let wrong = crowd.wrong_pieces();
            assert!(crowd.sent <= SIZE + wrong * PIECE, "{} again for {wrong}", crowd.sent - SIZE);
        }
    }
}

#[test]
fn a_single_wrong_piece_is_all_that_is_fetched_again() {
    let liar = Server::lying(0, &[1]).with_tree();
    let mut crowd = Crowd::new(vec![liar, Server::honest(1).with_tree()]);
    crowd.run();
    assert!(crowd.fetched());
    assert_eq!(crowd.lost(SourceTrouble::Mismatch), [addr(AT[0])], "by its own tree");
    assert_eq!((crowd.sent, crowd.wrong_pieces()), (SIZE + PIECE, 1));
}

#[test]
fn a_lone_liar_is_named_and_what_is_right_is_kept() {
    let mut crowd = Crowd::new(vec![Server::lying(0, &[3]).with_tree()]);
    crowd.run();
    let failed =
        |a: &FetchAnswer| matches!(a, FetchAnswer::Failed { why: FetchFailure::NoSource, .. });
    assert!(crowd.desk.answers().iter().any(failed), "{:?}", crowd.desk.answers());
    assert_eq!(crowd.lost(SourceTrouble::Mismatch), [addr(AT[0])]);
    let have = crowd.desk.row().have;
    let missing = (3 * PIECE as u64, 4 * PIECE as u64);
    assert_eq!(have, [(0, missing.0), (missing.1, SIZE as u64)]);
}

#[test]
fn a_tree_that_is_none_is_passed_over_for_the_next_one() {
    let nonsense = Server { message: Some(vec![0x0c; 99]), ..Server::honest(0).with_tree() };
    let another = Server::honest(1).with_tree_of(&[1; SIZE]);
    let another = Server { root: Some(tree_of(&content()).root()), ..another };
    let refuses = Server { message: None, ..Server::honest(2).with_tree() };
    let liar = Server::lying(3, &(0..8).collect::<Vec<_>>()).with_tree();
    let mut crowd = Crowd::new(vec![nonsense, another, refuses, liar]);
    crowd.run();
    assert!(crowd.fetched());
    assert_eq!(crowd.trees, [AT[0], AT[1], AT[2], AT[3]].map(addr));
    assert_eq!(crowd.lost(SourceTrouble::Mismatch), [addr(AT[3])]);
}

#[test]
fn without_any_tree_all_is_as_it_was() {
    let tells = Server { message: None, ..Server::honest(0).with_tree() };
    let mut crowd = Crowd::new(vec![tells, Server::lying(1, &[0, 1, 2, 3, 4, 5, 6, 7])]);
    crowd.run();
    assert!(crowd.fetched());
    assert_eq!(crowd.lost(SourceTrouble::Corrupt), [addr(AT[1])]);
    assert_eq!(crowd.wrong_pieces(), 0);
}

#[test]
fn a_host_that_cannot_hash_pieces_downloads_all_the_same() {
    let liar = Server::lying(1, &[0, 1, 2, 3, 4, 5, 6, 7]).with_tree();
    let mut crowd = Crowd::new(vec![Server::honest(0).with_tree(), liar]);
    crowd.hashes = false;
    crowd.run();
    assert!(crowd.fetched());
    assert_eq!(crowd.lost(SourceTrouble::Corrupt), [addr(AT[1])]);
}

/// The first one lies about everything, the root of the tree too: its pieces
/// agree with its tree, those of the others do not.
#[test]
fn a_tree_of_another_file_is_refuted_by_the_hash_and_its_source_is_dropped() {
    let other = Server::lying(0, &(0..8).collect::<Vec<_>>());
    let bytes = other.bytes.clone();
    let liar = other.with_tree_of(&bytes);
    for honest in [Server::honest(1), Server::honest(1).with_tree()] {
        let mut crowd = Crowd::new(vec![liar.clone(), honest]);
        crowd.run();
        assert!(crowd.fetched());
        assert_eq!(crowd.lost(SourceTrouble::Corrupt), [addr(AT[0])]);
        assert!(crowd.desk.outputs.contains(&Output::SaveTree(FETCH, None)));
    }
}

#[test]
fn a_source_dropped_for_the_sake_of_a_strange_tree_is_asked_when_no_other_is_left() {
    let liar = Server { requests: 1, ..Server::honest(0).with_tree_of(&[3; SIZE]) };
    let mut crowd = Crowd::new(vec![liar, Server::honest(1)]);
    crowd.run();
    assert!(crowd.fetched(), "{:?}", crowd.desk.answers());
}

#[test]
fn after_a_restart_every_piece_is_checked_again_and_no_source_is_blamed() {
    let disk = Server::lying(0, &[2, 7]).bytes;
    let servers = vec![Server::honest(0), Server::honest(1)];
    let mut crowd = Crowd::resumed(servers, &disk, Some(tree_of(&content())));
    crowd.run();
    assert!(crowd.fetched());
    assert_eq!((crowd.wrong_pieces(), crowd.sent), (2, PIECE + 1_000));
    assert!(crowd.lost(SourceTrouble::Mismatch).is_empty());
    assert!(crowd.trees.is_empty());
}

/// Bytes of a connection that is being cut come over a piece that was right.
#[test]
fn bytes_that_come_late_are_found_when_the_hash_does_not_agree() {
    let mut crowd = Crowd::new(vec![Server::honest(0).with_tree(), Server::honest(1)]);
    let late = |crowd: &mut Crowd| crowd.disk[5] ^= 1;
    while !crowd.fetched() {
        crowd.run_until_verified(late);
    }
    assert!(crowd.fetched());
    assert_eq!((crowd.wrong_pieces(), crowd.sent), (1, SIZE + PIECE));
    assert!(crowd.lost(SourceTrouble::Corrupt).is_empty());
}

impl Crowd {
    /// Runs on; the first time all is there something happens to the disk.
    fn run_until_verified(&mut self, happens: impl Fn(&mut Self)) {
        let seen = |crowd: &Self| {
            crowd.desk.outputs.iter().filter(|o| matches!(o, Output::Verify { .. })).count()
        };
        if seen(self) == 0 {
            while let Some(&(conn, _)) = self.desk.dials().get(self.dialed) {
                self.dialed += 1;
                self.desk.input(Input::Dialed { conn, local: LOCAL });
            }
            while self.answered < self.desk.asked.len() {
                self.answer(self.answered);
                self.answered += 1;
            }
            while seen(self) == 0 && self.done < self.desk.outputs.len() {
                self.hash_one();
            }
            if seen(self) == 1 {
                happens(self);
            }
            return;
        }
        self.run();
    }

    fn hash_one(&mut self) {
        let output = self.desk.outputs[self.done].clone();
        self.done += 1;
        if let Output::Hash { fetch, start, end } = output {
            let mut hasher = TreeHasher::of_piece(end - start);
            hasher.update(&self.disk[start as usize..end as usize]);
            let tth = hasher.finish().map(|tree| tree.root());
            self.desk.input(Input::Hashed { fetch, start, tth });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// With one honest source that has the tree and stays, whatever the others
    /// say and do, the file comes whole, and that source is never named.
    #[test]
    fn an_honest_source_with_a_tree_is_enough(
        others in prop::collection::vec((prop::collection::vec(0..8_usize, 0..4), 0..4_u8, 1..9_usize), 1..4),
        at in 0..4_usize,
    ) {
        let mut servers: Vec<Server> = Vec::new();
        for (n, (pieces, tells, requests)) in others.iter().enumerate() {
            let server = Server { requests: *requests, ..Server::lying(n, pieces) };
            let bytes = server.bytes.clone();
            servers.push(match tells {
                0 => server,
                1 => server.with_tree(),
                2 => server.with_tree_of(&bytes),
                _ => Server { message: None, ..server.with_tree() },
            });
        }
        let honest = Server::honest(3).with_tree();
        servers.insert(at.min(servers.len()), honest);
        let mut crowd = Crowd::new(servers);
        crowd.run();
        prop_assert!(crowd.fetched(), "{:?}\n{:?}", crowd.desk.answers(), crowd.desk.events);
        prop_assert!(!crowd.lost(SourceTrouble::Corrupt).contains(&addr(AT[3])));
    }
}
