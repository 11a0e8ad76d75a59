use super::contract_tests::{Bed, database, places, row, server};
use super::*;

fn opened(bed: &Bed, database: &Database) -> Result<(SiteStore, Remembered), StoreFailure> {
    bed.run(SiteStore::open(database.clone(), None, Purpose::Files, "", None))
}

fn commit(bed: &Bed, site: &mut SiteStore, numbers: &[u8]) -> Result<CommitOutcome, StoreFailure> {
    bed.run(site.commit(&mut places(numbers.iter().copied())))
}

#[test]
fn st_2_one_leads_and_a_member_that_was_replaced_writes_nothing_more() {
    let Some(server) = server() else { return };
    let (bed, (_, database)) = (Bed::new(None), database(server));
    let (mut first, _) = opened(&bed, &database).unwrap();
    assert_eq!(commit(&bed, &mut first, &[1]).unwrap(), CommitOutcome::Durable);
    // The first is silent: its task that renews the lease runs no more.
    first.silence();
    let (mut second, all) = opened(&bed, &database).unwrap();
    assert_eq!(all.queue, [row(1)]);
    let refused = commit(&bed, &mut first, &[2]).unwrap_err();
    assert!(matches!(refused, StoreFailure::Replaced { .. }), "{refused}");
    assert_eq!(commit(&bed, &mut second, &[3]).unwrap(), CommitOutcome::Durable);
    bed.run(second.leave());
    let (_third, all) = opened(&bed, &database).unwrap();
    assert_eq!(all.queue, [row(1), row(3)], "what the first wrote late is not there");
}

/// The same when it was paused inside the turn: the statement is sent, and
/// carried out after another member has the lease.
#[test]
fn st_2_a_statement_that_was_held_up_writes_nothing_after_a_takeover() {
    let Some(server) = server() else { return };
    let (bed, (url, database)) = (Bed::new(None), database(server));
    let (mut first, _) = opened(&bed, &database).unwrap();
    commit(&bed, &mut first, &[1]).unwrap();
    let blocked = std::thread::scope(|scope| {
        // Holds the lease's row as a member that takes over does, and commits
        // once the first's statement waits for it.
        let taking = scope.spawn(|| {
            server.sql(
                &url,
                "BEGIN; UPDATE servent.lease SET fence = fence + 1, holder = 'x';
                SELECT pg_sleep(1); COMMIT",
            )
        });
        let waits = "SELECT count(*) FROM pg_locks WHERE relation = 'servent.lease'::regclass
            AND mode = 'RowExclusiveLock'";
        while server.sql(&url, waits) == "0" {}
        let blocked = commit(&bed, &mut first, &[2]);
        taking.join().unwrap();
        blocked
    });
    assert!(matches!(blocked, Err(StoreFailure::Replaced { .. })), "{blocked:?}");
    assert_eq!(server.sql(&url, "SELECT count(*) FROM servent.rows WHERE kind = 1"), "1");
}

#[test]
fn st_1_tables_of_others_and_of_a_newer_program_are_refused_and_not_touched() {
    let Some(server) = server() else { return };
    let bed = Bed::new(None);
    let aliens = [
        "CREATE SCHEMA servent",
        "CREATE SCHEMA servent; CREATE TABLE servent.meta (key text, value text)",
        "CREATE SCHEMA servent; CREATE TABLE servent.meta (id int)",
        "CREATE SCHEMA servent; CREATE TABLE servent.meta (key text, value text);
            INSERT INTO servent.meta VALUES ('program', 'servent'), ('schema', 'x')",
    ];
    let tables =
        "SELECT string_agg(table_name || column_name, ',' ORDER BY table_name, column_name)
        FROM information_schema.columns WHERE table_schema = 'servent'";
    for alien in aliens {
        let (url, database) = database(server);
        server.sql(&url, alien);
        let before = server.sql(&url, tables);
        let refused = opened(&bed, &database).map(|_| ()).unwrap_err();
        assert!(matches!(refused, StoreFailure::Alien { .. }), "{alien}: {refused}");
        assert_eq!(server.sql(&url, tables), before, "{alien}");
    }
    let (url, database) = database(server);
    bed.run(opened(&bed, &database).unwrap().0.leave());
    server.sql(&url, "UPDATE servent.meta SET value = '99' WHERE key = 'schema'");
    let refused = opened(&bed, &database).map(|_| ()).unwrap_err();
    assert!(matches!(refused, StoreFailure::NewerSite { found: 99, .. }), "{refused}");
    assert_eq!(server.sql(&url, "SELECT free FROM servent.lease"), "t", "the lease was taken");
}

/// As the first version of the program made them.
const VERSION_1: &str = "
    CREATE SCHEMA servent;
    CREATE TABLE servent.meta (key text PRIMARY KEY, value text NOT NULL);
    INSERT INTO servent.meta VALUES ('program', 'servent'), ('schema', '1');
    CREATE TABLE servent.rows (
        kind smallint NOT NULL, id bytea NOT NULL, key bytea, value bytea NOT NULL,
        PRIMARY KEY (kind, id)
    );
    CREATE TABLE servent.lease (
        part integer PRIMARY KEY, holder bytea NOT NULL, fence bigint NOT NULL,
        beat bigint NOT NULL, free boolean NOT NULL
    ) WITH (fillfactor = 20);
    INSERT INTO servent.lease VALUES (0, '', 4, 0, true);
    CREATE TABLE servent.member (
        id bytea PRIMARY KEY, name text NOT NULL, serves text NOT NULL,
        joined timestamptz NOT NULL, seen timestamptz NOT NULL
    );
";

#[test]
fn st_1_tables_of_an_older_program_are_migrated_with_what_is_in_them() {
    let Some(server) = server() else { return };
    let (bed, (url, database)) = (Bed::new(None), database(server));
    server.sql(&url, VERSION_1);
    let value = data_encoding::HEXLOWER.encode(&super::rows::encode(&row(1)));
    let id = "01".repeat(16);
    server
        .sql(&url, &format!("INSERT INTO servent.rows VALUES (1, '\\x{id}', NULL, '\\x{value}')"));
    // They are shown as they are before a member migrates them.
    let seen = bed.run(database.status()).unwrap();
    assert_eq!((seen.schema, seen.places, seen.divided), (1, 1, false));
    let (mut site, all) = opened(&bed, &database).unwrap();
    assert_eq!(all.queue, [row(1)]);
    assert_eq!(bed.run(database.status()).unwrap().schema, 3);
    commit(&bed, &mut site, &[1, 2]).unwrap();
    bed.run(site.leave());
    assert_eq!(opened(&bed, &database).unwrap().1.queue, [row(1), row(2)]);
}

#[test]
fn st_1_a_wrong_password_is_said_and_never_shown() {
    let Some(server) = server() else { return };
    let (bed, (_, database)) = (Bed::new(None), database(server));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("secret");
    std::fs::write(&file, "not the word\n").unwrap();
    let database = database.with_password_file(Some(file.clone()));
    let refused = opened(&bed, &database).map(|_| ()).unwrap_err();
    assert!(matches!(refused, StoreFailure::Unauthorized { .. }), "{refused}");
    assert!(!format!("{refused} {refused:?} {database:?}").contains("not the word"));
    std::fs::copy(server.password_file(), &file).unwrap();
    opened(&bed, &database).unwrap();
}

/// Its connections are cut: what is to be saved meanwhile is saved afterwards,
/// and what it was not saved for is not said to be.
#[test]
fn st_7_what_could_not_be_saved_is_saved_when_the_database_is_back() {
    let Some(server) = server() else { return };
    let (bed, (url, database)) = (Bed::new(None), database(server));
    let (mut site, _) = opened(&bed, &database).unwrap();
    commit(&bed, &mut site, &[1]).unwrap();
    let name = url.rsplit('/').next().unwrap();
    server.sql("postgres", &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"));
    server.sql(
        "postgres",
        &format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"),
    );
    assert_eq!(commit(&bed, &mut site, &[2]).unwrap(), CommitOutcome::Later);
    assert_eq!(commit(&bed, &mut site, &[3]).unwrap(), CommitOutcome::Later);
    server.sql("postgres", &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true"));
    while site.is_away() {
        bed.run(site.changed()).unwrap();
    }
    assert_eq!(commit(&bed, &mut site, &[]).unwrap(), CommitOutcome::Durable);
    bed.run(site.leave());
    assert_eq!(opened(&bed, &database).unwrap().1.queue, [row(1), row(2), row(3)]);
}
