//! From text to tree (RFC 8259).

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Json, Wrong};

/// How deep lists and objects may stand in one another.
const DEPTH: u32 = 64;

pub(super) fn parse(text: &str) -> Result<Json, Wrong> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let value = parser.value();
    parser.space();
    match value {
        Some(value) if parser.at == text.len() => Ok(value),
        _ => {
            let before = text.as_bytes().get(..parser.at).unwrap_or_default();
            let line = before.iter().filter(|b| **b == b'\n').count();
            let column = before.iter().rev().take_while(|b| **b != b'\n').count();
            let (line, column) = ((line + 1).to_string(), (column + 1).to_string());
            Err(Wrong::new(&["not JSON at line ", &line, ", column ", &column]))
        }
    }
}

/// A text and how far it has been read: where it ends when it is no JSON.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Goes past one byte, if it is the next.
    fn eat(&mut self, byte: u8) -> Option<()> {
        if self.peek()? == byte {
            self.at += 1;
            Some(())
        } else {
            None
        }
    }

    fn word(&mut self, word: &str, value: Json) -> Option<Json> {
        word.bytes().try_for_each(|byte| self.eat(byte))?;
        Some(value)
    }

    fn value(&mut self) -> Option<Json> {
        self.space();
        match self.peek()? {
            b'n' => self.word("null", Json::Null),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'"' => self.string().map(Json::Text),
            b'[' | b'{' => {
                self.depth += 1;
                if self.depth > DEPTH {
                    return None;
                }
                let value = if self.peek()? == b'[' { self.list() } else { self.object() };
                self.depth -= 1;
                value
            }
            _ => self.number(),
        }
    }

    fn list(&mut self) -> Option<Json> {
        let mut list = Vec::new();
        self.at += 1;
        self.space();
        if self.eat(b']').is_some() {
            return Some(Json::List(list));
        }
        loop {
            list.push(self.value()?);
            self.space();
            if self.eat(b',').is_none() {
                self.eat(b']')?;
                return Some(Json::List(list));
            }
        }
    }

    fn object(&mut self) -> Option<Json> {
        let mut entries = Vec::new();
        self.at += 1;
        self.space();
        if self.eat(b'}').is_some() {
            return Some(Json::Object(entries));
        }
        loop {
            self.space();
            let name = self.string()?;
            self.space();
            self.eat(b':')?;
            entries.push((name, self.value()?));
            self.space();
            if self.eat(b',').is_none() {
                self.eat(b'}')?;
                return Some(Json::Object(entries));
            }
        }
    }

    /// How many digits follow; they are read.
    fn digits(&mut self) -> usize {
        let from = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - from
    }

    fn number(&mut self) -> Option<Json> {
        let from = self.at;
        let negative = self.eat(b'-').is_some();
        let first = self.peek()?;
        let digits = self.digits();
        if digits == 0 || (first == b'0' && digits > 1) {
            return None;
        }
        let mut whole = true;
        if self.eat(b'.').is_some() {
            whole = false;
            if self.digits() == 0 {
                return None;
            }
        }
        if self.eat(b'e').or_else(|| self.eat(b'E')).is_some() {
            whole = false;
            let _ = self.eat(b'+').or_else(|| self.eat(b'-'));
            if self.digits() == 0 {
                return None;
            }
        }
        let text = self.text.get(from..self.at)?;
        let number = match (whole, negative) {
            (true, false) => text.parse().ok().map(Json::Whole),
            (true, true) => text.parse().ok().map(Json::Negative),
            (false, _) => None,
        };
        Some(number.unwrap_or_else(|| Json::Real(text.into())))
    }

    fn string(&mut self) -> Option<String> {
        self.eat(b'"')?;
        let mut out = String::new();
        loop {
            let from = self.at;
            while !matches!(self.peek()?, b'"' | b'\\' | ..0x20) {
                self.at += 1;
            }
            out.push_str(self.text.get(from..self.at)?);
            if self.eat(b'"').is_some() {
                return Some(out);
            }
            self.eat(b'\\')?;
            out.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Option<char> {
        let byte = self.peek()?;
        self.at += 1;
        Some(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let unit = self.unit()?;
                if unit & 0xfc00 != 0xd800 {
                    return char::from_u32(unit);
                }
                self.eat(b'\\')?;
                self.eat(b'u')?;
                let low = self.unit()?;
                if low & 0xfc00 != 0xdc00 {
                    return None;
                }
                char::from_u32(0x1_0000 + ((unit & 0x3ff) << 10 | low & 0x3ff))?
            }
            _ => return None,
        })
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Option<u32> {
        let mut unit = 0;
        for _ in 0..4 {
            unit = unit << 4 | char::from(self.peek()?).to_digit(16)?;
            self.at += 1;
        }
        Some(unit)
    }
}
