//! Heads: the first line by hand, because file names with blanks stand in it
//! unescaped, and the fields with `httparse`.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use httparse::{EMPTY_HEADER, ParserConfig, Response, Status};
use thiserror::Error;

use super::Headers;

/// How large a head may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HeadLimits {
    /// Bytes in all, the empty line at the end included.
    pub bytes: u32,
    /// Lines in all: the first one, the fields, and empty lines before them.
    pub lines: u32,
}

/// Why a head cannot be read. Every one of them is the peer's fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
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
    /// The fields cannot be told apart.
    #[error("the header fields are malformed")]
    Fields,
}

/// The version a peer speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// A connection ends with its reply unless both sides say otherwise.
    Http10,
    /// A connection lasts until somebody says `close`.
    Http11,
}

/// What a request wants done.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Method {
    /// The file.
    Get,
    /// What would be said about it.
    Head,
    /// Anything else, which we refuse.
    Other(String),
}

/// The head of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestHead {
    /// What is wanted.
    pub method: Method,
    /// Of what, as it stood in the request line.
    pub target: String,
    /// The client's version.
    pub version: Version,
    /// The fields.
    pub headers: Headers,
}

/// The head of a response.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ResponseHead {
    /// The server's version.
    pub version: Version,
    /// The status, 100 to 999.
    pub status: u16,
    /// The text behind it; means nothing.
    pub reason: String,
    /// The fields.
    pub headers: Headers,
}

impl RequestHead {
    /// Reads a request head from the front of `bytes`; also says how many
    /// bytes it took. `None` means there must be more bytes.
    ///
    /// # Errors
    /// When no further bytes could make it a head within `limits`.
    pub fn parse(bytes: &[u8], limits: &HeadLimits) -> Result<Option<(Self, usize)>, HeadError> {
        let Some(frame) = frame(bytes, limits)? else { return Ok(None) };
        let (method, target, version) = request_line(frame.first)?;
        let headers = fields(frame.fields, frame.lines)?;
        Ok(Some((Self { method, target, version, headers }, frame.used)))
    }

    /// True when the client wants to go on using the connection.
    #[must_use]
    pub fn keep_alive(&self) -> bool {
        keep_alive(self.version, &self.headers)
    }
}

impl ResponseHead {
    /// Reads a response head from the front of `bytes`; also says how many
    /// bytes it took. `None` means there must be more bytes.
    ///
    /// # Errors
    /// When no further bytes could make it a head within `limits`.
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

    /// How many bytes of body follow; `None` when that is not told, not a
    /// number, or told twice and differently.
    #[must_use]
    pub fn content_length(&self) -> Option<u64> {
        let mut told = self.headers.all("Content-Length").map(|v| decimal(v.trim()));
        let first = told.next()??;
        told.all(|other| other == Some(first)).then_some(first)
    }
}

/// A head cut out of the bytes, not yet understood.
struct Frame<'a> {
    first: &'a [u8],
    /// The fields and the empty line.
    fields: &'a [u8],
    lines: usize,
    used: usize,
}

/// Finds the end of the head within the limits.
fn frame<'a>(bytes: &'a [u8], limits: &HeadLimits) -> Result<Option<Frame<'a>>, HeadError> {
    let most = limits.bytes as usize;
    let seen = &bytes[..bytes.len().min(most)];
    let (mut at, mut lines) = (0, 0);
    let mut first: Option<(&[u8], usize)> = None;
    while let Some(length) = seen[at..].iter().position(|&b| b == b'\n') {
        let line = &seen[at..at + length];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        at += length + 1;
        if let (Some((first, fields)), true) = (first, line.is_empty()) {
            return Ok(Some(Frame { first, fields: &seen[fields..at], lines, used: at }));
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

/// `METHOD target HTTP/1.x`. The target may hold blanks, so the line is split
/// at its first blank and at its last ` HTTP/`.
fn request_line(line: &[u8]) -> Result<(Method, String, Version), HeadError> {
    if line.iter().any(|&b| b < b' ' || b == 0x7f) {
        return Err(HeadError::FirstLine);
    }
    let line = String::from_utf8_lossy(line);
    let at = line.rfind(" HTTP/").ok_or(HeadError::FirstLine)?;
    let version = version(line[at + 1..].trim_end())?;
    let (method, target) = line[..at].split_once(' ').ok_or(HeadError::FirstLine)?;
    let target = target.trim();
    if method.is_empty() || target.is_empty() || !method.bytes().all(is_token) {
        return Err(HeadError::FirstLine);
    }
    let method = match method {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        other => Method::Other(other.into()),
    };
    Ok((method, target.into(), version))
}

/// `HTTP/1.x 503 any text`; the oldest servents leave the version out.
fn status_line(line: &[u8]) -> Result<(Version, u16, String), HeadError> {
    let line = String::from_utf8_lossy(line);
    let (protocol, rest) = line.split_once(' ').ok_or(HeadError::FirstLine)?;
    let version = if protocol == "HTTP" { Version::Http10 } else { version(protocol)? };
    let rest = rest.trim_start();
    let (digits, reason) = rest.split_once(' ').unwrap_or((rest.trim_end(), ""));
    let status = match decimal(digits) {
        Some(n @ 100..=999) if digits.len() == 3 => n as u16,
        _ => return Err(HeadError::FirstLine),
    };
    Ok((version, status, reason.trim().into()))
}

/// `HTTP/1.x`. Every minor version above 0 can be answered as 1.1.
fn version(text: &str) -> Result<Version, HeadError> {
    let number = text.strip_prefix("HTTP/").ok_or(HeadError::FirstLine)?;
    match number.split_once('.').map(|(major, minor)| (decimal(major), decimal(minor))) {
        Some((Some(1), Some(0))) => Ok(Version::Http10),
        Some((Some(1), Some(_))) => Ok(Version::Http11),
        _ => Err(HeadError::Version),
    }
}

/// Reads the fields. `httparse` only takes them behind a first line; it gets
/// a constant one. Lines that are no field are passed over.
fn fields(block: &[u8], lines: usize) -> Result<Headers, HeadError> {
    const FIRST: &[u8] = b"HTTP/1.1 200 \r\n";
    let mut text = Vec::with_capacity(FIRST.len() + block.len());
    text.extend_from_slice(FIRST);
    text.extend_from_slice(block);
    let mut room = vec![EMPTY_HEADER; lines];
    let mut response = Response::new(&mut room);
    let parsed = ParserConfig::default()
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_space_before_first_header_name(true)
        .ignore_invalid_headers_in_responses(true)
        .parse_response(&mut response, &text);
    if !matches!(parsed, Ok(Status::Complete(_))) {
        return Err(HeadError::Fields);
    }
    let mut headers = Headers::with_capacity(response.headers.len(), block.len());
    for field in response.headers.iter() {
        headers.push(field.name, &unfold(&String::from_utf8_lossy(field.value)));
    }
    Ok(headers)
}

/// Joins the lines of a folded value with one blank.
fn unfold(value: &str) -> Cow<'_, str> {
    if !value.contains('\n') {
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

fn keep_alive(version: Version, headers: &Headers) -> bool {
    match version {
        Version::Http11 => !headers.lists("Connection", "close"),
        Version::Http10 => {
            headers.lists("Connection", "keep-alive") && !headers.lists("Connection", "close")
        }
    }
}

const fn is_token(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'!' | b'~' | b'+' | b'*')
}

/// A number of decimal digits and nothing else.
pub(in crate::wire) fn decimal(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}
