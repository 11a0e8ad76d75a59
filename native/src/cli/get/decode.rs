//! Files that a server sends encoded although they were asked for as they are: some
//! compress texts for every client. They are decoded when they are whole.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _};
use std::path::Path;

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use servent_core::wire::http::BodyEncoding;

use crate::exit::{Exit, Failure};

/// The longest file that a body is decoded to: a few bytes can stand for very many.
const MOST: u64 = 1 << 36;

/// Decodes a file in its place; returns how long it is then, which is less than
/// `most`. What cannot be decoded is kept beside it, so that the name stays free for
/// another attempt.
pub(super) fn decode(file: &Path, encoding: BodyEncoding, most: u64) -> Result<u64, Failure> {
    in_place(file, encoding, most.min(MOST)).map_err(|why| {
        let what = format!("{} came encoded, and cannot be decoded: {why}", file.display());
        let damaged = matches!(
            why.kind(),
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof
        );
        let exit = if damaged { Exit::Unverified } else { Exit::Disk };
        let mut kept = file.as_os_str().to_owned();
        kept.push(".encoded");
        let failure = Failure::new(exit, what);
        match std::fs::rename(file, &kept) {
            Ok(()) => failure.next(format!("{} is it as it came", Path::new(&kept).display())),
            Err(_) => failure.next("it is kept as it came"),
        }
    })
}

fn in_place(file: &Path, encoding: BodyEncoding, most: u64) -> io::Result<u64> {
    let mut packed = File::open(file)?;
    let about = packed.metadata()?;
    let mut first = [0; 2];
    let n = packed.read(&mut first)?;
    packed.rewind()?;
    let packed = BufReader::new(packed);
    let plain: Box<dyn Read> = match encoding {
        BodyEncoding::Gzip => Box::new(MultiGzDecoder::new(packed)),
        // Many mean by it what has a head and a checksum (RFC 9110 §8.4.1.2), some not.
        BodyEncoding::Deflate if n == 2 && is_zlib(first) => Box::new(ZlibDecoder::new(packed)),
        BodyEncoding::Deflate => Box::new(DeflateDecoder::new(packed)),
        BodyEncoding::Other => return Err(io::ErrorKind::Unsupported.into()),
    };
    let mut whole = tempfile::NamedTempFile::new_in(file.parent().unwrap_or(Path::new(".")))?;
    let size = io::copy(&mut plain.take(most), whole.as_file_mut())?;
    if size == most {
        return Err(io::Error::other("it is too long"));
    }
    whole.as_file().set_permissions(about.permissions())?;
    whole.as_file().set_modified(about.modified()?)?;
    whole.persist(file)?;
    Ok(size)
}

/// True for the head of the zlib format (RFC 1950 §2.2).
fn is_zlib([method, flags]: [u8; 2]) -> bool {
    method & 0x0f == 8 && u16::from_be_bytes([method, flags]) % 31 == 0
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    #[test]
    fn what_is_packed_is_unpacked_in_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let (file, text) = (dir.path().join("a.txt"), b"la ".repeat(10_000));
        let level = Compression::default();
        let mut gzip = GzEncoder::new(Vec::new(), level);
        let mut zlib = ZlibEncoder::new(Vec::new(), level);
        let mut raw = DeflateEncoder::new(Vec::new(), level);
        gzip.write_all(&text).unwrap();
        zlib.write_all(&text).unwrap();
        raw.write_all(&text).unwrap();
        for (packed, encoding) in [
            (gzip.finish().unwrap(), BodyEncoding::Gzip),
            (zlib.finish().unwrap(), BodyEncoding::Deflate),
            (raw.finish().unwrap(), BodyEncoding::Deflate),
        ] {
            std::fs::write(&file, packed).unwrap();
            assert_eq!(decode(&file, encoding, u64::MAX).unwrap(), 30_000, "{encoding:?}");
            assert_eq!(std::fs::read(&file).unwrap(), text);
        }
        std::fs::write(&file, "no gzip").unwrap();
        assert!(decode(&file, BodyEncoding::Gzip, u64::MAX).is_err());
        let kept = dir.path().join("a.txt.encoded");
        assert_eq!(std::fs::read(&kept).unwrap(), b"no gzip", "it is kept as it came");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        // A list of a few bytes that would be a very long one.
        let mut bomb = GzEncoder::new(Vec::new(), level);
        bomb.write_all(&vec![0; 1 << 20]).unwrap();
        std::fs::write(&file, bomb.finish().unwrap()).unwrap();
        assert!(decode(&file, BodyEncoding::Gzip, 1 << 16).is_err(), "no more than is wanted");
    }
}
