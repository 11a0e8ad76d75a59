//! No list of shared files for browsers: nobody in a world of servents asks for
//! one, and whoever does gets an empty page.

use alloc::string::String;

use super::catalog::Catalog;

/// Which part of the list.
pub(super) struct Wanted;

impl Wanted {
    pub(super) const fn parse(_query: &str) -> Self {
        Self
    }
}

/// The page, which is empty.
pub(super) const fn page(_: &Catalog, _: &Wanted, _limit: usize) -> String {
    String::new()
}
