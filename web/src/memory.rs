//! The module's memory: pieces of a few sizes, and a list of free ones for each.
//!
//! A world is copied and dropped as a whole again and again, so the same sizes
//! come back and nothing has to be joined or searched for. What the standard
//! library brings does both, is three kilobytes of the module, and asks the
//! browser for 64 KiB at a time; each time the browser looks at everything it
//! holds, which with many keyframes took most of a run.

#![allow(unsafe_code)]

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ptr;

/// Every piece is aligned to this, and its size a multiple of it.
const UNIT: usize = 16;
/// Sizes up to this are rounded up to the next unit; larger ones to the next
/// quarter of a power of two.
const SMALL: usize = 8 * UNIT;
/// How many sizes of pieces there are below 2 GiB.
const SIZES: usize = 8 + 4 * 24;

/// Where memory comes from.
trait Source {
    /// Adds at least so many bytes, aligned to a unit: where they begin, and
    /// how many they are.
    fn more(&self, bytes: usize) -> Option<(*mut u8, usize)>;
}

/// Memory in pieces. It is for one thread alone.
struct Pieces<S> {
    source: S,
    /// For each size the first free piece, in which stands where the next is.
    free: [Cell<*mut u8>; SIZES],
    /// What was never given out.
    fresh: Cell<*mut u8>,
    left: Cell<usize>,
}

/// The number of the size that has room for so many bytes, and that size.
const fn piece(bytes: usize) -> (usize, usize) {
    if bytes <= SMALL {
        let units = if bytes == 0 { 1 } else { bytes.div_ceil(UNIT) };
        return (units - 1, units * UNIT);
    }
    // The first three bits of the largest number that needs the same piece.
    let last = bytes - 1;
    let shift = (usize::BITS - 3 - last.leading_zeros()) as usize;
    let quarters = last >> shift;
    (8 + 4 * (shift - 5) + (quarters - 4), (quarters + 1) << shift)
}

impl<S: Source> Pieces<S> {
    const fn new(source: S) -> Self {
        Self {
            source,
            free: [const { Cell::new(ptr::null_mut()) }; SIZES],
            fresh: Cell::new(ptr::null_mut()),
            left: Cell::new(0),
        }
    }

    /// A piece nobody has had yet.
    fn cut(&self, size: usize) -> *mut u8 {
        if self.left.get() < size {
            let Some((start, more)) = self.source.more(size) else { return ptr::null_mut() };
            let adjoins = start == self.fresh.get().wrapping_add(self.left.get());
            if !adjoins {
                self.fresh.set(start);
                self.left.set(0);
            }
            self.left.set(self.left.get() + more);
        }
        let piece = self.fresh.get();
        self.fresh.set(piece.wrapping_add(size));
        self.left.set(self.left.get() - size);
        piece
    }
}

// SAFETY: a piece is either in its list or with one owner, and as large and as
// aligned as that owner asked for; nothing here unwinds.
unsafe impl<S: Source> GlobalAlloc for Pieces<S> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > UNIT || layout.size() > isize::MAX as usize / 2 {
            return ptr::null_mut();
        }
        let (number, size) = piece(layout.size());
        let first = self.free[number].get();
        if first.is_null() {
            return self.cut(size);
        }
        // SAFETY: a free piece begins with where the next one is.
        self.free[number].set(unsafe { first.cast::<*mut u8>().read() });
        first
    }

    unsafe fn dealloc(&self, gone: *mut u8, layout: Layout) {
        let list = &self.free[piece(layout.size()).0];
        // SAFETY: it is ours again, and larger than an address.
        unsafe { gone.cast::<*mut u8>().write(list.get()) };
        list.set(gone);
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if piece(layout.size()).0 == piece(bytes).0 {
            return old;
        }
        // SAFETY: the same alignment; the caller sees to the rest.
        let new = unsafe { self.alloc(Layout::from_size_align_unchecked(bytes, layout.align())) };
        if !new.is_null() {
            // SAFETY: two pieces, both as long as what is copied.
            unsafe {
                ptr::copy_nonoverlapping(old, new, layout.size().min(bytes));
                self.dealloc(old, layout);
            }
        }
        new
    }
}

#[cfg(target_arch = "wasm32")]
mod module {
    use core::arch::wasm32::{memory_grow, memory_size};

    use super::{Pieces, Source};

    const PAGE: usize = 65_536;

    /// The memory of the module, which grows by half of what it is at least.
    struct Memory;

    impl Source for Memory {
        fn more(&self, bytes: usize) -> Option<(*mut u8, usize)> {
            let least = bytes.div_ceil(PAGE);
            [least.max(memory_size(0) / 2), least].into_iter().find_map(|pages| {
                let before = memory_grow(0, pages);
                (before != usize::MAX).then_some(((before * PAGE) as *mut u8, pages * PAGE))
            })
        }
    }

    // SAFETY: the module has one thread.
    unsafe impl Sync for Pieces<Memory> {}

    #[global_allocator]
    static MEMORY: Pieces<Memory> = Pieces::new(Memory);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of bytes, handed out in two halves.
    struct Row(*mut u8, usize, Cell<usize>);

    impl Source for Row {
        fn more(&self, bytes: usize) -> Option<(*mut u8, usize)> {
            let half = self.1 / 2;
            let given = self.2.replace(self.2.get() + half);
            (given < self.1 && bytes <= half).then(|| (self.0.wrapping_add(given), half))
        }
    }

    #[test]
    fn a_piece_has_room_and_wastes_little() {
        let mut last = (0, UNIT);
        for bytes in (0..70_000).chain((1 << 20) - 9..(1 << 20) + 9).chain([(1 << 31) - 1]) {
            let (number, size) = piece(bytes);
            assert!(size >= bytes && size.is_multiple_of(UNIT) && number < SIZES, "{bytes}");
            assert!(size <= bytes + (bytes / 4).max(UNIT), "{bytes} in {size}");
            assert_eq!(number == last.0, size == last.1, "{bytes}");
            last = (number, size);
        }
    }

    #[test]
    fn pieces_come_back_and_never_overlap() {
        let mut row = vec![0_u128; 4_096];
        let (start, bytes) = (row.as_mut_ptr().cast::<u8>(), row.len() * 16);
        let pieces = Pieces::new(Row(start, bytes, Cell::new(0)));
        let layout = |bytes| Layout::from_size_align(bytes, 8).unwrap();
        // SAFETY: what is asked for is used as asked, and given back once.
        unsafe {
            let mut held: Vec<(*mut u8, usize)> = Vec::new();
            for n in 0..400_usize {
                let bytes = n * 37 % 300 + 1;
                let it = pieces.alloc(layout(bytes));
                assert!(it.addr().is_multiple_of(UNIT));
                it.write_bytes(n as u8, bytes);
                held.push((it, bytes));
                if n % 3 == 0 {
                    let (it, bytes) = held.swap_remove(n * 7 % held.len());
                    let byte = it.read();
                    let grown = pieces.realloc(it, layout(bytes), bytes + 100);
                    let same = (0..bytes).all(|i| grown.add(i).read() == byte);
                    assert!(same, "what is in it moves along");
                    pieces.dealloc(grown, layout(bytes + 100));
                }
            }
            for (it, bytes) in &held {
                let byte = it.read();
                assert!((0..*bytes).all(|i| it.add(i).read() == byte));
                pieces.dealloc(*it, layout(*bytes));
            }
            let (last, bytes) = held[held.len() - 1];
            assert_eq!(pieces.alloc(layout(bytes)), last, "the same one again");
            assert!(pieces.alloc(layout(bytes * 4_096)).is_null(), "there is no more");
        }
    }
}
