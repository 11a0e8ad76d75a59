//! Peers at our door. A connection brings one request after another; what
//! becomes of each, the client's task says.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use servent_core::id::ConnId;
use servent_core::swarm::client::{Job, Request};
use servent_core::wire::http::Method as HttpMethod;
use servent_core::wire::pdtp::Method;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::super::wire::Wire;
use super::super::{http, url_from};
use super::host::News;
use super::jobs::Slice;
use crate::net::ACCEPT_PAUSE;

/// Connections of peers at once.
const CALLERS: usize = 512;

/// What becomes of a request.
#[derive(Debug)]
pub(super) enum Order {
    /// Answer the `GET` with these bytes.
    Serve(Task),
    /// Take the bytes of the `PUT`.
    Take(Task),
    /// Say this status and no more.
    Refuse(u16),
}

/// A job of a connection, until `halted` ends.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) job: Job,
    pub(super) slice: Slice,
    pub(super) halted: oneshot::Receiver<()>,
}

/// A peer that has asked and waits for an answer.
#[derive(Debug)]
pub(in super::super) struct Caller {
    pub(super) request: Request,
    pub(super) order: oneshot::Sender<Order>,
}

/// Takes peers at the door.
pub(super) async fn keep(listener: TcpListener, news: mpsc::Sender<News>) {
    let (room, numbers) = (Arc::new(Semaphore::new(CALLERS)), Arc::new(AtomicU64::new(0)));
    while !news.is_closed() {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = news.closed() => return,
        };
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (news, numbers) = (news.clone(), Arc::clone(&numbers));
        tokio::spawn(async move {
            let _held = permit;
            tokio::select! {
                () = attend(stream, peer, &numbers, &news) => {}
                () = news.closed() => {}
            }
        });
    }
}

/// Every request of one connection; each has a number of its own.
async fn attend(
    stream: TcpStream,
    peer: SocketAddr,
    numbers: &AtomicU64,
    news: &mpsc::Sender<News>,
) {
    let mut wire = Wire::new(stream);
    let mut first = true;
    while let Ok(Some(head)) = wire.request(first).await {
        first = false;
        let method = match &head.method {
            HttpMethod::Get => Method::Get,
            HttpMethod::Other(other) if other == "PUT" => Method::Put,
            _ => {
                let _ = wire.answer(405).await; // It may be gone.
                return wire.close().await;
            }
        };
        let put = (method == Method::Put)
            .then(|| (http::length_of(&head), head.headers.get("Expect").is_some()));
        let conn = ConnId(numbers.fetch_add(2, Ordering::Relaxed) + 2);
        let request = Request {
            conn,
            peer: peer.ip().to_canonical(),
            peer_id: head.headers.get(http::PEER_ID).unwrap_or_default().into(),
            method,
            url: url_from(&head.target),
            span: http::span_of(&head),
        };
        let (order, mut ordered) = oneshot::channel();
        if news.send(News::Caller(Caller { request, order })).await.is_err() {
            return;
        }
        let heard = tokio::select! {
            biased;
            order = &mut ordered => order.ok(),
            () = wire.gone() => {
                // What was ordered meanwhile has to fail, and to say so.
                ordered.close();
                ordered.try_recv().ok()
            }
        };
        let Some(order) = heard else {
            let _ = news.send(News::Gone { conn }).await; // It may have ended.
            return;
        };
        if !obey(&mut wire, order, put, news).await {
            return wire.close().await;
        }
    }
}

/// Does what is ordered; true when another request may follow.
async fn obey(
    wire: &mut Wire,
    order: Order,
    put: Option<(Option<u64>, bool)>,
    news: &mpsc::Sender<News>,
) -> bool {
    let (job, end) = match order {
        Order::Refuse(status) => {
            if put.is_some_and(|(_, waits)| !waits) {
                wire.spoil(); // The bytes come all the same.
            }
            return wire.answer(status).await.is_ok() && wire.is_clean();
        }
        Order::Serve(Task { job, slice, halted }) => tokio::select! {
            end = slice.serve(wire) => (job, end),
            _ = halted => return false,
        },
        Order::Take(Task { job, slice, halted }) => tokio::select! {
            end = slice.take(wire, put.unwrap_or_default()) => (job, end),
            _ = halted => return false,
        },
    };
    news.send(News::Ended { job, end }).await.is_ok() && wire.is_clean()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use servent_core::swarm::client::Outcome;
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    /// A peer that asks and hangs up, and an order that comes at any moment
    /// around that: either nobody takes the order, or its end is told.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_is_ordered_for_a_peer_that_goes_ends_too() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        file.set_len(1 << 20).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let (news, mut heard) = mpsc::channel(16);
        let door = tokio::spawn(keep(listener, news));
        for round in 0..200_u32 {
            let mut peer = TcpStream::connect(at).await.unwrap();
            peer.write_all(&http::ask("GET", "/f", (0, 1 << 20), "p")).await.unwrap();
            let next = tokio::time::timeout(PATIENCE, heard.recv()).await.unwrap().unwrap();
            let News::Caller(Caller { request, order }) = next else { panic!("{next:?}") };
            drop(peer);
            for _ in 0..round % 8 {
                tokio::task::yield_now().await;
            }
            let (_halt, halted) = oneshot::channel();
            let slice = Slice {
                file: Arc::clone(&file),
                url: request.url,
                id: "me".into(),
                range: (0, 1 << 20),
                piece: (0, 1 << 20),
                size: 1 << 20,
                pace: None,
            };
            let taken = order.send(Order::Serve(Task { job: Job(round), slice, halted })).is_ok();
            match tokio::time::timeout(PATIENCE, heard.recv()).await.unwrap().unwrap() {
                News::Ended { job, end } => {
                    assert!(taken && job == Job(round));
                    // A megabyte may fit into what the system holds for the peer.
                    assert!(matches!(end, Ok(Outcome::Broken { .. } | Outcome::Whole { .. })));
                }
                News::Gone { conn } => assert!(!taken && conn == request.conn),
                other => panic!("{other:?}"),
            }
        }
        door.abort();
    }
}
