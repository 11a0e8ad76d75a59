//! Connections to peers that can be asked again: a pair of peers needs one,
//! however many pieces it exchanges.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::http::IDLE;
use super::wire::Wire;
use crate::clock::Stopwatch;

/// Connections kept although nothing happens on them.
const KEPT: usize = 128;
/// One that has been idle for so long may be closed by its peer while it is
/// asked.
const STALE: Duration = Duration::from_secs(IDLE.as_secs() * 3 / 4);

/// Connections that wait for a use, the longest idle first.
#[derive(Debug, Default)]
pub(super) struct Pool(Mutex<Vec<(SocketAddr, Stopwatch, Wire)>>);

impl Pool {
    /// A connection to `to` that is still good, as far as one can tell.
    pub(super) fn take(&self, to: SocketAddr) -> Option<Wire> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(_, since, wire)| since.elapsed() < STALE && wire.is_fresh());
        let found = kept.iter().rposition(|(at, _, _)| *at == to)?;
        Some(kept.remove(found).2)
    }

    /// Keeps a connection for the next time, if there can be one.
    pub(super) fn keep(&self, to: SocketAddr, wire: Wire) {
        if !wire.is_clean() {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((to, Stopwatch::start(), wire));
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_connection_is_used_again_until_its_peer_hangs_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let pool = Pool::default();
        assert!(pool.take(at).is_none());
        pool.keep(at, Wire::dial(at).await.unwrap());
        let other = SocketAddr::from(([127, 0, 0, 1], 1));
        assert!(pool.take(other).is_none());
        let wire = pool.take(at).expect("it was kept");
        assert!(pool.take(at).is_none(), "one user at a time");
        pool.keep(at, wire);
        drop(listener.accept().await.unwrap());
        let mut waited = 0;
        // The end arrives sooner or later; from then on it is none any more.
        while let Some(wire) = pool.take(at) {
            pool.keep(at, wire);
            waited += 1;
            assert!(waited < 10_000, "a dead connection is kept");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
