//! Notifications of changes below the shared folders, so that they need not be
//! scanned again and again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::sync::mpsc::Sender;

use notify::event::{AccessKind, AccessMode, CreateKind, EventKind, ModifyKind};
use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher};
use servent_core::text::Lines;

use super::LibraryRequest;
use super::catalog::Library;
use crate::sys::names_of;

/// Receives change notifications. What the system cannot watch (too many
/// folders, a network file system) is scanned as before.
pub(super) struct FolderWatch {
    watcher: Option<RecommendedWatcher>,
    /// What is watched, and whether recursively.
    places: BTreeMap<PathBuf, RecursiveMode>,
    /// Everything is watched.
    whole: bool,
}

impl FolderWatch {
    /// Watches nothing yet; sends changes to `ask`, as long as that has other
    /// senders.
    pub(super) fn new(ask: Weak<Sender<LibraryRequest>>) -> Self {
        let told = move |event: Result<Event, notify::Error>| {
            // An error says that something was missed, but not what.
            let paths = event.map_or_else(|_| Some(Vec::new()), changed_paths);
            if let (Some(paths), Some(ask)) = (paths, ask.upgrade()) {
                let _ = ask.send(LibraryRequest::Changed(paths)); // Its thread may have ended.
            }
        };
        // The target of a link is either shared itself, and so watched, or not
        // shared.
        let config = Config::default().with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(told, config);
        let watcher = watcher.inspect_err(|why| unwatched(Path::new("the shared folders"), why));
        Self { whole: watcher.is_ok(), watcher: watcher.ok(), places: BTreeMap::new() }
    }

    /// Watches exactly what is shared now.
    pub(super) fn follow(&mut self, library: &Library) {
        let Some(watcher) = &mut self.watcher else { return };
        let wanted: BTreeMap<PathBuf, RecursiveMode> = library.places().collect();
        for gone in self.places.keys().filter(|path| !wanted.contains_key(*path)) {
            let _ = watcher.unwatch(gone); // It may be gone from the disk too.
        }
        self.places.retain(|path, _| wanted.contains_key(path));
        for (path, mode) in wanted {
            if self.places.contains_key(&path) {
                continue;
            }
            match watcher.watch(&path, mode) {
                Ok(()) => {}
                Err(why) => {
                    self.whole = false;
                    unwatched(&path, &why);
                }
            }
            self.places.insert(path, mode);
        }
    }

    /// True when no change can go unnoticed.
    pub(super) const fn is_whole(&self) -> bool {
        self.whole
    }
}

/// Where the event may change what is shared, if it may; no path when that can be
/// anywhere.
fn changed_paths(event: Event) -> Option<Vec<PathBuf>> {
    if event.need_rescan() {
        return Some(Vec::new());
    }
    is_change(&event).then_some(event.paths)
}

/// True when the event may change what is shared. Files being written are
/// looked at once their writer has closed them.
fn is_change(event: &Event) -> bool {
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Data(_)) => false,
        EventKind::Create(CreateKind::File) => event.paths.iter().any(|path| is_whole(path)),
        _ => true,
    }
}

/// True for a new file that no program writes to: a hard or symbolic link.
fn is_whole(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| !meta.is_file() || names_of(&meta) > 1)
}

fn unwatched(path: &Path, why: &notify::Error) {
    let text = format!(
        "{} cannot be watched ({why}); it is looked through every minute instead",
        path.display()
    );
    tracing::warn!("{}", Lines(&text));
}

#[cfg(test)]
mod tests {
    use notify::event::{DataChange, Flag};

    use super::*;

    #[test]
    fn what_is_being_written_waits_for_its_end() {
        let event = |kind| Event::new(kind);
        let written = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        assert!(!is_change(&event(written)));
        let missed = event(written).add_path("/a".into()).set_flag(Flag::Rescan);
        assert_eq!(changed_paths(missed), Some(Vec::new()), "something was missed");
        let closed = event(EventKind::Access(AccessKind::Close(AccessMode::Write)));
        assert_eq!(changed_paths(closed.add_path("/a".into())), Some(vec!["/a".into()]));
        assert!(is_change(&event(EventKind::Access(AccessKind::Close(AccessMode::Write)))));
        assert!(!is_change(&event(EventKind::Access(AccessKind::Close(AccessMode::Read)))));
        let dir = tempfile::tempdir().unwrap();
        let made = |name: &str| {
            is_change(&event(EventKind::Create(CreateKind::File)).add_path(dir.path().join(name)))
        };
        std::fs::write(dir.path().join("file"), "la").unwrap();
        assert!(!made("file"));
        std::os::unix::fs::symlink("file", dir.path().join("soft")).unwrap();
        assert!(made("soft"));
        std::fs::hard_link(dir.path().join("file"), dir.path().join("hard")).unwrap();
        assert!(made("hard"));
    }
}
