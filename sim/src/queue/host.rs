//! What a world keeps for each of its nodes.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use bytes::Bytes;

use super::disk::Disk;
use super::scenario::Scenario;
use super::versions::{FileEdition, VersionMark};
use crate::links::stream::{LinkRef, Side};
use servent_core::id::{ConnId, FetchId, FileIndex, Sha1};
use servent_core::node::{
    Config, DownloadSource, FileInfo, Get, NodeAnswer, RunBit, UnicastMessage,
};
use servent_core::queue::{Dialect, FileKey};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::trace::Causes;

/// The port every node listens on.
pub(super) const PORT: u16 = 6346;

/// The role of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It shares.
    Server,
    /// It downloads.
    Client,
}

/// The constant properties of a node.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// The address it listens on.
    pub at: SocketAddr,
    /// The queueing dialect of its downloads.
    pub dialect: Dialect,
    pub(crate) config: Arc<Config>,
    pub(crate) up: u64,
    pub(crate) down: u64,
    pub(crate) latency: Duration,
    pub(super) arrives: Instant,
    pub(super) firewalled: bool,
    pub(super) corrupt: bool,
    pub(super) mark: VersionMark,
    pub(super) get: Option<Get>,
    /// Its files, by their indices in the plan.
    pub(super) shares: Vec<u32>,
}

/// A world's plan: everything about it that never changes.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) scenario: Scenario,
    pub(super) profiles: Vec<Profile>,
    pub(super) files: Vec<FileInfo>,
    pub(super) addresses: BTreeMap<IpAddr, u32>,
    pub(super) dice: Rng,
}

impl Plan {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let dice = Rng::new(scenario.seed);
        let files = files(scenario);
        let mut profiles = Vec::with_capacity(scenario.nodes() as usize);
        for (i, server) in scenario.servers.iter().enumerate() {
            let config = Arc::new(Config { queue: server.queue, ..Config::default() });
            profiles.push(Profile {
                name: numbered(&server.name, i, scenario.servers.len()),
                role: Role::Server,
                at: address(0, if scenario.has_one_address() { 0 } else { i }),
                dialect: config.dialect,
                config,
                up: server.up,
                down: u64::MAX,
                latency: server.latency,
                arrives: Instant::ZERO,
                firewalled: false,
                corrupt: server.corrupt,
                mark: server.mark,
                get: None,
                shares: (0..files.len() as u32).collect(),
            });
        }
        let mut servers: Vec<SocketAddr> = profiles.iter().map(|p| p.at).collect();
        servers.truncate(if scenario.has_one_address() { 1 } else { servers.len() });
        for (g, group) in scenario.clients.iter().enumerate() {
            let mut arrivals = dice.fork("arrivals", g as u64);
            let mut get = get(&files[g], &servers, &group.servers);
            get.sha1 = get.sha1.filter(|_| !group.by_name);
            let mut config =
                Config { dialect: group.dialect, callable: group.callable, ..Config::default() };
            config.fetch.place.shortest = group.wait;
            let config = Arc::new(config);
            for i in 0..group.count as usize {
                let late = Duration::from_micros(arrivals.between(0, group.jitter.as_micros()));
                profiles.push(Profile {
                    name: numbered(&group.name, i, group.count as usize),
                    role: Role::Client,
                    at: address(1, profiles.len()),
                    dialect: group.dialect,
                    config: Arc::clone(&config),
                    up: group.up,
                    down: group.down,
                    latency: group.latency,
                    arrives: Instant::ZERO + group.first + group.spacing.ratio(i as u64, 1) + late,
                    firewalled: group.firewalled,
                    corrupt: false,
                    mark: VersionMark::default(),
                    get: Some(get.clone()),
                    shares: Vec::new(),
                });
            }
        }
        let addresses = profiles.iter().enumerate().map(|(i, p)| (p.at.ip(), i as u32)).collect();
        Self { scenario: scenario.clone(), profiles, files, addresses, dice }
    }

    pub(super) fn profile(&self, host: u32) -> &Profile {
        &self.profiles[host as usize]
    }
}

/// `name`, with a number if there are several.
fn numbered(name: &str, i: usize, of: usize) -> String {
    if of == 1 { String::from(name) } else { format!("{name}-{}", i + 1) }
}

pub(super) fn address(net: u8, i: usize) -> SocketAddr {
    let [_, high, mid, low] = (i as u32 + 1).to_be_bytes();
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10 + high, net, mid, low)), PORT)
}

/// The files of a scenario, one for each group of clients.
pub(super) fn files(scenario: &Scenario) -> Vec<FileInfo> {
    let dice = Rng::new(scenario.seed);
    scenario.clients.iter().enumerate().map(|(i, g)| file(&dice, i, g.size)).collect()
}

fn file(dice: &Rng, i: usize, size: u64) -> FileInfo {
    let sha1 = Sha1(dice.fork("file", i as u64).bytes());
    file_of(i as u32, format!("file-{}.bin", i + 1), size, sha1)
}

/// A file as its owner describes it.
pub(super) fn file_of(index: u32, name: String, size: u64, sha1: Sha1) -> FileInfo {
    let [a, b, c, d, e, f, g, h, ..] = sha1.0;
    let key = FileKey(u64::from_be_bytes([a, b, c, d, e, f, g, h]));
    FileInfo {
        index: FileIndex(index),
        name,
        size,
        sha1: Some(sha1),
        key,
        modified: None,
        tree: None,
        run: RunBit(false),
    }
}

fn get(file: &FileInfo, servers: &[SocketAddr], chosen: &[u32]) -> Get {
    let chosen: Vec<SocketAddr> =
        chosen.iter().filter_map(|s| servers.get(*s as usize)).copied().collect();
    get_of(file, if chosen.is_empty() { servers } else { &chosen })
}

/// The request for a file from some servers.
pub(super) fn get_of(file: &FileInfo, servers: &[SocketAddr]) -> Get {
    let ask = |at: &SocketAddr| DownloadSource {
        at: *at,
        target: format!("/get/{}/{}", file.index.0, file.name),
        host: format!("{at}"),
    };
    Get { name: file.name.clone(), sha1: file.sha1, sources: servers.iter().map(ask).collect() }
}

impl Profile {
    /// A node on a bench.
    pub(super) fn new(name: &str, number: usize, config: Config, arrives: Instant) -> Self {
        Self {
            name: name.into(),
            role: Role::Client,
            at: address(1, number),
            dialect: config.dialect,
            config: Arc::new(config),
            up: 1_000_000,
            down: 1_000_000,
            latency: Duration::from_millis(10),
            arrives,
            firewalled: false,
            corrupt: false,
            mark: VersionMark::default(),
            get: None,
            shares: Vec::new(),
        }
    }
}

/// A node's surroundings: connections, a disk, downloads.
#[derive(Debug, Clone)]
pub struct Machine {
    pub(super) firewalled: bool,
    pub(super) conns: BTreeMap<ConnId, (LinkRef, Side)>,
    pub(super) accepted: u64,
    pub(super) dialed: u16,
    pub(super) disk: Disk,
    /// Which version the files that it shares are in.
    pub(super) edition: FileEdition,
    /// Transfers it sends, and those it receives.
    pub(super) sending: Vec<(LinkRef, Side)>,
    pub(super) receiving: Vec<(LinkRef, Side)>,
    pub(super) causes: Causes,
    pub(super) fetches: Vec<FetchId>,
    pub(super) finished: u32,
    pub(super) failed: u32,
    /// Its answers to its user, in order.
    pub(super) answers: Vec<NodeAnswer>,
    /// Messages that were delivered.
    pub(super) delivered: Vec<Bytes>,
    /// Messages that wait for room, by peer.
    pub(super) unsent: BTreeMap<SocketAddr, Vec<UnicastMessage>>,
}

impl Machine {
    pub(super) fn new(firewalled: bool) -> Self {
        Self {
            firewalled,
            conns: BTreeMap::new(),
            accepted: 0,
            dialed: 0,
            disk: Disk::default(),
            edition: FileEdition::default(),
            sending: Vec::new(),
            receiving: Vec::new(),
            causes: Causes::default(),
            fetches: Vec::new(),
            finished: 0,
            failed: 0,
            answers: Vec::new(),
            delivered: Vec::new(),
            unsent: BTreeMap::new(),
        }
    }
}
