//! Encodes the datagrams of meetings.

use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use bytes::BufMut as _;

use super::{
    Introduction, Knock, KnockStep, MAGIC, MeetPacket, MeetRefusal, MeetSide, QUESTION,
    REGISTRATION, Registration,
};
use crate::address::canonical;

pub(super) const QUESTION_KIND: u8 = 1;
pub(super) const COOKIE: u8 = 2;
pub(super) const REGISTER: u8 = 3;
pub(super) const WAITING: u8 = 4;
pub(super) const INTRODUCE: u8 = 5;
pub(super) const HEARD: u8 = 6;
pub(super) const LEAVE: u8 = 7;
pub(super) const REFUSED: u8 = 8;
pub(super) const KNOCK: u8 = 9;
pub(super) const ELSEWHERE: u8 = 10;
pub(super) const OVER: u8 = 11;
pub(super) const ENDED: u8 = 12;

impl MeetPacket {
    /// The datagram.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(REGISTRATION);
        out.put_u8(MAGIC);
        match self {
            Self::Question { nonce } => {
                out.put_u8(QUESTION_KIND);
                out.put_u64(*nonce);
                out.resize(QUESTION, 0);
            }
            Self::Cookie { nonce, cookie, seen } => {
                out.put_u8(COOKIE);
                out.put_u64(*nonce);
                out.put_u64(*cookie);
                put_addr(&mut out, *seen);
            }
            Self::Register(it) => {
                register(&mut out, it);
                out.resize(out.len().max(REGISTRATION), 0);
            }
            Self::Waiting { nonce } => {
                out.put_u8(WAITING);
                out.put_u64(*nonce);
            }
            Self::Introduce(it) => introduce(&mut out, it),
            Self::Heard { nonce } => {
                out.put_u8(HEARD);
                out.put_u64(*nonce);
            }
            Self::Leave { nonce, meeting, side: seat } => {
                out.put_u8(LEAVE);
                out.put_u64(*nonce);
                out.put_slice(&meeting.0);
                out.put_u8(side(*seat));
            }
            Self::Refused { nonce, why } => {
                out.put_u8(REFUSED);
                out.put_u64(*nonce);
                out.put_u8(match why {
                    MeetRefusal::Full => 0,
                    MeetRefusal::TooMany => 1,
                    MeetRefusal::Taken => 2,
                    MeetRefusal::Gone => 3,
                    MeetRefusal::Closing => 4,
                    MeetRefusal::Over => 5,
                });
            }
            Self::Knock(Knock { step: which, side: from, nonce, token, returned, tag }) => {
                out.put_u8(KNOCK);
                out.put_u8(step(*which));
                out.put_u8(side(*from));
                [nonce, token, returned, tag].iter().for_each(|number| out.put_u64(**number));
            }
            Self::Elsewhere { nonce, cookie } => {
                out.put_u8(ELSEWHERE);
                out.put_u64(*nonce);
                out.put_u64(*cookie);
                out.resize(QUESTION, 0);
            }
            Self::Over { nonce, meeting, proof } => {
                out.put_u8(OVER);
                out.put_u64(*nonce);
                out.put_slice(&meeting.0);
                out.put_u64(*proof);
            }
            Self::Ended { nonce, proof } => {
                out.put_u8(ENDED);
                out.put_u64(*nonce);
                out.put_u64(*proof);
            }
        }
        out
    }
}

fn register(out: &mut Vec<u8>, it: &Registration) {
    out.put_u8(REGISTER);
    out.put_u64(it.nonce);
    out.put_u64(it.cookie);
    out.put_slice(&it.meeting.0);
    out.put_u8(side(it.side));
    out.put_u32(it.rtt);
    put_card(out, &it.card);
    out.put_u8(u8::from(it.once));
}

fn introduce(out: &mut Vec<u8>, it: &Introduction) {
    out.put_u8(INTRODUCE);
    out.put_u64(it.nonce);
    out.put_u32(it.wait);
    out.put_u8(u8::from(it.relays));
    put_addr(out, it.seen);
    out.put_u64(it.other);
    put_card(out, &it.card);
}

fn put_card(out: &mut Vec<u8>, card: &[u8]) {
    debug_assert!(card.len() <= super::CARD);
    out.put_u8(card.len() as u8);
    out.put_slice(card);
}

/// An address: 4 or 6, its bytes, its port.
pub(super) fn put_addr(out: &mut Vec<u8>, at: SocketAddr) {
    let at = canonical(at);
    match at.ip() {
        IpAddr::V4(ip) => {
            out.put_u8(4);
            out.put_slice(&ip.octets());
        }
        IpAddr::V6(ip) => {
            out.put_u8(6);
            out.put_slice(&ip.octets());
        }
    }
    out.put_u16(at.port());
}

pub(super) const fn side(side: MeetSide) -> u8 {
    match side {
        MeetSide::Caller => 0,
        MeetSide::Listener => 1,
    }
}

pub(super) const fn step(step: KnockStep) -> u8 {
    match step {
        KnockStep::Ask => 0,
        KnockStep::Answer => 1,
        KnockStep::Choose => 2,
        KnockStep::Agree => 3,
    }
}
