//! Scans text eight bytes at a time. Heads are parsed and written for every
//! request, so this is where a busy servent spends its time.

const LOW: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);

const fn all(byte: u8) -> u64 {
    LOW * byte as u64
}

/// Marks the bytes of a word that equal `byte`. Only the lowest mark is
/// reliable.
const fn marks(byte: u8, word: u64) -> u64 {
    // Equal bytes become zero.
    let other = word ^ all(byte);
    other.wrapping_sub(LOW) & !other & HIGH
}

/// The position of the first `byte`.
pub(super) fn find(byte: u8, bytes: &[u8]) -> Option<usize> {
    find_either([byte, byte], bytes)
}

/// The position of the first of two bytes.
pub(super) fn find_either([a, b]: [u8; 2], bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let marks = marks(a, word) | marks(b, word);
        if marks != 0 {
            return Some(8 * i + marks.trailing_zeros() as usize / 8);
        }
    }
    let last = rest.iter().position(|byte| *byte == a || *byte == b);
    last.map(|at| bytes.len() - rest.len() + at)
}

/// What precedes and follows the first `byte`, an ASCII character.
pub(super) fn split_once(text: &str, byte: u8) -> Option<(&str, &str)> {
    let at = find(byte, text.as_bytes())?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// True when there are only printable ASCII characters and blanks.
pub(super) fn is_plain(bytes: &[u8]) -> bool {
    let plain = |word: [u8; 8]| {
        let word = u64::from_le_bytes(word);
        let printable = (word | HIGH) - all(b' ');
        // Carries from byte to byte occur only where the first test fails.
        let not_del = (word ^ all(0x7f)).wrapping_add(all(0x7f));
        (word | !printable | !not_del) & HIGH == 0
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [b' '; 8];
    last[..rest.len()].copy_from_slice(rest);
    words.iter().all(|word| plain(*word)) && plain(last)
}

/// The text without surrounding white space, of which there is usually none.
pub(super) fn trim(text: &str) -> &str {
    match text.as_bytes() {
        [first, .., last] if first.is_ascii_graphic() && last.is_ascii_graphic() => text,
        _ => text.trim_ascii(),
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn eight_at_a_time_is_one_at_a_time(bytes: Vec<u8>, byte in 0_u8..4, at: usize) {
            let few: Vec<u8> = bytes.iter().map(|b| b % 4).collect();
            prop_assert_eq!(find(byte, &few), few.iter().position(|b| *b == byte));
            let either = few.iter().position(|b| *b == byte || *b == 1);
            prop_assert_eq!(find_either([byte, 1], &few), either);
            let plain = |bytes: &[u8]| bytes.iter().all(|b| matches!(b, b' '..=b'~'));
            prop_assert_eq!(is_plain(&bytes), plain(&bytes));
            let mut nearly: Vec<u8> = bytes.iter().map(|b| b % 95 + b' ').collect();
            prop_assert!(is_plain(&nearly));
            if let (Some(i), Some(b)) = (at.checked_rem(nearly.len()), bytes.first()) {
                nearly[i] = *b;
                prop_assert_eq!(is_plain(&nearly), plain(&nearly));
            }
        }

        #[test]
        fn split_is_split(text in "[a=ä]{0,20}") {
            prop_assert_eq!(split_once(&text, b'='), text.split_once('='));
        }

        #[test]
        fn trimmed_is_trimmed(text in "[ a\u{a0}\t]{0,5}", any: String) {
            prop_assert_eq!(trim(&text), text.trim_ascii());
            prop_assert_eq!(trim(&any), any.trim_ascii());
        }
    }
}
