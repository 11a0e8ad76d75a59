//! Writes heads. No value can end its line.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{Display, Write as _};

use crate::wire::scan::{find, is_plain};

/// A capacity that is enough for nearly every head we write.
const USUAL: usize = 512;

/// Builds the head of a request or a response.
///
/// Control characters in any argument, above all line ends, become blanks (in a
/// request target `%20`), so that a peer's text that we repeat cannot add
/// fields or replies.
///
/// ```
/// use servent_core::wire::http::HeadWriter;
///
/// let mut head = HeadWriter::status(200, "OK");
/// head.header("Content-Length", 11);
/// assert_eq!(head.finish(), b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n");
/// ```
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
        if find(b' ', &head.text.as_bytes()[from..]).is_some() {
            let raw = head.text.split_off(from);
            for c in raw.chars() {
                if c == ' ' { head.text.push_str("%20") } else { head.text.push(c) }
            }
        }
        head.text.push_str(" HTTP/1.1\r\n");
        head
    }

    /// Begins a head of another protocol with the syntax of HTTP.
    #[must_use]
    pub fn first_line(line: &str) -> Self {
        let mut head = Self { text: String::with_capacity(USUAL) };
        head.word(line, " ");
        head.text.push_str("\r\n");
        head
    }

    /// Begins a response.
    #[must_use]
    pub fn status(status: u16, reason: &str) -> Self {
        let mut head = Self { text: String::with_capacity(USUAL) };
        let _ = write!(head.text, "HTTP/1.1 {status} ");
        head.word(reason, " ");
        head.text.push_str("\r\n");
        head
    }

    /// Appends a field.
    pub fn header(&mut self, name: &str, value: impl Display) -> &mut Self {
        self.field(name, &value);
        self
    }

    /// The bytes, with the final empty line.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.text.push_str("\r\n");
        self.text.into_bytes()
    }

    fn field(&mut self, name: &str, value: &dyn Display) {
        let from = self.text.len();
        self.text.push_str(name);
        self.text.push_str(": ");
        let to = self.text.len();
        // Writing to a `String` cannot fail; if a `Display` fails by itself,
        // the value simply ends early.
        let _ = write!(self.text, "{value}");
        if !is_plain(&self.text.as_bytes()[from..]) {
            let value = self.text.split_off(to);
            self.text.truncate(from);
            self.word(name, "-");
            self.text.push_str(": ");
            self.word(&value, " ");
        }
        self.text.push_str("\r\n");
    }

    fn word(&mut self, text: &str, instead: &str) {
        let from = self.text.len();
        self.text.push_str(text);
        self.clean(from, instead);
    }

    /// Replaces the control characters in what was written last. There are
    /// rarely any.
    fn clean(&mut self, from: usize, instead: &str) {
        if is_plain(&self.text.as_bytes()[from..]) {
            return;
        }
        let raw = self.text.split_off(from);
        for piece in raw.split_inclusive(char::is_control) {
            match piece.strip_suffix(char::is_control) {
                Some(plain) => {
                    self.text.push_str(plain);
                    self.text.push_str(instead);
                }
                None => self.text.push_str(piece),
            }
        }
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
