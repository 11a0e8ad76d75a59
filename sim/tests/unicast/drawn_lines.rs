//! Lines drawn by chance: on each everything arrives, at no less than 60 % of what
//! its rate and loss allow.

use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::unicast::Congestion;
use servent_sim::unicast::DatagramLink;
use servent_sim::unicast::line::{Blackout, FlowReport, LineWorld};

use crate::random::number;

/// The path is being found until then.
const WARM: u64 = 5;
/// The application has nothing more to send from then on.
const STOPS: u64 = 10;
/// The line has carried by then what its senders had buffered.
const HORIZON: u64 = 40;
/// Of a hundred that rate and loss allow, so many must arrive.
const FLOOR: u64 = 60;
/// And of a hundred of its share, so many for ours beside another one.
const LEAST: u64 = 20;
/// Seconds of the line that a sender buffers: twice what the longest carries in two
/// round trips, with its buffer.
const SENDER: u64 = 4;
/// The smallest buffer of a line that people have, in bytes.
const BUFFER: u64 = 8 * 1_500;

/// A line of 1 to 16 Mbit/s: what a node does depends on its round trips, and a fast
/// one costs more time. Ours is the first flow; on one of four lines another one
/// of ours, or one with CUBIC, crosses it as well.
pub(crate) fn draw(seed: u64) -> LineWorld {
    let mut dice = Rng::new(seed).fork("drawn line", 0);
    let faster = if dice.chance(1, 8) { 4 } else { 1 };
    let (mbit, round_trip) = (faster * dice.between(1, 4), dice.between(2, 250));
    let mut world = LineWorld::new(mbit, round_trip, dice.between(10, 300));
    world.link.queue = world.link.queue.max(BUFFER);
    if dice.chance(1, 2) {
        world = world.losing(dice.between(1, 50));
    }
    if dice.chance(1, 4) {
        let bursts = (dice.between(200, 2_000), dice.between(2, 10));
        world.blackouts = draw_bursts(&mut dice, &world.link, bursts);
    }
    if dice.chance(1, 3) {
        world.link.reorder = (dice.between(1, 50), 1_000);
        world.link.late = Duration::from_millis(dice.between(1, 20));
    }
    if dice.chance(1, 4) {
        world.link.duplicate = (dice.between(1, 20), 1_000);
    }
    let flows: &[Congestion] = match dice.below(8) {
        0 => &[Congestion::Bbr, Congestion::Bbr],
        1 => &[Congestion::Bbr, Congestion::Cubic],
        _ => &[Congestion::Bbr],
    };
    world = world.with_flows(flows);
    world.flows.iter_mut().for_each(|flow| flow.stops = Instant::from_secs(STOPS));
    let buffered = world.link.rate * SENDER;
    (world.config.send_bytes, world.config.send_start) = (buffered, buffered);
    LineWorld { seed, ..world.lasting(WARM, HORIZON) }
}

/// Times in which everything is lost, as long as the line takes for so many datagrams and
/// as far apart. They are times, because a burst that is counted in datagrams lasts for as
/// long as a sender waits that has lost everything in it.
fn draw_bursts(dice: &mut Rng, link: &DatagramLink, (apart, long): (u64, u64)) -> Vec<Blackout> {
    let one = u64::from(link.mtu) * 1_000_000 / link.rate;
    let (mut bursts, mut at) = (Vec::new(), Instant::ZERO);
    let end = Instant::from_secs(HORIZON);
    while at < end {
        let from = at + Duration::from_micros(one * dice.between(1, 2 * apart));
        at = from + Duration::from_micros(one * dice.between(1, 2 * long));
        bursts.push(Blackout { from, until: at });
    }
    bursts
}

/// Bytes that the line may carry while it is measured.
fn allowed(LineWorld { link, blackouts, .. }: &LineWorld) -> u64 {
    let (begin, end) = (Instant::from_secs(WARM), Instant::from_secs(STOPS));
    let dark = |it: &Blackout| it.until.min(end).since(it.from.max(begin)).as_micros();
    let bright = end.since(begin).as_micros() - blackouts.iter().map(dark).sum::<u64>();
    link.rate * bright / 1_000_000 * (1_000 - link.loss.0) / 1_000
}

/// What does not hold on the line of this seed.
fn fault(seed: u64) -> Option<String> {
    let world = draw(seed);
    let mut rest = None;
    let report = world.run_with(|_, sender| rest = Some((sender.last, sender.highest_acked)));
    let flow = &report.flows[0];
    if flow.ended.is_some() {
        return Some(format!("it ended: {flow:?}"));
    }
    let measured = |flow: &FlowReport| {
        flow.tenths[(WARM * 10) as usize..(STOPS * 10) as usize].iter().sum::<u64>()
    };
    let each: Vec<u64> = report.flows.iter().map(measured).collect();
    let (bytes, allowed) = (each.iter().sum::<u64>(), allowed(&world));
    if bytes * 100 < allowed * FLOOR {
        return Some(format!("{} % of what it allows", bytes * 100 / allowed));
    }
    if each[0] * 100 < allowed * LEAST / each.len() as u64 {
        return Some(format!("{} % beside {} %", each[0] * 100 / allowed, each[1] * 100 / allowed));
    }
    let whole = rest.is_some_and(|(last, acknowledged)| last > 0 && last == acknowledged);
    (!whole).then(|| format!("not everything arrives: {rest:?}, {flow:?}"))
}

/// Runs so many lines at once.
fn judge(seeds: std::ops::Range<u64>, threads: u64) {
    let part = |first: u64| -> Vec<u64> {
        let mine = (seeds.start + first..seeds.end).step_by(threads as usize);
        let failed = mine.filter_map(|seed| Some((seed, fault(seed)?)));
        let told = failed.map(|(seed, fault)| {
            let LineWorld { link, flows, .. } = draw(seed);
            println!("the drawn line {seed}, {} flows: {fault}: {link:?}", flows.len());
            seed
        });
        told.collect()
    };
    let failed: Vec<u64> = std::thread::scope(|scope| {
        let part = &part;
        let all: Vec<_> = (0..threads).map(|n| scope.spawn(move || part(n))).collect();
        all.into_iter().flat_map(|one| one.join().expect("no world panics")).collect()
    });
    assert_eq!(failed, [0; 0], "lines on which it does not hold");
}

#[test]
fn on_twenty_drawn_lines_everything_arrives_at_a_fair_rate() {
    judge(1..21, 1);
}

#[test]
#[ignore = "run by `cargo xtask campaign`: it takes minutes"]
fn on_ten_thousand_drawn_lines_everything_arrives_at_a_fair_rate() {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let from = number("LINES_FROM", 1);
    judge(from..from + number("LINES", 10_000), threads);
}
