//! What two pages say to each other to arrange a channel: lines of JSON, which
//! come through the room's servent. All of it is a stranger's.

use serde::{Deserialize, Serialize};

/// Bytes of a line that is not complete.
const LONGEST: usize = 16 * 1024;
/// Lines of one arrangement.
const MOST: u32 = 64;

/// One thing that is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Signal {
    /// How to speak: the offer of the calling page, or the answer to it (RFC 8829).
    Session(String),
    /// Where one may be reached (RFC 8839 §5.1), and the media section it is for.
    Candidate(String, Option<String>, Option<u16>),
    /// There is no such way to here.
    No,
}

impl Signal {
    /// The line that says it.
    pub(super) fn line(&self) -> String {
        let mut line = serde_json::to_string(self).unwrap_or_default();
        line.push('\n');
        line
    }
}

/// Cuts what is received into signals.
#[derive(Debug, Default)]
pub(super) struct Signals {
    begun: Vec<u8>,
    said: u32,
}

impl Signals {
    /// Reads what was received; `None` when it is not what is said here, or more
    /// than is needed.
    pub(super) fn read(&mut self, data: &[u8]) -> Option<Vec<Signal>> {
        self.begun.extend(data);
        let mut all = Vec::new();
        while let Some(end) = self.begun.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.begun.drain(..=end).collect();
            self.said += 1;
            if end > LONGEST || self.said > MOST {
                return None;
            }
            all.push(serde_json::from_slice(&line).ok()?);
        }
        (self.begun.len() <= LONGEST).then_some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate() -> Signal {
        Signal::Candidate("candidate:1 1 udp 1 10.0.0.7 5000 typ host".into(), None, Some(0))
    }

    #[test]
    fn what_is_said_arrives_however_it_is_cut() {
        let said = [Signal::Session("v=0\r\na=x\r\n".into()), candidate(), Signal::No];
        let text: String = said.iter().map(Signal::line).collect();
        for length in 1..text.len() {
            let mut signals = Signals::default();
            let pieces = text.as_bytes().chunks(length);
            let heard: Vec<_> = pieces.flat_map(|piece| signals.read(piece).unwrap()).collect();
            assert_eq!(heard, said, "in pieces of {length}");
        }
    }

    /// WB-6
    #[test]
    fn what_is_no_signal_or_too_much_is_not_read() {
        for wrong in ["\n", "{}\n", "null\n", "{\"session\":7}\n", "\u{0}\u{ff}\n", "[[[[\n"] {
            assert_eq!(Signals::default().read(wrong.as_bytes()), None, "{wrong:?}");
        }
        assert_eq!(Signals::default().read(&vec![b'x'; LONGEST + 1]), None);
        let long = Signal::Session("x".repeat(LONGEST));
        assert_eq!(Signals::default().read(long.line().as_bytes()), None);
        let mut signals = Signals::default();
        for _ in 0..MOST {
            assert_eq!(signals.read(candidate().line().as_bytes()), Some(vec![candidate()]));
        }
        assert_eq!(signals.read(candidate().line().as_bytes()), None);
    }
}
