//! Names of files: any bytes but a slash.

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

/// The name with these bytes.
pub(crate) fn os_string(bytes: Vec<u8>) -> OsString {
    OsString::from_vec(bytes)
}

/// A path component that this system keeps as it is, for one without separators and
/// control characters.
pub(crate) fn fitting(name: &str) -> Cow<'_, str> {
    name.into()
}
