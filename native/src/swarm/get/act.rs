//! Carrying out what the client wants.

use std::sync::Arc;

use servent_core::id::ConnId;
use servent_core::swarm::client::{Event, Job, Output};
use servent_core::wire::pdtp::Span;
use tokio::sync::oneshot;

use super::super::error::SwarmError;
use super::door::{Order, Task};
use super::host::{Doing, Host, News, Way};
use super::jobs::{End, Slice};
use super::reach;

impl Host {
    pub(super) fn note(&mut self, event: &Event) {
        tracing::debug!(?event);
        match event {
            Event::Receiving { job, from, source, .. } => {
                if *source {
                    self.sources.insert(job.0);
                } else {
                    self.peers.0.extend(*from);
                }
            }
            Event::Sending { to: Some(to), .. } => {
                self.peers.0.insert(*to);
            }
            Event::Wrong { .. } => self.tell.send_modify(|p| p.wrong += 1),
            Event::Complaint { message } => {
                tracing::warn!(%message, "the coordinator complains");
            }
            _ => {}
        }
    }

    pub(super) fn act(&mut self, output: Output) {
        match output {
            Output::Connect => self.connect(),
            Output::Fetch { job, from, span, piece, .. } => {
                let way = if self.sources.remove(&job.0) { Way::FromSource } else { Way::FromPeer };
                let pool = Arc::clone(&self.pool);
                self.start(job, way, (span, piece), |slice| slice.fetch(from, pool));
            }
            Output::Push { job, to, span, .. } => {
                let pool = Arc::clone(&self.pool);
                self.start(job, Way::ToPeer, (span, span), |slice| slice.push(to, pool));
            }
            Output::Take { job, conn, span, piece, .. } => {
                self.order(job, conn, Way::FromPeer, (span, piece), Order::Take);
            }
            Output::Serve { job, conn, span, .. } => {
                self.order(job, conn, Way::ToPeer, (span, span), Order::Serve);
            }
            Output::Refuse { conn, status } => {
                if let Some((_, order)) = self.callers.remove(&conn) {
                    let _ = order.send(Order::Refuse(status)); // It may be gone.
                }
            }
            Output::Abort { job } => {
                self.doing.remove(&job.0);
            }
            Output::Done { .. } => self.done = true,
            Output::Failed { why, .. } => self.failed = Some(SwarmError::Refused(why)),
            Output::Send(_) | Output::Info { .. } | Output::Keep { .. } => {}
        }
    }

    /// Lists a transfer, with the bytes it is about.
    fn enter(&mut self, job: Job, way: Way, spans: (Span, Span)) -> Option<Task> {
        let range = |span: Span| (span.start, span.end.unwrap_or(self.size));
        let Some(file) = self.part.file() else {
            self.unbegun.push(job);
            return None;
        };
        let pace = if way == Way::ToPeer { &self.up } else { &self.down };
        let (range, piece) = (range(spans.0), range(spans.1));
        let slice = Slice {
            file,
            url: self.options.url.clone(),
            id: self.id.clone(),
            range,
            piece,
            size: self.size,
            pace: pace.clone(),
        };
        let (halt, halted) = oneshot::channel();
        let bytes = range.1 - range.0;
        self.doing.insert(job.0, Doing { _halt: halt, bytes, piece: piece.0, way });
        Some(Task { job, slice, halted })
    }

    /// Begins a transfer on a connection of ours.
    fn start<F: Future<Output = End> + Send + 'static>(
        &mut self,
        job: Job,
        way: Way,
        spans: (Span, Span),
        work: impl FnOnce(Slice) -> F,
    ) {
        let Some(Task { job, slice, halted }) = self.enter(job, way, spans) else { return };
        let (news, work) = (self.news.clone(), work(slice));
        tokio::spawn(async move {
            tokio::select! {
                end = work => drop(news.send(News::Ended { job, end }).await), // It may have ended.
                _ = halted => {}
            }
        });
    }

    /// Begins a transfer on a connection that came to us.
    fn order(
        &mut self,
        job: Job,
        conn: ConnId,
        way: Way,
        spans: (Span, Span),
        order: impl FnOnce(Task) -> Order,
    ) {
        let Some((peer, ordered)) = self.callers.remove(&conn) else {
            self.unbegun.push(job);
            return;
        };
        let Some(task) = self.enter(job, way, spans) else { return };
        self.peers.1.insert(peer);
        if ordered.send(order(task)).is_err() {
            self.doing.remove(&job.0);
            self.unbegun.push(job);
        }
    }

    fn connect(&self) {
        let (to, news) = (self.options.coordinator.clone(), self.news.clone());
        tokio::spawn(async move {
            if let Ok(stream) = reach::dial(&to).await {
                reach::linked(stream, &news).await;
            }
            let _ = news.send(News::Unlinked).await; // It may have ended.
        });
    }
}
