//! The task that owns the node.

mod fresh;
mod outputs;
mod promises;
mod rooms;
mod suspended;
mod wall;

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use servent_core::engine::{Effect, Engine as _, FxOf};
use servent_core::id::ConnId;
use servent_core::node::{
    ConnInput, ConnOutput, DiskInput, FetchInput, FetchOutput, Input, MessageOutput, Node,
    NodeCommand, NodeOp, Output, StoreError, swarm,
};
use servent_core::time::Instant;
use servent_core::unicast::Endpoint;
use tokio::sync::watch;

use self::outputs::TurnOutput;
use self::rooms::Promises;
pub(super) use self::rooms::{Disk, HostedNode, Mailboxes, Sockets};
use self::suspended::Suspended;
use self::wall::WallWatch;
use super::datagrams::MessageEffect;
use super::{Coordinate, HandleRequest, Neighbourhood, QueueByLanes, ServentEnd, Want};
use crate::clock::Clock;
use crate::counters::add;
use crate::error::{RunError, StoreFailure};
use crate::library::{LibraryRequest, ShareChange as LibraryChange};
use crate::net::{Alarm, Report};
use crate::store::{Store, StoreChange};

/// Reports taken in one turn.
const TURN: usize = 256;
/// How often the store is flushed to disk when no reply is waiting for that.
const FLUSH_EVERY: Duration = Duration::from_secs(5);

/// The node and everything it acts upon.
pub(super) struct Loop {
    host: HostedNode,
    alarm: Alarm,
    fx: FxOf<Node>,
    /// The node's effects about datagrams, for its endpoint.
    pub(super) said: Vec<MessageEffect>,
    disk: Disk,
    mail: Mailboxes,
    sockets: Sockets,
    promises: Promises,
    suspended: Suspended,
    wall: WallWatch,
    stopped: bool,
}

/// What the outputs of one input promise.
struct Promised {
    /// Changes that were looked at.
    seen: usize,
    /// One of them must be saved before anything that follows it is said.
    made: bool,
}

/// Why a turn began.
enum Woken {
    Reports,
    Control(Option<HandleRequest>),
    Timer,
    Datagrams,
    Flush,
    Store(Result<Option<Input>, StoreFailure>),
}

impl Loop {
    /// A loop that has not begun; `shared` and `changes` are what the folders had at
    /// the start.
    pub(super) fn new(
        host: HostedNode,
        (disk, mail, sockets): (Disk, Mailboxes, Sockets),
        (shared, changes): (Vec<LibraryChange>, Vec<StoreChange>),
    ) -> Self {
        let mut turns = Self {
            host,
            alarm: Alarm::new(),
            fx: FxOf::<Node>::new(),
            said: Vec::new(),
            disk,
            mail,
            sockets,
            promises: Promises { changes, ..Promises::default() },
            suspended: Suspended::default(),
            wall: WallWatch::default(),
            stopped: false,
        };
        for change in shared {
            turns.library(change);
        }
        turns
    }

    /// Runs until stopped, aborted or unable to go on; `end` receives how.
    pub(super) async fn run(mut self, first: Vec<Input>, end: watch::Sender<ServentEnd>) {
        let how = self.turns(first).await;
        let how = match (how, self.host.tape.take()) {
            (Ok(true), Some(tape)) => {
                let now = self.host.clock.now();
                let ended = tokio::task::spawn_blocking(move || tape.end(now)).await;
                ended.unwrap_or_else(|gone| Err(gone.into())).map_err(RunError::Trace)
            }
            (how, _) => how.map(|_| ()),
        };
        for outbox in self.sockets.conns.values() {
            outbox.cut();
        }
        drop(self); // The store is closed before the end is announced.
        let _ = end.send(Some(how.map_err(Arc::new))); // There may be no listener.
    }

    /// True when it stopped normally.
    async fn turns(&mut self, first: Vec<Input>) -> Result<bool, RunError> {
        let mut batch = Vec::with_capacity(TURN);
        let now = self.host.clock.now();
        first.iter().for_each(|input| self.host.outside.names.remember(input));
        first.into_iter().for_each(|input| self.feed(now, input));
        self.finish_turn(now).await?;
        let mut flush = tokio::time::interval(FLUSH_EVERY);
        while !self.stopped {
            let woken = self.wait(&mut batch, &mut flush).await;
            let mut now = self.host.clock.now();
            // Before what is overdue by now.
            if let Some(woke) = self.suspended.hear(self.host.clock.suspended()) {
                self.feed(now, Input::Command(woke));
            }
            self.timers(now);
            self.unsay(now);
            match woken {
                Woken::Control(None | Some(HandleRequest::Abort)) => return Ok(false),
                Woken::Control(Some(control)) => self.control(now, control),
                Woken::Reports => batch.drain(..).for_each(|report| self.report(now, report)),
                Woken::Flush => {
                    self.flush_aside();
                    self.look_into_inbox();
                    self.look_at_wall(now);
                }
                Woken::Store(news) => self.hear_of_site(now, news?),
                Woken::Timer | Woken::Datagrams => {}
            }
            if let Some(mut messaging) = self.host.messaging.take() {
                now = messaging.turn(self);
                self.host.messaging = Some(messaging);
            }
            self.finish_turn(now).await?;
        }
        self.wind_up(&mut batch).await?;
        Ok(true)
    }

    async fn wait(&mut self, batch: &mut Vec<Report>, flush: &mut tokio::time::Interval) -> Woken {
        let now = self.host.clock.now();
        let wait = |at: Instant| Duration::from_micros(at.since(now).as_micros());
        let timer = self.host.node.poll_timeout().map(|(at, _)| at);
        let after = timer.into_iter().chain(self.promises.held.due()).min().map(wait);
        let Self { host, alarm, disk, mail, .. } = self;
        let news = async {
            match &mut disk.store {
                Some(store) => store.news().await,
                None => std::future::pending().await,
            }
        };
        let datagrams = async {
            match &mut host.messaging {
                Some(messaging) => messaging.work().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased; // The timer is set only if nothing else is ready.
            control = mail.controlled.recv() => Woken::Control(control),
            _ = flush.tick() => Woken::Flush,
            news = news => Woken::Store(news),
            _ = mail.reported.recv_many(batch, TURN) => Woken::Reports,
            () = datagrams => Woken::Datagrams,
            () = alarm.ring(after) => Woken::Timer,
        }
    }

    /// The database is away or back, or others lead other parts of the site.
    fn hear_of_site(&mut self, now: Instant, news: Option<Input>) {
        if let Some(lines) = self.disk.store.as_mut().and_then(Store::lines) {
            self.host.outside.stands(lines.standing());
        }
        if let Some(input) = news {
            self.feed(now, input);
        }
    }

    /// What is dated follows the clock that people see.
    fn look_at_wall(&mut self, now: Instant) {
        let wall = Clock::wall();
        if let Some(told) = self.wall.hear(now, wall) {
            self.feed(now, Input::Command(told));
            self.host.outside.set_wall(now, wall);
        }
    }

    /// Runs the timers that are due at `now`.
    fn timers(&mut self, now: Instant) {
        while self.host.node.poll_timeout().is_some_and(|(at, _)| at <= now) {
            if let Some(tape) = &mut self.host.tape {
                tape.timeout(now);
            }
            self.host.node.handle_timeout(now, &mut self.fx);
            self.gather(now);
        }
    }

    /// The time, with everything done that is due by then.
    pub(super) fn tick(&mut self) -> Instant {
        let now = self.host.clock.now();
        self.timers(now);
        now
    }

    /// The state of the datagram protocol.
    pub(super) fn endpoint(&self) -> Option<&Endpoint> {
        self.host.node.datagrams()
    }

    /// Gives the node an input.
    pub(super) fn feed(&mut self, now: Instant, input: Input) {
        if let Some(tape) = &mut self.host.tape {
            tape.input(now, &input);
        }
        self.host.node.handle(now, input, &mut self.fx);
        self.gather(now);
    }

    /// Sorts the node's effects: changes to save, messages, and outputs to carry
    /// out after that.
    fn gather(&mut self, now: Instant) {
        add(&self.host.outside.counters.inputs, 1);
        if let Some(tape) = &mut self.host.tape {
            tape.effects(now, self.fx.as_slice());
        }
        let mut promised = Promised { seen: self.promises.changes.len(), made: false };
        let mut fx = std::mem::take(&mut self.fx);
        for effect in fx.drain() {
            match effect {
                Effect::Event(event) => {
                    self.host.outside.note(now, &event);
                    self.said.extend(MessageEffect::from_event(event));
                }
                Effect::Output(Output::Persist(op)) => {
                    if let NodeOp::Fetch(row) = &op {
                        self.disk.downloads.learn(row);
                    }
                    self.promises.changes.push(StoreChange::Node(op));
                }
                Effect::Output(Output::Messages(wanted)) => self.say(wanted),
                Effect::Output(Output::Connection(conn, wanted)) => {
                    if let ConnOutput::Write { data } = &wanted {
                        self.host.outside.wrote(now, conn, data);
                    }
                    self.later(TurnOutput::Connection(conn, wanted), &mut promised);
                }
                Effect::Output(Output::Fetch(wanted)) => {
                    self.promises.changes.extend(match &wanted {
                        FetchOutput::Allocate { fetch, name, .. } => {
                            self.disk.downloads.naming(*fetch, name)
                        }
                        FetchOutput::Complete { fetch } => self.disk.downloads.completing(*fetch),
                        FetchOutput::Hash { .. } | FetchOutput::Verify { .. } => None,
                    });
                    self.later(TurnOutput::Fetch(wanted), &mut promised);
                }
                Effect::Output(Output::Swarm(wanted)) => {
                    self.later(TurnOutput::Swarm(wanted), &mut promised);
                }
                Effect::Output(Output::Answer(answer)) => {
                    self.said.extend(MessageEffect::from_answer(&answer));
                    self.later(TurnOutput::Answer(answer), &mut promised);
                }
            }
        }
        self.fx = fx; // Its memory is reused.
    }

    /// An output is carried out at the end of the turn. It promises what the same
    /// input has changed before it.
    fn later(&mut self, output: TurnOutput, promised: &mut Promised) {
        if let Some(store) = &self.disk.store {
            promised.made |=
                self.promises.changes[promised.seen..].iter().any(|one| store.waits_for(one));
        }
        promised.seen = self.promises.changes.len();
        self.promises.outputs.push((promised.made, output));
    }

    /// Datagrams and messages go to the endpoint; without one, datagrams are the
    /// overlay's, for its host caches.
    fn say(&mut self, wanted: MessageOutput) {
        match wanted {
            MessageOutput::Datagrams { to, data, .. }
                if self.host.node.config().datagrams.is_none() =>
            {
                self.host.caches.send(to, &data);
            }
            wanted => self.said.push(MessageEffect::Wanted(wanted)),
        }
    }

    fn control(&mut self, now: Instant, control: HandleRequest) {
        match control {
            HandleRequest::Command(command) => {
                let input = Input::Command(command);
                self.host.outside.names.remember(&input);
                self.feed(now, input);
            }
            HandleRequest::View { from, count, reply } => {
                let _ = reply.send(self.host.node.view(from, count)); // The asker may be gone.
            }
            HandleRequest::Meetings { reply } => {
                let _ = reply.send(self.host.node.meetings()); // The asker may be gone.
            }
            HandleRequest::QueueByLanes { windows, reply } => {
                let (lanes, cards) = self.host.node.lanes(&windows);
                let mut view = self.host.node.view(1, 0);
                view.queue.cards = cards;
                let _ = reply.send(QueueByLanes { at: now, view, lanes }); // The asker may be gone.
            }
            HandleRequest::Neighbourhood { reply } => {
                let hosts = self.host.node.hosts();
                let firewalled = self.host.node.is_firewalled();
                let view = self.host.node.overlay();
                let view = view.map(|router| Neighbourhood { router, hosts, firewalled });
                let _ = reply.send(view); // The asker may be gone.
            }
            HandleRequest::Want { want, reply } => {
                let (file, change) = self.disk.swarm.target(&want.target);
                self.promises.changes.extend(change);
                let Want { url, coordinator, sha256, .. } = want;
                let command = swarm::SwarmCommand::Want { file, url, coordinator, sha256 };
                self.feed(now, Input::Command(NodeCommand::Swarm(command)));
                let _ = reply.send(file); // The asker may be gone.
            }
            HandleRequest::Swarm { clients, reply } => {
                let _ = reply.send(self.host.node.swarm(clients)); // The asker may be gone.
            }
            HandleRequest::Export { to, reply } => {
                let done = self.disk.store.as_ref().map_or(Ok(()), |store| store.copy_to(&to));
                let _ = reply.send(done); // The asker may be gone.
            }
            HandleRequest::Change(change) => change.apply(&mut self.sockets),
            HandleRequest::Abort => {}
        }
    }

    fn report(&mut self, now: Instant, report: Report) {
        match report {
            Report::Accepted { outbox, .. } if self.stopped => outbox.cut(),
            Report::Accepted { conn, peer, local, outbox } => {
                self.sockets.conns.insert(conn, outbox);
                self.sockets.people.came(conn, peer.ip());
                self.feed(now, Input::Connection(conn, ConnInput::Accepted { peer, local }));
            }
            Report::Library(change) => {
                let input = match &change {
                    LibraryChange::Shared(shared, _) => {
                        Some(Input::Disk(DiskInput::Shared(shared.info.clone())))
                    }
                    LibraryChange::Gone(index) => {
                        Some(Input::Disk(DiskInput::Unshared { index: *index }))
                    }
                    LibraryChange::Forgotten(_) | LibraryChange::Wished { .. } => None,
                };
                self.library(change);
                if let Some(input) = input {
                    self.feed(now, input);
                }
            }
            Report::Input(input) => {
                self.hear(&input);
                self.look_at_files(now, &input);
                self.feed(now, input);
            }
        }
    }

    /// Notes what an input means to the driver itself.
    fn hear(&mut self, input: &Input) {
        match input {
            Input::Connection(conn, input) => self.hear_of_conn(*conn, input),
            Input::Fetch(FetchInput::VerifyFailed { why, .. }) => self.disk_trouble(*why),
            _ => {}
        }
    }

    fn hear_of_conn(&mut self, conn: ConnId, input: &ConnInput) {
        match input {
            ConnInput::Bytes { .. } => self.sockets.taken.push(conn),
            ConnInput::Authenticated { .. } if self.sockets.authenticating.remove(&conn) => {
                self.sockets.taken.push(conn)
            }
            ConnInput::Closed | ConnInput::DialFailed { .. } => {
                self.sockets.conns.remove(&conn);
                self.sockets.people.went(conn);
                self.sockets.authenticating.remove(&conn);
            }
            ConnInput::DiskFailed { why: StoreError::Changed } => {
                let _ = self.host.outside.library_asks.send(LibraryRequest::Walk); // Its thread may have ended.
            }
            ConnInput::DiskFailed { why } => self.disk_trouble(*why),
            ConnInput::Served { bytes } => self.host.outside.served(conn, *bytes),
            _ => {}
        }
    }

    fn disk_trouble(&self, why: StoreError) {
        let last = self.host.outside.disk_trouble.lock();
        *last.unwrap_or_else(PoisonError::into_inner) = Some(why);
    }

    fn library(&mut self, change: LibraryChange) {
        match change {
            LibraryChange::Shared(shared, row) => {
                self.promises.changes.push(StoreChange::File(shared.path(), row));
                self.disk.shared.insert(shared.info.index, shared);
            }
            LibraryChange::Gone(index) => {
                self.disk.shared.remove(&index);
            }
            LibraryChange::Forgotten(path) => {
                self.promises.changes.push(StoreChange::FileGone(path))
            }
            LibraryChange::Wished { path, shared, outcome, told } => {
                let share = if shared { StoreChange::Share } else { StoreChange::ShareGone };
                self.promises.changes.push(share(path));
                self.promises.wished.push((outcome, told));
            }
        }
    }

    /// The coordinator's first inputs, so that no client finds it without its
    /// files.
    pub(super) fn coordinate(&mut self, what: Option<Coordinate>) -> Vec<Input> {
        let Some(Coordinate { files, slots, proxies }) = what else { return Vec::new() };
        let mut commands = Vec::new();
        for (path, spec) in files {
            let file = self.disk.swarm.source(path, spec.size);
            commands.push(swarm::SwarmCommand::Serve { file, spec });
        }
        let sources = self.host.outside.addrs.first().into_iter().chain(&proxies);
        commands.extend(sources.map(|at| swarm::SwarmCommand::Source { at: *at, slots }));
        commands.into_iter().map(|command| Input::Command(NodeCommand::Swarm(command))).collect()
    }

    /// Tells the node what is in the inbox, without making a connection wait.
    fn look_into_inbox(&self) {
        if let Some(inbox) = self.disk.inbox.clone() {
            let reports = self.mail.reports.clone();
            let tell = move |held| {
                // It may have ended.
                let _ =
                    reports.blocking_send(Report::Input(Input::Disk(DiskInput::Inbox { held })));
            };
            tokio::task::spawn_blocking(move || inbox.look(tell));
        }
    }
}
