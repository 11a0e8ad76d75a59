//! How much room a disk has.

use std::path::Path;

use crate::sys::free_at;

/// Bytes that can still be written where this path is, or will be; `None` where the
/// system does not say.
pub(crate) fn free_room(path: &Path) -> Option<u64> {
    // What is not made yet will be on the disk of the first folder above it.
    let above = path.ancestors().map(|path| match path.as_os_str().is_empty() {
        true => Path::new("."),
        false => path,
    });
    above.into_iter().find_map(free_at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_for_what_is_not_made_yet_is_that_of_its_disk() {
        let dir = tempfile::tempdir().unwrap();
        let room = free_room(dir.path()).unwrap();
        let later = free_room(&dir.path().join("not/yet")).unwrap();
        assert!(room > 0 && later.abs_diff(room) < room / 2, "{room} {later}");
        assert!(free_room(Path::new("not/yet")).is_some());
    }
}
