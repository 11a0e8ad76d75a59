//! Compression: slow here, so that it is small wherever it is sent.

use zopfli::{Format, Options};

/// `bytes` in the form of gzip, as small as it gets.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    zopfli::compress(Options::default(), Format::Gzip, bytes, &mut out)
        .expect("a list in memory takes every byte");
    out
}
