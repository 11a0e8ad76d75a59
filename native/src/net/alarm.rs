//! A precise timer: the runtime's own counts whole milliseconds, and on a fast
//! path the round-trip time is a tenth of one.

use std::time::Duration;

/// For waits of at least this length the runtime's timer is precise enough.
const NEAR: Duration = Duration::from_millis(50);

/// A one-shot timer whose deadline may change all the time.
pub(crate) struct Alarm(Option<system::FineTimer>);

impl Alarm {
    /// Must be called inside a runtime.
    pub(crate) fn new() -> Self {
        Self(system::FineTimer::new().ok()) // Without it the runtime's timer will do.
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

#[cfg(target_os = "linux")]
mod system {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tokio::io::unix::AsyncFd;

    /// The kernel's timer as a pollable descriptor.
    pub(super) struct FineTimer(AsyncFd<OwnedFd>);

    impl FineTimer {
        #[expect(deprecated, reason = "an owned descriptor is what it says; the rest is unsafe")]
        pub(super) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            AsyncFd::new(timerfd_create(TimerfdClockId::Monotonic, flags)?).map(Self)
        }

        pub(super) async fn ring(&self, after: Duration) {
            let once = Itimerspec {
                it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
                it_value: Timespec { tv_sec: 0, tv_nsec: i64::from(after.subsec_nanos().max(1)) },
            };
            if timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once).is_err() {
                return tokio::time::sleep(after).await;
            }
            loop {
                let Ok(mut ready) = self.0.readable().await else { return };
                let mut rings = [0; 8];
                match rustix::io::read(self.0.get_ref(), &mut rings) {
                    // It expired for a deadline that was set before this one.
                    Err(rustix::io::Errno::AGAIN) => ready.clear_ready(),
                    _ => {
                        ready.clear_ready();
                        return;
                    }
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;
    use std::time::Duration;

    /// Where the system has nothing finer: the runtime's timer.
    pub(super) struct Fine;

    impl FineTimer {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        pub(super) async fn ring(&self, after: Duration) {
            tokio::time::sleep(after).await;
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
