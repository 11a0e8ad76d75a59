//! The targets of requests.

use alloc::string::String;
use core::fmt;

use data_encoding::{BASE32_NOPAD, BASE32_NOPAD_NOCASE};

use crate::id::{FileIndex, Guid, Sha1};
use crate::wire::percent::{path as escaped, unescape};
use crate::wire::scan::trim;

/// A parsed request target.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Target {
    /// `/get/<index>/<name>`. The name is decoded and must never be used as a
    /// path, only be compared.
    File {
        /// The number of the file at the server.
        index: FileIndex,
        /// The name of the file there.
        name: String,
    },
    /// `/uri-res/N2R?urn:sha1:<32 base-32 digits>`.
    Urn(Sha1),
    /// `/uri-res/N2X?urn:sha1:<32 base-32 digits>`: the hash tree of that file.
    Tree(Sha1),
    /// `/`, with its query.
    Root {
        /// Without the `?`; empty when there is none.
        query: String,
    },
    /// `/gnutella/push-proxy?ServerId=…`: a servent that cannot be reached is
    /// to connect to the client.
    Push {
        /// The servent; `None` when its id cannot be parsed.
        servent: Option<Guid>,
        /// The number of the file it is to offer; 0 when none is named.
        index: FileIndex,
    },
    /// Any other path. It must never be used as a path of the file system, only
    /// to look up what is shared under that name.
    Path {
        /// Decoded, without the leading slash.
        path: String,
        /// The query, without the `?`.
        query: String,
    },
    /// Anything else.
    Other,
}

impl Target {
    /// Parses a target in origin form, or in absolute form with any host.
    #[must_use]
    pub fn parse(target: &str) -> Self {
        let path = origin(trim(target));
        Self::file(path)
            .or_else(|| Self::urn(path))
            .or_else(|| Self::push(path))
            .or_else(|| Self::root(path))
            .or_else(|| Self::path(path))
            .unwrap_or(Self::Other)
    }

    /// The path of a target, decoded, without its leading slash and its query.
    #[must_use]
    pub fn path_of(target: &str) -> Option<String> {
        let path = origin(trim(target)).strip_prefix('/')?;
        Some(unescape(path.split('?').next().unwrap_or(path)).into_owned())
    }

    fn file(path: &str) -> Option<Self> {
        let (index, name) = after(path, "/get/")?.split_once('/')?;
        if index.is_empty() || !index.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let name = unescape(name.trim_end_matches('/')).into_owned();
        (!name.is_empty()).then_some(Self::File { index: FileIndex(index.parse().ok()?), name })
    }

    fn urn(path: &str) -> Option<Self> {
        let sha1 = |urn: &str| Sha1::parse_urn(unescape(urn.trim_end_matches('/')).as_bytes());
        match after(path, "/uri-res/N2X?") {
            Some(urn) => Some(Self::Tree(sha1(urn)?)),
            None => Some(Self::Urn(sha1(after(path, "/uri-res/N2R?")?)?)),
        }
    }

    fn push(path: &str) -> Option<Self> {
        let each = ["/gnutella/push-proxy?", "/gnutella/pushproxy?", "/gnet/push-proxy?"];
        let query = each.into_iter().find_map(|prefix| after(path, prefix))?;
        let (mut servent, mut index) = (None, FileIndex(0));
        for (key, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            if key.eq_ignore_ascii_case("ServerId") || key.eq_ignore_ascii_case("guid") {
                servent = id(value.as_bytes());
            } else if key.eq_ignore_ascii_case("file") {
                index = FileIndex(value.parse().unwrap_or(0));
            }
        }
        Some(Self::Push { servent, index })
    }

    fn root(path: &str) -> Option<Self> {
        let rest = path.strip_prefix('/')?;
        if rest.is_empty() {
            return Some(Self::Root { query: String::new() });
        }
        Some(Self::Root { query: rest.strip_prefix('?')?.into() })
    }

    fn path(path: &str) -> Option<Self> {
        let rest = path.strip_prefix('/')?;
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        Some(Self::Path { path: unescape(path).into_owned(), query: query.into() })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { index, name } => {
                write!(f, "/get/{}/{}", index.0, escaped(name))
            }
            Self::Urn(sha1) => write!(f, "/uri-res/N2R?urn:sha1:{sha1}"),
            Self::Tree(sha1) => write!(f, "/uri-res/N2X?urn:sha1:{sha1}"),
            Self::Push { servent, index } => {
                let servent = servent.map(|id| BASE32_NOPAD.encode(&id.0)).unwrap_or_default();
                write!(f, "/gnutella/push-proxy?ServerId={servent}&file={}", index.0)
            }
            Self::Root { query } if query.is_empty() => f.write_str("/"),
            Self::Root { query } => write!(f, "/?{query}"),
            Self::Path { path, query } if query.is_empty() => write!(f, "/{}", escaped(path)),
            Self::Path { path, query } => write!(f, "/{}?{query}", escaped(path)),
            Self::Other => f.write_str("*"),
        }
    }
}

/// A servent id: 26 base-32 digits, or 32 hexadecimal ones.
fn id(digits: &[u8]) -> Option<Guid> {
    let bytes = || BASE32_NOPAD_NOCASE.decode(digits).ok()?.try_into().ok();
    Guid::parse(digits).or_else(|| bytes().map(Guid))
}

/// The host of a target in absolute form, which goes before what `Host` says (RFC
/// 9112 §3.2.2).
pub(crate) fn authority(target: &str) -> Option<&str> {
    let rest = after(target, "http://").or_else(|| after(target, "https://"))?;
    rest.split(['/', '?', '#']).next()
}

/// Removes scheme and host from a target in absolute form.
fn origin(target: &str) -> &str {
    match after(target, "http://") {
        Some(rest) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => target,
    }
}

/// What follows a prefix, which is compared case-insensitively.
fn after<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use proptest::prelude::*;

    use super::*;

    const URN: &str = "urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB";

    fn path(path: &str) -> Target {
        Target::Path { path: path.into(), query: String::new() }
    }

    fn file(index: u32, name: &str) -> Target {
        Target::File { index: FileIndex(index), name: name.into() }
    }

    #[test]
    fn files_are_named_raw_encoded_and_with_a_trailing_slash() {
        assert_eq!(Target::parse("/get/7/a song.ogg"), file(7, "a song.ogg"));
        assert_eq!(Target::parse("/get/7/a%20song.ogg/"), file(7, "a song.ogg"));
        assert_eq!(Target::parse("/GET/0007/%e4"), file(7, "\u{fffd}"));
        assert_eq!(Target::parse("http://h:1/get/7/a"), file(7, "a"));
        assert_eq!(Target::parse("/get/7/"), path("get/7/"));
        assert_eq!(Target::parse("/get/4294967296/a"), path("get/4294967296/a"));
        assert_eq!(Target::parse("/get/+1/a"), path("get/+1/a"));
        assert_eq!(file(3, "a b/c%").to_string(), "/get/3/a%20b/c%25");
        assert_eq!(file(3, "../x").to_string(), "/get/3/..%2Fx", "no browser walks up");
    }

    #[test]
    fn urns_are_found_in_any_case_and_inside_bitprints() {
        let sha1 = Sha1::parse_urn(URN.as_bytes()).unwrap();
        assert_eq!(Target::parse(&alloc::format!("/uri-res/N2R?{URN}")), Target::Urn(sha1));
        assert_eq!(
            Target::parse("/URI-RES/n2r?URN%3Asha1:plsthipqgsszts5fjupakuzwugyqypfb"),
            Target::Urn(sha1)
        );
        let bitprint = "/uri-res/N2R?urn:bitprint:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB.QQ";
        assert_eq!(Target::parse(bitprint), Target::Urn(sha1));
        assert_eq!(Target::parse(&bitprint.replace("N2R", "N2X")), Target::Tree(sha1));
        assert_eq!(Target::parse(&Target::Tree(sha1).to_string()), Target::Tree(sha1));
        assert_eq!(Target::parse("/uri-res/N2R?urn:md5:0").to_string(), "/uri-res/N2R?urn:md5:0");
        assert_eq!(
            Target::Urn(sha1).to_string(),
            "/uri-res/N2R?urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB"
        );
    }

    #[test]
    fn pushes_are_asked_for_in_every_form_that_is_in_use() {
        let servent = Some(Guid([0x4c; 16]));
        let of = |servent, index| Target::Push { servent, index: FileIndex(index) };
        let base32 = "JRGEYTCMJRGEYTCMJRGEYTCMJQ";
        assert_eq!(
            of(servent, 7).to_string(),
            alloc::format!("/gnutella/push-proxy?ServerId={base32}&file=7")
        );
        let hex = "4C".repeat(16);
        for (target, index) in [
            (alloc::format!("/gnutella/push-proxy?ServerID={base32}&file=7&tls=true"), 7),
            (alloc::format!("/gnutella/pushproxy?serverid={}", base32.to_lowercase()), 0),
            (alloc::format!("/gnet/push-proxy?guid={hex}"), 0),
        ] {
            assert_eq!(Target::parse(&target), of(servent, index), "{target}");
        }
        for wrong in ["x=y", "ServerId=", "ServerId=4c4c", "guid=JRGEYTCMJRGEYTCMJRGEYTCMJ1"] {
            let target = alloc::format!("/gnutella/push-proxy?{wrong}");
            assert_eq!(Target::parse(&target), of(None, 0), "{target}");
        }
        assert_eq!(Target::parse("/gnutella/push-proxy"), path("gnutella/push-proxy"));
    }

    #[test]
    fn the_root_keeps_its_query() {
        assert_eq!(Target::parse("/"), Target::Root { query: String::new() });
        assert_eq!(Target::parse("/?a=b"), Target::Root { query: "a=b".into() });
        assert_eq!(Target::parse("/favicon.ico"), path("favicon.ico"));
        let query = "sort=size".into();
        let folder = Target::Path { path: "a b/".into(), query };
        assert_eq!(Target::parse("/a%20b/?sort=size"), folder);
        assert_eq!(folder.to_string(), "/a%20b/?sort=size");
        assert_eq!(Target::parse("x"), Target::Other);
    }

    proptest! {
        #[test]
        fn files_round_trip(index: u32, name in "\\PC{0,20}[^/\\pC]") {
            let target = file(index, &name);
            prop_assert_eq!(Target::parse(&target.to_string()), target);
        }

        #[test]
        fn any_text_is_read_without_harm(text in "\\PC{0,60}|/get/[0-9%/a]{0,20}|/uri-res/N2R\\?.{0,40}") {
            let _ = Target::parse(&text);
        }
    }
}
