//! The kernel's timer: the runtime's own counts whole milliseconds.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::unix::AsyncFd;

/// The kernel's timer as a pollable descriptor.
pub(crate) struct FineTimer(AsyncFd<OwnedFd>);

impl FineTimer {
    /// Must be called inside a runtime.
    #[expect(deprecated, reason = "an owned descriptor is what it says; the rest is unsafe")]
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        AsyncFd::new(timerfd_create(TimerfdClockId::Monotonic, flags)?).map(Self)
    }

    /// Waits that long, less than a second; may return early.
    pub(crate) async fn ring(&self, after: Duration) {
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
