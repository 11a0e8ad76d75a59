//! Carrying out what the node asks for.

use std::net::SocketAddr;
use std::sync::Arc;

use servent_core::fetch::FetchFailure;
use servent_core::id::ConnId;
use servent_core::node::{
    ConnOutput, FetchCommand, FetchOutput, FileRef, Input, NodeAnswer, NodeCommand, StoreError,
    swarm,
};
use servent_core::text::Shown;
use servent_core::wire::http::Chunks;

use super::super::{hashing, locate, password};
use super::Loop;
use crate::files::PartFile;
use crate::net::outgoing::dial;
use crate::net::{BodyLength, ConnectionJob, Outbox, Report, ServeFrom};

/// An output that is carried out at the end of a turn, after what it promises is
/// saved. Changes and datagrams are not among them: they have ways of their own.
#[derive(Debug)]
pub(super) enum TurnOutput {
    Connection(ConnId, ConnOutput),
    Fetch(FetchOutput),
    Swarm(swarm::Output),
    Answer(NodeAnswer),
}

impl Loop {
    pub(super) fn carry_out(&mut self, output: TurnOutput) {
        match output {
            TurnOutput::Connection(conn, wanted) => self.serve_conn(conn, wanted),
            TurnOutput::Fetch(wanted) => self.serve_download(wanted),
            TurnOutput::Swarm(wanted) => self.disk.swarm.carry_out(wanted, &self.mail.reports),
            TurnOutput::Answer(answer) => self.answer(answer),
        }
    }

    fn serve_download(&mut self, wanted: FetchOutput) {
        match wanted {
            FetchOutput::Allocate { fetch, name, size } => {
                self.promises.changes.extend(self.disk.downloads.allocate(fetch, &name, size));
            }
            FetchOutput::Verify { fetch } => {
                hashing::whole(fetch, self.disk.downloads.part(fetch), self.mail.reports.clone());
            }
            FetchOutput::Hash { fetch, start, end } => {
                let part = self.disk.downloads.part(fetch);
                hashing::piece(fetch, (start, end), part, self.mail.reports.clone());
            }
            FetchOutput::Complete { fetch } => {
                self.promises.changes.extend(self.disk.downloads.complete(fetch))
            }
        }
    }

    fn serve_conn(&mut self, conn: ConnId, wanted: ConnOutput) {
        match wanted {
            ConnOutput::Dial { to } => self.dial(conn, to),
            ConnOutput::Write { data } => self.push(conn, ConnectionJob::Write(data)),
            ConnOutput::Close { flush: true } => self.push(conn, ConnectionJob::Close),
            ConnOutput::Close { flush: false } => {
                if let Some(outbox) = self.sockets.conns.get(&conn) {
                    outbox.cut();
                }
            }
            ConnOutput::Serve { file, start, end } => {
                let job = match self.file(file) {
                    Ok(file) => ConnectionJob::Serve {
                        file,
                        start,
                        end,
                        pace: self.sockets.people.paces(conn),
                    },
                    Err(why) => ConnectionJob::Refuse(why),
                };
                self.push(conn, job);
            }
            ConnOutput::Store { file, start, end, early } => {
                let part = match file {
                    FileRef::Shared(_) => Err(StoreError::Denied),
                    FileRef::Fetch(fetch) => self.disk.downloads.part(fetch),
                    FileRef::Swarm(file) => self.disk.swarm.part(file),
                };
                self.store(conn, part, (start, BodyLength::Sized(end - start)), early);
            }
            ConnOutput::StoreBody { fetch, chunked, most, early } => {
                let body = if chunked {
                    BodyLength::Chunks(Chunks::new(most))
                } else {
                    BodyLength::Line(most)
                };
                self.store(conn, self.disk.downloads.part(fetch), (0, body), early);
            }
            ConnOutput::Authenticate { words } => {
                // What follows its head waits in the socket.
                let before = self.sockets.taken.len();
                self.sockets.taken.retain(|taken| *taken != conn);
                if self.sockets.taken.len() < before {
                    self.sockets.authenticating.insert(conn);
                }
                password::authenticate(
                    self.sockets.password.clone(),
                    conn,
                    words,
                    self.mail.reports.clone(),
                );
            }
            ConnOutput::Incoming { size, most, early } => {
                let body =
                    size.map_or_else(|| BodyLength::Chunks(Chunks::new(most)), BodyLength::Sized);
                let job = match self.disk.inbox.clone() {
                    Some(inbox) => ConnectionJob::Arrive { inbox, body, early },
                    None => ConnectionJob::Refuse(StoreError::Denied),
                };
                self.push(conn, job);
            }
            ConnOutput::Commit { name } => self.push(conn, ConnectionJob::Commit { name }),
        }
    }

    fn dial(&mut self, conn: ConnId, to: SocketAddr) {
        let outbox = Arc::new(Outbox::default());
        self.sockets.conns.insert(conn, Arc::clone(&outbox));
        self.sockets.people.came(conn, to.ip());
        let (trust, names) = (&self.host.outside.trust, &self.host.outside.names);
        let with = (Arc::clone(&self.sockets.room), Arc::clone(trust), Arc::clone(names));
        tokio::spawn(dial::run(conn, to, outbox, with, self.mail.reports.clone()));
    }

    /// Writes the body received on a connection to a download.
    fn store(
        &self,
        conn: ConnId,
        part: Result<Arc<PartFile>, StoreError>,
        (start, body): (u64, BodyLength),
        early: Vec<u8>,
    ) {
        let pace = self.sockets.down.clone().map(|rate| rate.0);
        let job = match part {
            Ok(part) => ConnectionJob::Store { part, start, body, early, pace },
            Err(why) => ConnectionJob::Refuse(why),
        };
        self.push(conn, job);
    }

    fn push(&self, conn: ConnId, job: ConnectionJob) {
        if let Some(outbox) = self.sockets.conns.get(&conn) {
            outbox.push(job);
        }
    }

    fn file(&self, file: FileRef) -> Result<ServeFrom, StoreError> {
        match file {
            FileRef::Shared(index) => {
                let shared = self.disk.shared.get(&index).ok_or(StoreError::Changed)?;
                Ok(ServeFrom::Shared(Arc::clone(shared)))
            }
            FileRef::Fetch(fetch) => self.disk.downloads.part(fetch).map(ServeFrom::Part),
            FileRef::Swarm(file) => self.disk.swarm.reader(file),
        }
    }

    fn answer(&mut self, answer: NodeAnswer) {
        match &answer {
            NodeAnswer::Failed { fetch, why } => match why {
                // The node remembers these: the same command resumes them.
                FetchFailure::NoSource => self.disk.downloads.rest_without(*fetch),
                FetchFailure::Disk => self.disk.downloads.rest(*fetch),
                FetchFailure::Corrupt | FetchFailure::Cancelled | FetchFailure::TooMany => {
                    self.promises.changes.extend(self.disk.downloads.forget(*fetch));
                }
            },
            NodeAnswer::Refused { at, status, reason } => {
                let reason = Shown(reason);
                tracing::info!("{at} does not accept us as a neighbour: {status} {reason}");
            }
            NodeAnswer::Stopped => self.stopped = true,
            NodeAnswer::Moved { fetch, from, to } => {
                let (fetch, from, to) = (*fetch, from.clone(), to.clone());
                let reports = self.mail.reports.clone();
                let proxies = self.host.outside.trust.proxies().clone();
                tokio::spawn(async move {
                    let to = locate::redirect_target(&from, &to, &proxies).await;
                    let moved =
                        Input::Command(NodeCommand::Fetch(FetchCommand::Moved { fetch, from, to }));
                    let _ = reports.send(Report::Input(moved)).await; // It may have ended.
                });
            }
            _ => {}
        }
        let _ = self.host.outside.answers.send(answer); // There may be no subscriber.
    }
}
