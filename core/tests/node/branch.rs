//! What if: a recording with one input changed. What is not changed stays as it was,
//! to the last record.

use std::net::SocketAddr;

use servent_core::engine::{Effect, Engine, Fx};
use servent_core::id::ConnId;
use servent_core::node::{
    Config, ConnInput, Input, MessageCommand, MessageInput, MessageOutput, Node, NodeCommand,
    Output, RestoredNode, UnicastMessage,
};
use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;
use servent_core::trace::again::Again;
use servent_core::trace::branch::{BranchPoint, InputChange, altered};
use servent_core::trace::player::Player;
use servent_core::trace::qlog;
use servent_core::trace::tape::{RecordingLog, Start};
use servent_core::unicast::{self, DeliveryOrder, Side};

/// A timer of a real servent runs a little late.
const LATE: Duration = Duration::from_millis(2);

/// A node that is recorded.
struct Host {
    node: Node,
    writer: RecordingLog,
    lines: Vec<String>,
    now: Instant,
}

impl Host {
    fn new(config: Config) -> Self {
        let now = Instant::from_secs(1_700_000_000);
        let start = Start::new(NodeId(0), "alpha", 7, config.clone());
        let mut lines = Vec::new();
        let writer = RecordingLog::new(now, start, &mut lines);
        let mut host = Self { node: Node::new(config, 7), writer, lines, now };
        host.give(Input::Start(RestoredNode::default()));
        host
    }

    fn give(&mut self, input: Input) -> Vec<Output> {
        let mut fx = Fx::new();
        self.writer.input(self.now, &input, &mut self.lines);
        self.node.handle(self.now, input, &mut fx);
        self.said(fx)
    }

    /// Time passes, and timers run late.
    fn wait(&mut self, millis: u64) -> Vec<Output> {
        let to = self.now + Duration::from_millis(millis);
        let mut outputs = Vec::new();
        while let Some((due, _)) = self.node.poll_timeout().filter(|(due, _)| *due + LATE < to) {
            self.now = self.now.max(due + LATE);
            let mut fx = Fx::new();
            self.writer.timeout(self.now, &mut self.lines);
            self.node.handle_timeout(self.now, &mut fx);
            outputs.extend(self.said(fx));
        }
        self.now = to;
        outputs
    }

    fn said(&mut self, mut fx: Fx<Output, servent_core::trace::Event>) -> Vec<Output> {
        self.writer.effects(self.now, fx.as_slice(), &mut self.lines);
        let output = |effect| match effect {
            Effect::Output(output) => Some(output),
            Effect::Event(_) => None,
        };
        fx.drain().filter_map(output).collect()
    }

    fn tape(mut self) -> Player {
        self.writer.checkpoint(self.now, &mut self.lines);
        let mut player = Player::new();
        self.lines.iter().for_each(|line| player.append(qlog::frame(line).as_bytes()));
        assert_eq!(player.report().diverged_at, None);
        player
    }
}

/// Forty clients ask one after the other for the same file of two slots.
fn crowd() -> Player {
    let mut host = Host::new(Config::default());
    for i in 0..40 {
        let conn = ConnId(2 * i);
        let peer = SocketAddr::from(([10, 0, 0, i as u8], 4_000));
        host.give(Input::Connection(conn, ConnInput::Accepted { peer, local: None }));
        let head = format!("GET /get/1/a HTTP/1.1\r\nX-N: {i}\r\n\r\n");
        host.give(Input::Connection(conn, ConnInput::Bytes { data: head.into_bytes() }));
        host.wait(700 + 90 * i);
    }
    host.tape()
}

/// Two hosts that send each other messages, each in a datagram of its own.
struct MessagePair {
    hosts: [Host; 2],
    addresses: [SocketAddr; 2],
}

impl MessagePair {
    fn new(trace_messages: bool) -> Self {
        let config = unicast::Config { mtu: 600, trace_messages, ..Default::default() };
        let host = || Host::new(Config { datagrams: Some(config.clone()), ..Config::default() });
        let addresses = [1, 2].map(|n| SocketAddr::from(([10, 0, 0, n], 7_000)));
        Self { hosts: [host(), host()], addresses }
    }

    /// The first host has one more message.
    fn say(&mut self, n: u8) -> Vec<Output> {
        let message = UnicastMessage { order: DeliveryOrder::InOrder, data: vec![n; 500].into() };
        let (to, messages) = (self.addresses[1], [message].into());
        let send = MessageCommand::Send { to, messages };
        self.hosts[0].give(Input::Command(NodeCommand::Messages(send)))
    }

    /// One host's turn ends, and the other receives its datagrams: what that one says.
    fn pass(&mut self, here: usize, mut said: Vec<Output>) -> Vec<Output> {
        said.extend(self.hosts[here].give(Input::Messages(MessageInput::Flush)));
        said.extend(self.hosts[here].wait(5));
        let (from, there) = (self.addresses[here], &mut self.hosts[1 - here]);
        let mut heard = Vec::new();
        for output in said {
            let Output::Messages(MessageOutput::Datagrams { segment, data, .. }) = output else {
                continue;
            };
            let input = MessageInput::Datagrams { from, segment, data };
            heard.extend(there.give(Input::Messages(input)));
        }
        heard
    }
}

/// What one end receives of twenty messages, which it answers nothing to.
fn messages() -> Player {
    let mut pair = MessagePair::new(true);
    for n in 0..20 {
        let said = pair.say(n);
        pair.pass(0, said);
        pair.hosts[1].give(Input::Messages(MessageInput::Flush));
        pair.hosts[1].wait(7);
    }
    let [_, mut two] = pair.hosts;
    two.wait(200);
    two.tape()
}

/// What one end sends of sixty messages, and hears of them.
fn sending(trace_messages: bool) -> Player {
    let MessagePair { hosts, addresses } = {
        let mut pair = MessagePair::new(trace_messages);
        for n in 0..60 {
            let mut said = pair.say(n);
            for turn in 0..4 {
                said = pair.pass(turn % 2, said);
            }
        }
        pair
    };
    let [mut one, _] = hosts;
    let forget = MessageCommand::Forget { peer: addresses[1], side: Side::Sender };
    one.give(Input::Command(NodeCommand::Messages(forget)));
    one.tape()
}

fn records(player: &Player) -> Vec<(Instant, String)> {
    let all = (0..).map_while(|i| player.record(i));
    all.map(|record| (record.at, record.event.to_string())).collect()
}

fn places(player: &Player, is: impl Fn(&Input) -> bool) -> Vec<usize> {
    let all = (0..).map_while(|i| player.given(i).map(|(_, input)| (i, input)));
    all.filter(|(_, input)| input.is_some_and(&is)).map(|(i, _)| i).collect()
}

#[test]
fn a_recording_that_is_re_executed_numbers_its_events_as_its_records_are() {
    for tape in [crowd(), messages(), sending(false), sending(true)] {
        let (recorded, mut found) = (records(&tape), 0);
        let mut again = Again::new(tape.start().unwrap());
        again.go_on(&tape, |step| {
            for (record, event) in step.events() {
                let recorded = recorded.get(record as usize);
                let recorded = recorded.and_then(|(_, text)| serde_json::from_str(text).ok());
                found += usize::from(recorded.as_ref() == Some(event));
            }
        });
        assert!(found > 2);
        assert_eq!(found, recorded.len());
    }
}

#[test]
fn what_is_not_changed_happens_as_it_did() {
    for tape in [crowd(), messages()] {
        let wanted = records(&tape);
        let all = places(&tape, |input| {
            matches!(
                input,
                Input::Connection(_, ConnInput::Accepted { .. } | ConnInput::Bytes { .. })
                    | Input::Messages(MessageInput::Datagrams { .. })
            )
        });
        assert!(all.len() >= 10 && wanted.len() >= 20, "{} of {}", all.len(), wanted.len());
        for input in all {
            let again =
                altered(&tape, BranchPoint::at_input(input), InputChange::Delay(Duration::ZERO))
                    .unwrap();
            assert_eq!(records(&again), wanted, "input {input}");
            let report = again.report();
            assert!(report.checkpoints > 0 && report.verified == report.checkpoints, "{report}");
        }
    }
}

#[test]
fn a_client_that_never_came_or_went_is_missing_from_then_on() {
    let tape = crowd();
    let accepted =
        places(&tape, |input| matches!(input, Input::Connection(_, ConnInput::Accepted { .. })));
    let asked =
        places(&tape, |input| matches!(input, Input::Connection(_, ConnInput::Bytes { .. })));
    let conn = |wanted: u64| format!("\"conn\":{wanted},");
    for n in [0, 3, 17] {
        let (at, _) = tape.given(accepted[n]).unwrap();
        let before: Vec<_> = records(&tape).into_iter().filter(|(when, _)| *when < at).collect();
        let never = altered(&tape, BranchPoint::at_input(accepted[n]), InputChange::Lose).unwrap();
        let told = records(&never);
        assert_eq!(told[..before.len()], before);
        assert!(told.iter().all(|(_, event)| !event.contains(&conn(2 * n as u64))), "{told:?}");
        let broken = altered(&tape, BranchPoint::at_input(asked[n]), InputChange::Lose).unwrap();
        let told = records(&broken);
        assert!(told.iter().any(|(_, event)| event.contains("closed")), "{told:?}");
        assert_eq!(told[..before.len()], before);
        let place = BranchPoint::at_input(accepted[n]);
        assert!(altered(&tape, place, InputChange::Twice(LATE)).is_none(), "no peer comes twice");
    }
    assert!(altered(&tape, BranchPoint::at_input(0), InputChange::Lose).is_none(), "it did start");
}

#[test]
fn a_datagram_that_was_lost_is_missed_and_one_that_is_late_fills_its_gap() {
    let tape = messages();
    let came =
        places(&tape, |input| matches!(input, Input::Messages(MessageInput::Datagrams { .. })));
    let delivered = |player: &Player| {
        let node = player.clone();
        let mut at_end = node;
        at_end.seek(at_end.frontier());
        let endpoint = at_end.node().and_then(Node::datagrams).unwrap();
        let view = servent_core::unicast::Endpoint::view(endpoint);
        format!("{view:?}")
    };
    let place = BranchPoint::at_input(came[4]);
    let whole = delivered(&tape);
    let lost = altered(&tape, place, InputChange::Lose).unwrap();
    assert_ne!(delivered(&lost), whole);
    assert_ne!(records(&lost), records(&tape));
    let late = altered(&tape, place, InputChange::Delay(Duration::from_millis(30))).unwrap();
    assert!(records(&late) != records(&tape) && records(&late) != records(&lost));
    let twice = altered(&tape, place, InputChange::Twice(Duration::from_millis(1))).unwrap();
    assert!(twice.report().inputs > tape.report().inputs);
    let none = BranchPoint { datagram: 9, ..place };
    assert!(altered(&tape, none, InputChange::Lose).is_none(), "there is only one in it");
}
