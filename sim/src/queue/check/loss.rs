//! Was a place lost for the stated reason?

use super::line::RecordedPosition;
use servent_core::queue::{Config, Dialect, PositionLoss};
use servent_core::time::{Duration, Instant};

/// The shortest allowed time between the announced earliest and latest retry.
pub(super) const WINDOW: Duration = Duration::from_secs(50);

/// True when what is known about a place is consistent with the stated reason
/// for its loss. `open`: its connection is open.
pub(super) fn is_borne_out(
    place: &RecordedPosition,
    why: PositionLoss,
    now: Instant,
    open: bool,
    config: &Config,
) -> bool {
    let overdue = place.deadline.is_none_or(|by| by <= now);
    match why {
        // AQ-5, PQ-7: and never a passive client (PQ-11).
        PositionLoss::TooEarly => now < place.not_before && place.dialect != Some(Dialect::Passive),
        // AQ-6, PQ-8.
        PositionLoss::Overdue => overdue,
        // AQ-7: in no other dialect does losing the connection lose the place.
        PositionLoss::ConnectionLost => {
            (place.dialect == Some(Dialect::Active) || !place.told) && !open
        }
        // PQ-6: positions appear in no other dialect.
        PositionLoss::WrongPosition => {
            !matches!(place.dialect, Some(Dialect::Active | Dialect::Passive))
        }
        // PQ-10: the first break is always forgiven.
        PositionLoss::BrokeTooOften => {
            !open && place.breaks.is_none_or(|n| n >= config.breaks_allowed.max(1))
        }
        // PQ-8: only after attempts to call back, and not before the deadline.
        PositionLoss::Unreachable => overdue && place.calls > 0,
        // QA-8: a goodbye names an id, and only its client knows that.
        PositionLoss::Left => place.dialect != Some(Dialect::Active),
        // A new request on a connection replaces the old one's place. PQ-3: an
        // address has one place if its requests are not held open.
        PositionLoss::Replaced => {
            matches!(place.dialect, Some(Dialect::Active | Dialect::Passive)) || !place.told
        }
    }
}
