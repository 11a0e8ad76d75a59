//! The URLs of files in a swarm, and in the requests of peers.

use alloc::format;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::Text;

/// The part of a swarm's URLs before the file name.
const PREFIX: &str = "pdtp://swarm";
/// The characters of a name that are escaped in a URL.
const NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The URL of a file, from its name in any escaping.
#[must_use]
pub fn url_of(name: &str) -> Text {
    let plain = percent_decode_str(name).decode_utf8_lossy();
    format!("{PREFIX}/{}", utf8_percent_encode(&plain, NAME)).into()
}

/// The request target for a file with this URL.
#[must_use]
pub fn target_of(url: &str) -> &str {
    url.strip_prefix(PREFIX).unwrap_or(url)
}

/// The URL that a request target stands for.
#[must_use]
pub(crate) fn url_from(target: &str) -> Text {
    url_of(target.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_escaped_once_however_it_came() {
        let url = url_of("my song.ogg");
        assert_eq!(&*url, "pdtp://swarm/my%20song.ogg");
        assert_eq!(url_of("my%20song.ogg"), url);
        assert_eq!(url_from(target_of(&url)), url);
        assert_eq!(url_from("/my song.ogg"), url);
    }
}
