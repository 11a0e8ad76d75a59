//! Puts a message together that travels in pieces (PA-6).

use alloc::vec::Vec;

use crate::wire::unicast::{MessageFragment, Slice};

/// The pieces of one message received so far, in their order. The sender sends
/// one message after the other in this way, and all of it again when a piece
/// is lost; so no more than one is kept.
#[derive(Debug, Clone)]
pub(super) struct Pieces {
    seq: u64,
    total: u32,
    bytes: Vec<u8>,
}

impl Pieces {
    /// Adds a piece; the message, when it is complete.
    pub(super) fn add(kept: &mut Option<Self>, piece: Slice) -> Option<MessageFragment> {
        let Slice { seq, offset, total, order, continues, more, bytes, .. } = piece;
        if offset == 0 {
            *kept = Some(Self { seq, total, bytes: Vec::new() });
        }
        let pieces = kept.as_mut()?;
        let follows = pieces.seq == seq && pieces.total == total;
        if !follows || pieces.bytes.len() != offset as usize {
            return None;
        }
        pieces.bytes.extend_from_slice(&bytes);
        if pieces.bytes.len() < total as usize {
            return None;
        }
        let payload = kept.take()?.bytes.into();
        Some(MessageFragment { order, continues, more, payload })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::unicast::{DeliveryOrder, UnicastConnId, UnicastPayload};

    fn piece(seq: u64, offset: u32, bytes: &'static [u8]) -> Slice {
        let (order, continues, more) = (DeliveryOrder::InOrder, true, false);
        let bytes = UnicastPayload::from_static(bytes);
        Slice { conn: UnicastConnId(1), seq, offset, total: 6, order, continues, more, bytes }
    }

    #[test]
    fn pieces_in_order_make_a_message_and_others_are_waited_for_anew() {
        let mut kept = None;
        assert_eq!(Pieces::add(&mut kept, piece(7, 3, b"def")), None, "without a beginning");
        assert_eq!(Pieces::add(&mut kept, piece(7, 0, b"ab")), None);
        assert_eq!(Pieces::add(&mut kept, piece(7, 4, b"ef")), None, "one is missing");
        assert_eq!(Pieces::add(&mut kept, piece(8, 2, b"cdef")), None, "of another message");
        let message = Pieces::add(&mut kept, piece(7, 2, b"cdef")).unwrap();
        assert_eq!(message.payload, &b"abcdef"[..]);
        assert!(message.continues && !message.more && kept.is_none());
    }
}
