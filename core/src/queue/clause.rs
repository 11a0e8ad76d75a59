//! Which requirement an event obeys, and where the specification says so.

use super::{Dialect, Event, PositionLoss, QueueRefusal};

crate::clause::obeys!(Event);

impl Event {
    const fn source(&self) -> (&'static str, &'static str) {
        match self {
            Self::Arrived { dialect, .. } => arrival(*dialect),
            Self::Asked { .. } | Self::Entitled { .. } => ("PQ-16", "PARQ §1, Fairness"),
            Self::Told { dialect, .. } => reply_clause(*dialect),
            Self::Held { .. } => ("QA-3", "Active Queueing, X-Features: hold"),
            Self::Lapsed { .. } | Self::Passed { .. } => ("PQ-10", "PARQ §1, Remanence"),
            Self::Started { .. } => ("AQ-2", "Active Queueing, the request"),
            Self::Continued { .. } => ("AQ-9", "Active Queueing, second note"),
            Self::Finished { .. } => ("PQ-16", "PARQ §1, Fairness"),
            Self::Reserved { .. } | Self::Unreserved { .. } => ("PQ-14", "PARQ §6"),
            Self::Returned { .. } => ("QA-6", "PARQ §6"),
            Self::Away { .. } => ("PQ-10", "PARQ §4"),
            Self::Moved { .. } => ("AQ-8", "Active Queueing, first note"),
            Self::Lost { why, .. } => loss(*why),
            Self::Refused { why, .. } => refusal(*why),
            Self::Called { attempt: 0, .. } => ("QA-2", "PARQ §4"),
            Self::Called { .. } => ("PQ-8", "PARQ §4"),
            Self::Restored { .. } => ("PQ-12", "PARQ §6"),
            Self::Released { .. } => ("ST-4", "A site, more uplinks"),
            Self::Policy { .. } => ("QA-1", "PARQ §4"),
            Self::Slots { .. } => ("AQ-3", "Active Queueing, the reply"),
        }
    }
}

const fn arrival(dialect: Dialect) -> (&'static str, &'static str) {
    match dialect {
        Dialect::Active => ("AQ-3", "Active Queueing, the reply"),
        Dialect::Parq | Dialect::Parq11 => ("PQ-1", "PARQ §2"),
        Dialect::Passive => ("PQ-3", "PARQ §5"),
    }
}

const fn reply_clause(dialect: Dialect) -> (&'static str, &'static str) {
    match dialect {
        Dialect::Active => ("AQ-3", "Active Queueing, the reply"),
        Dialect::Parq | Dialect::Parq11 => ("PQ-4", "PARQ §4"),
        Dialect::Passive => ("PQ-11", "PARQ §5"),
    }
}

const fn loss(why: PositionLoss) -> (&'static str, &'static str) {
    match why {
        PositionLoss::TooEarly => ("PQ-7", "PARQ §4; Active Queueing, pollMin"),
        PositionLoss::Overdue => ("AQ-6", "Active Queueing, pollMax; PARQ §4, lifetime"),
        PositionLoss::ConnectionLost => ("AQ-7", "Active Queueing, requirements"),
        PositionLoss::WrongPosition => ("PQ-6", "PARQ §4"),
        PositionLoss::BrokeTooOften => ("PQ-10", "PARQ §4"),
        PositionLoss::Unreachable => ("PQ-8", "PARQ §4"),
        PositionLoss::Replaced => ("PQ-2", "PARQ §2"),
        PositionLoss::Left => ("QA-8", "PARQ §4, X-Features: leave"),
    }
}

const fn refusal(why: QueueRefusal) -> (&'static str, &'static str) {
    match why {
        QueueRefusal::QueueFull | QueueRefusal::PerAddress => {
            ("AQ-10", "Active Queueing, last note")
        }
        QueueRefusal::Hammering => ("PQ-11", "PARQ §5"),
    }
}
