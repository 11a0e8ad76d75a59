//! A client of a swarm stops asking a peer that gave it wrong pieces.

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::id::ConnId;
use servent_core::swarm::client::{
    Config, Event, Ignored, Input, JobOutcome, Output, PeerRequest, SwarmClient, TransferJob,
};
use servent_core::time::{Duration, Instant};
use servent_core::wire::pdtp::{
    Completed, Hash, PdtpMessage, Reason, SiteAnnouncement, Span, TransferKey, TransferMethod,
    TransferOrder, url_of,
};

const RIGHT: Hash = Hash([1; 32]);
const CHUNK: u64 = 1_000;

struct Bench {
    client: SwarmClient,
    now: Instant,
    next: u64,
    refused: Vec<Option<Reason>>,
    ignored: Vec<Ignored>,
}

impl Bench {
    fn new() -> Self {
        let client = SwarmClient::new(Config { id: "us".into(), ..Config::default() });
        let now = Instant::from_secs(1_000);
        let mut bench = Self { client, now, next: 0, refused: Vec::new(), ignored: Vec::new() };
        bench.give(Input::Want { url: url_of("film"), chunk: CHUNK, have: Vec::new() });
        bench.give(Input::Online { coordinator: "81.1.1.1".parse().unwrap() });
        bench.give(Input::Message(PdtpMessage::TellInfo {
            url: url_of("film"),
            size: Some(100 * CHUNK),
            chunk_size: Some(CHUNK),
            streaming: false,
            sha256: None,
            gone: None,
            site: SiteAnnouncement::default(),
        }));
        bench
    }

    fn give(&mut self, input: Input) -> Option<TransferJob> {
        let mut fx = Fx::new();
        self.client.handle(self.now, input, &mut fx);
        let mut job = None;
        for effect in fx.drain() {
            match effect {
                Effect::Output(Output::Fetch { job: one, .. }) => job = Some(one),
                Effect::Output(Output::Send(PdtpMessage::Completed(Completed {
                    hash: None,
                    reason,
                    ..
                }))) => self.refused.push(reason),
                Effect::Event(Event::Ignored { why }) => self.ignored.push(why),
                _ => {}
            }
        }
        job
    }

    /// The coordinator has us ask a peer for the next piece.
    fn ordered(&mut self, peer: &str, id: &str, hash: Option<Hash>) -> Option<(TransferJob, Span)> {
        let span = Span::new(self.next * CHUNK, (self.next + 1) * CHUNK);
        self.next += 1;
        let about = TransferKey {
            peer: peer.parse().unwrap(),
            url: url_of("film"),
            span,
            peer_id: id.into(),
        };
        let order = TransferOrder { about, port: 6_346, method: TransferMethod::Get, hash };
        Some((self.give(Input::Message(PdtpMessage::Transfer(order)))?, span))
    }

    fn ends(&mut self, job: TransferJob, hash: Hash) {
        let outcome = JobOutcome::Whole { hash: Some(hash), took: Duration::from_millis(9) };
        self.give(Input::Ended { job, outcome });
    }
}

#[test]
fn a_peer_that_gave_three_wrong_pieces_is_not_asked_again_and_the_coordinator_hears_it() {
    let mut bench = Bench::new();
    for _ in 0..3 {
        let (job, _) = bench.ordered("81.2.2.2", "liar", Some(RIGHT)).unwrap();
        bench.ends(job, Hash([9; 32]));
    }
    assert!(bench.ordered("81.2.2.2", "liar", Some(RIGHT)).is_none());
    assert_eq!(
        (&bench.refused[..], &bench.ignored[..]),
        (&[Some(Reason::Hash)][..], &[Ignored::Liar][..])
    );
    // Another peer behind its address is, and the peer that is right stays.
    for _ in 0..9 {
        let (job, _) = bench.ordered("81.2.2.2", "honest", Some(RIGHT)).unwrap();
        bench.ends(job, RIGHT);
    }
}

#[test]
fn what_the_coordinator_judges_wrong_counts_once() {
    let mut bench = Bench::new();
    for n in 0..5 {
        let ordered = bench.ordered("81.2.2.2", "liar", None);
        assert_eq!(ordered.is_some(), n < 3, "order {n}");
        let Some((job, span)) = ordered else { continue };
        bench.ends(job, Hash([9; 32]));
        for _ in 0..2 {
            let (url, hash_ok) = (url_of("film"), false);
            bench.give(Input::Message(PdtpMessage::HashVerify { url, span, hash_ok }));
        }
    }
}

#[test]
fn a_liar_may_fetch_and_is_not_let_in_to_give() {
    let mut bench = Bench::new();
    for _ in 0..3 {
        let (job, _) = bench.ordered("81.2.2.2", "liar", Some(RIGHT)).unwrap();
        bench.ends(job, Hash([9; 32]));
    }
    let (job, _) = bench.ordered("81.2.2.3", "honest", Some(RIGHT)).unwrap();
    bench.ends(job, RIGHT);
    for (method, span, status) in [
        (TransferMethod::Put, Span::new(0, CHUNK), Some(403)),
        (TransferMethod::Get, Span::new(3 * CHUNK, 4 * CHUNK), None),
    ] {
        let mut fx = Fx::new();
        let (conn, url) = (ConnId(1), url_of("film"));
        let (peer, peer_id) = ("81.2.2.2".parse().unwrap(), "liar".into());
        let request = PeerRequest { conn, peer, peer_id, method, url, span };
        bench.client.handle(bench.now, Input::Incoming(request), &mut fx);
        let refused = fx.outputs().find_map(|output| match output {
            Output::Refuse { status, .. } => Some(*status),
            _ => None,
        });
        assert_eq!(refused, status, "{method:?}");
    }
}
