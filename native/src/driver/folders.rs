//! What a servent starts with: its stores, its shared folders, its downloads.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use servent_core::node::{DiskInput, InboxUsage, Input, NodeOp, RestoredNode, swarm};
use servent_core::queue::{FileKey, StoredEntry};

use super::ServentOptions;
use super::downloads::Downloads;
use super::swarm::SwarmFiles;
use crate::error::{StartError, StoreFailure};
use crate::inbox::InboxFolder;
use crate::library::{Keys, Library, ShareChange as LibraryChange};
use crate::store::{
    Durability, Embedded, Lines, Purpose, Remembered, SiteStanding, SiteStore, Store, StoreChange,
};

/// Where the state is.
pub(super) enum OpenedFolders {
    /// On this machine, if anywhere.
    Here,
    /// In the database of a site that this servent leads.
    Site(Box<SiteStore>, Box<Remembered>),
    /// The lines of a divided site are in its database.
    Divided(Box<Lines>),
}

impl OpenedFolders {
    /// The store of a site, if this servent is one of it: of one that is led, as
    /// soon as it leads.
    ///
    /// # Errors
    /// It cannot be used.
    pub(super) async fn open(options: &ServentOptions) -> Result<Self, StoreFailure> {
        let Some(database) = options.store.clone() else { return Ok(Self::Here) };
        let purpose = match options.coordinate {
            Some(_) => Purpose::Swarms,
            None => Purpose::Files,
        };
        if options.divide {
            return Ok(Self::Divided(Box::new(Lines::open(database, purpose).await?)));
        }
        let dir = options.state_dir.as_deref();
        let at = options.announce.or(options.listen.first().copied());
        let serves = at.map(|at| at.to_string()).unwrap_or_default();
        let role = options.role.clone();
        let (site, all) = SiteStore::open(database, dir, purpose, &serves, role).await?;
        Ok(Self::Site(Box::new(site), Box::new(all)))
    }
}

/// What was restored from the folders.
pub(super) struct Folders {
    pub(super) store: Option<Store>,
    pub(super) library: Library,
    pub(super) downloads: Downloads,
    pub(super) swarm: SwarmFiles,
    pub(super) inbox: Option<Arc<InboxFolder>>,
    pub(super) restored: RestoredNode,
    pub(super) shared: Vec<LibraryChange>,
    pub(super) changes: Vec<StoreChange>,
    /// What the node hears after its start.
    pub(super) first: Vec<Input>,
}

impl Folders {
    /// Says where this servent listens, and where the other members of a divided
    /// site send clients: to the first address that is one.
    ///
    /// # Errors
    /// There is none for them.
    pub(super) fn listen(
        &mut self,
        announce: Option<SocketAddr>,
        addrs: &[SocketAddr],
    ) -> Result<Option<SiteStanding>, StartError> {
        self.restored.listen = announce.or(addrs.first().copied());
        let Some(lines) = self.store.as_mut().and_then(Store::lines) else { return Ok(None) };
        let mut all = announce.into_iter().chain(addrs.iter().copied());
        let at = all.find(|at| !at.ip().is_unspecified()).ok_or(StartError::Nowhere)?;
        lines.serves(at);
        self.first.insert(0, lines.divided());
        Ok(Some(lines.standing()))
    }
}

/// Opens the store of this machine, if anything is remembered at all.
fn open_store(
    options: &ServentOptions,
) -> Result<(Option<Box<Embedded>>, Remembered), StoreFailure> {
    let Some(dir) = &options.state_dir else { return Ok((None, Remembered::default())) };
    let (file, remembered) = Embedded::open(dir, options.durability, options.damaged_state)?;
    Ok((Some(Box::new(file)), remembered))
}

/// Opens everything.
///
/// # Errors
/// Anything of it cannot be used.
pub(super) async fn open(
    options: ServentOptions,
    opened: OpenedFolders,
) -> Result<(Folders, ServentOptions), StartError> {
    let opened = tokio::task::spawn_blocking(move || {
        let keys = if let OpenedFolders::Here = opened { Keys::Paths } else { Keys::Names };
        let (store, remembered) = open_all(opened, &options)?;
        let Remembered { servent, mut queue, mut fetches, trees, paused, parts, files, .. } =
            remembered;
        let Remembered { added, hosts, swarm, .. } = remembered;
        let (library, shared) = Library::open(&options.shares, &added, (files, keys))?;
        let (downloads, mut changes) = Downloads::restore(
            (&options.download_dir, options.tree),
            options.durability,
            parts,
            &mut fetches,
        );
        if keys == Keys::Names {
            changes.extend(rename(&mut queue, &shared));
        }
        let how = (options.durability, options.disk_reserve);
        let inbox = options.accept.as_deref().map(|dir| open_inbox(dir, how));
        let (inbox, held) = inbox.transpose()?.unzip();
        let first = held
            .map(|held| Input::Disk(DiskInput::Inbox { held: Some(held) }))
            .into_iter()
            .collect();
        let (files, parts) = SwarmFiles::restore(options.durability, &swarm);
        let swarm = swarm::RestoredSwarm { ledger: swarm.ledger, parts };
        let info = |change: &LibraryChange| match change {
            LibraryChange::Shared(shared, _) => Some(shared.info.clone()),
            _ => None,
        };
        let infos = shared.iter().filter_map(info).collect();
        let paused = match options.only_asked {
            true => fetches.iter().map(|row| row.fetch).collect(),
            false => paused,
        };
        let restored = RestoredNode {
            servent,
            listen: None,
            queue,
            fetches,
            trees,
            paused,
            shared: infos,
            hosts,
            swarm,
        };
        let swarm = files;
        let folders =
            Folders { store, library, downloads, swarm, inbox, restored, shared, changes, first };
        Ok((folders, options))
    });
    match opened.await {
        Ok(opened) => opened,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}

/// Opens the stores of this machine that are not open yet.
fn open_all(
    opened: OpenedFolders,
    options: &ServentOptions,
) -> Result<(Option<Store>, Remembered), StoreFailure> {
    match opened {
        OpenedFolders::Here => {
            let (own, all) = open_store(options)?;
            Ok((own.map(Store::Embedded), all))
        }
        OpenedFolders::Site(site, all) => Ok((Some(Store::Site(site)), *all)),
        OpenedFolders::Divided(lines) => {
            // A client that waited here before there was a site is not of the site.
            let (own, all) = open_store(options)?;
            let all = Remembered { queue: Vec::new(), ..all };
            Ok((Some(Store::Divided(own, lines)), all))
        }
    }
}

/// Places that an older program saved in the database of a site are for paths:
/// from now on for the names of the files that are there.
fn rename(queue: &mut [StoredEntry], shared: &[LibraryChange]) -> Vec<StoreChange> {
    let shared = shared.iter().filter_map(|change| match change {
        LibraryChange::Shared(shared, _) => Some((shared.former_key(), shared.info.key)),
        _ => None,
    });
    let names: BTreeMap<FileKey, FileKey> = shared.collect();
    let mut changes = Vec::new();
    for row in queue {
        if let Some(key) = names.get(&row.file) {
            row.file = *key;
            changes.push(StoreChange::Node(NodeOp::Queue(*row)));
        }
    }
    changes
}

/// The folder for uploads, and what is in it.
fn open_inbox(
    dir: &Path,
    (durability, reserve): (Durability, u64),
) -> Result<(Arc<InboxFolder>, InboxUsage), StartError> {
    InboxFolder::open(dir, durability, reserve).map_err(|why| StartError::folder(dir, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line of a site whose tables are of version 1.
    #[test]
    fn places_for_paths_become_places_for_names() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "x").unwrap();
        let shares = [dir.path().to_owned()];
        let (_, shared) = Library::open(&shares, &[], (Vec::new(), Keys::Paths)).unwrap();
        let LibraryChange::Shared(before, _) = &shared[0] else { panic!("{shared:?}") };
        let (_, shared) = Library::open(&shares, &[], (Vec::new(), Keys::Names)).unwrap();
        let LibraryChange::Shared(after, _) = &shared[0] else { panic!("{shared:?}") };
        let row = |file| StoredEntry {
            ticket: servent_core::id::Guid([7; 16]),
            arrival: 1,
            state: servent_core::queue::RowState::Waiting,
            peer: "192.0.2.1".parse().unwrap(),
            dialect: servent_core::queue::Dialect::Parq,
            file,
            bytes: 1,
            told: 1,
            not_before: servent_core::time::Instant::ZERO,
            deadline: servent_core::time::Instant::ZERO,
            callback: None,
            breaks: 0,
        };
        let mut queue = [row(before.info.key), row(FileKey(1)), row(after.info.key)];
        let changes = rename(&mut queue, &shared);
        assert_eq!(queue.map(|row| row.file), [after.info.key, FileKey(1), after.info.key]);
        let [StoreChange::Node(NodeOp::Queue(saved))] = &changes[..] else { panic!("{changes:?}") };
        assert_eq!(saved.file, after.info.key, "the database has it before it is announced");
    }
}
