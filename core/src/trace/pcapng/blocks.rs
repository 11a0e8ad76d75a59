//! The blocks of a pcapng file, little-endian.

use alloc::vec::Vec;

use crate::time::Instant;

/// Raw IPv4 and raw IPv6, one interface each.
const LINKTYPES: [u16; 2] = [228, 229];

/// The section header and the two interfaces.
pub(super) fn header(out: &mut Vec<u8>) {
    block(out, 0x0a0d_0d0a, |b| {
        b.extend_from_slice(&0x1a2b_3c4d_u32.to_le_bytes());
        b.extend_from_slice(&1u16.to_le_bytes());
        b.extend_from_slice(&0u16.to_le_bytes());
        // The length of the section is not known in advance.
        b.extend_from_slice(&u64::MAX.to_le_bytes());
    });
    for linktype in LINKTYPES {
        block(out, 1, |b| {
            b.extend_from_slice(&linktype.to_le_bytes());
            b.extend_from_slice(&[0; 2]);
            // No limit on captured length; microseconds are the default.
            b.extend_from_slice(&0u32.to_le_bytes());
        });
    }
}

/// A packet of which `bytes` were captured and whose length was `whole`.
pub(super) fn packet(
    out: &mut Vec<u8>,
    six: bool,
    at: Instant,
    bytes: &[u8],
    whole: u32,
    comment: &str,
) {
    block(out, 6, |b| {
        let us = at.as_micros();
        b.extend_from_slice(&u32::from(six).to_le_bytes());
        b.extend_from_slice(&((us >> 32) as u32).to_le_bytes());
        b.extend_from_slice(&(us as u32).to_le_bytes());
        b.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        b.extend_from_slice(&whole.to_le_bytes());
        padded(b, bytes);
        let comment = comment.trim_end().as_bytes();
        if !comment.is_empty() {
            b.extend_from_slice(&1u16.to_le_bytes());
            b.extend_from_slice(&(comment.len() as u16).to_le_bytes());
            padded(b, comment);
            b.extend_from_slice(&[0; 4]);
        }
    });
}

fn padded(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    out.resize(out.len().next_multiple_of(4), 0);
}

/// Type, length, body, and the length again. The length of a body is a multiple
/// of four.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    debug_assert!(out.len().is_multiple_of(4));
    let start = out.len();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = (out.len() - start + 4) as u32;
    out.extend_from_slice(&length.to_le_bytes());
    out[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
}
