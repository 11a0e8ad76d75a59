//! Extension blocks (GGEP) with COBS and deflate, both with limits.

use alloc::vec::Vec;

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use thiserror::Error;

/// The first byte of every list of blocks.
const MAGIC: u8 = 0xc3;
const LAST: u8 = 0x80;
const COBS: u8 = 0x40;
const DEFLATE: u8 = 0x20;
const RESERVED: u8 = 0x10;
/// Bits of a length in one byte; more bytes follow when [`MORE`] is set.
const CHUNK: u32 = 6;
const MORE: u8 = 0x80;
const FINAL: u8 = 0x40;

/// An extension block.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GgepBlock {
    /// Its name, 1 to 15 bytes.
    pub id: Vec<u8>,
    /// Its data.
    pub data: Vec<u8>,
}

impl GgepBlock {
    /// A block with this name and data.
    #[must_use]
    pub fn new(id: &[u8], data: &[u8]) -> Self {
        Self { id: id.to_vec(), data: data.to_vec() }
    }
}

/// The limits of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GgepLimits {
    /// Maximum number of blocks.
    pub blocks: u32,
    /// Maximum bytes of all blocks, decoded.
    pub bytes: u32,
}

/// Why a list cannot be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum GgepError {
    /// It does not begin like a list.
    #[error("not a list of extension blocks")]
    Magic,
    /// It ends too early.
    #[error("the extension blocks end too early")]
    Short,
    /// Invalid flags, name or length.
    #[error("an impossible extension block")]
    Block,
    /// More than the limits allow.
    #[error("too many or too large extension blocks")]
    TooLong,
    /// The encoding is damaged.
    #[error("a damaged extension block")]
    Packing,
}

/// Parses a list; also returns its length.
///
/// # Errors
/// The first fault found.
pub fn parse(bytes: &[u8], limits: &GgepLimits) -> Result<(Vec<GgepBlock>, usize), GgepError> {
    if bytes.first() != Some(&MAGIC) {
        return Err(GgepError::Magic);
    }
    let mut blocks = Vec::new();
    let (mut at, mut room) = (1, limits.bytes as usize);
    loop {
        let flags = *bytes.get(at).ok_or(GgepError::Short)?;
        let id_length = usize::from(flags & 0x0f);
        if id_length == 0 || flags & RESERVED != 0 {
            return Err(GgepError::Block);
        }
        if blocks.len() >= limits.blocks as usize {
            return Err(GgepError::TooLong);
        }
        let id = bytes.get(at + 1..at + 1 + id_length).ok_or(GgepError::Short)?;
        at += 1 + id_length;
        let length = length(bytes, &mut at)?;
        let data = bytes.get(at..at + length).ok_or(GgepError::Short)?;
        at += length;
        let data = unpack(data, flags, room)?;
        room = room.checked_sub(data.len()).ok_or(GgepError::TooLong)?;
        blocks.push(GgepBlock { id: id.to_vec(), data });
        if flags & LAST != 0 {
            return Ok((blocks, at));
        }
    }
}

fn length(bytes: &[u8], at: &mut usize) -> Result<usize, GgepError> {
    let mut length = 0;
    for _ in 0..3 {
        let byte = *bytes.get(*at).ok_or(GgepError::Short)?;
        *at += 1;
        length = length << CHUNK | usize::from(byte & 0x3f);
        match byte & (MORE | FINAL) {
            FINAL => return Ok(length),
            MORE => {}
            _ => return Err(GgepError::Block),
        }
    }
    Err(GgepError::Block)
}

fn unpack(data: &[u8], flags: u8, room: usize) -> Result<Vec<u8>, GgepError> {
    if data.len() > room.saturating_mul(2).saturating_add(64) {
        return Err(GgepError::TooLong);
    }
    let plain = if flags & COBS != 0 { uncobs(data)? } else { data.to_vec() };
    if flags & DEFLATE == 0 {
        return if plain.len() > room { Err(GgepError::TooLong) } else { Ok(plain) };
    }
    decompress_to_vec_zlib_with_limit(&plain, room).map_err(|error| match error.status {
        miniz_oxide::inflate::TINFLStatus::HasMoreOutput => GgepError::TooLong,
        _ => GgepError::Packing,
    })
}

/// Writes a list. `no_nul` encodes data that contains a NUL so that it contains
/// none; long data is deflated when that makes it shorter.
///
/// # Panics
/// When an id does not have 1 to 15 bytes, or data more than 262 143.
pub fn write(blocks: &[GgepBlock], no_nul: bool, out: &mut Vec<u8>) {
    let Some(last) = blocks.len().checked_sub(1) else { return };
    out.push(MAGIC);
    for (number, block) in blocks.iter().enumerate() {
        assert!((1..=15).contains(&block.id.len()), "an id has 1 to 15 bytes");
        let mut flags = block.id.len() as u8;
        let mut data = block.data.clone();
        if data.len() > 64 {
            let packed = compress_to_vec_zlib(&data, 6);
            if packed.len() < data.len() {
                (data, flags) = (packed, flags | DEFLATE);
            }
        }
        if no_nul && data.contains(&0) {
            (data, flags) = (cobs(&data), flags | COBS);
        }
        assert!(data.len() < 1 << (3 * CHUNK), "a length has 18 bits");
        if number == last {
            flags |= LAST;
        }
        out.push(flags);
        out.extend_from_slice(&block.id);
        let chunks = if data.len() >> (2 * CHUNK) > 0 {
            3
        } else if data.len() >> CHUNK > 0 {
            2
        } else {
            1
        };
        for chunk in (0..chunks).rev() {
            let mark = if chunk == 0 { FINAL } else { MORE };
            out.push(mark | (data.len() >> (CHUNK * chunk)) as u8 & 0x3f);
        }
        out.extend_from_slice(&data);
    }
}

/// Consistent overhead byte stuffing: encodes data without NULs.
fn cobs(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() + data.len() / 254 + 1);
    let mut pieces = data.split(|b| *b == 0).peekable();
    while let Some(mut piece) = pieces.next() {
        while piece.len() >= 254 {
            out.push(255);
            out.extend_from_slice(&piece[..254]);
            piece = &piece[254..];
            if piece.is_empty() && pieces.peek().is_none() {
                return out;
            }
        }
        out.push(piece.len() as u8 + 1);
        out.extend_from_slice(piece);
    }
    out
}

fn uncobs(mut data: &[u8]) -> Result<Vec<u8>, GgepError> {
    let mut out = Vec::with_capacity(data.len());
    while let Some((code, rest)) = data.split_first() {
        let length = usize::from(*code).checked_sub(1).ok_or(GgepError::Packing)?;
        let (piece, rest) = rest.split_at_checked(length).ok_or(GgepError::Packing)?;
        if piece.contains(&0) {
            return Err(GgepError::Packing);
        }
        out.extend_from_slice(piece);
        if *code != 255 && !rest.is_empty() {
            out.push(0);
        }
        data = rest;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn stuffing_removes_nuls_and_comes_back() {
        for data in [
            vec![],
            vec![0],
            vec![0, 0, 1],
            vec![1, 2, 0],
            vec![7; 253],
            vec![7; 254],
            vec![7; 255],
            [vec![7; 254], vec![0]].concat(),
            [vec![7; 508], vec![0, 0, 9]].concat(),
        ] {
            let stuffed = cobs(&data);
            assert!(!stuffed.contains(&0));
            assert_eq!(uncobs(&stuffed), Ok(data));
        }
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        let mut list = vec![];
        write(&[GgepBlock::new(b"B", &vec![1; 200_000])], false, &mut list);
        assert!(list.len() < 1_000);
        let limits = GgepLimits { blocks: 4, bytes: 4_096 };
        assert_eq!(parse(&list, &limits), Err(GgepError::TooLong));
    }
}
