//! Encodes blocks, and computes their encoded length.

use bytes::BufMut;

use super::varint::{len, put};
use super::{
    Ack, Close, ConnBlock, Data, DeliveryOrder, FirstMessageRequest, MessageFragment, Packet, Seal,
    Slice, UnicastConnId, VERSION,
};

/// The block belongs to the same connection as the one before it.
pub(super) const SAME: u8 = 0x10;
/// Kinds 0 to 7 are data with these flags.
pub(super) const AGAIN: u8 = 1;
pub(super) const FIRST: u8 = 2;
pub(super) const TOKEN: u8 = 4;
pub(super) const ACK: u8 = 8;
pub(super) const REQUEST: u8 = 9;
pub(super) const CLOSE: u8 = 10;
pub(super) const ABANDON: u8 = 11;
pub(super) const CLOSED: u8 = 12;
pub(super) const PROBE: u8 = 13;
/// Data of one message without flags, which fills the rest of the datagram.
pub(super) const LONE: u8 = 14;
/// One of the kinds below, in a byte of its own.
pub(super) const PATH: u8 = 15;
pub(super) const COUNTED_ACK: u8 = 0;
pub(super) const SIZE_PROBE: u8 = 1;
pub(super) const SIZE_FOUND: u8 = 2;
pub(super) const CHALLENGE: u8 = 3;
pub(super) const RESPONSE: u8 = 4;
pub(super) const SLICE: u8 = 5;
/// Flags in the head of a message.
pub(super) const AT_ONCE: u8 = 1;
pub(super) const CONTINUES: u8 = 2;
pub(super) const MORE: u8 = 4;

impl Packet {
    /// Appends the datagram to `out`.
    pub fn encode(&self, seal: &Seal, out: &mut (impl BufMut + AsRef<[u8]>)) {
        let begin = out.as_ref().len();
        let mut conn = None;
        let last = self.blocks.len().wrapping_sub(1);
        for (i, block) in self.blocks.iter().enumerate() {
            if let ConnBlock::Data(it) = block
                && let Some(message) = lone(it)
                && i == last
            {
                head(out, LONE, it.conn, &mut conn);
                put(out, it.seq);
                out.put_slice(&message.payload);
                continue;
            }
            head(out, kind(block), block.conn(), &mut conn);
            if let Some(path) = path_kind(block) {
                out.put_u8(path);
            }
            match block {
                ConnBlock::Data(it) => data(out, it, i == last),
                ConnBlock::Ack(it) => ack(out, it),
                ConnBlock::Request(FirstMessageRequest { token, .. }) => out.put_u64(*token),
                ConnBlock::Close(Close { last, .. }) => put(out, *last),
                ConnBlock::Closed { upto, .. } => put(out, *upto),
                ConnBlock::Probe { sent, .. } => put(out, *sent),
                ConnBlock::SizeProbe { size, .. } => {
                    put(out, u64::from(*size));
                    let full = (*size as usize).saturating_sub(seal.len());
                    let used = out.as_ref().len() - begin;
                    out.put_bytes(0, full.saturating_sub(used));
                }
                ConnBlock::SizeFound { size, .. } => put(out, u64::from(*size)),
                ConnBlock::Challenge { token, .. } | ConnBlock::Response { token, .. } => {
                    out.put_u64(*token);
                }
                ConnBlock::Slice(it) => slice(out, it),
            }
        }
        if let Some(seal) = seal.compute(&out.as_ref()[begin..]) {
            out.put_slice(&seal);
        }
    }
}

/// The only message of a block, if nothing but its number must be encoded.
fn lone(data: &Data) -> Option<&MessageFragment> {
    let [message] = &data.messages[..] else { return None };
    let plain = message.order == DeliveryOrder::InOrder && !message.continues && !message.more;
    let marked = data.again || data.first || data.token.is_some();
    (plain && !marked).then_some(message)
}

const fn kind(block: &ConnBlock) -> u8 {
    match block {
        ConnBlock::Data(it) => {
            mark(it.again, AGAIN) | mark(it.first, FIRST) | mark(it.token.is_some(), TOKEN)
        }
        ConnBlock::Ack(it) if it.counts.is_empty() => ACK,
        ConnBlock::Request(_) => REQUEST,
        ConnBlock::Close(Close { abandoned: false, .. }) => CLOSE,
        ConnBlock::Close(_) => ABANDON,
        ConnBlock::Closed { .. } => CLOSED,
        ConnBlock::Probe { .. } => PROBE,
        _ => PATH,
    }
}

/// The second byte of the kinds about the path.
const fn path_kind(block: &ConnBlock) -> Option<u8> {
    match block {
        ConnBlock::Ack(it) if !it.counts.is_empty() => Some(COUNTED_ACK),
        ConnBlock::SizeProbe { .. } => Some(SIZE_PROBE),
        ConnBlock::SizeFound { .. } => Some(SIZE_FOUND),
        ConnBlock::Challenge { .. } => Some(CHALLENGE),
        ConnBlock::Response { .. } => Some(RESPONSE),
        ConnBlock::Slice(_) => Some(SLICE),
        _ => None,
    }
}

/// The flags of a message.
const fn marks(order: DeliveryOrder, continues: bool, more: bool) -> u8 {
    mark(matches!(order, DeliveryOrder::AtOnce), AT_ONCE)
        | mark(continues, CONTINUES)
        | mark(more, MORE)
}

fn slice(out: &mut impl BufMut, slice: &Slice) {
    let Slice { seq, offset, total, order, continues, more, bytes, .. } = slice;
    put(out, *seq);
    put(out, u64::from(*offset));
    put(out, (u64::from(*total) << 3) | u64::from(marks(*order, *continues, *more)));
    out.put_slice(bytes);
}

const fn mark(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}

fn head(out: &mut impl BufMut, kind: u8, conn: UnicastConnId, before: &mut Option<UnicastConnId>) {
    if *before == Some(conn) {
        out.put_u8((VERSION << 5) | SAME | kind);
    } else {
        out.put_u8((VERSION << 5) | kind);
        out.put_u64(conn.0);
        *before = Some(conn);
    }
}

fn data(out: &mut impl BufMut, data: &Data, to_the_end: bool) {
    if let Some(token) = data.token {
        out.put_u64(token);
    }
    put(out, data.seq);
    put(out, if to_the_end { 0 } else { data.messages.len() as u64 });
    for message in &data.messages {
        let MessageFragment { order, continues, more, payload } = message;
        let marks = marks(*order, *continues, *more);
        put(out, ((payload.len() as u64) << 3) | u64::from(marks));
        out.put_slice(payload);
    }
}

fn ack(out: &mut impl BufMut, ack: &Ack) {
    put(out, ack.upto);
    put(out, ack.newest - ack.upto);
    put(out, ack.delay);
    put(out, ack.messages);
    put(out, ack.bytes);
    if !ack.counts.is_empty() {
        put(out, ack.counts.early);
        put(out, ack.counts.late);
        put(out, ack.counts.marked);
    }
    put(out, ack.wanted.len() as u64);
    let mut end = ack.upto;
    for (first, last) in &ack.wanted {
        put(out, first - end - 1);
        put(out, last - first);
        end = *last;
    }
}

/// Bytes of a message after the head of its block.
#[must_use]
pub(crate) const fn message_len(payload: usize) -> usize {
    len((payload as u64) << 3) + payload
}

/// Upper bound of a block's length, without its messages and requested ranges.
#[must_use]
pub(crate) const fn block_len(block: &ConnBlock) -> usize {
    let body = match block {
        ConnBlock::Data(it) => len(it.seq) + 3 + if it.token.is_some() { 8 } else { 0 },
        ConnBlock::Ack(it) => {
            let numbers = len(it.upto) + len(it.newest - it.upto) + len(it.delay);
            let counts = if it.counts.is_empty() {
                0
            } else {
                1 + len(it.counts.early) + len(it.counts.late) + len(it.counts.marked)
            };
            numbers + len(it.messages) + len(it.bytes) + counts + 3
        }
        ConnBlock::Request(_) => 8,
        ConnBlock::Close(it) => len(it.last),
        ConnBlock::Closed { upto, .. } => len(*upto),
        ConnBlock::Probe { sent, .. } => len(*sent),
        ConnBlock::SizeProbe { size, .. } | ConnBlock::SizeFound { size, .. } => {
            1 + len(*size as u64)
        }
        ConnBlock::Challenge { .. } | ConnBlock::Response { .. } => 1 + 8,
        ConnBlock::Slice(it) => {
            1 + len(it.seq) + len(it.offset as u64) + len((it.total as u64) << 3) + it.bytes.len()
        }
    };
    9 + body
}
