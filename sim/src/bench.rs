//! A bench to try nodes on: an in-memory host for a handful of them.

use alloc::vec::Vec;
use core::net::SocketAddr;

use bytes::Bytes;
use servent_core::id::Sha1;
use servent_core::node::{Answer, Command, Config, FileInfo, Input, Message, Node};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::trace::{NodeId, Record};
use servent_core::unicast::Order;

use crate::act::At;
use crate::links::datagram::Link;
use crate::queue::{Fault, Profile, Queue, Scenario};
use crate::world::World;

/// A few nodes, the wires between them, and a clock that runs as fast as it
/// can.
///
/// Every node is the one the program runs; the bench does what a host does:
/// it dials, carries bytes and datagrams, keeps files and disks, and runs
/// timers. Contents of files are virtual, so their sizes cost nothing.
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
/// Whatever makes no sense panics with a sentence: a node that another bench
/// has made, a file that nobody shares, two nodes of one name.
#[derive(Debug, Clone)]
pub struct Bench {
    world: World<Queue>,
    dice: Rng,
    records: Vec<Record>,
}

impl Bench {
    /// An empty one. Everything random follows from the seed: the same calls
    /// in the same order give the same run, to the last record.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let (servers, clients) = (Vec::new(), Vec::new());
        let scenario = Scenario { seed, servers, clients, ..Scenario::default() };
        Self { world: World::unchecked(&scenario), dice: Rng::new(seed), records: Vec::new() }
    }

    /// Puts a node on the bench and starts it. Its wires carry a megabyte a
    /// second each way, and are ten milliseconds long.
    ///
    /// # Panics
    /// When there is a node of that name already, or its swarms are switched
    /// on: a bench has no pieces of files ([`crate::swarm`] has).
    pub fn node(&mut self, name: &str, config: Config) -> NodeId {
        let taken = self.world.profiles().iter().any(|profile| profile.name == name);
        assert!(!taken, "there is a node called {name} already");
        let swarms = config.swarm.coordinator.is_some() || config.swarm.client.is_some();
        assert!(!swarms, "{name} is in a swarm, and a bench has no pieces of files");
        self.between(|world| world.add(name, config))
    }

    /// Gives a node other wires: bytes a second up and down, and how long it
    /// takes to the middle of the network.
    ///
    /// # Panics
    /// When there is no such node, or a wire carries nothing.
    pub fn wires(&mut self, node: NodeId, up: u64, down: u64, latency: Duration) {
        let name = &self.profile(node).name;
        assert!(up > 0 && down > 0, "the wires of {name} carry nothing");
        let profile = self.world.profile_mut(node);
        (profile.up, profile.down, profile.latency) = (up, down, latency);
    }

    /// What happens to datagrams from now on, between any two nodes. The way
    /// of both ends' wires is added.
    ///
    /// # Panics
    /// When a ratio is more than one or of 0, or a time is out of its range.
    pub fn datagrams(&mut self, link: Link) {
        if let Err(wrong) = link.check() {
            panic!("{wrong}")
        }
        self.world.set_datagrams(link);
    }

    /// Where a node listens: for commands that name an address.
    ///
    /// # Panics
    /// When there is no such node.
    #[must_use]
    pub fn address(&self, node: NodeId) -> SocketAddr {
        self.profile(node).at
    }

    /// A node shares a file of so many bytes from now on; its SHA-1.
    ///
    /// # Panics
    /// When there is no such node, or it shares a file of that name already.
    pub fn share(&mut self, node: NodeId, name: &str, size: u64) -> Sha1 {
        let here = &self.profile(node).name;
        assert!(self.shared(node, name).is_none(), "{here} shares a file called {name} already");
        let sha1 = Sha1(self.dice.fork("file", self.world.files().len() as u64).bytes());
        let file = self.world.add_file(node, name, size, sha1);
        self.between(|world| world.give(node.0, Input::Shared(file), None));
        sha1
    }

    /// A node downloads a file of another one, by its name.
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
        self.command(node, Command::Get(get));
    }

    /// A node sends a message to another one, in order with the others. Both
    /// need `datagrams` in their configuration.
    ///
    /// # Panics
    /// When there is no such node, the sender is down, datagrams are switched
    /// off at either end, or the sender's configuration does not allow a
    /// message so long or another peer.
    pub fn send(&mut self, node: NodeId, to: NodeId, data: impl Into<Bytes>) {
        for end in [node, to] {
            let Profile { name, config, .. } = self.profile(end);
            let on = config.datagrams.is_some();
            assert!(on, "{name} has no datagrams: set `datagrams` in its configuration");
        }
        self.must_be_up(node);
        let message = Message { order: Order::InOrder, data: data.into() };
        self.between(|world| world.send_message(node.0, to, message));
    }

    /// Gives a node a command of its user. Its [`answers`](Self::answers) come
    /// as the clock runs.
    ///
    /// # Panics
    /// When there is no such node, or it is down.
    pub fn command(&mut self, node: NodeId, command: Command) {
        self.must_be_up(node);
        self.between(|world| world.give(node.0, Input::Command(command), None));
    }

    /// Something goes wrong, a microsecond from now.
    ///
    /// # Panics
    /// When it names a node that there is not.
    pub fn fault(&mut self, fault: Fault) {
        let at = self.world.now();
        self.world.inject(At { at, act: fault });
    }

    /// Lets so much time pass.
    pub fn run_for(&mut self, time: Duration) {
        let until = self.world.now() + time;
        self.world.run_until(until, &mut self.records);
    }

    /// Runs until something is true, at most for so long; whether it is.
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

    /// The clock of the bench; it began at zero.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.world.now()
    }

    /// A node, to look at; `None` while it is down.
    ///
    /// # Panics
    /// When there is no such node.
    #[must_use]
    pub fn look(&self, node: NodeId) -> Option<&Node> {
        self.world.node(node)
    }

    /// How many downloads of a node are whole.
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

    /// Messages that were delivered to a node so far, in their order.
    ///
    /// # Panics
    /// When there is no such node.
    #[must_use]
    pub fn delivered(&self, node: NodeId) -> &[Bytes] {
        self.world.delivered(node)
    }

    /// What a node told its user so far.
    ///
    /// # Panics
    /// When there is no such node.
    #[must_use]
    pub fn answers(&self, node: NodeId) -> &[Answer] {
        self.world.answers(node)
    }

    /// Takes everything that was recorded since this was called last, and keeps
    /// it no more: for a bench that runs for long.
    pub fn take_records(&mut self) -> Vec<Record> {
        core::mem::take(&mut self.records)
    }

    /// Everything that was recorded, and not taken yet.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The fingerprint of everything that was recorded: equal on every
    /// machine for the same seed and the same calls.
    #[must_use]
    pub const fn digest(&self) -> u64 {
        self.world.digest()
    }

    fn between<T>(&mut self, act: impl FnOnce(&mut World<Queue>) -> T) -> T {
        self.world.between(&mut self.records, act)
    }

    fn profile(&self, node: NodeId) -> &Profile {
        let _ = self.world.node(node); // Says so when there is none.
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
