//! Escapes in URLs (RFC 3986 §2.1).

use alloc::borrow::Cow;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use percent_encoding::{
    AsciiSet, NON_ALPHANUMERIC, PercentEncode, percent_decode_str, utf8_percent_encode,
};

/// What is escaped: everything but letters, digits and `-._~`.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A text fit for a segment of a path and for a value in a query.
pub(crate) fn escape(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, RESERVED)
}

/// A path whose parts are between slashes. What would lead a browser
/// elsewhere stays inside its part.
pub(crate) fn path(text: &str) -> String {
    let parts: Vec<String> = text.split('/').map(|part| escape(part).to_string()).collect();
    let leads = |part: &String| matches!(&part[..], "." | "..");
    if parts.iter().any(leads) || text.starts_with('/') || text.contains("//") {
        return escape(text).to_string();
    }
    parts.join("/")
}

/// What an escaped text means. An escape without its two digits stands for
/// itself; U+FFFD stands for what is not UTF-8.
pub(crate) fn unescape(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}
