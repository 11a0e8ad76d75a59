//! Peers at our door. A connection brings one request after another; what
//! becomes of each, the client's task says.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

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
            tokio::time::sleep(Duration::from_millis(50)).await;
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
        let (order, ordered) = oneshot::channel();
        if news.send(News::Caller(Caller { request, order })).await.is_err() {
            return;
        }
        let order = tokio::select! {
            Ok(order) = ordered => order,
            () = wire.gone() => {
                let _ = news.send(News::Gone { conn }).await; // It may have ended.
                return;
            }
            else => return,
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
