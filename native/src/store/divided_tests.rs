use std::collections::BTreeSet;
use std::time::Duration;

use servent_core::id::FileKey;
use servent_core::lease::Partition;
use servent_core::lease::membership::Leader;
use servent_core::node::SiteInput;
use servent_core::node::swarm::{self, PartitionedAccount};

use super::contract_tests::{Bed, database, places, row, server};
use super::site::SiteStanding;
use super::*;
use crate::clock::Stopwatch;

/// A member of a divided site, and what it has heard.
struct TestMember<'a> {
    bed: &'a Bed,
    lines: Lines,
    leads: BTreeSet<Partition>,
    rows: Vec<StoredEntry>,
    accounts: Vec<PartitionedAccount>,
    ended: Option<StoreFailure>,
}

impl<'a> TestMember<'a> {
    fn new(bed: &'a Bed, database: &Database, n: u8) -> Self {
        let mut lines = bed.run(Lines::open(database.clone(), Purpose::Files)).unwrap();
        lines.serves(([192, 0, 2, n], 6346).into());
        let (rows, accounts) = (Vec::new(), Vec::new());
        Self { bed, lines, leads: BTreeSet::new(), rows, accounts, ended: None }
    }

    /// Hears what there is to hear.
    fn hear(&mut self) {
        while self.ended.is_none() {
            let news =
                async { tokio::time::timeout(Duration::from_millis(20), self.lines.news()).await };
            match self.bed.run(news) {
                Err(_) => return,
                Ok(Err(why)) => self.ended = Some(why),
                Ok(Ok(Some(Input::Site(SiteInput::Leads { parts, queue })))) => {
                    self.leads.extend(parts);
                    self.rows.extend(queue);
                }
                Ok(Ok(Some(Input::Swarm(swarm::Input::Accounts { accounts })))) => {
                    self.accounts.extend(accounts);
                }
                Ok(Ok(Some(Input::Site(SiteInput::Divided { leaders })))) => {
                    self.leads.retain(|part| leaders[usize::from(part.0)] == Leader::Us);
                }
                Ok(Ok(_)) => {}
            }
        }
    }

    /// Saves that this row is new.
    fn put(&mut self, row: StoredEntry) -> Result<CommitOutcome, StoreFailure> {
        assert_eq!(self.lines.add(NodeOp::Queue(row)), None);
        self.bed.run(self.lines.commit())
    }
}

/// All of them hear what there is until `holds`.
fn until(
    members: &mut [&mut TestMember<'_>],
    mut holds: impl FnMut(&mut [&mut TestMember<'_>]) -> bool,
) -> Duration {
    let watch = Stopwatch::start();
    while !holds(members) {
        assert!(watch.elapsed() < Duration::from_secs(30), "it does not come to that");
        members.iter_mut().for_each(|member| member.hear());
    }
    watch.elapsed()
}

fn all() -> BTreeSet<Partition> {
    Partition::all().collect()
}

/// Together they lead everything, and nothing twice.
fn divided(members: &mut [&mut TestMember<'_>]) -> bool {
    let led: Vec<Partition> =
        members.iter().flat_map(|member| member.leads.iter().copied()).collect();
    led.len() == all().len() && led.iter().copied().collect::<BTreeSet<_>>() == all()
}

/// They know of each other what each of them leads.
fn settled(members: &mut [&mut TestMember<'_>]) -> bool {
    divided(members) && members.iter().all(|member| member.lines.standing().nobodys == 0)
}

/// A row whose file is in one of these parts.
fn row_in(parts: &BTreeSet<Partition>, n: u8) -> StoredEntry {
    // Of so many keys some are in every part; without a limit no part would be a loop for ever.
    let mut keys = (0..10_000).map(FileKey);
    let file = keys.find(|key| parts.contains(&Partition::containing(*key))).unwrap();
    StoredEntry { file, ..row(n) }
}

#[test]
fn st_4_members_divide_the_parts_and_a_silent_one_hands_its_own_over_with_its_lines() {
    let Some(server) = server() else { return };
    let (bed, (url, database)) = (Bed::new(None), database(server));
    let mut one = TestMember::new(&bed, &database, 1);
    until(&mut [&mut one], divided);
    let mut two = TestMember::new(&bed, &database, 2);
    until(&mut [&mut one, &mut two], |both| settled(both) && !both[1].leads.is_empty());
    for member in [&one, &two] {
        let ours = u16::try_from(member.leads.len()).unwrap();
        let standing = SiteStanding { ours, others: 64 - ours, nobodys: 0 };
        assert_eq!(member.lines.standing(), standing);
    }
    let (first, second) = (row_in(&one.leads, 1), row_in(&two.leads, 2));
    assert_eq!(one.put(first).unwrap(), CommitOutcome::Durable);
    assert_eq!(two.put(second).unwrap(), CommitOutcome::Durable);
    one.lines.silence();
    let took = until(&mut [&mut two], divided);
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_eq!(two.rows, [first], "its own were never away");
    assert_eq!(two.put(StoredEntry { told: 9, ..first }).unwrap(), CommitOutcome::Durable);
    // It wakes up.
    let refused = one.put(StoredEntry { told: 7, ..first }).unwrap_err();
    assert!(matches!(refused, StoreFailure::TakenOver { .. }), "{refused}");
    bed.run(two.lines.leave());
    server.sql(&url, "UPDATE servent.member SET seen = seen - interval '1 minute'");
    let mut three = TestMember::new(&bed, &database, 3);
    let took = until(&mut [&mut three], divided);
    assert!(took < Duration::from_secs(4), "it waits for who is long gone: {took:?}");
    assert_eq!(
        three.rows,
        [StoredEntry { told: 9, ..first }, second],
        "what was written late is not there"
    );
}

#[test]
fn st_4_a_member_that_says_goodbye_is_followed_at_once() {
    let Some(server) = server() else { return };
    let (bed, (_, database)) = (Bed::new(None), database(server));
    let (mut one, mut two) =
        (TestMember::new(&bed, &database, 1), TestMember::new(&bed, &database, 2));
    // Either may have led everything for a moment before they shared.
    until(&mut [&mut one, &mut two], |both| settled(both) && !both[0].leads.is_empty());
    let first = row_in(&one.leads, 1);
    one.put(first).unwrap();
    bed.run(one.lines.leave());
    let took = until(&mut [&mut two], divided);
    assert!(took < Duration::from_secs(3), "{took:?}"); // Two, and a busy machine.
    assert_eq!(two.rows, [first]);
}

/// A place that goes is gone for the member that leads its partition next, and one that is for
/// another file is in that file's part.
#[test]
fn st_4_a_place_is_in_one_part_and_goes_with_it() {
    let Some(server) = server() else { return };
    let (bed, (url, database)) = (Bed::new(None), database(server));
    let mut one = TestMember::new(&bed, &database, 1);
    until(&mut [&mut one], divided);
    let (low, high) = (BTreeSet::from([Partition(3)]), BTreeSet::from([Partition(60)]));
    let rows = [row_in(&low, 1), row_in(&low, 2), row_in(&low, 3)];
    for row in rows {
        one.put(row).unwrap();
    }
    one.put(StoredEntry { file: row_in(&high, 0).file, ..rows[2] }).unwrap();
    assert_eq!(one.lines.add(NodeOp::QueueGone(rows[0].ticket)), None);
    assert_eq!(bed.run(one.lines.commit()).unwrap(), CommitOutcome::Durable);
    let parts = "SELECT string_agg(part::text, ' ' ORDER BY id) FROM servent.rows";
    assert_eq!(server.sql(&url, parts), "3 60");
    assert!(one.lines.add(NodeOp::Servent(Guid([1; 16]))).is_some(), "that is of its machine");
}

fn account(swarm: u64, last: u8, uploads: u64) -> PartitionedAccount {
    let row = swarm_engine::LedgerRow {
        owner: [192, 0, 2, last].into(),
        bytes_down: 1,
        bytes_up: 2,
        downloads: 3,
        uploads,
        grants: 4,
        free: true,
        failures: 5,
        reporters: Vec::new(),
        faded: servent_core::time::Instant::ZERO,
        seen: servent_core::time::Instant::ZERO,
    };
    PartitionedAccount { swarm: FileKey(swarm), row }
}

/// What one address did in two swarms are two rows, each of its swarm's part.
#[test]
fn st_4_the_ledgers_of_swarms_are_kept_apart_and_go_with_their_parts() {
    let Some(server) = server() else { return };
    let (bed, (url, database)) = (Bed::new(None), database(server));
    let mut one = TestMember::new(&bed, &database, 1);
    until(&mut [&mut one], divided);
    let save = |one: &mut TestMember<'_>, op| {
        assert_eq!(one.lines.add(NodeOp::Swarm(op)), None);
        assert_eq!(bed.run(one.lines.commit()).unwrap(), CommitOutcome::Durable);
    };
    for known in [account(1, 1, 7), account(1, 2, 8), account(2, 1, 9), account(1, 1, 10)] {
        save(&mut one, swarm::SwarmOp::Account(known));
    }
    let owner = account(1, 2, 0).row.owner;
    save(&mut one, swarm::SwarmOp::AccountGone { swarm: FileKey(1), owner });
    let parts = "SELECT string_agg(part::text, ' ' ORDER BY id) FROM servent.rows WHERE kind = 14";
    let of = |swarm| Partition::containing(FileKey(swarm)).0;
    assert_eq!(server.sql(&url, parts), format!("{} {}", of(1), of(2)));
    bed.run(one.lines.leave());
    let mut two = TestMember::new(&bed, &database, 2);
    until(&mut [&mut two], divided);
    two.accounts.sort_by_key(|account| account.swarm);
    assert_eq!(two.accounts, [account(1, 1, 10), account(2, 1, 9)]);
    bed.run(two.lines.leave());
    // While the site is led they wait.
    let (mut site, all) =
        bed.run(SiteStore::open(database.clone(), None, Purpose::Files, "", None)).unwrap();
    assert!(all.swarm.ledger.is_empty());
    bed.run(site.leave());
    assert_eq!(server.sql(&url, "SELECT count(*) FROM servent.rows WHERE kind = 14"), "2");
}

/// A statement that is on its way while another member takes the part.
#[test]
fn st_4_a_statement_that_was_held_up_writes_nothing_after_its_part_was_taken() {
    let Some(server) = server() else { return };
    let (bed, (url, database)) = (Bed::new(None), database(server));
    let mut one = TestMember::new(&bed, &database, 1);
    until(&mut [&mut one], divided);
    let (mine, lost) =
        (row_in(&BTreeSet::from([Partition(1)]), 1), row_in(&BTreeSet::from([Partition(5)]), 2));
    let refused = std::thread::scope(|scope| {
        let taking = scope.spawn(|| {
            server.sql(
                &url,
                "BEGIN; UPDATE servent.part SET fence = fence + 1, holder = 'x' WHERE part = 5;
                SELECT pg_sleep(1); COMMIT",
            )
        });
        let waits = "SELECT count(*) FROM pg_locks WHERE relation = 'servent.part'::regclass
            AND mode = 'RowExclusiveLock'";
        while server.sql(&url, waits) == "0" {}
        one.lines.add(NodeOp::Queue(mine));
        let refused = one.put(lost);
        taking.join().unwrap();
        refused
    });
    assert!(matches!(refused, Err(StoreFailure::TakenOver { .. })), "{refused:?}");
    assert_eq!(server.sql(&url, "SELECT count(*) FROM servent.rows"), "0", "all or nothing");
}

/// All servents of a site do the same; when no member is in it, the next one says
/// what that is, and every place is kept.
#[test]
fn st_4_a_site_is_led_or_divided_and_keeps_its_places_when_that_changes() {
    let Some(server) = server() else { return };
    let (bed, (url, database)) = (Bed::new(None), database(server));
    let led = || bed.run(SiteStore::open(database.clone(), None, Purpose::Files, "", None));
    let (mut site, _) = led().unwrap();
    let file = row_in(&BTreeSet::from([Partition(7)]), 0).file;
    let mut changes = vec![StoreChange::Node(NodeOp::Queue(StoredEntry { file, ..row(1) }))];
    bed.run(site.commit(&mut changes)).unwrap();
    let refused = bed.run(Lines::open(database.clone(), Purpose::Files)).map(|_| ()).unwrap_err();
    assert!(matches!(refused, StoreFailure::OtherMode { divided: false, .. }), "{refused}");
    bed.run(site.leave());
    let mut one = TestMember::new(&bed, &database, 1);
    until(&mut [&mut one], divided);
    assert_eq!(one.rows, [StoredEntry { file, ..row(1) }]);
    let refused = led().map(|_| ()).unwrap_err();
    assert!(matches!(refused, StoreFailure::OtherMode { divided: true, .. }), "{refused}");
    // A member that led before and only slept finds nothing of its own.
    let refused = bed.run(site.commit(&mut places([2]))).unwrap_err();
    assert!(matches!(refused, StoreFailure::OtherMode { divided: true, .. }), "{refused}");
    bed.run(one.lines.leave());
    assert_eq!(led().unwrap().1.queue, [StoredEntry { file, ..row(1) }]);
    assert_eq!(server.sql(&url, "SELECT value FROM servent.meta WHERE key = 'mode'"), "led");
}

/// Its connections are cut for less than the others' patience: it goes on with
/// its parts, and what was to be saved meanwhile is saved.
#[test]
fn st_4_a_member_whose_connection_was_cut_goes_on_with_its_parts() {
    let Some(server) = server() else { return };
    let (bed, (url, database)) = (Bed::new(None), database(server));
    let mut one = TestMember::new(&bed, &database, 1);
    until(&mut [&mut one], divided);
    server.sql(
        &url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    assert_eq!(one.put(row(1)).unwrap(), CommitOutcome::Later);
    until(&mut [&mut one], |one| bed.run(one[0].lines.commit()).unwrap() == CommitOutcome::Durable);
    assert!(one.ended.is_none() && one.leads == all());
    assert_eq!(server.sql(&url, "SELECT count(*) FROM servent.rows"), "1");
    assert_eq!(one.put(row(2)).unwrap(), CommitOutcome::Durable);
}
