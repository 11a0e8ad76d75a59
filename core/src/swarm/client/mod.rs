//! The client of a swarm: it downloads, and uploads as the coordinator orders.
//!
//! It keeps a connection to the coordinator, announces what it has and wants,
//! follows `transfer` orders, admits peers that the coordinator authorizes, and
//! reports how each transfer ended. The host transfers the bytes and computes
//! the digests; each transfer is a [`TransferJob`] that the client starts and the host
//! ends with [`Input::Ended`], unless the client aborts it.

mod config;
mod io;
mod jobs;
mod liars;
mod moved;
mod peers;
mod talk;

use alloc::collections::BTreeMap;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::IpAddr;

pub use self::config::Config;
pub use self::io::{Event, Ignored, Input, JobOutcome, Output, PeerRequest, TransferJob};
use self::jobs::{Doing, RunningTransfer};
use self::liars::{Liars, PieceGiver};
use self::peers::{Allowed, Waiting};
use super::bits::PieceSet;
use crate::engine::{Engine, Fx};
use crate::time::{Duration, Instant};
use crate::wire::pdtp::{AgreedExtensions, Span, Text};

/// A file that it downloads or offers.
#[derive(Debug, Clone)]
struct ClientFile {
    url: Text,
    /// Size of the file in bytes; 0 until it is known.
    size: u64,
    chunk: u64,
    /// Verified pieces on disk.
    have: PieceSet,
    held: u32,
    /// Pieces whose digest the coordinator has to check, with the peer to blame
    /// when it is wrong.
    judged: BTreeMap<u32, Option<PieceGiver>>,
    /// All of it was here from the beginning.
    whole: bool,
    done: bool,
}

/// A client of a swarm.
///
/// ```
/// use servent_core::engine::{Engine, Fx};
/// use servent_core::swarm::client::{SwarmClient, Config, Input, Output};
/// use servent_core::time::Instant;
/// use servent_core::wire::pdtp::PdtpMessage;
///
/// let mut client = SwarmClient::new(Config { id: "alice".into(), ..Config::default() });
/// let (now, mut fx) = (Instant::from_secs(1_000), Fx::new());
/// let want = Input::Want { url: "film".into(), chunk: 4, have: Vec::new() };
/// client.handle(now, want, &mut fx);
/// client.handle(now, Input::Online { coordinator: "192.0.2.9".parse().unwrap() }, &mut fx);
/// let said: Vec<_> = fx.outputs().filter_map(|output| match output {
///     Output::Send(message) => Some(message),
///     _ => None,
/// }).collect();
/// assert!(matches!(said[0], PdtpMessage::Register { .. }));
/// ```
#[derive(Debug, Clone)]
pub struct SwarmClient {
    config: Config,
    coordinator: Option<IpAddr>,
    connecting: bool,
    retry: Duration,
    /// How often we were sent on since a coordinator had what we want.
    moves: u32,
    connect_at: Option<Instant>,
    /// The extensions that the coordinator agreed to.
    agreed: AgreedExtensions,
    /// It has admitted a peer that the coordinator announced: from then on the
    /// coordinator announces every peer before it connects.
    expects: bool,
    files: Vec<ClientFile>,
    jobs: BTreeMap<u32, RunningTransfer>,
    next_job: u32,
    /// Uploads that wait for their turn.
    queue: VecDeque<u32>,
    waiting: Vec<Waiting>,
    allowed: VecDeque<Allowed>,
    liars: Liars,
}

type ClientEffects = Fx<Output, Event>;

impl Engine for SwarmClient {
    type Input = Input;
    type Output = Output;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input, fx: &mut ClientEffects) {
        match input {
            Input::Online { coordinator } => self.online(coordinator, fx),
            Input::Offline => self.offline(now, fx),
            Input::Message(message) => self.message(now, message, fx),
            Input::Want { url, chunk, have } => self.want(url, (chunk, &have), fx),
            Input::Offer { url } => self.offer(url, fx),
            Input::Leave { url } => self.leave(&url, fx),
            Input::Listen { port } => self.listen(port, fx),
            Input::Incoming(request) => self.incoming(now, request, fx),
            Input::Gone { conn } => self.waiting.retain(|peer| peer.request.conn != conn),
            Input::Ended { job, outcome } => self.ended(now, job, outcome, fx),
        }
    }

    fn handle_timeout(&mut self, now: Instant, fx: &mut ClientEffects) {
        if self.connect_at.is_some_and(|at| at <= now) {
            self.connect_at = None;
            self.connecting = true;
            fx.output(Output::Connect);
        }
        self.overdue(now, fx);
        self.unanswered(now, fx);
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let connect = self.connect_at.map(|at| (at, "connect"));
        let job = self.jobs.values().map(|job| job.deadline).min().map(|at| (at, "job"));
        let peer = self.waiting.iter().map(|peer| peer.deadline).min().map(|at| (at, "verify"));
        [connect, job, peer].into_iter().flatten().min_by_key(|(at, _)| *at)
    }
}

impl SwarmClient {
    /// A client without files.
    #[must_use]
    pub const fn new(config: Config) -> Self {
        let retry = config.retry_first;
        Self {
            config,
            coordinator: None,
            connecting: false,
            retry,
            moves: 0,
            connect_at: None,
            agreed: AgreedExtensions { merge: false, early: false },
            expects: false,
            files: Vec::new(),
            jobs: BTreeMap::new(),
            next_job: 0,
            queue: VecDeque::new(),
            waiting: Vec::new(),
            allowed: VecDeque::new(),
            liars: Liars::new(),
        }
    }

    /// The extensions the coordinator agreed to, such as whether messages may
    /// share a frame.
    #[must_use]
    pub const fn agreed(&self) -> AgreedExtensions {
        self.agreed
    }

    /// How many pieces of a file are here, and how many it has.
    #[must_use]
    pub fn progress(&self, url: &str) -> Option<(u32, u32)> {
        self.files.iter().find(|file| &*file.url == url).map(|file| (file.held, file.pieces()))
    }

    /// Transfers in progress: to us, and from us.
    #[must_use]
    pub fn running(&self) -> (u32, u32) {
        let down = self.jobs.values().filter(|job| matches!(job.doing, Doing::Receive { .. }));
        let down = down.count() as u32;
        (down, self.jobs.len() as u32 - down)
    }

    fn file(&self, url: &str) -> Option<usize> {
        self.files.iter().position(|file| &*file.url == url)
    }
}

impl ClientFile {
    fn pieces(&self) -> u32 {
        if self.chunk == 0 { 0 } else { self.size.div_ceil(self.chunk) as u32 }
    }

    fn span(&self, piece: u32) -> Span {
        let start = u64::from(piece) * self.chunk;
        // Size and chunk are the coordinator's words: the sum may be any.
        Span::new(start, start.saturating_add(self.chunk).min(self.size))
    }

    /// The piece that a span is in.
    fn piece_of(&self, span: Span) -> Option<u32> {
        let piece = u32::try_from(span.start.checked_div(self.chunk)?).ok()?;
        let whole = self.span(piece);
        let end = span.end.unwrap_or(self.size);
        (span.start < end && Some(end) <= whole.end).then_some(piece)
    }

    fn keep(&mut self, piece: u32) {
        if self.have.insert(piece) {
            self.held += 1;
        }
    }

    /// What is here, or what is missing, as spans of consecutive pieces.
    fn runs(&self, here: bool) -> Vec<Span> {
        let mut runs: Vec<Span> = Vec::new();
        for piece in (0..self.pieces()).filter(|piece| self.have.contains(*piece) == here) {
            let span = self.span(piece);
            match runs.last_mut() {
                Some(last) if last.end == Some(span.start) => last.end = span.end,
                _ => runs.push(span),
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn what_is_here_and_what_is_missing_make_up_the_file() {
        let mut dice = Rng::new(1);
        for _ in 0..500 {
            let (size, chunk) = (dice.below(300), dice.below(40));
            let mut file = ClientFile::new("f".into(), chunk, false);
            file.size = size;
            let pieces = if chunk == 0 { 0 } else { size.div_ceil(chunk) };
            assert_eq!(u64::from(file.pieces()), pieces);
            (0..pieces).filter(|_| dice.chance(1, 2)).for_each(|n| file.keep(n as u32));
            let here = |byte: u64| file.have.contains((byte / chunk) as u32);
            for wanted in [true, false] {
                let runs = file.runs(wanted);
                let bytes = runs.iter().flat_map(|run| run.start..run.end.unwrap());
                let found = (0..if chunk == 0 { 0 } else { size }).filter(|n| here(*n) == wanted);
                assert!(bytes.eq(found), "{runs:?}");
                assert!(runs.windows(2).all(|two| two[0].end.unwrap() < two[1].start));
            }
            assert_eq!(file.held, file.have.len());
            if pieces > 0 {
                file.keep(0);
                file.keep(0);
                assert_eq!(file.held, file.have.len(), "a piece counts once");
            }
        }
    }

    #[test]
    fn a_span_is_in_the_piece_that_all_of_its_bytes_are_in() {
        let mut dice = Rng::new(2);
        for _ in 0..4_000 {
            let (size, chunk) = (dice.below(60), dice.below(25));
            let mut file = ClientFile::new("f".into(), chunk, false);
            file.size = size;
            let (start, end) = (dice.below(size + 2), dice.below(size + 3));
            let span = Span { start, end: Some(end).filter(|_| dice.chance(4, 5)) };
            let end = span.end.unwrap_or(size);
            let inside = chunk > 0 && start < end && end <= size;
            let one = inside.then(|| (start / chunk, (end - 1) / chunk));
            let one = one.filter(|(first, last)| first == last).map(|(piece, _)| piece as u32);
            assert_eq!(file.piece_of(span), one, "{span:?} of {size} by {chunk}");
            if let Some(piece) = one {
                let first = u64::from(piece) * chunk;
                assert_eq!(file.span(piece), Span::new(first, size.min(first + chunk)));
            }
        }
    }

    #[test]
    fn no_size_that_a_coordinator_names_is_too_large_to_reckon_with() {
        let half = 1 << 63;
        let mut file = ClientFile::new("f".into(), half, false);
        file.size = u64::MAX;
        assert_eq!((file.pieces(), file.span(1)), (2, Span::new(half, u64::MAX)));
        assert_eq!(file.piece_of(Span { start: half, end: None }), Some(1));
        file.size = half;
        assert_eq!(file.piece_of(Span { start: half, end: None }), None);
        assert_eq!(file.piece_of(Span { start: u64::MAX, end: Some(u64::MAX) }), None);
    }
}
