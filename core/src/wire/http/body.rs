//! What a reply says of its body besides its length: how it is encoded, and under
//! which name it is to be saved.

use alloc::string::{String, ToString as _};

use serde::{Deserialize, Serialize};

use super::Headers;
use crate::wire::percent::unescape;

/// The longest name that is taken.
const LONGEST: usize = 512;

/// How a body is encoded (RFC 9110 §8.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyEncoding {
    /// `gzip`, or `x-gzip`.
    Gzip,
    /// `deflate`.
    Deflate,
    /// Another one, or several.
    Other,
}

/// The encoding of a body; `None` for one that is sent as it is.
#[must_use]
pub fn body_encoding(headers: &Headers) -> Option<BodyEncoding> {
    let all = headers.all("Content-Encoding").flat_map(|list| list.split(',')).map(str::trim);
    let mut all = all.filter(|one| !one.eq_ignore_ascii_case("identity"));
    let first = all.next().filter(|one| !one.is_empty())?;
    Some(match &first.to_ascii_lowercase()[..] {
        _ if all.next().is_some() => BodyEncoding::Other,
        "gzip" | "x-gzip" => BodyEncoding::Gzip,
        "deflate" => BodyEncoding::Deflate,
        _ => BodyEncoding::Other,
    })
}

/// The name that a server gives a file (RFC 6266): its last component, and nothing
/// that leads elsewhere.
#[must_use]
pub fn disposed_name(headers: &Headers) -> Option<String> {
    let text = headers.get("Content-Disposition")?;
    let mut plain = None;
    for (key, value) in Parameters(text.split_once(';')?.1) {
        if key.eq_ignore_ascii_case("filename*") {
            let (charset, rest) = value.split_once('\'')?;
            let (_, value) = rest.split_once('\'')?;
            if charset.eq_ignore_ascii_case("utf-8") {
                return last_component(&unescape(value));
            }
        } else if key.eq_ignore_ascii_case("filename") {
            plain = plain.or(Some(value));
        }
    }
    last_component(&plain?)
}

fn last_component(name: &str) -> Option<String> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    let safe: String = last.chars().map(|c| if c.is_control() { '_' } else { c }).collect();
    let leads = safe.is_empty() || safe.starts_with('.') || safe.len() > LONGEST;
    (!leads).then_some(safe)
}

/// The parameters of a header value; those in quotes without them.
struct Parameters<'a>(&'a str);

impl Iterator for Parameters<'_> {
    type Item = (String, String);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, rest) = self.0.split_once('=')?;
        let key = key.trim().trim_start_matches(';').trim().to_string();
        let rest = rest.trim_start();
        let Some(quoted) = rest.strip_prefix('"') else {
            let (value, rest) = rest.split_once(';').unwrap_or((rest, ""));
            self.0 = rest;
            return Some((key, value.trim().to_string()));
        };
        let (mut value, mut chars) = (String::new(), quoted.char_indices());
        let mut end = quoted.len();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    end = at + 1;
                    break;
                }
                '\\' => value.extend(chars.next().map(|(_, c)| c)),
                c => value.push(c),
            }
        }
        self.0 = quoted[end..].split_once(';').map_or("", |(_, rest)| rest);
        Some((key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, value: &str) -> Headers {
        let mut headers = Headers::default();
        headers.push(name, value);
        headers
    }

    #[test]
    fn an_encoding_is_told_from_none_and_from_several() {
        let encoding = |value| body_encoding(&with("Content-Encoding", value));
        assert_eq!((encoding("identity"), encoding("")), (None, None));
        assert_eq!(encoding("X-GZIP"), Some(BodyEncoding::Gzip));
        assert_eq!(encoding("identity, deflate"), Some(BodyEncoding::Deflate));
        for other in ["br", "gzip, gzip", "zstd"] {
            assert_eq!(encoding(other), Some(BodyEncoding::Other), "{other}");
        }
        assert_eq!(body_encoding(&Headers::default()), None);
    }

    #[test]
    fn a_name_is_one_safe_component_however_it_is_written() {
        for (value, name) in [
            ("attachment; filename=a.txt", Some("a.txt")),
            ("attachment; filename=\"a; b \\\"c\\\".txt\"; size=3", Some("a; b \"c\".txt")),
            ("inline;FileName=x;filename*=UTF-8''%C3%BC%20b.txt", Some("ü b.txt")),
            ("attachment; filename=\"../../etc/passwd\"", Some("passwd")),
            ("attachment; filename=\"C:\\\\dir\\\\a.exe\"", Some("a.exe")),
            ("attachment; filename*=utf-8''..%2F..%2Fb", Some("b")),
            ("attachment; filename=\"a\u{7}b\"", Some("a_b")),
            ("attachment; filename=\".bashrc\"", None),
            ("attachment; filename=\"..\"", None),
            ("attachment; filename=\"a/\"", None),
            ("attachment", None),
            ("attachment; filename", None),
            ("attachment; filename=\"open", Some("open")),
        ] {
            let found = disposed_name(&with("Content-Disposition", value));
            assert_eq!(found.as_deref(), name, "{value}");
        }
    }
}
