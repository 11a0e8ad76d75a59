//! Keyword tables: for which words a query could match at the other end of a
//! link.

use alloc::vec;
use alloc::vec::Vec;

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use thiserror::Error;

use super::{Compressor, OverlayPayload, Qrp};
use crate::wire::gnutella::{fold, words};

/// The value of entries that no word maps to.
const INFINITY: u8 = 7;
/// Maximum bytes of a patch in one message.
const PART: usize = 2_048;
/// The hash's multiplier.
const A: u64 = 0x4f1b_bcdc;
/// The shortest words in a table, in bytes.
const SHORTEST: usize = 3;

/// The entry of a word in a table of 2^`bits` entries; upper-case ASCII letters
/// count as lower-case.
#[must_use]
pub fn keyword_hash(word: &[u8], bits: u32) -> u32 {
    let folded = word
        .iter()
        .enumerate()
        .fold(0u32, |all, (at, byte)| all ^ u32::from(byte.to_ascii_lowercase()) << (8 * (at & 3)));
    let product = u64::from(folded).wrapping_mul(A) as u32;
    product.checked_shr(32 - bits).unwrap_or(0)
}

/// The maximum size of a peer's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeywordsLimits {
    /// Entries.
    pub entries: u32,
}

/// Why a table cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum KeywordsError {
    /// A size that is no power of two, or more than
    /// [`KeywordsLimits::entries`].
    #[error("a keyword table of {0} entries")]
    Size(u32),
    /// A patch before any table, out of order, or longer than the table.
    #[error("a keyword patch that does not fit")]
    Patch,
    /// The compressed data is damaged.
    #[error("a damaged keyword patch")]
    Packing,
}

/// A keyword table: a bit for each entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Keywords {
    bits: u32,
    set: Vec<u64>,
    /// The patch being received: the bytes so far, and the number of the next
    /// part.
    patch: Vec<u8>,
    next: u8,
    whole: bool,
}

impl Keywords {
    /// An empty table of 2^`bits` entries.
    #[must_use]
    pub fn new(bits: u32) -> Self {
        let words = (1_usize << bits).div_ceil(64);
        Self { bits, set: vec![0; words], patch: Vec::new(), next: 1, whole: false }
    }

    /// The table that a [`Qrp::Reset`] begins.
    ///
    /// # Errors
    /// When its size is invalid.
    pub fn reset(length: u32, limits: KeywordsLimits) -> Result<Self, KeywordsError> {
        if !length.is_power_of_two() || length < 64 || length > limits.entries {
            return Err(KeywordsError::Size(length));
        }
        Ok(Self::new(length.trailing_zeros()))
    }

    /// True when a complete patch has been received. Until then the table is
    /// not used.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.whole
    }

    /// How many entries are set, and how many there are.
    #[must_use]
    pub fn filled(&self) -> (u32, u32) {
        (self.set.iter().map(|word| word.count_ones()).sum(), 1 << self.bits)
    }

    /// Adds a part of a patch; true when it was the last.
    ///
    /// # Errors
    /// When it does not fit; the table cannot be used any more.
    pub fn patch(
        &mut self,
        (seq, count): (u8, u8),
        compressor: Compressor,
        bits: u8,
        data: &[u8],
    ) -> Result<bool, KeywordsError> {
        let size = (1_usize << self.bits) * usize::from(bits) / 8;
        // Compression never makes data much longer than this.
        if seq != self.next || self.patch.len() + data.len() > size + size / 8 + 64 {
            return Err(KeywordsError::Patch);
        }
        self.patch.extend_from_slice(data);
        if seq < count {
            self.next = seq + 1;
            return Ok(false);
        }
        let mut patch = core::mem::take(&mut self.patch);
        self.next = 1;
        if compressor == Compressor::Zlib {
            patch = decompress_to_vec_zlib_with_limit(&patch, size)
                .map_err(|_| KeywordsError::Packing)?;
        }
        if patch.len() > size {
            return Err(KeywordsError::Patch);
        }
        if bits == 8 {
            patch.iter().enumerate().for_each(|(at, change)| self.change(at, *change as i8));
        } else {
            for (at, pair) in patch.iter().enumerate() {
                self.change(2 * at, *pair as i8 >> 4);
                self.change(2 * at + 1, (*pair << 4) as i8 >> 4);
            }
        }
        self.whole = true;
        Ok(true)
    }

    /// A change towards a smaller distance sets an entry, one towards a larger
    /// distance clears it.
    fn change(&mut self, at: usize, by: i8) {
        let mark = 1 << (at % 64);
        match by {
            ..0 => self.set[at / 64] |= mark,
            0 => {}
            1.. => self.set[at / 64] &= !mark,
        }
    }

    /// Sets the entries of a name's words, and of their prefixes.
    pub fn add(&mut self, name: &str) {
        for word in words(name) {
            let mut word = word.as_bytes();
            for _ in 0..4 {
                if word.len() < SHORTEST {
                    break;
                }
                let at = keyword_hash(word, self.bits) as usize;
                self.set[at / 64] |= 1 << (at % 64);
                word = &word[..word.len() - 1];
            }
        }
    }

    /// The size of the table as a power of two.
    #[must_use]
    pub const fn bits(&self) -> u32 {
        self.bits
    }

    /// Adds all entries of another table. Their sizes may differ: one entry of
    /// the smaller table corresponds to several of the larger one.
    pub fn join(&mut self, other: &Self) {
        for at in (0..1_usize << other.bits).filter(|at| other.set[at / 64] >> (at % 64) & 1 != 0) {
            let (from, to) = match other.bits.checked_sub(self.bits) {
                Some(finer) => (at >> finer, (at >> finer) + 1),
                None => (at << (self.bits - other.bits), (at + 1) << (self.bits - other.bits)),
            };
            (from..to).for_each(|at| self.set[at / 64] |= 1 << (at % 64));
        }
    }

    /// True when the entries of all words of a query are set: with their accents, as
    /// other programs put them in, or without.
    #[must_use]
    pub fn could_match(&self, criteria: &str) -> bool {
        self.has_all(criteria) || (!criteria.is_ascii() && self.has_all(&fold(criteria)))
    }

    fn has_all(&self, criteria: &str) -> bool {
        words(criteria).filter(|word| word.len() >= SHORTEST).all(|word| {
            let at = keyword_hash(word.as_bytes(), self.bits) as usize;
            self.set[at / 64] >> (at % 64) & 1 != 0
        })
    }

    /// The messages that send the table to a neighbour that has none.
    #[must_use]
    pub fn messages(&self) -> Vec<Qrp> {
        let entries = 1_u32 << self.bits;
        let mut out = vec![Qrp::Reset { length: entries, infinity: INFINITY }];
        out.extend(self.patches(&Self::new(self.bits)));
        out
    }

    /// The messages that update an earlier table of a neighbour; none when
    /// nothing has changed.
    #[must_use]
    pub fn changes(&self, since: &Self) -> Vec<Qrp> {
        if since.bits != self.bits {
            return self.messages();
        }
        if since.set == self.set { Vec::new() } else { self.patches(since) }
    }

    fn patches(&self, since: &Self) -> Vec<Qrp> {
        let is_set = |set: &[u64], at: usize| set[at / 64] >> (at % 64) & 1 != 0;
        let changed = |at: usize| match (is_set(&since.set, at), is_set(&self.set, at)) {
            (false, true) => 1_u8.wrapping_sub(INFINITY) & 15,
            (true, false) => INFINITY - 1,
            _ => 0,
        };
        let entries = 1_usize << self.bits;
        let plain: Vec<u8> =
            (0..entries / 2).map(|at| changed(2 * at) << 4 | changed(2 * at + 1)).collect();
        let packed = compress_to_vec_zlib(&plain, 6);
        let (data, compressor) = if packed.len() < plain.len() {
            (packed, Compressor::Zlib)
        } else {
            (plain, Compressor::None)
        };
        let data = OverlayPayload::from(data);
        // There can be at most 255 parts.
        let part = PART.max(data.len().div_ceil(255));
        let count = data.len().div_ceil(part) as u8;
        let parts = (0..count).map(|seq| {
            let from = usize::from(seq) * part;
            let data = data.slice(from..data.len().min(from + part));
            Qrp::Patch { seq: seq + 1, count, compressor, bits: 4, data }
        });
        parts.collect()
    }
}
