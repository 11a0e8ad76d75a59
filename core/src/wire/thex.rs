//! Hash trees on the wire (THEX): the header by which a servent announces one,
//! and the message that carries it, which is two DIME records: a description in
//! XML, and the hashes from the root downwards.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::id::{Sha1, Tth};
use crate::thex::{BLOCK, Tree};
use crate::wire::http::Target;
use crate::wire::scan::trim;

/// The `Content-Type` of a tree.
pub const CONTENT_TYPE: &str = "application/dime";

const DIGEST: &str = "http://open-content.net/spec/digest/tiger";
const TREE: &str = "http://open-content.net/spec/thex/breadthfirst";
const XML: &str = "text/xml";
/// Bytes of the head of a record.
const HEAD: usize = 12;
const NODE: usize = 24;

/// The value of `X-Thex-URI`: where the tree of a file is, and its root.
///
/// ```
/// use servent_core::wire::thex::ThexUri;
///
/// let root = "LWPNACQDBZRYXW3VHJVCJ64QBZNGHOHHHZWCLNQ";
/// let told = ThexUri::parse(&format!("/uri-res/N2X?urn:sha1:ABC;{root}")).unwrap();
/// assert_eq!((told.target.as_str(), told.root.to_string()), ("/uri-res/N2X?urn:sha1:ABC", root.into()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThexUri {
    /// The request target for the tree.
    pub target: String,
    /// The root of the tree.
    pub root: Tth,
}

impl ThexUri {
    /// Where our own tree of a file is.
    #[must_use]
    pub fn ours(sha1: Sha1, root: Tth) -> Self {
        Self { target: format!("{}", Target::Tree(sha1)), root }
    }

    /// Parses the header. `None` for a tree on another host.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (target, root) = text.rsplit_once(';')?;
        let (target, root) = (trim(target), Tth::parse(trim(root).as_bytes())?);
        let plain = target.starts_with('/') && target.bytes().all(|b| b.is_ascii_graphic());
        plain.then(|| Self { target: target.into(), root })
    }
}

impl fmt::Display for ThexUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{};{}", self.target, self.root)
    }
}

/// The message that carries a tree.
#[must_use]
pub fn write(tree: &Tree) -> Vec<u8> {
    let hashes: Vec<u8> = tree.generations().iter().flat_map(|hash| hash.0).collect();
    let name = name(&tree.root());
    let xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\r\n\
         <!DOCTYPE hashtree SYSTEM \"http://open-content.net/spec/thex/thex.dtd\">\r\n\
         <hashtree>\r\n\
         <file size=\"{}\" segmentsize=\"{BLOCK}\"/>\r\n\
         <digest algorithm=\"{DIGEST}\" outputsize=\"{NODE}\"/>\r\n\
         <serializedtree depth=\"{}\" type=\"{TREE}\" uri=\"{name}\"/>\r\n\
         </hashtree>\r\n",
        tree.size(),
        tree.depth()
    );
    let mut message = Vec::with_capacity(hashes.len() + 1_024);
    // Version 1, first record, last record; then a media type and a URI.
    record(&mut message, [0x0c, 0x10], ("", XML), xml.as_bytes());
    record(&mut message, [0x0a, 0x20], (&name, TREE), &hashes);
    message
}

/// Reads the tree of a file of this size from a message; `None` when it is not
/// one with this root. The description may be missing or wrong: it is enough
/// that the hashes lead to the root.
#[must_use]
pub fn read(message: &[u8], size: u64, root: Tth) -> Option<Tree> {
    let mut rest = message;
    while let Some((kind, data, after)) = next(rest) {
        if kind.eq_ignore_ascii_case(TREE.as_bytes()) {
            let hashes: Vec<Tth> = data.as_chunks::<NODE>().0.iter().copied().map(Tth).collect();
            return Tree::from_generations(size, root, &hashes);
        }
        rest = after;
    }
    None
}

/// The name by which the description refers to the hashes.
fn name(root: &Tth) -> String {
    let digits = data_encoding::HEXLOWER.encode(&root.0[..16]);
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    format!("uuid:{}", parts.join("-"))
}

fn record(message: &mut Vec<u8>, start: [u8; 2], (id, kind): (&str, &str), data: &[u8]) {
    message.extend(start);
    message.extend([0, 0]); // No options.
    message.extend((id.len() as u16).to_be_bytes());
    message.extend((kind.len() as u16).to_be_bytes());
    message.extend((data.len() as u32).to_be_bytes());
    for part in [id.as_bytes(), kind.as_bytes(), data] {
        message.extend(part);
        message.resize(message.len().next_multiple_of(4), 0);
    }
}

/// Type and data of the first record, and the rest. Chunked records are not
/// supported; no program sends them.
fn next(message: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (head, mut rest) = message.split_first_chunk::<HEAD>()?;
    let (version, chunked) = (head[0] >> 3, head[0] & 1 == 1);
    if version != 1 || chunked {
        return None;
    }
    let short = |at: usize| usize::from(u16::from_be_bytes([head[at], head[at + 1]]));
    let long = u32::from_be_bytes([head[8], head[9], head[10], head[11]]);
    let mut take = |length: usize| {
        let (part, after) = rest.split_at_checked(length)?;
        // Missing padding at the very end is tolerated.
        let padding = (length.next_multiple_of(4) - length).min(after.len());
        rest = &after[padding..];
        Some(part)
    };
    let (_options, _id) = (take(short(2))?, take(short(4))?);
    let (kind, data) = (take(short(6))?, take(usize::try_from(long).ok()?)?);
    Some((kind, data, rest))
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use proptest::prelude::*;

    use super::*;

    /// A message as LimeWire writes it: other quotes, no line ends, and an
    /// incomplete last generation.
    #[test]
    fn other_ways_to_write_it_are_read() {
        let whole = Tree::hash_bytes(&[3; 1_000_000]);
        let mut message = Vec::new();
        record(&mut message, [0x0c, 0x10], ("", XML), b"<?xml version='1.0'?><hashtree/>");
        let upper: Vec<u8> = whole.generations()[..3].iter().flat_map(|hash| hash.0).collect();
        record(&mut message, [0x0a, 0x20], ("uuid:1-2-3", TREE), &upper);
        let read = read(&message, 1_000_000, whole.root()).unwrap();
        assert_eq!((read.pieces().len(), read.root()), (2, whole.root()));
        assert_eq!(read.piece(), 512 * 1_024);
    }

    #[test]
    fn a_place_elsewhere_or_a_broken_root_is_not_taken() {
        let root = "LWPNACQDBZRYXW3VHJVCJ64QBZNGHOHHHZWCLNQ";
        for told in ["http://h/x;", "/a b;", "/a\u{e4};", ";"] {
            assert_eq!(ThexUri::parse(&format!("{told}{root}")), None, "{told}");
        }
        for root in ["", "LWPN", "1WPNACQDBZRYXW3VHJVCJ64QBZNGHOHHHZWCLNQ"] {
            assert_eq!(ThexUri::parse(&format!("/a;{root}")), None, "{root}");
        }
        let told = format!("/gnutella/thex/v1?urn:tree:tiger/:{root}&depth=9&ed2k=0; {root}");
        assert_eq!(ThexUri::parse(&told).unwrap().root, Tth::parse(root.as_bytes()).unwrap());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn trees_round_trip(blocks in 0..2_000_usize) {
            let bytes = vec![blocks as u8; blocks * 1_000];
            let tree = Tree::hash_bytes(&bytes);
            let message = write(&tree);
            prop_assert!(message.len() <= 64 * 1_024 && message.len().is_multiple_of(4));
            prop_assert_eq!(read(&message, tree.size(), tree.root()), Some(tree));
        }

        #[test]
        fn any_bytes_are_read_without_harm(
            mut bytes: Vec<u8>, size: u64, at: prop::sample::Index, byte: u8,
        ) {
            let _ = read(&bytes, size, Tth([0; 24]));
            if let Some(first) = bytes.first_mut() {
                *first = 0x0c;
            }
            let _ = read(&bytes, size, Tth([0; 24]));
            let tree = Tree::hash_bytes(&[9; 700_000]);
            let mut message = write(&tree);
            let at = at.index(message.len());
            message[at] = byte;
            if let Some(read) = read(&message, 700_000, tree.root()) {
                prop_assert_eq!(read.root(), tree.root());
            }
            message.truncate(at);
            if let Some(read) = read(&message, 700_000, tree.root()) {
                prop_assert_eq!(read.root(), tree.root());
            }
        }

        #[test]
        fn any_header_is_read_without_harm(text in "\\PC{0,60}|/[!-~]{0,20};[A-Z2-7]{39}") {
            if let Some(told) = ThexUri::parse(&text) {
                prop_assert_eq!(ThexUri::parse(&format!("{told}")), Some(told));
            }
        }
    }
}
