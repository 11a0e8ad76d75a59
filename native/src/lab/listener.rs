//! The lab's listening port, with limits on what strangers can use up: the
//! number of connections, and the time for a request head.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use servent::{LAB_CONNECTIONS, Seldom};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// Time limit for a complete head, and for the next one on a kept connection.
const HEAD: Duration = Duration::from_secs(5);
/// How long to wait when no descriptor is available.
const PAUSE: Duration = Duration::from_millis(50);
/// How long to wait at the end for responses in progress.
const END: Duration = Duration::from_secs(5);

/// Serves until `done` resolves. While [`LAB_CONNECTIONS`] are open, new ones
/// wait.
pub(super) async fn serve(
    listener: &TcpListener,
    router: Router,
    done: impl Future<Output = ()>,
) -> io::Result<()> {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD);
    let service = TowerToHyperService::new(router);
    let room = Arc::new(Semaphore::new(LAB_CONNECTIONS as usize));
    let (open, mut failures) = (GracefulShutdown::new(), Seldom::default());
    tokio::pin!(done);
    loop {
        let next = async {
            let place = Arc::clone(&room).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            next = next => next,
            () = &mut done => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let served = http.serve_connection(TokioIo::new(stream), service.clone());
                let served = open.watch(served);
                tokio::spawn(async move {
                    // A client that disconnects needs no answer.
                    let _ = served.await;
                    drop(place);
                });
            }
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
