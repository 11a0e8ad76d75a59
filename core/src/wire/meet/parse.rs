//! Parses the datagrams of meetings. One is accepted as a whole or not at all;
//! only what questions and registrations are filled up with is not looked at.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::encode::{
    COOKIE, ELSEWHERE, ENDED, HEARD, INTRODUCE, KNOCK, LEAVE, OVER, QUESTION_KIND, REFUSED,
    REGISTER, WAITING,
};
use super::{
    CARD, Introduction, Knock, KnockStep, MAGIC, MeetPacket, MeetRefusal, MeetSide, MeetingId,
    QUESTION, REGISTRATION, Registration,
};
use crate::wire::unicast::UnicastPayload;

/// Why a datagram is not valid.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MeetPacketError {
    /// It ends inside a field, or was not filled up.
    #[error("the datagram is cut short")]
    Short,
    /// It goes on after its last field.
    #[error("the datagram is too long")]
    Long,
    /// It is of another protocol.
    #[error("the datagram is not about a meeting")]
    Foreign,
    /// A kind that this version does not have.
    #[error("a datagram of the unknown kind {0}")]
    Kind(u8),
    /// A value that a field cannot have.
    #[error("an impossible value")]
    Value,
}

impl MeetPacket {
    /// Parses a datagram.
    ///
    /// # Errors
    /// The first fault found.
    pub fn parse(datagram: &[u8]) -> Result<Self, MeetPacketError> {
        let mut reader = MeetReader::new(datagram);
        if reader.byte()? != MAGIC {
            return Err(MeetPacketError::Foreign);
        }
        let kind = reader.byte()?;
        let packet = match kind {
            QUESTION_KIND | ELSEWHERE if datagram.len() < QUESTION => {
                return Err(MeetPacketError::Short);
            }
            REGISTER if datagram.len() < REGISTRATION => return Err(MeetPacketError::Short),
            QUESTION_KIND => return Ok(Self::Question { nonce: reader.number()? }),
            REGISTER => return reader.registration().map(Self::Register),
            ELSEWHERE => {
                let (nonce, cookie) = (reader.number()?, reader.number()?);
                return Ok(Self::Elsewhere { nonce, cookie });
            }
            COOKIE => Self::Cookie {
                nonce: reader.number()?,
                cookie: reader.number()?,
                seen: reader.addr()?,
            },
            WAITING => Self::Waiting { nonce: reader.number()? },
            INTRODUCE => Self::Introduce(reader.introduction()?),
            HEARD => Self::Heard { nonce: reader.number()? },
            LEAVE => Self::Leave {
                nonce: reader.number()?,
                meeting: MeetingId(reader.fixed()?),
                side: reader.side()?,
            },
            REFUSED => Self::Refused { nonce: reader.number()?, why: reader.refusal()? },
            KNOCK => Self::Knock(Knock {
                step: reader.step()?,
                side: reader.side()?,
                nonce: reader.number()?,
                token: reader.number()?,
                returned: reader.number()?,
                tag: reader.number()?,
            }),
            OVER => Self::Over {
                nonce: reader.number()?,
                meeting: MeetingId(reader.fixed()?),
                proof: reader.number()?,
            },
            ENDED => Self::Ended { nonce: reader.number()?, proof: reader.number()? },
            other => return Err(MeetPacketError::Kind(other)),
        };
        if reader.rest.is_empty() { Ok(packet) } else { Err(MeetPacketError::Long) }
    }
}

/// The rest of a datagram.
pub(super) struct MeetReader<'a> {
    rest: &'a [u8],
}

impl<'a> MeetReader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], MeetPacketError> {
        let (first, rest) = self.rest.split_first_chunk().ok_or(MeetPacketError::Short)?;
        self.rest = rest;
        Ok(*first)
    }

    pub(super) fn byte(&mut self) -> Result<u8, MeetPacketError> {
        self.fixed().map(|[byte]| byte)
    }

    fn number(&mut self) -> Result<u64, MeetPacketError> {
        self.fixed().map(u64::from_be_bytes)
    }

    pub(super) fn addr(&mut self) -> Result<SocketAddr, MeetPacketError> {
        let ip = match self.byte()? {
            4 => IpAddr::V4(Ipv4Addr::from(self.fixed::<4>()?)),
            6 => IpAddr::V6(Ipv6Addr::from(self.fixed::<16>()?)),
            _ => return Err(MeetPacketError::Value),
        };
        let port = u16::from_be_bytes(self.fixed()?);
        // One address has one spelling.
        if ip.to_canonical() != ip {
            return Err(MeetPacketError::Value);
        }
        Ok(SocketAddr::new(ip, port))
    }

    fn card(&mut self) -> Result<UnicastPayload, MeetPacketError> {
        let length = usize::from(self.byte()?);
        if length > CARD {
            return Err(MeetPacketError::Value);
        }
        let (card, rest) = self.rest.split_at_checked(length).ok_or(MeetPacketError::Short)?;
        self.rest = rest;
        Ok(UnicastPayload::copy_from_slice(card))
    }

    fn registration(&mut self) -> Result<Registration, MeetPacketError> {
        Ok(Registration {
            nonce: self.number()?,
            cookie: self.number()?,
            meeting: MeetingId(self.fixed()?),
            side: self.side()?,
            rtt: self.fixed().map(u32::from_be_bytes)?,
            card: self.card()?,
            once: self.flag()?,
        })
    }

    fn introduction(&mut self) -> Result<Introduction, MeetPacketError> {
        Ok(Introduction {
            nonce: self.number()?,
            wait: self.fixed().map(u32::from_be_bytes)?,
            relays: self.flag()?,
            seen: self.addr()?,
            other: self.number()?,
            card: self.card()?,
        })
    }

    fn flag(&mut self) -> Result<bool, MeetPacketError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(MeetPacketError::Value),
        }
    }

    fn side(&mut self) -> Result<MeetSide, MeetPacketError> {
        match self.byte()? {
            0 => Ok(MeetSide::Caller),
            1 => Ok(MeetSide::Listener),
            _ => Err(MeetPacketError::Value),
        }
    }

    fn step(&mut self) -> Result<KnockStep, MeetPacketError> {
        match self.byte()? {
            0 => Ok(KnockStep::Ask),
            1 => Ok(KnockStep::Answer),
            2 => Ok(KnockStep::Choose),
            3 => Ok(KnockStep::Agree),
            _ => Err(MeetPacketError::Value),
        }
    }

    fn refusal(&mut self) -> Result<MeetRefusal, MeetPacketError> {
        match self.byte()? {
            0 => Ok(MeetRefusal::Full),
            1 => Ok(MeetRefusal::TooMany),
            2 => Ok(MeetRefusal::Taken),
            3 => Ok(MeetRefusal::Gone),
            4 => Ok(MeetRefusal::Closing),
            5 => Ok(MeetRefusal::Over),
            _ => Err(MeetPacketError::Value),
        }
    }
}
