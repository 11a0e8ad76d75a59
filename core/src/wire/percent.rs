//! Escapes in URLs (RFC 3986 §2.1).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};

/// A text in which only letters, digits and `-._~` stand as they are: fit for a
/// segment of a path and for a value in a query.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: [u8; 16] = *b"0123456789ABCDEF";
        for byte in self.0.bytes() {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
                f.write_char(char::from(byte))?;
            } else {
                f.write_char('%')?;
                f.write_char(char::from(DIGITS[usize::from(byte >> 4)]))?;
                f.write_char(char::from(DIGITS[usize::from(byte & 15)]))?;
            }
        }
        Ok(())
    }
}

/// What an escaped text means. An escape without its two digits stands for
/// itself; a mark stands for what is no text.
pub(crate) fn unescape(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digit = |i: usize| after.get(i).and_then(|b| char::from(*b).to_digit(16));
        if let (b'%', Some(high), Some(low)) = (first, digit(0), digit(1)) {
            bytes.push((high << 4 | low) as u8);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
    use proptest::prelude::*;

    use super::*;

    const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

    proptest! {
        #[test]
        fn it_is_what_the_crate_of_that_name_says(text in "(\\PC|%[0-9a-gA-G]{0,3}|[%\0-~]){0,40}") {
            let theirs = utf8_percent_encode(&text, PLAIN).to_string();
            prop_assert_eq!(Escaped(&text).to_string(), theirs.as_str());
            prop_assert_eq!(unescape(&theirs), text.as_str());
            let theirs = percent_decode_str(&text).decode_utf8_lossy();
            prop_assert_eq!(unescape(&text), theirs.as_ref());
        }
    }
}
