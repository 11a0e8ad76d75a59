//! A recording of several nodes: their recordings in one file, one behind the other.

use alloc::vec::Vec;

use super::player::Player;
use super::qlog::Split;

/// How the header of a recording begins, see [`super::qlog::header`].
const HEADER: &[u8] = b"{\"file_schema\"";

/// True when a file begins as a recording does.
#[must_use]
pub fn is_tape(file: &[u8]) -> bool {
    Split::new(file).next().is_some_and(|line| line.starts_with(HEADER))
}

/// Where each recording of a file begins, and where the last one ends. What stands
/// before the first header belongs to the first tape.
#[must_use]
pub fn tapes(file: &[u8]) -> Vec<&[u8]> {
    let mut tapes = Vec::new();
    let (mut split, mut begun, mut at) = (Split::new(file), 0, 0);
    while let Some(line) = split.next() {
        if line.starts_with(HEADER) && at > begun {
            tapes.push(&file[begun..at]);
            begun = at;
        }
        at = split.rest();
    }
    tapes.push(&file[begun..]);
    tapes
}

/// Reads such a file as it comes: a player for each tape.
#[derive(Debug, Default)]
pub struct Players {
    all: Vec<Player>,
    partial: Vec<u8>,
}

impl Players {
    /// Adds more of the file; a line may be split between two calls.
    pub fn append(&mut self, bytes: &[u8]) {
        self.partial.extend_from_slice(bytes);
        let bytes = core::mem::take(&mut self.partial);
        let mut split = Split::new(&bytes);
        (&mut split).for_each(drop);
        let (whole, rest) = bytes.split_at(split.rest());
        for part in tapes(whole).into_iter().filter(|part| !part.is_empty()) {
            if is_tape(part) || self.all.is_empty() {
                self.all.push(Player::new());
            }
            if let Some(player) = self.all.last_mut() {
                player.append(part);
            }
        }
        self.partial = rest.to_vec();
    }

    /// The players, in the order of their recordings; the end of a last line that has
    /// none is left out.
    #[must_use]
    pub fn all(self) -> Vec<Player> {
        self.all
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec::Vec;

    use super::*;
    use crate::id::NodeId;
    use crate::node::Config;
    use crate::time::Instant;
    use crate::trace::qlog;
    use crate::trace::tape::{RecordingLog, Start};

    fn tape(name: &str) -> String {
        let mut lines = Vec::new();
        let start = Start::new(NodeId(0), name, 1, Config::default());
        let writer = RecordingLog::new(Instant::from_secs(1), start, &mut lines);
        writer.checkpoint(Instant::from_secs(2), &mut lines);
        lines.iter().map(|line| qlog::frame(line)).collect()
    }

    fn names(players: &[Player]) -> Vec<&str> {
        players.iter().filter_map(|player| Some(player.start()?.name.as_str())).collect()
    }

    /// WB-5
    #[test]
    fn tapes_that_follow_each_other_are_told_apart_however_the_file_comes() {
        let file = [tape("a"), tape("b"), tape("c")].concat();
        let parts = tapes(file.as_bytes());
        assert_eq!(parts.len(), 3);
        assert_eq!(parts.concat(), file.as_bytes());
        for size in [1, 7, 300, file.len()] {
            let mut players = Players::default();
            file.as_bytes().chunks(size).for_each(|chunk| players.append(chunk));
            let all = players.all();
            assert_eq!(names(&all), ["a", "b", "c"], "in pieces of {size}");
            assert!(all.iter().all(|player| player.report().verified == 1));
        }
    }

    #[test]
    fn a_file_of_one_tape_or_of_none_is_one_part() {
        assert_eq!(tapes(tape("a").as_bytes()).len(), 1);
        assert_eq!(tapes(b"").len(), 1);
        let mut players = Players::default();
        players.append(b"no tape\n{\"cut");
        assert_eq!(players.all().len(), 1);
    }
}
