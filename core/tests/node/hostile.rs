//! Whatever comes in, in whatever order: no panic, no growth, no harm to
//! others.

use crate::contract;
use crate::node_support;

use std::collections::BTreeSet;

use contract::{Step, keeps_the_contract};
use node_support::{Host, config, get, var};
use proptest::prelude::*;
use servent_core::engine::{Effect, Engine, Fx};
use servent_core::id::{ConnId, FetchId, FileIndex, Guid, Sha1};
use servent_core::node::{
    ConnInput, ConnOutput, DialError, DiskInput, DownloadSource, FetchCommand, FetchInput,
    FileInfo, Get, HttpCommand, InboxUsage, Input, Node, NodeCommand, Output, RunBit, SiteInput,
    StoreError,
};
use servent_core::queue::FileKey;
use servent_core::time::{Duration, Instant};

/// Things a stranger may say, whole and in pieces.
fn words() -> impl Strategy<Value = Vec<u8>> {
    let first = prop_oneof![
        4 => Just("GET /get/0/file%200.bin HTTP/1.1\r\n"),
        1 => Just("GET /get/1/file%201.bin HTTP/1.0\r\n"),
        1 => Just("HEAD / HTTP/1.1\r\n"),
        1 => Just("PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n"),
        1 => Just("PUT /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"),
        1 => Just("GET /?q=f HTTP/1.1\r\n"),
        2 => Just("HTTP/1.1 206 OK\r\nContent-Length: 10\r\nContent-Range: bytes 0-9/10\r\n"),
        1 => Just("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n"),
        2 => Just("HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n"),
        1 => Just("QUEUE 00000000000000000000000000000000 9.9.9.9:1\r\n"),
        1 => Just("GIV 0:00000000000000000000000000000000/x\n\n"),
    ];
    let line = prop_oneof![
        2 => Just("X-Queue: 0.1\r\n"),
        2 => Just("X-Queue: 1.0\r\nX-Node: 9.9.9.1:1\r\n"),
        1 => Just("X-Queued: position=1; ID=00000000000000000000000000000000\r\n"),
        1 => Just("X-Queue: position=2,length=5,limit=4,pollMin=45,pollMax=120\r\n"),
        1 => Just("X-Alt: 1.2.3.4,5.6.7.8:9\r\n"),
        1 => Just("X-Available-Ranges: bytes 0-10\r\n"),
        1 => Just("Range: bytes=5-\r\n"),
        1 => Just("Range: bytes=-0\r\n"),
        1 => Just("Content-Length: 18446744073709551615\r\n"),
        1 => Just("Connection: close\r\n"),
    ];
    let head = (first.clone(), prop::collection::vec(line.clone(), 0..3))
        .prop_map(|(first, lines)| format!("{first}{}\r\n", lines.concat()).into_bytes());
    let some = prop::collection::vec(head.clone(), 1..4).prop_map(|heads| heads.concat());
    let piece =
        (head.clone(), any::<usize>()).prop_map(|(head, at)| head[..at % head.len()].to_vec());
    prop_oneof![
        8 => head,
        2 => some,
        2 => piece,
        1 => prop::collection::vec(any::<u8>(), 0..200),
        1 => (any::<u8>(), 0..20_000usize).prop_map(|(b, n)| vec![b; n]),
    ]
}

/// The last number there is comes only from a forger of recordings.
fn conn() -> impl Strategy<Value = ConnId> {
    prop_oneof![30 => 0..14u64, 1 => Just(u64::MAX)].prop_map(ConnId)
}

fn accepted() -> impl Strategy<Value = ConnId> {
    prop_oneof![30 => (0..7u64).prop_map(|n| n * 2), 1 => Just(u64::MAX)].prop_map(ConnId)
}

fn source() -> impl Strategy<Value = DownloadSource> {
    (0..4u8).prop_map(|n| DownloadSource {
        at: format!("9.9.9.{n}:1").parse().unwrap(),
        target: "/get/0/file%200.bin".into(),
        host: "x".into(),
    })
}

fn command() -> impl Strategy<Value = NodeCommand> {
    let fetch = FetchId(0);
    prop_oneof![
        (0..4u32).prop_map(|slots| NodeCommand::Http(HttpCommand::Slots { slots })),
        (0..3u32).prop_map(|n| NodeCommand::Http(HttpCommand::Giv {
            to: "9.9.9.9:9".parse().unwrap(),
            index: FileIndex(n)
        })),
        prop::collection::vec(source(), 0..3).prop_map(|sources| {
            NodeCommand::Fetch(FetchCommand::Get(Get { name: "f".into(), sha1: None, sources }))
        }),
        Just(NodeCommand::Fetch(FetchCommand::Cancel { fetch })),
        Just(NodeCommand::Fetch(FetchCommand::AskNow { fetch })),
        Just(NodeCommand::Fetch(FetchCommand::Pause { fetch })),
        Just(NodeCommand::Fetch(FetchCommand::Resume { fetch })),
        (0..100u64).prop_map(move |s| NodeCommand::Fetch(FetchCommand::Sleep {
            fetch,
            length: Duration::from_secs(s)
        })),
        Just(NodeCommand::Fetch(FetchCommand::ExpectGiv {
            fetch,
            servent: Guid([0; 16]),
            index: FileIndex(0)
        })),
        Just(NodeCommand::Listening { at: "1.2.3.4:5".parse().unwrap() }),
    ]
}

/// An input, or time that passes.
fn happening() -> impl Strategy<Value = Result<Input, u64>> {
    let number = prop_oneof![0..2_000u64, Just(u64::MAX)];
    let peer = (0..4u8).prop_map(|n| format!("9.9.9.{n}:5").parse().unwrap());
    let local = "1.2.3.4:5".parse().unwrap();
    let disk = prop_oneof![Just(StoreError::Full), Just(StoreError::Changed)];
    prop_oneof![
        3 => (accepted(), peer).prop_map(|(conn, peer)| Ok(Input::Connection(conn, ConnInput::Accepted { peer, local: None }))),
        12 => (conn(), words()).prop_map(|(conn, data)| Ok(Input::Connection(conn, ConnInput::Bytes { data }))),
        5 => conn().prop_map(move |conn| Ok(Input::Connection(conn, ConnInput::Dialed { local }))),
        1 => conn().prop_map(|conn| Ok(Input::Connection(conn, ConnInput::DialFailed { why: DialError::Refused }))),
        2 => conn().prop_map(|conn| Ok(Input::Connection(conn, ConnInput::Closed))),
        2 => (conn(), number.clone()).prop_map(|(conn, bytes)| Ok(Input::Connection(conn, ConnInput::Served { bytes }))),
        2 => (conn(), number.clone()).prop_map(|(conn, bytes)| Ok(Input::Connection(conn, ConnInput::Stored { bytes }))),
        1 => (conn(), number).prop_map(|(conn, bytes)| Ok(Input::Connection(conn, ConnInput::Backlog { bytes }))),
        1 => (0..3u32, 0..9u64).prop_map(|(files, bytes)| {
            Ok(Input::Disk(DiskInput::Inbox { held: (files > 0).then_some(InboxUsage { files, bytes }) }))
        }),
        1 => conn().prop_map(|conn| Ok(Input::Connection(conn, ConnInput::Committed { name: "a".into() }))),
        1 => conn().prop_map(|conn| Ok(Input::Connection(conn, ConnInput::BodyEnded { unread: Vec::new() }))),
        1 => (conn(), disk).prop_map(|(conn, why)| Ok(Input::Connection(conn, ConnInput::DiskFailed { why }))),
        1 => Just(Ok(Input::Fetch(FetchInput::Verified { fetch: FetchId(0), sha1: Some(Sha1([0; 20])) }))),
        1 => (conn(), prop::bool::ANY).prop_map(|(conn, good)| Ok(Input::Connection(conn, ConnInput::Authenticated { good }))),
        1 => prop_oneof![Just(Ok(Input::Site(SiteInput::StoreUnavailable))), Just(Ok(Input::Site(SiteInput::StoreAvailable)))],
        1 => (conn(), prop::bool::ANY)
            .prop_map(|(conn, several)| Ok(Input::Connection(conn, ConnInput::Retracted { several }))),
        1 => (0..9u64).prop_map(|start| Ok(Input::Fetch(FetchInput::Hashed { fetch: FetchId(0), start, tth: None }))),
        1 => (0..3u32, 0..9u64).prop_map(|(n, size)| Ok(Input::Disk(DiskInput::Shared(FileInfo {
            index: FileIndex(n),
            name: "f".into(),
            size,
            sha1: (n > 0).then_some(Sha1([n as u8; 20])),
            key: FileKey(u64::from(n)), modified: None, tree: None, run: RunBit(false) })))),
        1 => (0..3u32).prop_map(|n| Ok(Input::Disk(DiskInput::Unshared { index: FileIndex(n) }))),
        2 => command().prop_map(|command| Ok(Input::Command(command))),
        3 => prop_oneof![3 => 0..2_000u64, 1 => 0..100_000_000u64].prop_map(Err),
    ]
}

/// The same as steps of an engine: every input after some time.
fn steps() -> impl Strategy<Value = Vec<Step<Input>>> {
    prop::collection::vec(happening(), 0..120).prop_map(|list| {
        let (mut steps, mut after) = (Vec::new(), Duration::ZERO);
        for happening in list {
            match happening {
                Ok(input) => {
                    steps.push(Step { after, input });
                    after = Duration::ZERO;
                }
                Err(micros) => after = after + Duration::from_micros(micros),
            }
        }
        steps
    })
}

/// Follows the connections: who is open, and that nothing is said on those
/// that the node has closed.
#[derive(Default)]
struct Manners {
    accepted: u64,
    open: Vec<ConnId>,
    closed: BTreeSet<ConnId>,
}

impl Manners {
    fn check(&mut self, fx: &Fx<Output, servent_core::trace::Event>) {
        for effect in fx.as_slice() {
            let Effect::Output(output) = effect else { continue };
            match output {
                Output::Connection(
                    conn,
                    ConnOutput::Write { .. }
                    | ConnOutput::Serve { .. }
                    | ConnOutput::Store { .. }
                    | ConnOutput::StoreBody { .. }
                    | ConnOutput::Incoming { .. }
                    | ConnOutput::Commit { .. },
                ) => {
                    assert!(!self.closed.contains(conn), "{output:?} after its close");
                }
                Output::Connection(conn, ConnOutput::Close { .. }) => {
                    assert!(self.closed.insert(*conn), "closed twice");
                }
                Output::Connection(conn, ConnOutput::Dial { .. }) => self.open.push(*conn),
                _ => {}
            }
        }
    }

    /// Makes an input mean one of the connections there are, mostly, and
    /// gives each number only once.
    fn aim(&mut self, input: &mut Input) {
        match input {
            Input::Connection(conn, ConnInput::Accepted { .. }) => {
                *conn = ConnId(self.accepted * 2);
                self.accepted += 1;
                self.open.push(*conn);
            }
            Input::Connection(
                conn,
                ConnInput::Dialed { .. }
                | ConnInput::DialFailed { .. }
                | ConnInput::Bytes { .. }
                | ConnInput::Closed
                | ConnInput::Backlog { .. }
                | ConnInput::Served { .. }
                | ConnInput::Stored { .. }
                | ConnInput::BodyEnded { .. }
                | ConnInput::Committed { .. }
                | ConnInput::Retracted { .. }
                | ConnInput::DiskFailed { .. },
            ) => {
                let recent = self.open.len().saturating_sub(6);
                let few = &self.open[recent..];
                if conn.0 > 0 && !few.is_empty() {
                    *conn = few[conn.0 as usize % few.len()];
                }
                if let Input::Connection(conn, ConnInput::Retracted { .. }) = input {
                    self.closed.remove(conn); // Its close is unsaid, too.
                }
            }
            _ => {}
        }
    }
}

fn started() -> Node {
    let mut host = Host::new(config(), &[1_000, 10]);
    host.input(Input::Disk(DiskInput::Inbox { held: Some(InboxUsage::default()) }));
    host.node
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_inputs_in_any_order_do_no_harm(list in prop::collection::vec(happening(), 0..150)) {
        let mut node = started();
        let (mut now, mut fx) = (Instant::from_secs(1_000), Fx::new());
        let mut manners = Manners::default();
        for happening in list {
            match happening {
                Ok(mut input) => {
                    manners.aim(&mut input);
                    node.handle(now, input, &mut fx);
                }
                Err(micros) => {
                    let end = now + Duration::from_micros(micros);
                    let mut wakes = 0;
                    while let Some((at, name)) = node.poll_timeout().filter(|(at, _)| *at <= end) {
                        now = now.max(at);
                        node.handle_timeout(now, &mut fx);
                        let next = node.poll_timeout();
                        prop_assert!(next.is_none_or(|(at, _)| at > now), "{name}: {next:?}");
                        wakes += 1;
                        prop_assert!(wakes < 10_000, "{name} never rests");
                        manners.check(&fx);
                        fx.drain().for_each(drop);
                    }
                    now = end;
                }
            }
            prop_assert!(fx.len() < 1_000, "one input, {} effects", fx.len());
            manners.check(&fx);
            fx.drain().for_each(drop);
            let view = node.view(1, 100);
            prop_assert!(view.connections <= 100);
        }
    }

    #[test]
    fn a_node_keeps_the_contract_of_an_engine(steps in steps()) {
        let node = keeps_the_contract(started, &steps, 1_000);
        prop_assert!(node.view(1, 100).connections <= 100);
    }

    #[test]
    fn no_client_moves_anothers_place(list in prop::collection::vec((0..4usize, words()), 0..40)) {
        let mut patient = config();
        patient.limits.reader_rate = 0;
        let mut host = Host::new(patient, &[100_000, 50]);
        host.stalled = true;
        host.ask("1.1.1.1:1", "X-Queue: 0.1\r\n");
        let (_, parq) = host.ask("2.2.2.2:2", "X-Queue: 1.0\r\n");
        let (active, _) = host.ask("3.3.3.3:3", "X-Queue: 0.1\r\n");
        host.ask("4.4.4.4:4", "");
        let line = |host: &Host| {
            let view = host.node.view(1, 3);
            view.queue.cards.into_iter().map(|c| (c.ticket, c.position, c.present)).collect::<Vec<_>>()
        };
        let before = line(&host);
        prop_assert_eq!(&before[0].0[..], var(&parq, "ID"));
        let mut conns: Vec<ConnId> =
            (0..4).map(|n| host.accept(&format!("6.6.6.{n}:6"))).collect();
        for (who, data) in list {
            if host.hung_up.contains(&conns[who]) {
                conns[who] = host.accept(&format!("6.6.6.{who}:7"));
            }
            host.bytes(conns[who], &data);
            prop_assert_eq!(line(&host), &before[..]);
        }
        prop_assert!(!host.hung_up.contains(&active));
        host.wait(Duration::from_secs(50));
        let reply = host.say(active, &get(0, "X-Queue: 0.1\r\n"));
        prop_assert_eq!(var(&reply, "position"), "2");
    }
}
