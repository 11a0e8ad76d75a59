//! The order of functions: each after those it is most like.
//!
//! Deflate remembers [`WINDOW`] bytes. What two functions have in common costs
//! next to nothing when they stand that close.

use std::collections::{BTreeMap, VecDeque};

use super::module::{Function, Index};

/// Bytes that are still remembered.
const WINDOW: usize = 30_000;

/// Functions are alike by the pieces of so many bytes they share.
const PIECE: usize = 8;

/// An order in which every function shares as many pieces with those shortly
/// before it as can be had, relative to its own.
pub(super) fn likeness(functions: &[Function]) -> Vec<usize> {
    let (pieces, holders) = pieces(functions);
    // How many of its pieces are remembered.
    let mut shared = vec![0_u32; functions.len()];
    // How often a piece is remembered.
    let mut known = vec![0_u32; holders.len()];
    let mut window: VecDeque<usize> = VecDeque::new();
    let mut bytes = 0;
    let mut left: Vec<usize> = (0..functions.len()).collect();
    let mut order = Vec::new();
    // The largest first: it is like nothing before it wherever it stands.
    let score = |shared: &[u32], f: usize| {
        let (own, len) = (pieces[f].len() as u64, functions[f].code.len());
        (u64::from(shared[f]) * 1_000_000 / own.max(1), len, std::cmp::Reverse(f))
    };
    while let Some(at) = (0..left.len()).max_by_key(|at| score(&shared, left[*at])) {
        let next = left.swap_remove(at);
        order.push(next);
        window.push_back(next);
        bytes += functions[next].code.len();
        for piece in &pieces[next] {
            known[*piece] += 1;
            if known[*piece] == 1 {
                holders[*piece].iter().for_each(|f| shared[*f] += 1);
            }
        }
        while bytes > WINDOW
            && let Some(gone) = window.pop_front()
        {
            bytes -= functions[gone].code.len();
            for piece in &pieces[gone] {
                known[*piece] -= 1;
                if known[*piece] == 0 {
                    holders[*piece].iter().for_each(|f| shared[*f] -= 1);
                }
            }
        }
    }
    order
}

/// The pieces of every function as numbers, and for each piece the functions
/// that have it. Whom a function calls is left out of the comparison, because
/// that depends on the order.
fn pieces(functions: &[Function]) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
    let mut numbers: BTreeMap<[u8; PIECE], usize> = BTreeMap::new();
    let mut holders: Vec<Vec<usize>> = Vec::new();
    let mut all = Vec::new();
    for (f, function) in functions.iter().enumerate() {
        let mut code = Vec::new();
        let mut at = 0;
        for mark in &function.marks {
            code.extend(&function.code[at..mark.from]);
            code.push(match mark.index {
                Index::Function(_) => 0,
                Index::Local(i) => i as u8,
            });
            at = mark.to;
        }
        code.extend(&function.code[at..]);
        let mut own = Vec::new();
        for piece in code.array_windows::<PIECE>() {
            let number = *numbers.entry(*piece).or_insert_with(|| {
                holders.push(Vec::new());
                holders.len() - 1
            });
            if holders[number].last() != Some(&f) {
                holders[number].push(f);
                own.push(number);
            }
        }
        all.push(own);
    }
    (all, holders)
}
