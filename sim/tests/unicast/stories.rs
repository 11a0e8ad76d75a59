//! Told stories: what the reliable unicast has to survive (unicast §5), in a
//! world where everything goes through bytes and links.

use servent_core::time::{Duration, Instant};
use servent_core::trace::{NodeId, Record};
use servent_core::unicast::{ConnEnding, DeliveryOrder, Event as Unicast, Profile, Side};
use servent_sim::Oracle as _;
use servent_sim::unicast::check::UnicastOracles;
use servent_sim::unicast::{
    DatagramEvent, DatagramLink, DatagramLoss, Event, Label, MessagingEvent, Party, Scenario, Send,
    UnicastAction, UnicastActionAt,
};

use crate::presets::run;

const A: NodeId = NodeId(0);
const B: NodeId = NodeId(1);
const PROFILES: [Profile; 2] = [Profile::Unicast3, Profile::Adaptive];

fn at(ms: u64, act: UnicastAction) -> UnicastActionAt {
    UnicastActionAt { at: Instant::from_micros(ms * 1_000), act }
}

fn send(from: NodeId, to: NodeId, count: u32, every_ms: u64) -> UnicastAction {
    UnicastAction::Send(Send {
        from,
        to,
        count,
        every: Duration::from_millis(every_ms),
        ..Send::default()
    })
}

/// A story of two under a profile.
fn story(
    profile: Profile,
    seconds: u64,
    script: Vec<UnicastActionAt>,
    faults: Vec<UnicastActionAt>,
) -> Scenario {
    let mut s = Scenario { profile, script, faults, ..Scenario::default() };
    s.horizon = Duration::from_secs(seconds);
    s.config.conn_close = Duration::from_secs(6);
    s.config.unreachable = Duration::from_secs(8);
    s.config.conn_expiry = Duration::from_secs(15);
    s.check().expect("a story makes sense");
    s
}

/// Runs it; the oracles have nothing to say.
fn tell(s: &Scenario) -> Vec<Record<Event>> {
    let (_, records) = run(s);
    let mut oracles = UnicastOracles::new(s).quiet_for(Duration::from_secs(1));
    records.iter().for_each(|record| oracles.observe(record));
    oracles.finish(Instant::ZERO + s.horizon);
    assert_eq!(oracles.violations(), [], "{:?}", s.profile);
    records
}

/// What a node read of another, in order.
fn read(records: &[Record<Event>], at: NodeId, of: NodeId) -> Vec<u64> {
    let numbers = records.iter().filter(|record| record.node == at);
    let number = |record: &Record<Event>| match record.event {
        Event::App(MessagingEvent::Read { from, n, .. }) if from == of => Some(n),
        _ => None,
    };
    numbers.filter_map(number).collect()
}

fn all(count: u64) -> Vec<u64> {
    (1..=count).collect()
}

#[test]
fn a_peer_that_spoke_and_began_anew_can_be_reached_again() {
    for profile in PROFILES {
        // B answers into silence until A has had three times its bytes. Its
        // application waits for room and speaks on at once, to an A that
        // remembers nothing and has nothing to say.
        let script = vec![at(0, send(A, B, 1, 0)), at(200, send(B, A, 40, 0))];
        let faults = vec![
            at(100, UnicastAction::Crash { node: A }),
            at(10_000, UnicastAction::Restart { node: A }),
        ];
        let mut s = story(profile, 90, script, faults);
        s.config.send_messages = 8;
        let got = read(&tell(&s), A, B);
        assert!(got.ends_with(&all(40)[8..]), "{profile:?}: only the first eight are named");
    }
}

/// Messages that the sender named as undelivered.
fn named(records: &[Record<Event>]) -> u64 {
    let count = |record: &Record<Event>| match record.event {
        Event::Unicast(Unicast::Undelivered { from, to, .. }) => to - from + 1,
        _ => 0,
    };
    records.iter().map(count).sum()
}

/// How often a message was sent again, and how many were in lost datagrams.
fn resent_and_lost(records: &[Record<Event>]) -> (u64, u64) {
    let (mut resent, mut lost) = (0, 0);
    let mut inside = std::collections::BTreeMap::new();
    for record in records {
        match &record.event {
            Event::Unicast(Unicast::Resent { from, to, .. }) => resent += to - from + 1,
            Event::Datagram(DatagramEvent::Sent { id, blocks, .. }) => {
                let messages = blocks.iter().map(|block| match block {
                    Label::Data { from, to, .. } => to - from + 1,
                    _ => 0,
                });
                inside.insert(*id, messages.sum::<u64>());
            }
            Event::Datagram(DatagramEvent::Lost { id, .. }) => lost += inside[id],
            _ => {}
        }
    }
    (resent, lost)
}

#[test]
fn a_repair_that_is_lost_again_and_again() {
    for profile in PROFILES {
        // Nine messages, then nothing but repairs of the fifth and probes.
        let drops = [5, 10, 11, 12].map(|n| at(0, UnicastAction::Drop { from: A, to: B, n }));
        let s = story(profile, 40, vec![at(0, send(A, B, 9, 35))], drops.to_vec());
        assert_eq!(read(&tell(&s), B, A), all(9), "{profile:?}");
    }
}

#[test]
fn one_way_loss_that_ends() {
    for (profile, (from, to)) in
        PROFILES.into_iter().flat_map(|profile| [(profile, (A, B)), (profile, (B, A))])
    {
        let faults = vec![
            at(300, UnicastAction::Cut { from, to }),
            at(4_000, UnicastAction::Heal { from, to }),
        ];
        let script = vec![at(0, send(A, B, 30, 35)), at(10, send(B, A, 10, 90))];
        let records = tell(&story(profile, 60, script, faults));
        assert_eq!(read(&records, B, A), all(30), "{profile:?} {from:?}");
        assert_eq!(read(&records, A, B), all(10), "{profile:?} {from:?}");
        assert_eq!(named(&records), 0, "{profile:?} {from:?}");
    }
}

#[test]
fn a_peer_that_never_acknowledges_gets_everything_and_the_sender_says_what_it_cannot_know() {
    for profile in PROFILES {
        let faults = vec![at(0, UnicastAction::Cut { from: B, to: A })];
        let records = tell(&story(profile, 60, vec![at(0, send(A, B, 20, 10))], faults));
        assert_eq!(read(&records, B, A), all(20), "{profile:?}");
        assert_eq!(named(&records), 20, "{profile:?}");
        let (resent, _) = resent_and_lost(&records);
        assert!(resent < 60, "{profile:?}: {resent} sent again into silence");
    }
}

#[test]
fn a_close_that_overtakes_is_lost_or_comes_twice() {
    for profile in PROFILES {
        let script =
            vec![at(0, send(A, B, 9, 35)), at(400, UnicastAction::Close { from: A, to: B })];
        let close_in = |records: &[Record<Event>]| {
            records.iter().find_map(|record| match &record.event {
                Event::Datagram(DatagramEvent::Sent { n, blocks, .. })
                    if blocks.iter().any(|block| matches!(block, Label::Close { .. })) =>
                {
                    Some(*n)
                }
                _ => None,
            })
        };
        let plain = tell(&story(profile, 60, script.clone(), Vec::new()));
        let n = close_in(&plain).expect("the sender says CLOSE");
        let (from, to, by) = (A, B, Duration::from_millis(700));
        for fault in [
            UnicastAction::Drop { from, to, n },
            UnicastAction::Delay { from, to, n, by },
            UnicastAction::Duplicate { from, to, n, by },
            UnicastAction::Delay { from, to, n: n - 1, by },
        ] {
            let records = tell(&story(profile, 60, script.clone(), vec![at(0, fault.clone())]));
            assert_eq!(read(&records, B, A), all(9), "{profile:?} {fault:?}");
            let ended = |side| {
                let ends = |record: &&Record<Event>| matches!(record.event, Event::Unicast(Unicast::Closed { side: it, .. }) if it == side);
                records.iter().filter(ends).count()
            };
            let both = (ended(Side::Sender), ended(Side::Receiver));
            assert_eq!(both, (1, 1), "{profile:?} {fault:?}");
        }
    }
}

#[test]
fn everything_comes_twice() {
    for profile in PROFILES {
        let script = vec![at(0, send(A, B, 40, 7)), at(3, send(B, A, 40, 7))];
        let mut s = story(profile, 60, script, Vec::new());
        s.link = DatagramLink { duplicate: (1, 1), ..DatagramLink::default() };
        let records = tell(&s);
        assert_eq!(read(&records, B, A), all(40), "{profile:?}");
        assert_eq!(read(&records, A, B), all(40), "{profile:?}");
    }
}

#[test]
fn a_slow_link_with_a_short_queue() {
    for profile in PROFILES {
        let mut s = story(profile, 120, vec![at(0, send(A, B, 200, 0))], Vec::new());
        s.link = DatagramLink { rate: 20_000, queue: 4_000, ..DatagramLink::default() };
        let records = tell(&s);
        assert_eq!(read(&records, B, A), all(200), "{profile:?}");
        let full = |record: &&Record<Event>| {
            matches!(
                record.event,
                Event::Datagram(DatagramEvent::Lost { why: DatagramLoss::Queue, .. })
            )
        };
        assert!(records.iter().any(|record| full(&record)), "the queue did run over");
    }
}

#[test]
fn datagrams_the_path_does_not_take_are_named_and_smaller_ones_arrive() {
    for (profile, mtu) in PROFILES.into_iter().flat_map(|p| [(p, 1_400), (p, 500)]) {
        let long = Send { from: A, to: B, count: 3, size: 1_200, ..Send::default() };
        let script = vec![at(0, send(A, B, 4, 10)), at(500, UnicastAction::Send(long))];
        let mut s = story(profile, 60, script, Vec::new());
        s.config.mtu = mtu;
        s.link.mtu = 600;
        let records = tell(&s);
        let (got, lost) = if mtu == 500 { (7, 0) } else { (4, 3) };
        assert_eq!(read(&records, B, A), all(got), "{profile:?} {mtu}");
        assert_eq!(named(&records), lost, "{profile:?} {mtu}");
    }
}

#[test]
fn an_application_that_does_not_read_for_a_while() {
    for profile in PROFILES {
        let script = vec![
            at(0, send(A, B, 60, 0)),
            at(15, UnicastAction::Read { node: B, on: false }),
            at(5_000, UnicastAction::Read { node: B, on: true }),
        ];
        let mut s = story(profile, 60, script, Vec::new());
        s.config.recv_messages = 10;
        let records = tell(&s);
        assert_eq!(read(&records, B, A), all(60), "{profile:?}");
        assert_eq!(named(&records), 0, "{profile:?}");
    }
}

#[test]
fn a_node_that_stands_still_and_goes_on() {
    for profile in PROFILES {
        let faults = vec![
            at(200, UnicastAction::Stall { node: B }),
            at(3_000, UnicastAction::Resume { node: B }),
        ];
        let records = tell(&story(profile, 60, vec![at(0, send(A, B, 40, 20))], faults));
        assert_eq!(read(&records, B, A), all(40), "{profile:?}");
    }
}

#[test]
fn either_side_or_both_restart() {
    for profile in PROFILES {
        for nodes in [vec![A], vec![B], vec![A, B]] {
            let restart = |node: &NodeId| at(500, UnicastAction::Restart { node: *node });
            let script = vec![at(0, send(A, B, 40, 20)), at(3_000, send(A, B, 10, 20))];
            let s = story(profile, 60, script, nodes.iter().map(restart).collect());
            let got = read(&tell(&s), B, A);
            let after: Vec<u64> = (41..=50).collect();
            assert!(got.ends_with(&after), "{profile:?} {nodes:?}: {got:?}");
        }
    }
}

#[test]
fn urgent_messages_overtake_and_come_once() {
    for profile in PROFILES {
        let urgent =
            Send { from: A, to: B, count: 1, order: DeliveryOrder::AtOnce, ..Send::default() };
        let script = vec![at(0, send(A, B, 9, 35)), at(200, UnicastAction::Send(urgent))];
        let faults = vec![at(0, UnicastAction::Drop { from: A, to: B, n: 5 })];
        let got = read(&tell(&story(profile, 40, script, faults)), B, A);
        let mut sorted = got.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, all(10), "{profile:?}: each once");
        let place = |n| got.iter().position(|it| *it == n).expect("it was read");
        assert!(place(7) < place(5), "{profile:?}: the urgent one does not wait: {got:?}");
    }
}

#[test]
fn three_talk_with_each_other_over_bad_links() {
    for profile in PROFILES {
        let c = NodeId(2);
        let pairs = [(A, B), (B, c), (c, A), (A, c)];
        let mut s = story(profile, 120, Vec::new(), Vec::new());
        s.nodes.push(Party { name: "C".into(), ..Party::default() });
        s.script = pairs.map(|(from, to)| at(10, send(from, to, 50, 9))).to_vec();
        s.link.loss = (1, 10);
        s.link.jitter = Duration::from_millis(15);
        let records = tell(&s);
        for (from, to) in pairs {
            assert_eq!(read(&records, to, from), all(50), "{profile:?} {from:?} {to:?}");
        }
    }
}

#[test]
fn adaptive_sends_little_more_than_once_for_each_loss() {
    let mut s = story(Profile::Adaptive, 60, vec![at(0, send(A, B, 2_000, 2))], Vec::new());
    s.link.loss = (1, 20);
    let records = tell(&s);
    assert_eq!(read(&records, B, A), all(2_000));
    let (resent, lost) = resent_and_lost(&records);
    assert!(lost > 60, "{lost}");
    assert!(resent * 10 <= lost * 12, "{resent} sent again for {lost}");
}

#[test]
fn no_peer_there_and_nothing_left_behind() {
    for profile in PROFILES {
        let faults =
            vec![at(0, UnicastAction::Crash { node: B }), at(1, UnicastAction::Crash { node: B })];
        let records = tell(&story(profile, 60, vec![at(10, send(A, B, 5, 0))], faults));
        assert_eq!(named(&records), 5, "{profile:?}");
        let closed = |record: &Record<Event>| {
            let Event::Unicast(Unicast::Closed { why, .. }) = &record.event else { return false };
            *why == ConnEnding::Unreachable
        };
        assert!(records.iter().any(closed), "{profile:?}: it ends");
    }
}
