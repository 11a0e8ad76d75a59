//! What an idle connection keeps allocated.

use alloc::collections::VecDeque;

/// Elements for which an empty queue keeps its memory: so many messages of a dialogue
/// cost no allocation, and a thousand idle peers cost little (PA-3).
const IDLE: usize = 8;

/// Gives the memory of an empty queue back. What fills it again pays for its growth by
/// what it puts in.
pub(super) fn release<T>(queue: &mut VecDeque<T>) {
    if queue.is_empty() && queue.capacity() > IDLE {
        *queue = VecDeque::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_queue_keeps_what_a_dialogue_takes() {
        let mut few: VecDeque<u64> = (0..4).collect();
        few.clear();
        release(&mut few);
        assert!(few.capacity() >= 4);
        let mut many: VecDeque<u64> = (0..1_000).collect();
        release(&mut many);
        assert!(many.capacity() >= 1_000);
        many.clear();
        release(&mut many);
        assert_eq!(many.capacity(), 0);
    }
}
