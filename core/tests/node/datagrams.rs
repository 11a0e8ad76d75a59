//! A node's messages over datagrams: what the service makes of batches, what
//! two nodes tell each other over a bad link, and that a recording of it is the
//! same run again.

use std::collections::VecDeque;
use std::net::SocketAddr;

use servent_core::engine::{Effect, Engine, Fx};
use servent_core::node::{
    Config, ConnEvent, Input, MessageCommand, MessageInput, MessageOutput, Node, NodeAnswer,
    NodeCommand, Output, RestoredNode, ServiceName, UnicastMessage,
};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::trace::qlog;
use servent_core::trace::replay::Replay;
use servent_core::trace::tape::{RecordingLine, RecordingLog, Start};
use servent_core::trace::{Event, NodeId};
use servent_core::unicast::{self, DeliveryOrder, MessageRefusal, Side, UnicastPayload};
use servent_core::wire::unicast::PacketError;

const SEED: u64 = 11;

fn at(n: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, n], 7_000))
}

fn config(unicast: unicast::Config) -> Config {
    Config { datagrams: Some(unicast), ..Config::default() }
}

fn message(data: impl Into<UnicastPayload>) -> UnicastMessage {
    UnicastMessage { order: DeliveryOrder::InOrder, data: data.into() }
}

/// A node, its recording, and what it has asked for.
struct Host {
    at: SocketAddr,
    node: Node,
    writer: RecordingLog,
    lines: Vec<String>,
    outputs: Vec<Output>,
    events: Vec<Event>,
}

impl Host {
    fn new(n: u8, config: Config) -> Self {
        let now = Instant::from_secs(100);
        let start = Start::new(NodeId(0), "one", SEED + u64::from(n), config.clone());
        let mut lines = Vec::new();
        let mut host = Self {
            at: at(n),
            node: Node::new(config, SEED + u64::from(n)),
            writer: RecordingLog::new(now, start, &mut lines),
            lines,
            outputs: Vec::new(),
            events: Vec::new(),
        };
        host.give(now, Input::Start(RestoredNode::default()));
        host.outputs.clear();
        host
    }

    fn give(&mut self, now: Instant, input: Input) {
        let mut fx = Fx::new();
        self.writer.input(now, &input, &mut self.lines);
        self.node.handle(now, input, &mut fx);
        self.said(now, fx);
    }

    fn timers(&mut self, now: Instant) {
        while self.node.poll_timeout().is_some_and(|(at, _)| at <= now) {
            let mut fx = Fx::new();
            self.writer.timeout(now, &mut self.lines);
            self.node.handle_timeout(now, &mut fx);
            self.said(now, fx);
        }
    }

    fn said(&mut self, now: Instant, mut fx: Fx<Output, Event>) {
        self.writer.effects(now, fx.as_slice(), &mut self.lines);
        for effect in fx.drain() {
            match effect {
                Effect::Output(output) => self.outputs.push(output),
                Effect::Event(event) => self.events.push(event),
            }
        }
    }

    fn send(&mut self, now: Instant, to: SocketAddr, messages: Vec<UnicastMessage>) {
        self.give(
            now,
            Input::Command(NodeCommand::Messages(MessageCommand::Send { to, messages })),
        );
    }

    /// The recording, ended, run again.
    fn replay(mut self, now: Instant) -> Replay {
        self.writer.checkpoint(now, &mut self.lines);
        let mut replay = Replay::new();
        for line in &self.lines {
            replay.feed(qlog::parse(line.as_bytes()));
        }
        replay
    }
}

#[test]
fn what_leaves_in_a_row_to_one_peer_is_one_piece_cut_in_equal_lengths() {
    let now = Instant::from_secs(101);
    let (initial_flight, congestion) = (1 << 20, unicast::Congestion::None);
    let unicast = unicast::Config { mtu: 1_000, initial_flight, congestion, ..Default::default() };
    let mut host = Host::new(1, config(unicast));
    let messages: Vec<_> = (0..40_u8).map(|n| message(vec![n; 900])).collect();
    host.send(now, at(2), messages);
    host.give(now, Input::Messages(MessageInput::Flush));
    let mut datagrams = 0;
    let outputs = host.outputs.len();
    for output in host.outputs {
        let Output::Messages(MessageOutput::Datagrams { to, segment, data }) = output else {
            panic!("{output:?}")
        };
        assert_eq!(to, at(2));
        assert!(segment <= 1_000 && data.len() <= 65_000);
        datagrams += data.len().div_ceil(segment as usize);
    }
    assert_eq!(datagrams, 40, "each message fills a datagram");
    assert!(outputs <= 5, "{outputs} pieces");
}

#[test]
fn a_message_there_is_no_room_for_comes_back_with_all_behind_it() {
    let now = Instant::from_secs(101);
    let unicast = unicast::Config { send_messages: 10, ..Default::default() };
    let mut host = Host::new(1, config(unicast));
    let messages: Vec<_> = (0..14_u8).map(|n| message(vec![n; 9])).collect();
    host.send(now, at(2), messages.clone());
    let refused = host.outputs.iter().find_map(|output| match output {
        Output::Messages(MessageOutput::Refused { to, messages, why }) => {
            Some((*to, messages.clone(), *why))
        }
        _ => None,
    });
    assert_eq!(refused, Some((at(2), messages[10..].to_vec(), MessageRefusal::Full)));

    let long = unicast::Config::default().max_message as usize + 1;
    let two = vec![message(vec![0; long]), message("after it")];
    host.outputs.clear();
    host.send(now, at(3), two.clone());
    let refused = Output::Messages(MessageOutput::Refused {
        to: at(3),
        messages: two,
        why: MessageRefusal::TooLong,
    });
    assert_eq!(host.outputs, [refused]);
}

#[test]
fn a_datagram_that_is_none_of_ours_is_an_event_and_harms_no_other() {
    let now = Instant::from_secs(101);
    let (mut one, mut two) =
        (Host::new(1, config(Default::default())), Host::new(2, config(Default::default())));
    one.send(now, two.at, vec![message("hello")]);
    one.give(now, Input::Messages(MessageInput::Flush));
    let [Output::Messages(MessageOutput::Datagrams { segment, data, .. })] = &one.outputs[..]
    else {
        panic!("{:?}", one.outputs)
    };
    let mut batch = vec![0xff; *segment as usize];
    batch.extend_from_slice(data);
    batch.push(0xff);
    let input = Input::Messages(MessageInput::Datagrams {
        from: one.at,
        segment: *segment,
        data: batch.into(),
    });
    two.give(now, input);
    let garbled: Vec<_> = two
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Conn(ConnEvent::Garbled { from, bytes, why }) => Some((*from, *bytes, *why)),
            _ => None,
        })
        .collect();
    let version = PacketError::Version(7);
    assert_eq!(garbled, [(one.at, *segment, version), (one.at, 1, version)]);
    let delivered = two.outputs.iter().any(
        |output| matches!(output, Output::Messages(MessageOutput::Deliver { messages, .. }) if messages[0].data == "hello"),
    );
    assert!(delivered, "{:?}", two.outputs);
}

#[test]
fn a_node_without_the_service_hears_no_datagrams() {
    let now = Instant::from_secs(101);
    let mut host = Host::new(1, Config::default());
    let data = UnicastPayload::from_static(b"anything");
    host.give(now, Input::Messages(MessageInput::Datagrams { from: at(2), segment: 8, data }));
    host.give(now, Input::Messages(MessageInput::Flush));
    assert_eq!(host.outputs, []);
    host.send(now, at(2), vec![message("hello")]);
    let off = NodeAnswer::Off { service: ServiceName::Datagrams };
    assert_eq!(host.outputs, [Output::Answer(off)], "and says so to the user who wants some sent");
    assert!(host.node.datagrams().is_none());
}

/// What two nodes tell each other over a link that loses one in ten.
#[test]
fn two_nodes_talk_over_a_bad_link_and_both_tapes_are_the_same_run_again() {
    let unicast =
        unicast::Config { mtu: 600, recv_bytes: 16_000, max_message: 8_000, ..Default::default() };
    let mut hosts = [Host::new(1, config(unicast.clone())), Host::new(2, config(unicast))];
    let mut now = Instant::from_secs(101);
    let mut dice = Rng::new(5);
    let wanted: [Vec<UnicastPayload>; 2] = [3, 4].map(|seed| {
        let mut dice = Rng::new(seed);
        (0..150).map(|n| vec![n as u8; dice.below(700) as usize + 1].into()).collect()
    });
    for (n, messages) in wanted.iter().enumerate() {
        let to = hosts[1 - n].at;
        hosts[n].send(now, to, messages.iter().cloned().map(message).collect());
    }
    let mut got: [Vec<UnicastPayload>; 2] = Default::default();
    let mut link: VecDeque<(Instant, usize, Input)> = VecDeque::new();
    for _ in 0..200_000 {
        for n in 0..2 {
            hosts[n].timers(now);
            hosts[n].give(now, Input::Messages(MessageInput::Flush));
            for output in std::mem::take(&mut hosts[n].outputs) {
                carry(&mut hosts[n], now, output, &mut got[1 - n], (&mut link, &mut dice));
            }
        }
        if got == wanted {
            break;
        }
        let due = hosts.iter().filter_map(|host| host.node.poll_timeout().map(|(at, _)| at));
        let next = due.chain(link.front().map(|(due, ..)| *due)).min();
        now = next.expect("nothing is done while messages are missing").max(now);
        while let Some((_, to, input)) = link.pop_front_if(|(due, ..)| *due <= now) {
            hosts[to].give(now, input);
        }
    }
    assert_eq!(got[0].len(), wanted[0].len());
    assert!(got == wanted);
    for host in hosts {
        assert!(
            host.events
                .iter()
                .any(|event| matches!(event, Event::Unicast(unicast::Event::Resent { .. })))
        );
        let replay = host.replay(now);
        let report = replay.report();
        assert!(report.verified > 2 && report.verified == report.checkpoints, "{report}");
        assert_eq!((report.damaged, report.unverified_inputs, report.gap_at), (0, 0, None));
    }
}

fn carry(
    host: &mut Host,
    now: Instant,
    output: Output,
    got: &mut Vec<UnicastPayload>,
    (link, dice): (&mut VecDeque<(Instant, usize, Input)>, &mut Rng),
) {
    let n = usize::from(host.at == at(2));
    match output {
        Output::Messages(MessageOutput::Datagrams { segment, data, .. }) => {
            for begin in (0..data.len()).step_by(segment as usize) {
                let end = data.len().min(begin + segment as usize);
                if !dice.chance(1, 10) {
                    let data = data.slice(begin..end);
                    let input =
                        Input::Messages(MessageInput::Datagrams { from: host.at, segment, data });
                    link.push_back((now + Duration::from_millis(3), 1 - n, input));
                }
            }
        }
        Output::Messages(MessageOutput::Deliver { from, messages, .. }) => {
            let bytes = messages.iter().map(|message| message.data.len() as u64).sum();
            let taken = NodeCommand::Messages(MessageCommand::Taken {
                from,
                messages: messages.len() as u64,
                bytes,
            });
            got.extend(messages.into_iter().map(|message| message.data));
            host.give(now, Input::Command(taken));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_input_of_the_service_comes_back_from_its_line() {
    let [to, from, peer] = [at(1), "[::1]:7".parse().unwrap(), at(3)];
    let data = UnicastPayload::from_static(b"\x00\xff");
    let messages = vec![
        UnicastMessage { order: DeliveryOrder::AtOnce, data: data.clone() },
        UnicastMessage { order: DeliveryOrder::InOrder, data: UnicastPayload::new() },
    ];
    let mut lines = Vec::new();
    let start = Start::new(NodeId(0), "one", SEED, config(Default::default()));
    let mut writer = RecordingLog::new(Instant::ZERO, start.clone(), &mut lines);
    let inputs = [
        Input::Messages(MessageInput::Datagrams { from, segment: 2, data }),
        Input::Messages(MessageInput::Flush),
        Input::Command(NodeCommand::Messages(MessageCommand::Send { to, messages })),
        Input::Command(NodeCommand::Messages(MessageCommand::Taken {
            from,
            messages: 2,
            bytes: u64::MAX,
        })),
        Input::Command(NodeCommand::Messages(MessageCommand::Close { to })),
        Input::Command(NodeCommand::Messages(MessageCommand::Forget {
            peer,
            side: Side::Receiver,
        })),
    ];
    for input in &inputs {
        writer.input(Instant::ZERO, input, &mut lines);
    }
    assert_eq!(qlog::parse(lines[1].as_bytes()), Ok(RecordingLine::Start(start)));
    for (line, input) in lines[2..].iter().zip(inputs) {
        let read = qlog::parse(line.as_bytes());
        assert_eq!(read, Ok(RecordingLine::Input { at: Instant::ZERO, input }), "{line}");
    }
}
