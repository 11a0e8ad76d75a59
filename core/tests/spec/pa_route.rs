//! PA-13: a connection leaves the relay for a direct path, of which nothing is known
//! (RFC 9000 §9.4).

use crate::unicast_support;

use std::cell::Cell;
use std::rc::Rc;

use servent_core::time::{Duration, Instant};
use servent_core::unicast::{
    Config, Congestion, DeliveryOrder, Input, Profile, Room, UnicastPayload,
};
use servent_core::wire::unicast::Packet;
use unicast_support::{Fate, World, addr, config, has_data};

/// Bytes a second that the relay passes on, and the most that waits there.
const RELAY: u64 = 250_000;
const QUEUE: u64 = 64 * 1_024;
/// Where the receiver is reached directly.
const DIRECT: usize = 7;
const MESSAGE: u64 = 1_000;

/// A relay that passes on what a side sends at its rate, as long as it is used.
struct SlowRelay {
    used: Rc<Cell<bool>>,
    now: Rc<Cell<Instant>>,
    /// When all that waits is passed on.
    free_at: Instant,
}

impl SlowRelay {
    fn pass(&mut self, packet: &Packet) -> Fate {
        if !self.used.get() || !has_data(packet) {
            return Fate::Pass;
        }
        let now = self.now.get();
        let waits = self.free_at.max(now).since(now);
        if waits.as_micros() * RELAY / 1_000_000 > QUEUE {
            return Fate::Drop;
        }
        self.free_at = self.free_at.max(now) + Duration::from_micros(1_200 * 1_000_000 / RELAY);
        Fate::Late(waits)
    }
}

/// A sender whose messages reach the receiver through a relay, until they do directly.
struct RoutedTransfer {
    world: World,
    used: Rc<Cell<bool>>,
    now: Rc<Cell<Instant>>,
    left: u64,
}

impl RoutedTransfer {
    fn new(congestion: Congestion, messages: u64) -> Self {
        let config =
            Config { congestion, mtu: 1_200, trace_messages: false, ..config(Profile::Adaptive) };
        let mut world = World::new(config, 2, 1);
        let (used, now) = (Rc::new(Cell::new(true)), Rc::new(Cell::new(world.now)));
        let mut relay = SlowRelay { used: used.clone(), now: now.clone(), free_at: world.now };
        world.hook(move |_, packet| relay.pass(packet));
        Self { world, used, now, left: messages }
    }

    /// Sends what there is room for.
    fn fill(&mut self) {
        let Room { messages, bytes } = self.world.nodes[0].endpoint.room(addr(1));
        let more = messages.min(bytes / MESSAGE).min(self.left);
        for _ in 0..more {
            let payload = UnicastPayload::from(vec![7; MESSAGE as usize]);
            let order = DeliveryOrder::InOrder;
            self.world.input(0, Input::Send { peer: addr(1), payload, order });
        }
        self.left -= more;
        self.world.flush(0);
    }

    fn run(&mut self, time: Duration, all: usize) {
        let until = self.world.now + time;
        while self.world.nodes[1].got.len() < all && self.world.step(until) {
            self.now.set(self.world.now);
            self.fill();
        }
    }

    fn leave_relay(&mut self) {
        self.used.set(false);
        self.world.nodes[1].addr = addr(DIRECT);
        self.world.input(0, Input::Route { peer: addr(1), to: addr(DIRECT) });
    }
}

#[test]
fn pa_13_what_leaves_a_slow_relay_has_the_rate_of_the_direct_path_at_once() {
    const MESSAGES: u64 = 20_000;
    for congestion in [Congestion::Bbr, Congestion::Cubic] {
        for relayed in [60, 500, 3_000] {
            let mut transfer = RoutedTransfer::new(congestion, MESSAGES);
            transfer.fill();
            transfer.run(Duration::from_millis(relayed), MESSAGES as usize);
            let before = transfer.world.nodes[0].endpoint.counters().resent;
            transfer.leave_relay();
            let left = transfer.world.now;
            transfer.run(Duration::from_secs(60), MESSAGES as usize);
            let took = transfer.world.now.since(left);
            let again = transfer.world.nodes[0].endpoint.counters().resent - before;
            let what = format!("{congestion:?}, after {relayed} ms at the relay");
            assert_eq!(transfer.world.nodes[1].got.len() as u64, MESSAGES, "{what}");
            assert!(took <= Duration::from_millis(250), "{what}: {took:?}");
            assert!(again <= 1, "{what}: {again} messages again");
        }
    }
}

/// A relay that lets a burst pass at once: start-up takes it for the rate of the path.
const RATE: u64 = 2_000_000;
const MOST_WAITS: u64 = 128 * 1_024;
/// How often it looks at what waits.
const TURN: u64 = 2_000;

struct BurstyRelay {
    clock: Rc<Cell<Instant>>,
    begun: Instant,
    saves: Duration,
    free_at: Instant,
}

impl BurstyRelay {
    /// All that the sender says waits in one line.
    fn pass(&mut self, packet: &Packet, world: &Config) -> Fate {
        let mut datagram = Vec::new();
        packet.encode(&world.seal, &mut datagram);
        let now = self.clock.get();
        self.free_at = self.free_at.max(now - self.saves);
        let done = self.free_at + Duration::from_micros(datagram.len() as u64 * 1_000_000 / RATE);
        if done <= now {
            self.free_at = done;
            return Fate::Pass;
        }
        if done.since(now).as_micros() * RATE / 1_000_000 > MOST_WAITS {
            return Fate::Drop;
        }
        self.free_at = done;
        let turn = done.since(self.begun).as_micros().div_ceil(TURN) * TURN;
        Fate::Late(Duration::from_micros(turn - now.since(self.begun).as_micros()))
    }
}

#[test]
fn pa_13_a_burst_that_a_relay_lets_pass_is_not_taken_for_its_rate() {
    const MESSAGES: u64 = 6_000;
    for (burst, delay) in [(16_384, 20), (16_384, 80), (16_384, 300), (32_768, 80), (32_768, 300)] {
        let mut transfer = RoutedTransfer::new(Congestion::Bbr, MESSAGES);
        transfer.world.link.delay = Duration::from_micros(delay);
        let (clock, begun) = (Rc::clone(&transfer.now), transfer.world.now);
        let saves = Duration::from_micros(burst * 1_000_000 / RATE);
        let mut relay = BurstyRelay { clock, begun, saves, free_at: begun };
        let config = transfer.world.config.clone();
        transfer.world.hook(move |from, packet| match from {
            0 => relay.pass(packet, &config),
            _ => Fate::Pass,
        });
        transfer.fill();
        transfer.run(Duration::from_secs(60), MESSAGES as usize);
        let (took, counters) =
            (transfer.world.now.since(begun), transfer.world.nodes[0].endpoint.counters());
        let what = format!("{burst} bytes at once, {delay} us");
        assert!(took <= Duration::from_millis(3_500), "{what}: {took:?}");
        let again = counters.resent * 100 / counters.sent;
        assert!(again <= 20, "{what}: {again} of a hundred again");
    }
}
