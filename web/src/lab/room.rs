//! The module's memory, grown in few large steps.
//!
//! The allocator requests more in pieces of 64 KiB, and each request makes the
//! browser inspect the whole memory: with many keyframes that took most of the
//! time of a run.

/// Reserves half as much again when the memory has grown since the last check,
/// and little where that would be much;
/// if that much is not available, nothing is lost.
#[derive(Debug, Default)]
pub(crate) struct Room {
    #[cfg(target_arch = "wasm32")]
    pages: usize,
}

impl Room {
    /// Checks the memory.
    pub(crate) fn look(&mut self) {
        #[cfg(target_arch = "wasm32")]
        {
            use core::arch::wasm32::memory_size;
            const PAGE: usize = 65_536;
            // More than a large world needs between two looks.
            const AHEAD: usize = 64 << 20;
            let pages = memory_size(0);
            if pages != self.pages {
                let mut room: Vec<u8> = Vec::new();
                // Freed at once: the allocator keeps the pages.
                let _ =
                    core::hint::black_box(room.try_reserve_exact((pages * PAGE / 2).min(AHEAD)));
                core::hint::black_box(&room);
                drop(room);
                self.pages = memory_size(0);
            }
        }
    }
}
