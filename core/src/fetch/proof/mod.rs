//! Which of the bytes that came are those of the file: hash trees, versions, comparisons.

pub(super) mod check;
pub(super) mod doubt;
pub(super) mod probe;
pub(super) mod tree;
pub(super) mod version;
