//! What a reply means for the requested range: pure functions. No byte of a
//! reply is trusted.

use super::SourceTrouble;
use super::ranges::ByteRange;
use crate::id::Sha1;
use crate::time::Instant;
use crate::wire::http::{BodyEncoding, ContentRange, HttpDate, ResponseHead, body_encoding};
use crate::wire::queue::QueueReply;

const SHA1_OF_NOTHING: Sha1 = Sha1([
    0xda, 0x39, 0xa3, 0xee, 0x5e, 0x6b, 0x4b, 0x0d, 0x32, 0x55, 0xbf, 0xef, 0x95, 0x60, 0x18, 0x90,
    0xaf, 0xd8, 0x07, 0x09,
]);

/// The request, and what is known about the file already.
#[derive(Debug, Clone, Copy)]
pub(super) struct FetchRequest {
    /// The range; open when it ends at `u64::MAX`.
    pub(super) range: ByteRange,
    /// The size of the file.
    pub(super) size: Option<u64>,
    /// Its SHA-1.
    pub(super) sha1: Option<Sha1>,
    /// The largest file we accept.
    pub(super) largest: u64,
    /// Which encodings of a body are taken.
    pub(super) encodings: TakenEncodings,
    /// When the reply came.
    pub(super) now: Instant,
}

impl FetchRequest {
    /// The date, on a host whose time is Unix time.
    const fn today(&self) -> HttpDate {
        HttpDate::from_unix(self.now.as_micros() / 1_000_000)
    }
}

/// Which encodings of a body are taken.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TakenEncodings {
    /// The file is an archive of that kind itself: some servers say of it what they
    /// would say of a text that they packed.
    pub(super) zipped: bool,
    /// The host decodes it.
    pub(super) decodes: bool,
}

impl TakenEncodings {
    /// Those of a file of that name.
    pub(super) fn of_file(name: &str, target: &str, decodes: bool) -> Self {
        let path = target.split(['?', '#']).next().unwrap_or_default();
        let packed = |name: &str| {
            let kind = name.rsplit_once('.').map_or("", |(_, kind)| kind);
            ["gz", "tgz", "taz", "gzip", "svgz"].iter().any(|it| it.eq_ignore_ascii_case(kind))
        };
        Self { zipped: packed(name) || packed(path), decodes }
    }

    /// The encoding that is to be decoded; an error for one that cannot be.
    pub(super) fn to_decode(
        self,
        head: &ResponseHead,
    ) -> Result<Option<BodyEncoding>, SourceTrouble> {
        match body_encoding(&head.headers) {
            None => Ok(None),
            Some(BodyEncoding::Gzip) if self.zipped => Ok(None),
            Some(BodyEncoding::Other) => Err(SourceTrouble::Encoded),
            encoding if self.decodes => Ok(encoding),
            Some(_) => Err(SourceTrouble::Encoded),
        }
    }
}

/// A parsed reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceReply {
    /// An interim reply.
    Interim,
    /// The bytes `range` follow.
    Body {
        /// Inside the requested range, unless the server ignored it.
        range: ByteRange,
        /// The size of the file, if it is known now.
        size: Option<u64>,
    },
    /// The whole file follows, of unknown length.
    Open {
        /// It is chunked.
        chunked: bool,
    },
    /// The file is empty.
    Empty,
    /// Not served now: a place in a queue, or busy.
    Told(QueueReply),
    /// The server has no bytes of that range.
    Unsatisfiable {
        /// The size of the file, when told.
        size: Option<u64>,
    },
    /// The file is elsewhere.
    Moved,
    /// A failure that may be temporary.
    Trouble(SourceTrouble),
    /// A permanent failure.
    Useless(SourceTrouble),
}

/// Reads a reply.
pub(super) fn read(head: &ResponseHead, asked: &FetchRequest) -> SourceReply {
    match head.status {
        100..=199 => SourceReply::Interim,
        200 | 206 => body(head, asked).unwrap_or_else(SourceReply::Useless),
        416 => {
            let told = head.headers.get("Content-Range").and_then(ContentRange::parse);
            match (told.and_then(|r| r.size), asked.size) {
                (Some(0), None) => empty(asked).unwrap_or_else(SourceReply::Useless),
                (Some(told), Some(known)) if told != known => {
                    SourceReply::Useless(SourceTrouble::LengthLie)
                }
                (size, _) => {
                    SourceReply::Unsatisfiable { size: size.filter(|&s| s <= asked.largest) }
                }
            }
        }
        400 | 426 if head.headers.lists("Upgrade", "TLS/1.2") => {
            SourceReply::Useless(SourceTrouble::SpeaksTls)
        }
        401 => SourceReply::Useless(SourceTrouble::Private),
        301 | 302 | 303 | 307 | 308 => SourceReply::Moved,
        404 | 410 => SourceReply::Useless(SourceTrouble::NotFound),
        429 | 503 => SourceReply::Told(QueueReply::parse_on(head, Some(asked.today()))),
        500..=599 => SourceReply::Trouble(SourceTrouble::Failing),
        _ => SourceReply::Useless(SourceTrouble::Refused),
    }
}

fn body(head: &ResponseHead, asked: &FetchRequest) -> Result<SourceReply, SourceTrouble> {
    let chunked = in_chunks(head);
    if head.headers.get("Transfer-Encoding").is_some() && !chunked {
        return Err(SourceTrouble::Encoded);
    }
    asked.encodings.to_decode(head)?;
    let said = head.headers.all("Content-Length").next().is_some();
    if said && chunked {
        return Err(SourceTrouble::Garbage); // RFC 9112 §6.3: possible request smuggling.
    }
    let length = head.content_length();
    if said && length.is_none() {
        return Err(SourceTrouble::Garbage);
    }
    if wrong_file(head, asked.sha1) {
        return Err(SourceTrouble::NotFound);
    }
    if head.status == 200 && !said && (chunked || asked.size.is_none()) {
        return Ok(SourceReply::Open { chunked });
    }
    if chunked {
        return Err(SourceTrouble::Encoded); // A part of a file in chunks: no server sends that.
    }
    let (range, size) = if head.status == 206 {
        let range = head.headers.get("Content-Range").and_then(ContentRange::parse);
        let ContentRange { range, size } = range.ok_or(SourceTrouble::Garbage)?;
        (range.ok_or(SourceTrouble::Garbage)?, size)
    } else {
        let size = length.or(asked.size).ok_or(SourceTrouble::Garbage)?;
        ((0, size), Some(size))
    };
    if let (Some(told), Some(known)) = (size, asked.size)
        && told != known
    {
        return Err(SourceTrouble::LengthLie);
    }
    let size = asked.size.or(size);
    if size.is_some_and(|s| s > asked.largest) || range.1 > size.unwrap_or(asked.largest) {
        return Err(SourceTrouble::LengthLie);
    }
    if length.is_some_and(|length| length != range.1 - range.0) {
        return Err(SourceTrouble::LengthLie);
    }
    if size == Some(0) {
        return empty(asked);
    }
    let inside = asked.range.0 <= range.0 && range.1 <= asked.range.1;
    if head.status == 206 && !inside {
        return Err(SourceTrouble::LengthLie);
    }
    Ok(SourceReply::Body { range, size })
}

/// An empty file; a lie when the file's hash is not that of no bytes.
fn empty(asked: &FetchRequest) -> Result<SourceReply, SourceTrouble> {
    match asked.sha1 {
        Some(sha1) if sha1 != SHA1_OF_NOTHING => Err(SourceTrouble::LengthLie),
        _ => Ok(SourceReply::Empty),
    }
}

/// True when the body is chunked.
fn in_chunks(head: &ResponseHead) -> bool {
    head.headers.joined("Transfer-Encoding").trim_ascii().eq_ignore_ascii_case("chunked")
}

/// True when the server reports another SHA-1 than ours.
fn wrong_file(head: &ResponseHead, ours: Option<Sha1>) -> bool {
    let told = content_sha1(head);
    matches!((told, ours), (Some(told), Some(ours)) if told != ours)
}

/// The SHA-1 that the server reports, possibly in a bitprint.
pub(super) fn content_sha1(head: &ResponseHead) -> Option<Sha1> {
    let told = |name| head.headers.all(name).flat_map(|list| list.split(','));
    told("X-Gnutella-Content-URN")
        .chain(told("X-Content-URN"))
        .find_map(|urn| Sha1::parse_urn(urn.trim_ascii().as_bytes()))
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;
    use crate::wire::http::HeadLimits;

    const LIMITS: HeadLimits = HeadLimits { bytes: 4096, lines: 20 };

    fn reply(status: u16, fields: &str, range: ByteRange, size: Option<u64>) -> SourceReply {
        let text = format!("HTTP/1.1 {status} x\r\n{fields}\r\n\r\n");
        let (head, _) = ResponseHead::parse(text.as_bytes(), &LIMITS).unwrap().unwrap();
        let encodings = TakenEncodings::default();
        let (sha1, largest, now) = (None, 1 << 40, Instant::from_secs(784_111_777));
        read(&head, &FetchRequest { range, size, sha1, largest, encodings, now })
    }

    #[test]
    fn an_honest_reply_is_taken() {
        assert_eq!(
            reply(206, "Content-Range: bytes=5-9/100\r\nContent-Length: 5", (5, 10), None),
            SourceReply::Body { range: (5, 10), size: Some(100) }
        );
        assert_eq!(
            reply(206, "Content-Range: bytes 5-7/100", (5, 10), Some(100)),
            SourceReply::Body { range: (5, 8), size: Some(100) }
        );
        assert_eq!(
            reply(200, "Content-Length: 100", (5, 10), Some(100)),
            SourceReply::Body { range: (0, 100), size: Some(100) }
        );
        assert_eq!(reply(200, "Content-Length: 0", (0, u64::MAX), None), SourceReply::Empty);
        assert_eq!(reply(416, "Content-Range: bytes */0", (0, u64::MAX), None), SourceReply::Empty);
    }

    #[test]
    fn a_hash_is_told_in_several_ways() {
        const SHA1: &str = "PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB";
        for field in [
            format!("X-Gnutella-Content-URN: urn:sha1:{SHA1}"),
            format!("X-Content-URN: urn:md5:0, urn:sha1:{SHA1}"),
            format!("X-Content-URN: urn:bitprint:{SHA1}.LWPNACQDBZRYXW3VHJVCJ64QBZNGHOHHHZWCLNQ"),
        ] {
            let text = format!("HTTP/1.1 206 x\r\n{field}\r\n\r\n");
            let (head, _) = ResponseHead::parse(text.as_bytes(), &LIMITS).unwrap().unwrap();
            assert_eq!(content_sha1(&head), Sha1::parse(SHA1.as_bytes()), "{field}");
        }
    }

    #[test]
    fn a_lie_about_length_or_range_is_seen() {
        let lie = SourceReply::Useless(SourceTrouble::LengthLie);
        let part = "Content-Range: bytes 5-9/100";
        assert_eq!(reply(206, &format!("{part}\r\nContent-Length: 6"), (5, 10), None), lie);
        assert_eq!(reply(206, part, (6, 10), None), lie);
        assert_eq!(reply(206, part, (5, 9), None), lie);
        assert_eq!(reply(206, part, (5, 10), Some(99)), lie);
        assert_eq!(reply(200, "Content-Length: 99", (0, 100), Some(100)), lie);
        assert_eq!(reply(200, "Content-Length: 9999999999999", (0, u64::MAX), None), lie);
        assert_eq!(reply(416, "Content-Range: bytes */7", (0, 9), Some(9)), lie);
    }

    #[test]
    fn what_cannot_be_stored_is_garbage() {
        let garbage = SourceReply::Useless(SourceTrouble::Garbage);
        let encoded = SourceReply::Useless(SourceTrouble::Encoded);
        assert_eq!(reply(200, "Content-Encoding: gzip", (0, 9), Some(9)), encoded);
        assert_eq!(reply(200, "Transfer-Encoding: gzip, chunked", (0, 9), None), encoded);
        let part = "Content-Range: bytes 0-8/9\r\nTransfer-Encoding: chunked";
        assert_eq!(reply(206, part, (0, 9), None), encoded);
        let both = "Transfer-Encoding: chunked\r\nContent-Length: 9";
        assert_eq!(reply(200, both, (0, 9), Some(9)), garbage);
        assert_eq!(reply(200, "Content-Length: 9, 9", (0, 9), Some(9)), garbage);
        assert_eq!(reply(206, "Content-Length: 9", (0, 9), Some(9)), garbage);
    }

    #[test]
    fn an_archive_is_taken_as_it_is_and_a_packed_text_where_it_is_decoded() {
        let encodings = |name, decodes| TakenEncodings::of_file(name, "/x?a.gz", decodes);
        let taken = |encoding: &str, taken: TakenEncodings| {
            let text = format!("HTTP/1.1 200 x\r\nContent-Encoding: {encoding}\r\n\r\n");
            let (head, _) = ResponseHead::parse(text.as_bytes(), &LIMITS).unwrap().unwrap();
            taken.to_decode(&head)
        };
        let refused = Err(SourceTrouble::Encoded);
        assert_eq!(taken("x-gzip", encodings("a.TGZ", false)), Ok(None));
        assert_eq!(taken("gzip", encodings("a.txt", false)), refused);
        assert_eq!(taken("gzip", encodings("a.txt", true)), Ok(Some(BodyEncoding::Gzip)));
        assert_eq!(taken("deflate", encodings("a.tgz", true)), Ok(Some(BodyEncoding::Deflate)));
        assert_eq!(taken("br", encodings("a.tgz", true)), refused);
        assert!(TakenEncodings::of_file("x", "/a/b.tar.gz?key=1", false).zipped);
    }

    #[test]
    fn a_file_of_unknown_length_is_open() {
        let open = |chunked| SourceReply::Open { chunked };
        assert_eq!(reply(200, "X: y", (0, u64::MAX), None), open(false));
        assert_eq!(reply(200, "Transfer-Encoding: Chunked", (0, u64::MAX), None), open(true));
        assert_eq!(reply(200, "Transfer-Encoding: chunked", (0, 9), Some(9)), open(true));
        let whole = SourceReply::Body { range: (0, 9), size: Some(9) };
        assert_eq!(reply(200, "X: y", (0, 9), Some(9)), whole);
    }

    #[test]
    fn refusals_are_told_apart() {
        assert_eq!(reply(404, "A: b", (0, 9), None), SourceReply::Useless(SourceTrouble::NotFound));
        assert_eq!(reply(403, "A: b", (0, 9), None), SourceReply::Useless(SourceTrouble::Refused));
        assert_eq!(reply(401, "A: b", (0, 9), None), SourceReply::Useless(SourceTrouble::Private));
        let tls = SourceReply::Useless(SourceTrouble::SpeaksTls);
        assert_eq!(reply(400, "Upgrade: TLS/1.2, HTTP/1.1", (0, 9), None), tls);
        assert_eq!(reply(500, "A: b", (0, 9), None), SourceReply::Trouble(SourceTrouble::Failing));
        assert_eq!(reply(100, "A: b", (0, 9), None), SourceReply::Interim);
        for elsewhere in [301, 302, 303, 307, 308] {
            assert_eq!(reply(elsewhere, "Location: /x", (0, 9), None), SourceReply::Moved);
        }
        assert_eq!(reply(304, "A: b", (0, 9), None), SourceReply::Useless(SourceTrouble::Refused));
        assert!(matches!(reply(429, "Retry-After: 9", (0, 9), None), SourceReply::Told(_)));
        assert_eq!(reply(416, "A: b", (0, 9), Some(9)), SourceReply::Unsatisfiable { size: None });
    }
}
