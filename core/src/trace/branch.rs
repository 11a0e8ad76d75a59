//! What if: the node of a recording, given one thing less, later or twice.
//!
//! Everything else it is given is what stands on the tape. What the machines at
//! the other ends would have answered instead is not recorded: a branch shows
//! what this node would have decided with what it got.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;

use super::player::Player;
use super::qlog;
use super::tape::{RecordingLog, Start, conn_of};
use crate::engine::{Effect, Engine, Fx};
use crate::fetch::DialError;
use crate::id::ConnId;
use crate::node::{
    Config, ConnInput, DiskInput, Event, Input, MessageCommand, MessageInput, MessageOutput, Node,
    NodeCommand, Output,
};
use crate::time::{Duration, Instant};

/// A change of one of a recording's inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputChange {
    /// A datagram is lost, a connection breaks instead, one that was opened never
    /// is, a command is not given.
    Lose,
    /// It arrives later, and with it what follows on the same connection.
    Delay(Duration),
    /// A datagram arrives once more, so much later.
    Twice(Duration),
}

/// The input that is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchPoint {
    /// Its number, see [`Player::given`].
    pub input: usize,
    /// Which datagram of it.
    pub datagram: usize,
}

impl BranchPoint {
    /// An input with all it holds, or with the first of its datagrams.
    #[must_use]
    pub const fn at_input(input: usize) -> Self {
        Self { input, datagram: 0 }
    }
}

/// True for what may be changed: what came from outside, but for how the node
/// began and what its own disk answered.
#[must_use]
pub const fn is_open(input: &Input, change: InputChange) -> bool {
    match input {
        Input::Messages(MessageInput::Datagrams { .. }) => true,
        Input::Connection(
            _,
            ConnInput::Accepted { .. } | ConnInput::Dialed { .. } | ConnInput::Bytes { .. },
        )
        | Input::Command(_)
        | Input::Disk(DiskInput::Shared(_) | DiskInput::Unshared { .. }) => {
            !matches!(change, InputChange::Twice(_))
        }
        _ => false,
    }
}

/// The recording as it would be with this change; `None` when there is no such input,
/// or it cannot be changed so.
#[must_use]
pub fn altered(player: &Player, place: BranchPoint, change: InputChange) -> Option<Player> {
    let (at, input) = player.given(place.input)?;
    let input = input.filter(|input| is_open(input, change))?;
    let (begun, _) = player.given(0)?;
    let mut run = Run::new(player.start()?.clone(), begun);
    for i in 0..place.input {
        let (at, input) = player.given(i)?;
        run.wants(input);
        run.same(at, input);
    }
    run.taking.values_mut().for_each(|of| of.taken = of.wanted);
    run.tape = Some(run.node.clone());
    run.change(at, input, place.datagram, change)?;
    run.tape_goes_on(at, Some(input));
    let rest = (place.input + 1..).map_while(|i| player.given(i));
    rest.for_each(|(at, input)| run.next(at, input));
    Some(run.finish(player.frontier()))
}

/// Messages and bytes that the application of a peer's messages was given, took
/// on the recording, and has taken here: it cannot take what it was not given.
#[derive(Default)]
struct Taking {
    given: [u64; 2],
    wanted: [u64; 2],
    taken: [u64; 2],
}

impl Taking {
    fn give(&mut self, [messages, bytes]: [u64; 2]) {
        self.given[0] += messages;
        self.given[1] += bytes;
    }

    /// What is taken now.
    fn take(&mut self) -> Option<[u64; 2]> {
        let most = [0, 1].map(|i| self.wanted[i].min(self.given[i]));
        let due = [0, 1].map(|i| most[i].saturating_sub(self.taken[i]));
        self.taken = most;
        (due != [0, 0]).then_some(due)
    }
}

/// The node as it runs on.
struct Run {
    node: Node,
    /// The node as it was recorded, once the two are told apart.
    tape: Option<Node>,
    writer: RecordingLog,
    lines: Vec<String>,
    branch: Player,
    fx: Fx<Output, Event>,
    last: Instant,
    /// What comes later than on the recording, in order.
    late: BTreeMap<(Instant, usize), Input>,
    /// How much was ever late.
    delayed: usize,
    /// The connection that is gone, or later than on the tape.
    moved: Option<(ConnId, Option<Duration>)>,
    taking: BTreeMap<SocketAddr, Taking>,
}

impl Run {
    fn new(start: Start, at: Instant) -> Self {
        let config: Config = start.config.clone();
        let node = Node::new(config, start.seed);
        let mut lines = Vec::new();
        let writer = RecordingLog::new(at, start, &mut lines);
        Self {
            node,
            tape: None,
            writer,
            lines,
            branch: Player::new(),
            fx: Fx::new(),
            last: Instant::ZERO,
            late: BTreeMap::new(),
            delayed: 0,
            moved: None,
            taking: BTreeMap::new(),
        }
    }

    /// One step of the node, onto its own tape.
    fn same(&mut self, at: Instant, input: Option<&Input>) {
        self.last = self.last.max(at);
        if let Some(input) = input {
            self.writer.input(at, input, &mut self.lines);
            self.node.handle(at, input.clone(), &mut self.fx);
        } else {
            self.writer.timeout(at, &mut self.lines);
            self.node.handle_timeout(at, &mut self.fx);
        }
        self.writer.effects(at, self.fx.as_slice(), &mut self.lines);
        let outputs = self.fx.drain().filter_map(|effect| match effect {
            Effect::Output(Output::Messages(MessageOutput::Deliver { from, messages, .. })) => {
                Some((from, messages))
            }
            _ => None,
        });
        for (from, messages) in outputs {
            let bytes = messages.iter().map(|message| message.data.len() as u64).sum();
            self.taking.entry(from).or_default().give([messages.len() as u64, bytes]);
        }
        self.hand_over();
    }

    /// The application takes messages, as on the recording, but for those that it has
    /// not been given so far.
    fn take(&mut self, at: Instant) {
        let due: Vec<(SocketAddr, [u64; 2])> =
            self.taking.iter_mut().filter_map(|(from, of)| Some((*from, of.take()?))).collect();
        for (from, [messages, bytes]) in due {
            let taken = NodeCommand::Messages(MessageCommand::Taken { from, messages, bytes });
            self.same(at, Some(&Input::Command(taken)));
        }
    }

    fn hand_over(&mut self) {
        for line in self.lines.drain(..) {
            self.branch.append(qlog::frame(&line).as_bytes());
        }
    }

    /// The change itself.
    fn change(
        &mut self,
        at: Instant,
        input: &Input,
        which: usize,
        change: InputChange,
    ) -> Option<()> {
        if let Input::Messages(MessageInput::Datagrams { from, segment, data }) = input {
            let each = (*segment as usize).max(1);
            let start = which.checked_mul(each).filter(|start| *start < data.len())?;
            let end = (start + each).min(data.len());
            let some = |data| {
                Input::Messages(MessageInput::Datagrams { from: *from, segment: *segment, data })
            };
            let one = some(data.slice(start..end));
            let by = match change {
                InputChange::Lose => None,
                InputChange::Delay(by) | InputChange::Twice(by) => Some(by),
            };
            if let Some(by) = by {
                self.postpone(at + by, one);
            }
            if matches!(change, InputChange::Twice(_)) {
                self.same(at, Some(input));
                return Some(());
            }
            for part in [data.slice(..start), data.slice(end..)] {
                if !part.is_empty() {
                    self.same(at, Some(&some(part)));
                }
            }
            return Some(());
        }
        match (conn_of(input), change) {
            (Some(conn), InputChange::Delay(by)) => {
                self.moved = Some((conn, Some(by)));
                self.postpone(at + by, input.clone());
            }
            (Some(conn), _) => {
                self.moved = Some((conn, None));
                match input {
                    Input::Connection(_, ConnInput::Accepted { .. }) => {}
                    Input::Connection(_, ConnInput::Dialed { .. }) => {
                        let why = DialError::TimedOut;
                        self.same(
                            at,
                            Some(&Input::Connection(conn, ConnInput::DialFailed { why })),
                        );
                    }
                    _ => self.same(at, Some(&Input::Connection(conn, ConnInput::Closed))),
                }
            }
            (None, InputChange::Delay(by)) => self.postpone(at + by, input.clone()),
            (None, _) => {}
        }
        Some(())
    }

    fn postpone(&mut self, to: Instant, input: Input) {
        self.delayed += 1;
        self.late.insert((to, self.delayed), input);
    }

    /// The next thing on the tape.
    fn next(&mut self, at: Instant, input: Option<&Input>) {
        self.late_until(at);
        self.timers_until(at);
        match input {
            // A timer that only the recording's node had is not run here.
            None => {
                if self.node.poll_timeout().is_some_and(|(due, _)| due <= at) {
                    self.same(at, None);
                }
            }
            Some(Input::Command(NodeCommand::Messages(MessageCommand::Taken { .. }))) => {
                self.wants(input);
                self.take(at);
            }
            Some(input) => match self.moved.filter(|(conn, _)| conn_of(input) == Some(*conn)) {
                None => {
                    self.same(at, Some(input));
                    self.take(at);
                }
                Some((_, Some(by))) => self.postpone(at + by, input.clone()),
                Some((_, None)) => {}
            },
        }
        self.tape_goes_on(at, input);
    }

    fn wants(&mut self, input: Option<&Input>) {
        if let Some(Input::Command(NodeCommand::Messages(MessageCommand::Taken {
            from,
            messages,
            bytes,
        }))) = input
        {
            let [of_messages, of_bytes] = &mut self.taking.entry(*from).or_default().wanted;
            *of_messages = of_messages.saturating_add(*messages);
            *of_bytes = of_bytes.saturating_add(*bytes);
        }
    }

    fn tape_goes_on(&mut self, at: Instant, input: Option<&Input>) {
        let Some(tape) = &mut self.tape else { return };
        match input {
            Some(input) => tape.handle(at, input.clone(), &mut self.fx),
            None => tape.handle_timeout(at, &mut self.fx),
        }
        self.fx.drain().for_each(drop);
    }

    /// What is late and due by then.
    fn late_until(&mut self, at: Instant) {
        while let Some(entry) = self.late.first_entry().filter(|entry| entry.key().0 <= at) {
            let ((due, _), input) = entry.remove_entry();
            self.timers_until(due);
            self.same(due, Some(&input));
            self.take(due);
        }
    }

    /// Timers that only this node has run when they are due. Those that the
    /// recording's node has as well run when they ran there: a real timer is a
    /// little late, and what is the same on both must not differ by that.
    fn timers_until(&mut self, at: Instant) {
        loop {
            let Some((due, _)) = self.node.poll_timeout().filter(|(due, _)| *due < at) else {
                return;
            };
            let shared = self.tape.as_ref().and_then(Engine::poll_timeout);
            if shared.is_some_and(|(also, _)| also == due) {
                return;
            }
            self.same(due.max(self.last), None);
        }
    }

    /// To where the recording ends, or a little further for what is late.
    fn finish(mut self, end: Instant) -> Player {
        self.tape = None;
        self.late_until(Instant::from_micros(u64::MAX));
        self.timers_until(end);
        self.writer.checkpoint(self.last, &mut self.lines);
        self.hand_over();
        self.branch
    }
}
