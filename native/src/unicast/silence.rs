//! How long a peer has been silent.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::driver::datagrams::Pipe;

/// How often it is looked whether a peer has been heard.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// The silence of the peer of one connection; it ends with every datagram from it.
#[derive(Debug, Clone)]
pub struct PeerSilence(pub(super) Arc<Pipe>);

impl PeerSilence {
    /// How long it has lasted.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.0.lock().heard.elapsed()
    }

    /// Waits until it has lasted so long.
    pub async fn reaches(&self, length: Duration) {
        while self.length() < length {
            sleep(length.saturating_sub(self.length()).max(LOOK_AGAIN)).await;
        }
    }

    /// Waits until the peer is heard that was silent for so long.
    pub async fn ends(&self, after: Duration) {
        while self.length() >= after {
            sleep(LOOK_AGAIN).await;
        }
    }
}
