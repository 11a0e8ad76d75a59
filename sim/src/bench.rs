//! A test bench: an in-memory host for a few nodes.

use alloc::vec::Vec;
use core::net::SocketAddr;

use bytes::Bytes;
use servent_core::id::Sha1;
use servent_core::node::{
    Config, DiskInput, FetchCommand, FileInfo, Input, Node, NodeAnswer, NodeCommand, UnicastMessage,
};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::trace::{NodeId, Record};
use servent_core::unicast::DeliveryOrder;

use crate::action::At;
use crate::links::datagram::DatagramLink;
use crate::queue::{Fault, Profile, Queue, Scenario};
use crate::world::World;

/// A few nodes, the links between them, and a clock that runs as fast as
/// possible.
///
/// Every node is the one the program runs. The bench does what a host does: it
/// opens connections, carries bytes and datagrams, keeps files and disks, and
/// runs timers. File contents are virtual, so large files cost nothing.
///
/// ```
/// use servent_core::node::Config;
/// use servent_core::time::Duration;
/// use servent_sim::Bench;
///
/// let mut bench = Bench::new(7);
/// let alice = bench.node("alice", Config::default());
/// let bob = bench.node("bob", Config::default());
/// bench.share(alice, "song.ogg", 3_000_000);
/// bench.get(bob, alice, "song.ogg");
/// assert!(bench.run_until(Duration::from_secs(60), |bench| bench.fetched(bob) == 1));
/// ```
///
/// Misuse panics with a sentence: a node of another bench, a file that is not
/// shared, two nodes with one name.
#[derive(Debug, Clone)]
pub struct Bench {
    world: World<Queue>,
    dice: Rng,
    records: Vec<Record>,
}

impl Bench {
    /// An empty bench. Everything random is derived from the seed: the same
    /// calls in the same order give the same run, to the last record.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let (servers, clients) = (Vec::new(), Vec::new());
        let scenario = Scenario { seed, servers, clients, ..Scenario::default() };
        Self { world: World::unchecked(&scenario), dice: Rng::new(seed), records: Vec::new() }
    }

    /// Adds a node to the bench and starts it. Its link carries a megabyte per
    /// second each way, with a latency of ten milliseconds.
    ///
    /// # Panics
    /// When there is a node of that name already, or the node has swarm
    /// services: the bench has no pieces of files ([`crate::swarm`] has).
    pub fn node(&mut self, name: &str, config: Config) -> NodeId {
        let taken = self.world.profiles().iter().any(|profile| profile.name == name);
        assert!(!taken, "there is a node called {name} already");
        let swarms = config.swarm.coordinator.is_some() || config.swarm.client.is_some();
        assert!(!swarms, "{name} is in a swarm, and a bench has no pieces of files");
        self.between(|world| world.add(name, config))
    }

    /// Changes a node's link: bytes per second up and down, and the latency to
    /// the middle of the network.
    ///
    /// # Panics
    /// When there is no such node, or a wire carries nothing.
    pub fn wires(&mut self, node: NodeId, up: u64, down: u64, latency: Duration) {
        let name = &self.profile(node).name;
        assert!(up > 0 && down > 0, "the wires of {name} carry nothing");
        let profile = self.world.profile_mut(node);
        (profile.up, profile.down, profile.latency) = (up, down, latency);
    }

    /// Sets what happens to datagrams from now on, between any two nodes. The
    /// latencies of both nodes' links are added.
    ///
    /// # Panics
    /// When a ratio is more than one or of 0, or a time is out of its range.
    pub fn datagrams(&mut self, link: DatagramLink) {
        if let Err(wrong) = link.check() {
            panic!("{wrong}")
        }
        self.world.set_datagrams(link);
    }

    /// The address a node listens on, for commands that need one.
    ///
    /// # Panics
    /// When there is no such node.
    #[must_use]
    pub fn address(&self, node: NodeId) -> SocketAddr {
        self.profile(node).at
    }

    /// Shares a file of `size` bytes from a node from now on; returns its
    /// SHA-1.
    ///
    /// # Panics
    /// When there is no such node, or it shares a file of that name already.
    pub fn share(&mut self, node: NodeId, name: &str, size: u64) -> Sha1 {
        let here = &self.profile(node).name;
        assert!(self.shared(node, name).is_none(), "{here} shares a file called {name} already");
        let sha1 = Sha1(self.dice.fork("file", self.world.files().len() as u64).bytes());
        let file = self.world.add_file(node, name, size, sha1);
        self.between(|world| world.give(node.0, Input::Disk(DiskInput::Shared(file)), None));
        sha1
    }

    /// Downloads a file from another node, by its name.
    ///
    /// # Panics
    /// When there is no such node, it is down, or the other one shares no
    /// such file.
    pub fn get(&mut self, node: NodeId, from: NodeId, name: &str) {
        let there = &self.profile(from).name;
        let Some(file) = self.shared(from, name) else {
            panic!("{there} shares no file called {name}")
        };
        let get = self.world.get_of(file, from);
        self.command(node, NodeCommand::Fetch(FetchCommand::Get(get)));
    }

    /// Sends a message from a node to another one, in order with earlier ones.
    /// Both need `datagrams` in their configuration.
    ///
    /// # Panics
    /// When there is no such node, the sender is down, datagrams are disabled
    /// at either end, or the sender's configuration does not allow a message of
    /// this length or another peer.
    pub fn send(&mut self, node: NodeId, to: NodeId, data: impl Into<Bytes>) {
        for end in [node, to] {
            let Profile { name, config, .. } = self.profile(end);
            let on = config.datagrams.is_some();
            assert!(on, "{name} has no datagrams: set `datagrams` in its configuration");
        }
        self.must_be_up(node);
        let message = UnicastMessage { order: DeliveryOrder::InOrder, data: data.into() };
        self.between(|world| world.send_message(node.0, to, message));
    }

    /// Passes a user's command to a node. Its [`answers`](Self::answers) come
    /// as the clock runs.
    ///
    /// # Panics
    /// When there is no such node, or it is down.
    pub fn command(&mut self, node: NodeId, command: NodeCommand) {
        self.must_be_up(node);
        self.between(|world| world.give(node.0, Input::Command(command), None));
    }

    /// Injects a fault, which happens in a microsecond.
    ///
    /// # Panics
    /// When it names a node that does not exist.
    pub fn fault(&mut self, fault: Fault) {
        let at = self.world.now();
        self.world.inject(At { at, act: fault });
    }

    /// Runs for this long.
    pub fn run_for(&mut self, time: Duration) {
        let until = self.world.now() + time;
        self.world.run_until(until, &mut self.records);
    }

    /// Runs until `done` returns true, for at most `most`; returns whether it
    /// did.
    pub fn run_until(&mut self, most: Duration, mut done: impl FnMut(&Self) -> bool) -> bool {
        let end = self.world.now() + most;
        loop {
            if done(self) {
                return true;
            }
            if self.world.next_at().is_none_or(|at| at > end) {
                self.world.run_until(end, &mut self.records);
                return done(self);
            }
            self.world.step(&mut self.records);
        }
    }

    /// The clock of the bench; it starts at zero.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.world.now()
    }

    /// A node's engine, for inspection; `None` while it is down.
    ///
    /// # Panics
    /// When there is no such node.
    #[must_use]
    pub fn look(&self, node: NodeId) -> Option<&Node> {
        self.world.node(node)
    }

    /// How many downloads of a node are complete.
    ///
    /// # Panics
    /// When there is no such node.
    #[must_use]
    pub fn fetched(&self, node: NodeId) -> u32 {
        self.world.outcome(node).0
    }

    /// How many downloads of a node have failed.
    ///
    /// # Panics
    /// When there is no such node.
    #[must_use]
    pub fn failed(&self, node: NodeId) -> u32 {
        self.world.outcome(node).1
    }

    /// The messages delivered to a node so far, in order.
    ///
    /// # Panics
    /// When there is no such node.
    #[must_use]
    pub fn delivered(&self, node: NodeId) -> &[Bytes] {
        self.world.delivered(node)
    }

    /// A node's answers to its user so far.
    ///
    /// # Panics
    /// When there is no such node.
    #[must_use]
    pub fn answers(&self, node: NodeId) -> &[NodeAnswer] {
        self.world.answers(node)
    }

    /// Takes and removes everything that was recorded since the last call: for
    /// a bench that runs for long.
    pub fn take_records(&mut self) -> Vec<Record> {
        core::mem::take(&mut self.records)
    }

    /// The records so far that were not taken yet.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The fingerprint of all records: equal on every machine for the same seed
    /// and the same calls.
    #[must_use]
    pub const fn digest(&self) -> u64 {
        self.world.digest()
    }

    fn between<T>(&mut self, act: impl FnOnce(&mut World<Queue>) -> T) -> T {
        self.world.between(&mut self.records, act)
    }

    fn profile(&self, node: NodeId) -> &Profile {
        let _ = self.world.node(node); // Panics with a sentence if there is none.
        &self.world.profiles()[node.0 as usize]
    }

    fn must_be_up(&self, node: NodeId) {
        let name = &self.profile(node).name;
        assert!(self.world.is_up(node), "{name} is down");
    }

    fn shared(&self, node: NodeId, name: &str) -> Option<&FileInfo> {
        self.world.shared_by(node).find(|file| file.name == name)
    }
}
