//! Which requirement an event obeys, and where the specification says so.

use super::event::{Event, Failure, Pick, SwarmRefusal};

crate::clause::obeys!(Event);

impl Event {
    const fn source(&self) -> (&'static str, &'static str) {
        match self {
            Self::Registered { .. } | Self::Left { .. } => ("SW-2", "lines 15–18"),
            Self::Joined { .. } | Self::Finished { .. } => ("SW-6", "lines 43–49"),
            Self::Free { .. } => ("SW-7", "lines 51–54"),
            Self::Assigned { why, .. } => pick(*why),
            Self::Granted { .. } | Self::Ratio { .. } => ("SW-11", "lines 75–78"),
            Self::Verified { .. } | Self::Accepted { .. } => ("SW-3", "lines 20–25"),
            Self::Arrived { .. } | Self::Confirmed { .. } => ("SW-22", "lines 185–189"),
            Self::Failed { why, .. } => failure(*why),
            Self::Refetch { .. } => ("SW-24", "lines 192–197"),
            Self::Blamed { .. } => ("SW-23", "lines 189–192"),
            Self::ConnectFailures { .. } => ("SW-4", "lines 27–30, 128–137"),
            Self::Mode { forced: true, .. } => ("SW-4", "lines 27–30, 128–137"),
            Self::Mode { .. } => ("SW-17", "lines 125–139"),
            Self::Stalled { .. } | Self::Unstalled { .. } => ("SW-10", "lines 72–75"),
            Self::Quarantined { .. } | Self::Released { .. } => ("SW-25", "not in the text"),
            Self::Concurrency { .. } => ("SW-12", "lines 80–89"),
            Self::Purged { .. } => ("SW-8", "lines 56–64"),
            Self::Refused { why, .. } => refusal(*why),
            Self::Settled { .. } => ("SW-27", "not in the text"),
            Self::Withdrawn { .. } => ("SW-29", "not in the text"),
            Self::Limit { .. } => ("SW-25", "not in the text"),
        }
    }
}

const fn pick(why: Pick) -> (&'static str, &'static str) {
    match why {
        Pick::Stalled => ("SW-19", "lines 161–169"),
        Pick::Fastest => ("SW-20", "lines 171–177"),
        Pick::Unseen => ("SW-16", "lines 121–123"),
        Pick::Source => ("SW-15", "lines 110–125, 150–153"),
        Pick::Retry => ("SW-14", "lines 102–108"),
        Pick::Again => ("SW-24", "lines 192–197"),
    }
}

const fn failure(why: Failure) -> (&'static str, &'static str) {
    match why {
        Failure::Connect => ("SW-4", "lines 27–30, 128–137"),
        Failure::Data | Failure::UploaderLeft | Failure::DownloaderLeft | Failure::Elsewhere => {
            ("SW-23", "lines 189–192")
        }
        Failure::Hash => ("SW-24", "lines 192–197"),
        Failure::DownloaderSilent | Failure::UploaderSilent => ("SW-25", "not in the text"),
    }
}

const fn refusal(why: SwarmRefusal) -> (&'static str, &'static str) {
    match why {
        SwarmRefusal::AboveHardLimit => ("SW-12", "lines 80–89"),
        SwarmRefusal::TooSoon => ("SW-17", "lines 125–139"),
        _ => ("SW-25", "not in the text"),
    }
}
