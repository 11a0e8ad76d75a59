//! What stands in sentences and events for an address that no host has: a servent that was
//! met has one for the downloads, which says nothing to those who read it.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

/// A servent that is reached by a link.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamedServent {
    at: String,
    link: String,
    name: String,
}

static NAMED: Mutex<Vec<NamedServent>> = Mutex::new(Vec::new());

/// Has all that is printed from now on name a servent by its link, which has no path, and by
/// its meeting place.
pub(crate) fn name_servent(at: SocketAddr, link: &str, place: &str) {
    let named = NamedServent {
        at: at.to_string(),
        link: link.to_owned(),
        name: format!("the servent behind {place}"),
    };
    let mut all = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
    if !all.contains(&named) {
        all.push(named);
    }
}

/// A text as it is printed.
pub(super) fn in_names(text: &str) -> Cow<'_, str> {
    let all = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut text = Cow::Borrowed(text);
    for NamedServent { at, link, name } in &*all {
        if text.contains(at) {
            text = text.replace(&format!("http://{at}"), link).replace(at, name).into();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servent_that_was_met_is_named_by_its_link_and_its_place() {
        let at = "[fd73:6577:1::7]:6346".parse().unwrap();
        name_servent(at, "meet://a-b@place.example", "place.example");
        name_servent(at, "meet://a-b@place.example", "place.example");
        for (text, wanted) in [
            (
                "[fd73:6577:1::7]:6346 has no such file: look at http://[fd73:6577:1::7]:6346/",
                "the servent behind place.example has no such file: look at meet://a-b@place.example/",
            ),
            ("http://[fd73:6577:1::7]:6346/a b/c", "meet://a-b@place.example/a b/c"),
            ("10.0.0.7:6346 has no such file", "10.0.0.7:6346 has no such file"),
        ] {
            assert_eq!(in_names(text), wanted);
        }
    }
}
