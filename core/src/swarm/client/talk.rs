//! The connection to the coordinator, and its messages.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use core::net::IpAddr;

use super::super::bits::PieceSet;
use super::io::{Event, Ignored, Output};
use super::{ClientEffects, ClientFile, SwarmClient};
use crate::time::{Duration, Instant};
use crate::wire::pdtp::{AgreedExtensions, Hash, PdtpMessage, SiteAnnouncement, Span, Text};

impl SwarmClient {
    /// Announces who we are, what we have and what we want, from the beginning:
    /// it may be another coordinator than before.
    pub(super) fn online(&mut self, coordinator: IpAddr, fx: &mut ClientEffects) {
        self.coordinator = Some(coordinator);
        self.connecting = false;
        self.connect_at = None;
        self.retry = self.config.retry_first;
        fx.event(Event::Online);
        fx.output(Output::Send(PdtpMessage::Register {
            client_id: self.config.id.clone(),
            listen_port: self.config.listen_port,
            extensions: AgreedExtensions { merge: true, early: true },
        }));
        let (max_download, max_upload) = (self.config.max_download, self.config.max_upload);
        if max_download.or(max_upload).is_some() {
            fx.output(Output::Send(PdtpMessage::SetConcurrency { max_download, max_upload }));
        }
        for file in &self.files {
            fx.output(Output::Send(PdtpMessage::AskInfo { url: file.url.clone() }));
        }
    }

    /// Transfers with peers continue; the coordinator is told later.
    pub(super) fn offline(&mut self, now: Instant, fx: &mut ClientEffects) {
        self.hang_up();
        let retry = self.retry;
        self.retry =
            Duration::from_micros(retry.as_micros().saturating_mul(2)).min(self.config.retry_most);
        if !self.files.is_empty() {
            self.connect_at = Some(now + retry.max(Duration::from_micros(1)));
            fx.event(Event::Offline { retry });
        }
    }

    /// What was agreed with the coordinator is over.
    pub(super) fn hang_up(&mut self) {
        self.coordinator = None;
        self.connecting = false;
        self.agreed = AgreedExtensions::default();
        self.expects = false;
        self.allowed.clear();
    }

    pub(super) fn want(&mut self, url: Text, (chunk, have): (u64, &[u32]), fx: &mut ClientEffects) {
        let mut file = ClientFile::new(url, chunk, false);
        have.iter()
            .filter(|piece| **piece < self.config.pieces)
            .for_each(|piece| file.keep(*piece));
        self.add(file, fx);
    }

    pub(super) fn offer(&mut self, url: Text, fx: &mut ClientEffects) {
        self.add(ClientFile::new(url, 0, true), fx);
    }

    fn add(&mut self, file: ClientFile, fx: &mut ClientEffects) {
        if self.file(&file.url).is_some() {
            return;
        }
        if self.coordinator.is_some() {
            fx.output(Output::Send(PdtpMessage::AskInfo { url: file.url.clone() }));
        } else if !self.connecting && self.connect_at.is_none() {
            self.connecting = true;
            fx.output(Output::Connect);
        }
        self.files.push(file);
    }

    /// Announces the port on which we accept peers, if it has changed.
    pub(super) fn listen(&mut self, port: Option<u16>, fx: &mut ClientEffects) {
        let changed = core::mem::replace(&mut self.config.listen_port, port) != port;
        // Whether peers can reach it has to be found out again (SW-3).
        self.expects &= !changed;
        if changed && self.coordinator.is_some() {
            fx.output(Output::Send(PdtpMessage::ChangePort { listen_port: port }));
        }
    }

    pub(super) fn leave(&mut self, url: &Text, fx: &mut ClientEffects) {
        let Some(at) = self.file(url) else { return };
        self.files.remove(at);
        self.abort_all(url, fx);
        if self.coordinator.is_some() {
            for message in [
                PdtpMessage::Unrequest { url: url.clone(), span: Span::ALL },
                PdtpMessage::Unprovide { url: url.clone(), span: Span::ALL },
            ] {
                fx.output(Output::Send(message));
            }
        }
    }

    pub(super) fn message(&mut self, now: Instant, message: PdtpMessage, fx: &mut ClientEffects) {
        match message {
            PdtpMessage::Extensions(extensions) => self.agreed = extensions,
            PdtpMessage::TellInfo {
                url, site: SiteAnnouncement { moved: Some(to), .. }, ..
            } => self.moved(now, &url, to, fx),
            PdtpMessage::TellInfo { url, gone: Some(why), .. } => self.withdrawn(&url, why, fx),
            PdtpMessage::TellInfo { url, size, chunk_size, sha256, site, .. } => {
                self.beside(site.others, fx);
                self.receive_pieces(&url, (size.zip(chunk_size), sha256), fx);
            }
            PdtpMessage::Transfer(order) => self.ordered(now, order, fx),
            PdtpMessage::TellVerify { about, authorized } => {
                self.verified(now, about, authorized, fx);
            }
            PdtpMessage::HashVerify { url, span, hash_ok } => {
                self.digest_checked(&url, span, hash_ok, fx)
            }
            PdtpMessage::ProtocolError { message } | PdtpMessage::Error { message, .. } => {
                fx.event(Event::Complaint { message });
            }
            _ => fx.event(Event::Ignored { why: Ignored::NotACoordinators }),
        }
    }

    /// The pieces are known now: announces those that are here and requests the
    /// rest.
    fn receive_pieces(
        &mut self,
        url: &Text,
        (info, sha256): (Option<(u64, u64)>, Option<Hash>),
        fx: &mut ClientEffects,
    ) {
        let Some(at) = self.file(url) else { return };
        let most = u64::from(self.config.pieces);
        let fits = |(size, chunk): &(u64, u64)| *chunk > 0 && size.div_ceil(*chunk) <= most;
        let Some((size, chunk)) = info.filter(fits) else {
            let why: String = match info {
                None => "the coordinator does not know the file".into(),
                Some((_, 0)) => "the coordinator says that its pieces have no bytes".into(),
                Some((size, chunk)) => format!(
                    "the file has {} pieces, and a client takes at most {most}: \
                     have it given in larger ones (--chunk)",
                    size.div_ceil(chunk)
                ),
            };
            fx.output(Output::Failed { url: url.clone(), why });
            self.files.remove(at);
            return;
        };
        self.moves = 0;
        let file = &mut self.files[at];
        if file.chunk != chunk && !file.whole {
            // Pieces of another size are different pieces.
            (file.have, file.held) = (PieceSet::default(), 0);
        }
        let news = (file.size, file.chunk) != (size, chunk);
        (file.size, file.chunk) = (size, chunk);
        if file.whole {
            (0..file.pieces()).for_each(|piece| file.keep(piece));
        }
        if news {
            fx.output(Output::Info { url: url.clone(), size, chunk, sha256 });
        }
        for span in file.runs(true) {
            fx.output(Output::Send(PdtpMessage::Provide { url: url.clone(), span }));
        }
        // A piece whose digest was never checked is requested again: the
        // coordinator that should have checked it is gone.
        file.judged = BTreeMap::new();
        for span in file.runs(false) {
            fx.output(Output::Send(PdtpMessage::Request { url: url.clone(), span }));
        }
        self.finish(at, fx);
    }

    /// The file is no longer available. Clients that have it keep it.
    fn withdrawn(&mut self, url: &Text, why: String, fx: &mut ClientEffects) {
        let Some(at) = self.file(url) else { return };
        let done = self.files.remove(at).done;
        self.abort_all(url, fx);
        if !done {
            fx.output(Output::Withdrawn { url: url.clone(), why });
        }
    }

    /// Aborts all transfers of a file.
    fn abort_all(&mut self, url: &Text, fx: &mut ClientEffects) {
        let jobs = self.jobs.iter().filter(|(_, job)| job.about.url == *url);
        let jobs: alloc::vec::Vec<u32> = jobs.map(|(job, _)| *job).collect();
        for job in jobs {
            self.abort(job, fx);
        }
    }

    /// Reports when a file whose pieces are known is complete.
    pub(super) fn finish(&mut self, at: usize, fx: &mut ClientEffects) {
        let file = &mut self.files[at];
        if file.held == file.pieces() && !core::mem::replace(&mut file.done, true) {
            fx.output(Output::Done { url: file.url.clone() });
            fx.event(Event::Done);
        }
    }
}

impl ClientFile {
    pub(super) fn new(url: Text, chunk: u64, whole: bool) -> Self {
        Self {
            url,
            size: 0,
            chunk,
            have: PieceSet::default(),
            held: 0,
            judged: BTreeMap::new(),
            whole,
            done: false,
        }
    }
}
