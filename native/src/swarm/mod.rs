//! The swarm on real sockets and files: the coordinator with its source, and
//! the client. What they decide is `servent_core::swarm`; these are the hosts
//! that move the bytes.
//!
//! One port takes everything: a first byte of HTTP is a peer that wants a
//! piece of the source, any other is a client of the coordinator.

mod error;
mod get;
mod http;
mod link;
mod part;
mod pieces;
mod pool;
mod serve;
mod source;
mod wire;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use servent_core::wire::pdtp::Text;

pub use self::error::SwarmError;
pub use self::get::{Fetch, GetOptions, Progress, get};
pub use self::pieces::{CHUNK, Hashed};
pub use self::serve::{ServeOptions, Server, Tally, serve};

/// What everybody in a swarm calls a file, before its name.
const PREFIX: &str = "pdtp://swarm";
/// Bytes of a name that need no escape in a URL.
const NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The URL of a file, whatever its name was escaped like before.
#[must_use]
pub fn url_of(name: &str) -> Text {
    let plain = percent_decode_str(name).decode_utf8_lossy();
    format!("{PREFIX}/{}", utf8_percent_encode(&plain, NAME)).into()
}

/// What stands in a request for it.
fn target_of(url: &str) -> &str {
    url.strip_prefix(PREFIX).unwrap_or(url)
}

/// The URL a request's target means.
fn url_from(target: &str) -> Text {
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
