//! A wall clock that is set while we run, as on a board that starts in 1970 and hears
//! the time later. The node's own clock goes on evenly, so that no place is lost; what
//! it dates follows the wall.

use servent_core::node::NodeCommand;
use servent_core::time::{Duration, Instant, WallClock};

/// Less is not reported: what is dated has whole seconds.
const LEAST: Duration = Duration::from_secs(1);

/// The wall clock, as far as the node knows.
#[derive(Debug, Default)]
pub(super) struct WallWatch(WallClock);

impl WallWatch {
    /// Hears what both show; the answer is what the node has to be told.
    pub(super) fn hear(&mut self, now: Instant, wall: Instant) -> Option<NodeCommand> {
        let known = self.0.at(now);
        if known.since(wall).max(wall.since(known)) < LEAST {
            return None;
        }
        self.0.set(now, wall);
        Some(NodeCommand::Wall { at: wall })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_is_told_once_and_one_that_is_slewed_seldom() {
        let mut watch = WallWatch::default();
        let mut hear = |now: u64, wall: u64| {
            let (now, wall) =
                (Instant::from_micros(now * 1_000), Instant::from_micros(wall * 1_000));
            watch.hear(now, wall).map(|told| told == NodeCommand::Wall { at: wall })
        };
        assert_eq!([hear(5_000, 5_000), hear(10_000, 10_400)], [None; 2]);
        assert_eq!([hear(15_000, 3_615_000), hear(20_000, 3_620_000)], [Some(true), None]);
        assert_eq!([hear(25_000, 1_000), hear(30_000, 6_000)], [Some(true), None]);
        assert_eq!([hear(35_000, 35_000), hear(40_000, 40_999)], [Some(true), None]);
    }
}
