//! Puts messages in order and reassembles parts: the receive window (UC-1).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::unicast::{Rejection, memory};
use crate::wire::unicast::{DeliveryOrder, MessageFragment, UnicastPayload};

/// A number beyond the first missing one.
#[derive(Debug, Clone)]
enum ReorderSlot {
    Missing,
    /// Received, and not delivered yet.
    Waiting(MessageFragment),
    /// Received, and delivered at once: so many bytes.
    Gone(u32),
}

/// The parts of a message received so far, in order.
#[derive(Debug, Clone)]
struct ReceivedFragments {
    bytes: Vec<u8>,
    order: DeliveryOrder,
    /// The number of the first part.
    first: u64,
    /// Too long, or without its first part: the rest is discarded.
    spoilt: bool,
}

/// A complete message, and its last number.
#[derive(Debug, Clone)]
pub(super) struct Whole {
    pub(super) seq: u64,
    pub(super) order: DeliveryOrder,
    pub(super) payload: UnicastPayload,
}

/// Everything beyond the numbers already delivered.
#[derive(Debug, Clone)]
pub(super) struct ReorderBuffer {
    /// The first number that has not arrived.
    next: u64,
    /// The numbers `next`, `next + 1`, …: empty while everything arrives in
    /// order.
    places: VecDeque<ReorderSlot>,
    parts: Option<ReceivedFragments>,
    /// Bytes in `places` and in `parts`.
    early_bytes: u64,
    part_bytes: u64,
    /// Bytes delivered at once beyond the first missing number.
    gone_bytes: u64,
    max_message: usize,
}

impl ReorderBuffer {
    pub(super) fn new(next: u64, early: &[u64], max_message: u32) -> Self {
        let mut places = VecDeque::new();
        for seq in early.iter().filter(|seq| **seq > next) {
            let index = (seq - next) as usize;
            places.resize_with(places.len().max(index + 1), || ReorderSlot::Missing);
            places[index] = ReorderSlot::Gone(0);
        }
        let max_message = max_message as usize;
        Self {
            next,
            places,
            parts: None,
            early_bytes: 0,
            part_bytes: 0,
            gone_bytes: 0,
            max_message,
        }
    }

    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Numbers that have a place: they are allocated, whether they have arrived or not.
    pub(super) fn places(&self) -> u64 {
        self.places.len() as u64
    }

    /// How many places there are once number `seq` has arrived.
    pub(super) const fn places_with(&self, seq: u64) -> u64 {
        seq.saturating_sub(self.next) + 1
    }

    /// Bytes that arrived early.
    pub(super) const fn early_bytes(&self) -> u64 {
        self.early_bytes
    }

    /// Bytes that have arrived beyond the first missing number.
    pub(super) const fn beyond_bytes(&self) -> u64 {
        self.early_bytes + self.gone_bytes
    }

    /// Bytes of a message whose end is missing.
    pub(super) const fn part_bytes(&self) -> u64 {
        self.part_bytes
    }

    pub(super) fn has(&self, seq: u64) -> bool {
        seq < self.next
            || !matches!(
                self.places.get((seq - self.next) as usize),
                None | Some(ReorderSlot::Missing)
            )
    }

    /// Numbers delivered at once, beyond the first missing one.
    pub(super) fn gone(&self) -> Vec<u64> {
        let gone =
            self.places.iter().enumerate().filter(|(_, p)| matches!(p, ReorderSlot::Gone(_)));
        gone.map(|(index, _)| self.next + index as u64).collect()
    }

    /// The numbers of a message whose end is missing: they are acknowledged,
    /// and lost if the entry is dropped.
    pub(super) fn unfinished(&self) -> Option<(u64, u64)> {
        self.parts.as_ref().map(|parts| (parts.first, self.next - 1))
    }

    /// Adds number `seq`, which was not received before. `out` gets the
    /// messages that this completes.
    pub(super) fn put(
        &mut self,
        seq: u64,
        message: MessageFragment,
        out: &mut impl FnMut(Whole),
    ) -> Result<(), Rejection> {
        if seq == self.next {
            let result = self.advance(message, out);
            if !self.places.is_empty() {
                self.places.pop_front();
                return result.and(self.drain(out));
            }
            return result;
        }
        let index = (seq - self.next) as usize;
        if index >= self.places.len() {
            self.places.resize_with(index + 1, || ReorderSlot::Missing);
        }
        let at_once = message.order == DeliveryOrder::AtOnce;
        self.early_bytes += message.payload.len() as u64;
        self.places[index] = ReorderSlot::Waiting(message);
        if at_once {
            self.at_once(index, out);
        }
        Ok(())
    }

    /// Delivers what follows without a gap now.
    fn drain(&mut self, out: &mut impl FnMut(Whole)) -> Result<(), Rejection> {
        let mut result = Ok(());
        while let Some(ReorderSlot::Waiting(_) | ReorderSlot::Gone(_)) = self.places.front() {
            match self.places.pop_front() {
                Some(ReorderSlot::Waiting(message)) => {
                    self.early_bytes -= message.payload.len() as u64;
                    result = result.and(self.advance(message, out));
                }
                Some(ReorderSlot::Gone(bytes)) => {
                    self.gone_bytes -= u64::from(bytes);
                    self.next += 1;
                }
                _ => {}
            }
        }
        memory::release(&mut self.places);
        result
    }

    /// The next number has arrived.
    fn advance(
        &mut self,
        message: MessageFragment,
        out: &mut impl FnMut(Whole),
    ) -> Result<(), Rejection> {
        let seq = self.next;
        self.next += 1;
        let MessageFragment { order, continues, more, payload } = message;
        if !continues && !more && self.parts.is_none() {
            out(Whole { seq, order, payload });
            return Ok(());
        }
        self.part(seq, (order, continues, more), &payload, out)
    }

    fn part(
        &mut self,
        seq: u64,
        (order, continues, more): (DeliveryOrder, bool, bool),
        payload: &UnicastPayload,
        out: &mut impl FnMut(Whole),
    ) -> Result<(), Rejection> {
        let mut result = Ok(());
        if self.parts.is_some() != continues {
            // The first part of this message, or the last part of the one
            // before, is missing.
            result = Err(Rejection::BadParts);
            self.parts =
                Some(ReceivedFragments { bytes: Vec::new(), order, first: seq, spoilt: continues });
        }
        let parts = self.parts.get_or_insert(ReceivedFragments {
            bytes: Vec::new(),
            order,
            first: seq,
            spoilt: false,
        });
        if !parts.spoilt && parts.bytes.len() + payload.len() > self.max_message {
            result = Err(Rejection::TooLong);
            parts.spoilt = true;
            parts.bytes = Vec::new();
        }
        if !parts.spoilt {
            parts.bytes.extend_from_slice(payload);
        }
        self.part_bytes = parts.bytes.len() as u64;
        if !more && let Some(parts) = self.parts.take() {
            self.part_bytes = 0;
            if !parts.spoilt {
                out(Whole { seq, order: parts.order, payload: parts.bytes.into() });
            }
        }
        result
    }

    /// Delivers the at-once message that `index` is a part of, if all its parts
    /// are here.
    fn at_once(&mut self, index: usize, out: &mut impl FnMut(Whole)) {
        let message = |i: usize| match self.places.get(i) {
            Some(ReorderSlot::Waiting(message)) if message.order == DeliveryOrder::AtOnce => {
                Some(message)
            }
            _ => None,
        };
        // Forward first: for parts that arrive in order this ends at once.
        let mut last = index;
        while message(last).is_some_and(|m| m.more) {
            last += 1;
        }
        let mut first = index;
        while first > 0 && message(first).is_some_and(|m| m.continues) {
            first -= 1;
        }
        let ends = message(first).is_some_and(|m| !m.continues)
            && message(last).is_some_and(|m| first == last || m.continues);
        let bytes: usize = (first..=last).filter_map(message).map(|m| m.payload.len()).sum();
        if !ends || bytes > self.max_message {
            return; // Incomplete, or reported as wrong in its turn.
        }
        let mut payload = UnicastPayload::new();
        let mut joined = Vec::with_capacity(if first == last { 0 } else { bytes });
        for place in self.places.range_mut(first..=last) {
            if let ReorderSlot::Waiting(message) = core::mem::replace(place, ReorderSlot::Missing) {
                *place = ReorderSlot::Gone(message.payload.len() as u32);
                joined.extend_from_slice(if first == last { &[] } else { &message.payload });
                payload = message.payload;
            }
        }
        self.early_bytes -= bytes as u64;
        self.gone_bytes += bytes as u64;
        let payload = if first == last { payload } else { joined.into() };
        out(Whole { seq: self.next + last as u64, order: DeliveryOrder::AtOnce, payload });
    }
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
