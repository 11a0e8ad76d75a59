//! What the coordinator has done and refused, counted from its events.

use std::collections::BTreeMap;

use serde::Serialize;
use servent_core::swarm::{Event, Failure, Pick, SwarmLimit, SwarmRefusal};

/// Totals since the start, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DriverTally {
    /// Pieces assigned, by how the uploader was found.
    pub assigned: BTreeMap<&'static str, u64>,
    /// Transfers that failed, by reason.
    pub failed: BTreeMap<&'static str, u64>,
    /// Messages that were refused, by reason.
    pub refused: BTreeMap<&'static str, u64>,
    /// Limits that were reached.
    pub limits: BTreeMap<&'static str, u64>,
    /// How often a client was quarantined.
    pub quarantined: u64,
}

impl DriverTally {
    /// Counts an event.
    pub(crate) fn count(&mut self, event: &Event) {
        let (list, word) = match event {
            Event::Assigned { why, .. } => (&mut self.assigned, pick(*why)),
            Event::Failed { why, .. } => (&mut self.failed, failure(*why)),
            Event::Refused { why, .. } => (&mut self.refused, refusal(*why)),
            Event::Limit { limit } => (&mut self.limits, reached(*limit)),
            Event::Quarantined { .. } => return self.quarantined += 1,
            _ => return,
        };
        *list.entry(word).or_default() += 1;
    }
}

const fn pick(why: Pick) -> &'static str {
    match why {
        Pick::Stalled => "stalled",
        Pick::Fastest => "fastest",
        Pick::Unseen => "unseen",
        Pick::Source => "source",
        Pick::Retry => "retry",
        Pick::Again => "again",
    }
}

const fn failure(why: Failure) -> &'static str {
    match why {
        Failure::Connect => "connect",
        Failure::Data => "data",
        Failure::Hash => "hash",
        Failure::UploaderLeft => "uploader_left",
        Failure::DownloaderLeft => "downloader_left",
        Failure::DownloaderSilent => "downloader_silent",
        Failure::UploaderSilent => "uploader_silent",
        Failure::Elsewhere => "elsewhere",
    }
}

const fn refusal(why: SwarmRefusal) -> &'static str {
    match why {
        SwarmRefusal::Unreadable => "unreadable",
        SwarmRefusal::NotAClients => "not_a_clients",
        SwarmRefusal::Order => "order",
        SwarmRefusal::IdTaken => "id_taken",
        SwarmRefusal::UnknownFile => "unknown_file",
        SwarmRefusal::BadRange => "bad_range",
        SwarmRefusal::UnknownTransfer => "unknown_transfer",
        SwarmRefusal::AboveHardLimit => "above_hard_limit",
        SwarmRefusal::TooSoon => "too_soon",
        SwarmRefusal::Silent => "silent",
        SwarmRefusal::Full => "full",
    }
}

const fn reached(limit: SwarmLimit) -> &'static str {
    match limit {
        SwarmLimit::Clients => "clients",
        SwarmLimit::PerAddress => "per_address",
        SwarmLimit::Ledger => "ledger",
        SwarmLimit::Files => "files",
        SwarmLimit::Pieces => "pieces",
        SwarmLimit::FilesPerClient => "files_per_client",
    }
}

#[cfg(test)]
mod tests {
    use servent_core::id::ConnId;

    use super::*;

    #[test]
    fn the_words_are_those_of_the_events() {
        let client = ConnId(2);
        let mut tally = DriverTally::default();
        let events = [
            Event::Refused { client, why: SwarmRefusal::IdTaken },
            Event::Refused { client, why: SwarmRefusal::IdTaken },
            Event::Limit { limit: SwarmLimit::PerAddress },
            Event::Quarantined { client, failures: 3 },
        ];
        for event in &events {
            tally.count(event);
        }
        assert_eq!(tally.refused["id_taken"], 2);
        assert_eq!((tally.limits["per_address"], tally.quarantined), (1, 1));
        // A recording and a counter use the same name for a reason.
        for why in [SwarmRefusal::NotAClients, SwarmRefusal::AboveHardLimit, SwarmRefusal::TooSoon]
        {
            assert_eq!(serde_json::to_value(why).unwrap(), refusal(why));
        }
        for why in [Failure::UploaderLeft, Failure::DownloaderSilent, Failure::Hash] {
            assert_eq!(serde_json::to_value(why).unwrap(), failure(why));
        }
        for why in [Pick::Unseen, Pick::Fastest, Pick::Again] {
            assert_eq!(serde_json::to_value(why).unwrap(), pick(why));
        }
        for limit in [SwarmLimit::FilesPerClient, SwarmLimit::Ledger] {
            assert_eq!(serde_json::to_value(limit).unwrap(), reached(limit));
        }
    }
}
