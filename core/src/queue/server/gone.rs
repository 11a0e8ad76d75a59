//! Why places are gone, for clients that come back for one (WB-7).

use alloc::collections::{BTreeMap, VecDeque};

use super::tables::entry::QueueEntry;
use super::{QueueRequest, QueueServer};
use crate::id::Guid;
use crate::queue::{Dialect, PositionLoss};

/// The places that were lost last, the oldest of them first.
#[derive(Debug, Clone, Default)]
pub(super) struct Gone {
    why: BTreeMap<Guid, PositionLoss>,
    order: VecDeque<Guid>,
}

impl Gone {
    fn note(&mut self, ticket: Guid, why: PositionLoss, most: usize) {
        if self.why.insert(ticket, why).is_none() {
            self.order.push_back(ticket);
        }
        while self.order.len() > most {
            if let Some(oldest) = self.order.pop_front() {
                self.why.remove(&oldest);
            }
        }
    }
}

impl QueueServer {
    /// Remembers why a place is gone, if its client knows of it and can name it.
    pub(super) fn remember_loss(&mut self, entry: &QueueEntry, why: PositionLoss) {
        let named = matches!(entry.dialect, Dialect::Parq | Dialect::Parq11) && entry.told > 0;
        if named {
            self.gone.note(entry.ticket, why, self.config.losses_remembered as usize);
        }
    }

    /// Why the place is gone that this request claims. Only clients that announce
    /// `sleep` are told: others may not know the setting.
    pub(super) fn why_gone(&self, request: &QueueRequest) -> Option<PositionLoss> {
        let knows = request.dialect == Dialect::Parq && request.sleeps;
        let claimed = request.ticket.filter(|_| knows)?;
        self.gone.why.get(&claimed).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_losses_are_remembered_than_there_may_be() {
        let mut gone = Gone::default();
        for n in 0..5 {
            gone.note(Guid([n; 16]), PositionLoss::Overdue, 3);
        }
        gone.note(Guid([4; 16]), PositionLoss::TooEarly, 3);
        let known = |n| gone.why.get(&Guid([n; 16])).copied();
        assert_eq!((known(1), known(2)), (None, Some(PositionLoss::Overdue)));
        assert_eq!((known(4), gone.order.len()), (Some(PositionLoss::TooEarly), 3));
    }
}
