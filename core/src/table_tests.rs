//! A table does what the standard library's ordered map does.

use alloc::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn all<V: Clone>(table: &Table<u64, V>) -> Vec<(u64, V)> {
    table.iter().map(|(key, value)| (*key, value.clone())).collect()
}

proptest! {
    #[test]
    fn pairs_are_sorted_on_every_target(mut pairs in prop::collection::vec((0..9_u64, any::<u64>()), 0..70)) {
        let mut sorted = pairs.clone();
        sorted.sort_unstable();
        heap_sort(&mut pairs);
        prop_assert_eq!(pairs, sorted);
    }

    /// Enough keys for many runs.
    #[test]
    fn a_large_table_is_one_too(
        steps in prop::collection::vec((0_u8..8, 0_u64..900), 500..2_500),
    ) {
        let (mut table, mut model) = (Table::new(), BTreeMap::new());
        for (what, key) in steps {
            match what {
                0 => {
                    let below = model.range(..key).next_back().map(|(k, _)| *k);
                    prop_assert_eq!(table.range(..key).next_back().map(|(k, _)| *k), below);
                    if let Some(below) = below {
                        prop_assert_eq!(table.remove(&below), model.remove(&below));
                    }
                }
                1 => prop_assert_eq!(table.remove(&key), model.remove(&key)),
                2 => prop_assert_eq!(table.pop_first(), model.pop_first()),
                3 => {
                    // Upwards, as deadlines come in.
                    let key = model.last_key_value().map_or(0, |(k, _)| *k) + 1;
                    prop_assert_eq!(table.insert(key, key), model.insert(key, key));
                }
                _ => prop_assert_eq!(table.insert(key, what.into()), model.insert(key, what.into())),
            }
            prop_assert_eq!(table.first(), model.first_key_value());
            prop_assert_eq!(table.range(key..key + 50).count(), model.range(key..key + 50).count());
        }
        prop_assert!(table.iter().eq(model.iter()));
        prop_assert!(table.iter().rev().eq(model.iter().rev()));
        while let Some(first) = model.pop_first() {
            prop_assert_eq!(table.pop_first(), Some(first));
        }
        prop_assert!(table.is_empty());
    }

    #[test]
    fn a_table_is_an_ordered_map(
        steps in prop::collection::vec((0_u8..6, 0_u64..40, 0_u64..40), 0..400),
    ) {
        let (mut table, mut model) = (Table::new(), BTreeMap::new());
        for (what, key, other) in steps {
            match what {
                0 => prop_assert_eq!(table.insert(key, other), model.insert(key, other)),
                1 => prop_assert_eq!(table.remove(&key), model.remove(&key)),
                2 => prop_assert_eq!(
                    table.or_insert_with(key, || other),
                    model.entry(key).or_insert(other)
                ),
                3 => prop_assert_eq!(table.pop_first(), model.pop_first()),
                4 => {
                    table.retain(|k, v| (k + v + other) % 3 != 0);
                    model.retain(|k, v| (*k + *v + other) % 3 != 0);
                }
                _ => {
                    table.each_mut(|k, v| *v += k);
                    model.iter_mut().for_each(|(k, v)| *v += k);
                }
            }
            prop_assert_eq!(all(&table), model.clone().into_iter().collect::<Vec<_>>());
            prop_assert_eq!((table.len(), table.is_empty()), (model.len(), model.is_empty()));
            prop_assert_eq!(table.get(&key), model.get(&key));
            prop_assert_eq!(table.contains_key(&key), model.contains_key(&key));
            prop_assert_eq!((table.first(), table.last()), (model.first_key_value(), model.last_key_value()));
            let (low, high) = (key.min(other), key.max(other));
            prop_assert!(table.range(low..high).eq(model.range(low..high)));
            prop_assert!(table.range(..=low).rev().eq(model.range(..=low).rev()));
            let after = (Bound::Excluded(low), Bound::Unbounded);
            prop_assert!(table.range(after).eq(model.range(after)));
            prop_assert!(table.rows.len() <= 40, "a free slot is used again");
        }
        let values: Vec<u64> = model.into_values().collect();
        prop_assert_eq!(table.into_values(), values);
    }

    #[test]
    fn ranks_keep_the_order_of_keys(a: (u64, u64), b: (u64, u64), x: u128, y: u128) {
        prop_assert_eq!(a.rank().cmp(&b.rank()), a.cmp(&b));
        let (x, y) = (Guid(x.to_be_bytes()), Guid(y.to_be_bytes()));
        prop_assert_eq!(x.rank().cmp(&y.rank()), x.cmp(&y));
    }
}

#[test]
fn a_range_that_is_empty_by_its_borders_is_empty() {
    let table: Table<u64, ()> = [(0, ()), (1, ())].into_iter().collect();
    assert_eq!(table.range(..0).count(), 0);
    assert_eq!(table.range(1..1).count(), 0);
    let above = (Bound::Excluded(Guid([0xff; 16])), Bound::Unbounded);
    let ids: Table<Guid, ()> = [(Guid([0xff; 16]), ())].into_iter().collect();
    assert_eq!(ids.range(above).count(), 0);
}

#[test]
fn a_set_holds_each_key_once() {
    let mut set = Set::new();
    assert!(set.insert((Instant::from_secs(2), ConnId(1))));
    assert!(set.insert((Instant::from_secs(1), ConnId(9))));
    assert!(!set.insert((Instant::from_secs(1), ConnId(9))));
    assert_eq!(set.first(), Some(&(Instant::from_secs(1), ConnId(9))));
    assert!(set.remove(&(Instant::from_secs(1), ConnId(9))));
    assert!(!set.contains(&(Instant::from_secs(1), ConnId(9))));
    assert_eq!((set.len(), set.iter().count()), (1, 1));
}
