//! The connection to the coordinator.

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::super::{http, link};
use super::host::News;

/// The first of the addresses that answers.
pub(super) async fn dial(to: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for at in to {
        let dialed = tokio::time::timeout(http::DIAL, TcpStream::connect(at)).await;
        match dialed.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(stream) => return Ok(stream),
            Err(why) => failed = why,
        }
    }
    Err(failed)
}

/// Carries what is said until one side hangs up.
pub(super) async fn linked(stream: TcpStream, news: &mpsc::Sender<News>) {
    let Ok(peer) = stream.peer_addr() else { return };
    let _ = stream.set_nodelay(true); // Only slower without.
    let (from, to) = stream.into_split();
    let (out, given) = link::out();
    let coordinator = peer.ip().to_canonical();
    if news.send(News::Linked { coordinator, out }).await.is_err() {
        return;
    }
    let reading = link::read(from, news, News::Heard);
    tokio::select! {
        () = reading => {}
        () = link::write(to, given) => {}
    }
}
