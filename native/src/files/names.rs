//! Names for files: what a remote calls a file becomes a name that this system
//! keeps, an unfinished file has a name that belongs to it alone, and nothing that
//! exists is ever replaced.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use crate::sys::{fitting, os_string};

/// The longest name of a file in bytes: what a file system takes.
pub(crate) const NAME_BYTES: usize = 255;
/// What the name of an unfinished file ends with.
const PART: &[u8] = b".part";
/// The longest part behind the last dot that counts as an extension.
const EXTENSION: usize = 32;

/// Where a file is until it is complete: beside its later path, as `NAME.part`. A
/// name so long that no room is left for that is shortened, and a digest of all of
/// it tells it from others with the same beginning.
#[must_use]
pub fn part_path(whole: &Path) -> PathBuf {
    let name = whole.file_name().unwrap_or_default().as_encoded_bytes();
    whole.with_file_name(os_string(joined(name, PART)))
}

/// True when a process downloads what is to have this path.
#[must_use]
pub fn is_being_written(whole: &Path) -> bool {
    let part = fs::File::open(part_path(whole));
    part.is_ok_and(|part| matches!(part.try_lock(), Err(fs::TryLockError::WouldBlock)))
}

/// `name (2).ext`, never longer than a name may be. Slashes belong to folders.
pub(crate) fn number(name: &str, n: u32) -> String {
    // Cutting between characters keeps text text.
    String::from_utf8_lossy(&numbered(name.as_bytes(), n)).into_owned()
}

/// The same path with a number in its last component.
pub(crate) fn number_path(path: &Path, n: u32) -> PathBuf {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    path.with_file_name(os_string(numbered(name, n)))
}

fn numbered(path: &[u8], n: u32) -> Vec<u8> {
    let from = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let (folders, name) = path.split_at(from);
    let dot = name.iter().rposition(|byte| *byte == b'.');
    let dot = dot.filter(|dot| *dot > 0 && name.len() - dot <= EXTENSION);
    let (stem, extension) = name.split_at(dot.unwrap_or(name.len()));
    let end = [format!(" ({n})").as_bytes(), extension].concat();
    [folders, &joined(stem, &end)].concat()
}

/// A name and what follows it. If that is too long, the name is cut between
/// characters, and its digest is added.
fn joined(name: &[u8], end: &[u8]) -> Vec<u8> {
    if name.len() + end.len() <= NAME_BYTES {
        return [name, end].concat();
    }
    let digest = Sha256::digest(name);
    let mark = format!("~{}", HEXLOWER.encode(&digest[..8]));
    let mut room = NAME_BYTES.saturating_sub(mark.len() + end.len());
    // The bytes of a character after its first are 10xxxxxx.
    while room > 0 && name.get(room).is_some_and(|byte| byte & 0xc0 == 0x80) {
        room -= 1;
    }
    [&name[..room.min(name.len())], mark.as_bytes(), end].concat()
}

/// A path below some folder, whatever the remote called it: each component
/// becomes a valid file name.
#[must_use]
pub fn safe_path(path: &str) -> String {
    let parts = path.split('/').filter(|part| !part.is_empty()).map(safe_name);
    let path = parts.collect::<Vec<_>>().join("/");
    if path.is_empty() { safe_name("") } else { path }
}

/// One valid path component, whatever the remote called the file. What is longer
/// than a name may be is cut, and a digest is added.
pub(crate) fn safe_name(name: &str) -> String {
    let safe = safe_component(name.as_bytes());
    String::from_utf8_lossy(safe.as_encoded_bytes()).into_owned() // It was text, and still is.
}

/// The same for names that need not be text: their bytes are kept.
pub(crate) fn safe_os_path(path: &OsStr) -> PathBuf {
    let parts = path.as_encoded_bytes().split(|byte| *byte == b'/').filter(|part| !part.is_empty());
    let path: PathBuf = parts.map(safe_component).collect();
    if path.as_os_str().is_empty() { safe_component(b"").into() } else { path }
}

fn safe_component(name: &[u8]) -> OsString {
    let cleaned = |c: char| if c == '/' || c == '\\' || c.is_control() { '_' } else { c };
    let mut safe = Vec::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        let text: String = chunk.valid().chars().map(cleaned).collect();
        safe.extend(text.as_bytes());
        safe.extend(chunk.invalid());
    }
    match &safe[..] {
        b"" | b"." | b".." => OsString::from("download"),
        safe => {
            let name = os_string(joined(safe, b""));
            name.to_str().map(|name| fitting(name).into_owned().into()).unwrap_or(name)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

    use super::*;

    fn part_name(name: &OsStr) -> OsString {
        let path = part_path(&Path::new("in").join(name));
        assert_eq!(path.parent(), Some(Path::new("in")));
        path.file_name().unwrap().to_owned()
    }

    #[test]
    fn an_unfinished_file_needs_no_longer_name_than_the_file_and_has_one_of_its_own() {
        assert_eq!(part_name(OsStr::new("a.ogg")), "a.ogg.part");
        assert_eq!(part_name(OsStr::from_bytes(b"a\xff")).as_bytes(), b"a\xff.part");
        let fits = "a".repeat(NAME_BYTES - PART.len());
        assert_eq!(part_name(OsStr::new(&fits)), format!("{fits}.part")[..]);
        for unit in ["a", "ä", "→"] {
            let most = unit.repeat(NAME_BYTES / unit.len());
            let beside = |end: &str| format!("{}{end}", unit.repeat(NAME_BYTES / unit.len() - 1));
            let names = [most, beside("x"), beside("y")];
            let mut parts: Vec<OsString> = names.iter().map(|n| part_name(n.as_ref())).collect();
            for part in &parts {
                assert!(part.len() <= NAME_BYTES, "{}", part.len());
                assert!(part.to_str().is_some_and(|part| part.ends_with(".part")), "{part:?}");
            }
            parts.dedup();
            assert_eq!(parts.len(), names.len(), "they are the same: {parts:?}");
        }
    }

    #[test]
    fn a_number_fits_into_the_longest_name() {
        assert_eq!(number("a.ogg", 2), "a (2).ogg");
        assert_eq!(number("b.c/a", 3), "b.c/a (3)");
        assert_eq!(number("b/.a", 3), "b/.a (3)");
        assert_eq!(number_path(Path::new("in/a.ogg"), 2), Path::new("in/a (2).ogg"));
        let longest = format!("dir/{}.flac", "ü".repeat(125));
        let second = number(&longest, 1_000);
        assert!(second.ends_with(" (1000).flac") && second.len() <= "dir/".len() + NAME_BYTES);
        assert_ne!(number(&longest, 2), number(&format!("dir/{}.flac", "ü".repeat(124)), 2));
        let odd = OsString::from_vec([&[0xff; 250][..], b".part"].concat());
        assert!(number_path(Path::new(&odd), 9).as_os_str().len() <= NAME_BYTES);
        let all_dots = format!("a.{}", "b".repeat(253));
        assert!(number(&all_dots, 2).len() <= NAME_BYTES);
    }

    #[test]
    fn names_are_kept_up_to_the_last_byte_and_longer_ones_stay_apart() {
        let kept = ["x".repeat(NAME_BYTES), "ä".repeat(127), "201 bytes".repeat(23)];
        for name in &kept {
            assert_eq!(safe_name(name), *name);
        }
        let (one, other) = (safe_name(&"ä".repeat(500)), safe_name(&"ä".repeat(501)));
        assert!(one.len() <= NAME_BYTES && one.starts_with("ää") && one != other);
    }

    #[test]
    fn bytes_that_are_no_text_are_kept() {
        let path = |bytes: &[u8]| safe_os_path(OsStr::from_bytes(bytes)).into_os_string();
        assert_eq!(path(b"/a\xffb/../\xc3").as_bytes(), b"a\xffb/download/\xc3");
        assert_ne!(path(b"a\xfe"), path(b"a\xff"));
        assert_eq!(path(b"a\n\xff\\").as_bytes(), b"a_\xff_");
        assert_eq!(path(b"//"), "download");
    }
}
