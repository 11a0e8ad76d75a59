//! Downloads from several sources of which one gives other bytes: with a hash
//! it is found and dropped, without one nothing is mixed.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use crate::fetch_support;

use fetch_support::{Desk, FETCH, GOOD, LOCAL, addr, get};
use servent_core::fetch::{
    Config, DialError, Event, FetchAnswer, FetchFailure, Input, Output, PartRow, SourceTrouble,
};
use servent_core::id::Sha1;
use servent_core::queue::Dialect;
use servent_core::thex::TreeHasher;
use servent_core::wire::http::RangeSpec;

const A: &str = "80.1.1.1:6346";
const B: &str = "80.2.2.2:6346";
const C: &str = "80.3.3.3:6346";
const SIZE: u64 = 1_200;
const BAD: Sha1 = Sha1([9; 20]);

/// What servers do, and what has come of it.
struct Crowd {
    desk: Desk,
    liar: Option<SocketAddr>,
    /// The bytes of C, which are those of an earlier run, are wrong.
    spoilt: bool,
    /// Lines each server adds to its replies.
    kinds: Vec<(SocketAddr, &'static str)>,
    /// Servers that are gone.
    gone: BTreeSet<SocketAddr>,
    /// Whose bytes each stretch of a hundred is.
    bytes: Vec<Option<SocketAddr>>,
    /// Bytes that were sent.
    sent: u64,
    answered: usize,
    dialed: usize,
    /// The host hashes ranges; outputs it has seen.
    hashes: bool,
    seen: usize,
}

impl Crowd {
    fn new(sha1: Option<Sha1>, sources: &[&str]) -> Self {
        let config = Config { chunk: 100, attempts: 2, ..Config::default() };
        let mut desk = Desk::new(config, Dialect::Parq);
        desk.input(Input::Get(get(sha1, sources)));
        Self {
            desk,
            liar: None,
            spoilt: false,
            kinds: Vec::new(),
            gone: BTreeSet::new(),
            bytes: vec![None; (SIZE / 100) as usize],
            sent: 0,
            answered: 0,
            dialed: 0,
            hashes: true,
            seen: 0,
        }
    }

    fn lying(liar: &str, sources: &[&str]) -> Self {
        Self { liar: Some(addr(liar)), ..Self::new(Some(GOOD), sources) }
    }

    /// Every source answers until the download has ended.
    fn run(&mut self) {
        for _ in 0..500 {
            while let Some(&(conn, to)) = self.desk.dials().get(self.dialed) {
                self.dialed += 1;
                let why = DialError::Refused;
                self.desk.input(if self.gone.contains(&to) {
                    Input::DialFailed { conn, why }
                } else {
                    Input::Dialed { conn, local: LOCAL }
                });
            }
            while self.answered < self.desk.asked.len() {
                self.answer(self.answered);
                self.answered += 1;
            }
            self.hash();
            if self.desk.state() == "verifying" {
                let lies = |from: &Option<SocketAddr>| {
                    *from == self.liar && self.liar.is_some()
                        || self.spoilt && *from == Some(addr(C))
                };
                let right = !self.bytes.iter().any(lies);
                let sha1 = Some(if right { GOOD } else { BAD });
                self.desk.input(Input::Verified { fetch: FETCH, sha1 });
            }
            if self.desk.state() != "running" {
                return;
            }
            self.desk.secs(1);
        }
        panic!("it does not end");
    }

    /// The host hashes what it was asked to: the liar's bytes are others.
    fn hash(&mut self) {
        while let Some(output) = self.desk.outputs.get(self.seen).cloned() {
            self.seen += 1;
            if let Output::Hash { fetch, start, end } = output {
                let on_disk = &self.bytes[start as usize / 100..(end as usize).div_ceil(100)];
                let mut hasher = TreeHasher::of_piece(on_disk.len() as u64);
                let lies =
                    |from: &Option<SocketAddr>| u8::from(from.is_some() && *from == self.liar);
                on_disk.iter().for_each(|from| hasher.update(&[lies(from)]));
                let tth = hasher.finish().map(|tree| tree.root()).filter(|_| self.hashes);
                self.desk.input(Input::Hashed { fetch, start, tth });
            }
        }
    }

    fn answer(&mut self, n: usize) {
        let asked = self.desk.asked[n].clone();
        let dials = self.desk.dials();
        let (conn, from) = *dials.iter().find(|(conn, _)| *conn == asked.conn).unwrap();
        if self.desk.closed(conn) || self.gone.contains(&from) {
            return;
        }
        let (start, end) = match asked.range() {
            RangeSpec::From(start) => (start, SIZE),
            RangeSpec::Between(start, last) => (start, (last + 1).min(SIZE)),
            RangeSpec::Last(_) => panic!("no download asks for that"),
        };
        let kind = self.kinds.iter().find(|(at, _)| *at == from).map_or("X: y", |(_, kind)| kind);
        let (last, length) = (end - 1, end - start);
        let stores = self.desk.stores().len();
        self.desk.reply(
            conn,
            &format!("HTTP/1.1 206 OK\nContent-Range: bytes {start}-{last}/{SIZE}\nContent-Length: {length}\n{kind}"),
        );
        if self.desk.stores().len() > stores {
            self.sent += length;
            (start / 100..end.div_ceil(100)).for_each(|at| self.bytes[at as usize] = Some(from));
            self.desk.input(Input::Stored { conn, bytes: length });
        }
    }

    fn fetched(&self) -> bool {
        let is = |answer: &FetchAnswer| matches!(answer, FetchAnswer::Fetched { bytes: SIZE, .. });
        self.desk.answers().iter().any(is)
    }

    fn convicted(&self) -> Vec<SocketAddr> {
        let lost = |e: &Event| match e {
            Event::SourceLost { at, why: SourceTrouble::Corrupt, .. } => Some(*at),
            _ => None,
        };
        self.desk.events.iter().filter_map(lost).collect()
    }

    fn givers(&self) -> BTreeSet<SocketAddr> {
        self.bytes.iter().flatten().copied().collect()
    }
}

#[test]
fn one_liar_among_several_is_found_named_and_dropped_and_what_is_right_is_kept() {
    for sources in [&[A, B][..], &[A, B, C]] {
        for liar in sources {
            let mut crowd = Crowd::lying(liar, sources);
            crowd.run();
            assert!(crowd.fetched(), "{liar} among {sources:?}");
            assert_eq!(crowd.convicted(), [addr(liar)], "and no other, among {sources:?}");
        }
    }
    // The source named last is doubted first: no more than its share again.
    let mut crowd = Crowd::lying(B, &[A, B]);
    crowd.run();
    assert!(crowd.sent < SIZE + SIZE * 2 / 3, "{} bytes for {SIZE}", crowd.sent);
    let forgot = |o: &Output| matches!(o, Output::Save(row) if row.have.is_empty());
    let saved = crowd.desk.outputs.iter().rposition(forgot).unwrap_or(0);
    let corrupt = |o: &Output| matches!(o, Output::Verify { .. });
    let first = crowd.desk.outputs.iter().position(corrupt).unwrap();
    assert!(saved < first, "what was right was kept");
}

/// While bytes of an earlier run are wrong, no trial shows which source lies: when they
/// are gone, each source is tried again.
#[test]
fn one_liar_is_found_after_wrong_bytes_of_an_earlier_run_too() {
    for liar in [A, B] {
        let mut crowd = Crowd::lying(liar, &[A, B]);
        let get = crowd.desk.row().get;
        crowd.desk = Desk::new(Config { chunk: 100, ..Config::default() }, Dialect::Parq);
        let row = PartRow { size: Some(SIZE), have: vec![(0, 300)], ..PartRow::new(FETCH, get) };
        crowd.desk.input(Input::Restore(row));
        crowd.desk.input(Input::Resume);
        crowd.spoilt = true;
        crowd.bytes[..3].fill(Some(addr(C)));
        crowd.run();
        assert!(crowd.fetched(), "{liar} lies");
        assert_eq!(crowd.convicted(), [addr(liar)]);
    }
}

#[test]
fn where_the_only_other_one_is_gone_it_ends_without_a_file() {
    let mut crowd = Crowd::lying(A, &[A, B]);
    crowd.gone.insert(addr(B));
    crowd.run();
    assert!(!crowd.fetched());
    assert_eq!(crowd.convicted(), [addr(A)], "all of it came from there");
    let failed =
        |a: &FetchAnswer| matches!(a, FetchAnswer::Failed { why: FetchFailure::NoSource, .. });
    assert!(crowd.desk.answers().iter().any(failed), "{:?}", crowd.desk.answers());
}

#[test]
fn without_a_hash_the_bytes_of_two_sources_are_not_mixed() {
    let mut crowd = Crowd::new(None, &[A, B]);
    crowd.kinds = vec![(addr(A), "ETag: \"a\""), (addr(B), "ETag: \"b\"")];
    crowd.run();
    assert!(crowd.fetched());
    assert_eq!(crowd.givers().len(), 1, "{:?}", crowd.bytes);
    assert_eq!(crowd.sent, SIZE);
    let kept = |e: &&Event| matches!(e, Event::KeptBack { .. });
    assert_eq!(crowd.desk.events.iter().filter(kept).count(), 1, "and that is told");
}

#[test]
fn without_a_hash_a_source_that_says_nothing_of_its_file_is_kept_back_too() {
    let mut crowd = Crowd::new(None, &[A, B]);
    crowd.run();
    assert!(crowd.fetched() && crowd.givers().len() == 1, "{:?}", crowd.bytes);
}

#[test]
fn without_a_hash_those_that_say_the_same_of_their_file_share_it() {
    let kinds = ["ETag: \"a\"", "Last-Modified: Sun, 22 Nov 2026 12:00:00 GMT"];
    for kind in kinds {
        let mut crowd = Crowd::new(None, &[A, B]);
        crowd.kinds = vec![(addr(A), kind), (addr(B), kind)];
        crowd.run();
        assert!(crowd.fetched());
        assert_eq!(crowd.givers().len(), 2, "{:?}", crowd.bytes);
    }
}

/// What they say of their files is the same, and the files are not.
#[test]
fn without_a_hash_a_probe_shows_whose_bytes_are_others() {
    let kind = "ETag: \"a\"";
    for liar in [A, B] {
        let mut crowd = Crowd::new(None, &[A, B, C]);
        crowd.liar = Some(addr(liar));
        crowd.kinds = [A, B, C].map(|at| (addr(at), kind)).to_vec();
        crowd.run();
        assert!(crowd.fetched(), "{liar}");
        let lies = crowd.givers().contains(&addr(liar));
        assert!(!lies || crowd.givers().len() == 1, "a mixture: {:?}", crowd.bytes);
        let kept = |e: &Event| match e {
            Event::KeptBack { at, .. } => Some(*at),
            _ => None,
        };
        let kept: Vec<SocketAddr> = crowd.desk.events.iter().filter_map(kept).collect();
        match liar {
            // It came first, and the others did not join it.
            A => assert_eq!(kept, [addr(B), addr(C)]),
            _ => assert_eq!(kept, [addr(B)]),
        }
    }
}

/// It is not known which file the bytes of an earlier run are of.
#[test]
fn without_a_hash_what_an_earlier_run_has_left_is_compared_too() {
    for same in [false, true] {
        let mut crowd = Crowd::new(None, &[A, B]);
        let get = crowd.desk.row().get;
        crowd.desk = Desk::new(Config { attempts: 2, ..Config::default() }, Dialect::Parq);
        let (size, have) = (Some(SIZE), vec![(0, 300), (600, 1_000)]);
        let row = PartRow { size, have, ..PartRow::new(FETCH, get) };
        crowd.desk.input(Input::Restore(row));
        crowd.desk.input(Input::Resume);
        crowd.bytes[..3].fill(Some(addr(C)));
        crowd.bytes[6..10].fill(Some(addr(C)));
        crowd.liar = (!same).then_some(addr(C));
        crowd.kinds = [A, B].map(|at| (addr(at), "ETag: \"a\"")).to_vec();
        crowd.run();
        assert!(crowd.fetched());
        assert!(same || !crowd.givers().contains(&addr(C)), "{:?}", crowd.bytes);
        let kept = |e: &Event| matches!(e, Event::KeptBack { .. });
        assert_eq!(crowd.desk.events.iter().any(kept), !same);
        assert_eq!(crowd.bytes[0] == Some(addr(C)), same, "and what was right is kept");
    }
}

#[test]
fn a_host_that_cannot_hash_believes_what_servers_say_of_their_files() {
    let mut crowd = Crowd::new(None, &[A, B]);
    crowd.kinds = [A, B].map(|at| (addr(at), "ETag: \"a\"")).to_vec();
    crowd.hashes = false;
    crowd.run();
    assert!(crowd.fetched() && crowd.givers().len() == 2, "{:?}", crowd.bytes);
}

#[test]
fn without_a_hash_the_one_in_reserve_begins_anew_when_the_first_is_lost() {
    let mut crowd = Crowd::new(None, &[A, B]);
    let [(a, _), (b, _)] = crowd.desk.dials()[..] else { panic!("two dials") };
    crowd.dialed = 2;
    crowd.desk.input(Input::Dialed { conn: a, local: LOCAL });
    crowd.desk.input(Input::Dialed { conn: b, local: LOCAL });
    crowd.answer(0);
    crowd.answer(1);
    crowd.answered = 2;
    assert_eq!(crowd.givers(), BTreeSet::from([addr(A)]));
    crowd.gone.insert(addr(A));
    for conn in crowd.desk.dials().iter().filter(|(_, at)| *at == addr(A)).map(|(c, _)| *c) {
        crowd.desk.input(Input::Closed { conn });
    }
    crowd.run();
    assert!(crowd.fetched());
    assert_eq!(crowd.givers(), BTreeSet::from([addr(B)]), "all of it is of one source");
}
