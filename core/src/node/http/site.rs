//! A divided site: which files are ours to queue for, and where to ask for the
//! others.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::net::SocketAddr;

use super::Http;
use super::archive;
use super::exchange::Exchange;
use super::reply::ReplyWriter;
use super::request::UploadRequest;
use super::serving;
use crate::id::ConnId;
use crate::lease::membership::Leader;
use crate::lease::{PARTS, Partition};
use crate::node::catalog::Catalog;
use crate::node::cx::NodeCx;
use crate::node::parts::{BodySource, RequestSubject};
use crate::node::service::RunsEngine as _;
use crate::node::{ConnEvent, FileRef};
use crate::queue::{FileKey, StoredEntry, server};
use crate::time::Duration;
use crate::wire::http::Target;

/// When a client that queues asks again, if it does not understand where it was
/// told to ask.
const AGAIN: Duration = Duration::from_secs(60);
/// No member leads the partition.
const BETWEEN: (u16, &str) = (503, "Changing Hands");
/// When the client asks again.
const SOON: Duration = Duration::from_secs(2);

impl Http {
    /// Who answers for each part of the site, from now on.
    pub(in crate::node) fn divided(&mut self, cx: &mut NodeCx<'_>, leaders: Vec<Leader>) {
        let before = self.ours();
        let leader = |part: Partition| match leaders.get(usize::from(part.0)).copied() {
            // Its places are not restored yet.
            Some(Leader::Us) if self.division.is_none() || before & part.bit() == 0 => {
                Leader::Vacant
            }
            some => some.unwrap_or_default(),
        };
        self.division = Some(Partition::all().map(leader).collect());
        let parts = before & !self.ours();
        if parts == 0 {
            return;
        }
        self.feed(cx, server::Input::Release { parts });
        let gone =
            |asked: &UploadRequest| Partition::containing(asked.subject.key).bit() & parts != 0;
        let held = self.asked.iter().filter(|(_, asked)| gone(asked));
        let held: Vec<ConnId> = held.map(|(conn, _)| *conn).collect();
        for conn in held {
            let Some(asked) = self.asked.remove(&conn) else { continue };
            if cx.io.open(conn).is_none() {
                continue;
            }
            self.exchanges.insert(conn, Exchange::IDLE);
            let leader = self.leader(asked.subject.key);
            self.elsewhere(cx, conn, &asked, leader);
            serving::await_request(self, cx, conn, true);
        }
    }

    /// These parts are ours from now on.
    pub(in crate::node) fn leads(
        &mut self,
        cx: &mut NodeCx<'_>,
        parts: &BTreeSet<Partition>,
        rows: Vec<StoredEntry>,
    ) {
        let vacant = || (0..PARTS).map(|_| Leader::Vacant).collect();
        let division = self.division.get_or_insert_with(vacant);
        for part in parts {
            if let Some(leader) = division.get_mut(usize::from(part.0)) {
                *leader = Leader::Us;
            }
        }
        for row in rows {
            self.feed(cx, server::Input::Restore(row));
        }
        self.feed(cx, server::Input::Joined);
    }

    /// The parts that are ours, as a set.
    fn ours(&self) -> u64 {
        let Some(division) = &self.division else { return u64::MAX };
        let ours = Partition::all().zip(division).filter(|(_, leader)| **leader == Leader::Us);
        ours.fold(0, |set, (part, _)| set | part.bit())
    }

    /// Who answers for a file.
    pub(super) fn leader(&self, file: FileKey) -> Leader {
        let part = usize::from(Partition::containing(file).0);
        self.division.as_ref().map_or(Leader::Us, |division| division[part])
    }

    /// The other members of the site.
    pub(super) fn members(&self) -> BTreeSet<SocketAddr> {
        let leaders = self.division.iter().flatten();
        let others = leaders.filter_map(|leader| match leader {
            Leader::At(at) => Some(*at),
            Leader::Us | Leader::Vacant => None,
        });
        others.collect()
    }

    /// Tells a client where to ask for a file that is not ours.
    pub(super) fn elsewhere(
        &mut self,
        cx: &mut NodeCx<'_>,
        conn: ConnId,
        asked: &UploadRequest,
        leader: Leader,
    ) {
        let UploadRequest { subject, dialect, form, .. } = asked;
        let to = if let Leader::At(at) = leader { Some(at) } else { None };
        cx.tell(ConnEvent::Elsewhere { conn, to });
        let writer = ReplyWriter::from_cx(cx);
        let Some(at) = to else {
            let again = SOON.scaled(cx.config.queue.time_scale);
            return self.say(cx, conn, writer.come_back(BETWEEN, again, *form));
        };
        let file = self.described(cx, conn, subject);
        let to = (at, &known_everywhere(&cx.shelf.files, subject));
        let again = AGAIN.scaled(cx.config.queue.time_scale);
        let reply = writer.elsewhere(&file, to, (*dialect, again), *form);
        self.say(cx, conn, reply);
    }
}

/// A name of a file that means the same at every member; numbers do not.
fn known_everywhere(files: &Catalog, subject: &RequestSubject) -> Target {
    let by_name = |path: &str| Target::Path { path: path.into(), query: "".into() };
    match &subject.body {
        BodySource::Folder(files) => {
            Target::Path { path: files.folder.clone(), query: archive::query(files) }
        }
        BodySource::File(FileRef::Shared(index)) => {
            let info = files.get(*index);
            // Of several files of one name, it leads to one.
            let named = info.filter(|info| {
                files.by_path(&info.name).is_some_and(|first| first.index == *index)
            });
            match (named, subject.sha1) {
                (Some(info), _) => by_name(&info.name),
                (None, Some(sha1)) => Target::Urn(sha1),
                (None, None) => by_name(info.map_or("", |info| &info.name)),
            }
        }
        BodySource::File(_) => subject.sha1.map_or_else(|| by_name(""), Target::Urn),
    }
}
