//! The coordinator: it knows what each client has, and decides which client sends what to which other.
//!
//! Inputs only record what has changed (`messages`, `report`); all possible
//! assignments are then made at once by the timer named `choose`, whose
//! deadline is the present until that is done. So everything that happens at
//! one instant is known before anything is decided (`dispatch`).

mod assign;
mod choose;
mod client;
mod dispatch;
mod file;
mod messages;
mod refresh;
mod report;
mod session;
mod settle;
mod timers;
mod view;

use alloc::collections::BTreeMap;
use alloc::string::ToString as _;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::net::{IpAddr, SocketAddr};

use self::client::{ManagedClient, PieceTransfer, Up};
use self::file::ManagedFile;
use self::timers::Agenda;
pub use self::view::{ClientStanding, ClientView, ManagedFileView, TransferView, View};
use super::config::Config;
use super::event::{Event, SwarmLimit, SwarmRefusal};
use super::io::{FileSpec, Input, Output};
use super::ledger::Ledger;
use crate::engine::{Engine, Fx};
use crate::id::ConnId;
use crate::keyed;
use crate::rng::Rng;
use crate::time::Instant;
use crate::wire::pdtp::{PdtpMessage, Span, Text};

/// A server that has all files, whatever the peers do (SW-9).
#[derive(Debug, Clone)]
struct OriginSource {
    addr: SocketAddr,
    slots: u32,
    busy: u32,
}

/// The coordinator of a swarm.
///
/// ```
/// use servent_core::engine::{Engine, Fx};
/// use servent_core::id::ConnId;
/// use servent_core::rng::Rng;
/// use servent_core::swarm::{Config, FileSpec, Input, Manager, Output};
/// use servent_core::time::Instant;
/// use servent_core::wire::pdtp::{AgreedExtensions, Hash, PdtpMessage};
///
/// let mut coordinator = Manager::new(Config::default(), &Rng::new(42));
/// let (now, mut fx) = (Instant::from_secs(1_000), Fx::new());
/// let (conn, url) = (ConnId(0), "film".into());
/// let hashes = vec![Hash([0; 32]); 3].into();
/// let file = FileSpec { url, size: 10, chunk: 4, hashes, sha256: None };
/// coordinator.handle(now, Input::Serve(file), &mut fx);
/// coordinator.handle(now, Input::Opened { conn, peer: "192.0.2.1".parse().unwrap() }, &mut fx);
/// for message in [
///     PdtpMessage::Register {
///         client_id: "alice".into(),
///         listen_port: Some(7_000),
///         extensions: AgreedExtensions::default(),
///     },
///     PdtpMessage::AskInfo { url: "film".into() },
/// ] {
///     coordinator.handle(now, Input::Message { conn, message }, &mut fx);
/// }
/// assert!(fx.outputs().any(|output| matches!(
///     output,
///     Output::Send { message: PdtpMessage::TellInfo { size: Some(10), chunk_size: Some(4), .. }, .. }
/// )));
/// ```
#[derive(Debug, Clone)]
pub struct Manager {
    config: Config,
    rng: Rng,
    ledger: Ledger,
    clients: Vec<Option<ManagedClient>>,
    vacant: Vec<u32>,
    by_conn: BTreeMap<ConnId, u32>,
    by_id: keyed::Map<Text, u32>,
    files: Vec<ManagedFile>,
    by_url: keyed::Map<Text, u32>,
    sources: Vec<OriginSource>,
    transfers: Vec<Option<PieceTransfer>>,
    spare: Vec<u32>,
    agenda: Agenda,
    /// Since when there is something to assign.
    dirty: Option<Instant>,
    counters: SwarmCounters,
}

/// Totals since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct SwarmCounters {
    /// Transfers started.
    pub assigned: u64,
    /// Of these, from a source.
    pub from_source: u64,
    /// Pieces that arrived.
    pub arrived: u64,
    /// Of these, from a source.
    pub arrived_from_source: u64,
    /// Transfers that failed.
    pub failed: u64,
    /// Pieces granted without credit.
    pub grants: u64,
    /// Messages sent to clients.
    pub sent: u64,
    /// Messages received from clients.
    pub heard: u64,
}

impl SwarmCounters {
    /// Adds those of another coordinator.
    pub(crate) const fn add(&mut self, other: &Self) {
        self.assigned += other.assigned;
        self.from_source += other.from_source;
        self.arrived += other.arrived;
        self.arrived_from_source += other.arrived_from_source;
        self.failed += other.failed;
        self.grants += other.grants;
        self.sent += other.sent;
        self.heard += other.heard;
    }
}

impl Manager {
    /// All that its future depends on besides its configuration, for
    /// exploration: two coordinators that print the same behave the same.
    /// Counters are no part of it, nor are the tables of names, which say the
    /// same as the lists.
    #[must_use]
    #[doc(hidden)]
    pub fn future(&self) -> impl Debug + '_ {
        let Self { rng, ledger, clients, vacant, by_conn, files, .. } = self;
        let Self { sources, transfers, spare, agenda, dirty, .. } = self;
        ((rng, ledger, clients, vacant, by_conn, files), (sources, transfers, spare, agenda, dirty))
    }
}

type ManagerEffects = Fx<Output, Event>;

impl Engine for Manager {
    type Input = Input;
    type Output = Output;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input, fx: &mut ManagerEffects) {
        match input {
            Input::Restore(row) => self.restore(now, row),
            Input::Serve(spec) => self.serve(spec, fx),
            Input::Withdraw { url, why } => self.withdraw(now, &url, &why, fx),
            Input::Source { addr, slots } => self.source(now, addr, slots),
            Input::Opened { conn, peer } => self.opened(now, conn, peer, fx),
            Input::Message { conn, message } => {
                if let Some(&client) = self.by_conn.get(&conn) {
                    self.counters.heard += 1;
                    self.message(now, client, message, fx);
                }
            }
            Input::Unreadable { conn, why } => {
                if let Some(&client) = self.by_conn.get(&conn) {
                    self.expel(now, client, SwarmRefusal::Unreadable, &why, fx);
                }
            }
            Input::Closed { conn } => {
                if let Some(client) = self.by_conn.remove(&conn) {
                    self.leave(now, client, fx);
                }
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant, fx: &mut ManagerEffects) {
        self.run_agenda(now, fx);
        if self.dirty.is_some_and(|at| at <= now) {
            self.dirty = None;
            self.dispatch(now, fx);
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let later = self.agenda.next();
        match (self.dirty, later) {
            (Some(now), Some((at, name))) if at < now => Some((at, name)),
            (Some(now), _) => Some((now, "choose")),
            (None, later) => later,
        }
    }
}

impl Manager {
    /// A coordinator without files, clients or remembered addresses.
    #[must_use]
    pub fn new(config: Config, rng: &Rng) -> Self {
        let mut keys = rng.fork("swarm keys", 0);
        Self {
            config,
            rng: rng.fork("swarm", 0),
            ledger: Ledger::default(),
            clients: Vec::new(),
            vacant: Vec::new(),
            by_conn: BTreeMap::new(),
            by_id: keyed::Map::with_hasher(keyed::Key::new(&mut keys)),
            files: Vec::new(),
            by_url: keyed::Map::with_hasher(keyed::Key::new(&mut keys)),
            sources: Vec::new(),
            transfers: Vec::new(),
            spare: Vec::new(),
            agenda: Agenda::default(),
            dirty: None,
            counters: SwarmCounters::default(),
        }
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Totals since the start.
    #[must_use]
    #[doc(hidden)]
    pub const fn counters(&self) -> SwarmCounters {
        self.counters
    }

    /// Whether a source may serve these bytes to the client with this id: only
    /// if a transfer of exactly them from a source to it is in progress.
    #[must_use]
    #[doc(hidden)]
    pub fn source_may_serve(&self, peer_id: &str, url: &str, span: Span) -> bool {
        let (Some(client), Some(file)) = (self.by_id.get(peer_id), self.by_url.get(url)) else {
            return false;
        };
        let end = span.end.unwrap_or(self.files[*file as usize].spec.size);
        self.client(*client).downs.iter().any(|&at| {
            let transfer = self.transfer(at);
            let (start, last) = self.part_span(transfer);
            transfer.file == *file
                && matches!(transfer.up, Up::Source(_))
                && span.start >= start
                && end <= last
        })
    }

    fn client(&self, at: u32) -> &ManagedClient {
        self.clients[at as usize].as_ref().expect("a client that something refers to")
    }

    fn client_mut(&mut self, at: u32) -> &mut ManagedClient {
        self.clients[at as usize].as_mut().expect("a client that something refers to")
    }

    fn transfer(&self, at: u32) -> &PieceTransfer {
        self.transfers[at as usize].as_ref().expect("a transfer that something refers to")
    }

    fn transfer_mut(&mut self, at: u32) -> &mut PieceTransfer {
        self.transfers[at as usize].as_mut().expect("a transfer that something refers to")
    }

    fn send(&mut self, client: u32, message: PdtpMessage, fx: &mut ManagerEffects) {
        self.counters.sent += 1;
        fx.output(Output::Send { conn: self.client(client).conn, message });
    }

    fn save(&self, row: u32, fx: &mut ManagerEffects) {
        fx.output(Output::Save(self.ledger.get(row).row.clone()));
    }

    /// There is something to assign.
    fn wake(&mut self, now: Instant) {
        self.dirty = Some(self.dirty.map_or(now, |at| at.min(now)));
    }

    fn serve(&mut self, spec: FileSpec, fx: &mut ManagerEffects) {
        let pieces = spec.size.div_ceil(spec.chunk.max(1));
        let fits = pieces == spec.hashes.len() as u64 && spec.chunk > 0;
        if pieces > u64::from(self.config.pieces) || !fits {
            fx.event(Event::Limit { limit: SwarmLimit::Pieces });
        } else if self.files.len() >= self.config.files as usize {
            fx.event(Event::Limit { limit: SwarmLimit::Files });
        } else if !self.by_url.contains_key(&spec.url) {
            self.by_url.insert(spec.url.clone(), self.files.len() as u32);
            self.files.push(ManagedFile::new(spec, self.config.ratio));
        }
    }

    fn source(&mut self, now: Instant, addr: SocketAddr, slots: u32) {
        match self.sources.iter_mut().find(|source| source.addr == addr) {
            Some(source) => source.slots = slots,
            None => self.sources.push(OriginSource { addr, slots, busy: 0 }),
        }
        self.files.iter_mut().for_each(|file| file.dirty = true);
        self.wake(now);
    }

    /// The least loaded source with a free slot (SW-9).
    fn free_source(&self) -> Option<u32> {
        let free = (0..).zip(&self.sources).filter(|(_, source)| source.busy < source.slots);
        let load = |source: &OriginSource| u64::from(source.busy) * 1_000 / u64::from(source.slots);
        free.min_by_key(|(_, source)| load(source)).map(|(at, _)| at)
    }

    /// The address of an uploader, as it is told to clients.
    fn address(&self, up: Up) -> IpAddr {
        match up {
            Up::Source(at) => self.sources[at as usize].addr.ip(),
            Up::Client(client) => self.client(client).peer,
        }
    }

    fn refuse(&mut self, client: u32, why: SwarmRefusal, sentence: &str, fx: &mut ManagerEffects) {
        fx.event(Event::Refused { client: self.client(client).conn, why });
        let reason = match why {
            SwarmRefusal::UnknownFile => "unknown_file",
            SwarmRefusal::BadRange => "bad_range",
            SwarmRefusal::UnknownTransfer => "unknown_transfer",
            SwarmRefusal::AboveHardLimit => "above_hard_limit",
            SwarmRefusal::TooSoon => "too_soon",
            _ => "refused",
        };
        let (reason, message) = (reason.to_string(), sentence.to_string());
        self.send(client, PdtpMessage::Error { reason, message }, fx);
    }

    /// Tells a client why, and disconnects it.
    fn expel(
        &mut self,
        now: Instant,
        client: u32,
        why: SwarmRefusal,
        sentence: &str,
        fx: &mut ManagerEffects,
    ) {
        let conn = self.client(client).conn;
        fx.event(Event::Refused { client: conn, why });
        self.send(client, PdtpMessage::ProtocolError { message: sentence.to_string() }, fx);
        fx.output(Output::Close { conn });
        self.by_conn.remove(&conn);
        self.leave(now, client, fx);
    }
}
