//! The neighbours of a recorded servent, and every message between it and them.
//! What happens beyond them is not recorded.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use servent_core::trace::again::Again;
use servent_core::trace::player::Player;
use servent_sim::routing::{Journey, ObservedLink, ObservedOverlay, Traffic};

/// The recorded node.
const OURS: u32 = 0;

/// The neighbours of a tape.
pub(super) struct Around {
    again: Again,
    observed: ObservedOverlay,
    /// Neighbours, by their numbers from 1 on.
    neighbours: Vec<SocketAddr>,
    numbers: BTreeMap<SocketAddr, u32>,
    traffic: Traffic,
    /// How much of what was observed is in the picture.
    known: [usize; 3],
}

impl Around {
    /// For a recording with a start.
    pub(super) fn new(player: &Player) -> Option<Self> {
        Some(Self {
            again: Again::new(player.start()?),
            observed: ObservedOverlay::default(),
            neighbours: Vec::new(),
            numbers: BTreeMap::new(),
            traffic: Traffic::default(),
            known: [0; 3],
        })
    }

    /// Takes up what is new on the tape.
    pub(super) fn learn(&mut self, player: &Player) {
        let observed = &mut self.observed;
        if !self.again.go_on(player, |step| observed.observe(step)) {
            return;
        }
        let [opened, closed, passed] = self.known;
        for link in &self.observed.links()[opened..] {
            let number = *self.numbers.entry(link.peer).or_insert_with(|| {
                self.neighbours.push(link.peer);
                self.neighbours.len() as u32
            });
            let wire = self.traffic.wire(OURS, number);
            self.traffic.turn(link.opened, wire, true);
        }
        for (link, at) in &self.observed.closed()[closed..] {
            let number = self.number(&self.observed.links()[*link as usize]);
            let wire = self.traffic.wire(OURS, number);
            self.traffic.turn(*at, wire, false);
        }
        for one in &self.observed.passed()[passed..] {
            let number = self.number(&self.observed.links()[one.link as usize]);
            let wire = self.traffic.wire(OURS, number);
            let searches = self.observed.searches();
            let told = |journey: Journey| Journey {
                words: searches.get(&one.guid).cloned().unwrap_or_default(),
                ..journey
            };
            self.traffic.pass(one.guid, one.leg((OURS, number), wire, one.at), told);
        }
        self.known = [
            self.observed.links().len(),
            self.observed.closed().len(),
            self.observed.passed().len(),
        ];
        self.traffic.set_nodes(self.neighbours.len() as u32 + 1);
        self.traffic.sort();
    }

    fn number(&self, link: &ObservedLink) -> u32 {
        self.numbers.get(&link.peer).copied().unwrap_or(OURS)
    }

    /// The neighbours, by their numbers from 1 on.
    pub(super) fn neighbours(&self) -> &[SocketAddr] {
        &self.neighbours
    }

    /// What passed between it and them.
    pub(super) const fn traffic(&self) -> &Traffic {
        &self.traffic
    }
}
