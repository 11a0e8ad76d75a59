//! The module's memory, grown in few large steps.
//!
//! The allocator asks for more in pieces of 64 KiB, and each piece costs the
//! browser a look at everything it holds: with many keyframes that was most of
//! the time a run took.

/// Makes room for half as much again when the memory has grown since the last
/// look at it; without that much to be had, nothing is lost.
#[derive(Debug, Default)]
pub(crate) struct Room {
    #[cfg(target_arch = "wasm32")]
    pages: usize,
}

impl Room {
    /// Looks at the memory.
    pub(crate) fn look(&mut self) {
        #[cfg(target_arch = "wasm32")]
        {
            use core::arch::wasm32::memory_size;
            const PAGE: usize = 65_536;
            let pages = memory_size(0);
            if pages != self.pages {
                let mut room: Vec<u8> = Vec::new();
                // Given back at once: the allocator keeps it.
                let _ = core::hint::black_box(room.try_reserve_exact(pages * PAGE / 2));
                core::hint::black_box(&room);
                drop(room);
                self.pages = memory_size(0);
            }
        }
    }
}
