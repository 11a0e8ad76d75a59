//! Writes heads, and nothing but heads: a value can never end its line.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{Display, Write};

/// Bytes that hold nearly every head we write.
const USUAL: usize = 512;

/// Builds the head of a request or a response.
///
/// Control characters in anything it is given, line ends above all, become
/// blanks (in a request target `%20`), so that a peer's text that we repeat
/// cannot add fields or replies of its own.
#[derive(Debug, Clone)]
pub struct HeadWriter {
    text: String,
}

impl HeadWriter {
    /// Begins a request.
    #[must_use]
    pub fn request(method: &str, target: &str) -> Self {
        let mut head = Self { text: String::with_capacity(USUAL) };
        head.word(method, " ");
        head.text.push(' ');
        let from = head.text.len();
        head.word(target, "%20");
        if head.text[from..].contains(' ') {
            let escaped = head.text[from..].replace(' ', "%20");
            head.text.truncate(from);
            head.text.push_str(&escaped);
        }
        head.text.push_str(" HTTP/1.1\r\n");
        head
    }

    /// Begins a response.
    #[must_use]
    pub fn status(status: u16, reason: &str) -> Self {
        let mut head = Self { text: String::with_capacity(USUAL) };
        head.put(&format_args!("HTTP/1.1 {status} {reason}"), " ");
        head.text.push_str("\r\n");
        head
    }

    /// Adds a field.
    pub fn header(&mut self, name: &str, value: impl Display) -> &mut Self {
        self.word(name, "-");
        self.text.push_str(": ");
        self.put(&value, " ");
        self.text.push_str("\r\n");
        self
    }

    /// The bytes, with the empty line at the end.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.text.push_str("\r\n");
        self.text.into_bytes()
    }

    fn word(&mut self, text: &str, instead: &'static str) {
        let _ = OneLine { text: &mut self.text, instead }.write_str(text);
    }

    fn put(&mut self, value: &dyn Display, instead: &'static str) {
        let mut line = OneLine { text: &mut self.text, instead };
        // A `String` takes everything; only a `Display` that fails by itself
        // could fail here, and then the value simply ends early.
        let _ = write!(line, "{value}");
    }
}

/// Passes text on, control characters replaced.
struct OneLine<'a> {
    text: &'a mut String,
    instead: &'static str,
}

impl Write for OneLine<'_> {
    fn write_str(&mut self, s: &str) -> core::fmt::Result {
        // Nearly everything is plain; 0xc2 begins the control characters
        // beyond ASCII.
        if s.bytes().all(|b| b >= b' ' && b != 0x7f && b != 0xc2) {
            self.text.push_str(s);
            return Ok(());
        }
        for piece in s.split_inclusive(char::is_control) {
            match piece.chars().next_back() {
                Some(last) if last.is_control() => {
                    self.text.push_str(&piece[..piece.len() - last.len_utf8()]);
                    self.text.push_str(self.instead);
                }
                _ => self.text.push_str(piece),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_end_its_line() {
        let mut head = HeadWriter::status(503, "Queued\r\nX: y");
        head.header("A\nB", "c\r\nSet: d\0\u{7f}\u{85}\u{a0}é");
        let text = String::from_utf8(head.finish()).unwrap();
        let wanted = "HTTP/1.1 503 Queued  X: y\r\nA-B: c  Set: d   \u{a0}é\r\n\r\n";
        assert_eq!(text, wanted);
    }

    #[test]
    fn a_target_stays_one_word() {
        let head = HeadWriter::request("GET", "/get/1/a b\nHost: x");
        assert_eq!(head.finish(), b"GET /get/1/a%20b%20Host:%20x HTTP/1.1\r\n\r\n");
    }
}
