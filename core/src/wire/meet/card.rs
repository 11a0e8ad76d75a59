//! What one side of a meeting tells the other through the place, which passes it
//! on unread: its own addresses, and how its router maps them.

use alloc::vec::Vec;
use core::net::SocketAddr;

use bytes::BufMut as _;
use serde::{Deserialize, Serialize};

use super::encode::put_addr;
use super::parse::MeetReader;
use super::{CARD, MeetKey, MeetSide, MeetingId};
use crate::wire::unicast::UnicastPayload;

/// The bytes of a card's seal.
const SEAL: usize = 8;
/// The most addresses on a card: as many of the longest as fit.
const MOST: usize = 8;

/// How a router maps the address behind it, as far as a visitor can tell (RFC
/// 4787 §4.1).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum NatMapping {
    /// The place has only one port, or did not answer on the other.
    #[default]
    Unknown,
    /// There is no router: the address seen is its own.
    None,
    /// Every destination sees the same address.
    Same,
    /// Every destination sees another port.
    Varies,
    /// UDP does not pass: the place is reached through its door.
    Blocked,
}

/// The addresses of one side.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct MeetCard {
    /// How its router maps them.
    pub mapping: NatMapping,
    /// Where it may be reached besides the address that the place sees.
    pub candidates: Vec<SocketAddr>,
}

impl MeetCard {
    /// The bytes of a card, sealed for the registration with this number: a place cannot
    /// pass it on with another. Addresses that do not fit are left out.
    #[must_use]
    pub fn seal(
        &self,
        key: MeetKey,
        (meeting, side, number): (MeetingId, MeetSide, u64),
    ) -> UnicastPayload {
        let mut out = Vec::with_capacity(CARD);
        let candidates = &self.candidates[..self.candidates.len().min(MOST)];
        out.put_u8(match self.mapping {
            NatMapping::Unknown => 0,
            NatMapping::None => 1,
            NatMapping::Same => 2,
            NatMapping::Varies => 3,
            NatMapping::Blocked => 4,
        });
        out.put_u8(candidates.len() as u8);
        candidates.iter().for_each(|at| put_addr(&mut out, *at));
        out.put_u64(Self::tag(&out, key, (meeting, side, number)));
        out.into()
    }

    /// The card of the other side; `None` for one that it did not seal.
    #[must_use]
    pub fn open(
        bytes: &[u8],
        key: MeetKey,
        (meeting, side, number): (MeetingId, MeetSide, u64),
    ) -> Option<Self> {
        let (text, seal) = bytes.split_at_checked(bytes.len().checked_sub(SEAL)?)?;
        if Self::tag(text, key, (meeting, side, number)).to_be_bytes() != seal {
            return None;
        }
        let mut reader = MeetReader::new(text);
        let mapping = match reader.byte().ok()? {
            1 => NatMapping::None,
            2 => NatMapping::Same,
            3 => NatMapping::Varies,
            4 => NatMapping::Blocked,
            _ => NatMapping::Unknown,
        };
        let count = reader.byte().ok()?;
        if usize::from(count) > MOST {
            return None;
        }
        let candidates = (0..count).map(|_| reader.addr()).collect::<Result<_, _>>().ok()?;
        Some(Self { mapping, candidates })
    }

    fn tag(text: &[u8], key: MeetKey, (meeting, side, number): (MeetingId, MeetSide, u64)) -> u64 {
        let mut bytes = Vec::with_capacity(text.len() + 25);
        bytes.extend_from_slice(&meeting.0);
        bytes.put_u8(super::encode::side(side));
        bytes.put_u64(number);
        bytes.extend_from_slice(text);
        key.tag(&bytes)
    }
}
