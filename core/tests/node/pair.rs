//! Two whole nodes, joined byte by byte.

use crate::node_support;

use node_support::pair::Pair;
use node_support::{Host, config, content, header, sha, status};
use servent_core::engine::Effect;
use servent_core::id::{FetchId, FileIndex};
use servent_core::node::{
    Config, ConnInput, DownloadSource, FetchCommand, Get, HttpCommand, Input, NodeAnswer,
    NodeCommand, NodeOp, PartRow, RestoredNode,
};
use servent_core::queue::Dialect;
use servent_core::time::Duration;
use servent_core::trace::Event;

const HOUR: Duration = Duration::from_secs(3_600);

fn source() -> DownloadSource {
    DownloadSource {
        at: "2.2.2.2:6346".parse().unwrap(),
        target: "/get/0/file%200.bin".into(),
        host: "2.2.2.2".into(),
    }
}

/// A downloader and an uploader; the first shares nothing.
fn pair(config: &Config, size: usize) -> Pair {
    let mut client = Host::new(config.clone(), &[]);
    client.input(Input::Command(NodeCommand::Listening { at: "1.1.1.1:6346".parse().unwrap() }));
    // What the downloads of the client should turn out to be.
    client.files.insert(FileIndex(0), content(size));
    Pair::new(client, Host::new(config.clone(), &[size]))
}

fn want(pair: &mut Pair) {
    let get = Get { name: "x".into(), sha1: Some(sha(0)), sources: vec![source()] };
    pair.a.input(Input::Command(NodeCommand::Fetch(FetchCommand::Get(get))));
}

fn fetched(pair: &Pair) -> bool {
    pair.a.answers.iter().any(|a| matches!(a, NodeAnswer::Fetched { .. }))
}

fn assert_fetched(pair: &Pair, size: usize) {
    assert!(fetched(pair), "{:?}\n{:#?}", pair.a.answers, pair.a.node.view(1, 9));
    assert_eq!(pair.a.parts.values().next().unwrap()[..], content(size));
}

#[test]
fn a_free_slot_serves_at_once() {
    let mut pair = pair(&config(), 5_000);
    want(&mut pair);
    pair.run_until(HOUR, fetched);
    assert_fetched(&pair, 5_000);
    assert_eq!(pair.b.node.view(1, 9).queue.uploads, [], "nothing is left behind");
}

#[test]
fn a_queued_download_completes_in_every_dialect() {
    for dialect in [Dialect::Active, Dialect::Parq, Dialect::Parq11, Dialect::Passive] {
        let mut config = config();
        config.dialect = dialect;
        config.limits.reader_rate = 0;
        let mut pair = pair(&config, 3_000);
        pair.b.stalled = true;
        let (holder, _) = pair.b.ask("9.9.9.9:9", "X-Queue: 0.1\r\n");
        pair.b.stalled = false;
        want(&mut pair);
        pair.run_until(HOUR, |p| p.b.node.view(1, 9).queue.length == 1);
        // One poll that finds the slot still taken.
        let at = pair.b.now;
        pair.run_until(Duration::from_secs(100), |p| p.b.now.since(at) > Duration::from_secs(100));
        assert_eq!(pair.b.node.view(1, 9).queue.length, 1, "{dialect:?}");
        pair.b.input(Input::Connection(holder, ConnInput::Served { bytes: 3_000 }));
        pair.run_until(HOUR, fetched);
        assert_fetched(&pair, 3_000);
        let queued = |e: &Effect<_, Event>| {
            matches!(e, Effect::Event(Event::Queue(servent_core::queue::Event::Asked { .. })))
        };
        assert!(pair.b.log.iter().any(queued), "{dialect:?} kept its place");
    }
}

#[test]
fn a_client_far_back_is_called_and_answers_on_that_connection() {
    let mut far = config();
    far.queue.sync_places = 0;
    far.limits.reader_rate = 0;
    let mut pair = pair(&far, 3_000);
    pair.b.stalled = true;
    let (holder, _) = pair.b.ask("9.9.9.9:9", "X-Queue: 0.1\r\n");
    pair.b.stalled = false;
    want(&mut pair);
    pair.run_until(HOUR, |p| p.b.node.view(1, 9).queue.length == 1);
    pair.run_until(Duration::from_secs(1), |_| false);
    // The client sleeps past its lifetime; the server calls.
    let Some(NodeAnswer::Fetching { fetch }) = pair.a.answers.first().cloned() else { panic!() };
    pair.a.input(Input::Command(NodeCommand::Fetch(FetchCommand::Sleep { fetch, length: HOUR })));
    pair.b.input(Input::Connection(holder, ConnInput::Served { bytes: 3_000 }));
    pair.b.input(Input::Connection(holder, ConnInput::Closed));
    pair.run_until(HOUR, fetched);
    assert_fetched(&pair, 3_000);
    let called = |e: &Effect<_, Event>| {
        matches!(e, Effect::Event(Event::Queue(servent_core::queue::Event::Called { .. })))
    };
    assert!(pair.b.log.iter().any(called));
}

#[test]
fn a_pushed_file_comes_over_a_connection_of_the_servers() {
    let mut pair = pair(&config(), 4_000);
    let nowhere = DownloadSource { at: "3.3.3.3:3".parse().unwrap(), ..source() };
    let get = Get { name: "x".into(), sha1: Some(sha(0)), sources: vec![nowhere] };
    pair.a.input(Input::Command(NodeCommand::Fetch(FetchCommand::Get(get))));
    let Some(NodeAnswer::Fetching { fetch }) = pair.a.answers.first().cloned() else { panic!() };
    let (servent, index) = (pair.b.node.servent(), FileIndex(0));
    pair.a.input(Input::Command(NodeCommand::Fetch(FetchCommand::ExpectGiv {
        fetch,
        servent,
        index,
    })));
    let to = "1.1.1.1:6346".parse().unwrap();
    pair.b.input(Input::Command(NodeCommand::Http(HttpCommand::Giv { to, index })));
    pair.run_until(HOUR, fetched);
    assert_fetched(&pair, 4_000);
}

#[test]
fn a_download_survives_cut_wires_and_restarts_of_both() {
    let mut pair = pair(&config(), 20_000);
    pair.chunk = 100;
    want(&mut pair);
    pair.run_until(HOUR, |p| p.a.parts.values().any(|part| part.len() > 5_000));
    pair.cut();
    let part = pair.a.parts.clone();
    // Both start again with what they had persisted.
    let restarted = |old: &Host, sizes: &[usize]| {
        let mut new = Host::blank(config(), sizes);
        new.now = old.now;
        new.parts = old.parts.clone();
        let shared = new.shared();
        new.input(Input::Start(RestoredNode { shared, ..remembered(old) }));
        new
    };
    let saved: u64 = remembered(&pair.a).fetches[0].have.iter().map(|(a, b)| b - a).sum();
    assert!(saved > 0, "progress is remembered");
    let files = pair.a.files.clone();
    pair.a = restarted(&pair.a, &[]);
    pair.a.files = files;
    pair.b = restarted(&pair.b, &[20_000]);
    assert_eq!(pair.a.parts, part);
    pair.run_until(HOUR, fetched);
    assert_fetched(&pair, 20_000);
    let served: u64 = pair
        .b
        .outputs()
        .iter()
        .map(|o| match o {
            servent_core::node::Output::Connection(
                _,
                servent_core::node::ConnOutput::Serve { start, end, .. },
            ) => end - start,
            _ => 0,
        })
        .sum();
    assert!(served <= 20_000 - saved, "what was there is not asked for again: {served}");
}

/// What the store would have remembered of a node.
fn remembered(host: &Host) -> RestoredNode {
    let listen = Some("1.1.1.1:6346".parse().unwrap());
    let mut restored = RestoredNode { listen, ..RestoredNode::default() };
    for op in host.ops.clone() {
        match op {
            NodeOp::Servent(id) => restored.servent = Some(id),
            NodeOp::Queue(row) => {
                restored.queue.retain(|r| r.ticket != row.ticket);
                restored.queue.push(row);
            }
            NodeOp::QueueGone(ticket) => restored.queue.retain(|r| r.ticket != ticket),
            NodeOp::Fetch(row) => {
                restored.fetches.retain(|r| r.fetch != row.fetch);
                restored.fetches.push((*row).clone());
            }
            NodeOp::FetchGone(fetch) => restored.fetches.retain(|r| r.fetch != fetch),
            NodeOp::Tree(fetch, tree) => {
                restored.trees.retain(|(of, _)| *of != fetch);
                restored.trees.extend(tree.map(|tree| (fetch, tree)));
            }
            NodeOp::Paused(fetch, paused) => {
                restored.paused.retain(|of| *of != fetch);
                restored.paused.extend(paused.then_some(fetch));
            }
            NodeOp::Host(row) => restored.hosts.push(row),
            NodeOp::HostGone(at) => restored.hosts.retain(|r| r.at != at),
            NodeOp::Swarm(op) => panic!("it is in no swarm: {op:?}"),
        }
    }
    restored.queue.sort_by_key(|r| r.arrival);
    restored
}

#[test]
fn what_there_is_of_a_download_is_shared_when_wanted() {
    let get = Get { name: "x".into(), sha1: Some(sha(0)), sources: vec![] };
    let (size, have) = (Some(1_000), vec![(0, 100), (500, 600)]);
    let row = PartRow { size, have, ..PartRow::new(FetchId(4), get.into()) };
    let ask = |share_parts: bool, range: &str| {
        let mut host = Host::blank(Config { share_parts, ..config() }, &[]);
        host.parts.insert(FetchId(4), content(1_000));
        let fetches = vec![row.clone()];
        host.input(Input::Start(RestoredNode { fetches, ..RestoredNode::default() }));
        let conn = host.accept("9.9.9.9:9");
        let urn =
            format!("GET /uri-res/N2R?urn:sha1:{} HTTP/1.1\r\nHost: x\r\n{range}\r\n", sha(0));
        host.say(conn, &urn)
    };
    assert_eq!(status(&ask(false, "")), 404);
    let reply = ask(true, "Range: bytes=550-\r\n");
    assert_eq!(
        (status(&reply), header(&reply, "Content-Range")),
        (206, Some("bytes 550-599/1000"))
    );
    assert_eq!(header(&reply, "X-Available-Ranges"), Some("bytes 0-99,500-599"));
    let reply = ask(true, "");
    assert_eq!((status(&reply), header(&reply, "Content-Range")), (206, Some("bytes 0-99/1000")));
    let reply = ask(true, "Range: bytes=100-\r\n");
    assert_eq!(status(&reply), 416);
    assert_eq!(header(&reply, "X-Available-Ranges"), Some("bytes 0-99,500-599"));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || {
        let mut pair = pair(&config(), 2_000);
        want(&mut pair);
        pair.run_until(HOUR, fetched);
        (pair.a.log, pair.b.log)
    };
    assert_eq!(run(), run());
}
