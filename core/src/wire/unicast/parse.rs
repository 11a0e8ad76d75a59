//! Parses blocks. A datagram is accepted as a whole or not at all.

use alloc::vec::Vec;

use super::encode::{
    ABANDON, ACK, AGAIN, AT_ONCE, CHALLENGE, CLOSE, CLOSED, CONTINUES, COUNTED_ACK, FIRST, LONE,
    MORE, PATH, PROBE, REQUEST, RESPONSE, SAME, SIZE_FOUND, SIZE_PROBE, SLICE, TOKEN,
};
use super::{
    Ack, AckCounts, Close, ConnBlock, Data, DeliveryOrder, FirstMessageRequest, MessageFragment,
    Packet, Seal, Slice, UnicastConnId, UnicastPayload, VERSION, varint,
};

/// Why a datagram is not valid.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PacketError {
    /// It ends inside a field, or has no block.
    #[error("the datagram is cut short")]
    Short,
    /// Another version, or another protocol.
    #[error("version {0} is not spoken here")]
    Version(u8),
    /// A kind of block that this version does not have.
    #[error("a block of the unknown kind {0}")]
    Kind(u8),
    /// A number that is too large, not in its shortest form, or impossible
    /// together with the others.
    #[error("an impossible number")]
    Number,
    /// The seal does not match.
    #[error("the seal does not fit")]
    Seal,
}

struct ByteReader<'a> {
    bytes: &'a UnicastPayload,
    end: usize,
    at: usize,
}

impl Packet {
    /// Parses a datagram. Payloads are slices of it, not copies.
    ///
    /// # Errors
    /// The first fault found; the whole datagram is rejected.
    pub fn parse(datagram: &UnicastPayload, seal: &Seal) -> Result<Self, PacketError> {
        let end = datagram.len().checked_sub(seal.len()).ok_or(PacketError::Short)?;
        if let Some(seal) = seal.compute(&datagram[..end])
            && seal != datagram[end..]
        {
            return Err(PacketError::Seal);
        }
        let mut reader = ByteReader { bytes: datagram, end, at: 0 };
        let mut blocks = Vec::with_capacity(1);
        let mut conn = None;
        while reader.at < end {
            blocks.push(reader.block(&mut conn)?);
        }
        if blocks.is_empty() { Err(PacketError::Short) } else { Ok(Self { blocks }) }
    }
}

impl ByteReader<'_> {
    fn block(&mut self, before: &mut Option<UnicastConnId>) -> Result<ConnBlock, PacketError> {
        let [head] = self.fixed()?;
        if head >> 5 != VERSION {
            return Err(PacketError::Version(head >> 5));
        }
        let conn = if head & SAME == 0 {
            UnicastConnId(u64::from_be_bytes(self.fixed()?))
        } else {
            before.ok_or(PacketError::Number)?
        };
        *before = Some(conn);
        match head & 0x0f {
            kind @ 0..=7 => self.data(conn, kind),
            ACK => self.ack(conn, false),
            REQUEST => Ok(ConnBlock::Request(FirstMessageRequest {
                conn,
                token: u64::from_be_bytes(self.fixed()?),
            })),
            kind @ (CLOSE | ABANDON) => {
                let (last, abandoned) = (self.number()?, kind == ABANDON);
                Ok(ConnBlock::Close(Close { conn, last, abandoned }))
            }
            CLOSED => Ok(ConnBlock::Closed { conn, upto: self.number()? }),
            PROBE => Ok(ConnBlock::Probe { conn, sent: self.number()? }),
            LONE => self.lone(conn),
            PATH => self.path(conn),
            kind => Err(PacketError::Kind(kind)),
        }
    }

    /// The kinds about the path.
    fn path(&mut self, conn: UnicastConnId) -> Result<ConnBlock, PacketError> {
        let [kind] = self.fixed()?;
        match kind {
            COUNTED_ACK => self.ack(conn, true),
            SIZE_PROBE => {
                let size = self.short()?;
                if size as usize != self.bytes.len() {
                    return Err(PacketError::Number);
                }
                self.at = self.end; // The rest is filling.
                Ok(ConnBlock::SizeProbe { conn, size })
            }
            SIZE_FOUND => Ok(ConnBlock::SizeFound { conn, size: self.short()? }),
            CHALLENGE => {
                Ok(ConnBlock::Challenge { conn, token: u64::from_be_bytes(self.fixed()?) })
            }
            RESPONSE => Ok(ConnBlock::Response { conn, token: u64::from_be_bytes(self.fixed()?) }),
            SLICE => self.slice(conn),
            kind => Err(PacketError::Kind(kind)),
        }
    }

    /// A number of 32 bits.
    fn short(&mut self) -> Result<u32, PacketError> {
        u32::try_from(self.number()?).map_err(|_| PacketError::Number)
    }

    fn slice(&mut self, conn: UnicastConnId) -> Result<ConnBlock, PacketError> {
        let (seq, offset, head) = (self.number()?, self.short()?, self.number()?);
        let total = u32::try_from(head >> 3).map_err(|_| PacketError::Number)?;
        let bytes = self.bytes.slice(self.at..self.end);
        self.at = self.end;
        let end = u64::from(offset) + bytes.len() as u64;
        if seq == 0 || bytes.is_empty() || end > u64::from(total) {
            return Err(PacketError::Number);
        }
        let (order, continues, more) = flags(head);
        Ok(ConnBlock::Slice(Slice { conn, seq, offset, total, order, continues, more, bytes }))
    }

    fn lone(&mut self, conn: UnicastConnId) -> Result<ConnBlock, PacketError> {
        let seq = self.number()?;
        if seq == 0 {
            return Err(PacketError::Number);
        }
        let payload = self.bytes.slice(self.at..self.end);
        self.at = self.end;
        let message = MessageFragment {
            order: DeliveryOrder::InOrder,
            continues: false,
            more: false,
            payload,
        };
        let messages = alloc::vec![message];
        Ok(ConnBlock::Data(Data { conn, seq, first: false, again: false, token: None, messages }))
    }

    fn data(&mut self, conn: UnicastConnId, kind: u8) -> Result<ConnBlock, PacketError> {
        let marked = |mark| kind & mark != 0;
        let token = if marked(TOKEN) { Some(u64::from_be_bytes(self.fixed()?)) } else { None };
        let seq = self.number()?;
        let count = self.number()?;
        let left = (self.end - self.at) as u64;
        if seq == 0 || count > left || seq > varint::MAX - left {
            return Err(PacketError::Number);
        }
        // What is reserved is bounded by what was received: each message takes
        // at least a byte.
        let mut messages = Vec::with_capacity(if count == 0 { 4 } else { count as usize });
        loop {
            messages.push(self.message()?);
            let done =
                if count == 0 { self.at == self.end } else { messages.len() as u64 == count };
            if done {
                let (first, again) = (marked(FIRST), marked(AGAIN));
                return Ok(ConnBlock::Data(Data { conn, seq, first, again, token, messages }));
            }
        }
    }

    fn message(&mut self) -> Result<MessageFragment, PacketError> {
        let head = self.number()?;
        let length = usize::try_from(head >> 3).map_err(|_| PacketError::Short)?;
        if length > self.end - self.at {
            return Err(PacketError::Short);
        }
        let payload = self.bytes.slice(self.at..self.at + length);
        self.at += length;
        let (order, continues, more) = flags(head);
        Ok(MessageFragment { order, continues, more, payload })
    }

    fn ack(&mut self, conn: UnicastConnId, counted: bool) -> Result<ConnBlock, PacketError> {
        let upto = self.number()?;
        let newest = self.sum(upto, 0)?;
        let (delay, messages, bytes) = (self.number()?, self.number()?, self.number()?);
        let counts = if counted {
            let (early, late, marked) = (self.number()?, self.number()?, self.number()?);
            AckCounts { early, late, marked }
        } else {
            AckCounts::default()
        };
        if counted && counts.is_empty() {
            return Err(PacketError::Number); // The short form says the same.
        }
        let count = self.number()?;
        if count > (self.end - self.at) as u64 / 2 {
            return Err(PacketError::Short);
        }
        let mut wanted = Vec::with_capacity(count as usize);
        let mut end = upto;
        for _ in 0..count {
            let first = self.sum(end, 1)?;
            let last = self.sum(first, 0)?;
            wanted.push((first, last));
            end = last;
        }
        Ok(ConnBlock::Ack(Ack { conn, upto, newest, delay, messages, bytes, wanted, counts }))
    }

    /// The next number, counted from `base + more`.
    fn sum(&mut self, base: u64, more: u64) -> Result<u64, PacketError> {
        let sum = base + more + self.number()?;
        if sum > varint::MAX { Err(PacketError::Number) } else { Ok(sum) }
    }

    fn number(&mut self) -> Result<u64, PacketError> {
        let bytes = &self.bytes[..self.end];
        let begin = self.at;
        varint::take(bytes, &mut self.at).ok_or(if self.end - begin < 9 && self.at == self.end {
            PacketError::Short
        } else {
            PacketError::Number
        })
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], PacketError> {
        let rest = &self.bytes[self.at..self.end];
        let (field, _) = rest.split_first_chunk().ok_or(PacketError::Short)?;
        self.at += N;
        Ok(*field)
    }
}

/// The flags of a message: when it is delivered, and of what it is a part.
fn flags(head: u64) -> (DeliveryOrder, bool, bool) {
    let marked = |mark: u8| head & u64::from(mark) != 0;
    let order = if marked(AT_ONCE) { DeliveryOrder::AtOnce } else { DeliveryOrder::InOrder };
    (order, marked(CONTINUES), marked(MORE))
}
