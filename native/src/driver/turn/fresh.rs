//! A shared file is announced as it is when it is asked for: the index of the folders
//! is a moment older than what programs write there.

use std::sync::Arc;

use servent_core::id::FileIndex;
use servent_core::node::{ConnInput, DiskInput, Input};
use servent_core::time::Instant;

use super::Loop;
use crate::library::{FileNow, LibraryRequest};

impl Loop {
    /// Looks at the files that the requests in these bytes name, and tells the node what
    /// has changed before it answers.
    pub(super) fn look_at_files(&mut self, now: Instant, input: &Input) {
        if let Input::Connection(conn, ConnInput::Bytes { data }) = input
            && !self.disk.shared.is_empty()
        {
            for index in self.host.node.files_named(*conn, data) {
                self.look_at_file(now, index);
            }
        }
    }

    fn look_at_file(&mut self, now: Instant, index: FileIndex) {
        let Some(known) = self.disk.shared.get(&index) else { return };
        let path = known.path();
        let input = match known.look() {
            FileNow::AsKnown => return,
            FileNow::Changed(file) => {
                let info = file.info.clone();
                self.disk.shared.insert(index, Arc::from(file));
                DiskInput::Shared(info)
            }
            FileNow::Gone => {
                self.disk.shared.remove(&index);
                DiskInput::Unshared { index }
            }
        };
        // Its thread may have ended.
        let _ = self.host.outside.library_asks.send(LibraryRequest::Outdated(path));
        self.feed(now, Input::Disk(input));
    }
}
