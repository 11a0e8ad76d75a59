//! The source: pieces for whom the coordinator has sent here.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use servent_core::wire::http::Method;
use servent_core::wire::pdtp::{Span, Text};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};

use super::serve::Ask;
use super::{http, url_from};
use crate::net::Pace;

/// A file of the source.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) path: PathBuf,
    pub(super) size: u64,
}

/// What pieces are served from.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) offers: BTreeMap<Text, Offer>,
    pub(super) pace: Option<Pace>,
    /// Bytes of files that have left.
    pub(super) sent: AtomicU64,
}

impl Source {
    /// Answers one request.
    pub(super) async fn answer(
        self: Arc<Self>,
        mut stream: TcpStream,
        asks: mpsc::Sender<Ask>,
    ) -> io::Result<()> {
        let (head, _) = http::request(&mut stream).await?;
        let url = url_from(&head.target);
        let Some(offer) = self.offers.get(&url) else {
            return http::answer(&mut stream, 404).await;
        };
        let span = http::span_of(&head);
        let end = span.end.unwrap_or(offer.size);
        if head.method != Method::Get || span.start >= end || end > offer.size {
            return http::answer(&mut stream, 416).await;
        }
        let peer_id: Text = head.headers.get(http::PEER_ID).unwrap_or_default().into();
        let (reply, said) = oneshot::channel();
        let span = Span::new(span.start, end);
        let ask = Ask::MayServe { peer_id, url: url.clone(), span, reply };
        if asks.send(ask).await.is_err() || !said.await.unwrap_or(false) {
            return http::answer(&mut stream, 403).await;
        }
        let file = File::open(&offer.path)?;
        let range = (span.start, end);
        http::serve(&mut stream, &file, range, offer.size, self.pace.as_ref()).await?;
        self.sent.fetch_add(end - span.start, Ordering::Relaxed);
        Ok(())
    }
}
