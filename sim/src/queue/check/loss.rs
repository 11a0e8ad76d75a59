//! Was a place lost for the reason that is given?

use super::line::Place;
use servent_core::queue::{Config, Dialect, Loss};
use servent_core::time::{Duration, Instant};

/// What is told leaves at least so much between the first and the last moment
/// to ask.
pub(super) const WINDOW: Duration = Duration::from_secs(50);

/// True when what is known of a place does not speak against the reason for
/// its loss. `open`: its connection is.
pub(super) fn is_borne_out(
    place: &Place,
    why: Loss,
    now: Instant,
    open: bool,
    config: &Config,
) -> bool {
    let overdue = place.deadline.is_none_or(|by| by <= now);
    match why {
        // AQ-5, PQ-7: and a passive client is never blamed for it (PQ-11).
        Loss::TooEarly => now < place.not_before && place.dialect != Some(Dialect::Passive),
        // AQ-6, PQ-8.
        Loss::Overdue => overdue,
        // AQ-7: in no other dialect is the connection the place.
        Loss::ConnectionLost => (place.dialect == Some(Dialect::Active) || !place.told) && !open,
        // PQ-6: positions are named in no other dialect.
        Loss::WrongPosition => !matches!(place.dialect, Some(Dialect::Active | Dialect::Passive)),
        // PQ-10: one break is always forgiven.
        Loss::BrokeTooOften => {
            !open && place.breaks.is_none_or(|n| n >= config.breaks_allowed.max(1))
        }
        // PQ-8: only after calls, and not before its time.
        Loss::Unreachable => overdue && place.calls > 0,
        // Whoever speaks on a connection that was somebody's takes its place.
        // PQ-3: and an address has one place, when nobody holds its requests.
        Loss::Replaced => {
            matches!(place.dialect, Some(Dialect::Active | Dialect::Passive)) || !place.told
        }
    }
}
