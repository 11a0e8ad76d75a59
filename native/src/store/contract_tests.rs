//! What holds for every store, on each of them: the file of one machine, and a
//! real PostgreSQL.

use std::sync::OnceLock;

use servent_core::id::{FileIndex, Tth};
use servent_core::node::swarm;
use servent_core::queue::{Dialect, FileKey, RowState};
use servent_core::time::Instant;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::*;

#[path = "../../tests/support/postgres/mod.rs"]
mod postgres;

use self::postgres::Postgres;

/// The server of all tests here.
pub(super) fn server() -> Option<&'static Postgres> {
    static SERVER: OnceLock<Option<Postgres>> = OnceLock::new();
    SERVER.get_or_init(Postgres::start).as_ref()
}

/// An empty database of that server.
pub(super) fn database(server: &Postgres) -> (String, Database) {
    let url = server.database();
    let database = Database::parse(&url).unwrap();
    (url, database.with_password_file(Some(server.password_file())))
}

pub(super) fn row(n: u8) -> StoredEntry {
    StoredEntry {
        ticket: Guid([n; 16]),
        arrival: u64::from(n),
        state: RowState::Waiting,
        peer: "192.0.2.1".parse().unwrap(),
        dialect: Dialect::Parq,
        file: FileKey(9),
        bytes: 3,
        told: 1,
        not_before: Instant::from_secs(30),
        deadline: Instant::from_secs(300),
        callback: None,
        breaks: 0,
    }
}

pub(super) fn places(numbers: impl IntoIterator<Item = u8>) -> Vec<StoreChange> {
    numbers.into_iter().map(|n| StoreChange::Node(NodeOp::Queue(row(n)))).collect()
}

/// Where a store is.
pub(super) struct Bed {
    dir: TempDir,
    database: Option<Database>,
    runtime: Runtime,
}

/// An open store, and what drives it.
pub(super) struct OpenedStore<'a> {
    bed: &'a Bed,
    pub(super) store: Store,
}

impl Bed {
    pub(super) fn new(database: Option<Database>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread();
        Self { dir, database, runtime: { runtime }.enable_all().build().unwrap() }
    }

    pub(super) fn run<T>(&self, what: impl Future<Output = T>) -> T {
        self.runtime.block_on(what)
    }

    fn open(&self) -> (OpenedStore<'_>, Remembered) {
        let (store, all) = match &self.database {
            Some(database) => {
                let (site, all) = self
                    .run(SiteStore::open(database.clone(), None, Purpose::Files, "", None))
                    .unwrap();
                (Store::Site(Box::new(site)), all)
            }
            None => {
                let (durability, damaged) = (Durability::Process, DamagedState::Refuse);
                let (file, all) = Embedded::open(self.dir.path(), durability, damaged).unwrap();
                (Store::Embedded(Box::new(file)), all)
            }
        };
        (OpenedStore { bed: self, store }, all)
    }
}

impl Drop for OpenedStore<'_> {
    fn drop(&mut self) {
        self.bed.run(self.store.leave());
    }
}

impl OpenedStore<'_> {
    fn commit(&mut self, mut changes: Vec<StoreChange>) {
        let kept = self.bed.run(self.store.commit(&mut changes)).unwrap();
        assert_eq!((kept, changes.len()), (CommitOutcome::Durable, 0));
    }
}

/// Each of these on both stores.
macro_rules! both {
    ($($name:ident,)*) => {
        mod embedded {
            $(#[test]
            fn $name() {
                super::$name(&super::Bed::new(None));
            })*
        }
        mod site {
            $(#[test]
            fn $name() {
                let Some(server) = super::server() else { return };
                super::$name(&super::Bed::new(Some(super::database(server).1)));
            })*
        }
    };
}

fn what_was_committed_is_there_after_reopening_in_order_of_arrival(bed: &Bed) {
    let (mut store, empty) = bed.open();
    assert!(empty.queue.is_empty() && empty.servent.is_none());
    store.commit(places([3, 1, 2]));
    let file =
        FileRow { index: FileIndex(7), size: 1, mtime: -5, sha1: None, identity: None, tree: None };
    let host = |n: u16| HostRow { at: ([80, 0, 0, 1], n).into(), heard: Instant::from_secs(9) };
    store.commit(vec![
        StoreChange::Node(NodeOp::QueueGone(Guid([2; 16]))),
        StoreChange::Node(NodeOp::Servent(Guid([9; 16]))),
        StoreChange::File("/a/b".into(), file.clone()),
        StoreChange::Node(NodeOp::Host(host(1))),
        StoreChange::Node(NodeOp::Host(host(2))),
        StoreChange::Node(NodeOp::HostGone(host(1).at)),
    ]);
    drop(store);
    let (_store, all) = bed.open();
    assert_eq!(all.queue, [row(1), row(3)]);
    assert_eq!(all.servent, Some(Guid([9; 16])));
    assert_eq!(all.files, [(PathBuf::from("/a/b"), file)]);
    assert_eq!(all.hosts, [host(2)]);
}

fn the_tree_of_a_file_comes_back_as_long_as_it_is_that_file(bed: &Bed) {
    let (mut store, _) = bed.open();
    let tree = |size| Some(Arc::new(Tree::new(size, vec![Tth([7; 24])]).unwrap()));
    let file = |size, mtime, tree| FileRow {
        index: FileIndex(7),
        size,
        mtime,
        sha1: None,
        identity: None,
        tree,
    };
    let change = |name: &str, row| StoreChange::File(name.into(), row);
    store.commit(vec![
        change("/same", file(9, 5, tree(9))),
        change("/touched", file(9, 5, tree(9))),
        change("/touched", file(9, 6, None)),
        change("/gone", file(9, 5, tree(9))),
        StoreChange::FileGone("/gone".into()),
        change("/gone", file(9, 5, None)),
    ]);
    drop(store);
    let (_store, all) = bed.open();
    let found: Vec<_> =
        all.files.iter().map(|(path, row)| (path.to_str().unwrap(), &row.tree)).collect();
    assert_eq!(found, [("/gone", &None), ("/same", &tree(9)), ("/touched", &None)]);
}

fn the_tree_of_a_download_goes_with_it(bed: &Bed) {
    let (mut store, empty) = bed.open();
    assert!(empty.trees.is_empty());
    let tree = Arc::new(Tree::new(9, vec![Tth([7; 24])]).unwrap());
    let put = |fetch: u32, tree| StoreChange::Node(NodeOp::Tree(FetchId(fetch), tree));
    let some = || Some(Arc::clone(&tree));
    let gone = StoreChange::Node(NodeOp::FetchGone(FetchId(3)));
    store.commit(vec![put(1, some()), put(2, some()), put(2, None), put(3, some()), gone]);
    drop(store);
    let (_store, all) = bed.open();
    assert_eq!(all.trees, [(FetchId(1), tree)]);
}

fn what_the_user_has_said_is_kept_and_a_pause_goes_with_its_download(bed: &Bed) {
    let (mut store, empty) = bed.open();
    assert!(empty.added.is_empty() && empty.paused.is_empty());
    let pause = |fetch: u32, paused| StoreChange::Node(NodeOp::Paused(FetchId(fetch), paused));
    store.commit(vec![
        StoreChange::Share("/b".into()),
        StoreChange::Share("/a".into()),
        StoreChange::ShareGone("/b".into()),
        pause(1, true),
        pause(2, true),
        pause(2, false),
        pause(3, true),
        StoreChange::Node(NodeOp::FetchGone(FetchId(3))),
    ]);
    drop(store);
    let (_store, all) = bed.open();
    assert_eq!((all.added, all.paused), (vec!["/a".into()], vec![FetchId(1)]));
}

fn a_row_is_what_was_said_of_it_last(bed: &Bed) {
    let (mut store, _) = bed.open();
    let told = |n, told| StoreChange::Node(NodeOp::Queue(StoredEntry { told, ..row(n) }));
    let gone = |n| StoreChange::Node(NodeOp::QueueGone(Guid([n; 16])));
    store.commit(vec![told(1, 5), told(1, 4), told(2, 1), gone(2), gone(3), told(3, 9)]);
    store.commit(vec![told(1, 3), gone(9)]);
    let long = PathBuf::from(format!("/{}", "x/".repeat(2_000)));
    store.commit(vec![StoreChange::Share(long.clone())]);
    drop(store);
    let (mut store, all) = bed.open();
    let kept: Vec<_> = all.queue.iter().map(|row| (row.arrival, row.told)).collect();
    assert_eq!((kept, all.added), (vec![(1, 3), (3, 9)], vec![long.clone()]));
    store.commit(vec![StoreChange::ShareGone(long)]);
    drop(store);
    assert!(bed.open().1.added.is_empty());
}

fn the_pieces_of_a_file_in_a_swarm_go_with_it(bed: &Bed) {
    let (mut store, _) = bed.open();
    let swarm = |op| StoreChange::Node(NodeOp::Swarm(op));
    let part = |n| {
        let url = "film".into();
        swarm(swarm::SwarmOp::Part { file: SwarmFile(n), url, size: 9, chunk: 3 })
    };
    let piece = |n, piece| {
        let sha256 = Hash([piece as u8; 32]);
        swarm(swarm::SwarmOp::Piece { file: SwarmFile(n), piece, sha256 })
    };
    store.commit(vec![part(1), piece(1, 0), piece(1, u32::MAX), part(2), piece(2, 0), part(3)]);
    store.commit(vec![piece(1, 5), part(1), piece(1, 7), piece(3, 1)]);
    store.commit(vec![swarm(swarm::SwarmOp::PartGone(SwarmFile(3)))]);
    drop(store);
    let (_store, all) = bed.open();
    let files: Vec<_> = all.swarm.parts.iter().map(|part| part.file.0).collect();
    let pieces: Vec<_> = all.swarm.pieces.iter().map(|((file, n), _)| (file.0, *n)).collect();
    assert_eq!((files, pieces), (vec![1, 2], vec![(1, 7), (2, 0)]));
}

both! {
    what_was_committed_is_there_after_reopening_in_order_of_arrival,
    the_tree_of_a_file_comes_back_as_long_as_it_is_that_file,
    the_tree_of_a_download_goes_with_it,
    what_the_user_has_said_is_kept_and_a_pause_goes_with_its_download,
    a_row_is_what_was_said_of_it_last,
    the_pieces_of_a_file_in_a_swarm_go_with_it,
}
