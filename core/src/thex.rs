//! Hash trees of files (THEX): with the tree, every piece of a file can be
//! checked independently of its source.
//!
//! Blocks of 1024 bytes are hashed with Tiger after a byte 0, pairs of hashes
//! after a byte 1, and a hash without a partner moves up unchanged. Of the
//! tree, the generation is kept at which pieces have a reasonable size; those
//! above follow from it.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use tiger::{Digest as _, Tiger};

use crate::id::Tth;

/// Bytes that are hashed as one block.
pub const BLOCK: u64 = 1_024;
/// The deepest generation that is kept: a thousand pieces are enough for any
/// file, and deployed servents accept no more than 64 KB of hashes.
const DEEPEST: u32 = 10;
/// Bytes of one hash.
const NODE: usize = 24;

/// The hash tree of a file, down to its pieces.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "HashTreeRow", into = "HashTreeRow")]
pub struct Tree {
    size: u64,
    /// Size of every piece but the last.
    piece: u64,
    pieces: Vec<Tth>,
    root: Tth,
}

/// The serialized form of a tree.
#[derive(Serialize, Deserialize)]
struct HashTreeRow {
    size: u64,
    #[serde(with = "crate::hex")]
    pieces: Vec<u8>,
}

impl Tree {
    /// The hash of some bytes.
    #[cfg(test)]
    pub(crate) fn hash_bytes(bytes: &[u8]) -> Self {
        let mut hasher = TreeHasher::new(bytes.len() as u64);
        hasher.update(bytes);
        hasher.finish().expect("it had all its bytes")
    }

    /// The tree of a file of this size, from the hashes of its pieces; `None`
    /// when no generation has that many.
    #[must_use]
    pub fn new(size: u64, pieces: Vec<Tth>) -> Option<Self> {
        let piece = generations(size).find(|(count, _)| *count == pieces.len() as u64)?.1;
        let mut root = pieces.clone();
        while root.len() > 1 {
            root = parents(&root);
        }
        Some(Self { size, piece, root: root[0], pieces })
    }

    /// From the hashes of its generations, the root first; `None` unless all of
    /// them lead to `root`. An incomplete last generation is ignored, as are
    /// generations of smaller pieces than ours.
    #[must_use]
    pub fn from_generations(size: u64, root: Tth, hashes: &[Tth]) -> Option<Self> {
        let mut counts: Vec<u64> = generations(size).map(|(count, _)| count).collect();
        counts.reverse();
        let (mut above, mut rest) = (Vec::from([root]), hashes.strip_prefix(&[root])?);
        for count in counts.into_iter().skip(1).take(depth(size) as usize) {
            let Some((here, below)) =
                usize::try_from(count).ok().and_then(|n| rest.split_at_checked(n))
            else {
                break;
            };
            if parents(here) != above {
                return None;
            }
            (above, rest) = (here.to_vec(), below);
        }
        Self::new(size, above)
    }

    /// Size of the file in bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The root hash.
    #[must_use]
    pub const fn root(&self) -> Tth {
        self.root
    }

    /// Size of a piece in bytes; the last one may be smaller.
    #[must_use]
    pub const fn piece(&self) -> u64 {
        self.piece
    }

    /// The hash of each piece, in order.
    #[must_use]
    pub fn pieces(&self) -> &[Tth] {
        &self.pieces
    }

    /// The byte range `start..end` of a piece.
    #[must_use]
    pub fn span(&self, piece: u32) -> (u64, u64) {
        let start = u64::from(piece).saturating_mul(self.piece);
        (start.min(self.size), start.saturating_add(self.piece).min(self.size))
    }

    /// The hashes of its generations, the root first.
    #[must_use]
    pub fn generations(&self) -> Vec<Tth> {
        let mut all = Vec::from([self.pieces.clone()]);
        while let Some(last) = all.last().filter(|hashes| hashes.len() > 1) {
            all.push(parents(last));
        }
        all.into_iter().rev().flatten().collect()
    }

    /// How many generations below the root are kept for a file of this size.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.pieces.len().next_power_of_two().trailing_zeros()
    }
}

impl TryFrom<HashTreeRow> for Tree {
    type Error = &'static str;

    fn try_from(row: HashTreeRow) -> Result<Self, Self::Error> {
        let (pieces, rest) = row.pieces.as_chunks::<NODE>();
        let tree = Self::new(row.size, pieces.iter().copied().map(Tth).collect());
        tree.filter(|_| rest.is_empty()).ok_or("no hash tree has so many nodes")
    }
}

impl From<Tree> for HashTreeRow {
    fn from(tree: Tree) -> Self {
        Self { size: tree.size, pieces: tree.pieces.iter().flat_map(|node| node.0).collect() }
    }
}

/// How many generations below the root are kept: pieces of 128 to 256 KiB up to
/// 64 MiB, as in deployed servents.
const fn depth(size: u64) -> u32 {
    let quarters = size >> 18;
    match quarters {
        0 => 0,
        1..256 => quarters.ilog2() + 1,
        256..1_024 => 9,
        _ => DEEPEST,
    }
}

/// The generations of a file's tree, from its blocks upwards: the number of
/// nodes, and the bytes each of them covers.
fn generations(size: u64) -> impl Iterator<Item = (u64, u64)> {
    let blocks = (size.div_ceil(BLOCK).max(1), BLOCK);
    core::iter::successors(Some(blocks), |&(count, piece)| {
        (count > 1).then(|| (count.div_ceil(2), piece.saturating_mul(2)))
    })
}

/// The piece size for a file of this size.
fn piece_of(size: u64) -> u64 {
    let most = 1 << depth(size);
    generations(size).find(|(count, _)| *count <= most).map_or(BLOCK, |(_, piece)| piece)
}

/// The generation above.
fn parents(hashes: &[Tth]) -> Vec<Tth> {
    let parent = |pair: &[Tth]| match pair {
        [left, right] => join(left, right),
        rest => rest[0],
    };
    hashes.chunks(2).map(parent).collect()
}

fn join(left: &Tth, right: &Tth) -> Tth {
    let parent = Tiger::new().chain_update([1]).chain_update(left.0).chain_update(right.0);
    Tth(parent.finalize().into())
}

/// Computes a tree from bytes as they come.
#[derive(Debug, Clone)]
pub struct TreeHasher {
    size: u64,
    piece: u64,
    /// Bytes so far.
    at: u64,
    block: Tiger,
    /// Complete subtrees of the current piece, each with its height.
    stack: Vec<(u32, Tth)>,
    pieces: Vec<Tth>,
}

impl TreeHasher {
    /// A hasher for a file of this size.
    #[must_use]
    pub fn new(size: u64) -> Self {
        Self::in_pieces(size, piece_of(size))
    }

    /// A hasher for a range of so many bytes, as one piece.
    #[must_use]
    pub fn of_piece(bytes: u64) -> Self {
        Self::in_pieces(bytes, u64::MAX)
    }

    fn in_pieces(size: u64, piece: u64) -> Self {
        let block = Tiger::new().chain_update([0]);
        Self { size, piece, at: 0, block, stack: Vec::new(), pieces: Vec::new() }
    }

    /// Adds the next bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = (BLOCK - self.at % BLOCK) as usize;
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.block.update(now);
            self.at += now.len() as u64;
            if self.at.is_multiple_of(BLOCK) {
                self.end_block();
                if self.at.is_multiple_of(self.piece) {
                    self.end_piece();
                }
            }
            bytes = later;
        }
    }

    fn end_block(&mut self) {
        let block = core::mem::replace(&mut self.block, Tiger::new().chain_update([0]));
        let (mut height, mut hash) = (0, Tth(block.finalize().into()));
        while let Some((_, left)) = self.stack.pop_if(|(left, _)| *left == height) {
            (height, hash) = (height + 1, join(&left, &hash));
        }
        self.stack.push((height, hash));
    }

    fn end_piece(&mut self) {
        let hashes = core::mem::take(&mut self.stack).into_iter().map(|(_, hash)| hash);
        self.pieces.extend(hashes.rev().reduce(|right, left| join(&left, &right)));
    }

    /// The tree; `None` when there were more or fewer bytes than announced.
    #[must_use]
    pub fn finish(mut self) -> Option<Tree> {
        if self.at != self.size {
            return None;
        }
        if !self.at.is_multiple_of(BLOCK) || self.at == 0 {
            self.end_block();
        }
        self.end_piece();
        Tree::new(self.size, self.pieces)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;
    use alloc::vec;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn roots_are_those_of_the_published_vectors() {
        for (bytes, root) in [
            (vec![], "LWPNACQDBZRYXW3VHJVCJ64QBZNGHOHHHZWCLNQ"),
            (vec![0], "VK54ZIEEVTWNAUI5D5RDFIL37LX2IQNSTAXFKSA"),
            (vec![b'A'; 1_024], "L66Q4YVNAFWVS23X2HJIRA5ZJ7WXR3F26RSASFA"),
            (vec![b'A'; 1_025], "PZMRYHGY6LTBEH63ZWAHDORHSYTLO4LEFUIKHWY"),
            (vec![b'A'; 10_000], "UJUIOGYVALWRB56PRJEB6ZH3G4OLTELOEQ3UKMY"),
        ] {
            assert_eq!(Tree::hash_bytes(&bytes).root().to_string(), root, "{} bytes", bytes.len());
        }
    }

    #[test]
    fn pieces_have_a_sensible_size() {
        const MB: u64 = 1 << 20;
        for (size, pieces, piece) in [
            (0, 1, BLOCK),
            (MB / 4 - 1, 1, MB / 4),
            (MB / 4, 2, MB / 8),
            (6 * MB, 24, MB / 4),
            (64 * MB, 512, MB / 8),
            (1 << 30, 1_024, MB),
            ((1 << 30) + 1, 513, 2 * MB),
            (1 << 44, 1_024, 1 << 34),
        ] {
            let count = size.div_ceil(piece_of(size)).max(1);
            assert_eq!((count, piece_of(size)), (pieces, piece), "{size}");
        }
        assert_eq!(Tree::hash_bytes(&[1; 600_000]).span(2), (524_288, 600_000));
    }

    #[test]
    fn a_tree_that_is_no_file_of_that_size_is_not_taken() {
        let node = Tth([1; 24]);
        assert_eq!(Tree::new(2_048, vec![node; 3]), None);
        assert_eq!(Tree::new(0, vec![]), None);
        let mut hasher = TreeHasher::new(10);
        hasher.update(&[0; 11]);
        assert_eq!(hasher.finish(), None);
        let text = "{\"size\":1,\"pieces\":\"00\"}";
        assert!(serde_json::from_str::<Tree>(text).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// However the bytes are split, the tree of the file is that of its
        /// blocks, its pieces are trees of their own, and its generations give
        /// the same tree.
        #[test]
        fn a_tree_is_made_of_trees(blocks in 0..1_600_usize, more in 0..1_024_usize, cut in 1..5_000_usize) {
            let bytes: Vec<u8> = (0..blocks * 1_024 + more).map(|n| (n * n / 7) as u8).collect();
            let whole = Tree::hash_bytes(&bytes);
            let mut hasher = TreeHasher::new(bytes.len() as u64);
            bytes.chunks(cut).for_each(|part| hasher.update(part));
            prop_assert_eq!(hasher.finish(), Some(whole.clone()));

            let leaf = |block: &[u8]| Tth(Tiger::new().chain_update([0]).chain_update(block).finalize().into());
            let mut hashes: Vec<Tth> = bytes.chunks(1_024).map(leaf).collect();
            if hashes.is_empty() {
                hashes.push(leaf(&[]));
            }
            let mut full = vec![hashes.clone()];
            while hashes.len() > 1 {
                hashes = parents(&hashes);
                full.push(hashes.clone());
            }
            prop_assert_eq!(hashes[0], whole.root());
            for (n, hash) in (0..).zip(whole.pieces()) {
                let (start, end) = whole.span(n);
                let mut piece = TreeHasher::of_piece(end - start);
                piece.update(&bytes[start as usize..end as usize]);
                prop_assert_eq!(piece.finish().map(|tree| tree.root()), Some(*hash));
            }

            let size = bytes.len() as u64;
            let read = |hashes: &[Tth]| Tree::from_generations(size, whole.root(), hashes);
            prop_assert_eq!(read(&whole.generations()), Some(whole.clone()));
            let deeper: Vec<Tth> = full.into_iter().rev().flatten().collect();
            prop_assert_eq!(read(&deeper), Some(whole.clone()));
            let text = serde_json::to_string(&whole).unwrap();
            prop_assert_eq!(serde_json::from_str::<Tree>(&text).unwrap(), whole);
        }

        #[test]
        fn one_wrong_hash_spoils_a_tree(which: prop::sample::Index, bit in 0..192_usize) {
            let whole = Tree::hash_bytes(&[7; 900_000]);
            let mut hashes = whole.generations();
            let at = which.index(hashes.len());
            hashes[at].0[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Tree::from_generations(900_000, whole.root(), &hashes), None);
        }
    }
}
