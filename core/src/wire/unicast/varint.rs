//! Numbers of one to nine bytes: seven bits each, the lowest first.

use bytes::BufMut;

/// The largest number that can be written: nine times seven bits.
pub(super) const MAX: u64 = (1 << 63) - 1;

/// Appends a number; larger ones are written as [`MAX`].
pub(super) fn put(out: &mut impl BufMut, value: u64) {
    let mut rest = value.min(MAX);
    while rest >= 0x80 {
        out.put_u8(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.put_u8(rest as u8);
}

/// How many bytes `put` writes.
#[must_use]
pub(super) const fn len(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    let bytes = bits.div_ceil(7);
    if bytes > 9 { 9 } else { bytes }
}

/// Reads a number at `at` and advances `at`. Only the shortest form of a number
/// is valid.
pub(super) fn take(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return (byte != 0 || shift == 0).then_some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn edges_go_there_and_back_in_the_length_told() {
        for bits in 0..63 {
            for value in [(1_u64 << bits) - 1, 1 << bits, (1 << bits) + 1] {
                let mut out = Vec::new();
                put(&mut out, value);
                assert_eq!(out.len(), len(value), "{value}");
                let mut at = 0;
                assert_eq!(take(&out, &mut at), Some(value));
                assert_eq!(at, out.len());
            }
        }
        assert_eq!((len(127), len(128), len(16_383), len(16_384)), (1, 2, 2, 3));
        assert_eq!(len(u64::MAX), 9);
    }

    #[test]
    fn a_longer_spelling_or_an_unfinished_one_is_no_number() {
        assert_eq!(take(&[0x81, 0x00], &mut 0), None);
        assert_eq!(take(&[0x81], &mut 0), None);
        assert_eq!(take(&[0xff; 12], &mut 0), None);
        assert_eq!(take(&[0x00], &mut 0), Some(0));
    }
}
