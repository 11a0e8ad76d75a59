//! What the client's host does beside its task: one transfer each.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use servent_core::swarm::client::Outcome;
use servent_core::wire::http::ResponseHead;
use servent_core::wire::pdtp::{Hash, Reason, Text};

use super::super::pieces::hash_span;
use super::super::pool::Pool;
use super::super::wire::{Move, Wire};
use super::super::{http, target_of};
use crate::clock::Stopwatch;
use crate::net::Pace;

/// A part of the file, to be moved.
#[derive(Debug, Clone)]
pub(super) struct Slice {
    pub(super) file: Arc<File>,
    pub(super) url: Text,
    pub(super) id: Text,
    /// The bytes that move.
    pub(super) range: (u64, u64),
    /// The piece they are of.
    pub(super) piece: (u64, u64),
    pub(super) size: u64,
    pub(super) pace: Option<Arc<Pace>>,
}

/// How a transfer ended: for the client, or with a disk that takes no more.
pub(super) type End = Result<Outcome, io::Error>;

pub(super) fn broken(reason: Reason, bytes: u64) -> End {
    Ok(Outcome::Broken { reason, bytes })
}

fn is_of_the_disk(why: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(why.kind(), StorageFull | QuotaExceeded | FileTooLarge | ReadOnlyFilesystem)
}

fn length(watch: &Stopwatch) -> servent_core::time::Duration {
    let micros = u64::try_from(watch.elapsed().as_micros()).unwrap_or(u64::MAX);
    servent_core::time::Duration::from_micros(micros)
}

impl Slice {
    fn len(&self) -> u64 {
        self.range.1 - self.range.0
    }

    fn bytes(&self) -> Move<'_> {
        Move { file: &self.file, range: self.range, pace: self.pace.as_deref() }
    }

    /// Asks a peer on a connection that is there, or on a new one: the peer
    /// may just have closed what was idle.
    async fn ask(
        &self,
        to: SocketAddr,
        method: &str,
        pool: &Pool,
    ) -> Result<(Wire, ResponseHead), Reason> {
        let request = http::ask(method, target_of(&self.url), self.range, &self.id);
        if let Some(mut wire) = pool.take(to) {
            match asked(&mut wire, &request).await {
                Ok(head) => return Ok((wire, head)),
                Err(why) if why.kind() == io::ErrorKind::TimedOut => return Err(Reason::Data),
                Err(_) => {}
            }
        }
        let mut wire = Wire::dial(to).await.map_err(|_| Reason::Connect)?;
        let head = asked(&mut wire, &request).await.map_err(|_| Reason::Data)?;
        Ok((wire, head))
    }

    /// `GET`.
    pub(super) async fn fetch(self, from: SocketAddr, pool: Arc<Pool>) -> End {
        let (mut wire, head) = match self.ask(from, "GET", &pool).await {
            Ok(answered) => answered,
            Err(reason) => return broken(reason, 0),
        };
        if !http::brings(&head, self.range) {
            tracing::debug!(%from, status = head.status, "a peer does not give a piece");
            pool.keep(from, wire);
            return broken(Reason::Data, 0);
        }
        let watch = Stopwatch::start();
        let got = wire.take(self.bytes(), head.keep_alive()).await;
        let took = length(&watch);
        pool.keep(from, wire);
        self.received(got, took).await
    }

    /// What a peer `PUT`s: so many bytes, which it may wait to be asked for.
    pub(super) async fn take(self, wire: &mut Wire, (told, waits): (Option<u64>, bool)) -> End {
        let keep = wire.is_clean();
        if told != Some(self.len()) {
            if !waits {
                wire.spoil(); // The bytes come all the same.
            }
            let _ = wire.answer(416).await; // It may have gone.
            return broken(Reason::Data, 0);
        }
        if waits && wire.say(http::GO_ON).await.is_err() {
            return broken(Reason::Data, 0);
        }
        let watch = Stopwatch::start();
        let got = wire.take(self.bytes(), keep).await;
        let took = length(&watch);
        // The bytes are here, whether the peer still hears that or not.
        let whole = got.1.is_ok();
        let _ = wire.answer(if whole { 201 } else { 503 }).await;
        self.received(got, took).await
    }

    async fn received(
        &self,
        (bytes, done): (u64, io::Result<()>),
        took: servent_core::time::Duration,
    ) -> End {
        match done {
            Ok(()) => Ok(Outcome::Whole { hash: Some(self.hash().await?), took }),
            Err(why) if is_of_the_disk(&why) => Err(why),
            Err(_) => broken(Reason::Data, bytes),
        }
    }

    async fn hash(&self) -> io::Result<Hash> {
        let (file, (start, end)) = (Arc::clone(&self.file), self.piece);
        let hashed = tokio::task::spawn_blocking(move || hash_span(&file, start, end)).await;
        hashed.unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    }

    /// Answers a peer's `GET`.
    pub(super) async fn serve(self, wire: &mut Wire) -> End {
        let watch = Stopwatch::start();
        let head = http::part(self.range, self.size, wire.is_clean());
        let served = async {
            wire.say(&head).await?;
            wire.send(self.bytes(), |_| {}).await
        };
        match served.await {
            Ok(()) => Ok(Outcome::Whole { hash: None, took: length(&watch) }),
            Err(_) => broken(Reason::Data, 0),
        }
    }

    /// `PUT`.
    pub(super) async fn push(self, to: SocketAddr, pool: Arc<Pool>) -> End {
        let (mut wire, head) = match self.ask(to, "PUT", &pool).await {
            Ok(answered) => answered,
            Err(reason) => return broken(reason, 0),
        };
        if head.status != 100 {
            pool.keep(to, wire);
            return broken(Reason::Data, 0);
        }
        let watch = Stopwatch::start();
        let pushed = async {
            wire.send(self.bytes(), |_| {}).await?;
            Ok::<_, io::Error>((length(&watch), wire.response().await?.status))
        };
        let pushed = pushed.await;
        pool.keep(to, wire);
        match pushed {
            Ok((took, 200..300)) => Ok(Outcome::Whole { hash: None, took }),
            Ok(_) | Err(_) => broken(Reason::Data, 0),
        }
    }
}

async fn asked(wire: &mut Wire, request: &[u8]) -> io::Result<ResponseHead> {
    wire.say(request).await?;
    wire.response().await
}
