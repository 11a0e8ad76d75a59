//! Files that are read and written in parts: downloads, files we are the source
//! of, and the digests of their pieces.

mod attributes;
mod names;
mod part;
mod pieces;
mod room;
mod source;
mod stamp;
mod whole;

use std::io;

use servent_core::node::StoreError;

pub use self::attributes::FileAttributes;
pub(crate) use self::names::{NAME_BYTES, number, number_path, safe_name, safe_os_path};
pub use self::names::{is_being_written, part_path, safe_path};
pub(crate) use self::part::PartFile;
pub(crate) use self::pieces::hash_span;
pub use self::pieces::{CHUNK, Hashed, hash_file};
pub(crate) use self::room::free_room;
pub(crate) use self::source::SourceFile;
pub(crate) use self::stamp::FileStamp;
pub use self::whole::write_whole;
use crate::sys::is_refused_link;

/// The node's error for a system error.
pub(crate) fn store_error(why: &io::Error) -> StoreError {
    use io::ErrorKind as Kind;
    match why.kind() {
        Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => StoreError::Full,
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => StoreError::Denied,
        Kind::NotFound => StoreError::Changed,
        _ if is_refused_link(why) => StoreError::Linked,
        _ => StoreError::Failed,
    }
}
