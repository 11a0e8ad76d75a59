//! A coordinator that is a member of a divided site (ST-4): it leads the swarms of
//! its parts, each with a manager and a ledger of its own, and tells the clients of
//! all others where to go.
//!
//! A connection is a *guest* until it names a file; then it is a client of that
//! file's swarm, and may be of several.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use super::coordinator::{Coordinator, Offered};
use super::cx::SwarmCx;
use super::io::{PartitionedAccount, SwarmFile, SwarmOp, swarm_key};
use super::peers::SwarmPeers;
use crate::id::{ConnId, FileKey};
use crate::lease::Partition;
use crate::lease::membership::Leader;
use crate::node::{ConnEvent, Event};
use crate::swarm::{
    self, FileNo, FileSpec, Input, LedgerRow, Manager, SwarmLimit, SwarmRefusal, manager,
};
use crate::time::Instant;
use crate::wire::pdtp::{self, AgreedExtensions, PdtpMessage, Text};

/// The reply to a client while no member leads the swarm, before we hang up: clients
/// come again after a moment.
const BETWEEN: &str = "the swarm changes hands; come again in a moment";

/// Our place in a divided site.
#[derive(Debug, Clone, Default)]
pub(super) struct PartitionedSite {
    /// Who answers for each part.
    leaders: Vec<Leader>,
    /// All our files, by their numbers.
    swarms: Vec<(FileKey, FileSpec)>,
    /// What the store remembers of swarms that have no manager yet.
    accounts: BTreeMap<FileKey, Vec<LedgerRow>>,
    guests: BTreeMap<ConnId, Guest>,
}

/// A client, and the swarms it takes part in here.
#[derive(Debug, Clone)]
struct Guest {
    peer: IpAddr,
    /// How it introduced itself, with the port that it named last.
    register: Option<PdtpMessage>,
    /// What it said last about how many transfers it can do at once.
    at_once: (Option<u32>, Option<u32>),
    swarms: BTreeSet<FileNo>,
}

impl PartitionedSite {
    fn leader(&self, swarm: FileKey) -> Leader {
        self.leaders.get(usize::from(Partition::containing(swarm).0)).copied().unwrap_or_default()
    }

    /// The other members.
    fn others(&self) -> Vec<SocketAddr> {
        let at = |leader: &Leader| if let Leader::At(at) = leader { Some(*at) } else { None };
        let all: BTreeSet<SocketAddr> = self.leaders.iter().filter_map(at).collect();
        all.into_iter().collect()
    }

    /// The swarm of a number.
    fn key(&self, number: FileNo) -> Option<FileKey> {
        self.swarms.get(number as usize).map(|(key, _)| *key)
    }
}

impl Coordinator {
    /// Who answers for each part of the site, from now on. What is not ours any more
    /// is let go: it is in the store, and its clients are sent on.
    pub(super) fn divided(
        &mut self,
        leaders: &[Leader],
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) {
        if self.site.is_none() {
            self.managers.clear();
        }
        let site = self.site.get_or_insert_default();
        let ours = |part: Partition| site.leaders.get(usize::from(part.0)) == Some(&Leader::Us);
        let leader = |part: Partition| match leaders.get(usize::from(part.0)).copied() {
            // Its ledgers are not restored yet.
            Some(Leader::Us) if !ours(part) => Leader::Vacant,
            some => some.unwrap_or_default(),
        };
        site.leaders = Partition::all().map(leader).collect();
        let led =
            |key: FileKey| site.leaders[usize::from(Partition::containing(key).0)] == Leader::Us;
        site.accounts.retain(|key, _| led(*key));
        let gone = self.managers.keys().filter(|number| !site.key(**number).is_some_and(led));
        let gone: Vec<FileNo> = gone.copied().collect();
        for number in gone {
            self.hand_over(number, peers, cx);
        }
    }

    /// What the store remembers of swarms that are to be ours. Of those that no member
    /// serves any more no other would forget what is old.
    pub(super) fn remember(&mut self, accounts: Vec<PartitionedAccount>, cx: &mut SwarmCx<'_>) {
        let Some(site) = &mut self.site else { return };
        for PartitionedAccount { swarm, row } in accounts {
            if row.seen + self.config.purge <= cx.now {
                cx.persist(SwarmOp::AccountGone { swarm, owner: row.owner });
            } else {
                site.accounts.entry(swarm).or_default().push(row);
            }
        }
    }

    /// These parts are ours from now on.
    pub(super) fn leads(&mut self, parts: &BTreeSet<Partition>, cx: &mut SwarmCx<'_>) {
        let Some(site) = &mut self.site else { return };
        for part in parts {
            if let Some(leader) = site.leaders.get_mut(usize::from(part.0)) {
                *leader = Leader::Us;
            }
        }
        let ours = (0..)
            .zip(&site.swarms)
            .filter(|(_, (key, _))| parts.contains(&Partition::containing(*key)));
        let ours: Vec<FileNo> = ours.map(|(number, _)| number).collect();
        for number in ours {
            self.lead(number, cx);
        }
    }

    pub(super) fn serve_of_site(&mut self, file: SwarmFile, spec: FileSpec, cx: &mut SwarmCx<'_>) {
        let Some(site) = &mut self.site else { return };
        if self.files.contains_key(&spec.url) {
            return;
        }
        if self.files.len() >= self.config.files as usize {
            return cx.fx.event(Event::Swarm(swarm::Event::Limit { limit: SwarmLimit::Files }));
        }
        let (number, key) = (site.swarms.len() as FileNo, swarm_key(&spec.url));
        self.files.insert(spec.url.clone(), Offered { file, number, size: spec.size });
        site.swarms.push((key, spec));
        if site.leader(key) == Leader::Us {
            self.lead(number, cx);
        }
    }

    /// A swarm is ours: its ledger is as it was saved.
    fn lead(&mut self, number: FileNo, cx: &mut SwarmCx<'_>) {
        let Some(site) = &mut self.site else { return };
        let Some((key, spec)) = site.swarms.get(number as usize).cloned() else { return };
        if self.managers.contains_key(&number) || !self.files.contains_key(&spec.url) {
            return;
        }
        let rows = site.accounts.remove(&key).unwrap_or_default();
        let root = self.root.fork("swarm of a site", key.0);
        self.managers.insert(number, Manager::new(self.config.clone(), &root));
        for row in rows {
            self.feed(number, Input::Restore(row), cx);
        }
        self.feed(number, Input::Serve(spec), cx);
        for (addr, slots) in self.sources.clone() {
            self.feed(number, Input::Source { addr, slots }, cx);
        }
    }

    /// A swarm is not ours any more.
    fn hand_over(&mut self, number: FileNo, peers: &mut SwarmPeers, cx: &mut SwarmCx<'_>) {
        self.managers.remove(&number);
        let Some(site) = &mut self.site else { return };
        let Some((_, spec)) = site.swarms.get(number as usize) else { return };
        let url = spec.url.clone();
        let guests = site.guests.iter_mut().filter_map(|(conn, guest)| {
            guest.swarms.remove(&number).then_some((*conn, guest.swarms.is_empty()))
        });
        let guests: Vec<(ConnId, bool)> = guests.collect();
        for (conn, free) in guests {
            if free {
                peers.wake(conn, cx.after(self.config.register_timeout));
            }
            self.elsewhere(conn, &url, cx);
        }
    }

    /// A client connected.
    pub(super) fn guest(
        &mut self,
        conn: ConnId,
        peer: IpAddr,
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) {
        let Some(site) = &mut self.site else { return };
        if site.guests.len() >= self.config.clients as usize {
            cx.fx.event(Event::Swarm(swarm::Event::Limit { limit: SwarmLimit::Clients }));
            cx.say(conn, PdtpMessage::ProtocolError { message: "too many clients".into() });
            cx.ends.push((conn, "too many clients"));
            self.found_at.remove(&conn);
            return;
        }
        let guest = Guest { peer, register: None, at_once: (None, None), swarms: BTreeSet::new() };
        site.guests.insert(conn, guest);
        peers.wake(conn, cx.after(self.config.register_timeout));
    }

    /// The managers that a connection has to do with, which is gone.
    pub(super) fn numbers_of(&mut self, conn: ConnId) -> Vec<FileNo> {
        match &mut self.site {
            Some(site) => {
                site.guests.remove(&conn).into_iter().flat_map(|guest| guest.swarms).collect()
            }
            None => self.managers.keys().copied().collect(),
        }
    }

    /// A guest says something: to all its swarms, or to that of the file it names.
    pub(super) fn guest_says(
        &mut self,
        conn: ConnId,
        message: PdtpMessage,
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) {
        let site = self.site.as_mut();
        let Some(guest) = site.and_then(|site| site.guests.get_mut(&conn)) else { return };
        match (&message, &mut guest.register) {
            (PdtpMessage::Register { extensions, .. }, register @ None) => {
                let extensions = *extensions;
                *register = Some(message);
                if extensions != AgreedExtensions::default() {
                    cx.say(conn, PdtpMessage::Extensions(extensions));
                }
                return;
            }
            (PdtpMessage::Register { .. }, Some(_)) => {
                return self.show_out(conn, SwarmRefusal::Order, "registered already", cx);
            }
            (_, None) => {
                return self.show_out(conn, SwarmRefusal::Order, "`register` comes first", cx);
            }
            (
                PdtpMessage::ChangePort { listen_port: to },
                Some(PdtpMessage::Register { listen_port, .. }),
            ) => {
                *listen_port = *to;
            }
            (PdtpMessage::SetConcurrency { max_download, max_upload }, _) => {
                let (down, up) = guest.at_once;
                guest.at_once = (max_download.or(down), max_upload.or(up));
            }
            _ => {}
        }
        let swarms = guest.swarms.clone();
        match about(&message) {
            PartitionSubject::Itself => {
                for number in swarms {
                    self.feed(number, Input::Message { conn, message: message.clone() }, cx);
                }
            }
            PartitionSubject::File(url) => self.of_file(conn, &url, message, peers, cx),
            PartitionSubject::Nothing => {}
            PartitionSubject::Wrong => {
                self.show_out(
                    conn,
                    SwarmRefusal::NotAClients,
                    "only the coordinator says that",
                    cx,
                );
            }
        }
    }

    /// A guest names a file.
    fn of_file(
        &mut self,
        conn: ConnId,
        url: &Text,
        message: PdtpMessage,
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) {
        let number = self.files.get(url).map(|offered| offered.number);
        let (Some(site), Some(number)) = (&self.site, number) else {
            return unknown(conn, url, &message, cx);
        };
        let key = site.key(number).unwrap_or_default();
        if site.leader(key) == Leader::Us {
            if self.join(conn, number, peers, cx) {
                self.feed(number, Input::Message { conn, message }, cx);
            }
            return;
        }
        // What else it says is about what the swarm's last leader told it.
        if let PdtpMessage::AskInfo { .. }
        | PdtpMessage::Request { .. }
        | PdtpMessage::Provide { .. } = message
        {
            self.elsewhere(conn, url, cx);
        }
    }

    /// A guest becomes a client of a swarm, if it is none yet; false when that has
    /// refused it.
    fn join(
        &mut self,
        conn: ConnId,
        number: FileNo,
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) -> bool {
        let site = self.site.as_mut();
        let Some(guest) = site.and_then(|site| site.guests.get_mut(&conn)) else { return false };
        if !guest.swarms.insert(number) {
            return true;
        }
        peers.rest(conn);
        let (peer, register) = (guest.peer, guest.register.clone());
        let (max_download, max_upload) = guest.at_once;
        let told = max_download.or(max_upload).is_some();
        let told = told.then_some(PdtpMessage::SetConcurrency { max_download, max_upload });
        self.feed(number, Input::Opened { conn, peer }, cx);
        for message in register.into_iter().chain(told) {
            self.feed(number, Input::Message { conn, message }, cx);
        }
        self.site.as_ref().is_some_and(|site| site.guests.contains_key(&conn))
    }

    /// Tells a client where to ask for a file whose swarm is not ours.
    fn elsewhere(&mut self, conn: ConnId, url: &Text, cx: &mut SwarmCx<'_>) {
        let Some(site) = &self.site else { return };
        let leader = site.leader(swarm_key(url));
        let to = if let Leader::At(at) = leader { Some(at) } else { None };
        cx.tell(ConnEvent::Elsewhere { conn, to });
        let Some(at) = to else {
            cx.say(conn, PdtpMessage::ProtocolError { message: BETWEEN.into() });
            cx.ends.push((conn, "nobody leads the swarm"));
            return self.closed(conn, cx);
        };
        let gone = Some(format!("{} is coordinated at {at}", name_of(url)));
        let elsewhere = pdtp::SiteAnnouncement { moved: to, others: site.others() };
        cx.say(conn, PdtpMessage::no_file(url.clone(), gone, elsewhere));
    }

    /// Tells a client why, and hangs up.
    pub(super) fn show_out(
        &mut self,
        conn: ConnId,
        why: SwarmRefusal,
        sentence: &str,
        cx: &mut SwarmCx<'_>,
    ) {
        cx.fx.event(Event::Swarm(swarm::Event::Refused { client: conn, why }));
        cx.say(conn, PdtpMessage::ProtocolError { message: sentence.into() });
        cx.ends.push((conn, "the coordinator hangs up"));
        self.closed(conn, cx);
    }

    /// Whether a manager's message is to be sent. What was agreed with a guest it
    /// knows already; a client that has a file is told of the other members.
    pub(super) fn is_news(&self, message: &mut PdtpMessage) -> bool {
        let Some(site) = &self.site else { return true };
        match message {
            PdtpMessage::Extensions(_) => return false,
            PdtpMessage::TellInfo { size: Some(_), site: told, .. } => told.others = site.others(),
            _ => {}
        }
        true
    }

    /// How a row of a manager's ledger is saved: that of a swarm by itself.
    pub(super) fn saved(&self, number: FileNo, row: LedgerRow) -> SwarmOp {
        match self.site.as_ref().and_then(|site| site.key(number)) {
            Some(swarm) => SwarmOp::Account(PartitionedAccount { swarm, row }),
            None => SwarmOp::Ledger(row),
        }
    }

    /// How it is forgotten.
    pub(super) fn forgotten(&self, number: FileNo, owner: IpAddr) -> SwarmOp {
        match self.site.as_ref().and_then(|site| site.key(number)) {
            Some(swarm) => SwarmOp::AccountGone { swarm, owner },
            None => SwarmOp::LedgerGone(owner),
        }
    }

    /// The state of all swarms; those that others lead have no client here.
    pub(super) fn view(&self, clients: u32, now: Instant) -> manager::View {
        let mut all = manager::View { at: now, ..manager::View::default() };
        for view in self.managers.values().map(|manager| manager.view(0, clients, now)) {
            all.clients += view.clients;
            all.ledger += view.ledger;
            all.counters.add(&view.counters);
            all.files.extend(view.files);
        }
        if let Some(site) = &self.site {
            all.clients = site.guests.len() as u32;
            let mut led = core::mem::take(&mut all.files).into_iter();
            let idle = |spec: &FileSpec| manager::ManagedFileView::idle(spec, self.config.ratio);
            all.files = (0..)
                .zip(&site.swarms)
                .filter_map(|(number, (_, spec))| {
                    let is_led = self.managers.contains_key(&number);
                    if is_led { led.next() } else { Some(idle(spec)) }
                })
                .collect();
        }
        all
    }
}

/// What a message of a client is about.
enum PartitionSubject {
    Itself,
    File(Text),
    /// It echoes what a coordinator said, which is ignored.
    Nothing,
    /// Clients do not say that.
    Wrong,
}

fn about(message: &PdtpMessage) -> PartitionSubject {
    match message {
        PdtpMessage::ChangePort { .. } | PdtpMessage::SetConcurrency { .. } => {
            PartitionSubject::Itself
        }
        PdtpMessage::AskInfo { url }
        | PdtpMessage::Request { url, .. }
        | PdtpMessage::Unrequest { url, .. }
        | PdtpMessage::Provide { url, .. }
        | PdtpMessage::Unprovide { url, .. } => PartitionSubject::File(url.clone()),
        PdtpMessage::AskVerify(about) => PartitionSubject::File(about.url.clone()),
        PdtpMessage::Completed(report) => PartitionSubject::File(report.about.url.clone()),
        PdtpMessage::ProtocolError { .. } | PdtpMessage::Error { .. } => PartitionSubject::Nothing,
        PdtpMessage::Register { .. }
        | PdtpMessage::Extensions(_)
        | PdtpMessage::TellInfo { .. }
        | PdtpMessage::Transfer(_)
        | PdtpMessage::TellVerify { .. }
        | PdtpMessage::HashVerify { .. } => PartitionSubject::Wrong,
    }
}

/// There is no such file here.
fn unknown(conn: ConnId, url: &Text, message: &PdtpMessage, cx: &mut SwarmCx<'_>) {
    let answer = match message {
        PdtpMessage::AskInfo { .. } => {
            PdtpMessage::no_file(url.clone(), None, pdtp::SiteAnnouncement::default())
        }
        _ => {
            let why = SwarmRefusal::UnknownFile;
            cx.fx.event(Event::Swarm(swarm::Event::Refused { client: conn, why }));
            let message = "there is no such file".into();
            PdtpMessage::Error { reason: "unknown_file".into(), message }
        }
    };
    cx.say(conn, answer);
}

/// The last part of a URL, for people.
pub(super) fn name_of(url: &str) -> &str {
    url.rsplit('/').next().unwrap_or_default()
}
