//! Everything a node can be given is read back from a recording unchanged.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::iter::successors;

use super::*;
use crate::fetch::{DialError, DownloadSource, FileVersion, Get, PartRow, StoreError, Ticket};
use crate::id::{FetchId, FileIndex, FileKey, Guid, Sha1, Tth};
use crate::lease::Partition;
use crate::lease::membership::Leader;
use crate::meet::{MeetKey, MeetSide, MeetingId, Visit};
use crate::node::swarm::{self, SwarmFile};
use crate::node::{
    ConnInput, DiskInput, FetchCommand, FetchInput, FileInfo, HostRow, HttpCommand, InboxUsage,
    MeetCommand, MessageCommand, MessageInput, NodeCommand, OverlayCommand, PathNews, RestoredNode,
    RunBit, SiteInput, UnicastMessage,
};
use crate::queue::{Dialect, QueuePolicy, RowState, StoredEntry};
use crate::swarm::FileSpec;
use crate::thex::Tree;
use crate::time::{Duration, Instant};
use crate::unicast::{DeliveryOrder, Side, UnicastPayload};
use crate::wire::pdtp::{Hash, url_of};

/// An integer that no float can represent.
const LARGE: u64 = (1 << 53) + 1;

fn get() -> Get {
    let at = "[2001:db8::1]:6346".parse().unwrap();
    let source = DownloadSource { at, target: "/get/1/\"a\\b\"".into(), host: "h\u{1f}".into() };
    Get { name: "ä\n".into(), sha1: Some(Sha1([7; 20])), sources: [source].into() }
}

fn file() -> FileInfo {
    let (index, key) = (FileIndex(3), FileKey(u64::MAX));
    FileInfo {
        index,
        name: "name".into(),
        size: LARGE,
        sha1: None,
        key,
        modified: None,
        tree: Some(tree()),
        run: RunBit(false),
    }
}

fn tree() -> Arc<Tree> {
    Arc::new(Tree::new(2_048, [Tth([8; 24]), Tth([0xfe; 24])].into()).unwrap())
}

fn restored() -> RestoredNode {
    let at = "192.0.2.1:6346".parse().unwrap();
    let row = StoredEntry {
        ticket: Guid([1; 16]),
        arrival: LARGE,
        state: RowState::Reserved,
        peer: "2001:db8::2".parse().unwrap(),
        dialect: Dialect::Parq11,
        file: FileKey(1),
        bytes: 2,
        told: 3,
        not_before: Instant::from_secs(4),
        deadline: Instant::from_secs(5),
        callback: Some(at),
        breaks: 6,
    };
    let ticket = Ticket {
        at,
        ticket: Guid([2; 16]),
        told: Some(1),
        not_before: Instant::ZERO,
        deadline: Instant::from_micros(u64::MAX),
    };
    let part = PartRow {
        fetch: FetchId(9),
        get: Arc::new(get()),
        size: Some(LARGE),
        have: [(0, 1), (LARGE, u64::MAX)].into(),
        tickets: [ticket].into(),
        version: FileVersion { etag: Some("\"a\"".into()), learnt: true, ..FileVersion::default() },
    };
    RestoredNode {
        servent: Some(Guid([0xab; 16])),
        listen: Some(at),
        queue: [row].into(),
        fetches: [part].into(),
        trees: [(FetchId(9), tree())].into(),
        paused: [FetchId(9)].into(),
        shared: [file()].into(),
        hosts: [HostRow { at, heard: Instant::from_secs(1) }].into(),
        swarm: swarm_restored(),
    }
}

fn swarm_restored() -> swarm::RestoredSwarm {
    let owner = "2001:db8::".parse().unwrap();
    let row = crate::swarm::LedgerRow {
        owner,
        bytes_down: LARGE,
        bytes_up: 1,
        downloads: 2,
        uploads: 3,
        grants: 4,
        free: true,
        failures: 5,
        reporters: [(owner, 6)].into(),
        faded: Instant::from_secs(7),
        seen: Instant::from_secs(8),
    };
    let have = [(0, 1), (3, u32::MAX)].into();
    let part = swarm::PartialFile { file: FILE, url: url_of("ä b"), size: LARGE, chunk: 4, have };
    swarm::RestoredSwarm { ledger: [row].into(), parts: [part].into() }
}

const FILE: SwarmFile = SwarmFile(7);

/// One swarm command of every kind.
fn next_swarm_command(command: &swarm::SwarmCommand) -> Option<swarm::SwarmCommand> {
    use swarm::SwarmCommand as C;
    let (file, url, at) = (FILE, url_of("f"), "198.51.100.7:1".parse().unwrap());
    let coordinator = [at].into();
    Some(match command {
        C::Serve { .. } => C::Source { at, slots: 3 },
        C::Source { .. } => C::Want { file, url, coordinator, sha256: Some(Hash([0xfe; 32])) },
        C::Want { .. } => C::Offer { file, url, coordinator },
        C::Offer { .. } => C::Leave { file },
        C::Leave { .. } => return None,
    })
}

/// The same for the host's answers for swarms.
fn next_swarm_input(input: &swarm::Input) -> Option<swarm::Input> {
    use swarm::Input as I;
    let (file, why) = (FILE, StoreError::Changed);
    Some(match input {
        I::Hashed { ask, .. } => I::HashFailed { ask: *ask, why },
        I::HashFailed { .. } => I::Completed { file },
        I::Completed { .. } => I::CompleteFailed { file, why },
        I::CompleteFailed { .. } => {
            let row = swarm_restored().ledger.swap_remove(0);
            let accounts = [swarm::PartitionedAccount { swarm: FileKey(LARGE), row }].into();
            I::Accounts { accounts }
        }
        I::Accounts { .. } => return None,
    })
}

/// One command for downloads of every kind, each followed by the next: who adds
/// a kind must add it here, also in the functions below.
fn next_fetch_command(command: &FetchCommand) -> Option<FetchCommand> {
    use FetchCommand as C;
    let (fetch, servent, index) = (FetchId(1), Guid([3; 16]), FileIndex(2));
    Some(match command {
        C::Get(_) => C::Cancel { fetch },
        C::Cancel { .. } => C::AskNow { fetch },
        C::AskNow { .. } => C::Sleep { fetch, length: Duration::from_secs(1) },
        C::Sleep { .. } => C::ExpectGiv { fetch, servent, index },
        C::ExpectGiv { .. } => {
            let from = get().sources.swap_remove(0);
            C::Moved { fetch, to: Some(from.clone()), from }
        }
        C::Moved { .. } => C::Pause { fetch },
        C::Pause { .. } => C::Resume { fetch },
        C::Resume { .. } => C::Relink { fetch, sources: get().sources },
        C::Relink { .. } => return None,
    })
}

/// The same for what we serve.
fn next_http_command(command: &HttpCommand) -> Option<HttpCommand> {
    use HttpCommand as C;
    Some(match command {
        C::Giv { .. } => C::Slots { slots: 4 },
        C::Slots { .. } => C::Policy { policy: QueuePolicy::Adaptive },
        C::Policy { .. } => C::CheckAgain,
        C::CheckAgain => C::Hosts { hosts: alloc::vec!["files.example.org".into()] },
        C::Hosts { .. } => return None,
    })
}

/// The same for the overlay.
fn next_overlay_command(command: &OverlayCommand) -> Option<OverlayCommand> {
    use OverlayCommand as C;
    let (at, servent) = ("198.51.100.7:1".parse().unwrap(), Guid([3; 16]));
    Some(match command {
        C::Join { .. } => C::Nearby { at },
        C::Nearby { .. } => C::Search { search: 1, words: "some words".into() },
        C::Search { .. } => C::EndSearch { search: 1 },
        C::EndSearch { .. } => {
            let (index, via, proxies) = (FileIndex(2), Some(at), [at].into());
            C::AskPush { servent, index, via, proxies }
        }
        C::AskPush { .. } => C::Meets { at, code: "some words".into() },
        C::Meets { .. } => C::RunsPlace { port: 6349 },
        C::RunsPlace { .. } => C::OtherPlace,
        C::OtherPlace => return None,
    })
}

/// The same for messages.
fn next_message_command(command: &MessageCommand) -> Option<MessageCommand> {
    use MessageCommand as C;
    let at = "198.51.100.7:1".parse().unwrap();
    Some(match command {
        C::Send { .. } => C::Taken { from: at, messages: 2, bytes: u64::MAX },
        C::Taken { .. } => C::Close { to: at },
        C::Close { .. } => C::Forget { peer: at, side: Side::Receiver },
        C::Forget { .. } => C::Abandon { to: at },
        C::Abandon { .. } => return None,
    })
}

/// The same for commands, whatever service they are for.
fn next_command(command: &NodeCommand) -> Option<NodeCommand> {
    let at = "198.51.100.7:1".parse().unwrap();
    let giv = || HttpCommand::Giv { to: at, index: FileIndex(2) };
    let send = || {
        let message = UnicastMessage {
            order: DeliveryOrder::AtOnce,
            data: UnicastPayload::from_static(b"\x00\xff"),
        };
        MessageCommand::Send { to: at, messages: [message].into() }
    };
    let visit = || {
        MeetCommand::Visit(Visit {
            places: [at].into(),
            probes: [].into(),
            meeting: MeetingId([0xab; 16]),
            key: MeetKey(u64::MAX, 1),
            side: MeetSide::Listener,
            local: ["[2001:db8::1]:6348".parse().unwrap()].into(),
            once: false,
        })
    };
    let serve = || {
        let (url, hashes) = (url_of("f"), [Hash([1; 32]), Hash([0xab; 32])].into());
        let spec = FileSpec { url, size: LARGE, chunk: 1 << 52, hashes, sha256: None };
        swarm::SwarmCommand::Serve { file: FILE, spec }
    };
    Some(match command {
        NodeCommand::Fetch(of) => {
            next_fetch_command(of).map_or_else(|| NodeCommand::Http(giv()), NodeCommand::Fetch)
        }
        NodeCommand::Http(of) => next_http_command(of)
            .map_or(NodeCommand::Overlay(OverlayCommand::Join { at }), NodeCommand::Http),
        NodeCommand::Overlay(of) => next_overlay_command(of)
            .map_or_else(|| NodeCommand::Messages(send()), NodeCommand::Overlay),
        NodeCommand::Messages(of) => next_message_command(of)
            .map_or_else(|| NodeCommand::Meet(visit()), NodeCommand::Messages),
        NodeCommand::Meet(MeetCommand::Visit(_)) => NodeCommand::Meet(MeetCommand::End),
        NodeCommand::Meet(MeetCommand::End) => {
            NodeCommand::Meet(MeetCommand::Greet { to: ([10, 0, 0, 1], 6_350).into(), nonce: 7 })
        }
        NodeCommand::Meet(MeetCommand::Greet { .. }) => {
            NodeCommand::Meet(MeetCommand::Lost { at: ([10, 0, 0, 1], 6_350).into() })
        }
        NodeCommand::Meet(MeetCommand::Lost { .. }) => NodeCommand::Meet(MeetCommand::Close),
        NodeCommand::Meet(MeetCommand::Close) => NodeCommand::Meet(MeetCommand::Finish),
        NodeCommand::Meet(MeetCommand::Finish) => NodeCommand::Swarm(serve()),
        NodeCommand::Swarm(of) => {
            next_swarm_command(of).map_or(NodeCommand::Listening { at }, NodeCommand::Swarm)
        }
        NodeCommand::Listening { .. } => NodeCommand::Woke { slept: Duration::from_secs(90) },
        NodeCommand::Woke { .. } => NodeCommand::Wall { at: Instant::from_secs(90) },
        NodeCommand::Wall { .. } => NodeCommand::Stop,
        NodeCommand::Stop => return None,
    })
}

/// The same for what happens on a connection.
fn next_conn_input(input: &ConnInput) -> Option<ConnInput> {
    use ConnInput as I;
    let at = "198.51.100.7:1".parse().unwrap();
    Some(match input {
        I::Accepted { .. } => I::Dialed { local: at },
        I::Dialed { .. } => I::DialFailed { why: DialError::Refused },
        I::DialFailed { .. } => I::Bytes { data: (0..=255).collect() },
        I::Bytes { .. } => I::Closed,
        I::Closed => I::Backlog { bytes: LARGE },
        I::Backlog { .. } => I::Served { bytes: u64::MAX },
        I::Served { .. } => I::Stored { bytes: 0 },
        I::Stored { .. } => I::BodyEnded { unread: (0..=255).collect() },
        I::BodyEnded { .. } => I::DiskFailed { why: StoreError::Full },
        I::DiskFailed { .. } => I::Authenticated { good: true },
        I::Authenticated { .. } => I::Committed { name: "a \"name\"\n".into() },
        I::Committed { .. } => I::Retracted { several: true },
        I::Retracted { .. } => return None,
    })
}

/// The same for inputs.
fn next_input(input: &Input) -> Option<Input> {
    let (conn, fetch, why) = (ConnId(LARGE), FetchId(1), StoreError::Full);
    let (at, data) = ("198.51.100.7:1".parse().unwrap(), UnicastPayload::from_static(b"\xf0\x0f"));
    let datagrams = || MessageInput::Datagrams { from: at, segment: 2, data };
    Some(match input {
        Input::Start(_) => {
            Input::Connection(conn, ConnInput::Accepted { peer: at, local: Some(at) })
        }
        Input::Connection(_, of) => match next_conn_input(of) {
            Some(next) => Input::Connection(conn, next),
            None => Input::Disk(DiskInput::Shared(file())),
        },
        Input::Disk(of) => Input::Disk(match of {
            DiskInput::Shared(_) => DiskInput::Unshared { index: FileIndex(3) },
            DiskInput::Unshared { .. } => {
                DiskInput::Inbox { held: Some(InboxUsage { files: 3, bytes: LARGE }) }
            }
            DiskInput::Inbox { .. } => {
                return Some(Input::Fetch(FetchInput::VerifyFailed { fetch, why }));
            }
        }),
        Input::Fetch(of) => Input::Fetch(match of {
            FetchInput::VerifyFailed { .. } => {
                FetchInput::Verified { fetch, sha1: Some(Sha1([0xfe; 20])) }
            }
            FetchInput::Verified { .. } => {
                FetchInput::Hashed { fetch, start: LARGE, tth: Some(Tth([0xcd; 24])) }
            }
            FetchInput::Hashed { .. } => return Some(Input::Messages(datagrams())),
        }),
        Input::Messages(MessageInput::Datagrams { .. }) => Input::Messages(MessageInput::Flush),
        Input::Messages(MessageInput::Flush) => {
            let news = PathNews::TooLarge { to: at, bytes: 1_400 };
            Input::Messages(MessageInput::Path(news))
        }
        Input::Messages(MessageInput::Path(_)) => Input::Site(SiteInput::StoreUnavailable),
        Input::Site(of) => Input::Site(match of {
            SiteInput::StoreUnavailable => SiteInput::StoreAvailable,
            SiteInput::StoreAvailable => {
                SiteInput::Divided { leaders: [Leader::Us, Leader::At(at)].into() }
            }
            SiteInput::Divided { .. } => SiteInput::Leads {
                parts: [Partition(0), Partition(63)].into(),
                queue: restored().queue,
            },
            SiteInput::Leads { .. } => {
                let get = NodeCommand::Fetch(FetchCommand::Get(get()));
                return Some(Input::Command(get));
            }
        }),
        Input::Command(of) => match next_command(of) {
            Some(next) => Input::Command(next),
            None => Input::Swarm(swarm::Input::Hashed { ask: u32::MAX, sha256: Hash([0xcd; 32]) }),
        },
        Input::Swarm(of) => return next_swarm_input(of).map(Input::Swarm),
    })
}

#[test]
fn every_input_comes_back_from_its_line() {
    let at = Instant::from_micros(LARGE);
    let start = Start::new(NodeId(3), "a \"name\"", u64::MAX, Config::default());
    let mut lines = Vec::new();
    let mut writer = RecordingLog::new(at, start.clone(), &mut lines);
    assert_eq!(qlog::parse(lines[0].as_bytes()), Ok(RecordingLine::Header));
    assert_eq!(qlog::parse(lines[1].as_bytes()), Ok(RecordingLine::Start(start)));

    let dials = [DialError::TimedOut, DialError::Unreachable, DialError::NoDescriptor];
    let stores = [StoreError::Denied, StoreError::Changed, StoreError::Failed];
    let conn = ConnId(1);
    let inputs = successors(Some(Input::Start(restored())), next_input)
        .chain(dials.map(|why| Input::Connection(conn, ConnInput::DialFailed { why })))
        .chain(stores.map(|why| Input::Connection(conn, ConnInput::DiskFailed { why })));
    for input in inputs {
        lines.clear();
        writer.input(at, &input, &mut lines);
        let line = &lines[0];
        assert_eq!(qlog::parse(line.as_bytes()), Ok(RecordingLine::Input { at, input }), "{line}");
    }
}

#[test]
fn every_other_line_comes_back() {
    let at = Instant::from_micros(u64::MAX);
    let mut lines = Vec::new();
    let start = Start::new(NodeId(0), "", 0, Config::default());
    let mut writer = RecordingLog::new(Instant::ZERO, start, &mut Vec::new());
    writer.timeout(at, &mut lines);
    writer.gap(at, "disk \"full\"", &mut lines);
    writer.checkpoint(at, &mut lines);
    let read: Vec<_> = lines.iter().map(|line| qlog::parse(line.as_bytes()).unwrap()).collect();
    let digest = RunningDigest::default().value();
    assert_eq!(
        read,
        [
            RecordingLine::Timeout { at },
            RecordingLine::Gap { at, why: String::from("disk \"full\"") },
            RecordingLine::Checkpoint(Checkpoint { at, inputs: 0, records: 0, digest }),
        ]
    );
}

#[test]
fn what_is_unknown_beside_a_value_is_skipped_and_what_is_missing_is_named() {
    let line = |data: &str| {
        let line = alloc::format!(r#"{{"name":"servent:input","later":[1.5],"data":{data}}}"#);
        qlog::parse(line.as_bytes())
    };
    let at = Instant::from_micros(5);
    let known =
        line(r#"{"us":5,"later":{},"input":{"connection":[2,{"backlog":{"bytes":1,"later":1}}]}}"#);
    assert_eq!(
        known,
        Ok(RecordingLine::Input {
            at,
            input: Input::Connection(ConnId(2), ConnInput::Backlog { bytes: 1 })
        })
    );
    for (data, what) in [
        (r#"{"us":5}"#, "missing field `input`"),
        (r#"{"us":5,"input":{"connection":[2]}}"#, "invalid length 1"),
        (r#"{"us":5,"input":{"connection":[2,{"backlog":{}}]}}"#, "missing field `bytes`"),
        (r#"{"us":5,"input":{"dance":{}}}"#, "unknown variant `dance`"),
        (r#"{"us":-5,"input":{"connection":[2,"closed"]}}"#, "invalid value: integer `-5`"),
        (r#"{"us":5,"input":{"connection":[2,{"bytes":{"data":"0g"}}]}}"#, "invalid symbol at 1"),
    ] {
        let why = line(data).unwrap_err().to_string();
        assert!(why.contains(what), "{data}: {why}");
        assert!(why.contains("`servent:input`"), "{why}");
    }
}

#[test]
fn nesting_without_end_and_huge_numbers_are_refused_at_little_cost() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let depth = 100_000;
        let deep = alloc::format!("{}1{}", open.repeat(depth), close.repeat(depth));
        let line = alloc::format!(r#"{{"name":"servent:input","data":{{"us":5,"later":{deep}}}}}"#);
        assert!(qlog::parse(line.as_bytes()).is_err());
    }
    let huge = r#"{"name":"servent:input","data":{"us":18446744073709551616,"input":{"connection":[2,"closed"]}}}"#;
    assert!(qlog::parse(huge.as_bytes()).is_err());
}
