//! Hash trees, and where they are said to be: a size, a root, a message.
#![no_main]

use servent_core::id::Tth;
use servent_core::wire::thex::{ThexUri, read, write};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Some(told) = std::str::from_utf8(data).ok().and_then(ThexUri::parse) {
        assert_eq!(ThexUri::parse(&told.to_string()), Some(told));
    }
    let Some((size, rest)) = data.split_first_chunk::<8>() else { return };
    let Some((root, message)) = rest.split_first_chunk::<24>() else { return };
    let (size, root) = (u64::from_be_bytes(*size), Tth(*root));
    if let Some(tree) = read(message, size, root) {
        assert_eq!((tree.size(), tree.root()), (size, root));
        assert_eq!(read(&write(&tree), size, root), Some(tree));
    }
});
