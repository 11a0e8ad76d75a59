//! How many bytes a receiver grants: as many as arrive in two round trips
//! (PA-3).

use crate::time::{Duration, Instant};
use crate::unicast::Config;
use crate::unicast::cx::UnicastCx;
use crate::unicast::rtt::Rtt;

/// The round trip assumed for the growth of windows before one is measured: a
/// receiver that sends nothing learns it late.
const FAR: Duration = Duration::from_millis(200);
/// A window that nothing arrived in for this long is given back.
const IDLE: Duration = Duration::from_secs(10);

/// The window, and how fast it is used up.
///
/// A sender that could send more uses up a window within a round trip. So a
/// window that is used up within two is doubled, and one that lasts longer is
/// large enough, whatever the round trip is.
#[derive(Debug, Clone)]
pub(super) struct GrantedWindow {
    bytes: u64,
    /// Bytes that have arrived ever, when the present measurement began, and
    /// how many there were then.
    arrived: u64,
    since: Instant,
    before: u64,
}

impl GrantedWindow {
    pub(super) fn new(now: Instant, config: &Config) -> Self {
        Self { bytes: start(config), arrived: 0, since: now, before: 0 }
    }

    /// Bytes granted beyond what waits for earlier messages.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// So many bytes have arrived.
    pub(super) fn add(&mut self, bytes: u64, rtt: &Rtt, cx: &mut UnicastCx<'_>) {
        self.arrived += bytes;
        let trip = rtt.measured().unwrap_or(FAR) + cx.config.ack_delay;
        let trips = Duration::from_micros(2 * trip.as_micros());
        if cx.now.since(self.since) > trips {
            (self.since, self.before) = (cx.now, self.arrived);
        } else if self.arrived - self.before >= self.bytes / 2 {
            let wanted = (2 * self.bytes).min(cx.config.recv_bytes);
            if wanted > self.bytes {
                self.bytes = cx.regrow(self.bytes, wanted, start(cx.config));
            }
            (self.since, self.before) = (cx.now, self.arrived);
        }
    }

    /// When it is given back, if it has grown and nothing arrives.
    pub(super) fn deadline(&self, newest_at: Instant, config: &Config) -> Option<Instant> {
        (self.bytes > start(config)).then(|| newest_at + IDLE)
    }

    /// Gives it back, if nothing has arrived for long; or at once, at the end. True when
    /// it is another one now.
    pub(super) fn release(
        &mut self,
        newest_at: Instant,
        ends: bool,
        cx: &mut UnicastCx<'_>,
    ) -> bool {
        let idle = self.deadline(newest_at, cx.config).is_some_and(|at| at <= cx.now);
        if idle || ends {
            self.bytes = cx.regrow(self.bytes, start(cx.config), start(cx.config));
        }
        idle || ends
    }
}

/// What is granted at first.
fn start(config: &Config) -> u64 {
    config.recv_start.min(config.recv_bytes)
}
