//! Which shared files requests name, before they are answered: the host looks whether
//! each is still what the node was told.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::id::{ConnId, FileIndex};
use crate::node::Node;
use crate::node::catalog::Catalog;
use crate::wire::http::{RequestHead, Target};

impl Node {
    /// The shared files that the requests name which are complete once `data` has been
    /// received on a connection, in their order. The host asks before it hands the bytes
    /// over, and says with [`DiskInput`](crate::node::DiskInput) what has changed: so a reply
    /// announces the file as it is, not as it was when its folder was looked at.
    #[must_use]
    pub fn files_named(&self, conn: ConnId, data: &[u8]) -> Vec<FileIndex> {
        let Some(state) = self.io.get(conn).filter(|state| state.answers()) else {
            return Vec::new();
        };
        let bytes = match state.unread.is_empty() {
            true => Cow::Borrowed(data),
            false => Cow::Owned([&state.unread, data].concat()),
        };
        let (mut rest, mut files) = (&*bytes, Vec::new());
        let most = self.config.limits.pipeline as usize;
        while files.len() <= most
            && let Ok(Some((head, used))) = RequestHead::parse(rest, &self.config.limits.head())
        {
            rest = &rest[used..];
            files.extend(file_named(&self.shelf.files, &head.target));
        }
        files
    }
}

/// The file that a target leads to, if it is one of a single file.
fn file_named(files: &Catalog, target: &str) -> Option<FileIndex> {
    let found = match Target::parse(target) {
        Target::File { index, .. } => files.get(index),
        Target::Urn(sha1) | Target::Tree(sha1) => files.by_sha1(sha1),
        _ => None,
    };
    found.or_else(|| files.by_target(target)).map(|file| file.index)
}
