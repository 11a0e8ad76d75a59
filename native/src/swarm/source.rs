//! The source: pieces for whom the coordinator has sent here.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use servent_core::wire::http::{Method, RequestHead};
use servent_core::wire::pdtp::{Span, Text};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};

use super::serve::Ask;
use super::wire::{Move, Wire};
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
    /// Requests of strangers.
    pub(super) refused: AtomicU64,
}

impl Source {
    /// Answers the requests of one connection.
    pub(super) async fn attend(
        self: Arc<Self>,
        stream: TcpStream,
        asks: mpsc::Sender<Ask>,
    ) -> io::Result<()> {
        let mut wire = Wire::new(stream);
        let mut first = true;
        while let Some(head) = wire.request(first).await? {
            first = false;
            self.answer(&mut wire, &head, &asks).await?;
            if !wire.is_clean() {
                break;
            }
        }
        wire.close().await;
        Ok(())
    }

    async fn answer(
        &self,
        wire: &mut Wire,
        head: &RequestHead,
        asks: &mpsc::Sender<Ask>,
    ) -> io::Result<()> {
        if head.method != Method::Get {
            wire.spoil(); // It may have a body.
            return wire.answer(405).await;
        }
        let url = url_from(&head.target);
        let Some(offer) = self.offers.get(&url) else { return wire.answer(404).await };
        let span = http::span_of(head);
        let range = (span.start, span.end.unwrap_or(offer.size));
        if range.0 >= range.1 || range.1 > offer.size {
            return wire.answer(416).await;
        }
        let peer_id: Text = head.headers.get(http::PEER_ID).unwrap_or_default().into();
        let (reply, said) = oneshot::channel();
        let ask =
            Ask::MayServe { peer_id, url: url.clone(), span: Span::new(range.0, range.1), reply };
        if asks.send(ask).await.is_err() || !said.await.unwrap_or(false) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return wire.answer(403).await;
        }
        let file = File::open(&offer.path)?;
        wire.say(&http::part(range, offer.size, wire.is_clean())).await?;
        let bytes = Move { file: &file, range, pace: self.pace.as_ref() };
        wire.send(bytes, |sent| {
            self.sent.fetch_add(sent, Ordering::Relaxed);
        })
        .await
    }
}
