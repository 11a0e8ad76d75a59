//! What the client's host does beside its task: one transfer each.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use servent_core::id::ConnId;
use servent_core::swarm::client::Outcome;
use servent_core::wire::http::RequestHead;
use servent_core::wire::pdtp::{Hash, Reason, Text};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};

use super::super::pieces::hash_span;
use super::super::{http, target_of};
use super::host::News;
use crate::clock::Stopwatch;
use crate::net::Pace;

/// Peers at our door at once.
const CALLERS: usize = 512;

/// A peer that has asked and waits for an answer.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) conn: ConnId,
    pub(super) peer: SocketAddr,
    pub(super) head: RequestHead,
    pub(super) early: Vec<u8>,
    pub(super) stream: TcpStream,
}

impl Caller {
    /// What it calls itself.
    pub(super) fn id(&self) -> Text {
        self.head.headers.get(http::PEER_ID).unwrap_or_default().into()
    }
}

/// Takes peers at the door.
pub(super) async fn callers(listener: TcpListener, news: mpsc::Sender<News>) {
    let (room, numbers) = (Arc::new(Semaphore::new(CALLERS)), AtomicU64::new(0));
    while !news.is_closed() {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = news.closed() => return,
        };
        let Ok((mut stream, peer)) = accepted else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let conn = ConnId(numbers.fetch_add(2, Ordering::Relaxed) + 2);
        let news = news.clone();
        tokio::spawn(async move {
            let _held = permit;
            if let Ok((head, early)) = http::request(&mut stream).await {
                let caller = Caller { conn, peer, head, early, stream };
                let _ = news.send(News::Caller(Box::new(caller))).await; // It may have ended.
            }
        });
    }
}

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

fn broken(reason: Reason, bytes: u64) -> End {
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

    async fn dial(&self, to: SocketAddr, method: &str) -> io::Result<TcpStream> {
        let dialed = tokio::time::timeout(http::DIAL, TcpStream::connect(to)).await;
        let mut stream = dialed.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
        let _ = stream.set_nodelay(true); // Only slower without.
        stream.write_all(&http::ask(method, target_of(&self.url), self.range, &self.id)).await?;
        Ok(stream)
    }

    /// `GET`.
    pub(super) async fn fetch(self, from: SocketAddr) -> End {
        let Ok(mut stream) = self.dial(from, "GET").await else {
            return broken(Reason::Connect, 0);
        };
        let Ok((head, early)) = http::response(&mut stream).await else {
            return broken(Reason::Data, 0);
        };
        let fits = head.content_length() == Some(self.len());
        if !matches!(head.status, 200 | 206) || !fits {
            tracing::debug!(%from, status = head.status, "a peer does not give a piece");
            return broken(Reason::Data, 0);
        }
        self.receive(&mut stream, &early).await
    }

    /// What a peer `PUT`s.
    pub(super) async fn take(self, mut caller: Caller) -> End {
        let stream = &mut caller.stream;
        let length = caller.head.headers.get("Content-Length").and_then(|n| n.trim().parse().ok());
        if length != Some(self.len()) {
            let _ = http::answer(stream, 416).await; // It may have gone.
            return broken(Reason::Data, 0);
        }
        if caller.head.headers.get("Expect").is_some() && http::go_on(stream).await.is_err() {
            return broken(Reason::Data, 0);
        }
        let end = self.receive(stream, &caller.early).await?;
        let status = if matches!(end, Outcome::Whole { .. }) { 201 } else { 503 };
        let _ = http::answer(stream, status).await; // The bytes are here all the same.
        Ok(end)
    }

    async fn receive(&self, stream: &mut TcpStream, early: &[u8]) -> End {
        let watch = Stopwatch::start();
        let pace = self.pace.as_deref();
        let (bytes, done) = http::take(stream, early, &self.file, self.range, pace).await;
        match done {
            Ok(()) => {}
            Err(why) if is_of_the_disk(&why) => return Err(why),
            Err(_) => return broken(Reason::Data, bytes),
        }
        let took = length(&watch);
        Ok(Outcome::Whole { hash: Some(self.hash().await?), took })
    }

    async fn hash(&self) -> io::Result<Hash> {
        let (file, (start, end)) = (Arc::clone(&self.file), self.piece);
        let hashed = tokio::task::spawn_blocking(move || hash_span(&file, start, end)).await;
        hashed.unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    }

    /// Answers a peer's `GET`.
    pub(super) async fn serve(self, mut caller: Caller) -> End {
        let watch = Stopwatch::start();
        let pace = self.pace.as_deref();
        match http::serve(&mut caller.stream, &self.file, self.range, self.size, pace).await {
            Ok(()) => Ok(Outcome::Whole { hash: None, took: length(&watch) }),
            Err(_) => broken(Reason::Data, 0),
        }
    }

    /// `PUT`.
    pub(super) async fn push(self, to: SocketAddr) -> End {
        let Ok(mut stream) = self.dial(to, "PUT").await else {
            return broken(Reason::Connect, 0);
        };
        let watch = Stopwatch::start();
        let pushed: io::Result<u16> = async {
            let (head, _) = http::response(&mut stream).await?;
            if head.status != 100 {
                return Ok(head.status);
            }
            http::send(&stream, &self.file, self.range, self.pace.as_deref()).await?;
            Ok(http::response(&mut stream).await?.0.status)
        }
        .await;
        match pushed {
            Ok(200..300) => Ok(Outcome::Whole { hash: None, took: length(&watch) }),
            Ok(_) | Err(_) => broken(Reason::Data, 0),
        }
    }
}
