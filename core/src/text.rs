//! Numbers formatted for people, and text of strangers made safe to print.

use core::fmt::{self, Write as _};

/// A number of bytes for people: in binary units, rounded to three digits.
#[derive(Debug, Clone, Copy)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let (mut unit, mut shift) = (0, 0);
        while self.0 >> shift >= 1_024 && unit < UNITS.len() {
            (unit, shift) = (unit + 1, shift + 10);
        }
        let Some(name) = unit.checked_sub(1).map(|unit| UNITS[unit]) else {
            return write!(f, "{} B", self.0);
        };
        let tenths = ((self.0 >> (shift - 10)) * 10 + 512) >> 10;
        match tenths {
            0..1_000 => write!(f, "{}.{} {name}", tenths / 10, tenths % 10),
            _ => write!(f, "{} {name}", (tenths + 5) / 10),
        }
    }
}

/// Text of a stranger as part of a line for people. Everything that moves the
/// cursor, changes the direction of the text, ends the line or is invisible is
/// escaped as `\u{…}`; so is what could be taken for another field of the line:
/// leading, trailing and repeated blanks, and the colon of a URL.
///
/// ```
/// use servent_core::text::Shown;
///
/// assert_eq!(Shown("song\u{1b}[2J.ogg").to_string(), "song\\u{1b}[2J.ogg");
/// assert_eq!(Shown("naïve 歌.ogg").to_string(), "naïve 歌.ogg");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a>(pub &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = ' ';
        let mut rest = self.0.chars();
        while let Some(c) = rest.next() {
            let hidden = match c {
                ' ' => before == ' ' || rest.as_str().is_empty(),
                ':' => rest.as_str().starts_with("//"),
                c => is_hidden(c),
            };
            if hidden {
                write!(f, "{}", c.escape_unicode())?
            } else {
                f.write_char(c)?
            }
            before = c;
        }
        Ok(())
    }
}

/// Text of several lines that may contain a stranger's words: invisible
/// characters are escaped, except for line ends.
#[derive(Debug, Clone, Copy)]
pub struct Lines<'a>(pub &'a str);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            c if c != '\n' && is_hidden(c) => write!(f, "{}", c.escape_unicode()),
            c => f.write_char(c),
        })
    }
}

/// True for characters that are invisible by themselves. Combining marks are
/// visible: they belong to the letter before them.
fn is_hidden(c: char) -> bool {
    // After a letter, `escape_debug` escapes only unprintable characters and
    // quotes.
    let mut two = [b'a'; 5];
    let length = 1 + c.encode_utf8(&mut two[1..]).len();
    let two = core::str::from_utf8(&two[..length]).unwrap_or_default();
    !matches!(c, '\\' | '"' | '\'') && two.escape_debug().nth(1) == Some('\\')
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn sizes_have_three_digits() {
        let says = |n: u64, text: &str| assert_eq!(Size(n).to_string(), text);
        says(0, "0 B");
        says(1_023, "1023 B");
        says(1_536, "1.5 KiB");
        says(102_348, "99.9 KiB");
        says(102_349, "100 KiB");
        says(1_048_575, "1024 KiB");
        says(3_000_000, "2.9 MiB");
        says(200 << 20, "200 MiB");
        says(u64::MAX, "16.0 EiB");
    }

    #[test]
    fn what_strangers_wrote_moves_nothing_and_looks_like_nothing_else() {
        for (text, shown) in [
            ("a\u{1b}]0;x\u{7}b", "a\\u{1b}]0;x\\u{7}b"),
            ("a\nb\r\tc\0", "a\\u{a}b\\u{d}\\u{9}c\\u{0}"),
            ("gpj.\u{202e}exe", "gpj.\\u{202e}exe"),
            ("\u{2066}a\u{2069}\u{200b}\u{2028}", "\\u{2066}a\\u{2069}\\u{200b}\\u{2028}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("a  http://evil/get", "a \\u{20}http\\u{3a}//evil/get"),
            (" a ", "\\u{20}a\\u{20}"),
            ("it's \"a\" b\\c: d/e", "it's \"a\" b\\c: d/e"),
            ("e\u{301}t\u{e9} \u{6b4c} \u{1f3b5}", "e\u{301}t\u{e9} \u{6b4c} \u{1f3b5}"),
            ("", ""),
        ] {
            assert_eq!(Shown(text).to_string(), shown);
        }
        let lines = Lines("one  two\nhttp://x \u{1b}[m\u{202e}").to_string();
        assert_eq!(lines, "one  two\nhttp://x \\u{1b}[m\\u{202e}");
    }
}
