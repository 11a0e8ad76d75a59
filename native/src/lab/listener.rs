//! The lab's listening port, with limits on what strangers can use up: the
//! number of connections, in all and of each address, and the time for a request
//! and its body. Health checks are answered beside all that.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use servent::Seldom;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use super::prompt::Prompt;
use super::seats::{Queued, Seat, Seats};

/// Time limit for a complete head, and for the next one on a kept connection.
const HEAD: Duration = Duration::from_secs(5);
/// Time limit for the body of a request and what is done with it: two megabytes
/// over a slow line.
const BODY: Duration = Duration::from_secs(30);
/// How long to wait when no descriptor is available.
const PAUSE: Duration = Duration::from_millis(50);
/// How long to wait at the end for responses in progress.
const END: Duration = Duration::from_secs(5);
/// What health checks ask for: so much is looked at of what waits for a seat.
const CHECKS: [&[u8]; 3] = [b"/healthz", b"/readyz", b"/metrics"];

/// Serves until `done` resolves. While there is no seat for a connection
/// ([`Seats`]) it waits.
pub(super) async fn serve(
    listener: &TcpListener,
    router: Router,
    done: impl Future<Output = ()>,
) -> io::Result<()> {
    let port = Arc::new(Port::new(router));
    let (open, mut failures) = (GracefulShutdown::new(), Seldom::default());
    tokio::pin!(done);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut done => break,
        };
        match accepted {
            Ok((stream, peer)) => port.admit(stream, peer.ip(), open.watcher()),
            Err(why) => {
                if let Some(before) = failures.tell() {
                    tracing::warn!(%why, before, "the lab cannot accept");
                }
                sleep(PAUSE).await;
            }
        }
    }
    let _ = timeout(END, open.shutdown()).await;
    Ok(())
}

/// What serves the connections of a listener.
struct Port {
    http: http1::Builder,
    /// Answers one request: for health checks beside the seats.
    once: http1::Builder,
    service: TowerToHyperService<Router>,
    seats: Arc<Seats>,
}

impl Port {
    fn new(router: Router) -> Self {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEAD);
        let mut once = http.clone();
        once.keep_alive(false);
        let service = TowerToHyperService::new(router.layer(middleware::from_fn(in_time)));
        Self { http, once, service, seats: Seats::new() }
    }

    fn admit(self: &Arc<Self>, stream: TcpStream, peer: IpAddr, watcher: Watcher) {
        let port = Arc::clone(self);
        // Here and not in the task: where tasks start late, connections that find a
        // seat would put each other off as if they waited.
        if let Some(seat) = self.seats.take(peer) {
            tokio::spawn(async move { port.serve(&port.http, stream, seat, watcher).await });
            return;
        }
        // Too many wait already.
        let Some(mut queued) = self.seats.queue(peer) else { return };
        tokio::spawn(async move {
            let Some((seat, http)) = port.seat(&stream, &mut queued).await else { return };
            drop(queued);
            port.serve(http, stream, seat, watcher).await;
        });
    }

    async fn serve(&self, http: &http1::Builder, stream: TcpStream, seat: Seat, watcher: Watcher) {
        let stream = TokioIo::new(Prompt::new(stream));
        // A client that disconnects needs no answer.
        let _ = watcher.watch(http.serve_connection(stream, self.service.clone())).await;
        drop(seat);
    }

    /// The seat of a connection, as soon as there is one; for a health check one
    /// in the reserve.
    async fn seat(
        &self,
        stream: &TcpStream,
        queued: &mut Queued,
    ) -> Option<(Seat, &http1::Builder)> {
        let checks = async {
            if is_check(stream).await {
                return self.seats.take_reserved().map(|seat| (seat, &self.once));
            }
            std::future::pending().await
        };
        tokio::select! {
            seat = self.seats.wait(queued.from) => Some((seat?, &self.http)),
            checked = checks => checked,
            // Later ones of its address have taken its place.
            _ = &mut queued.put_off => None,
        }
    }
}

/// Whether a connection begins with a health check. Takes nothing of it.
async fn is_check(stream: &TcpStream) -> bool {
    let mut begin = [0; 16];
    let seen = loop {
        match timeout(HEAD, stream.peek(&mut begin)).await {
            Ok(Ok(n)) if n == begin.len() => break &begin[..],
            // Less than any request has.
            Ok(Ok(n)) if n > 0 => sleep(PAUSE).await,
            _ => return false,
        }
    };
    let target = seen.strip_prefix(b"GET ").or_else(|| seen.strip_prefix(b"HEAD "));
    target.is_some_and(|target| CHECKS.iter().any(|check| target.starts_with(check)))
}

/// Ends requests whose bodies do not come.
async fn in_time(request: Request, next: Next) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    timeout(BODY, next.run(request)).await.unwrap_or_else(|_| {
        let text = "The request did not arrive in time.\n";
        (StatusCode::REQUEST_TIMEOUT, [(header::CONNECTION, "close")], text).into_response()
    })
}
