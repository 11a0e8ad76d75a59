//! What the recording of a room says about what its class did.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use serde::Serialize;
use servent_core::fetch;
use servent_core::id::{ConnId, FetchId, Guid};
use servent_core::node::{ConnEvent, Event};
use servent_core::queue;
use servent_core::time::{Duration, Instant};
use servent_core::trace::again::{Again, ReplayStep};
use servent_core::trace::player::Player;
use servent_core::trace::players::Players;
use servent_core::wire::gnutella::MessageKind;

use crate::routing::{ObservedOverlay, fate};

/// A page without a new input for so long is gone.
const GONE: Duration = Duration::from_secs(60);

/// The names of the facts.
pub const NAMES: [&str; 9] = [
    "servents",
    "unheard",
    "farthest",
    "dropped",
    "overtaken",
    "idle",
    "asked",
    "handed",
    "without",
];

/// What happened. A fact is absent when nothing of its kind happened: where no node
/// searched, none has missed a search.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Facts(BTreeMap<&'static str, f64>);

impl FromIterator<(&'static str, f64)> for Facts {
    fn from_iter<T: IntoIterator<Item = (&'static str, f64)>>(all: T) -> Self {
        Self(all.into_iter().collect())
    }
}

impl Facts {
    /// Of all recordings in a file, from an instant on.
    #[must_use]
    pub fn from_recording(recording: &[u8], since: Instant) -> Self {
        let mut players = Players::default();
        players.append(recording);
        let tapes = players.all();
        let mut nodes: BTreeMap<Guid, ServentFacts> = BTreeMap::new();
        for told in tapes.iter().filter_map(|player| ServentFacts::from_player(player, since)) {
            // A page that was opened again is the same servent on another tape.
            match nodes.get_mut(&told.servent) {
                Some(known) => known.join(told),
                None => drop(nodes.insert(told.servent, told)),
            }
        }
        let nodes: Vec<ServentFacts> = nodes.into_values().collect();
        let mut facts = Self::default();
        facts.set("servents", nodes.len() as f64);
        facts.search(&nodes);
        facts.line(&nodes);
        facts.film(&nodes);
        facts
    }

    /// A fact by its name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    fn set(&mut self, name: &'static str, value: f64) {
        self.0.insert(name, value);
    }

    /// The question of a page that most have heard.
    fn search(&mut self, nodes: &[ServentFacts]) {
        let there =
            |node: &&ServentFacts, at| node.from <= at && at <= node.until.max(node.from) + GONE;
        let reach = |(guid, at): &(Guid, Instant)| {
            nodes.iter().filter(|n| there(n, *at) && n.heard.contains_key(guid)).count()
        };
        let asked = nodes.iter().filter(|node| node.is_page).flat_map(|node| &node.asked);
        let Some(widest) = asked.max_by_key(|asked| reach(asked)) else { return };
        let (guid, at) = widest;
        let here = nodes.iter().filter(|node| there(node, *at)).count();
        self.set("unheard", (here - reach(widest)) as f64);
        let heard = || nodes.iter().filter_map(|node| node.heard.get(guid));
        self.set("farthest", f64::from(heard().map(|heard| heard.steps).max().unwrap_or(0)));
        self.set("dropped", heard().map(|heard| f64::from(heard.dropped)).sum());
    }

    /// The line at the servent of the room.
    fn line(&mut self, nodes: &[ServentFacts]) {
        let Some(host) = nodes.iter().find(|node| !node.is_page && node.line.started > 1) else {
            return;
        };
        self.set("overtaken", f64::from(host.line.overtaken));
        self.set("idle", host.line.idle as f64 / 1e6);
    }

    /// The nodes that have what was wanted, and their sources.
    fn film(&mut self, nodes: &[ServentFacts]) {
        let wants = || nodes.iter().filter(|node| node.is_page && node.wanted);
        let asked = wants().count();
        if asked == 0 {
            return;
        }
        self.set("asked", asked as f64);
        self.set("handed", wants().filter(|node| node.done && node.from_page).count() as f64);
        self.set("without", wants().filter(|node| !node.done).count() as f64);
    }
}

/// How a question was heard: after how many steps first, and how many copies of it
/// were dropped.
#[derive(Debug, Clone, Copy, Default)]
struct QueryReception {
    steps: u8,
    dropped: u32,
}

/// What one servent tells.
#[derive(Debug)]
struct ServentFacts {
    servent: Guid,
    is_page: bool,
    from: Instant,
    until: Instant,
    asked: Vec<(Guid, Instant)>,
    heard: BTreeMap<Guid, QueryReception>,
    line: PeopleLine,
    wanted: bool,
    done: bool,
    from_page: bool,
    dialed: BTreeMap<ConnId, SocketAddr>,
    by_page: BTreeSet<FetchId>,
}

impl ServentFacts {
    fn from_player(player: &Player, since: Instant) -> Option<Self> {
        let start = player.start()?;
        let (mut again, mut gathered) = (Again::new(start), ObservedOverlay::default());
        let (from, _) = player.given(0)?;
        let mut told = Self {
            servent: Guid([0; 16]),
            is_page: start.config.agent.contains("(tab)"),
            from,
            until: player.frontier(),
            asked: Vec::new(),
            heard: BTreeMap::new(),
            line: PeopleLine::default(),
            wanted: false,
            done: false,
            from_page: false,
            dialed: BTreeMap::new(),
            by_page: BTreeSet::new(),
        };
        again.go_on(player, |step| {
            gathered.observe(step);
            told.observe(step, since);
        });
        told.servent = again.node().servent();
        let passed =
            gathered.passed().iter().filter(|it| it.kind == MessageKind::Query && it.at >= since);
        for passed in passed {
            if passed.ours {
                if passed.hops == 0 && !told.heard.contains_key(&passed.guid) {
                    told.asked.push((passed.guid, passed.at));
                    told.heard.insert(passed.guid, QueryReception::default());
                }
                continue;
            }
            let steps = passed.hops.saturating_add(1);
            let heard =
                told.heard.entry(passed.guid).or_insert(QueryReception { steps, dropped: 0 });
            heard.dropped += u32::from((fate::DROPPED..fate::LOST).contains(&passed.fate));
        }
        Some(told)
    }

    fn join(&mut self, later: Self) {
        self.from = self.from.min(later.from);
        self.until = self.until.max(later.until);
        self.asked.extend(later.asked);
        for (guid, heard) in later.heard {
            self.heard.entry(guid).or_insert(heard);
        }
        self.wanted |= later.wanted;
        self.done |= later.done;
        self.from_page |= later.from_page;
        if later.line.started > self.line.started {
            self.line = later.line;
        }
    }

    fn observe(&mut self, step: &ReplayStep<'_>, since: Instant) {
        for (_, event) in step.events() {
            match event {
                Event::Conn(ConnEvent::Dialing { conn, to }) => {
                    self.dialed.insert(*conn, *to);
                }
                Event::Queue(event) => self.line.observe(step.at, event, since),
                Event::Fetch(event) if step.at >= since => self.got(event),
                _ => {}
            }
        }
    }

    fn got(&mut self, event: &fetch::Event) {
        match event {
            fetch::Event::Begun { .. } => self.wanted = true,
            fetch::Event::Receiving { fetch, conn, .. }
                if self.dialed.get(conn).is_some_and(|to| is_page(to.ip())) =>
            {
                self.by_page.insert(*fetch);
            }
            fetch::Event::Done { fetch, .. } => {
                self.done = true;
                self.from_page |= self.by_page.contains(fetch);
            }
            _ => {}
        }
    }
}

/// Where pages are called: addresses that no host on earth has.
fn is_page(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V4(ip) if matches!(ip.octets()[0], 240..=254))
}

/// A line of people who wait for uploads.
#[derive(Debug, Default)]
struct PeopleLine {
    /// Who waits, by arrival.
    waiting: BTreeMap<u64, Guid>,
    /// Slots are free since then, while a client waits.
    free: Option<Instant>,
    started: u32,
    overtaken: u32,
    /// The longest time for which a slot was free while a client waited, in microseconds.
    idle: u64,
}

impl PeopleLine {
    fn observe(&mut self, at: Instant, event: &queue::Event, since: Instant) {
        use queue::Event as Of;
        match event {
            Of::Arrived { ticket, arrival, .. }
            | Of::Returned { ticket, arrival, .. }
            | Of::Moved { ticket, arrival, .. }
            | Of::Restored { ticket, arrival, .. } => {
                self.waiting.retain(|_, waits| waits != ticket);
                self.waiting.insert(*arrival, *ticket);
            }
            Of::Lost { ticket, .. } => self.waiting.retain(|_, waits| waits != ticket),
            Of::Started { ticket, free, .. } => {
                let mine = self.waiting.iter().find(|(_, waits)| *waits == ticket);
                let mine = mine.map_or(u64::MAX, |(arrival, _)| *arrival);
                self.waiting.remove(&mine);
                if at >= since {
                    self.started += 1;
                    self.overtaken += u32::from(self.waiting.keys().any(|first| *first < mine));
                    let empty = self.free.map_or(0, |from| at.since(from).as_micros());
                    self.idle = self.idle.max(empty);
                }
                self.free = (*free > 0 && !self.waiting.is_empty()).then_some(at);
            }
            Of::Finished { free, .. } | Of::Unreserved { free, .. } => {
                let empty = *free > 0 && !self.waiting.is_empty();
                self.free = empty.then_some(self.free.unwrap_or(at));
            }
            _ => {}
        }
    }
}
