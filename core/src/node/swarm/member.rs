//! A client of a coordinator: hosts `swarm::client`.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;

use super::cx::SwarmCx;
use super::io::{Output, PartialFile, SwarmAnswer, SwarmFile, SwarmOp};
use super::jobs::{DigestRequest, EndedJob, JobDirection, Jobs, Work, reply};
use super::line::{CoordinatorLine, Lost};
use super::peers::{AskingStep, ServingSide, SwarmPeers};
use super::view::{MemberView, SwarmFileView};
use crate::engine::{Effect, Engine as _, Fx};
use crate::id::ConnId;
use crate::node::StoreError;
use crate::node::service::{EngineCall, FollowUps, RunsEngine};
use crate::rng::Rng;
use crate::swarm::client::{self, Event, Input, JobOutcome, SwarmClient};
use crate::wire::pdtp::{Hash, PdtpMessage, Span, Text};

/// A file that we download or offer.
#[derive(Debug, Clone)]
struct MemberFile {
    file: SwarmFile,
    size: u64,
    chunk: u64,
    /// All of it was here from the beginning.
    offered: bool,
    /// The size and piece size that the remembered pieces belong to.
    known: Option<(u64, u64)>,
    resumed: u32,
    /// The digest it must have.
    sha256: Option<Hash>,
    /// The digest it has, once complete.
    found: Option<Hash>,
    /// It is complete and has its final name.
    done: bool,
    /// Digests of downloaded pieces, until they are confirmed.
    digests: BTreeMap<u32, Hash>,
}

/// The client, and the connection to its coordinator.
#[derive(Debug, Clone)]
pub(super) struct SwarmMember {
    pub(super) client: SwarmClient,
    follow_ups: FollowUps<Input>,
    /// Jobs of the current call that fetch from the source.
    sources: BTreeSet<u32>,
    line: CoordinatorLine,
    files: BTreeMap<Text, MemberFile>,
    pub(super) jobs: Jobs,
    wrong: u32,
    /// Peers we connected to, and the ids of peers that connected to us; often
    /// they are the same peers.
    met: (BTreeSet<SocketAddr>, BTreeSet<Text>),
}

/// What the client's effects are carried out with.
struct MemberCx<'a, 'b> {
    peers: &'a mut SwarmPeers,
    cx: &'a mut SwarmCx<'b>,
}

impl RunsEngine<MemberCx<'_, '_>> for SwarmMember {
    type Input = Input;
    type Output = client::Output;
    type Event = Event;

    fn follow_ups(&mut self) -> &mut FollowUps<Input> {
        &mut self.follow_ups
    }

    fn call(
        &mut self,
        with: &mut MemberCx<'_, '_>,
        call: EngineCall<Input>,
        fx: &mut Fx<client::Output, Event>,
    ) {
        self.sources.clear();
        match call {
            EngineCall::Input(input) => self.client.handle(with.cx.now, input, fx),
            EngineCall::Timeout => self.client.handle_timeout(with.cx.now, fx),
        }
    }

    fn carry_out(&mut self, with: &mut MemberCx<'_, '_>, effect: Effect<client::Output, Event>) {
        match effect {
            Effect::Event(event) => {
                self.note(&event, with.cx.limits.counted as usize);
                with.cx.fx.event(crate::node::Event::Client(event));
            }
            Effect::Output(output) => {
                if let Some((job, outcome)) = self.act(output, with.peers, with.cx) {
                    self.follow_ups.push(Input::Ended { job: client::TransferJob(job), outcome });
                }
            }
        }
    }
}

impl SwarmMember {
    pub(super) fn new(config: &client::Config, root: &Rng) -> Self {
        let mut config = config.clone();
        if config.id.is_empty() {
            config.id = format!("{:016x}", root.fork("swarm client", 0).next_u64()).into();
        }
        let jobs = Jobs::new(config.id.clone());
        Self {
            client: SwarmClient::new(config),
            follow_ups: FollowUps::default(),
            sources: BTreeSet::new(),
            line: CoordinatorLine::new(),
            files: BTreeMap::new(),
            jobs,
            wrong: 0,
            met: (BTreeSet::new(), BTreeSet::new()),
        }
    }

    pub(super) fn has(&self, url: &str) -> bool {
        self.files.contains_key(url)
    }

    pub(super) fn urls(&self) -> Vec<Text> {
        self.files.keys().cloned().collect()
    }

    pub(super) fn url_of(&self, file: SwarmFile) -> Option<Text> {
        self.files.iter().find(|(_, wanted)| wanted.file == file).map(|(url, _)| url.clone())
    }

    fn wanted(&mut self, file: SwarmFile) -> Option<&mut MemberFile> {
        self.files.values_mut().find(|wanted| wanted.file == file)
    }

    /// Starts to download a file, or to offer it (`offered`).
    pub(super) fn add(
        &mut self,
        file: SwarmFile,
        (url, coordinator): (Text, Vec<SocketAddr>),
        (part, sha256, offered): (Option<PartialFile>, Option<Hash>, bool),
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) {
        if self.files.contains_key(&url) || self.url_of(file).is_some() {
            let why = "the file is taken or given already".into();
            return cx.answer(SwarmAnswer::Refused { file, why });
        }
        if self.files.is_empty() {
            self.line.at = coordinator;
        } else if self.line.at != coordinator {
            let why = "a node has one coordinator, and files of another one are not done".into();
            return cx.answer(SwarmAnswer::Refused { file, why });
        }
        let have: Vec<u32> =
            part.iter().flat_map(|part| part.have.iter()).flat_map(|(a, b)| *a..*b).collect();
        let wanted = MemberFile {
            file,
            size: 0,
            chunk: 0,
            offered,
            known: part.as_ref().map(|part| (part.size, part.chunk)),
            resumed: have.len() as u32,
            sha256,
            found: None,
            done: false,
            digests: BTreeMap::new(),
        };
        self.files.insert(url.clone(), wanted);
        let chunk = part.map_or(0, |part| part.chunk);
        let input = if offered { Input::Offer { url } } else { Input::Want { url, chunk, have } };
        self.feed(input, peers, cx);
    }

    /// Stops downloading or offering a file.
    pub(super) fn leave(&mut self, url: &Text, peers: &mut SwarmPeers, cx: &mut SwarmCx<'_>) {
        self.feed(Input::Leave { url: url.clone() }, peers, cx);
        self.files.remove(url);
    }

    pub(super) fn feed(&mut self, input: Input, peers: &mut SwarmPeers, cx: &mut SwarmCx<'_>) {
        RunsEngine::feed(self, &mut MemberCx { peers, cx }, input);
    }

    /// A job of the client ended.
    pub(super) fn ended(&mut self, ended: EndedJob, peers: &mut SwarmPeers, cx: &mut SwarmCx<'_>) {
        if let Some((job, outcome)) = ended {
            self.feed(Input::Ended { job: client::TransferJob(job), outcome }, peers, cx);
        }
    }

    pub(super) fn timeout(&mut self, peers: &mut SwarmPeers, cx: &mut SwarmCx<'_>) {
        if self.client.poll_timeout().is_some_and(|(at, _)| at <= cx.now) {
            self.feed_timeout(&mut MemberCx { peers, cx });
        }
    }

    fn note(&mut self, event: &Event, most: usize) {
        match event {
            Event::Receiving { job, source: true, .. } => {
                self.sources.insert(job.0);
            }
            Event::Receiving { from: Some(peer), .. } | Event::Sending { to: Some(peer), .. }
                if self.met.0.len() < most =>
            {
                self.met.0.insert(*peer);
            }
            Event::Wrong { .. } => self.wrong += 1,
            _ => {}
        }
    }

    fn act(
        &mut self,
        output: client::Output,
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) -> EndedJob {
        use client::Output as Out;
        match output {
            Out::Connect => self.connect(peers, cx),
            Out::Send(message) => {
                if let Some(conn) = self.line.up() {
                    cx.say(conn, message);
                }
            }
            Out::Fetch { job, from, url, span, piece } => {
                let way = if self.sources.contains(&job.0) {
                    JobDirection::FromSource
                } else {
                    JobDirection::FromPeer
                };
                return match self.work(&url, way, (span, piece), Some(from)) {
                    Some(work) => self.jobs.ask(job.0, work, peers, cx),
                    None => unbegun(job.0),
                };
            }
            Out::Push { job, to, url, span } => {
                return match self.work(&url, JobDirection::ToPeer, (span, span), Some(to)) {
                    Some(work) => self.jobs.ask(job.0, work, peers, cx),
                    None => unbegun(job.0),
                };
            }
            Out::Serve { job, conn, url, span } => {
                return match self.work(&url, JobDirection::ToPeer, (span, span), None) {
                    Some(work) => self.jobs.serve(job.0, work, (conn, peers), cx),
                    None => unbegun(job.0),
                };
            }
            Out::Take { job, conn, url, span, piece } => {
                return match self.work(&url, JobDirection::FromPeer, (span, piece), None) {
                    Some(work) => self.jobs.take(job.0, work, (conn, peers), cx),
                    None => unbegun(job.0),
                };
            }
            Out::Refuse { conn, status } => refuse(conn, status, peers, cx),
            Out::Abort { job } => self.jobs.abort(job.0, peers, cx),
            Out::Info { url, size, chunk, sha256 } => {
                self.known(&url, (size, chunk, sha256), cx);
            }
            Out::Keep { url, piece } => self.keep(&url, piece, cx),
            Out::Done { url } => self.whole(&url, cx),
            Out::Failed { url, why } => self.failed(&url, why, cx),
            Out::Withdrawn { url, why } => self.withdrawn(&url, why, cx),
            Out::Others { at } => self.line.beside(at),
            Out::Leave { to } => {
                if !self.line.leave(to, peers, cx) && to.is_some() {
                    self.follow_ups.push(Input::Offline);
                }
            }
        }
        None
    }

    /// Counts a peer that connected to us.
    pub(super) fn met(&mut self, peer_id: &Text, most: usize) {
        if self.met.1.len() < most {
            self.met.1.insert(peer_id.clone());
        }
    }

    fn work(
        &self,
        url: &Text,
        way: JobDirection,
        (span, piece): (Span, Span),
        to: Option<SocketAddr>,
    ) -> Option<Work> {
        let wanted = self.files.get(url)?;
        let size = wanted.size;
        let range = |span: Span| (span.start, span.end.unwrap_or(size));
        let (range, piece) = (range(span), range(piece));
        Some(Work { url: url.clone(), file: wanted.file, size, way, range, piece, to, conn: None })
    }

    /// The size and piece size of the file are known. What is remembered of a
    /// different file under this name is dropped.
    fn known(
        &mut self,
        url: &Text,
        (size, chunk, sha256): (u64, u64, Option<Hash>),
        cx: &mut SwarmCx<'_>,
    ) {
        let Some(wanted) = self.files.get_mut(url) else { return };
        (wanted.size, wanted.chunk) = (size, chunk);
        if wanted.offered {
            return;
        }
        let file = wanted.file;
        if let (Some(asked), Some(sha256)) = (wanted.sha256, sha256)
            && asked != sha256
        {
            // Known before any byte of it was received.
            self.files.remove(url);
            cx.answer(SwarmAnswer::Other { file, sha256 });
            return self.follow_ups.push(Input::Leave { url: url.clone() });
        }
        let before = wanted.known.replace((size, chunk));
        if before != Some((size, chunk)) {
            wanted.resumed = 0;
            wanted.digests.clear();
            cx.persist(SwarmOp::Part { file, url: url.clone(), size, chunk });
        }
        cx.output(Output::Allocate { file, size });
        if before.is_some_and(|(old, same)| old != size && same == chunk) {
            // The client would keep them, because the size is the same.
            let url = url.clone();
            self.follow_ups.push(Input::Leave { url: url.clone() });
            self.follow_ups.push(Input::Want { url, chunk: 0, have: Vec::new() });
        }
    }

    fn keep(&mut self, url: &Text, piece: u32, cx: &mut SwarmCx<'_>) {
        let Some(wanted) = self.files.get_mut(url) else { return };
        if let Some(sha256) = wanted.digests.remove(&piece) {
            cx.persist(SwarmOp::Piece { file: wanted.file, piece, sha256 });
        }
    }

    /// All pieces are here: the file is read once more as a whole, while peers
    /// continue to be served.
    fn whole(&mut self, url: &Text, cx: &mut SwarmCx<'_>) {
        let Some(wanted) = self.files.get(url).filter(|wanted| !wanted.offered) else { return };
        let (file, size) = (wanted.file, wanted.size);
        self.jobs.digest(DigestRequest::Whole { url: url.clone() }, file, (0, size), cx);
    }

    fn failed(&mut self, url: &Text, why: String, cx: &mut SwarmCx<'_>) {
        if let Some(wanted) = self.files.remove(url) {
            cx.answer(SwarmAnswer::Refused { file: wanted.file, why });
        }
    }

    fn withdrawn(&mut self, url: &Text, why: String, cx: &mut SwarmCx<'_>) {
        if let Some(wanted) = self.files.remove(url) {
            cx.answer(SwarmAnswer::Withdrawn { file: wanted.file, why });
        }
    }

    /// The host has read a piece, or a whole file.
    pub(super) fn hashed(
        &mut self,
        ask: u32,
        found: Result<Hash, StoreError>,
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) {
        match self.jobs.asked(ask) {
            Some(DigestRequest::Piece { job, took }) => {
                let at = self.jobs.get(job).map(|work| (work.url.clone(), work.piece.0));
                if let (Ok(hash), Some((url, start))) = (found, at)
                    && let Some(wanted) = self.files.get_mut(&url)
                    && let Some(piece) = start.checked_div(wanted.chunk)
                {
                    wanted.digests.insert(piece as u32, hash);
                }
                let ended = self.jobs.hashed(job, took, found, cx);
                self.ended(ended, peers, cx);
            }
            Some(DigestRequest::Whole { url }) => self.checked(&url, found, cx),
            None => {}
        }
    }

    /// Checks the digest of the whole file; if it is right, the file gets its
    /// final name.
    fn checked(&mut self, url: &Text, found: Result<Hash, StoreError>, cx: &mut SwarmCx<'_>) {
        let Some(wanted) = self.files.get_mut(url) else { return };
        let file = wanted.file;
        match found {
            Ok(sha256) if wanted.sha256.is_some_and(|asked| asked != sha256) => {
                cx.answer(SwarmAnswer::Other { file, sha256 });
            }
            Ok(sha256) => {
                wanted.found = Some(sha256);
                cx.output(Output::Complete { file });
            }
            Err(why) => cx.answer(SwarmAnswer::DiskFailed { file, why }),
        }
    }

    /// The file has its final name, or cannot get it.
    pub(super) fn completed(
        &mut self,
        file: SwarmFile,
        how: Result<(), StoreError>,
        cx: &mut SwarmCx<'_>,
    ) {
        let Some(wanted) = self.wanted(file) else { return };
        match (how, wanted.found) {
            (Ok(()), Some(sha256)) => {
                wanted.done = true;
                cx.persist(SwarmOp::PartGone(file));
                cx.answer(SwarmAnswer::Done { file, sha256 });
            }
            (Ok(()), None) => {}
            (Err(why), _) => cx.answer(SwarmAnswer::DiskFailed { file, why }),
        }
    }

    /// Connects to the coordinator; there may be no address to try.
    fn connect(&mut self, peers: &mut SwarmPeers, cx: &mut SwarmCx<'_>) {
        if !self.line.connect(peers, cx) {
            self.unreachable(cx);
            self.follow_ups.push(Input::Offline);
        }
    }

    fn unreachable(&self, cx: &mut SwarmCx<'_>) {
        if !self.line.was_up {
            for wanted in self.files.values() {
                cx.answer(SwarmAnswer::Unreachable { file: wanted.file });
            }
        }
    }

    /// The coordinator is connected.
    pub(super) fn linked(
        &mut self,
        conn: ConnId,
        at: SocketAddr,
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) {
        if self.line.dialed(conn) {
            self.feed(Input::Online { coordinator: at.ip().to_canonical() }, peers, cx);
        }
    }

    /// The connection to the coordinator was lost or could not be opened.
    pub(super) fn unlinked(&mut self, conn: ConnId, peers: &mut SwarmPeers, cx: &mut SwarmCx<'_>) {
        if self.line.lost(conn, peers, cx) == Lost::Down {
            self.unreachable(cx);
            self.feed(Input::Offline, peers, cx);
        }
    }

    /// Handles a message of the coordinator.
    pub(super) fn receive(
        &mut self,
        conn: ConnId,
        message: PdtpMessage,
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) {
        if self.line.up() != Some(conn) {
            return;
        }
        if matches!(message, PdtpMessage::TellInfo { size: Some(_), .. }) {
            cx.io.answered(conn);
        }
        self.feed(Input::Message(message), peers, cx);
        if let Some(link) = peers.link(conn) {
            link.merge = self.client.agreed().merge;
        }
    }

    pub(super) fn view(&self) -> MemberView {
        let files = self.files.iter().map(|(url, wanted)| {
            let (held, pieces) = self.client.progress(url).unwrap_or_default();
            SwarmFileView {
                file: wanted.file,
                url: url.clone(),
                size: wanted.size,
                pieces,
                held,
                resumed: wanted.resumed,
                done: wanted.found.filter(|_| wanted.done),
            }
        });
        let (receiving, sending) = self.client.running();
        let totals = self.jobs.totals;
        MemberView {
            online: self.line.up().is_some(),
            files: files.collect(),
            from_source: totals.from_source,
            from_peers: totals.from_peers,
            given: totals.given,
            peers: self.met.0.len().max(self.met.1.len()) as u32,
            receiving,
            sending,
            wrong: self.wrong,
        }
    }
}

/// The end of a job that could not be started.
const fn unbegun(job: u32) -> EndedJob {
    Some((job, JobOutcome::Broken { reason: crate::wire::pdtp::Reason::Data, bytes: 0 }))
}

/// Refuses a peer's request.
fn refuse(conn: ConnId, status: u16, peers: &mut SwarmPeers, cx: &mut SwarmCx<'_>) {
    if let Some(ServingSide { step: AskingStep::Verify { put }, keep }) = peers.asking(conn) {
        // A peer that does not wait for our answer sends its bytes anyway.
        *keep &= put.is_none_or(|(_, waits)| waits);
        reply(conn, status, peers, cx);
    }
}
