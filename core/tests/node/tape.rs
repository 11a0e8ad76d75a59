//! The recording: what is written can be read, and a replay notices every way in
//! which it is not the same run.

use servent_core::engine::{Effect, Engine, Fx};
use servent_core::id::{ConnId, FetchId, FileIndex, Guid};
use servent_core::node::{
    Config, ConnEvent, ConnInput, FetchCommand, FileInfo, Input, Minor, Node, NodeCommand, Output,
    RestoredNode, RunBit,
};
use servent_core::queue::FileKey;
use servent_core::time::{Duration, Instant};
use servent_core::trace::player::Player;
use servent_core::trace::qlog::{self, Split};
use servent_core::trace::replay::{LineDifference, LineFault, Replay};
use servent_core::trace::tape::{RecordingLine, RecordingLog, Start};
use servent_core::trace::{Event, NodeId, Record};
use servent_core::unicast::UnicastConnId;
use servent_core::wire::gnutella::MessageKind;
use servent_core::{fetch, queue, routing, swarm, unicast};

fn secs(s: u64) -> Instant {
    Instant::from_secs(1_700_000_000 + s)
}

fn inputs(n: u64) -> Vec<Input> {
    let mut list = vec![Input::Start(RestoredNode::default())];
    for i in 0..n {
        let conn = ConnId(2 * i);
        list.push(Input::Connection(
            conn,
            ConnInput::Accepted { peer: "10.0.0.9:4000".parse().unwrap(), local: None },
        ));
        list.push(Input::Connection(
            conn,
            ConnInput::Bytes {
                data: format!("GET /get/1/a HTTP/1.1\r\nX-N: {i}\r\n\r\n").into_bytes(),
            },
        ));
    }
    list
}

/// A recording of a real node that is given these inputs, one a second.
fn tape(inputs: Vec<Input>) -> Vec<String> {
    let mut lines = Vec::new();
    let start = Start::new(NodeId(0), "alpha", 7, Config::default());
    let mut node = Node::new(Config::default(), 7);
    let mut writer = RecordingLog::new(secs(0), start, &mut lines);
    let mut fx = Fx::new();
    let mut last = secs(0);
    for (i, input) in inputs.into_iter().enumerate() {
        last = secs(i as u64);
        writer.input(last, &input, &mut lines);
        node.handle(last, input, &mut fx);
        writer.effects(last, fx.as_slice(), &mut lines);
        fx.drain().for_each(drop);
    }
    writer.checkpoint(last, &mut lines);
    lines
}

fn replay<'a>(lines: impl IntoIterator<Item = &'a String>) -> Replay {
    let mut replay = Replay::new();
    for line in lines {
        replay.feed(qlog::parse(line.as_bytes()));
    }
    replay
}

#[test]
fn a_whole_tape_is_verified() {
    let lines = tape(inputs(100));
    let report = replay(&lines).report().clone();
    assert_eq!((report.verified, report.checkpoints), (4, 4), "{report}");
    assert_eq!(report.inputs, 201);
    assert_eq!(report.diverged_at, None);
    assert!(report.to_string().starts_with("verified 4/4"), "{report}");
}

#[test]
fn a_doctored_checkpoint_is_a_divergence_between_two_instants() {
    let mut lines = tape(inputs(100));
    let second = lines.iter().enumerate().filter(|(_, l)| l.contains("servent:checkpoint"));
    let (at, line) = second.map(|(i, l)| (i, l.clone())).nth(1).unwrap();
    let digest = line.split(r#""digest":""#).nth(1).unwrap()[..16].to_string();
    lines[at] = line.replace(&digest, "00000000deadbeef");
    let report = replay(&lines).report().clone();
    assert_eq!(report.verified, 1);
    assert_eq!(report.diverged_at, Some(secs(127)));
    assert!(report.to_string().starts_with("diverged between"), "{report}");
}

#[test]
fn a_lost_input_is_noticed() {
    let mut lines = tape(inputs(100));
    let mut inputs = lines.iter().enumerate().filter(|(_, l)| l.contains("servent:input"));
    let (at, _) = inputs.nth(9).unwrap();
    lines.remove(at);
    assert!(replay(&lines).report().diverged_at.is_some());
}

/// The program, which reads typed records, and the page, which reads text.
fn differences(lines: &[String]) -> [Option<LineDifference>; 2] {
    let mut player = Player::new();
    lines.iter().for_each(|line| player.append(qlog::frame(line).as_bytes()));
    let reports = [replay(lines).report().clone(), player.report().clone()];
    reports.map(|report| {
        assert_eq!(report.is_sound(), report.differs.is_none(), "{report}");
        let named = |at: &LineDifference| report.to_string().contains(&format!("line {}", at.line));
        assert!(report.differs.as_ref().is_none_or(named), "{report}");
        report.differs
    })
}

#[test]
fn an_event_that_was_changed_removed_or_added_is_named_by_its_line() {
    let lines = tape(inputs(100));
    assert_eq!(differences(&lines), [None; 2]);
    let is_event = |line: &String| line.contains(r#""name":"conn:"#);
    let events: Vec<usize> = (0..lines.len()).filter(|i| is_event(&lines[*i])).collect();
    assert!(events.len() > 100);
    for &at in events.iter().step_by(17) {
        let said = |at: usize, fault| [Some(LineDifference { line: at as u64 + 1, fault }); 2];
        let mut less = lines.clone();
        less.remove(at);
        assert_eq!(differences(&less), said(at, LineFault::Missing), "line {at} is gone");
        let mut more = lines.clone();
        more.insert(at, lines[at].clone());
        let [found, _] = differences(&more);
        assert!(found.is_some_and(|it| it.fault != LineFault::Missing), "line {at} comes twice");
        let mut other = lines.clone();
        other[at] = other[at].replace("10.0.0.9", "10.0.0.8").replace("/get/1/a", "/get/2/a");
        if other[at] != lines[at] {
            assert_eq!(differences(&other), said(at, LineFault::Changed), "line {at} is another");
        }
    }
    let mut end = lines;
    end.push(end[events[0]].clone());
    let line = end.len() as u64;
    assert_eq!(differences(&end), [Some(LineDifference { line, fault: LineFault::Extra }); 2]);
}

#[test]
fn a_truncated_tape_is_verified_as_far_as_it_goes() {
    let file: String = tape(inputs(100)).iter().map(|l| qlog::frame(l)).collect();
    for cut in [file.len() - 1, file.len() - 40, file.len() / 2, 200, 3] {
        let mut replay = Replay::new();
        for line in Split::new(&file.as_bytes()[..cut]) {
            replay.feed(qlog::parse(line));
        }
        let report = replay.report();
        assert_eq!(report.diverged_at, None, "cut at {cut}: {report}");
        assert_eq!(report.damaged, 0);
        assert!(report.verified == report.checkpoints);
        let covered = given(&file[..cut]) - report.unverified_inputs;
        assert!(covered == 64 * report.verified, "cut at {cut}: {report}");
        let said = report.to_string().contains("after the last checkpoint unverified");
        assert_eq!(said, report.unverified_inputs > 0, "cut at {cut}: {report}");
    }
}

/// Inputs and timeouts in a part of a file, as far as their lines are whole.
fn given(file: &str) -> u64 {
    let whole = file.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let is_given = |line: &&str| line.contains("servent:input") || line.contains("servent:timeout");
    whole.lines().filter(is_given).count() as u64
}

#[test]
fn a_gap_ends_the_claim_and_is_told() {
    let mut lines = tape(inputs(100));
    let mut gap = Vec::new();
    let start = Start::new(NodeId(0), "alpha", 7, Config::default());
    RecordingLog::new(secs(0), start, &mut Vec::new()).gap(secs(90), "disk \"full\"", &mut gap);
    let middle = lines.len() / 2;
    lines.insert(middle, gap.remove(0));
    let report = replay(&lines).report().clone();
    assert_eq!(report.gap_at, Some(secs(90)));
    assert!(report.checkpoints < 4 && report.diverged_at.is_none());
    assert!(report.to_string().contains("disk \"full\""), "{report}");
    // What stands behind the gap is counted as what no checkpoint covers.
    assert_eq!(given(&lines.join("\n")) - report.unverified_inputs, 64 * report.verified);
    let unverified = format!(", {} inputs unverified, a gap at", report.unverified_inputs);
    assert!(report.to_string().contains(&unverified), "{report}");
}

#[test]
fn a_record_of_a_cut_tape_is_found_by_its_number() {
    let lines = tape(inputs(200));
    let of = |lines: &[String]| {
        let mut player = Player::new();
        lines.iter().for_each(|line| player.append(qlog::frame(line).as_bytes()));
        player
    };
    let whole = of(&lines);
    assert!(whole.count() > 20);
    assert!((0..whole.count()).all(|i| whole.index_of(i as u64) == Some(i)));
    let cut = of(&[&lines[..2], &lines[lines.len() / 2..]].concat());
    let first = cut.record(0).unwrap().seq;
    assert!(first > 0 && cut.index_of(first) == Some(0));
    assert_eq!((cut.index_of(first - 1), cut.index_of(first + 1)), (None, Some(1)));
    assert_eq!(cut.index_of(u64::MAX), None);
}

#[test]
fn a_damaged_line_ends_the_claim() {
    let mut lines = tape(inputs(100));
    let middle = lines.len() / 2;
    lines[middle] = "{\"name\":\"servent:input\",\"da".into();
    let report = replay(&lines).report().clone();
    assert_eq!((report.damaged, report.diverged_at), (1, None));
    assert!(report.gap_at.is_some());
    let all = given(&lines.join("\n"));
    let not_readable = u64::from(lines[middle].contains("servent:input"));
    assert_eq!(all - not_readable - report.unverified_inputs, 64 * report.verified);
    let said = "damaged: 1 line cannot be read; before that verified ";
    assert!(report.to_string().starts_with(said), "{report}");
}

/// The recording as a file, cut into its lines again.
fn through_a_file(lines: &[String]) -> Replay {
    let file: String = lines.iter().map(|line| qlog::frame(line)).collect();
    let mut replay = Replay::new();
    Split::new(file.as_bytes()).for_each(|line| replay.feed(qlog::parse(line)));
    replay
}

#[test]
fn a_servent_with_a_large_library_is_re_executed() {
    let shared = |n: u32| FileInfo {
        index: FileIndex(n),
        name: format!("{n:0>200}"),
        size: 1,
        sha1: None,
        key: FileKey(n.into()),
        modified: None,
        tree: None,
        run: RunBit(false),
    };
    let mut given = inputs(3);
    given[0] = Input::Start(RestoredNode {
        shared: (0..40_000).map(shared).collect(),
        ..RestoredNode::default()
    });
    let report = through_a_file(&tape(given)).report().clone();
    assert_eq!((report.inputs, report.damaged, report.diverged_at), (7, 0, None));
    assert_eq!(report.verified, report.checkpoints);
}

#[test]
fn a_line_too_long_to_be_read_ends_the_claim() {
    let mut lines = tape(inputs(3));
    let middle = lines.len() / 2;
    lines[middle] = "x".repeat(qlog::LINE_LIMIT + 1);
    let report = through_a_file(&lines).report().clone();
    assert_eq!((report.damaged, report.verified), (1, 0));
    assert!(report.gap_at.is_some());
}

#[test]
fn an_unknown_version_says_so() {
    let lines: Vec<String> = tape(inputs(1))
        .into_iter()
        .map(|l| l.replace(r#""version":3,"#, r#""version":9,"future":true,"#))
        .collect();
    let report = replay(&lines).report().clone();
    assert_eq!(report.unknown_version, Some(9));
    let said = report.to_string();
    assert!(said.contains("format version 9, and this program replays version 3"), "{said}");
}

#[test]
fn records_of_every_engine_come_back_as_they_were() {
    let ticket = Guid([0xab; 16]);
    let at: std::net::SocketAddr = "[2001:db8::1]:6346".parse().unwrap();
    let events = [
        Event::Conn(ConnEvent::Stopped),
        Event::Conn(ConnEvent::Request {
            conn: ConnId(4),
            method: "GET".into(),
            target: "/get/1/\"quoted\\name\"".into(),
            range: None,
            agent: Some("x\u{1f}y".into()),
            version: Minor(0),
        }),
        Event::Queue(queue::Event::Lost { ticket, why: queue::PositionLoss::TooEarly, length: 3 }),
        Event::Fetch(fetch::Event::Waiting {
            fetch: FetchId(1),
            at,
            why: fetch::SourceTrouble::Busy,
            ask_at: secs(9),
        }),
        Event::Unicast(unicast::Event::Delivered { peer: at, conn: UnicastConnId(7), number: 9 }),
        Event::World(servent_core::node::WorldEvent::Clock { offset: -5 }),
        Event::Routing(routing::Event::Judged {
            conn: ConnId(2),
            guid: ticket,
            kind: MessageKind::Query,
            ttl: 3,
            hops: 4,
            verdict: routing::RoutingVerdict::Forward { to: vec![ConnId(1), ConnId(6)] },
        }),
        Event::Swarm(swarm::Event::Left { client: ConnId(8) }),
        Event::Client(swarm::client::Event::Offline { retry: Duration::from_secs(4) }),
    ];
    for (seq, event) in events.into_iter().enumerate() {
        let cause = (seq > 2).then_some(1);
        let record = Record { seq: seq as u64, at: secs(5), node: NodeId(3), cause, event };
        let line = qlog::record(&record, secs(0));
        assert!(line.starts_with(r#"{"time":5000.000,"name":""#), "{line}");
        assert_eq!(qlog::parse(line.as_bytes()), Ok(RecordingLine::Record(record)), "{line}");
    }
}

#[test]
fn a_record_within_an_effect_list_is_caused_by_the_first_of_it() {
    let mut lines = Vec::new();
    let start = Start::new(NodeId(0), "alpha", 7, Config::default());
    let mut writer = RecordingLog::new(secs(0), start, &mut lines);
    let event = |e| Effect::<Output, Event>::Event(Event::Conn(e));
    let conn = ConnId(2);
    let cancel = Input::Command(NodeCommand::Fetch(FetchCommand::Cancel { fetch: FetchId(1) }));
    writer.input(secs(0), &cancel, &mut lines);
    let first = writer.effects(secs(0), &[event(ConnEvent::Dialed { conn })], &mut lines);
    assert_eq!(first[0].cause, None);
    writer.input(secs(1), &Input::Connection(conn, ConnInput::Served { bytes: 9 }), &mut lines);
    let effects = [event(ConnEvent::Sent { conn, bytes: 9 }), event(ConnEvent::Closed { conn })];
    let then = writer.effects(secs(1), &effects, &mut lines);
    assert_eq!(then.iter().map(|r| r.cause).collect::<Vec<_>>(), [Some(0), Some(1)]);
}
