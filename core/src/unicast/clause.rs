//! Which requirement an event obeys, and where the design says so.

use super::{ConnEnding, Event, Rejection, RetransmitReason, UnicastLimit};

crate::clause::obeys!(Event);

impl Event {
    const fn source(&self) -> (&'static str, &'static str) {
        match self {
            Self::Opened { .. } => ("UC-6", "UNICAST3, Connection establishment"),
            Self::Sent { .. } => ("UC-1", "UNICAST3, Design"),
            Self::Resent { why: RetransmitReason::Tail, .. } => ("UC-4", "UNICAST3, Design"),
            Self::Task { .. } => ("UC-4", "UNICAST3, Retransmission task"),
            Self::Resent { why: RetransmitReason::Missing, .. } | Self::Requested { .. } => {
                ("UC-5", "UNICAST3, Design")
            }
            Self::Resent { why: RetransmitReason::First, .. } | Self::FirstRequested { .. } => {
                ("UC-10", "UNICAST3, Sending of SEND_FIRST_SEQNO message")
            }
            Self::Received { .. } => ("UC-11", "UNICAST3, Reception of a message"),
            Self::Delivered { .. } => ("UC-1", "UNICAST3, Design"),
            Self::Acked { .. } => ("UC-2", "UNICAST3, Design"),
            Self::AckSent { .. } | Self::Rtt { .. } => ("UC-3", "UNICAST3, Design"),
            Self::Duplicate { .. } => ("UC-1", "UNICAST3, Design; an acknowledgement may be lost"),
            Self::Rejected { why, .. } => rejection(*why),
            Self::Full { .. } | Self::Writable { .. } => ("UC-1", "a bounded send window"),
            Self::Closing { why, .. } => match why {
                ConnEnding::Asked => ("UC-7", "UNICAST3, Closing a sender connection entry"),
                _ => ("UC-8", "UNICAST3, Retransmission task (reaping)"),
            },
            Self::Reopened { .. } => ("UC-7", "UNICAST3, Sending a message"),
            Self::Closed { why, .. } => match why {
                ConnEnding::Finished | ConnEnding::Abandoned => {
                    ("UC-9", "UNICAST3, Reception of a CLOSE message")
                }
                _ => ("UC-8", "UNICAST3, Retransmission task (reaping)"),
            },
            Self::Undelivered { .. } => ("UC-8", "nothing is lost without a word"),
            Self::PeerUnreachable { .. } => ("UC-12", "no endless resending"),
            Self::Limit {
                limit: UnicastLimit::AnswerMessages | UnicastLimit::RequestRanges,
                ..
            } => ("UC-5", "requests fit a datagram, answers are bounded"),
            Self::Limit { limit: UnicastLimit::Amplification, .. } => {
                ("UC-12", "an unproven peer gets three times its bytes at most")
            }
            Self::Limit { limit: UnicastLimit::Windows, .. } => {
                ("PA-3", "windows grow with the path, up to a limit")
            }
            Self::Resized { .. } => ("PA-6", "RFC 8899"),
            Self::Controlled { .. } => ("PA-1", "draft-ietf-ccwg-bbr; RFC 9438"),
            Self::Moved { .. } => ("PA-9", "a proven change of address"),
            Self::Limit { .. } => ("UC-6", "everything that grows has a limit"),
        }
    }
}

const fn rejection(why: Rejection) -> (&'static str, &'static str) {
    match why {
        Rejection::NotOpen | Rejection::Unproven => {
            ("UC-10", "UNICAST3, Sending of SEND_FIRST_SEQNO message")
        }
        Rejection::UnknownConnection | Rejection::Ended => {
            ("UC-9", "UNICAST3, Reception of a CLOSE message")
        }
        Rejection::BeyondSent => ("UC-2", "UNICAST3, Design; acknowledged is what was sent"),
        Rejection::BeyondWindow | Rejection::NoRoom | Rejection::TooLong => {
            ("UC-1", "a bounded receive window")
        }
        Rejection::BadParts => ("UC-1", "parts of a message follow each other"),
        Rejection::TooManyPeers => ("UC-6", "everything that grows has a limit"),
    }
}
