//! Byte strings as hexadecimal text in a trace, and the digits themselves.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serializer};

/// Bytes as lower-case hexadecimal digits.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|b| [b >> 4, b & 15]);
    digits.map(|d| char::from(DIGITS[usize::from(d)])).collect()
}

/// Bytes from hexadecimal digits of either case; `None` when they are not.
#[must_use]
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_chunks::<2>() else { return None };
    let digit = |c: u8| char::from(c).to_digit(16).map(|d| d as u8);
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

/// Writes bytes as lower-case hexadecimal text.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(bytes: &[u8], s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&encode(bytes))
}

/// Reads hexadecimal text of either case.
///
/// # Errors
/// Those of the deserializer, and text that is not hexadecimal.
pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(d)?;
    decode(text.as_bytes()).ok_or_else(|| serde::de::Error::custom("not hexadecimal"))
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
