//! A recording under other names (WB-10): names, addresses, file names and search
//! words are replaced by pseudonyms, and every node is run again with them.
//!
//! What a node decides is a function of what it is given. So only what comes from
//! outside of all recordings is replaced: configurations, commands, shared files,
//! addresses. What one node says to another is not replaced but said again, by the
//! node run again, and heard by the other in the place of what it heard before. So
//! messages that are packed, and tables of hashed words, are right by themselves.
//! Messages of a servent without a recording could be anything, and are left out.

mod names;
mod wires;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::id::ConnId;
use servent_core::node::{
    ConnInput, ConnOutput, Event, Input, MessageCommand, MessageInput, Node, NodeCommand, Output,
    UnicastMessage,
};
use servent_core::rng::Rng;
use servent_core::time::Instant;
use servent_core::trace::player::Player;
use servent_core::trace::qlog;
use servent_core::trace::tape::RecordingLog;

use self::names::Names;
use self::wires::{Chunk, Datagrams, Wires};
use super::observed::ObservedOverlay;
use super::streams::{StreamEnd, Streams, pairs};

/// A recording under other names.
#[derive(Debug)]
pub struct PseudonymisedRecording {
    /// The name of its node now.
    pub name: String,
    /// The recording, framed for a file.
    pub tape: String,
    /// How many steps it has.
    pub steps: usize,
    /// How many of them led to something else than before.
    pub changed: usize,
    /// Connections of which something was left out: the other end is on no recording, or
    /// says something else by now.
    pub left_out: usize,
}

/// Puts the recordings of a recording under other names, drawn from `dice`; one that
/// cannot be run again is left out.
#[must_use]
pub fn pseudonymise(players: &[Player], dice: Rng) -> Vec<PseudonymisedRecording> {
    let observed: Vec<ObservedOverlay> = players.iter().map(ObservedOverlay::from_player).collect();
    let streams: Vec<&Streams> = observed.iter().map(ObservedOverlay::streams).collect();
    let ends = pairs(&streams);
    let mut names = Names::new(dice);
    let mut all = Vec::new();
    for player in players {
        all.push(Taped::new(player, &mut names));
    }
    let mut troupe = Troupe { all, ends, names, datagrams: Datagrams::default() };
    troupe.run();
    troupe.all.into_iter().flatten().map(Taped::end).collect()
}

/// A node as it was, and as it is under other names.
struct Taped<'a> {
    player: &'a Player,
    name: String,
    at: Instant,
    steps: usize,
    before: Node,
    now: Node,
    writer: RecordingLog,
    lines: Vec<String>,
    wires: Wires,
    /// Bytes that came on each connection so far, as they were.
    heard: BTreeMap<ConnId, u64>,
    left_out: BTreeSet<ConnId>,
    changed: usize,
}

impl<'a> Taped<'a> {
    fn new(player: &'a Player, names: &mut Names) -> Option<Self> {
        let (at, _) = player.given(0)?;
        let before = player.start()?;
        let now = names.start(before)?;
        let mut lines = Vec::new();
        Some(Self {
            player,
            name: now.name.clone(),
            at,
            steps: 0,
            before: Node::new(before.config.clone(), before.seed),
            now: Node::new(now.config.clone(), now.seed),
            writer: RecordingLog::new(at, now, &mut lines),
            lines,
            wires: Wires::default(),
            heard: BTreeMap::new(),
            left_out: BTreeSet::new(),
            changed: 0,
        })
    }

    /// Runs the next step of both, with `now` under other names; without it the node
    /// does not get this input any more.
    fn step(&mut self, now: Option<Input>, datagrams: &mut Datagrams) {
        let Some((at, input)) = self.player.given(self.steps) else { return };
        let (mut was, mut is) = (Fx::new(), Fx::new());
        (self.at, self.steps) = (at, self.steps + 1);
        match (input, now) {
            (None, _) => {
                self.before.handle_timeout(at, &mut was);
                self.writer.timeout(at, &mut self.lines);
                self.now.handle_timeout(at, &mut is);
                self.writer.effects(at, is.as_slice(), &mut self.lines);
            }
            (Some(input), now) => {
                if let Input::Connection(conn, ConnInput::Bytes { data }) = input {
                    *self.heard.entry(*conn).or_default() += data.len() as u64;
                }
                self.before.handle(at, input.clone(), &mut was);
                if let Some(now) = now {
                    self.writer.input(at, &now, &mut self.lines);
                    self.now.handle(at, now, &mut is);
                    self.writer.effects(at, is.as_slice(), &mut self.lines);
                }
            }
        }
        for effect in was.as_slice() {
            // These bytes went to a file, and are on no tape.
            if let Effect::Output(Output::Connection(
                conn,
                ConnOutput::Store { start, end, early, .. },
            )) = effect
            {
                let known = start.saturating_add(early.len() as u64);
                *self.heard.entry(*conn).or_default() += end.saturating_sub(known);
            }
        }
        self.changed += usize::from(!alike(was.as_slice(), is.as_slice()));
        self.wires.take(was.as_slice(), is.as_slice());
        datagrams.take(was.as_slice(), is.as_slice());
    }

    fn end(mut self) -> PseudonymisedRecording {
        self.writer.checkpoint(self.at, &mut self.lines);
        PseudonymisedRecording {
            name: self.name,
            tape: self.lines.iter().map(|line| qlog::frame(line)).collect(),
            steps: self.steps,
            changed: self.changed,
            left_out: self.left_out.len(),
        }
    }
}

/// True when two steps did the same, as far as names do not matter.
fn alike(was: &[Effect<Output, Event>], is: &[Effect<Output, Event>]) -> bool {
    let kind = |(one, other): (&Effect<Output, Event>, &Effect<Output, Event>)| match (one, other) {
        (Effect::Output(one), Effect::Output(other)) => {
            core::mem::discriminant(one) == core::mem::discriminant(other)
        }
        (Effect::Event(one), Effect::Event(other)) => {
            core::mem::discriminant(one) == core::mem::discriminant(other)
        }
        _ => false,
    };
    was.len() == is.len() && was.iter().zip(is).all(kind)
}

/// What has become of an input.
#[allow(clippy::large_enum_variant)] // Made and used one at a time.
enum Now {
    Given(Input),
    /// Its bytes have not been said yet.
    Later,
    /// They are not said any more.
    Never,
}

/// All nodes of a recording.
struct Troupe<'a> {
    all: Vec<Option<Taped<'a>>>,
    ends: BTreeMap<StreamEnd, StreamEnd>,
    names: Names,
    datagrams: Datagrams,
}

impl<'a> Troupe<'a> {
    /// Runs all of them to their ends, each as far as what it hears has been said.
    fn run(&mut self) {
        loop {
            let mut moved = false;
            for k in 0..self.all.len() {
                while self.go_on(k, false) {
                    moved = true;
                }
            }
            if moved {
                continue;
            }
            // No recorded node sends what the first of those that wait has received.
            let waits = |(k, one): (usize, &Option<Taped<'_>>)| {
                let one = one.as_ref()?;
                Some((one.player.given(one.steps)?.0, k))
            };
            let Some((_, first)) = self.all.iter().enumerate().filter_map(waits).min() else {
                return;
            };
            self.go_on(first, true);
        }
    }

    /// Runs the next step of a node, if it has one and what it hears has been said;
    /// `forced` if it was not.
    fn go_on(&mut self, k: usize, forced: bool) -> bool {
        let Some(input) = self.upcoming(k) else { return false };
        let now = match input.map(|input| self.renamed(k, input)) {
            None => None,
            Some(Now::Given(now)) => Some(now),
            Some(Now::Later) if !forced => return false,
            Some(Now::Later | Now::Never) => None,
        };
        let Some(one) = &mut self.all[k] else { return false };
        if let (None, Some(Input::Connection(conn, ConnInput::Bytes { .. }))) = (&now, input) {
            one.left_out.insert(*conn);
        }
        one.step(now, &mut self.datagrams);
        true
    }

    /// What a node is given next; `Some(None)` when its timers are run.
    fn upcoming(&self, k: usize) -> Option<Option<&'a Input>> {
        let one = self.all[k].as_ref()?;
        let player: &'a Player = one.player;
        Some(player.given(one.steps)?.1)
    }

    /// An input of a node under other names.
    fn renamed(&mut self, k: usize, input: &Input) -> Now {
        if let Input::Connection(conn, ConnInput::Bytes { data }) = input {
            return match self.heard((k, *conn), data) {
                Chunk::Heard(data) => {
                    Now::Given(Input::Connection(*conn, ConnInput::Bytes { data }))
                }
                Chunk::Later => Now::Later,
                Chunk::Never => Now::Never,
            };
        }
        let Self { all, names, datagrams, .. } = self;
        let Some(one) = &all[k] else { return Now::Never };
        match input {
            Input::Messages(MessageInput::Datagrams { from, segment, data }) => {
                let Some((data, segment)) = datagrams.arrived(data, *segment) else {
                    return Now::Later;
                };
                let (from, data) = (names.address(*from), data.into());
                Now::Given(Input::Messages(MessageInput::Datagrams { from, segment, data }))
            }
            // What it says on a channel goes out as messages.
            Input::Command(NodeCommand::Messages(MessageCommand::Send { to, messages })) => {
                let again = |message: &UnicastMessage| UnicastMessage {
                    order: message.order,
                    data: one.wires.message(&message.data),
                };
                let (to, messages) = (names.address(*to), messages.iter().map(again).collect());
                Now::Given(Input::Command(NodeCommand::Messages(MessageCommand::Send {
                    to,
                    messages,
                })))
            }
            input => names.input(input).map_or(Now::Never, Now::Given),
        }
    }

    /// What has become of the bytes that a node has heard.
    fn heard(&self, end: StreamEnd, data: &[u8]) -> Chunk {
        let Some(one) = &self.all[end.0] else { return Chunk::Never };
        if one.left_out.contains(&end.1) {
            return Chunk::Never;
        }
        let Some((other, conn)) = self.ends.get(&end) else { return Chunk::Never };
        let from = one.heard.get(&end.1).copied().unwrap_or_default();
        let there = self.all[*other].as_ref();
        match there.and_then(|there| there.wires.on(*conn)) {
            Some(said) => said.heard(from, data),
            None => Chunk::Later,
        }
    }
}
