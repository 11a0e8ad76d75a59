//! Ordered maps and sets that share one order.
//!
//! Every kind of key here is a number of at most 128 bits, so the order of all
//! tables is of one and the same type ([`order`]), and only a thin shell
//! around a list of values is compiled anew for each kind of table: the page's
//! module stays small, and a clone of a small table copies two flat lists.

mod order;

use alloc::vec::Vec;
use core::net::IpAddr;
use core::ops::{Bound, Index, RangeBounds};

use self::order::{Order, Slots};
use crate::id::FileKey;
use crate::id::{ConnId, FetchId, FileIndex, Guid};
use crate::time::Instant;

/// What can be a key: something with a rank. Different keys have different
/// ranks, and the smaller key the smaller rank.
pub trait Key: Copy {
    /// Where the key stands among all of its kind.
    fn rank(self) -> u128;
}

macro_rules! numbers {
    ($($type:ty: $key:ident => $number:expr;)*) => {$(
        impl Key for $type {
            fn rank(self) -> u128 {
                let $key = self;
                u128::from($number)
            }
        }
    )*};
}
numbers! {
    u32: n => n;
    u64: n => n;
    ConnId: conn => conn.0;
    FetchId: fetch => fetch.0;
    FileIndex: file => file.0;
    FileKey: file => file.0;
    Instant: at => at.as_micros();
    crate::id::NodeId: node => node.0;
    Guid: id => in_order(id.0);
}

// The page's machine turns no bytes around: this is a hundred instructions.
#[cfg_attr(target_arch = "wasm32", inline(never))]
const fn in_order(bytes: [u8; 16]) -> u128 {
    u128::from_be_bytes(bytes)
}

impl Key for IpAddr {
    /// An IPv4 address is the same key as itself written as an IPv6 one.
    fn rank(self) -> u128 {
        match self {
            Self::V4(ip) => in_order(ip.to_ipv6_mapped().octets()),
            Self::V6(ip) => in_order(ip.octets()),
        }
    }
}

/// A number of at most 64 bits, and one more.
impl<A: Key + Half, B: Key + Half> Key for (A, B) {
    fn rank(self) -> u128 {
        self.0.rank() << 64 | self.1.rank()
    }
}

/// Keys of which two make one.
pub trait Half {}
impl Half for u32 {}
impl Half for u64 {}
impl Half for ConnId {}
impl Half for FetchId {}
impl Half for FileIndex {}
impl Half for FileKey {}
impl Half for Instant {}
impl Half for crate::id::NodeId {}

/// Sorts pairs of numbers. For whoever has to sort anything: each kind of list
/// that is sorted costs the page's module six kilobytes.
#[cfg(not(target_arch = "wasm32"))]
pub fn sort_pairs(pairs: &mut [(u64, u64)]) {
    pairs.sort_unstable();
}

/// The same with less code, for the page's module: equal pairs are the same, so
/// there is but one outcome.
#[cfg(target_arch = "wasm32")]
#[inline(never)]
pub fn sort_pairs(pairs: &mut [(u64, u64)]) {
    heap_sort(pairs);
}

/// Sorts in place, whatever the order before (heapsort).
#[cfg(any(target_arch = "wasm32", test))]
fn heap_sort(pairs: &mut [(u64, u64)]) {
    // First everything becomes a heap with the largest in front, then that one
    // goes behind the rest, again and again.
    let half = pairs.len() / 2;
    for step in (0..pairs.len() + half).rev() {
        let mut parent = match step.checked_sub(pairs.len()) {
            Some(parent) => parent,
            None => {
                pairs.swap(0, step);
                0
            }
        };
        let end = step.min(pairs.len());
        let heap = &mut pairs[..end];
        while let Some(mut child) = Some(2 * parent + 1).filter(|child| *child < heap.len()) {
            if heap.get(child + 1).is_some_and(|other| *other > heap[child]) {
                child += 1;
            }
            if heap[child] <= heap[parent] {
                break;
            }
            heap.swap(child, parent);
            parent = child;
        }
    }
}

/// An ordered map.
#[derive(Debug)]
pub struct Table<K, V> {
    order: Order,
    rows: Vec<Option<(K, V)>>,
}

impl<K: Clone, V: Clone> Clone for Table<K, V> {
    // A node has twenty of them: to copy this into its own clone is not worth
    // what the page's module grows by.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn clone(&self) -> Self {
        if self.rows.is_empty() {
            return Self::new();
        }
        Self { order: self.order.clone(), rows: self.rows.clone() }
    }
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> Table<K, V> {
    /// An empty one.
    #[must_use]
    pub const fn new() -> Self {
        Self { order: Order::new(), rows: Vec::new() }
    }
    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }
    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Removes everything.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    fn rows<'a>(&'a self, slots: Slots<'a>) -> Rows<'a, K, V> {
        Rows { slots, rows: &self.rows }
    }
    /// Everything, in order.
    #[must_use]
    pub fn iter(&self) -> Rows<'_, K, V> {
        self.rows(self.order.all())
    }
    /// The keys, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + Clone {
        self.iter().map(|(key, _)| key)
    }
    /// The values, in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + Clone {
        self.iter().map(|(_, value)| value)
    }
    /// Does something with every value, in the order of their keys.
    pub fn each_mut(&mut self, mut change: impl FnMut(&K, &mut V)) {
        for slot in self.order.all() {
            if let Some(Some((key, value))) = self.rows.get_mut(slot) {
                change(key, value);
            }
        }
    }
    /// What has the smallest key.
    #[must_use]
    pub fn first(&self) -> Option<(&K, &V)> {
        let (key, value) = self.rows.get(self.order.first()?)?.as_ref()?;
        Some((key, value))
    }
    /// What has the largest key.
    #[must_use]
    pub fn last(&self) -> Option<(&K, &V)> {
        self.iter().next_back()
    }
    /// The values, in the order of their keys.
    #[must_use]
    pub fn into_values(mut self) -> Vec<V> {
        let slots = self.order.all();
        slots.filter_map(|slot| self.rows.get_mut(slot)?.take()).map(|(_, value)| value).collect()
    }
}

impl<K: Key, V> Table<K, V> {
    /// A value.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&V> {
        let slot = self.order.find(key.rank())?;
        self.rows.get(slot)?.as_ref().map(|(_, value)| value)
    }
    /// A value to change.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let slot = self.order.find_mut(key.rank())?;
        self.rows.get_mut(slot)?.as_mut().map(|(_, value)| value)
    }
    /// True when the key is there.
    #[must_use]
    pub fn contains_key(&self, key: &K) -> bool {
        self.order.find(key.rank()).is_some()
    }
    /// Puts a value in, giving back the one it replaces.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let slot = self.order.place(key.rank(), self.rows.len());
        match self.rows.get_mut(slot) {
            Some(row) => row.replace((key, value)).map(|(_, value)| value),
            None => {
                self.rows.push(Some((key, value)));
                None
            }
        }
    }
    /// The value of a key, made when it is not there yet.
    ///
    /// # Panics
    /// Never: the row it makes is the row it finds.
    pub fn or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let slot = self.order.place(key.rank(), self.rows.len());
        if slot == self.rows.len() {
            self.rows.push(None);
        }
        &mut self.rows[slot].get_or_insert_with(|| (key, make())).1
    }
    /// The value of a key, the default when it is not there yet.
    pub fn or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.or_insert_with(key, V::default)
    }
    /// Takes a value out.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let slot = self.order.remove(key.rank(), self.rows.len())?;
        let row = self.rows.get_mut(slot)?.take();
        if slot + 1 == self.rows.len() {
            self.rows.pop();
        }
        row.map(|(_, value)| value)
    }
    /// Takes out what has the smallest key.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        let (key, _) = self.first()?;
        let key = *key;
        self.remove(&key).map(|value| (key, value))
    }
    /// What has keys in a range, in order.
    pub fn range(&self, keys: impl RangeBounds<K>) -> Rows<'_, K, V> {
        let from = match keys.start_bound() {
            Bound::Unbounded => Some(0),
            Bound::Included(key) => Some(key.rank()),
            Bound::Excluded(key) => key.rank().checked_add(1),
        };
        let to = match keys.end_bound() {
            Bound::Unbounded => Some(u128::MAX),
            Bound::Included(key) => Some(key.rank()),
            Bound::Excluded(key) => key.rank().checked_sub(1),
        };
        let slots = match (from, to) {
            (Some(from), Some(to)) if from <= to => self.order.range(from, to),
            _ => self.order.none(),
        };
        self.rows(slots)
    }
    /// The keys of what is wanted, in order.
    pub fn keys_where(&self, mut wanted: impl FnMut(&K, &V) -> bool) -> Vec<K> {
        self.pick(&mut wanted)
    }
    // What is wanted is another function everywhere; this is one for all.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn pick(&self, wanted: &mut dyn FnMut(&K, &V) -> bool) -> Vec<K> {
        self.iter().filter(|(key, value)| wanted(key, value)).map(|(key, _)| *key).collect()
    }
    /// Keeps only what is wanted.
    pub fn retain(&mut self, mut wanted: impl FnMut(&K, &V) -> bool) {
        for key in self.keys_where(|key, value| !wanted(key, value)) {
            self.remove(&key);
        }
    }
}

impl<K: Key, V> Index<&K> for Table<K, V> {
    type Output = V;
    fn index(&self, key: &K) -> &V {
        match self.get(key) {
            Some(value) => value,
            None => panic!("no such key in the table"),
        }
    }
}

impl<K: Key, V> FromIterator<(K, V)> for Table<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(rows: I) -> Self {
        let mut table = Self::new();
        for (key, value) in rows {
            table.insert(key, value);
        }
        table
    }
}

/// Keys and values in order.
#[derive(Debug)]
pub struct Rows<'a, K, V> {
    slots: Slots<'a>,
    rows: &'a [Option<(K, V)>],
}

impl<K, V> Clone for Rows<'_, K, V> {
    fn clone(&self) -> Self {
        Self { slots: self.slots.clone(), rows: self.rows }
    }
}
impl<'a, K, V> Iterator for Rows<'a, K, V> {
    type Item = (&'a K, &'a V);
    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.rows.get(self.slots.next()?)?.as_ref()?;
        Some((key, value))
    }
}
impl<K, V> DoubleEndedIterator for Rows<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let (key, value) = self.rows.get(self.slots.next_back()?)?.as_ref()?;
        Some((key, value))
    }
}

/// An ordered set.
#[derive(Debug, Clone)]
pub struct Set<K>(Table<K, ()>);

impl<K> Default for Set<K> {
    fn default() -> Self {
        Self(Table::new())
    }
}

impl<K: Key> Set<K> {
    /// An empty one.
    #[must_use]
    pub const fn new() -> Self {
        Self(Table::new())
    }
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// True when it is there.
    #[must_use]
    pub fn contains(&self, key: &K) -> bool {
        self.0.contains_key(key)
    }
    /// Puts one in; true when it was not there.
    pub fn insert(&mut self, key: K) -> bool {
        self.0.insert(key, ()).is_none()
    }
    /// Takes one out; true when it was there.
    pub fn remove(&mut self, key: &K) -> bool {
        self.0.remove(key).is_some()
    }
    /// The smallest.
    #[must_use]
    pub fn first(&self) -> Option<&K> {
        self.0.first().map(|(key, ())| key)
    }
    /// All, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &K> + Clone {
        self.0.keys()
    }
    /// Those in a range, in order.
    pub fn range(&self, keys: impl RangeBounds<K>) -> impl DoubleEndedIterator<Item = &K> {
        self.0.range(keys).map(|(key, ())| key)
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
