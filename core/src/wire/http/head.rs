//! Heads: the first line is parsed by hand, because file names in it may have
//! unescaped blanks; the fields are parsed with `httparse`.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use httparse::{EMPTY_HEADER, ParserConfig, Response, Status};
use thiserror::Error;

use super::Headers;
use crate::wire::scan::{find, is_plain, split_once, trim};

/// The maximum size of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HeadLimits {
    /// Bytes in total, including the empty line at the end.
    pub bytes: u32,
    /// Lines in total: the first one, the fields, and empty lines before them.
    pub lines: u32,
}

/// Why a head cannot be parsed. It is always the peer's fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum HeadError {
    /// More bytes than [`HeadLimits::bytes`].
    #[error("the head is too long")]
    TooLong,
    /// More lines than [`HeadLimits::lines`].
    #[error("the head has too many lines")]
    TooManyLines,
    /// The first line is not one of HTTP.
    #[error("the first line is not HTTP")]
    FirstLine,
    /// A version of HTTP that is neither 1.0 nor 1.1.
    #[error("the version of HTTP is not 1.0 or 1.1")]
    Version,
    /// The fields are malformed.
    #[error("the header fields are malformed")]
    Fields,
}

/// The HTTP version of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HttpVersion {
    /// The connection ends with the reply unless both sides say otherwise.
    Http10,
    /// The connection is kept until one side says `close`.
    Http11,
}

/// The method of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum HttpMethod {
    /// `GET`.
    Get,
    /// `HEAD`.
    Head,
    /// Any other method, which we refuse.
    Other(String),
}

/// The head of a request.
///
/// ```
/// use servent_core::wire::http::{HeadLimits, RequestHead, Target};
///
/// let bytes = b"GET /get/7/song.txt HTTP/1.1\r\nHost: here\r\n\r\n";
/// let limits = HeadLimits { bytes: 4_096, lines: 64 };
/// // Half a head asks for more bytes; a whole one says how many it took.
/// assert_eq!(RequestHead::parse(&bytes[..20], &limits), Ok(None));
/// let (head, used) = RequestHead::parse(bytes, &limits).unwrap().unwrap();
/// assert_eq!(used, bytes.len());
/// assert_eq!(head.headers.get("host"), Some("here"));
/// assert!(matches!(Target::parse(&head.target), Target::File { .. }));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestHead {
    /// The method.
    pub method: HttpMethod,
    /// The target, as in the request line.
    pub target: String,
    /// The client's version.
    pub version: HttpVersion,
    /// The fields.
    pub headers: Headers,
}

/// The head of a response.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ResponseHead {
    /// The server's version.
    pub version: HttpVersion,
    /// The status, 100 to 999.
    pub status: u16,
    /// The reason phrase; it has no meaning.
    pub reason: String,
    /// The fields.
    pub headers: Headers,
}

impl RequestHead {
    /// Parses a request head from the front of `bytes`; also returns its
    /// length. `None` means that more bytes are needed. Two parsers must not
    /// see two different requests: whatever violates RFC 9112 is refused,
    /// except blanks in the target and folded values.
    ///
    /// # Errors
    /// When no further bytes could make it a valid head within `limits`.
    pub fn parse(bytes: &[u8], limits: &HeadLimits) -> Result<Option<(Self, usize)>, HeadError> {
        let Some(frame) = frame(bytes, limits)? else { return Ok(None) };
        let (method, target, version) = request_line(frame.first)?;
        if !ends_are_whole(&bytes[..frame.used]) {
            return Err(HeadError::Fields);
        }
        let headers = strict_fields(frame.fields, frame.lines)?;
        Ok(Some((Self { method, target, version, headers }, frame.used)))
    }

    /// True when it has exactly one `Host`, as RFC 9112 §3.2 requires; version
    /// 1.0 may have none.
    #[must_use]
    pub fn names_one_host(&self) -> bool {
        match self.headers.all("Host").count() {
            0 => self.version == HttpVersion::Http10,
            hosts => hosts == 1,
        }
    }

    /// True when the client wants to keep the connection.
    #[must_use]
    pub fn keep_alive(&self) -> bool {
        keep_alive(self.version, &self.headers)
    }
}

impl ResponseHead {
    /// Parses a response head from the front of `bytes`; also returns its
    /// length. `None` means that more bytes are needed.
    ///
    /// # Errors
    /// When no further bytes could make it a valid head within `limits`.
    pub fn parse(bytes: &[u8], limits: &HeadLimits) -> Result<Option<(Self, usize)>, HeadError> {
        let Some(frame) = frame(bytes, limits)? else { return Ok(None) };
        let (version, status, reason) = status_line(frame.first)?;
        let headers = fields(frame.fields, frame.lines)?;
        Ok(Some((Self { version, status, reason, headers }, frame.used)))
    }

    /// True when the server will keep the connection after this reply.
    #[must_use]
    pub fn keep_alive(&self) -> bool {
        keep_alive(self.version, &self.headers)
    }

    /// The length of the body; `None` when it is missing, not a number, or
    /// given twice with different values.
    #[must_use]
    pub fn content_length(&self) -> Option<u64> {
        let mut told = self.headers.all("Content-Length").map(|v| decimal(trim(v)));
        let first = told.next()??;
        told.all(|other| other == Some(first)).then_some(first)
    }
}

/// A head split into parts that are not parsed yet.
struct HeadFrame<'a> {
    first: &'a [u8],
    /// The fields and the final empty line.
    fields: &'a [u8],
    lines: usize,
    used: usize,
}

/// Finds the end of the head within the limits.
fn frame<'a>(bytes: &'a [u8], limits: &HeadLimits) -> Result<Option<HeadFrame<'a>>, HeadError> {
    let most = limits.bytes as usize;
    let seen = &bytes[..bytes.len().min(most)];
    let (mut at, mut lines) = (0, 0);
    let mut first: Option<(&[u8], usize)> = None;
    while let Some(length) = find(b'\n', &seen[at..]) {
        let line = &seen[at..at + length];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        at += length + 1;
        if let (Some((first, fields)), true) = (first, line.is_empty()) {
            return Ok(Some(HeadFrame { first, fields: &seen[fields..at], lines, used: at }));
        }
        lines += 1;
        if lines > limits.lines as usize {
            return Err(HeadError::TooManyLines);
        }
        if first.is_none() && !line.is_empty() {
            first = Some((line, at));
        }
    }
    if bytes.len() >= most { Err(HeadError::TooLong) } else { Ok(None) }
}

/// The head of any protocol with the syntax of HTTP: its first line, its
/// fields, and its length.
pub(in crate::wire) fn split_head(
    bytes: &[u8],
    limits: &HeadLimits,
) -> Result<Option<(String, Headers, usize)>, HeadError> {
    let Some(frame) = frame(bytes, limits)? else { return Ok(None) };
    let first = String::from_utf8_lossy(frame.first).into_owned();
    Ok(Some((first, fields(frame.fields, frame.lines)?, frame.used)))
}

/// `METHOD target HTTP/1.x`. The target may contain blanks, so the line is
/// split at its first blank and at its last ` HTTP/`.
fn request_line(line: &[u8]) -> Result<(HttpMethod, String, HttpVersion), HeadError> {
    if !is_plain(line) && line.iter().any(|&b| b < b' ' || b == 0x7f) {
        return Err(HeadError::FirstLine);
    }
    let line = text(line);
    let at = line.rfind(" HTTP/").ok_or(HeadError::FirstLine)?;
    let version = version(line[at + 1..].trim_ascii_end())?;
    let (method, target) = split_once(&line[..at], b' ').ok_or(HeadError::FirstLine)?;
    let target = trim(target);
    if method.is_empty() || target.is_empty() || !method.bytes().all(is_token) {
        return Err(HeadError::FirstLine);
    }
    let method = match method {
        "GET" => HttpMethod::Get,
        "HEAD" => HttpMethod::Head,
        other => HttpMethod::Other(other.into()),
    };
    Ok((method, target.into(), version))
}

/// `HTTP/1.x 503 any text`; the oldest servents omit the version.
fn status_line(line: &[u8]) -> Result<(HttpVersion, u16, String), HeadError> {
    let line = text(line);
    let (protocol, rest) = split_once(&line, b' ').ok_or(HeadError::FirstLine)?;
    let version = if protocol == "HTTP" { HttpVersion::Http10 } else { version(protocol)? };
    let rest = rest.trim_ascii_start();
    let (digits, reason) = split_once(rest, b' ').unwrap_or((rest.trim_ascii_end(), ""));
    let status = match decimal(digits) {
        Some(n @ 100..=999) if digits.len() == 3 => n as u16,
        _ => return Err(HeadError::FirstLine),
    };
    Ok((version, status, reason.trim_ascii().into()))
}

/// `HTTP/1.x`. Every minor version above 0 is treated as 1.1.
fn version(text: &str) -> Result<HttpVersion, HeadError> {
    let number = text.strip_prefix("HTTP/").ok_or(HeadError::FirstLine)?;
    match split_once(number, b'.').map(|(major, minor)| (decimal(major), decimal(minor))) {
        Some((Some(1), Some(0))) => Ok(HttpVersion::Http10),
        Some((Some(1), Some(_))) => Ok(HttpVersion::Http11),
        _ => Err(HeadError::Version),
    }
}

/// The bytes as text, with replacement characters for what is not UTF-8. Valid
/// text is checked for first: the standard library's lossy conversion is slow
/// on it.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    core::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Parses the fields. Nearly every block is flawless and takes the fast path.
fn fields(block: &[u8], lines: usize) -> Result<Headers, HeadError> {
    let mut room = [EMPTY_HEADER; 32];
    match httparse::parse_headers(block, &mut room) {
        Ok(Status::Complete((_, fields))) => Ok(collect(fields, block.len())),
        _ => flawed_fields(block, lines),
    }
}

/// True when every line ends with CR LF, and neither occurs alone (RFC 9112
/// §2.2).
fn ends_are_whole(head: &[u8]) -> bool {
    let alone = |(at, byte): (usize, &u8)| match byte {
        b'\n' => at == 0 || head[at - 1] != b'\r',
        b'\r' => head.get(at + 1) != Some(&b'\n'),
        _ => false,
    };
    !head.iter().enumerate().any(alone)
}

/// Parses the fields of a request strictly: no blank before a colon or the
/// first name, and no line that is not a field (RFC 9112 §5).
fn strict_fields(block: &[u8], lines: usize) -> Result<Headers, HeadError> {
    let mut room = [EMPTY_HEADER; 32];
    if let Ok(Status::Complete((_, fields))) = httparse::parse_headers(block, &mut room) {
        return Ok(collect(fields, block.len()));
    }
    if folds_what_frames(block) {
        return Err(HeadError::Fields);
    }
    // Very many fields, or folded values.
    let mut config = ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);
    behind_a_first_line(&config, block, lines)
}

/// True when a field is folded that says where a request goes or where it ends.
/// Others may read only its first line (RFC 9112 §5.2).
fn folds_what_frames(block: &[u8]) -> bool {
    const STRICT: [&[u8]; 3] = [b"host", b"content-length", b"transfer-encoding"];
    let name = |line: &[u8]| find(b':', line).map(|colon| line[..colon].to_ascii_lowercase());
    let mut is_strict = false;
    block.split(|b| *b == b'\n').any(|line| match line.first() {
        Some(b' ' | b'\t') => is_strict,
        _ => {
            is_strict = name(line).is_some_and(|name| STRICT.contains(&&name[..]));
            false
        }
    })
}

/// Parses fields that are folded, badly spaced or very many. `httparse` accepts
/// those only after a first line. Lines that are not fields are ignored.
fn flawed_fields(block: &[u8], lines: usize) -> Result<Headers, HeadError> {
    let mut config = ParserConfig::default();
    config
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_space_before_first_header_name(true)
        .ignore_invalid_headers_in_responses(true);
    behind_a_first_line(&config, block, lines)
}

/// Parses fields as those of a response, after a constant first line.
fn behind_a_first_line(
    config: &ParserConfig,
    block: &[u8],
    lines: usize,
) -> Result<Headers, HeadError> {
    const FIRST: &[u8] = b"HTTP/1.1 200 \r\n";
    let mut whole = Vec::with_capacity(FIRST.len() + block.len());
    whole.extend_from_slice(FIRST);
    whole.extend_from_slice(block);
    let mut room = vec![EMPTY_HEADER; lines];
    let mut response = Response::new(&mut room);
    let parsed = config.parse_response(&mut response, &whole);
    if !matches!(parsed, Ok(Status::Complete(_))) {
        return Err(HeadError::Fields);
    }
    Ok(collect(response.headers, block.len()))
}

fn collect(fields: &[httparse::Header<'_>], bytes: usize) -> Headers {
    Headers::whole(fields.iter().map(|f| (f.name, f.value)), bytes).unwrap_or_else(|| {
        let mut headers = Headers::default();
        for field in fields {
            headers.push(field.name, &unfold(&text(field.value)));
        }
        headers
    })
}

/// Joins the lines of a folded value with single blanks.
fn unfold(value: &str) -> Cow<'_, str> {
    if find(b'\n', value.as_bytes()).is_none() {
        return Cow::Borrowed(value);
    }
    let mut out = String::with_capacity(value.len());
    for line in value.split('\n').map(str::trim).filter(|l| !l.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(line);
    }
    Cow::Owned(out)
}

fn keep_alive(version: HttpVersion, headers: &Headers) -> bool {
    match version {
        HttpVersion::Http11 => !headers.lists("Connection", "close"),
        HttpVersion::Http10 => {
            headers.lists("Connection", "keep-alive") && !headers.lists("Connection", "close")
        }
    }
}

const fn is_token(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'!' | b'~' | b'+' | b'*')
}

/// A number of decimal digits only.
pub(in crate::wire) fn decimal(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn flawless_fields_read_alike_both_ways(
            flawless in "([A-Za-z-]{1,6}:[ \t]?[a-zé,;\"= ]{0,9}\r?\n){0,5}",
            flawed in "([ :\t]?[A-Za-z ]{0,6}[ :]?[a-z\u{0}-é]{0,4}\r?\n){0,2}",
            bytes: bool,
        ) {
            let mut block = (flawless + &flawed + "\r\n").into_bytes();
            if let (true, Some(byte)) = (bytes, block.get_mut(9)) {
                *byte = 0xff;
            }
            prop_assert_eq!(fields(&block, 40), flawed_fields(&block, 40));
        }
    }
}
