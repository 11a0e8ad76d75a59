//! A machine that was suspended, as a laptop whose lid was closed: the node has to
//! know (WB-7). A client that waits is not late for what could not be answered
//! meanwhile, and what failed around it says nothing about the others.

use std::time::Duration;

use servent_core::node::NodeCommand;
use servent_core::time;

/// Shorter ones are not reported: no client notices them, and the clocks are not read at
/// the same instant.
const SHORTEST: Duration = Duration::from_secs(1);

/// How long the machine has been suspended, as far as the node knows.
#[derive(Debug, Default)]
pub(super) struct Suspended(Duration);

impl Suspended {
    /// Hears how long that was in all since the start; the answer is what the node
    /// has to be told.
    pub(super) fn hear(&mut self, all: Duration) -> Option<NodeCommand> {
        let slept = all.checked_sub(self.0).filter(|slept| *slept >= SHORTEST)?;
        self.0 = all;
        let slept = u64::try_from(slept.as_micros()).unwrap_or(u64::MAX);
        Some(NodeCommand::Woke { slept: time::Duration::from_micros(slept) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_suspension_is_told_once_and_none_that_goes_unnoticed() {
        let mut suspended = Suspended::default();
        let mut hear = |ms| match suspended.hear(Duration::from_millis(ms)) {
            Some(NodeCommand::Woke { slept }) => Some(slept.as_micros() / 1_000),
            other => other.map(|_| 0),
        };
        assert_eq!([hear(0), hear(2), hear(0), hear(999)], [None; 4]);
        assert_eq!([hear(300_002), hear(300_002), hear(300_000)], [Some(300_002), None, None]);
        // Several short ones are a long one, in the end.
        assert_eq!([hear(300_602), hear(301_202)], [None, Some(1_200)]);
    }
}
