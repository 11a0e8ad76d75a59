//! Chunked bodies (RFC 9112 §7.1).

use alloc::vec::Vec;

use httparse::{Status, parse_chunk_size};

use crate::wire::scan::find;

/// Maximum length of a chunk size line, and of what may follow the last chunk.
const LINE: usize = 256;

/// The body is not chunked correctly, or is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotChunked;

/// Decodes a chunked body as it is received.
///
/// ```
/// use servent_core::wire::http::Chunks;
///
/// let (mut chunks, mut body) = (Chunks::new(100), Vec::new());
/// assert_eq!(chunks.feed(b"4\r\nfo", &mut body), Ok(5));
/// assert_eq!(chunks.feed(b"ur\r\n0\r\n\r\nHTTP", &mut body), Ok(9));
/// assert!(chunks.is_over() && body == b"four");
/// ```
#[derive(Debug, Clone)]
pub struct Chunks {
    /// How many more bytes the body may have.
    room: u64,
    next: Next,
    /// The part of the current line received so far.
    line: Vec<u8>,
}

/// What is expected next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Size,
    Data(u64),
    EndOfData,
    /// The trailer, of which so many bytes were received.
    Trailer(usize),
    Nothing,
}

impl Chunks {
    /// A decoder for a body of at most `most` bytes.
    #[must_use]
    pub const fn new(most: u64) -> Self {
        Self { room: most, next: Next::Size, line: Vec::new() }
    }

    /// True when the body is complete.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.next == Next::Nothing
    }

    /// Decodes bytes and appends the body's to `body`. Returns how many bytes
    /// belonged to the chunked body, which is all of them unless it has ended.
    ///
    /// # Errors
    /// When they are not chunked correctly, or the body gets too long.
    pub fn feed(&mut self, bytes: &[u8], body: &mut Vec<u8>) -> Result<usize, NotChunked> {
        let mut at = 0;
        while at < bytes.len() && !self.is_over() {
            let rest = &bytes[at..];
            at += match self.next {
                Next::Data(left) => {
                    let data = &rest[..usize::try_from(left).unwrap_or(usize::MAX).min(rest.len())];
                    body.extend_from_slice(data);
                    let left = left - data.len() as u64;
                    self.next = if left == 0 { Next::EndOfData } else { Next::Data(left) };
                    data.len()
                }
                _ => self.line(rest)?,
            };
        }
        Ok(at)
    }

    /// Continues a line; returns how many bytes belonged to it.
    fn line(&mut self, bytes: &[u8]) -> Result<usize, NotChunked> {
        let end = find(b'\n', bytes);
        let part = &bytes[..end.map_or(bytes.len(), |end| end + 1)];
        if self.line.len() + part.len() > LINE {
            return Err(NotChunked);
        }
        self.line.extend_from_slice(part);
        if end.is_some() {
            let line = core::mem::take(&mut self.line);
            self.next = self.after(&line)?;
        } else if self.next == Next::Size && parse_chunk_size(&self.line).is_err() {
            return Err(NotChunked);
        }
        Ok(part.len())
    }

    /// What is expected after a line.
    fn after(&mut self, line: &[u8]) -> Result<Next, NotChunked> {
        let empty = matches!(line, b"\r\n" | b"\n");
        match self.next {
            Next::Size => match parse_chunk_size(line) {
                Ok(Status::Complete((_, 0))) => Ok(Next::Trailer(0)),
                Ok(Status::Complete((_, size))) => {
                    self.room = self.room.checked_sub(size).ok_or(NotChunked)?;
                    Ok(Next::Data(size))
                }
                Ok(Status::Partial) | Err(_) => Err(NotChunked),
            },
            Next::EndOfData if empty => Ok(Next::Size),
            Next::Trailer(_) if empty => Ok(Next::Nothing),
            Next::Trailer(so_far) if so_far + line.len() <= LINE => {
                Ok(Next::Trailer(so_far + line.len()))
            }
            _ => Err(NotChunked),
        }
    }
}

/// Decodes a small body of at most `most` bytes; returns it and how many bytes
/// it took, or `None` when it is not complete.
///
/// # Errors
/// When it is not chunked correctly, or too long.
pub fn chunks(bytes: &[u8], most: usize) -> Result<Option<(Vec<u8>, usize)>, NotChunked> {
    let (mut chunks, mut body) = (Chunks::new(most as u64), Vec::new());
    let used = chunks.feed(bytes, &mut body)?;
    Ok(chunks.is_over().then_some((body, used)))
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_body_is_there_when_its_last_chunk_is() {
        let bytes = b"4\r\nfour\r\nA;x=y\r\n0123456789\r\n0\r\nX: y\r\n\r\nHTTP";
        let whole = bytes.len() - 4;
        assert_eq!(chunks(bytes, 14), Ok(Some((b"four0123456789".to_vec(), whole))));
        for cut in 0..whole {
            assert_eq!(chunks(&bytes[..cut], 14), Ok(None), "{cut}");
        }
        assert_eq!(chunks(bytes, 13), Err(NotChunked), "longer than is wanted");
        assert_eq!(chunks(b"4\r\nfourX\r\n", 14), Err(NotChunked));
        assert_eq!(chunks(b"<html>", 14), Err(NotChunked));
        assert_eq!(chunks(b"ffffffffffffffff\r\n", 14), Err(NotChunked));
    }

    proptest! {
        #[test]
        fn chunks_are_the_same_however_they_come(
            sizes in prop::collection::vec(1..400_usize, 0..8), cuts in prop::collection::vec(1..90_usize, 1..6),
        ) {
            let (mut bytes, mut whole) = (Vec::new(), Vec::new());
            for (n, size) in sizes.iter().enumerate() {
                let chunk: Vec<u8> = (0..*size).map(|at| (at * 7 + n) as u8).collect();
                bytes.extend(format!("{size:X};n={n}\r\n").into_bytes());
                bytes.extend(chunk.iter().chain(b"\r\n"));
                whole.extend(chunk);
            }
            bytes.extend(b"0\r\nA: b\r\n\r\nrest");
            let (mut reader, mut body, mut at) = (Chunks::new(10_000), Vec::new(), 0);
            for cut in cuts.iter().cycle() {
                if reader.is_over() {
                    break;
                }
                let part = &bytes[at..(at + cut).min(bytes.len())];
                at += reader.feed(part, &mut body).unwrap();
            }
            prop_assert_eq!((body, &bytes[at..]), (whole, &b"rest"[..]));
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes: Vec<u8>, text in "[0-9a-f]{0,3}\r\n.{0,40}") {
            for bytes in [&bytes[..], text.as_bytes()] {
                if let Ok(Some((body, used))) = chunks(bytes, 20) {
                    prop_assert!(body.len() <= 20 && used <= bytes.len());
                }
            }
        }
    }
}
