//! A slab in chunks: growing never moves what is stored, so a million entries
//! cause no long pause and never take twice their memory.

use alloc::vec::Vec;

/// Entries in one chunk.
const CHUNK: usize = 512;

/// Values by small keys, which are reused: lowest chunk first, then in order of
/// removal.
#[derive(Debug, Clone)]
pub(crate) struct Slab<T> {
    chunks: Vec<Vec<Cell<T>>>,
    free: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
enum Cell<T> {
    Full(T),
    Empty { next: Option<u32> },
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self { chunks: Vec::new(), free: None }
    }

    /// The key of the next value to be stored.
    pub(crate) fn next_key(&self) -> u32 {
        let at_the_end = self
            .chunks
            .last()
            .map_or(0, |last| ((self.chunks.len() - 1) * CHUNK + last.len()) as u32);
        self.free.unwrap_or(at_the_end)
    }

    pub(crate) fn get(&self, key: u32) -> Option<&T> {
        match self.chunks.get(key as usize / CHUNK)?.get(key as usize % CHUNK)? {
            Cell::Full(thing) => Some(thing),
            Cell::Empty { .. } => None,
        }
    }

    /// Stores a value and returns its key.
    ///
    /// # Panics
    /// When there are 2³² values already.
    pub(crate) fn insert(&mut self, thing: T) -> u32 {
        if let Some(key) = self.free {
            let cell = self.cell_mut(key);
            if let Cell::Empty { next } = core::mem::replace(cell, Cell::Full(thing)) {
                self.free = next;
                return key;
            }
            unreachable!("the free list names an empty cell");
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let before = (self.chunks.len() - 1) * CHUNK;
        let chunk = self.chunks.last_mut().expect("a chunk was just made sure of");
        let key = u32::try_from(before + chunk.len()).expect("fewer than 2^32 things");
        chunk.push(Cell::Full(thing));
        key
    }

    /// Removes a value.
    ///
    /// # Panics
    /// When there is no value under `key`.
    pub(crate) fn remove(&mut self, key: u32) -> T {
        let next = self.free;
        let old = core::mem::replace(self.cell_mut(key), Cell::Empty { next });
        self.free = Some(key);
        match old {
            Cell::Full(thing) => thing,
            Cell::Empty { .. } => unreachable!("removed twice"),
        }
    }

    fn cell_mut(&mut self, key: u32) -> &mut Cell<T> {
        &mut self.chunks[key as usize / CHUNK][key as usize % CHUNK]
    }
}

impl<T> core::ops::Index<u32> for Slab<T> {
    type Output = T;
    fn index(&self, key: u32) -> &T {
        match &self.chunks[key as usize / CHUNK][key as usize % CHUNK] {
            Cell::Full(thing) => thing,
            Cell::Empty { .. } => unreachable!("no thing under this key"),
        }
    }
}

impl<T> core::ops::IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, key: u32) -> &mut T {
        match self.cell_mut(key) {
            Cell::Full(thing) => thing,
            Cell::Empty { .. } => unreachable!("no thing under this key"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn behaves_like_a_map(steps in prop::collection::vec(any::<Option<u8>>(), 0..2_000)) {
            let (mut slab, mut model) = (Slab::new(), BTreeMap::new());
            for (at, step) in steps.into_iter().enumerate() {
                let victim = step.and_then(|n| model.keys().copied().nth(usize::from(n)));
                match victim {
                    Some(key) => prop_assert_eq!(Some(slab.remove(key)), model.remove(&key)),
                    None => {
                        let key = slab.next_key();
                        prop_assert_eq!(slab.get(key), None);
                        prop_assert_eq!(slab.insert(at), key);
                        prop_assert_eq!(model.insert(key, at), None);
                    }
                }
            }
            for (key, thing) in model {
                prop_assert_eq!(slab[key], thing);
            }
        }
    }

    #[test]
    fn the_next_key_is_known_across_chunks() {
        let mut slab = Slab::new();
        for at in 0..3 * CHUNK as u32 + 7 {
            assert_eq!(slab.next_key(), at);
            assert_eq!(slab.insert(at), at);
        }
    }
}
