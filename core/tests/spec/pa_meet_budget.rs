//! PA-12: a hostile place, or a stranger that has found out the first words of a code, makes
//! a visitor knock at few addresses, and not for long.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use servent_core::engine::{Engine as _, Fx};
use servent_core::meet::{
    Config, Event, MeetCard, MeetKey, MeetSide, MeetVisitor, MeetingId, NatMapping, Visit,
    VisitInput, VisitOutput,
};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::wire::meet::{Introduction, MeetPacket};

const KEY: MeetKey = MeetKey(1, 2);
const MEETING: MeetingId = MeetingId([1; 16]);

fn place() -> SocketAddr {
    ([192, 0, 2, 1], 6_349).into()
}

fn third_party(n: u32) -> SocketAddr {
    (std::net::Ipv4Addr::from_bits(0x5000_0000 + n), 5_000).into()
}

/// A visitor with its seat at a place that lies, and when it has knocked where.
struct DeceivedVisitor {
    visitor: MeetVisitor,
    nonce: u64,
    now: Instant,
    knocks: BTreeMap<SocketAddr, Vec<Instant>>,
}

impl DeceivedVisitor {
    fn new() -> Self {
        let visitor = MeetVisitor::new(Config::default(), Rng::new(1));
        let (now, knocks) = (Instant::from_secs(1_000), BTreeMap::new());
        let mut it = Self { visitor, nonce: 0, now, knocks };
        it.visit();
        it
    }

    /// Begins a visit, as one that waits does again and again.
    fn visit(&mut self) {
        let it = self;
        let own = SocketAddr::from(([198, 51, 100, 1], 4_000));
        let visit = Visit {
            places: vec![place()],
            probes: Vec::new(),
            meeting: MEETING,
            key: KEY,
            side: MeetSide::Caller,
            local: vec![own],
            once: false,
        };
        let asked = it.say(VisitInput::Begin(visit));
        let question = |output: &VisitOutput| match output {
            VisitOutput::Packet { packet: MeetPacket::Question { nonce }, .. } => Some(*nonce),
            _ => None,
        };
        let nonce = asked.iter().find_map(question).expect("it asks");
        let cookie = MeetPacket::Cookie { nonce, cookie: 9, seen: own };
        let told = it.say(VisitInput::Packet { from: place(), packet: cookie });
        it.nonce = told
            .iter()
            .find_map(|output| match output {
                VisitOutput::Packet { packet: MeetPacket::Register(it), .. } => Some(it.nonce),
                _ => None,
            })
            .expect("it takes its seat");
    }

    fn say(&mut self, input: VisitInput) -> Vec<VisitOutput> {
        let mut fx = Fx::new();
        self.visitor.handle(self.now, input, &mut fx);
        self.note(&fx)
    }

    fn note(&mut self, fx: &Fx<VisitOutput, Event>) -> Vec<VisitOutput> {
        for output in fx.outputs() {
            if let VisitOutput::Packet { to, packet: MeetPacket::Knock(_) } = output {
                self.knocks.entry(*to).or_default().push(self.now);
            }
        }
        fx.outputs().cloned().collect()
    }

    fn run(&mut self, length: Duration) -> Vec<VisitOutput> {
        let (until, mut outputs) = (self.now + length, Vec::new());
        while let Some((at, _)) = self.visitor.poll_timeout().filter(|(at, _)| *at <= until) {
            self.now = self.now.max(at);
            let mut fx = Fx::new();
            self.visitor.handle_timeout(self.now, &mut fx);
            outputs.extend(self.note(&fx));
        }
        self.now = until;
        outputs
    }

    /// The place introduces a side with so many addresses, which it says it has signed.
    fn introduce(&mut self, other: u64, seen: SocketAddr, signed: &[SocketAddr]) {
        let card = MeetCard { mapping: NatMapping::Varies, candidates: signed.to_vec() };
        let card = card.seal(KEY, (MEETING, MeetSide::Listener, other));
        let (nonce, wait, relays) = (self.nonce, 0, true);
        let it = Introduction { nonce, wait, relays, seen, other, card };
        self.say(VisitInput::Packet { from: place(), packet: MeetPacket::Introduce(it) });
    }

    /// The place introduces one that knows the name of the meeting, and no words.
    fn introduce_stranger(&mut self, other: u64) -> Vec<VisitOutput> {
        let card = MeetCard { mapping: NatMapping::Same, candidates: vec![third_party(0)] };
        let card = card.seal(MeetKey(7, 7), (MEETING, MeetSide::Listener, other));
        let (nonce, wait, relays, seen) = (self.nonce, 0, true, third_party(0));
        let it = Introduction { nonce, wait, relays, seen, other, card };
        self.say(VisitInput::Packet { from: place(), packet: MeetPacket::Introduce(it) })
    }

    fn hosts(&self) -> usize {
        self.knocks.keys().map(SocketAddr::ip).collect::<BTreeSet<_>>().len()
    }

    fn all(&self) -> usize {
        self.knocks.values().map(Vec::len).sum()
    }
}

#[test]
fn pa_12_no_number_of_introductions_makes_a_visitor_knock_at_many() {
    let mut visitor = DeceivedVisitor::new();
    let begun = visitor.now;
    for n in 0..1_200 {
        let signed: Vec<_> = (1..9).map(|k| third_party(10 * n + k)).collect();
        visitor.introduce(1_000 + u64::from(n), third_party(10 * n), &signed);
        visitor.run(Duration::from_millis(50));
        if visitor.now.since(begun) == Duration::from_secs(6) {
            assert!((12..=14).contains(&visitor.hosts()), "{} hosts", visitor.hosts());
        }
    }
    let hosts = 12 + 60 / 3;
    assert!(visitor.hosts() <= hosts, "{} hosts in a minute", visitor.hosts());
    assert!(visitor.all() <= 16 * hosts, "{} knocks in a minute", visitor.all());
}

#[test]
fn pa_12_the_same_third_party_is_knocked_at_seldom() {
    let mut visitor = DeceivedVisitor::new();
    let signed: Vec<_> = (0..8).map(third_party).collect();
    for n in 0..1_200 {
        visitor.introduce(1_000 + n, third_party(0), &signed);
        visitor.run(Duration::from_millis(50));
    }
    assert!(visitor.all() <= 16 * (12 + 60 / 3), "{} knocks in a minute", visitor.all());
}

/// A place without the words has one card of an earlier visit, and says of its sender that
/// it is at the victim; in each visit of one that waits.
#[test]
fn pa_12_one_address_is_knocked_at_seldom_in_however_many_visits() {
    let mut visitor = DeceivedVisitor::new();
    for _ in 0..10 {
        visitor.introduce(1_000, third_party(0), &[]);
        visitor.run(Duration::from_secs(3));
        visitor.visit();
    }
    assert!((16..=16 + 30 / 3).contains(&visitor.all()), "{} knocks in 30 s", visitor.all());
}

#[test]
fn pa_12_an_other_side_that_moves_again_and_again_is_not_knocked_at_for_ever() {
    let mut visitor = DeceivedVisitor::new();
    let begun = visitor.now;
    for n in 0..60 {
        visitor.introduce(7, third_party(n), &[]);
        visitor.run(Duration::from_secs(1));
    }
    let last = visitor.knocks.values().flatten().max().unwrap();
    assert!(last.since(begun) <= Duration::from_secs(8), "{last:?}");
    assert!(visitor.knocks.values().all(|knocks| knocks.len() <= 16), "{:?}", visitor.knocks);
}

/// Ports that the visitor has guessed within so many seconds, in which it is introduced to a
/// victim each five.
/// It has no answer from the place but these: it may be introduced to one that has the words
/// again soon, and does not say that the place is silent.
#[test]
fn pa_12_strangers_without_the_words_do_not_end_a_visit_and_the_seat_is_taken_again() {
    let mut visitor = DeceivedVisitor::new();
    let (mut said, mut taken) = (Vec::new(), 0);
    for n in 0..240 {
        said.extend(visitor.introduce_stranger(n));
        said.extend(visitor.run(Duration::from_millis(250)));
    }
    for output in &said {
        match output {
            VisitOutput::Packet { packet: MeetPacket::Register(_), .. } => taken += 1,
            VisitOutput::Failed { why, .. } => panic!("{why:?}"),
            _ => {}
        }
    }
    assert!((20..=32).contains(&taken), "{taken} seats in a minute");
    assert_eq!(visitor.all(), 0, "none is knocked at");
    visitor.introduce(1_000, third_party(1), &[third_party(1)]);
    visitor.run(Duration::from_secs(1));
    assert!(visitor.knocks.contains_key(&third_party(1)), "one with the words is");
}

fn guessed(visitor: &mut DeceivedVisitor, seconds: u64) -> usize {
    let victim = third_party(0);
    for n in 0..seconds / 5 {
        visitor.introduce(1_000 + n, victim, &[victim]);
        visitor.run(Duration::from_secs(5));
        visitor.visit();
    }
    visitor.knocks.len()
}

#[test]
fn pa_12_ports_are_guessed_once_a_minute_in_however_many_visits() {
    let all = Config::default().guesses as usize;
    let soon = guessed(&mut DeceivedVisitor::new(), 20);
    assert!((all / 2..=all + all / 3 + 1).contains(&soon), "{soon} ports in 20 s");
    let ports = guessed(&mut DeceivedVisitor::new(), 55);
    assert!(ports <= 2 * all, "{ports} ports in a minute");
}

/// A sender whose code was wrong is back at once with the right one, and again: a guess that
/// hits took 252 ports on average.
#[test]
fn pa_12_ports_are_guessed_again_at_once_when_few_were_needed() {
    let mut visitor = DeceivedVisitor::new();
    for n in 0..4 {
        let other = third_party(n);
        let before = visitor.knocks.len();
        visitor.introduce(1_000 + u64::from(n), other, &[other]);
        visitor.run(Duration::from_millis(600 + 640));
        let guessed = visitor.knocks.len() - before;
        assert!(guessed >= 500, "the {n}th: {guessed} ports");
        visitor.visit();
    }
}

#[test]
fn pa_12_a_visitor_that_waits_knocks_at_few_in_however_many_visits() {
    let mut visitor = DeceivedVisitor::new();
    for n in 0..7 {
        for k in 0..13 {
            let signed = [third_party(100 * n + 2 * k), third_party(100 * n + 2 * k + 1)];
            visitor.introduce(1_000 + u64::from(k), third_party(7_000 + 100 * n + k), &signed);
        }
        visitor.run(Duration::from_secs(6));
        visitor.visit();
    }
    let hosts = 12 + 42 / 3;
    assert!(visitor.hosts() <= hosts, "{} hosts in 42 s", visitor.hosts());
    assert!(visitor.all() <= 16 * hosts, "{} knocks in 42 s", visitor.all());
}

#[test]
fn pa_12_an_other_side_that_was_started_anew_is_met_all_the_same() {
    let mut visitor = DeceivedVisitor::new();
    let addresses = |n| (0..8).map(|k| third_party(10 * n + k)).collect::<Vec<_>>();
    for n in 0..3 {
        visitor.introduce(1_000 + u64::from(n), third_party(10 * n), &addresses(n));
        visitor.run(Duration::from_millis(100));
        assert!(addresses(n).iter().all(|at| visitor.knocks.contains_key(at)), "the {n}th");
        visitor.run(Duration::from_secs(30));
    }
    // And at once, at the address that matters.
    visitor.introduce(2_000, third_party(100), &addresses(10));
    visitor.introduce(2_001, third_party(110), &addresses(11));
    assert!(visitor.knocks.contains_key(&third_party(110)));
}

/// Nor at a host of the visitor's own network, or at itself, whatever addresses the place claims
/// to have seen.
#[test]
fn pa_12_a_place_that_knows_the_words_makes_a_visitor_try_no_ports_in_its_own_network() {
    let at = |text: &str| -> SocketAddr { text.parse().unwrap() };
    for (seen, signed) in [
        ("10.1.0.1:4000", "10.1.0.1:4000"),
        ("127.0.0.1:4000", "127.0.0.1:4000"),
        ("198.51.100.1:4001", "127.0.0.1:5555"),
    ] {
        let mut visitor = DeceivedVisitor::new();
        visitor.introduce(1, at(seen), &[at(signed)]);
        visitor.run(Duration::from_secs(20));
        let ports = visitor.knocks.keys().filter(|to| to.ip() == at(signed).ip()).count();
        assert_eq!(ports, 0, "{seen} {signed}: {:?}", visitor.knocks.keys());
    }
}
