//! Byte strings as hexadecimal text in a trace, and the digits themselves.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serializer};

/// Bytes as lower-case hexadecimal digits.
#[must_use]
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = alloc::vec![0; 2 * bytes.len()];
    digits(bytes, &mut text);
    String::from_utf8(text).unwrap_or_default()
}

/// Writes the two lower-case digits of every byte.
pub(crate) fn digits(bytes: &[u8], text: &mut [u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (byte, pair) in bytes.iter().zip(text.as_chunks_mut::<2>().0) {
        *pair = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    }
}

/// Bytes from hexadecimal digits of either case; `None` when they are not.
#[must_use]
pub(crate) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_chunks::<2>() else { return None };
    pairs.iter().copied().map(byte).collect()
}

/// The byte that two hexadecimal digits of either case stand for.
pub(crate) fn byte([high, low]: [u8; 2]) -> Option<u8> {
    Some(digit(high)? << 4 | digit(low)?)
}

const fn digit(c: u8) -> Option<u8> {
    match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        b'A'..=b'F' => Some(c - b'A' + 10),
        _ => None,
    }
}

/// Writes bytes as lower-case hexadecimal text.
///
/// # Errors
/// Those of the serializer.
pub(crate) fn serialize<B: AsRef<[u8]> + ?Sized, S: Serializer>(
    bytes: &B,
    s: S,
) -> Result<S::Ok, S::Error> {
    s.serialize_str(&encode(bytes.as_ref()))
}

/// Reads hexadecimal text of either case.
///
/// # Errors
/// Those of the deserializer, and text that is not hexadecimal.
pub(crate) fn deserialize<'de, B: From<Vec<u8>>, D: Deserializer<'de>>(
    d: D,
) -> Result<B, D::Error> {
    let text = String::deserialize(d)?;
    decode(text.as_bytes()).map(B::from).ok_or_else(|| serde::de::Error::custom("not hexadecimal"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_either_case_come_back() {
        assert_eq!(encode(&[0x00, 0x9f, 0xff]), "009fff");
        assert_eq!(decode(b"009FfF"), Some(alloc::vec![0x00, 0x9f, 0xff]));
        assert_eq!((decode(b"0"), decode(b"0g"), decode(b"+1")), (None, None, None));
    }
}
