//! The contract every engine keeps, put to the coordinator under both policies
//! and to the client: anybody says anything, in any order, at any time. And
//! what a client waits for.

use crate::contract;

use std::net::IpAddr;
use std::sync::Arc;

use contract::{Step, keeps_the_contract};
use proptest::prelude::*;
use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::id::ConnId;
use servent_core::rng::Rng;
use servent_core::swarm::client::{
    self, JobOutcome, Output, PeerRequest, SwarmClient, TransferJob,
};
use servent_core::swarm::{Config, FileSpec, Input, Manager, SwarmPolicy};
use servent_core::time::{Duration, Instant};
use servent_core::wire::pdtp::{
    AgreedExtensions, Completed, Hash, PdtpMessage, Reason, SiteAnnouncement, Span, Text,
    TransferKey, TransferMethod, TransferOrder,
};

/// Effects of one call: every client is told of a few transfers.
const MOST: usize = 400;
const PIECES: u64 = 6;
const CHUNK: u64 = 100;

fn hash(piece: u64) -> Hash {
    Hash([piece as u8; 32])
}

fn url() -> impl Strategy<Value = Text> {
    prop_oneof![9 => Just("f".into()), 1 => Just("g".into())]
}

fn span() -> impl Strategy<Value = Span> {
    prop_oneof![
        8 => (0..PIECES).prop_map(|piece| Span::new(piece * CHUNK, (piece + 1) * CHUNK)),
        2 => Just(Span::ALL),
        1 => any::<(u64, Option<u64>)>().prop_map(|(start, end)| Span { start, end }),
    ]
}

fn ip() -> impl Strategy<Value = IpAddr> {
    (0..4_u8).prop_map(|n| IpAddr::from([80, 0, 0, n + 1]))
}

fn id() -> impl Strategy<Value = Text> {
    prop_oneof![6 => (0..5_u8).prop_map(|n| format!("c{n}").into()), 2 => Just("".into())]
}

fn about() -> impl Strategy<Value = TransferKey> {
    (ip(), url(), span(), id()).prop_map(|(peer, url, span, peer_id)| TransferKey {
        peer,
        url,
        span,
        peer_id,
    })
}

fn digest() -> impl Strategy<Value = Option<Hash>> {
    prop::option::of((0..=PIECES).prop_map(hash))
}

fn completed() -> impl Strategy<Value = Completed> {
    let reasons = prop::sample::select(vec![Reason::Connect, Reason::Data, Reason::Hash]);
    let rest = (prop::option::of(reasons), any::<Option<u64>>(), prop::option::of(0..150_u64));
    (about(), digest(), rest).prop_map(|(about, hash, (reason, took, offset))| Completed {
        about,
        hash,
        offset,
        reason,
        took,
    })
}

fn extensions() -> impl Strategy<Value = AgreedExtensions> {
    any::<(bool, bool)>().prop_map(|(merge, early)| AgreedExtensions { merge, early })
}

fn transfer() -> impl Strategy<Value = TransferOrder> {
    (about(), any::<bool>(), digest()).prop_map(|(about, get, hash)| TransferOrder {
        about,
        port: 7,
        method: if get { TransferMethod::Get } else { TransferMethod::Put },
        hash,
    })
}

fn message() -> impl Strategy<Value = PdtpMessage> {
    let register = (id(), prop::option::of(1..9_u16), extensions()).prop_map(
        |(client_id, listen_port, extensions)| PdtpMessage::Register {
            client_id,
            listen_port,
            extensions,
        },
    );
    let ranged = (0..4_u8, url(), span()).prop_map(|(kind, url, span)| match kind {
        0 => PdtpMessage::Request { url, span },
        1 => PdtpMessage::Unrequest { url, span },
        2 => PdtpMessage::Provide { url, span },
        _ => PdtpMessage::Unprovide { url, span },
    });
    let told = (0..6_u8, about(), any::<bool>(), extensions()).prop_map(
        |(kind, about, yes, extensions)| {
            let TransferKey { url, span, .. } = about.clone();
            match kind {
                0 => PdtpMessage::Extensions(extensions),
                1 => PdtpMessage::TellInfo {
                    url,
                    size: Some(PIECES * CHUNK).filter(|_| yes),
                    chunk_size: Some(CHUNK),
                    streaming: false,
                    sha256: None,
                    gone: (!yes).then(|| "gone".into()),
                    site: SiteAnnouncement::default(),
                },
                2 | 3 => PdtpMessage::TellVerify { about, authorized: yes },
                4 => PdtpMessage::HashVerify { url, span, hash_ok: yes },
                _ => PdtpMessage::ProtocolError { message: "no".into() },
            }
        },
    );
    prop_oneof![
        4 => register,
        8 => Just(PdtpMessage::Request { url: "f".into(), span: Span::ALL }),
        6 => ranged,
        2 => about().prop_map(PdtpMessage::AskVerify),
        8 => completed().prop_map(PdtpMessage::Completed),
        1 => url().prop_map(|url| PdtpMessage::AskInfo { url }),
        1 => prop::option::of(1..9_u16).prop_map(|listen_port| PdtpMessage::ChangePort { listen_port }),
        1 => any::<(Option<u32>, Option<u32>)>().prop_map(|(max_download, max_upload)| {
            PdtpMessage::SetConcurrency { max_download, max_upload }
        }),
        3 => told,
        3 => transfer().prop_map(PdtpMessage::Transfer),
    ]
}

fn after() -> impl Strategy<Value = Duration> {
    prop_oneof![
        4 => Just(Duration::ZERO),
        3 => (0..900_u64).prop_map(Duration::from_millis),
        1 => (0..200_u64).prop_map(Duration::from_secs),
        1 => (0..3_u64).prop_map(|hours| Duration::from_secs(hours * 3_600)),
    ]
}

fn steps<I: std::fmt::Debug>(
    input: impl Strategy<Value = I>,
) -> impl Strategy<Value = Vec<Step<I>>> {
    let step = (after(), input).prop_map(|(after, input)| Step { after, input });
    prop::collection::vec(step, 0..80)
}

fn to_the_coordinator() -> impl Strategy<Value = Input> {
    let conn = || (0..5_u64).prop_map(ConnId);
    prop_oneof![
        3 => (conn(), ip()).prop_map(|(conn, peer)| Input::Opened { conn, peer }),
        24 => (conn(), message()).prop_map(|(conn, message)| Input::Message { conn, message }),
        1 => conn().prop_map(|conn| Input::Unreadable { conn, why: "what".into() }),
        1 => conn().prop_map(|conn| Input::Closed { conn }),
        1 => (0..4_u32).prop_map(|slots| Input::Source { addr: ([9, 9, 9, 9], 80).into(), slots }),
    ]
}

/// Every client joins, and then what is drawn happens.
fn opened(rest: Vec<Step<Input>>) -> Vec<Step<Input>> {
    let step = |input| Step { after: Duration::ZERO, input };
    let hashes: Arc<[Hash]> = (0..PIECES).map(hash).collect();
    let spec =
        FileSpec { url: "f".into(), size: PIECES * CHUNK, chunk: CHUNK, hashes, sha256: None };
    let mut steps = vec![
        step(Input::Serve(spec)),
        step(Input::Source { addr: ([9, 9, 9, 9], 80).into(), slots: 1 }),
    ];
    for n in 0..4_u8 {
        let conn = ConnId(n.into());
        let register = PdtpMessage::Register {
            client_id: format!("c{n}").into(),
            listen_port: Some(7).filter(|_| n != 2),
            extensions: AgreedExtensions { merge: true, early: n % 2 == 0 },
        };
        let request = PdtpMessage::Request { url: "f".into(), span: Span::ALL };
        steps.push(step(Input::Opened { conn, peer: IpAddr::from([80, 0, 0, n + 1]) }));
        steps.push(step(Input::Message { conn, message: register }));
        steps.push(step(Input::Message { conn, message: request }));
    }
    steps.extend(rest);
    steps
}

fn to_the_client() -> impl Strategy<Value = client::Input> {
    let job = || (0..8_u32).prop_map(TransferJob);
    let outcome = (digest(), any::<bool>(), 0..CHUNK).prop_map(|(hash, whole, bytes)| {
        if whole {
            JobOutcome::Whole { hash, took: Duration::from_millis(bytes + 1) }
        } else {
            JobOutcome::Broken { reason: Reason::Data, bytes }
        }
    });
    let request = (0..9_u64, ip(), id(), any::<bool>(), url(), span()).prop_map(
        |(conn, peer, peer_id, get, url, span)| PeerRequest {
            conn: ConnId(conn),
            peer,
            peer_id,
            method: if get { TransferMethod::Get } else { TransferMethod::Put },
            url,
            span,
        },
    );
    let told = PdtpMessage::TellInfo {
        url: "f".into(),
        size: Some(PIECES * CHUNK),
        chunk_size: Some(CHUNK),
        streaming: false,
        sha256: None,
        gone: None,
        site: SiteAnnouncement::default(),
    };
    prop_oneof![
        2 => Just(client::Input::Online { coordinator: IpAddr::from([80, 0, 0, 99]) }),
        1 => Just(client::Input::Offline),
        3 => Just(client::Input::Message(told)),
        12 => message().prop_map(client::Input::Message),
        4 => transfer().prop_map(|it| client::Input::Message(PdtpMessage::Transfer(it))),
        2 => prop::collection::vec(0..PIECES as u32, 0..4)
            .prop_map(|have| client::Input::Want { url: "f".into(), chunk: CHUNK, have }),
        1 => Just(client::Input::Offer { url: "g".into() }),
        1 => url().prop_map(|url| client::Input::Leave { url }),
        1 => prop::option::of(1..9_u16).prop_map(|port| client::Input::Listen { port }),
        6 => request.prop_map(client::Input::Incoming),
        1 => (0..9_u64).prop_map(|conn| client::Input::Gone { conn: ConnId(conn) }),
        6 => (job(), outcome).prop_map(|(job, outcome)| client::Input::Ended { job, outcome }),
    ]
}

fn manager(policy: SwarmPolicy) -> Manager {
    let config = Config {
        policy,
        clients: 5,
        per_address: 3,
        ledger: 6,
        files_per_client: 2,
        explain: true,
        ..Config::default()
    };
    Manager::new(config, &Rng::new(1))
}

fn a_client() -> SwarmClient {
    SwarmClient::new(client::Config {
        id: "c0".into(),
        listen_port: Some(7),
        waiting: 3,
        allowed: 3,
        jobs: 5,
        ..client::Config::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_coordinator_of_the_text_keeps_the_contract(steps in steps(to_the_coordinator())) {
        keeps_the_contract(|| manager(SwarmPolicy::Seed2004), &opened(steps), MOST);
    }

    #[test]
    fn the_adaptive_coordinator_keeps_the_contract(steps in steps(to_the_coordinator())) {
        keeps_the_contract(|| manager(SwarmPolicy::Adaptive), &opened(steps), MOST);
    }

    #[test]
    fn the_client_keeps_the_contract(steps in steps(to_the_client())) {
        let client = keeps_the_contract(a_client, &steps, MOST);
        let (down, up) = client.running();
        prop_assert!(down + up <= 5, "no more jobs than there may be");
    }
}

/// What a client says and does at an instant.
fn give(client: &mut SwarmClient, now: Instant, input: client::Input) -> Vec<Output> {
    let mut fx = Fx::new();
    client.handle(now, input, &mut fx);
    outputs(fx)
}

fn outputs(mut fx: Fx<Output, client::Event>) -> Vec<Output> {
    let output = |effect| match effect {
        Effect::Output(output) => Some(output),
        Effect::Event(_) => None,
    };
    fx.drain().filter_map(output).collect()
}

/// A client with the first piece, told that the second early word is coming.
fn a_client_that_let_a_peer_in(now: Instant) -> SwarmClient {
    let mut client = a_client();
    let want = client::Input::Want { url: "f".into(), chunk: CHUNK, have: vec![0] };
    give(&mut client, now, want);
    give(&mut client, now, client::Input::Online { coordinator: IpAddr::from([80, 0, 0, 99]) });
    let extensions = PdtpMessage::Extensions(AgreedExtensions { merge: true, early: true });
    let told = PdtpMessage::TellInfo {
        url: "f".into(),
        size: Some(PIECES * CHUNK),
        chunk_size: Some(CHUNK),
        streaming: false,
        sha256: None,
        gone: None,
        site: SiteAnnouncement::default(),
    };
    give(&mut client, now, client::Input::Message(extensions));
    give(&mut client, now, client::Input::Message(told));
    client
}

fn comes(conn: u64) -> client::Input {
    let peer = IpAddr::from([80, 0, 0, 2]);
    let (peer_id, url, span) = ("c1".into(), "f".into(), Span::new(0, CHUNK));
    let conn = ConnId(conn);
    client::Input::Incoming(PeerRequest {
        conn,
        peer,
        peer_id,
        method: TransferMethod::Get,
        url,
        span,
    })
}

fn word() -> client::Input {
    let peer = IpAddr::from([80, 0, 0, 2]);
    let about =
        TransferKey { peer, url: "f".into(), span: Span::new(0, CHUNK), peer_id: "c1".into() };
    client::Input::Message(PdtpMessage::TellVerify { about, authorized: true })
}

fn asks(outputs: &[Output]) -> bool {
    outputs.iter().any(|output| matches!(output, Output::Send(PdtpMessage::AskVerify(_))))
}

fn serves(outputs: &[Output]) -> bool {
    outputs.iter().any(|output| matches!(output, Output::Serve { .. }))
}

#[test]
fn sw_3_the_first_peer_is_asked_about_and_later_ones_are_announced() {
    let now = Instant::from_secs(5);
    let mut client = a_client_that_let_a_peer_in(now);
    assert!(asks(&give(&mut client, now, comes(1))), "it is not known yet that it can be reached");
    assert!(serves(&give(&mut client, now, word())));
    let done = JobOutcome::Whole { hash: None, took: Duration::from_secs(1) };
    give(&mut client, now, client::Input::Ended { job: TransferJob(0), outcome: done });

    // The peer overtakes the word: nothing has to be asked.
    assert_eq!(give(&mut client, now, comes(2)), []);
    assert!(serves(&give(&mut client, now + Duration::from_millis(30), word())));
}

#[test]
fn sw_3_a_peer_that_is_not_announced_is_asked_about_in_the_end() {
    let now = Instant::from_secs(5);
    let mut client = a_client_that_let_a_peer_in(now);
    give(&mut client, now, comes(1));
    give(&mut client, now, word());
    assert_eq!(give(&mut client, now, comes(2)), []);
    let (at, _) = client.poll_timeout().expect("it does not wait for ever");
    assert!(at.since(now) <= Duration::from_secs(1));
    let mut fx = Fx::new();
    client.handle_timeout(at, &mut fx);
    assert!(asks(&outputs(fx)));
}

#[test]
fn sw_17_a_client_tells_where_it_listens_from_now_on() {
    let now = Instant::from_secs(5);
    let mut client = a_client_that_let_a_peer_in(now);
    let says = |port| Output::Send(PdtpMessage::ChangePort { listen_port: port });
    assert_eq!(give(&mut client, now, client::Input::Listen { port: None }), [says(None)]);
    assert_eq!(give(&mut client, now, client::Input::Listen { port: None }), []);
    assert_eq!(give(&mut client, now, client::Input::Listen { port: Some(8) }), [says(Some(8))]);
}

#[test]
fn a_client_says_what_it_is_busy_with() {
    let now = Instant::from_secs(5);
    let mut client = a_client_that_let_a_peer_in(now);
    assert_eq!((client.running(), client.progress("f")), ((0, 0), Some((1, PIECES as u32))));
    give(&mut client, now, comes(1));
    give(&mut client, now, word());
    assert_eq!(client.running(), (0, 1));
    let done = JobOutcome::Whole { hash: None, took: Duration::from_secs(1) };
    give(&mut client, now, client::Input::Ended { job: TransferJob(0), outcome: done });
    assert_eq!(client.running(), (0, 0));
}

#[test]
fn a_peer_gone_before_it_is_announced_is_not_served_and_others_are() {
    let now = Instant::from_secs(5);
    for (gone, served) in [(1, false), (3, true)] {
        let mut client = a_client_that_let_a_peer_in(now);
        give(&mut client, now, comes(1));
        give(&mut client, now, client::Input::Gone { conn: ConnId(gone) });
        assert_eq!(serves(&give(&mut client, now, word())), served, "{gone} is gone");
    }
}

#[test]
fn pieces_of_another_size_are_other_pieces() {
    let now = Instant::from_secs(5);
    let mut client = a_client();
    let want = client::Input::Want { url: "f".into(), chunk: CHUNK + 1, have: vec![0] };
    give(&mut client, now, want);
    give(&mut client, now, client::Input::Online { coordinator: IpAddr::from([80, 0, 0, 99]) });
    let told = PdtpMessage::TellInfo {
        url: "f".into(),
        size: Some(PIECES * CHUNK),
        chunk_size: Some(CHUNK),
        streaming: false,
        sha256: None,
        gone: None,
        site: SiteAnnouncement::default(),
    };
    give(&mut client, now, client::Input::Message(told));
    assert_eq!(client.progress("f"), Some((0, PIECES as u32)));
}

/// The coordinator orders a transfer of a piece with a peer.
fn order(
    client: &mut SwarmClient,
    now: Instant,
    peer: u8,
    (method, piece): (TransferMethod, u64),
) -> Vec<Output> {
    let (peer, peer_id) = (IpAddr::from([80, 0, 0, peer]), "c1".into());
    let span = Span::new(piece * CHUNK, (piece + 1) * CHUNK);
    let about = TransferKey { peer, url: "f".into(), span, peer_id };
    let order = TransferOrder { about, port: 7_000, method, hash: None };
    give(client, now, client::Input::Message(PdtpMessage::Transfer(order)))
}

#[test]
fn what_waits_to_be_sent_is_sent_although_another_transfer_takes_too_long() {
    let (begin, later) = (Instant::from_secs(5), Instant::from_secs(50));
    let mut client = a_client_that_let_a_peer_in(begin);
    order(&mut client, begin, 4, (TransferMethod::Get, 1));
    assert!(matches!(
        order(&mut client, later, 2, (TransferMethod::Put, 0))[..],
        [Output::Push { .. }]
    ));
    assert_eq!(order(&mut client, later, 3, (TransferMethod::Put, 0)), [], "one at a time");
    let (mut fx, late) = (Fx::new(), begin + Duration::from_secs(90));
    client.handle_timeout(late, &mut fx);
    let outputs = outputs(fx);
    assert!(matches!(outputs[..], [Output::Abort { job: TransferJob(0) }, Output::Send(_)]));
    let done = JobOutcome::Whole { hash: None, took: Duration::from_secs(1) };
    let next = give(&mut client, late, client::Input::Ended { job: TransferJob(1), outcome: done });
    assert!(next.iter().any(|output| matches!(output, Output::Push { job: TransferJob(2), .. })));
}

/// The coordinator announces the peer with this id.
fn word_about(id: &str) -> client::Input {
    let peer = IpAddr::from([80, 0, 0, 2]);
    let about =
        TransferKey { peer, url: "f".into(), span: Span::new(0, CHUNK), peer_id: id.into() };
    client::Input::Message(PdtpMessage::TellVerify { about, authorized: true })
}

/// That peer comes.
fn comes_as(conn: u64, id: &str) -> client::Input {
    let client::Input::Incoming(request) = comes(conn) else { unreachable!() };
    client::Input::Incoming(PeerRequest { peer_id: id.into(), ..request })
}

#[test]
fn sw_3_peers_announced_in_time_are_let_in_unasked_and_none_afterwards() {
    let now = Instant::from_secs(5);
    let mut client = a_client_that_let_a_peer_in(now);
    // It remembers three.
    for id in ["c1", "c2", "c3", "c4"] {
        assert_eq!(give(&mut client, now, word_about(id)), []);
    }
    let end = now + Duration::from_secs(90);
    let last = end - Duration::from_micros(1);
    assert!(serves(&give(&mut client, last, comes_as(2, "c2"))));
    // One at a time is served; the next waits for its turn, but is let in.
    assert_eq!(give(&mut client, last, comes_as(3, "c3")), []);
    assert_eq!(client.running(), (0, 2));
    give(&mut client, last, comes_as(1, "c1"));
    assert_eq!(client.running(), (0, 2), "the first of four was forgotten");
    give(&mut client, end, comes_as(4, "c4"));
    assert_eq!(client.running(), (0, 2), "its time is over");
}

#[test]
fn what_waits_to_be_sent_is_sent_although_another_transfer_is_given_up() {
    let now = Instant::from_secs(5);
    let mut client = a_client_that_let_a_peer_in(now);
    assert!(matches!(
        order(&mut client, now, 2, (TransferMethod::Put, 0))[..],
        [Output::Push { .. }]
    ));
    assert_eq!(order(&mut client, now, 3, (TransferMethod::Put, 0)), [], "one at a time");
    assert!(matches!(
        order(&mut client, now, 4, (TransferMethod::Get, 1))[..],
        [Output::Fetch { .. }]
    ));
    let again = order(&mut client, now, 5, (TransferMethod::Get, 1));
    assert!(matches!(again[..], [Output::Abort { job: TransferJob(2) }, Output::Fetch { .. }]));
    let done = JobOutcome::Whole { hash: None, took: Duration::from_secs(1) };
    let next = give(&mut client, now, client::Input::Ended { job: TransferJob(0), outcome: done });
    assert!(next.iter().any(|output| matches!(output, Output::Push { job: TransferJob(1), .. })));
}
