//! Datagrams by which two servents find each other through a meeting place, and
//! knock at each other (PA-10, PA-12).
//!
//! `docs/wire-meet.md` is the format, field by field. They travel on the port of
//! the reliable unicast; their first byte is none that it has.

mod card;
mod encode;
mod parse;

use core::fmt;
use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

pub use self::card::{MeetCard, NatMapping};
pub use self::parse::MeetPacketError;
use super::unicast::UnicastPayload;

/// The first byte of every datagram: the version bits of a block of the unicast
/// are never 7.
pub const MAGIC: u8 = 0xe1;
/// A question is filled up to this many bytes, so that no answer is longer.
pub const QUESTION: usize = 64;
/// A registration is filled up to this many bytes, for the same reason.
pub const REGISTRATION: usize = 272;
/// The longest card in bytes.
pub const CARD: usize = 192;

/// The name of a meeting: a hash of the first words of a code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MeetingId(#[serde(with = "hex_id")] pub [u8; 16]);

/// What both sides of a meeting sign their knocks and cards with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MeetKey(
    #[serde(with = "crate::hex::number")] pub u64,
    #[serde(with = "crate::hex::number")] pub u64,
);

/// The two sides of a meeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeetSide {
    /// The side that opens the connection, and decides on the path.
    Caller,
    /// The side that accepts it.
    Listener,
}

/// One datagram.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum MeetPacket {
    /// A visitor asks a place for a cookie, and how its address looks from there.
    Question {
        /// Sent back in the answer.
        nonce: u64,
    },
    /// The answer. Nothing is remembered for it.
    Cookie {
        /// The number of the question, or of the registration it was missing in.
        nonce: u64,
        /// Proves with a registration that the visitor receives at this address.
        cookie: u64,
        /// The address the question came from.
        seen: SocketAddr,
    },
    /// A visitor takes its seat in a meeting, or keeps it.
    Register(Registration),
    /// The other side is not there yet.
    Waiting {
        /// The number of the registration.
        nonce: u64,
    },
    /// The other side is there.
    Introduce(Introduction),
    /// The visitor has received an introduction.
    Heard {
        /// The number of the registration.
        nonce: u64,
    },
    /// A visitor leaves its seat.
    Leave {
        /// The number of the registration.
        nonce: u64,
        /// The meeting.
        meeting: MeetingId,
        /// Its seat there.
        side: MeetSide,
    },
    /// A registration is refused, or a meeting ends.
    Refused {
        /// The number of the registration.
        nonce: u64,
        /// Why.
        why: MeetRefusal,
    },
    /// One side of a meeting knocks at an address of the other.
    Knock(Knock),
    /// A visitor asks to be answered from the place's other port, too: whether that
    /// arrives shows what its router lets in (RFC 4787 §5).
    Elsewhere {
        /// Sent back in both answers.
        nonce: u64,
        /// The cookie of this address.
        cookie: u64,
    },
    /// A listener leaves its seat for good: it wants no more callers.
    Over {
        /// The number of the registration.
        nonce: u64,
        /// The meeting.
        meeting: MeetingId,
        /// [`MeetKey::end_proof`]: a place cannot tell, and passes it on.
        proof: u64,
    },
    /// A place says to a caller that the listener has left its seat for good.
    Ended {
        /// The number of the caller's registration.
        nonce: u64,
        /// What the listener has said.
        proof: u64,
    },
}

/// A visitor's seat in a meeting.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Registration {
    /// Drawn once for a visit.
    pub nonce: u64,
    /// The cookie of this address.
    pub cookie: u64,
    /// The meeting.
    pub meeting: MeetingId,
    /// The seat.
    pub side: MeetSide,
    /// The visitor's round trip to the place in microseconds.
    pub rtt: u32,
    /// Its [`MeetCard`], sealed: the place passes it on unread.
    pub card: UnicastPayload,
    /// It is to meet one other only: then the seat is free for the next.
    pub once: bool,
}

/// The other side of a meeting.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Introduction {
    /// The number of the registration it answers.
    pub nonce: u64,
    /// When to begin to knock, in microseconds from now.
    pub wait: u32,
    /// The place passes on what is sent to it.
    pub relays: bool,
    /// The address the other side has as seen from the place.
    pub seen: SocketAddr,
    /// The number of the other side's registration.
    pub other: u64,
    /// Its sealed card.
    pub card: UnicastPayload,
}

/// A knock, or what follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Knock {
    /// Which of them.
    pub step: KnockStep,
    /// The side that sends it.
    pub side: MeetSide,
    /// Drawn for each address by the side that knocks.
    pub nonce: u64,
    /// Given for the address to which an answer or a choice is sent, which returns it.
    pub token: u64,
    /// The token that was given for the sender's address: it receives there.
    pub returned: u64,
    /// Proves that the sender knows the code's first words, and of which meeting it is.
    pub tag: u64,
}

/// What two visitors that were introduced to each other sign knocks with: nothing that
/// was said in another visit is of use in this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KnockKey {
    /// The key of the meeting.
    pub key: MeetKey,
    /// The number of the caller's registration.
    pub caller: u64,
    /// The number of the listener's.
    pub listener: u64,
}

/// The steps by which a pair of addresses is proven and chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KnockStep {
    /// Are you there?
    Ask,
    /// I am: the answer, with the same number.
    Answer,
    /// The caller has decided on this pair.
    Choose,
    /// The listener agrees.
    Agree,
}

/// Why a place refuses a registration, or ends a meeting.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    thiserror::Error,
)]
#[serde(rename_all = "snake_case")]
pub enum MeetRefusal {
    /// It has as many meetings as it may.
    #[error("the meeting place is full")]
    Full,
    /// The address has as many as it may, or registers too often.
    #[error("the meeting place has had too many meetings of this address")]
    TooMany,
    /// Another visitor has this seat.
    #[error("another visitor has this side of the meeting")]
    Taken,
    /// The other side of a relayed meeting has left, or is silent.
    #[error("the other side of the meeting has left")]
    Gone,
    /// The place ends: it passes nothing on any more.
    #[error("the meeting place ends")]
    Closing,
    /// The listener wanted no more callers when it left.
    #[error("the other side has ended, and wants no more visitors")]
    Over,
}

impl MeetSide {
    /// The side opposite.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Caller => Self::Listener,
            Self::Listener => Self::Caller,
        }
    }
}

impl Knock {
    /// A knock, not signed, which gives and returns no token.
    #[must_use]
    pub const fn new(side: MeetSide, step: KnockStep, nonce: u64) -> Self {
        Self { step, side, nonce, token: 0, returned: 0, tag: 0 }
    }

    /// The same, signed.
    #[must_use]
    pub fn signed(self, key: &KnockKey) -> Self {
        Self { tag: self.tag(key), ..self }
    }

    /// True when it is of one of these two visitors.
    #[must_use]
    pub fn is_signed(&self, key: &KnockKey) -> bool {
        self.tag == self.tag(key)
    }

    fn tag(&self, KnockKey { key, caller, listener }: &KnockKey) -> u64 {
        let mut bytes = alloc::vec![encode::step(self.step), encode::side(self.side)];
        for number in [*caller, *listener, self.nonce, self.token, self.returned] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        key.tag(&bytes)
    }
}

/// True for a datagram of this format: of no other on the same port.
#[must_use]
pub fn is_meet(datagram: &[u8]) -> bool {
    datagram.first() == Some(&MAGIC)
}

/// True for a datagram that is sent only where a path was chosen: a choice, what agrees
/// to it, and whatever is not about meetings. A host with many sockets keeps that path.
#[must_use]
pub fn is_of_chosen_path(datagram: &UnicastPayload) -> bool {
    if !is_meet(datagram) {
        return true;
    }
    let step = match MeetPacket::parse(datagram) {
        Ok(MeetPacket::Knock(knock)) => Some(knock.step),
        _ => None,
    };
    matches!(step, Some(KnockStep::Choose | KnockStep::Agree))
}

impl MeetKey {
    /// As the secret of one side, which no other knows: what proves that the sender of a
    /// knock with this number receives at an address.
    #[must_use]
    pub fn token(self, at: core::net::SocketAddr, nonce: u64) -> u64 {
        let mut bytes = nonce.to_be_bytes().to_vec();
        encode::put_addr(&mut bytes, at);
        self.tag(&bytes)
    }

    /// Proves that one that knows the code's first words wants no more callers: the name of
    /// the meeting alone, which travels in clear text, is no reason to end a caller.
    #[must_use]
    pub fn end_proof(self, meeting: MeetingId) -> u64 {
        self.tag(&[b"over".as_slice(), &meeting.0].concat())
    }

    /// The seal of some bytes.
    fn tag(self, bytes: &[u8]) -> u64 {
        use core::hash::Hasher as _;
        let mut hasher = siphasher::sip::SipHasher24::new_with_keys(self.0, self.1);
        hasher.write(bytes);
        hasher.finish()
    }
}

impl fmt::Debug for MeetingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Hides it: debug output ends up in logs.
impl fmt::Debug for MeetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MeetKey")
    }
}

mod hex_id {
    use alloc::vec::Vec;

    use serde::de::Error as _;
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(id: &[u8; 16], s: S) -> Result<S::Ok, S::Error> {
        crate::hex::serialize(id, s)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<[u8; 16], D::Error> {
        let bytes: Vec<u8> = crate::hex::deserialize(d)?;
        bytes.try_into().map_err(|_| D::Error::custom("a meeting's name has sixteen bytes"))
    }
}
