//! What the coordinator has done and refused, counted from its events.

use std::collections::BTreeMap;

use serde::Serialize;
use servent_core::swarm::{Event, Failure, Limit, Pick, Refusal};

/// Totals since the start, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
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

impl Tally {
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

const fn refusal(why: Refusal) -> &'static str {
    match why {
        Refusal::Unreadable => "unreadable",
        Refusal::NotAClients => "not_a_clients",
        Refusal::Order => "order",
        Refusal::IdTaken => "id_taken",
        Refusal::UnknownFile => "unknown_file",
        Refusal::BadRange => "bad_range",
        Refusal::UnknownTransfer => "unknown_transfer",
        Refusal::AboveHardLimit => "above_hard_limit",
        Refusal::TooSoon => "too_soon",
        Refusal::Silent => "silent",
        Refusal::Full => "full",
    }
}

const fn reached(limit: Limit) -> &'static str {
    match limit {
        Limit::Clients => "clients",
        Limit::PerAddress => "per_address",
        Limit::Ledger => "ledger",
        Limit::Files => "files",
        Limit::Pieces => "pieces",
        Limit::FilesPerClient => "files_per_client",
    }
}

#[cfg(test)]
mod tests {
    use servent_core::id::ConnId;

    use super::*;

    #[test]
    fn the_words_are_those_of_the_events() {
        let client = ConnId(2);
        let mut tally = Tally::default();
        let events = [
            Event::Refused { client, why: Refusal::IdTaken },
            Event::Refused { client, why: Refusal::IdTaken },
            Event::Limit { limit: Limit::PerAddress },
            Event::Quarantined { client, failures: 3 },
        ];
        for event in &events {
            tally.count(event);
        }
        assert_eq!(tally.refused["id_taken"], 2);
        assert_eq!((tally.limits["per_address"], tally.quarantined), (1, 1));
        // A tape and a counter use the same name for a reason.
        for why in [Refusal::NotAClients, Refusal::AboveHardLimit, Refusal::TooSoon] {
            assert_eq!(serde_json::to_value(why).unwrap(), refusal(why));
        }
        for why in [Failure::UploaderLeft, Failure::DownloaderSilent, Failure::Hash] {
            assert_eq!(serde_json::to_value(why).unwrap(), failure(why));
        }
        for why in [Pick::Unseen, Pick::Fastest, Pick::Again] {
            assert_eq!(serde_json::to_value(why).unwrap(), pick(why));
        }
        for limit in [Limit::FilesPerClient, Limit::Ledger] {
            assert_eq!(serde_json::to_value(limit).unwrap(), reached(limit));
        }
    }
}
