//! Many addresses in one `get`: lists, the links of pages, and one summary of all.

pub(super) mod all;
pub(super) mod batch;
pub(super) mod crawl;
pub(super) mod links;
pub(super) mod list;
