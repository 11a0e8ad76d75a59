//! Small bodies in chunks (RFC 9112 §7.1).

use alloc::vec::Vec;

use httparse::{Status, parse_chunk_size};

use crate::wire::scan::find;

/// The longest line of a chunk's size or behind the last chunk.
const LINE: usize = 256;

/// It is no body in chunks, or a longer one than is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotChunked;

/// A body of at most `most` bytes out of its chunks, and how many bytes these
/// took; `None` when more must come first.
///
/// # Errors
/// What came in is something else.
pub fn chunks(bytes: &[u8], most: usize) -> Result<Option<(Vec<u8>, usize)>, NotChunked> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let rest = &bytes[at..];
        let size = match parse_chunk_size(rest) {
            Ok(Status::Complete((line, size))) => {
                at += line;
                usize::try_from(size).map_err(|_| NotChunked)?
            }
            Ok(Status::Partial) if rest.len() <= LINE => return Ok(None),
            Ok(Status::Partial) | Err(_) => return Err(NotChunked),
        };
        if size == 0 {
            return trailer(&bytes[at..]).map(|end| end.map(|end| (body, at + end)));
        }
        if size > most - body.len() {
            return Err(NotChunked);
        }
        let Some(chunk) = bytes.get(at..at + size + 2) else { return Ok(None) };
        let Some(data) = chunk.strip_suffix(b"\r\n") else { return Err(NotChunked) };
        body.extend_from_slice(data);
        at += size + 2;
    }
}

/// Where the fields behind the last chunk end.
fn trailer(bytes: &[u8]) -> Result<Option<usize>, NotChunked> {
    let mut at = 0;
    while at <= LINE {
        let Some(end) = find(b'\n', &bytes[at..]) else {
            return if bytes.len() - at <= LINE { Ok(None) } else { Err(NotChunked) };
        };
        let line = &bytes[at..at + end];
        at += end + 1;
        if matches!(line, b"" | b"\r") {
            return Ok(Some(at));
        }
    }
    Err(NotChunked)
}

#[cfg(test)]
mod tests {
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
        fn any_bytes_are_read_without_harm(bytes: Vec<u8>, text in "[0-9a-f]{0,3}\r\n.{0,40}") {
            for bytes in [&bytes[..], text.as_bytes()] {
                if let Ok(Some((body, used))) = chunks(bytes, 20) {
                    prop_assert!(body.len() <= 20 && used <= bytes.len());
                }
            }
        }
    }
}
