//! Escapes in URLs (RFC 3986 §2.1).

use alloc::borrow::Cow;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use percent_encoding::{
    AsciiSet, NON_ALPHANUMERIC, PercentEncode, percent_decode_str, utf8_percent_encode,
};

/// The characters that are escaped: all but letters, digits and `-._~`.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Escapes a text for a path segment or a query value.
pub(crate) fn escape(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, RESERVED)
}

/// Escapes a path segment by segment, keeping the slashes between them. What
/// would lead a browser elsewhere is escaped.
pub(crate) fn path(text: &str) -> String {
    let parts: Vec<String> = text.split('/').map(|part| escape(part).to_string()).collect();
    let leads = |part: &String| matches!(&part[..], "." | "..");
    if parts.iter().any(leads) || text.starts_with('/') || text.contains("//") {
        return escape(text).to_string();
    }
    parts.join("/")
}

/// Unescapes a text. A `%` without two hex digits stands for itself; what is
/// not UTF-8 becomes U+FFFD.
pub(crate) fn unescape(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}
