//! The run of a recorded servent.

use std::net::SocketAddr;

use serde::Deserialize;
use serde_json::{Value, json};
use servent_core::node::{ConnEvent, Node, WorldEvent};
use servent_core::queue::{self, Dialect};
use servent_core::routing;
use servent_core::swarm::{SwarmPolicy, manager};
use servent_core::time::Instant;
use servent_core::trace::player::Player;
use servent_core::trace::qlog::{self, RawRecord};
use servent_core::trace::why::of_event;
use servent_core::trace::{Event, NodeId};
use servent_core::unicast::Profile;
use servent_sim::At;
use servent_sim::queue::{QueueTally, cases, numbers};
use servent_sim::registry::NodeInfo;
use servent_sim::unicast::{Margins, margins};
use wasm_bindgen::{JsError, JsValue};

use super::around::Around;
use super::clients::{Came, Clients};
use super::ends::Ends;
use super::whatif::{self, Branches};
use crate::lab::{
    Cast, Columns, NamedRecord, Pin, PinKind, Verified, Watching, changes, fitting, within,
};
use crate::queue::{QueueOutcome, QueueSlice, QueueState, look};
use crate::value::{QueryResult, give};

/// How many queue entries are shown in a node's state.
const CARDS: u32 = 50;

/// One line of history: what was recorded, or what would have been.
#[derive(Default)]
pub(super) struct Take {
    pub(super) player: Player,
    columns: Columns,
    /// The totals of its queue, and how many records they include.
    tally: Option<(QueueTally, usize)>,
    /// Its datagrams, once they are looked at.
    pub(super) ends: Option<Ends>,
    /// The same for its neighbours, and for the clients it coordinates.
    around: Option<Around>,
    pub(super) clients: Option<Clients>,
}

/// A recording, and what if.
pub(super) struct Recorded {
    /// The line in use.
    pub(super) take: Take,
    pub(super) branches: Branches,
    /// More of it may come at any time.
    grows: bool,
}

impl Take {
    pub(super) fn new(player: Player) -> Self {
        Self { player, ..Self::default() }
    }

    /// What is looked at takes up what is new.
    fn learn(&mut self) {
        if let Some(ends) = &mut self.ends {
            ends.learn(&self.player);
        }
        if let Some(around) = &mut self.around {
            around.learn(&self.player);
        }
        if let Some(clients) = &mut self.clients {
            clients.learn(&self.player);
        }
    }

    /// Gathers what was gathered of another.
    pub(super) fn as_of(&mut self, other: &Self) {
        let player = &self.player;
        self.ends = other.ends.as_ref().and_then(|_| Ends::new(player));
        self.around = other.around.as_ref().and_then(|_| Around::new(player));
        self.clients = other.clients.as_ref().and_then(|_| Clients::new(player));
        self.learn();
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.player.append(bytes);
        self.learn();
    }
}

impl Recorded {
    pub(super) fn new(player: Player) -> Self {
        Self { take: Take::new(player), branches: Branches::default(), grows: false }
    }

    pub(super) const fn player(&self) -> &Player {
        &self.take.player
    }

    /// The recording has grown. What branched off it stays as it was.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.grows = true;
        self.branches.main(&mut self.take).append(bytes);
    }

    /// Its datagrams; `None` when it has none.
    pub(super) fn ends(&mut self) -> Option<&Ends> {
        if self.take.ends.is_none() {
            self.take.ends = Ends::new(&self.take.player);
            self.take.learn();
        }
        self.take.ends.as_ref()
    }

    /// Its neighbours; `None` for a recording without its start.
    pub(super) fn around(&mut self) -> Option<&Around> {
        if self.take.around.is_none() {
            self.take.around = Around::new(&self.take.player);
            self.take.learn();
        }
        self.take.around.as_ref()
    }

    /// The clients of its coordinator; `None` when it is none.
    pub(super) fn clients(&mut self) -> Option<&Clients> {
        if self.take.clients.is_none() {
            self.take.clients = Clients::new(&self.take.player);
            self.take.learn();
        }
        self.take.clients.as_ref()
    }

    /// The coordinator at the cursor.
    pub(super) fn coordinator(&self) -> Option<manager::View> {
        self.take.player.node()?.swarm(u32::MAX).coordinator.map(|half| half.swarm)
    }

    /// The pieces of the coordinator's first file, at the end of the tape.
    pub(super) fn pieces(&self) -> u32 {
        self.take.clients.as_ref().map_or(0, Clients::pieces)
    }

    /// The policy of the coordinator.
    pub(super) fn policy(&self) -> Option<SwarmPolicy> {
        let coordinator = self.take.player.start()?.config.swarm.coordinator.as_ref();
        coordinator.map(|config| config.policy)
    }

    /// The settings of its router.
    pub(super) fn router(&self) -> routing::Config {
        self.take
            .player
            .start()
            .map(|start| start.config.overlay.router.clone())
            .unwrap_or_default()
    }

    /// The names of itself and its neighbours.
    pub(super) fn names(&self) -> Vec<String> {
        let others = self.take.around.iter().flat_map(|around| around.neighbours());
        let others = others.map(SocketAddr::to_string);
        [self.name().to_owned()].into_iter().chain(others).collect()
    }

    /// HA, HS and the windows of one of the ends; of another than its own
    /// nothing is known.
    pub(super) fn margins(&self, end: NodeId) -> Margins {
        let node = self.take.player.node().filter(|_| end == NodeId(0));
        let endpoint = node.and_then(Node::datagrams);
        let of = |peer| {
            let ends = self.take.ends.as_ref()?;
            let peer = ends.place_of(peer);
            let place = ends.peers().iter().position(|at| *at == peer)?;
            Some((NodeId(place as u32 + 1), peer.to_string()))
        };
        let peers = endpoint.map_or_else(Vec::new, |endpoint| margins(endpoint, of));
        Margins { node: end, up: end != NodeId(0) || node.is_some(), stalled: false, peers }
    }

    /// The views that have something to show of it: that with the most events
    /// first.
    pub(super) fn views(&mut self) -> Vec<&'static str> {
        let mut counts = [("queue", 1), ("routing", 0), ("unicast", 0), ("swarm", 0)];
        let records = (0..).map_while(|i| self.take.player.record(i));
        for area in records.filter_map(|record| record.event.split('"').nth(1)) {
            let view = match area {
                "queue" => 0,
                "routing" => 1,
                "unicast" => 2,
                "swarm" | "client" => 3,
                _ => continue,
            };
            counts[view].1 += 1;
        }
        if self.around().is_none_or(|around| around.neighbours().is_empty()) {
            counts[1].1 = 0;
        }
        if self.ends().is_none() {
            counts[2].1 = 0;
        }
        if self.clients().is_none_or(|clients| clients.rows().is_empty()) {
            counts[3].1 = 0;
        }
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts.iter().filter(|(_, count)| *count > 0).map(|(view, _)| *view).collect()
    }

    /// The number it had when it was recorded.
    pub(super) fn id(&self) -> NodeId {
        self.take.player.start().map_or(NodeId(0), |start| start.node)
    }

    pub(super) fn queue(&self, part: QueueSlice) -> QueueState {
        let (view, lanes) = self.take.player.node().map(|n| look(n, part)).unwrap_or_default();
        QueueState { at: self.take.player.now(), queue: view.queue, lanes, ..QueueState::default() }
    }

    /// The totals of its queue at the cursor; `None` for a recording without its
    /// start.
    pub(super) fn totals(&mut self) -> Option<QueueOutcome> {
        let config = &self.take.player.start()?.config;
        let up = (config.queue.bandwidth > 0).then_some(config.queue.bandwidth);
        let begun = || (QueueTally::new(config.queue.slots), 0);
        let (tally, seen) = self.take.tally.get_or_insert_with(begun);
        while let Some(record) = self.take.player.record(*seen) {
            if let Ok(said) = serde_json::from_str::<CountedEvent>(&record.event) {
                tally.observe(record.at, &said.into());
            }
            *seen += 1;
        }
        let now = self.take.player.now();
        let view = self.take.player.node().map(|node| look(node, QueueSlice::Positions(1, 0)).0);
        Some(QueueOutcome::measure(tally.until(now), view.as_ref(), now, up))
    }

    /// What it does as an end of datagrams, and by which profile.
    pub(super) fn part(&self) -> Option<(&'static str, Option<Profile>)> {
        let config = self.take.player.start()?.config.datagrams.as_ref();
        Some((self.take.ends.as_ref()?.role(), config.map(|config| config.profile)))
    }

    /// The ends of its datagrams, senders first.
    fn parties(&self, ends: &Ends) -> Vec<NodeInfo> {
        let config = self.take.player.start().and_then(|start| start.config.datagrams.as_ref());
        let profile = config.map(|config| config.profile);
        let info = |id, name: &str, role| NodeInfo {
            profile,
            ..NodeInfo::new(NodeId(id), name, role, true)
        };
        let own = info(0, self.name(), ends.role());
        let other = |(id, at): (u32, &SocketAddr)| info(id, &at.to_string(), ends.other_role());
        let others = (1..).zip(ends.peers()).map(other);
        if ends.mostly_receives() {
            others.chain([own]).collect()
        } else {
            [own].into_iter().chain(others).collect()
        }
    }

    /// All of its state at the cursor.
    pub(super) fn look(&self) -> QueryResult {
        give(&state(self.take.player.node())?)
    }

    /// The clients, and the coordinator as the last one.
    pub(super) fn members(&self, clients: &Clients) -> Vec<NodeInfo> {
        let client = |(id, came): (u32, &Came)| {
            let name = format!("c{} {}", id + 1, came.peer);
            NodeInfo::new(NodeId(id), &name, "honest", true)
        };
        let mut all: Vec<NodeInfo> = (0..).zip(clients.rows()).map(client).collect();
        let id = NodeId(all.len() as u32);
        all.push(NodeInfo::new(id, self.name(), "coordinator", true));
        all
    }

    /// Where a replay ends to prove anything: at a gap, or behind the last
    /// checkpoint of a recording that does not grow any more.
    pub(super) fn gap(&self) -> Option<Pin> {
        let player = &self.take.player;
        let report = player.report();
        let inputs = report.unverified_inputs;
        let from = report.verified_at.unwrap_or_else(|| self.begun());
        let tail = || Some(from).filter(|_| inputs > 0 && !self.grows);
        let (at, key) = report
            .gap_at
            .map(|at| (at, "trace.gap"))
            .or_else(|| tail().map(|at| (at, "trace.tail")))
            .filter(|_| report.diverged_at.is_none())?;
        let at = at.max(self.begun());
        let seq = player.records_until(at).saturating_sub(1) as u64;
        let args = json!({ "inputs": inputs, "lines": report.damaged });
        Some(Pin { at, seq, kind: PinKind::Gap, key: key.to_owned(), args })
    }

    /// The instant of its first record.
    pub(super) fn begun(&self) -> Instant {
        self.take.player.record(0).map_or(Instant::ZERO, |record| record.at)
    }

    pub(super) fn name(&self) -> &str {
        self.take.player.start().map_or("servent", |s| &s.name)
    }

    pub(super) fn named(&self, i: u32, cast: Cast) -> Option<NamedRecord<'_, Value>> {
        let RawRecord { at, node, cause, event, .. } = self.take.player.record(i as usize)?;
        let mut event = serde_json::from_str(event).unwrap_or_default();
        let node = match cast {
            Cast::All => *node,
            Cast::Ends | Cast::Neighbours => NodeId(0),
            Cast::Clients => {
                self.take.clients.as_ref().map_or(NodeId(0), |clients| clients.rename(&mut event))
            }
        };
        // The page numbers the records it has; on a recording with gaps these are
        // fewer than were numbered when it was written.
        let cause = cause.and_then(|seq| self.take.player.index_of(seq)).map(|i| i as u64);
        let (seq, node_name) = (i.into(), self.name());
        Some(NamedRecord { seq, at: *at, node, cause, event, node_name, who: None })
    }
}

/// The events that count for the totals; parsing all other events too would add
/// half a megabyte to the module.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum CountedEvent {
    Conn(ConnEvent),
    Queue(queue::Event),
    World(WorldEvent),
}

impl From<CountedEvent> for Event {
    fn from(said: CountedEvent) -> Self {
        match said {
            CountedEvent::Conn(event) => Self::Conn(event),
            CountedEvent::Queue(event) => Self::Queue(event),
            CountedEvent::World(event) => Self::World(event),
        }
    }
}

/// A node's state, for display.
fn state(node: Option<&Node>) -> serde_json::Result<Value> {
    serde_json::to_value(node.map(|node| node.view(1, CARDS)))
}

impl Watching for Recorded {
    fn kind(&self) -> &'static str {
        "trace"
    }

    fn scenario(&self) -> QueryResult {
        Ok(JsValue::UNDEFINED)
    }

    fn horizon(&self) -> Instant {
        self.take.player.frontier()
    }

    fn frontier(&self) -> Instant {
        self.take.player.frontier()
    }

    /// A recorded run counts from the epoch, and nothing happened before its
    /// first record, so the cursor starts there.
    fn now(&self) -> Instant {
        self.take.player.now().max(self.begun())
    }

    fn index(&self) -> u32 {
        self.take.player.index() as u32
    }

    fn count(&self) -> u32 {
        self.take.player.count() as u32
    }

    /// A recording is already known.
    fn explore(&mut self, _: u64) -> bool {
        true
    }

    fn advance(&mut self, to: Instant, _: u64) -> Instant {
        self.take.player.seek(to);
        self.now()
    }

    fn seek(&mut self, to: Instant) {
        self.take.player.seek(to);
    }

    fn seek_record(&mut self, i: u32) -> bool {
        self.take.player.seek_record(i as usize)
    }

    fn step(&mut self, forward: bool) -> bool {
        match (forward, self.take.player.index()) {
            (true, i) => self.take.player.seek_record(i),
            (false, 0) => false,
            (false, 1) => {
                let first = self.begun().as_micros();
                self.take.player.seek(Instant::from_micros(first.saturating_sub(1)));
                true
            }
            (false, i) => self.take.player.seek_record(i - 2),
        }
    }

    /// There is only one node.
    fn step_node(&mut self, _: NodeId, forward: bool) -> bool {
        self.step(forward)
    }

    fn size(&self, cast: Cast) -> usize {
        match cast {
            Cast::Ends => 1 + self.take.ends.as_ref().map_or(0, |ends| ends.peers().len()),
            Cast::Neighbours => 1 + self.take.around.as_ref().map_or(0, |a| a.neighbours().len()),
            Cast::Clients => 1 + self.take.clients.as_ref().map_or(0, |c| c.rows().len()),
            Cast::All => self.id().0 as usize + 1,
        }
    }

    fn nodes(&self, cast: Cast) -> QueryResult {
        match (cast, &self.take.ends, &self.take.clients) {
            (Cast::Ends, Some(ends), _) => return give(&self.parties(ends)),
            (Cast::Clients, _, Some(clients)) => return give(&self.members(clients)),
            (Cast::Neighbours, ..) => {
                let role = |id| if id == 0 { "both" } else { "plain" };
                let info =
                    |(id, name): (u32, &String)| NodeInfo::new(NodeId(id), name, role(id), true);
                return give(&(0..).zip(&self.names()).map(info).collect::<Vec<_>>());
            }
            _ => {}
        }
        let dialect = self.take.player.start().map_or(Dialect::Parq, |start| start.config.dialect);
        let info =
            NodeInfo::new(self.id(), self.name(), "server", self.take.player.node().is_some());
        give(&[NodeInfo { dialect: Some(dialect), ..info }])
    }

    fn inspect(&self, node: NodeId, cast: Cast) -> QueryResult {
        let others = self.size(cast) as u32 - 1;
        let own = NodeId(if cast == Cast::Clients { others } else { 0 });
        match cast {
            Cast::Ends => return give(&self.margins(node)),
            Cast::Neighbours | Cast::Clients if node != own => return give(&()),
            Cast::Neighbours => return give(&self.take.player.node().and_then(Node::overlay)),
            Cast::Clients => return give(&self.coordinator()),
            Cast::All => {}
        }
        self.look()
    }

    fn diff(&self, _: NodeId, _: Cast) -> QueryResult {
        let Some([before, after]) = self.take.player.around_input() else { return give(&[(); 0]) };
        give(&changes(state(Some(&before))?, state(Some(&after))?))
    }

    fn record(&self, i: u32, cast: Cast) -> QueryResult {
        self.named(i, cast).map_or(Ok(JsValue::UNDEFINED), |named| give(&named))
    }

    fn records(&self, from: u32, count: u32, filter: &str, cast: Cast) -> QueryResult {
        fitting(filter, count, from, |i| self.named(i, cast))
    }

    fn why(&self, i: u32) -> QueryResult {
        let (record, named) = (self.take.player.record(i as usize), self.named(i, Cast::All));
        let player = &self.take.player;
        let told = |record: &RawRecord| {
            Some((record.at, serde_json::from_str::<Value>(&record.event).ok()?))
        };
        let why = record.zip(named).map(|(record, named)| {
            let why = of_event(&record.event, named.cause);
            let earlier = (0..i as usize).rev().filter_map(|j| told(player.record(j)?));
            let case = told(record).and_then(|(at, event)| cases::case_of(at, &event, earlier));
            within(why, case)
        });
        why.map_or(Ok(JsValue::UNDEFINED), |why| give(&why))
    }

    fn numbers(&self, i: u32) -> Option<Value> {
        let said = |i: usize| {
            let record = self.take.player.record(i)?;
            match serde_json::from_str(&record.event).ok()? {
                CountedEvent::Queue(event) => Some((record.at, event)),
                _ => None,
            }
        };
        let (at, event) = said(i as usize)?;
        numbers::list_numbers(at, &event, (0..i as usize).rev().filter_map(said))
    }

    fn density(&mut self, bins: u32) -> Vec<u32> {
        let from = self.begun();
        let end = self.take.player.frontier();
        if !self.take.columns.serves(end) {
            // A growing trace gets columns with room to grow.
            let room = end.since(from).ratio(1, 4);
            self.take.columns = Columns::new(from, end + room);
        }
        while let Some(record) = self.take.player.record(self.take.columns.seen() as usize) {
            self.take.columns.count(record.at);
        }
        self.take.columns.density(bins)
    }

    /// What was changed on the branch in use, and from where on a replay proves
    /// nothing. The oracles check only worlds.
    fn pins(&mut self) -> QueryResult {
        let mut pins = self.branches.pins();
        pins.extend(self.gap().filter(|_| !self.branches.is_off()));
        give(&pins)
    }

    fn given(&self, i: u32) -> QueryResult {
        whatif::led_to(&self.take.player, i).map_or(Ok(JsValue::UNDEFINED), |cause| give(&cause))
    }

    fn fault(&mut self, fault: Value) -> Result<u32, JsError> {
        let At { act, .. } = serde_json::from_value::<At<whatif::BranchAction>>(fault)?;
        self.branches.branch(&mut self.take, &act)
    }

    fn branches(&self) -> QueryResult {
        give(&self.branches.list())
    }

    fn use_branch(&mut self, id: u32) -> bool {
        self.branches.switch(&mut self.take, id as usize)
    }

    fn forget(&mut self) {
        self.use_branch(0);
        self.branches = Branches::default();
    }

    fn divergence(&self, a: u32, b: u32) -> Option<u32> {
        self.branches.divergence(&self.take, a as usize, b as usize)
    }

    fn digest(&self) -> u64 {
        self.take.player.digest()
    }

    /// Of what was recorded; of a branch nothing is claimed.
    fn verified(&self) -> Verified {
        if self.branches.is_off() {
            let text = String::from("what if: this was not recorded");
            return Verified { text, ..Verified::default() };
        }
        let report = self.take.player.report();
        Verified {
            checked: report.verified,
            total: report.checkpoints,
            diverged_at: report.diverged_at,
            gap_at: report.gap_at,
            damaged: report.damaged,
            unverified: self.take.player.report().unverified_inputs,
            nodes: None,
            text: report.to_string(),
        }
    }

    /// The lines as they were read.
    fn sqlog(&self) -> String {
        self.take.player.lines().iter().map(|line| qlog::frame(line)).collect()
    }
}
