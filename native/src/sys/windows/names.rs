//! Names of files. Some characters are not possible here, some names are devices
//! whatever follows their first dot, and dots and blanks at the end vanish, so that
//! two names would be one.

use std::borrow::Cow;
use std::ffi::OsString;

/// Characters that no name may have. `:` begins the hidden stream of a file.
const NEVER: [char; 9] = ['<', '>', ':', '"', '/', '\\', '|', '?', '*'];
/// Names of devices.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];
/// Names of devices with a number behind them.
const NUMBERED: [&str; 2] = ["com", "lpt"];

/// The name with these bytes; what is no text becomes one.
pub(crate) fn os_string(bytes: Vec<u8>) -> OsString {
    match String::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(odd) => String::from_utf8_lossy(odd.as_bytes()).into_owned().into(),
    }
}

/// A path component that this system keeps as it is, for one that is not empty.
pub(crate) fn fitting(name: &str) -> Cow<'_, str> {
    if is_kept(name) {
        return name.into();
    }
    let clean = |c: char| if NEVER.contains(&c) || c.is_control() { '_' } else { c };
    let mut text: String = name.chars().map(clean).collect();
    if text.ends_with(['.', ' ']) {
        text.pop();
        text.push('_');
    }
    if is_device(&text) {
        text.insert(0, '_');
    }
    text.into()
}

/// True for a name that leads to a file of exactly this name.
pub(super) fn is_kept(name: &str) -> bool {
    !name.contains(|c: char| NEVER.contains(&c) || c.is_control())
        && !name.ends_with(['.', ' '])
        && !is_device(name)
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_lowercase();
    let mut end = stem.chars();
    let digit = end.next_back().is_some_and(|c| c.is_ascii_digit() || "¹²³".contains(c));
    DEVICES.contains(&&*stem) || digit && NUMBERED.contains(&end.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mean_something_else_here_become_names_that_do_not() {
        for (name, kept) in [
            ("CON", "_CON"),
            ("nul.txt", "_nul.txt"),
            ("com1.tar.gz", "_com1.tar.gz"),
            ("LPT²", "_LPT²"),
            ("aux .c", "_aux .c"),
            ("a:b", "a_b"),
            (r"..\a", ".._a"),
            ("what?.ogg", "what_.ogg"),
            ("a.", "a_"),
            ("a. ", "a._"),
            ("...", ".._"),
        ] {
            assert_eq!(fitting(name), kept);
            assert!(!is_kept(name) && is_kept(kept), "{name}");
        }
        for name in ["a.ogg", "console", "com", "com10", "null", ".hidden", "ä b"] {
            assert_eq!(fitting(name), name);
        }
    }

    #[test]
    fn what_is_no_text_becomes_one() {
        assert_eq!(os_string(b"a\xff".to_vec()), "a\u{fffd}");
    }
}
