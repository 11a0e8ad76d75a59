//! Compares the receive window with what a look at all that has arrived says.

use super::*;
use crate::rng::Rng;
use alloc::collections::BTreeSet;
use alloc::vec;

const MOST: u32 = 40;

/// A message of one part or more, by its numbers.
struct Sent {
    first: u64,
    last: u64,
    order: DeliveryOrder,
    bytes: Vec<u8>,
}

/// Messages in a row, and the parts they are sent in, from number 1.
fn drawn(dice: &mut Rng) -> (Vec<Sent>, Vec<MessageFragment>) {
    let (mut sent, mut parts) = (Vec::new(), Vec::new());
    for number in 0..30 {
        let order = if dice.chance(1, 2) { DeliveryOrder::AtOnce } else { DeliveryOrder::InOrder };
        let (count, first) = (dice.between(1, 4), parts.len() as u64 + 1);
        let mut bytes = Vec::new();
        for part in 0..count {
            let payload = vec![number as u8; dice.below(9) as usize];
            bytes.extend_from_slice(&payload);
            let (continues, more) = (part > 0, part + 1 < count);
            parts.push(MessageFragment { order, continues, more, payload: payload.into() });
        }
        sent.push(Sent { first, last: parts.len() as u64, order, bytes });
    }
    (sent, parts)
}

struct Check {
    sent: Vec<Sent>,
    parts: Vec<MessageFragment>,
    here: BTreeSet<u64>,
    got: Vec<Whole>,
}

impl Check {
    fn has_all(&self, one: &Sent) -> bool {
        (one.first..=one.last).all(|seq| self.here.contains(&seq))
    }

    /// What has to have been delivered by now, and in which order.
    fn delivered(&self, next: u64) {
        let due = |one: &&Sent| match one.order {
            DeliveryOrder::AtOnce => self.has_all(one),
            DeliveryOrder::InOrder => one.last < next,
        };
        let due: BTreeSet<u64> = self.sent.iter().filter(due).map(|one| one.last).collect();
        let got: BTreeSet<u64> = self.got.iter().map(|whole| whole.seq).collect();
        assert_eq!((got, self.got.len()), (due.clone(), due.len()), "each of them once");
        let in_order = self.got.iter().filter(|whole| whole.order == DeliveryOrder::InOrder);
        assert!(in_order.is_sorted_by_key(|whole| whole.seq));
        for whole in &self.got {
            let one = self.sent.iter().find(|one| one.last == whole.seq).unwrap();
            assert_eq!((&whole.payload[..], whole.order), (&one.bytes[..], one.order));
        }
    }

    fn look(&self, line: &ReorderBuffer) {
        let all = self.parts.len() as u64;
        let next = (1..=all + 1).find(|seq| !self.here.contains(seq)).unwrap();
        assert_eq!(line.next(), next);
        assert!((1..=all + 3).all(|seq| line.has(seq) == self.here.contains(&seq)));
        self.delivered(next);
        let gone = |seq: &u64| {
            let one = self.sent.iter().find(|one| (one.first..=one.last).contains(seq)).unwrap();
            one.order == DeliveryOrder::AtOnce && self.has_all(one)
        };
        let early: Vec<u64> = self.here.iter().copied().filter(|seq| *seq > next).collect();
        assert!(line.gone().into_iter().eq(early.iter().copied().filter(gone)));
        let bytes = |seq: &u64| self.parts[*seq as usize - 1].payload.len() as u64;
        let waiting: u64 = early.iter().filter(|seq| !gone(seq)).map(bytes).sum();
        assert_eq!(line.early_bytes(), waiting);
        let open = self.sent.iter().find(|one| one.first < next && next <= one.last);
        assert_eq!(line.unfinished(), open.map(|one| (one.first, next - 1)));
        let begun = open.map_or(0, |one| (one.first..next).map(|seq| bytes(&seq)).sum());
        assert_eq!(line.part_bytes(), begun);
    }
}

#[test]
fn whatever_overtakes_what_each_message_is_delivered_once_and_in_its_order() {
    for seed in 0..60 {
        let mut dice = Rng::new(seed);
        let (sent, parts) = drawn(&mut dice);
        let mut line = ReorderBuffer::new(1, &[], MOST);
        let mut check = Check { sent, parts, here: BTreeSet::new(), got: Vec::new() };
        let reach = dice.between(1, 25);
        while line.next() <= check.parts.len() as u64 {
            let most = check.parts.len() as u64;
            let seq = (line.next() + dice.below(reach)).min(most);
            if !line.has(seq) {
                let message = check.parts[seq as usize - 1].clone();
                check.here.insert(seq);
                let got = &mut check.got;
                line.put(seq, message, &mut |whole| got.push(whole)).unwrap();
                check.look(&line);
            }
        }
    }
}

fn part(order: DeliveryOrder, (continues, more): (bool, bool), length: usize) -> MessageFragment {
    MessageFragment { order, continues, more, payload: vec![7; length].into() }
}

/// Puts parts in their order; what each was, and the lengths delivered.
fn put(parts: &[(bool, bool, usize)]) -> (Vec<Result<(), Rejection>>, Vec<usize>) {
    let (mut line, mut got) = (ReorderBuffer::new(1, &[], MOST), Vec::new());
    let mut results = Vec::new();
    for (seq, &(continues, more, length)) in (1..).zip(parts) {
        let message = part(DeliveryOrder::InOrder, (continues, more), length);
        results.push(line.put(seq, message, &mut |whole| got.push(whole.payload.len())));
    }
    (results, got)
}

#[test]
fn parts_that_do_not_belong_together_are_named_and_discarded() {
    let bad = Err(Rejection::BadParts);
    // The first part is missing: all others of that message are discarded.
    let parts = [(true, true, 3), (true, false, 3), (false, false, 5)];
    assert_eq!(put(&parts), (vec![bad, Ok(()), Ok(())], vec![5]));
    // The last part is missing: what comes next stands for itself.
    let parts = [(false, true, 3), (false, true, 4), (true, false, 4), (false, false, 1)];
    assert_eq!(put(&parts), (vec![Ok(()), bad, Ok(()), Ok(())], vec![8, 1]));
}

#[test]
fn a_message_of_the_greatest_length_is_delivered_and_a_longer_one_is_not() {
    let parts = [(false, true, 20), (true, false, 20), (false, false, 1)];
    assert_eq!(put(&parts), (vec![Ok(()); 3], vec![40, 1]));
    let long = Err(Rejection::TooLong);
    let parts = [(false, true, 20), (true, true, 21), (true, false, 1), (false, false, 1)];
    assert_eq!(put(&parts), (vec![Ok(()), long, Ok(()), Ok(())], vec![1]));
    // At once, and early: it is not delivered before its turn, and not then.
    let (mut line, mut got) = (ReorderBuffer::new(1, &[], MOST), Vec::new());
    let mut early = |seq, what, length| {
        let message = part(DeliveryOrder::AtOnce, what, length);
        let result = line.put(seq, message, &mut |whole| got.push(whole.seq));
        (result, got.clone(), line.early_bytes())
    };
    assert_eq!(early(2, (false, true), 20), (Ok(()), vec![], 20));
    assert_eq!(early(3, (true, false), 20), (Ok(()), vec![3], 0));
    assert_eq!(early(4, (false, true), 20), (Ok(()), vec![3], 20));
    assert_eq!(early(5, (true, false), 21), (Ok(()), vec![3], 41));
    assert_eq!(early(1, (false, false), 0), (long, vec![3, 1], 0));
}

#[test]
fn what_was_delivered_at_once_before_is_not_missing() {
    let (mut line, mut got) = (ReorderBuffer::new(5, &[3, 5, 6, 9], MOST), Vec::new());
    assert!(line.gone().into_iter().eq([6, 9]));
    assert!([3, 4, 6, 9].into_iter().all(|seq| line.has(seq)));
    assert!([5, 7, 8, 10].into_iter().all(|seq| !line.has(seq)));
    for seq in [5, 8, 7] {
        let message = part(DeliveryOrder::InOrder, (false, false), 1);
        line.put(seq, message, &mut |whole| got.push(whole.seq)).unwrap();
    }
    assert_eq!((line.next(), got, line.early_bytes()), (10, vec![5, 7, 8], 0));
}

/// A sender that mixes them up: the first part of a message is to wait for its
/// turn, the second claims to be delivered at once.
#[test]
fn what_is_to_wait_for_its_turn_is_not_taken_along_by_a_part_that_is_not() {
    let (mut line, mut got) = (ReorderBuffer::new(1, &[], MOST), Vec::new());
    line.put(2, part(DeliveryOrder::InOrder, (false, true), 3), &mut |whole| got.push(whole.seq))
        .unwrap();
    line.put(3, part(DeliveryOrder::AtOnce, (true, false), 3), &mut |whole| got.push(whole.seq))
        .unwrap();
    assert_eq!((got, line.early_bytes()), (vec![], 6));
}
