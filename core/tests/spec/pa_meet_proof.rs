//! PA-12: what shows where the other side is, and what a datagram that was seen on its way,
//! a stranger that knows the first words of a code, or a hostile place, cannot do.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use servent_core::engine::{Engine as _, Fx};
use servent_core::meet::{
    Config, MeetCard, MeetFailure, MeetKey, MeetRefusal, MeetSide, MeetVisitor, MeetingId,
    NatMapping, Visit, VisitInput, VisitOutput, is_meeting_peer,
};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::wire::meet::{Introduction, Knock, KnockKey, KnockStep, MeetPacket};

const KEY: MeetKey = MeetKey(1, 2);
const MEETING: MeetingId = MeetingId([1; 16]);
/// Where the sides are for each other.
const AT: [u8; 2] = [1, 2];

fn place() -> SocketAddr {
    ([192, 0, 2, 1], 6_349).into()
}

fn host(n: u8) -> SocketAddr {
    ([203, 0, 113, n], 5_000).into()
}

/// Two visitors, the caller first, that a place introduces which is played by the test.
struct TwoVisitors {
    visitors: Vec<MeetVisitor>,
    /// The numbers of their registrations.
    numbers: [u64; 2],
    now: Instant,
    /// What they have said about paths.
    told: [Vec<VisitOutput>; 2],
    /// What was sent to others than the two and the place.
    strays: BTreeMap<SocketAddr, Vec<(Instant, MeetPacket)>>,
    /// All knocks: the side that sent it, and to which address.
    knocks: Vec<(usize, SocketAddr, Knock)>,
    /// Knocks that the caller sends to the listener, or gets from it, arrive.
    open: bool,
}

impl TwoVisitors {
    fn new() -> Self {
        let visitors = [1, 2].map(|seed| MeetVisitor::new(Config::default(), Rng::new(seed)));
        let mut it = Self {
            visitors: visitors.to_vec(),
            numbers: [0; 2],
            now: Instant::from_secs(1_000),
            told: [Vec::new(), Vec::new()],
            strays: BTreeMap::new(),
            knocks: Vec::new(),
            open: true,
        };
        (0..2).for_each(|which| it.visit(which));
        it
    }

    fn side(which: usize) -> MeetSide {
        if which == 0 { MeetSide::Caller } else { MeetSide::Listener }
    }

    fn visit(&mut self, which: usize) {
        let visit = Visit {
            places: vec![place()],
            probes: Vec::new(),
            meeting: MEETING,
            key: KEY,
            side: Self::side(which),
            local: Vec::new(),
            once: false,
        };
        let asked = self.give(which, VisitInput::Begin(visit));
        let nonce = asked.iter().find_map(|packet| match packet {
            MeetPacket::Question { nonce } => Some(*nonce),
            _ => None,
        });
        let seen = host(AT[which]);
        let cookie = MeetPacket::Cookie { nonce: nonce.unwrap(), cookie: 9, seen };
        let told = self.give(which, VisitInput::Packet { from: place(), packet: cookie });
        let number = told.iter().find_map(|packet| match packet {
            MeetPacket::Register(it) => Some(it.nonce),
            _ => None,
        });
        self.numbers[which] = number.expect("it takes its seat");
    }

    /// The place introduces to `which` a side with that number, whose card was sealed for
    /// `sealed`.
    fn introduce(&mut self, which: usize, (other, sealed): (u64, u64), more: &[SocketAddr]) {
        let seen = host(AT[1 - which]);
        let card = MeetCard { mapping: NatMapping::Same, candidates: more.to_vec() };
        let card = card.seal(KEY, (MEETING, Self::side(1 - which), sealed));
        let (nonce, wait, relays) = (self.numbers[which], 0, true);
        let it = Introduction { nonce, wait, relays, seen, other, card };
        let packet = MeetPacket::Introduce(it);
        self.give(which, VisitInput::Packet { from: place(), packet });
    }

    fn meet(&mut self, more: &[SocketAddr]) {
        let [caller, listener] = self.numbers;
        self.introduce(1, (caller, caller), &[]);
        self.introduce(0, (listener, listener), more);
    }

    fn give(&mut self, which: usize, input: VisitInput) -> Vec<MeetPacket> {
        let mut fx = Fx::new();
        self.visitors[which].handle(self.now, input, &mut fx);
        self.carry(which, fx.outputs().cloned().collect())
    }

    /// Notes what one says, and delivers what it sends the other; what it sends the place.
    fn carry(&mut self, which: usize, outputs: Vec<VisitOutput>) -> Vec<MeetPacket> {
        let mut to_place = Vec::new();
        for output in outputs {
            match output {
                VisitOutput::Packet { to, packet } if to == place() => to_place.push(packet),
                VisitOutput::Packet { to, packet } => {
                    if let MeetPacket::Knock(knock) = packet {
                        self.knocks.push((which, to, knock));
                    }
                    if to == host(AT[1 - which]) && self.open {
                        let from = host(AT[which]);
                        self.give(1 - which, VisitInput::Packet { from, packet });
                    } else if to != host(AT[1 - which]) {
                        self.strays.entry(to).or_default().push((self.now, packet));
                    }
                }
                VisitOutput::Waiting { .. } | VisitOutput::Located { .. } => {}
                other => self.told[which].push(other),
            }
        }
        to_place
    }

    fn run(&mut self, length: Duration) {
        let until = self.now + length;
        loop {
            let due = |which: usize| self.visitors[which].poll_timeout().map(|(at, _)| (at, which));
            let next = [0, 1].into_iter().filter_map(due).min();
            let Some((at, which)) = next.filter(|(at, _)| *at <= until) else { break };
            self.now = self.now.max(at);
            let mut fx = Fx::new();
            self.visitors[which].handle_timeout(self.now, &mut fx);
            self.carry(which, fx.outputs().cloned().collect());
        }
        self.now = until;
    }

    /// A knock that comes to one from there.
    fn knock(&mut self, which: usize, from: SocketAddr, knock: Knock) {
        self.give(which, VisitInput::Packet { from, packet: MeetPacket::Knock(knock) });
    }

    /// What the attacker signs that knows the key and the numbers of both.
    fn key(&self) -> KnockKey {
        KnockKey { key: KEY, caller: self.numbers[0], listener: self.numbers[1] }
    }

    /// Where the path of one leads that it has taken.
    fn path(&self, which: usize) -> Option<SocketAddr> {
        let paths = self.told[which].iter().filter_map(|output| match output {
            VisitOutput::Moved { to, .. } => Some(*to),
            _ => None,
        });
        paths.last()
    }

    fn said(&self, which: usize, step: KnockStep) -> Knock {
        let said = |it: &&(usize, SocketAddr, Knock)| it.0 == which && it.2.step == step;
        self.knocks.iter().find(said).expect("it was said").2
    }

    fn steps_to(&self, at: SocketAddr) -> Vec<KnockStep> {
        let step = |(_, packet): &(Instant, MeetPacket)| match packet {
            MeetPacket::Knock(knock) => knock.step,
            other => panic!("{other:?}"),
        };
        self.strays.get(&at).into_iter().flatten().map(step).collect()
    }
}

#[test]
fn pa_12_a_choice_that_comes_from_elsewhere_again_moves_nothing() {
    let mut two = TwoVisitors::new();
    two.meet(&[]);
    two.run(Duration::from_millis(100));
    let agreed = [Some(host(2)), Some(host(1))];
    assert_eq!([two.path(0), two.path(1)], agreed);
    let (choice, victim) = (two.said(0, KnockStep::Choose), host(77));
    for _ in 0..10 {
        two.run(Duration::from_millis(500));
        two.knock(1, victim, choice);
    }
    assert_eq!(two.steps_to(victim), [KnockStep::Answer; 10], "no more than it was sent");
    assert_eq!([two.path(0), two.path(1)], agreed);
    // Nor does one of another visit, or one that a stranger has signed that was not
    // introduced.
    let outsider = KnockKey { key: KEY, caller: 5, listener: 6 };
    let forged = Knock::new(MeetSide::Caller, KnockStep::Choose, 4_242).signed(&outsider);
    two.knock(1, host(78), forged);
    assert_eq!(two.steps_to(host(78)), []);
}

#[test]
fn pa_12_a_caller_whose_router_gives_it_another_port_is_agreed_with_all_the_same() {
    let mut two = TwoVisitors::new();
    two.open = false;
    two.meet(&[]);
    let ask = two.said(0, KnockStep::Ask);
    // It asks from one port, and chooses from another.
    let (one, other) = (host(1), SocketAddr::new(host(1).ip(), 6_000));
    two.knock(1, one, ask);
    let answer = two.said(1, KnockStep::Answer);
    two.knock(0, host(2), answer);
    let choice = two.said(0, KnockStep::Choose);
    two.knock(1, other, choice);
    let Some((_, MeetPacket::Knock(again))) = two.strays[&other].last().cloned() else {
        panic!("what it must return goes to where it is")
    };
    assert_eq!(again.step, KnockStep::Answer);
    assert_ne!(again.token, answer.token);
    two.knock(0, host(2), again);
    let choice = two.knocks.iter().rfind(|(which, ..)| *which == 0).unwrap().2;
    assert_eq!((choice.step, choice.returned), (KnockStep::Choose, again.token));
    two.knock(1, other, choice);
    assert_eq!(two.path(1), Some(other));
}

#[test]
fn pa_12_an_agreed_path_is_not_moved_by_another_choice() {
    let mut two = TwoVisitors::new();
    two.meet(&[]);
    two.run(Duration::from_secs(9 + 1));
    // A stranger that knows everything but the code, and receives where it says it is.
    let (thief, key) = (host(66), two.key());
    two.knock(1, thief, Knock::new(MeetSide::Caller, KnockStep::Ask, 5).signed(&key));
    let Some((_, MeetPacket::Knock(answer))) = two.strays[&thief].last().cloned() else {
        panic!("it is answered")
    };
    let choice = Knock::new(MeetSide::Caller, KnockStep::Choose, 5);
    two.knock(1, thief, Knock { returned: answer.token, ..choice }.signed(&key));
    assert_eq!(two.steps_to(thief), [KnockStep::Answer]);
    assert_eq!(two.path(1), Some(host(1)));
}

#[test]
fn pa_12_an_agreement_counts_only_where_the_choice_was_received() {
    let mut two = TwoVisitors::new();
    two.open = false;
    two.meet(&[]);
    two.run(Duration::from_millis(50));
    let (nonce, victim, key) = (two.said(0, KnockStep::Ask).nonce, host(77), two.key());
    let forged = |step| Knock::new(MeetSide::Listener, step, nonce).signed(&key);
    two.knock(0, victim, forged(KnockStep::Answer));
    assert_eq!(two.steps_to(victim), [KnockStep::Choose]);
    two.knock(0, victim, forged(KnockStep::Agree));
    assert_eq!(two.path(0), None, "it has not received what it should return");
}

#[test]
fn pa_12_one_forged_answer_costs_its_victim_little_and_the_caller_a_second() {
    let mut two = TwoVisitors::new();
    two.open = false;
    two.meet(&[]);
    two.run(Duration::from_millis(50));
    let (nonce, victim, key) = (two.said(0, KnockStep::Ask).nonce, host(77), two.key());
    let forged = Knock::new(MeetSide::Listener, KnockStep::Answer, nonce).signed(&key);
    two.knock(0, victim, forged);
    // From now on the listener could be reached.
    two.open = true;
    let begun = two.now;
    while two.path(0).is_none() {
        assert!(two.now.since(begun) < Duration::from_millis(1_500), "it is not found");
        two.run(Duration::from_millis(50));
    }
    two.run(Duration::from_secs(10));
    assert_eq!([two.path(0), two.path(1)], [Some(host(2)), Some(host(1))]);
    assert!(two.steps_to(victim).len() <= 16, "{:?}", two.steps_to(victim));
}

#[test]
fn pa_12_forged_answers_without_end_make_sixteen_datagrams_at_one_address() {
    let mut two = TwoVisitors::new();
    two.open = false;
    // The place, or a card, names it too: then it is also knocked at.
    let victim = host(77);
    two.meet(&[victim]);
    two.run(Duration::from_millis(50));
    let (nonce, key) = (two.said(0, KnockStep::Ask).nonce, two.key());
    for n in 0..1_000 {
        let forged = Knock::new(MeetSide::Listener, KnockStep::Answer, nonce);
        two.knock(0, victim, Knock { token: n, ..forged }.signed(&key));
        two.run(Duration::from_millis(10));
    }
    let sent = two.steps_to(victim).len();
    assert!((1..=16).contains(&sent), "{sent} datagrams");
}

/// A knock with a forged source costs its sender as much as its answer costs the victim.
#[test]
fn pa_12_knocks_that_seem_to_come_from_third_parties_are_answered_seldom() {
    let mut two = TwoVisitors::new();
    two.meet(&[]);
    two.run(Duration::from_secs(10));
    let (key, begun) = (two.key(), two.now);
    let forged = |step, n| Knock::new(MeetSide::Caller, step, n).signed(&key);
    for n in 0..1_000 {
        two.knock(1, host(77), forged(KnockStep::Ask, n));
        two.knock(1, host(77), forged(KnockStep::Choose, n));
        two.run(Duration::from_millis(10));
    }
    let sent = two.steps_to(host(77)).len();
    assert!((16..=16 + 10 / 3).contains(&sent), "{sent} answers to one address in 10 s");
    // Nor are many addresses answered.
    for n in 0..4_000 {
        let ip = std::net::Ipv4Addr::from_bits(0x5000_0000 + n % 1_000);
        two.knock(1, (ip, 5_000).into(), forged(KnockStep::Ask, u64::from(n)));
        two.run(Duration::from_millis(5));
    }
    let sent: usize = two.strays.values().map(Vec::len).sum();
    let most = 192 + two.now.since(begun).as_micros() as usize / 200_000;
    assert!((192..=most).contains(&sent), "{sent} answers in 30 s");
    // Who comes then proves itself all the same: one more is answered five times a second.
    two.visitors[0] = MeetVisitor::new(Config::default(), Rng::new(3));
    two.visit(0);
    two.meet(&[]);
    two.run(Duration::from_secs(1));
    let direct = |it: &VisitOutput| matches!(it, VisitOutput::Met { relayed: false, .. });
    assert!(two.told[1].iter().any(direct), "{:?}", two.told[1]);
}

#[test]
fn pa_12_a_place_that_introduces_anew_does_not_end_a_direct_path() {
    let mut two = TwoVisitors::new();
    two.meet(&[]);
    two.run(Duration::from_millis(100));
    let [caller, listener] = two.numbers;
    two.told = [Vec::new(), Vec::new()];
    for n in 0..20 {
        // With a number that it has made up, and with one of an earlier visit.
        two.introduce(0, (1_000 + n, listener), &[host(70)]);
        two.introduce(1, (2_000 + n, caller), &[host(70)]);
        two.introduce(0, (3_000 + n, 3_000 + n), &[host(71)]);
        two.run(Duration::from_millis(300));
    }
    assert_eq!(two.told, [vec![], vec![]], "nothing has changed");
    assert_eq!(two.steps_to(host(70)), [], "that card is of another registration");
    assert!(two.steps_to(host(71)).len() <= 16 * 3);
    // What both have agreed on still holds.
    let choice = two.said(0, KnockStep::Choose);
    let before = two.knocks.len();
    two.knock(1, host(1), choice);
    assert!(
        two.knocks[before..]
            .iter()
            .any(|(which, _, knock)| { *which == 1 && knock.step == KnockStep::Agree })
    );
}

/// One that waits visits anew while the path is used. A place, or one that reads the line to
/// it, introduces the new visit to the other side, and the other side's old one to it.
#[test]
fn pa_12_two_that_have_met_are_not_brought_together_anew() {
    let mut two = TwoVisitors::new();
    two.meet(&[]);
    two.run(Duration::from_millis(100));
    assert_eq!([0, 1].map(|which| two.path(which)), [Some(host(2)), Some(host(1))]);
    two.told = [Vec::new(), Vec::new()];
    two.visit(1);
    two.meet(&[]);
    two.run(Duration::from_secs(4));
    assert_eq!(two.told, [vec![], vec![]], "they go on as they were");
}

/// A place answers the new visit by introducing the other side, until it has forgotten the
/// other's seat.
#[test]
fn pa_12_a_place_that_introduces_one_that_was_met_is_not_silent() {
    let mut two = TwoVisitors::new();
    two.meet(&[]);
    two.run(Duration::from_millis(100));
    two.visit(1);
    two.told[1].clear();
    for _ in 0..7 {
        two.introduce(1, (two.numbers[0], two.numbers[0]), &[]);
        two.run(Duration::from_secs(1));
    }
    assert_eq!(two.told[1], [], "it goes on asking for its seat");
    // One that says nothing more at all is.
    two.run(Duration::from_secs(4));
    let silent = VisitOutput::Failed { why: MeetFailure::Silent, relayed: false };
    assert_eq!(two.told[1], [silent]);
}

/// Senders that come one after the other, ten a second, are no third parties.
#[test]
fn pa_12_however_many_are_met_the_next_is_met_too() {
    let mut two = TwoVisitors::new();
    for n in 0..40 {
        two.visitors[0] = MeetVisitor::new(Config::default(), Rng::new(10 + n));
        (0..2).for_each(|which| two.visit(which));
        two.told = [Vec::new(), Vec::new()];
        two.meet(&[]);
        two.run(Duration::from_millis(100));
        let moved = |output: &VisitOutput| matches!(output, VisitOutput::Moved { .. });
        assert!(two.told.iter().all(|told| told.iter().any(moved)), "the {n}th: {:?}", two.told);
    }
}

#[test]
fn pa_12_a_side_that_was_started_anew_takes_the_direct_path_when_it_has_proved_itself() {
    let mut two = TwoVisitors::new();
    two.meet(&[]);
    two.run(Duration::from_secs(4));
    two.told = [Vec::new(), Vec::new()];
    two.visitors[0] = MeetVisitor::new(Config::default(), Rng::new(3));
    two.visit(0);
    let [caller, listener] = two.numbers;
    two.introduce(1, (caller, caller), &[]);
    assert_eq!(two.told[1], [], "until it is heard");
    two.introduce(0, (listener, listener), &[]);
    two.run(Duration::from_millis(100));
    let met: Vec<_> = two.told[1]
        .iter()
        .filter_map(|output| match output {
            VisitOutput::Met { peer, relayed: false, .. } => Some(*peer),
            _ => None,
        })
        .collect();
    assert!(matches!(met[..], [peer] if is_meeting_peer(peer.ip())), "{:?}", two.told[1]);
    assert_eq!(two.path(0), Some(host(2)));
}

/// The name of a meeting travels in clear text, and whatever has a seat can tell a place that
/// it wants no more callers.
#[test]
fn pa_10_a_caller_believes_only_a_listener_that_knows_the_code() {
    let ended = |nonce, proof| VisitInput::Packet {
        from: place(),
        packet: MeetPacket::Ended { nonce, proof },
    };
    let failed = |two: &TwoVisitors, which: usize| {
        two.told[which].iter().any(|told| matches!(told, VisitOutput::Failed { .. }))
    };
    let proof = KEY.end_proof(MEETING);
    for which in 0..2 {
        let mut two = TwoVisitors::new();
        let nonce = two.numbers[which];
        let other = MeetingId([2; 16]);
        for forged in [0, proof ^ 1, MeetKey(7, 7).end_proof(MEETING), KEY.end_proof(other)] {
            two.give(which, ended(nonce, forged));
        }
        two.give(which, ended(nonce ^ 1, proof));
        let refused = MeetPacket::Refused { nonce, why: MeetRefusal::Over };
        two.give(which, VisitInput::Packet { from: place(), packet: refused });
        assert!(!failed(&two, which));
        two.give(which, ended(nonce, proof));
        assert_eq!(failed(&two, which), which == 0, "only a caller is told");
    }
}

/// What is not signed is no meeting: a place does not take the seat away for it.
#[test]
fn pa_10_an_introduction_that_is_not_signed_is_not_confirmed() {
    let mut two = TwoVisitors::new();
    let nonce = two.numbers[1];
    let introduce = |card| {
        let (seen, other, wait, relays) = (host(66), 5, 0, false);
        let it = Introduction { nonce, wait, relays, seen, other, card };
        VisitInput::Packet { from: place(), packet: MeetPacket::Introduce(it) }
    };
    let card = MeetCard { mapping: NatMapping::Same, candidates: Vec::new() };
    assert_eq!(two.give(1, introduce(Default::default())), []);
    let sealed = card.seal(KEY, (MEETING, MeetSide::Caller, 5));
    assert!(two.give(1, introduce(sealed)).contains(&MeetPacket::Heard { nonce }));
}
