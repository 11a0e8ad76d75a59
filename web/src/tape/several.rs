//! The recordings of several servents as one run: everything they did, on one
//! clock, each event with what caused it, also at another of them.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::Value;
use servent_core::node::{ConnInput, Input, Node};
use servent_core::time::Instant;
use servent_core::trace::{Digest, NodeId};
use servent_sim::registry::NodeInfo;
use servent_sim::routing::{MergedOverlay, ObservedOverlay, Traffic, moved, shifts};
use servent_sim::unicast::Margins;
use wasm_bindgen::{JsError, JsValue};

use super::ends::Ends;
use super::merged::{MergedDatagrams, ways};
use super::recorded::Recorded;
use crate::lab::{BranchInfo, Cast, Columns, NamedRecord, Verified, Watching, fitting};
use crate::value::{QueryResult, give, refused};

/// A record: when, of which recording, and its number there.
type RecordIndex = (Instant, usize, usize);

/// Several recordings.
pub(super) struct Several {
    tapes: Vec<Rc<RefCell<Recorded>>>,
    names: Vec<String>,
    shifts: Vec<i64>,
    records: Vec<RecordIndex>,
    /// The numbers that the records of each recording have among all.
    numbers: Vec<Vec<u32>>,
    /// What they sent each other as datagrams.
    datagrams: MergedDatagrams,
    /// What each tells of the overlay, and all of it as one.
    observed: Vec<ObservedOverlay>,
    overlay: MergedOverlay,
    traffic: Traffic,
    columns: Columns,
    now: Instant,
    index: usize,
    /// The recording of a coordinator, and for each of its clients the recording that is it.
    coordinator: Option<usize>,
    /// The recording whose queue is shown.
    server: Option<usize>,
    seats: Vec<Option<usize>>,
}

impl Several {
    /// Joins them. `names` are those of their files: servents often have the
    /// same.
    pub(super) fn new(tapes: Vec<Rc<RefCell<Recorded>>>, names: Vec<String>) -> Self {
        for tape in &tapes {
            tape.borrow_mut().ends();
        }
        let observed: Vec<_> =
            tapes.iter().map(|it| ObservedOverlay::from_player(it.borrow().player())).collect();
        let mut several = Self {
            shifts: Vec::new(),
            names,
            records: Vec::new(),
            numbers: Vec::new(),
            datagrams: MergedDatagrams::default(),
            overlay: MergedOverlay::new(&observed),
            traffic: Traffic::default(),
            columns: Columns::default(),
            now: Instant::ZERO,
            index: 0,
            coordinator: None,
            server: None,
            seats: Vec::new(),
            observed,
            tapes,
        };
        several.shifts = several.clocks();
        several.coordinator = several.tapes.iter().position(|tape| {
            tape.borrow_mut().clients().is_some_and(|clients| !clients.rows().is_empty())
        });
        // What the coordinator tells has its own clock.
        if let Some(by) = several.coordinator.map(|tape| several.shifts[tape]) {
            several.shifts.iter_mut().for_each(|shift| *shift -= by);
        }
        several.seats = several.seats();
        several.server = several.serving();
        several.sort();
        let numbers = &several.numbers;
        let seq = |tape: usize, i: u64| {
            let number = numbers[tape].get(i as usize).or(numbers[tape].last());
            number.copied().unwrap_or_default().into()
        };
        let datagrams = several.with_ends(|ends| MergedDatagrams::new(ends, &several.shifts, seq));
        several.traffic = several.overlay.traffic(&several.observed, &several.shifts, seq);
        several.datagrams = datagrams;
        several.now = several.begun();
        several
    }

    /// How far each recording is to be moved, by all that they sent each other.
    fn clocks(&self) -> Vec<i64> {
        let messages = self.overlay.ways(&self.observed);
        let datagrams = self.with_ends(ways);
        shifts(self.many(), |k, m| {
            let all = [messages.get(&(k, m)), datagrams.get(&(k, m))];
            all.into_iter().flatten().min().copied()
        })
    }

    /// Does something with the datagrams of all.
    fn with_ends<T>(&self, work: impl FnOnce(&[&Ends]) -> T) -> T {
        let tapes: Vec<_> = self.tapes.iter().map(|tape| tape.borrow()).collect();
        let none = Ends::none();
        let ends = tapes.iter().map(|tape| tape.take.ends.as_ref().unwrap_or(&none));
        work(&ends.collect::<Vec<_>>())
    }

    /// All records by their instants; of one recording in their order.
    fn sort(&mut self) {
        for (k, tape) in self.tapes.iter().enumerate() {
            let of = tape.borrow();
            let player = of.player();
            let place = |i| Some((moved(player.record(i)?.at, self.shifts[k]), k, i));
            self.records.extend((0..).map_while(place));
            self.numbers.push(vec![0; player.count()]);
        }
        self.records.sort_by_key(|(at, ..)| *at);
        for (number, (_, tape, i)) in (0..).zip(&self.records) {
            self.numbers[*tape][*i] = number;
        }
    }

    /// The same once more, with a cursor of its own.
    pub(super) fn copy(&self) -> Self {
        let copy = |tape: &Rc<RefCell<Recorded>>| {
            let of = tape.borrow();
            Rc::new(RefCell::new(Recorded::new(of.player().clone())))
        };
        Self::new(self.tapes.iter().map(copy).collect(), self.names.clone())
    }

    /// How many were recorded.
    pub(super) const fn many(&self) -> usize {
        self.tapes.len()
    }

    /// What they sent each other as datagrams.
    pub(super) const fn datagrams(&self) -> &MergedDatagrams {
        &self.datagrams
    }

    /// By how much the clock of each is ahead of the first, in microseconds.
    pub(super) fn ahead(&self) -> Vec<f64> {
        self.shifts.iter().map(|by| -(*by as f64)).collect()
    }

    /// The messages that passed between them, and between them and others.
    pub(super) const fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// One that was recorded.
    pub(super) fn recorded(&self, node: NodeId) -> Option<&Rc<RefCell<Recorded>>> {
        self.tapes.get(node.0 as usize)
    }

    /// The views that can show all of them together.
    pub(super) fn views(&self) -> Vec<&'static str> {
        let talk = self.datagrams.who.iter().flatten().any(|who| (who.0 as usize) < self.many());
        let served = self.overlay.is_connected();
        let all = [
            ("routing", self.overlay.are_neighbours()),
            ("unicast", talk),
            ("swarm", served && self.coordinator.is_some()),
            ("queue", served && self.coordinator.is_none()),
        ];
        all.into_iter().filter(|(_, shows)| *shows).map(|(view, _)| view).collect()
    }

    /// The recording of the coordinator, and its number.
    pub(super) fn coordinator(&self) -> Option<(usize, Rc<RefCell<Recorded>>)> {
        let tape = self.coordinator?;
        Some((tape, Rc::clone(&self.tapes[tape])))
    }

    /// The number of a recording's record among all.
    pub(super) fn number(&self, tape: usize, i: u64) -> Option<u32> {
        self.numbers[tape].get(i as usize).copied()
    }

    /// The recording and the record there that has this number among all.
    pub(super) fn origin(&self, number: u32) -> Option<(usize, u32)> {
        self.place(number)
    }

    /// The clients of the coordinator that were recorded: each row's tape.
    fn seats(&self) -> Vec<Option<usize>> {
        let Some(tape) = self.coordinator else { return Vec::new() };
        let of = self.tapes[tape].borrow();
        let Some(clients) = &of.take.clients else { return Vec::new() };
        let mut seats = vec![None; clients.rows().len()];
        for (conn, row) in clients.connections() {
            let other = self.overlay.peer(tape, conn);
            if let (Some(seat), Some(other)) = (seats.get_mut(row as usize), other) {
                *seat = Some(other);
            }
        }
        seats
    }

    /// The recording behind a node as a view numbers them.
    fn tape_of(&self, node: NodeId, cast: Cast) -> Option<usize> {
        let node = node.0 as usize;
        if cast != Cast::Clients {
            return Some(node).filter(|node| *node < self.many());
        }
        let rows = self.seats.len();
        if node == rows { self.coordinator } else { self.seats.get(node).copied().flatten() }
    }

    /// The clients of the swarm, and the coordinator as the last one. Who was
    /// recorded is called as its recording.
    fn members(&self) -> Vec<NodeInfo> {
        let Some((tape, of)) = self.coordinator() else { return Vec::new() };
        let of = of.borrow();
        let Some(clients) = &of.take.clients else { return Vec::new() };
        let mut all = of.members(clients);
        for (info, seat) in all.iter_mut().zip(self.seats.iter().copied().chain([Some(tape)])) {
            if let Some(name) = seat.and_then(|seat| self.names.get(seat)) {
                info.name.clone_from(name);
            }
        }
        all
    }

    /// The one of which the queue is shown: that which told most of its own.
    fn serving(&self) -> Option<usize> {
        let told = |tape: &Rc<RefCell<Recorded>>| {
            let of = tape.borrow();
            let all = (0..).map_while(|i| of.player().record(i));
            all.filter(|record| record.event.starts_with("{\"queue\"")).count()
        };
        (0..self.many()).max_by_key(|i| (told(&self.tapes[*i]), std::cmp::Reverse(*i)))
    }

    /// The servents of a queue.
    fn servents(&self) -> Vec<NodeInfo> {
        let info = |(i, name): (usize, &String)| {
            let role = if self.server == Some(i) { "server" } else { "client" };
            NodeInfo::new(NodeId(i as u32), name, role, true)
        };
        self.names.iter().enumerate().map(info).collect()
    }

    /// The names of all in the overlay.
    pub(super) fn neighbours(&self) -> Vec<String> {
        let others = self.overlay.strangers().iter().map(ToString::to_string);
        self.names.iter().cloned().chain(others).collect()
    }

    /// HA, HS and the windows of one end; of one that was not recorded nothing
    /// is known.
    pub(super) fn margins(&self, end: NodeId) -> Margins {
        let tape = self.tapes.get(end.0 as usize);
        let Some(tape) = tape else {
            return Margins { node: end, up: true, stalled: false, peers: Vec::new() };
        };
        let mut margins = tape.borrow().margins(NodeId(0));
        margins.node = end;
        for margin in &mut margins.peers {
            let who = self.datagrams.who[end.0 as usize].get(margin.peer.0 as usize - 1);
            margin.peer = who.copied().unwrap_or(margin.peer);
            margin.name = self.name(margin.peer).to_owned();
        }
        margins
    }

    fn name(&self, node: NodeId) -> &str {
        let all = self.names.iter().chain(&self.datagrams.strangers);
        all.map(String::as_str).nth(node.0 as usize).unwrap_or_default()
    }

    fn begun(&self) -> Instant {
        self.records.first().map_or(Instant::ZERO, |(at, ..)| *at)
    }

    fn go(&mut self, at: Instant, index: usize) {
        (self.now, self.index) = (at, index);
        for (tape, by) in self.tapes.iter().zip(&self.shifts) {
            tape.borrow_mut().seek(moved(at, -by));
        }
        if let Some((_, tape, i)) = index.checked_sub(1).and_then(|i| self.records.get(i)) {
            self.tapes[*tape].borrow_mut().seek_record(*i as u32);
        }
    }

    /// The record that led to another: of its own recording, or the sending of what
    /// arrived.
    fn cause(&self, tape: usize, i: usize, own: Option<u64>) -> Option<u64> {
        let of = self.tapes[tape].borrow();
        let input = of.player().led_to(i);
        let conn = input.and_then(|input| match of.player().given(input)?.1? {
            Input::Connection(conn, ConnInput::Bytes { .. }) => Some(*conn),
            _ => None,
        });
        drop(of);
        let sent = input.and_then(|input| {
            let datagram = self.with_ends(|ends| self.datagrams.cause(tape, input, ends));
            datagram.or_else(|| self.overlay.cause((tape, conn?), input, &self.observed))
        });
        let number = |tape: usize, i: u64| self.numbers[tape].get(i as usize).copied();
        // What was written down late may stand behind what it led to.
        let here = self.numbers[tape][i];
        let sent = sent.and_then(|(tape, i)| number(tape, i)).filter(|cause| *cause < here);
        sent.or_else(|| number(tape, own?)).map(u64::from)
    }

    fn named(&self, i: u32, cast: Cast) -> Option<NamedRecord<'_, Value>> {
        let (at, tape, place) = *self.records.get(i as usize)?;
        let of = self.tapes[tape].borrow();
        let NamedRecord { event, cause, node, .. } = of.named(place as u32, cast)?;
        let cause = self.cause(tape, place, cause);
        let own = || self.seats.iter().position(|seat| *seat == Some(tape)).map(|row| row as u32);
        let node = match cast {
            Cast::Clients if Some(tape) == self.coordinator => node,
            Cast::Clients => NodeId(own().unwrap_or(self.seats.len() as u32)),
            _ => NodeId(tape as u32),
        };
        let node_name = self.names.get(tape)?;
        Some(NamedRecord { seq: i.into(), at, node, cause, event, node_name, who: None })
    }

    fn place(&self, i: u32) -> Option<(usize, u32)> {
        self.records.get(i as usize).map(|(_, tape, i)| (*tape, *i as u32))
    }
}

impl Watching for Several {
    fn kind(&self) -> &'static str {
        "trace"
    }

    fn scenario(&self) -> QueryResult {
        Ok(JsValue::UNDEFINED)
    }

    fn horizon(&self) -> Instant {
        self.frontier()
    }

    fn frontier(&self) -> Instant {
        let ends = self.tapes.iter().zip(&self.shifts);
        ends.map(|(tape, by)| moved(tape.borrow().frontier(), *by)).max().unwrap_or_default()
    }

    fn now(&self) -> Instant {
        self.now.max(self.begun())
    }

    fn index(&self) -> u32 {
        self.index as u32
    }

    fn count(&self) -> u32 {
        self.records.len() as u32
    }

    fn explore(&mut self, _: u64) -> bool {
        true
    }

    fn advance(&mut self, to: Instant, _: u64) -> Instant {
        self.seek(to);
        self.now()
    }

    fn seek(&mut self, to: Instant) {
        let index = self.records.partition_point(|(at, ..)| *at <= to);
        (self.now, self.index) = (to, index);
        for (tape, by) in self.tapes.iter().zip(&self.shifts) {
            tape.borrow_mut().seek(moved(to, -by));
        }
    }

    fn seek_record(&mut self, i: u32) -> bool {
        let Some((at, ..)) = self.records.get(i as usize).copied() else { return false };
        self.go(at, i as usize + 1);
        true
    }

    fn step(&mut self, forward: bool) -> bool {
        match (forward, self.index) {
            (true, i) => self.seek_record(i as u32),
            (false, 0) => false,
            (false, 1) => {
                let first = self.begun().as_micros();
                self.seek(Instant::from_micros(first.saturating_sub(1)));
                true
            }
            (false, i) => self.seek_record(i as u32 - 2),
        }
    }

    fn step_node(&mut self, node: NodeId, forward: bool) -> bool {
        let of = |i: &usize| self.records[*i].1 == node.0 as usize;
        let next = if forward {
            (self.index..self.records.len()).find(of)
        } else {
            (0..self.index.saturating_sub(1)).rev().find(of)
        };
        next.is_some_and(|i| self.seek_record(i as u32))
    }

    fn size(&self, cast: Cast) -> usize {
        let strangers = match cast {
            Cast::Neighbours => self.overlay.strangers().len(),
            Cast::Clients => return self.seats.len() + 1,
            Cast::All => 0,
            _ => self.datagrams.strangers.len(),
        };
        self.many() + strangers
    }

    fn nodes(&self, cast: Cast) -> QueryResult {
        if cast == Cast::Neighbours {
            let role = |id| if (id as usize) < self.many() { "both" } else { "plain" };
            let info = |(id, name): (u32, &String)| NodeInfo::new(NodeId(id), name, role(id), true);
            return give(&(0..).zip(&self.neighbours()).map(info).collect::<Vec<_>>());
        }
        match cast {
            Cast::Clients => return give(&self.members()),
            Cast::All => return give(&self.servents()),
            _ => {}
        }
        let tapes: Vec<_> = self.tapes.iter().map(|tape| tape.borrow()).collect();
        let info = |id: u32| {
            let name = self.name(NodeId(id));
            let tape = tapes.get(id as usize);
            let (role, profile) = tape.and_then(|tape| tape.part()).unwrap_or(("receiver", None));
            NodeInfo { profile, ..NodeInfo::new(NodeId(id), name, role, true) }
        };
        let mut all: Vec<NodeInfo> = (0..self.size(Cast::Ends) as u32).map(info).collect();
        // The sender stands first.
        all.sort_by_key(|node| {
            let tape = tapes.get(node.id.0 as usize);
            tape.is_none_or(|tape| tape.take.ends.as_ref().is_some_and(Ends::mostly_receives))
        });
        give(&all)
    }

    fn inspect(&self, node: NodeId, cast: Cast) -> QueryResult {
        if cast == Cast::Neighbours {
            let Some(tape) = self.recorded(node) else { return give(&()) };
            return give(&tape.borrow().player().node().and_then(Node::overlay));
        }
        if cast == Cast::Ends {
            return give(&self.margins(node));
        }
        let Some(tape) = self.tape_of(node, cast) else { return give(&()) };
        if cast == Cast::Clients && Some(tape) == self.coordinator {
            return give(&self.tapes[tape].borrow().coordinator());
        }
        self.tapes[tape].borrow().look()
    }

    fn diff(&self, node: NodeId, cast: Cast) -> QueryResult {
        let tape = self.tape_of(node, cast);
        tape.map_or_else(|| give(&[(); 0]), |tape| self.tapes[tape].borrow().diff(node, cast))
    }

    fn record(&self, i: u32, cast: Cast) -> QueryResult {
        self.named(i, cast).map_or(Ok(JsValue::UNDEFINED), |named| give(&named))
    }

    fn records(&self, from: u32, count: u32, filter: &str, cast: Cast) -> QueryResult {
        fitting(filter, count, from, |i| self.named(i, cast))
    }

    fn why(&self, i: u32) -> QueryResult {
        let Some((tape, i)) = self.place(i) else { return Ok(JsValue::UNDEFINED) };
        self.tapes[tape].borrow().why(i)
    }

    fn numbers(&self, i: u32) -> Option<Value> {
        let (tape, i) = self.place(i)?;
        self.tapes[tape].borrow().numbers(i)
    }

    fn density(&mut self, bins: u32) -> Vec<u32> {
        let end = self.frontier();
        if !self.columns.serves(end) {
            self.columns = Columns::new(self.begun(), end);
            self.records.iter().for_each(|(at, ..)| self.columns.count(*at));
        }
        self.columns.density(bins)
    }

    fn pins(&mut self) -> QueryResult {
        let all = self.tapes.iter().zip(&self.shifts).zip(&self.names);
        let gap = |((tape, by), name): ((&Rc<RefCell<Recorded>>, &i64), &String)| {
            let mut pin = tape.borrow().gap()?;
            pin.at = moved(pin.at, *by);
            let before = self.records.partition_point(|(at, ..)| *at <= pin.at);
            pin.seq = before.saturating_sub(1) as u64;
            pin.args["name"] = name.as_str().into();
            Some(pin)
        };
        give(&all.filter_map(gap).collect::<Vec<_>>())
    }

    fn fault(&mut self, _: Value) -> Result<u32, JsError> {
        Err(refused("open one of these recordings alone to ask what if"))
    }

    fn branches(&self) -> QueryResult {
        give(&[BranchInfo { id: 0, parent: None, at: Instant::ZERO, name: "main" }])
    }

    fn use_branch(&mut self, id: u32) -> bool {
        id == 0
    }

    fn divergence(&self, _: u32, _: u32) -> Option<u32> {
        None
    }

    fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        self.tapes.iter().for_each(|tape| digest.add(&tape.borrow().digest()));
        digest.value()
    }

    fn verified(&self) -> Verified {
        let all: Vec<Verified> = self.tapes.iter().map(|tape| tape.borrow().verified()).collect();
        let sound = |tape: &&Rc<RefCell<Recorded>>| tape.borrow().player().report().is_sound();
        let sound = self.tapes.iter().filter(sound).count();
        let diverged = all.iter().zip(&self.shifts);
        let diverged = diverged.filter_map(|(one, by)| Some(moved(one.diverged_at?, *by)));
        let text: Vec<String> = all
            .iter()
            .zip(&self.names)
            .map(|(one, name)| format!("{name}: {}", one.text))
            .collect();
        Verified {
            checked: all.iter().map(|one| one.checked).sum(),
            total: all.iter().map(|one| one.total).sum(),
            diverged_at: diverged.min(),
            gap_at: all
                .iter()
                .zip(&self.shifts)
                .filter_map(|(one, by)| Some(moved(one.gap_at?, *by)))
                .min(),
            damaged: all.iter().map(|one| one.damaged).sum(),
            unverified: all.iter().map(|one| one.unverified).sum(),
            nodes: Some([sound as u32, all.len() as u32]),
            text: text.join("; "),
        }
    }

    /// Each is a file of its own; together they are none.
    fn sqlog(&self) -> String {
        String::new()
    }
}
