//! A precise timer: the runtime's own counts whole milliseconds, and on a fast
//! path the round-trip time is a tenth of one.

use std::time::Duration;

use crate::sys::FineTimer;

/// For waits of at least this length the runtime's timer is precise enough.
const NEAR: Duration = Duration::from_millis(50);

/// A one-shot timer whose deadline may change all the time.
pub(crate) struct Alarm(Option<FineTimer>);

impl Alarm {
    /// Must be called inside a runtime.
    pub(crate) fn new() -> Self {
        Self(FineTimer::new().ok()) // Without it the runtime's timer will do.
    }

    /// Waits that long; forever for `None`. May return early.
    pub(crate) async fn ring(&self, after: Option<Duration>) {
        match (after, &self.0) {
            (None, _) => std::future::pending().await,
            (Some(Duration::ZERO), _) => {}
            (Some(after), Some(fine)) if after < NEAR => fine.ring(after).await,
            (Some(after), _) => tokio::time::sleep(after).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Stopwatch;

    #[tokio::test]
    async fn it_rings_after_the_time_and_not_before_however_often_it_is_set() {
        let alarm = Alarm::new();
        for micros in [200, 100, 5_000, 60_000, 300] {
            let after = Duration::from_micros(micros);
            // Dropped before it expires, unless the machine is too busy for
            // that.
            let early = alarm.ring(Some(Duration::from_millis(20)));
            let _ = tokio::time::timeout(Duration::from_millis(2), early).await;
            let watch = Stopwatch::start();
            alarm.ring(Some(after)).await;
            assert!(watch.elapsed() >= after, "{after:?}");
        }
    }
}
