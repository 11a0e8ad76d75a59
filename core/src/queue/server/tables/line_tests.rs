//! Compares the queue's order with the obvious model: a vector.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
enum LineStep {
    Push(u64),
    Front(u64),
    Swap(usize, usize),
    Remove(usize),
    Present(usize, bool),
    Bytes(usize, u64),
    /// Starts to close the gaps, whether or not it is worth it.
    Close,
}

fn steps(most: usize) -> impl Strategy<Value = Vec<LineStep>> {
    let step = prop_oneof![
        4 => (0..1_u64 << 40).prop_map(LineStep::Push),
        1 => (0..1_u64 << 40).prop_map(LineStep::Front),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(a, b)| LineStep::Swap(a, b)),
        3 => any::<usize>().prop_map(LineStep::Remove),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(at, p)| LineStep::Present(at, p)),
        1 => (any::<usize>(), any::<u64>()).prop_map(|(at, b)| LineStep::Bytes(at, b)),
        1 => Just(LineStep::Close),
    ];
    prop::collection::vec(step, 0..most)
}

#[derive(Default)]
struct Model {
    /// Entry, bytes, present.
    order: Vec<(u32, u64, bool)>,
    seats: BTreeMap<u32, u32>,
}

fn apply(line: &mut WaitingLine, model: &mut Model, number: u32, step: LineStep) {
    let pick = |at: usize| at % model.order.len().max(1);
    match step {
        LineStep::Close => line.closing = line.closing.or(Some(Closing::BEGIN)),
        LineStep::Front(bytes) => {
            if let Some(seat) = line.push_front(number, bytes) {
                model.seats.insert(number, seat);
                model.order.insert(0, (number, bytes, false));
            }
        }
        LineStep::Push(bytes) => {
            line.close_up(|entry, seat| {
                model.seats.insert(entry, seat);
            });
            model.seats.insert(number, line.push(number, bytes));
            model.order.push((number, bytes, false));
        }
        _ if model.order.is_empty() => {}
        LineStep::Swap(a, b) => {
            let (a, b) = (pick(a), pick(b));
            let (one, other) = (model.order[a].0, model.order[b].0);
            let (here, there) = (model.seats[&one], model.seats[&other]);
            line.swap(here, there);
            model.seats.extend([(one, there), (other, here)]);
            model.order.swap(a, b);
        }
        LineStep::Remove(at) => {
            let (entry, ..) = model.order.remove(pick(at));
            line.remove(model.seats[&entry]);
        }
        LineStep::Present(at, present) => {
            let at = pick(at);
            model.order[at].2 = present;
            line.set_present(model.seats[&model.order[at].0], present);
        }
        LineStep::Bytes(at, bytes) => {
            let at = pick(at);
            model.order[at].1 = bytes;
            line.set_bytes(model.seats[&model.order[at].0], bytes);
        }
    }
}

fn compare(line: &WaitingLine, model: &Model) {
    let (mut ahead, mut present) = (0_u64, 0);
    assert_eq!(line.len() as usize, model.order.len());
    for (i, &(entry, own, here)) in model.order.iter().enumerate() {
        let position = i as u32 + 1;
        let seat = model.seats[&entry];
        assert_eq!(line.position(seat), position);
        assert_eq!(line.at(position), Some(entry));
        assert_eq!(line.bytes_before(seat), ahead);
        ahead = ahead.wrapping_add(own);
        if here {
            present += 1;
            assert_eq!(line.present_at(present), Some(entry));
        }
    }
    assert_eq!(line.present(), present);
    assert_eq!(line.at(0), None);
    assert_eq!(line.at(line.len() + 1), None);
    assert_eq!(line.present_at(present + 1), None);
}

proptest! {
    #[test]
    fn behaves_like_a_vector(steps in steps(120)) {
        let (mut line, mut model) = (WaitingLine::new(), Model::default());
        for (number, step) in steps.into_iter().enumerate() {
            apply(&mut line, &mut model, number as u32, step);
            compare(&line, &model);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn closes_up_over_many_blocks_while_others_come_and_go(
        leaving in prop::collection::vec(any::<usize>(), 0..1_400),
        steps in steps(600),
    ) {
        let (mut line, mut model) = (WaitingLine::new(), Model::default());
        let joining = (0..1_400).map(LineStep::Push);
        let steps = joining.chain(leaving.into_iter().map(LineStep::Remove)).chain(steps);
        for (number, step) in steps.enumerate() {
            apply(&mut line, &mut model, number as u32, step);
            if number > 1_400 && number % 64 == 0 {
                compare(&line, &model);
            }
        }
        compare(&line, &model);
    }
}

#[test]
fn a_long_life_with_few_entries_stays_small() {
    let (mut line, mut model) = (WaitingLine::new(), Model::default());
    for number in 0..20_000 {
        apply(&mut line, &mut model, number, LineStep::Push(u64::from(number)));
        if model.order.len() > 600 {
            // Leaves every seventh behind, so that blocks stay half empty.
            let at = if number % 7 == 0 { 300 } else { 1 };
            apply(&mut line, &mut model, number, LineStep::Remove(at));
        }
    }
    compare(&line, &model);
    assert!(line.blocks.len() <= 2 * 3 + 5, "{} blocks for 600 entries", line.blocks.len());
    let sums = [&line.taken, &line.present, &line.bytes].map(Sums::len);
    assert_eq!(sums, [line.blocks.len(); 3]);
}

#[test]
fn a_client_back_at_the_front_is_in_the_way_of_none_that_still_moves_up() {
    let (mut line, mut model) = (WaitingLine::new(), Model::default());
    for number in 0..10 {
        apply(&mut line, &mut model, number, LineStep::Push(1));
    }
    // Those in front leave; four others move up, and leave too.
    for _ in 0..4 {
        apply(&mut line, &mut model, 0, LineStep::Remove(0));
    }
    apply(&mut line, &mut model, 0, LineStep::Close);
    apply(&mut line, &mut model, 10, LineStep::Push(1));
    for _ in 0..4 {
        apply(&mut line, &mut model, 0, LineStep::Remove(0));
    }
    apply(&mut line, &mut model, 11, LineStep::Front(1));
    for number in 12..20 {
        apply(&mut line, &mut model, number, LineStep::Push(1));
        compare(&line, &model);
    }
}

#[test]
fn an_empty_block_is_given_back_unless_the_next_entry_goes_there() {
    let mut line = WaitingLine::new();
    let seats: Vec<u32> = (0..3 * SEATS as u32).map(|entry| line.push(entry, 1)).collect();
    let last = line.blocks.len() - 1;
    let of = |block: usize| seats.iter().copied().filter(move |seat| split(*seat).0 == block);
    let gone = |line: &WaitingLine| line.blocks.iter().filter(|block| block.is_none()).count();
    for (count, block) in (0..last).enumerate() {
        of(block).skip(1).for_each(|seat| line.remove(seat));
        assert_eq!(gone(&line), count);
        line.remove(of(block).next().expect("a seat"));
        assert!(gone(&line) == count + 1 && line.blocks[block].is_none());
    }
    of(last).for_each(|seat| line.remove(seat));
    assert_eq!((line.len(), gone(&line)), (0, last), "the last one stays");
}
