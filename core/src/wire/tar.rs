//! POSIX archives (ustar), with pax records for what does not fit: long names,
//! names that are not ASCII, large files.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

/// Heads and files are padded to blocks of this size.
const BLOCK: u64 = 512;
/// Bytes of zeros at the end of an archive.
pub(crate) const END: u64 = 2 * BLOCK;
/// Longest name that fits into a head.
const NAME: usize = 100;
/// The first size that does not fit into eleven octal digits.
const LARGE: u64 = 1 << 33;

/// What an archive says of a file besides its name and size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TarAttributes {
    /// In seconds since the Unix epoch.
    pub modified: u64,
    /// It may be run.
    pub executable: bool,
}

/// A file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TarFile<'a> {
    /// Its name, as the archive has it.
    pub name: String,
    /// Date and mode.
    pub attributes: TarAttributes,
    /// Its bytes.
    pub data: &'a [u8],
}

/// The files of an archive as servents write them. It ends with the archive, or before
/// the first thing in it that is no file or not whole.
#[derive(Debug, Clone)]
pub struct TarReader<'a> {
    rest: &'a [u8],
}

impl<'a> TarReader<'a> {
    /// Reads an archive.
    #[must_use]
    pub const fn new(archive: &'a [u8]) -> Self {
        Self { rest: archive }
    }

    /// The next head and what it is of: kind, name, size, attributes, bytes.
    fn member(&mut self) -> Option<(u8, &'a [u8], u64, TarAttributes)> {
        let (head, rest) = self.rest.split_at_checked(BLOCK as usize)?;
        if sum(head) != octal(&head[148..156])? {
            return None;
        }
        let modified = octal(&head[136..148])?;
        let executable = octal(&head[100..108])? & 0o111 != 0;
        let size = octal(&head[124..136])?;
        self.rest = rest;
        Some((head[156], until_zero(&head[..NAME]), size, TarAttributes { modified, executable }))
    }

    /// Takes so many bytes and their padding.
    fn take(&mut self, size: u64) -> Option<&'a [u8]> {
        let padded = usize::try_from(size.checked_add(padding(size))?).ok()?;
        let (data, rest) = self.rest.split_at_checked(padded)?;
        self.rest = rest;
        data.get(..usize::try_from(size).ok()?)
    }
}

impl<'a> Iterator for TarReader<'a> {
    type Item = TarFile<'a>;

    fn next(&mut self) -> Option<TarFile<'a>> {
        let (mut kind, mut name, mut size, mut attributes) = self.member()?;
        let (mut path, mut large) = (None, None);
        if kind == b'x' {
            for (key, value) in records(self.take(size)?) {
                match key {
                    "path" => path = Some(String::from(value)),
                    "size" => large = value.parse().ok(),
                    _ => {}
                }
            }
            (kind, name, size, attributes) = self.member()?;
        }
        if kind != b'0' {
            return None;
        }
        let data = self.take(large.unwrap_or(size))?;
        let name = path.or_else(|| Some(core::str::from_utf8(name).ok()?.into()))?;
        Some(TarFile { name, attributes, data })
    }
}

/// The pax records of a head.
fn records(mut data: &[u8]) -> Vec<(&str, &str)> {
    let mut records = Vec::new();
    while let Some(space) = data.iter().position(|byte| *byte == b' ') {
        let length = core::str::from_utf8(&data[..space]).ok().and_then(|text| text.parse().ok());
        let Some((record, rest)) = length.and_then(|length| data.split_at_checked(length)) else {
            break;
        };
        let text = record.get(space + 1..).and_then(|text| core::str::from_utf8(text).ok());
        let pair = text.and_then(|text| text.strip_suffix('\n')?.split_once('='));
        let Some(pair) = pair else { break };
        records.push(pair);
        data = rest;
    }
    records
}

/// A number in octal digits.
fn octal(field: &[u8]) -> Option<u64> {
    let text = core::str::from_utf8(until_zero(field)).ok()?;
    u64::from_str_radix(text.trim(), 8).ok()
}

fn until_zero(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// The checksum of a head: for it, its own field counts as blanks.
fn sum(head: &[u8]) -> u64 {
    let byte = |(at, byte): (usize, &u8)| {
        let blank = (148..156).contains(&at);
        u64::from(if blank { b' ' } else { *byte })
    };
    head.iter().enumerate().map(byte).sum()
}

/// The head of a file. Its length depends on name and size only.
pub(crate) fn head(name: &str, size: u64, attributes: TarAttributes) -> Vec<u8> {
    let (fits, small) = (name.len() <= NAME && name.is_ascii(), size < LARGE);
    let mut out = Vec::with_capacity(BLOCK as usize);
    if !fits || !small {
        let mut records = String::new();
        if !fits {
            records.push_str(&record("path", name));
        }
        if !small {
            records.push_str(&record("size", &format!("{size}")));
        }
        block(&mut out, (b"pax", b'x'), records.len() as u64, TarAttributes::default());
        out.extend_from_slice(records.as_bytes());
        out.resize(out.len() + padding(records.len() as u64) as usize, 0);
    }
    // Programs without pax support get as much of the name as fits.
    let clipped = &name.as_bytes()[..name.len().min(NAME)];
    block(&mut out, (clipped, b'0'), if small { size } else { 0 }, attributes);
    out
}

/// Bytes of padding after so many bytes of a file.
pub(crate) const fn padding(size: u64) -> u64 {
    size.wrapping_neg() % BLOCK
}

/// The name, made safe: it cannot lead outside of the folder it is unpacked in.
pub(crate) fn safe(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for part in name.split('/').filter(|part| !part.is_empty()) {
        if !out.is_empty() {
            out.push('/');
        }
        match part {
            "." | ".." => out.push('_'),
            part => out.extend(part.chars().map(|c| if c == '\0' { '_' } else { c })),
        }
    }
    out
}

/// `LENGTH KEY=VALUE`, where the length counts its own digits too.
fn record(key: &str, value: &str) -> String {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while digits(length) + rest != length {
        length = rest + digits(length);
    }
    format!("{length} {key}={value}\n")
}

fn digits(n: usize) -> usize {
    n.checked_ilog10().map_or(1, |digits| digits as usize + 1)
}

/// One head block.
fn block(out: &mut Vec<u8>, (name, kind): (&[u8], u8), size: u64, attributes: TarAttributes) {
    let TarAttributes { modified, executable } = attributes;
    let (modified, mode) = (modified.min(LARGE - 1), if executable { 0o755 } else { 0o644 });
    let begin = out.len();
    out.extend_from_slice(name);
    out.resize(begin + NAME, 0);
    let mut text = String::new();
    let _ = write!(text, "{mode:07o}\x000000000\x000000000\0{size:011o}\0{modified:011o}\0");
    out.extend_from_slice(text.as_bytes());
    // For the checksum, its own field counts as blanks.
    let sum = out.len();
    out.extend_from_slice(b"        ");
    out.push(kind);
    out.resize(out.len() + NAME, 0);
    out.extend_from_slice(b"ustar\x0000");
    out.resize(begin + BLOCK as usize, 0);
    let total: u32 = out[begin..].iter().map(|byte| u32::from(*byte)).sum();
    out[sum..sum + 8].copy_from_slice(format!("{total:06o}\0 ").as_bytes());
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_short_name_is_one_block() {
        let attributes = |executable| TarAttributes { modified: 7, executable };
        assert_eq!(&head("run", 5, attributes(true))[100..108], b"0000755\0");
        let head = head("a/b", 5, attributes(false));
        assert_eq!((head.len(), &head[100..108]), (512, &b"0000644\0"[..]));
        assert_eq!((&head[..4], &head[124..136]), (&b"a/b\0"[..], &b"00000000005\0"[..]));
        assert_eq!((head[156], &head[257..265]), (b'0', &b"ustar\x0000"[..]));
        assert_eq!((padding(0), padding(1), padding(512), padding(513)), (0, 511, 0, 511));
    }

    #[test]
    fn what_does_not_fit_is_told_in_a_record_before() {
        let head = head("ü", LARGE, TarAttributes::default());
        assert_eq!((head.len(), head[156]), (3 * 512, b'x'));
        assert!(head[512..].starts_with("11 path=ü\n19 size=8589934592\n".as_bytes()));
    }

    #[test]
    fn no_name_leads_out() {
        assert_eq!(safe("/../a//./b/..\0"), "_/a/_/b/.._");
        assert_eq!(safe("a\nb"), "a\nb");
    }

    #[test]
    fn what_is_written_is_read() {
        let attributes = TarAttributes { modified: 1_700_000_000, executable: true };
        let long = "n".repeat(300);
        let files = [("a/b", &b"hello"[..]), ("\u{fc}", b""), (&long, &[7; 512]), ("c", b"x")];
        let mut archive = Vec::new();
        for (name, data) in files {
            archive.extend(head(name, data.len() as u64, attributes));
            archive.extend_from_slice(data);
            archive.resize(archive.len() + padding(data.len() as u64) as usize, 0);
        }
        let whole = archive.len();
        archive.resize(whole + END as usize, 0);
        let wanted = files.map(|(name, data)| TarFile { name: name.into(), attributes, data });
        assert!(TarReader::new(&archive).eq(wanted));
        // What is cut short is not there.
        assert_eq!(TarReader::new(&archive[..whole - 512]).count(), 3);
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(
            name in ".{0,300}",
            at in 0_usize..2_048,
            strange in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut archive = head(&name, 5, TarAttributes::default());
            archive.extend_from_slice(&[1; 512]);
            let files: Vec<_> = TarReader::new(&archive).collect();
            prop_assert_eq!(files.len(), 1);
            for (byte, strange) in archive.iter_mut().skip(at).zip(&strange) {
                *byte = *strange;
            }
            let _ = TarReader::new(&archive).count();
            let _ = TarReader::new(&strange).count();
            let _ = records(&strange);
        }

        #[test]
        fn a_record_has_the_length_it_says(value in "\\PC{0,2000}") {
            let record = record("path", &value);
            let (length, _) = record.split_once(' ').unwrap();
            prop_assert_eq!(length, record.len().to_string());
        }
    }
}
