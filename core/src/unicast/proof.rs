//! Address validation: peers that have not proven their address.
//!
//! Any host can forge the source address of a datagram. So an unknown peer gets
//! a token, which is derived from its address and our key, and must send it
//! back with its first message. Nothing is remembered about it until then, and
//! our answer is shorter than what it sent.

use alloc::vec;
use core::net::SocketAddr;

use super::{Endpoint, Event, Output, Rejection, UnicastEffects, token};
use crate::time::Instant;
use crate::wire::unicast::{ConnBlock, FirstMessageRequest, Packet, block_len};

impl Endpoint {
    /// True when a first message carries the token of its address.
    pub(super) fn is_proven(&self, addr: SocketAddr, packet: &Packet) -> bool {
        packet.blocks.iter().any(|block| match block {
            ConnBlock::Data(data) if data.first => {
                data.token.is_some_and(|told| told == token(&self.key, addr, data.conn))
            }
            _ => false,
        })
    }

    /// Answers an unknown peer at `from`, whose name is `addr`: a sender is asked for its
    /// first message, one
    /// that closes is told that the connection has ended, and anything else is
    /// ignored.
    pub(super) fn challenge(
        &mut self,
        now: Instant,
        (from, addr): (SocketAddr, SocketAddr),
        (packet, bytes): (&Packet, u32),
        fx: &mut UnicastEffects,
    ) {
        let begins =
            |block: &&ConnBlock| matches!(block, ConnBlock::Data(_) | ConnBlock::Probe { .. });
        let begun = packet.blocks.iter().find(begins);
        let Some(first) = begun.or_else(|| packet.blocks.first()) else { return };
        let conn = first.conn();
        let answer = match first {
            ConnBlock::Data(_) | ConnBlock::Probe { .. } => {
                Some(ConnBlock::Request(FirstMessageRequest {
                    conn,
                    token: token(&self.key, addr, conn),
                }))
            }
            ConnBlock::Close(_) => {
                let upto =
                    self.tombstones.get(now, addr, conn).map_or(0, |tombstone| tombstone.next - 1);
                Some(ConnBlock::Closed { conn, upto })
            }
            _ => None,
        };
        let why = match answer {
            Some(_) => Rejection::Unproven,
            None => Rejection::UnknownConnection,
        };
        self.counters.rejected += 1;
        fx.event(Event::Rejected { peer: addr, conn, why });
        let Some(answer) = answer else { return };
        let size = block_len(&answer) + self.config.seal.len();
        if size > bytes as usize {
            return;
        }
        self.counters.packets_out += 1;
        fx.output(Output::Packet { peer: from, packet: Packet { blocks: vec![answer] } });
    }
}
