//! The preset scenarios of swarms.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::scenario::{Habit, PeerGroup, Scenario, SwarmVariant};
use servent_core::swarm::{Config, SwarmPolicy};
use servent_core::time::Duration;

fn scenario(id: &str, title: &str, text: &str, clients: Vec<PeerGroup>) -> Scenario {
    let (id, title, text) = (String::from(id), String::from(title), String::from(text));
    let variant = |name, policy| SwarmVariant { name: String::from(name), policy };
    let variants = vec![
        variant("adaptive", SwarmPolicy::Adaptive),
        variant("seed2004", SwarmPolicy::Seed2004),
    ];
    let swarm = Config { explain: true, ..Config::default() };
    let horizon = Duration::from_secs(30);
    Scenario { id, title, text, clients, variants, swarm, horizon, ..Scenario::default() }
}

fn honest(count: u32) -> PeerGroup {
    PeerGroup { count, ..PeerGroup::default() }
}

/// All presets, in the order in which they teach best.
#[must_use]
pub fn all() -> Vec<Scenario> {
    vec![
        two_for_one(),
        free_piece(),
        deadlock(),
        rarest_first(),
        firewalls(),
        liar(),
        flash_crowd(),
    ]
}

/// A preset by its id.
#[must_use]
pub fn find(id: &str) -> Option<Scenario> {
    all().into_iter().find(|scenario| scenario.id == id)
}

fn free_piece() -> Scenario {
    let late = PeerGroup { first: Duration::from_secs(8), ..honest(1) };
    scenario(
        "free-piece",
        "The free piece",
        "A newcomer has nothing to give and gets its first piece for nothing. From then on it earns.",
        vec![honest(2), late],
    )
}

fn two_for_one() -> Scenario {
    let text = "One upload earns two downloads, a client that has not earned is stalled. The stalled \
                are the first to be asked for pieces, so they earn again.";
    let mut it = scenario("two-for-one", "Two for one", text, vec![honest(3)]);
    it.swarm.policy = SwarmPolicy::Seed2004;
    it.variants.reverse();
    (it.pieces, it.source_slots, it.seed) = (8, 2, 4);
    it
}

fn deadlock() -> Scenario {
    let text = "All are stalled, and no other client needs what they have. Under the rules \
                of 2004 the swarm stands still for ever; under the adaptive ones no slot that \
                a client could use stays idle, and it finishes.";
    let mut it = scenario("deadlock", "The rules that deadlock", text, vec![honest(16)]);
    it.swarm.policy = SwarmPolicy::Seed2004;
    it.variants.reverse();
    it.source_slots = 4;
    it.horizon = Duration::from_secs(180);
    it
}

fn rarest_first() -> Scenario {
    let text = "The source sends every piece once, and the client with the newest passes it on. So \
                each piece doubles every round.";
    let mut it = scenario("rarest-first", "Rarest first", text, vec![honest(64)]);
    it.pieces = 64;
    it.horizon = Duration::from_secs(90);
    it
}

fn firewalls() -> Scenario {
    let closed = PeerGroup { firewalled: true, ..honest(8) };
    let text = "Half of the clients cannot be connected to and do not know it. After five failed \
                connects they are passive, and connect themselves.";
    let title = "Half the swarm behind firewalls";
    let mut it = scenario("firewalls", title, text, vec![honest(8), closed]);
    (it.pieces, it.horizon) = (32, Duration::from_secs(90));
    it
}

fn liar() -> Scenario {
    let bad = PeerGroup { habit: Habit::Corrupt, ..honest(1) };
    let text = "One client sends wrong bytes. Three others report it, and no client asks it again.";
    let mut it = scenario("liar", "A liar", text, vec![honest(12), bad]);
    (it.pieces, it.horizon) = (24, Duration::from_secs(45));
    it
}

fn flash_crowd() -> Scenario {
    let text = "A thousand clients come at once. The source sends the file once, the crowd does \
                the rest.";
    let mut it = scenario("flash-crowd", "The flash crowd", text, vec![honest(1_000)]);
    it.pieces = 64;
    it.horizon = Duration::from_secs(100);
    it.swarm.explain = false;
    it
}
