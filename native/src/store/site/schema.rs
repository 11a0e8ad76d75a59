//! The tables of a site, made and migrated by the program. All of them are in
//! a schema of their own, so that the database may hold other things, too.

use std::time::Duration;

use servent_core::lease::Partition;
use servent_core::queue::StoredEntry;
use tokio_postgres::{Client, Transaction};

use super::Database;
use super::rows::RowKind;
use crate::error::StoreFailure;
use crate::store::rows::decode;

/// The version of tables and rows this program writes.
const SCHEMA: u32 = 3;
/// Of all who could make or migrate the tables, one does: the key of the lock
/// they take. Any number will do that no other program uses.
const LOCK: i64 = 0x5e_57e4_7000;
/// A member that has been silent for so long is not in the site any more, and keeps no member
/// from choosing its mode.
const GONE: Duration = Duration::from_secs(10);

/// How to reach each version from the one before it.
const STEPS: [&str; SCHEMA as usize] = [
    "
    CREATE SCHEMA servent;
    CREATE TABLE servent.meta (key text PRIMARY KEY, value text NOT NULL);
    INSERT INTO servent.meta VALUES ('program', 'servent');
    CREATE TABLE servent.rows (
        kind smallint NOT NULL,
        id bytea NOT NULL,
        key bytea,
        value bytea NOT NULL,
        PRIMARY KEY (kind, id)
    );
    CREATE TABLE servent.lease (
        part integer PRIMARY KEY,
        holder bytea NOT NULL,
        fence bigint NOT NULL,
        beat bigint NOT NULL,
        free boolean NOT NULL
    ) WITH (fillfactor = 20);
    INSERT INTO servent.lease VALUES (0, '', 0, 0, true);
    CREATE TABLE servent.member (
        id bytea PRIMARY KEY,
        name text NOT NULL,
        serves text NOT NULL,
        joined timestamptz NOT NULL,
        seen timestamptz NOT NULL
    );
",
    "
    INSERT INTO servent.meta VALUES ('mode', 'led');
    ALTER TABLE servent.rows ADD COLUMN part smallint;
    CREATE INDEX rows_of_part ON servent.rows (part) WHERE part IS NOT NULL;
    CREATE TABLE servent.part (
        part smallint PRIMARY KEY,
        holder bytea,
        fence bigint NOT NULL
    ) WITH (fillfactor = 20);
    INSERT INTO servent.part SELECT part, NULL, 0 FROM generate_series(0, 63) AS part;
    ALTER TABLE servent.member ADD COLUMN beat bigint NOT NULL DEFAULT 0;
",
    // Rows of a kind that programs before do not know: the ledgers of swarms.
    "",
];

/// How the servents of a site go about it. All of them do the same: it is
/// written in the database, and only a member that finds no other there changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// One leads, the others stand by.
    Led,
    /// All members serve, each a partition of the files.
    Divided,
}

impl Mode {
    const fn word(self) -> &'static str {
        match self {
            Self::Led => "led",
            Self::Divided => "divided",
        }
    }
}

/// What the servents of a site are there for. A database has one such site: where
/// some serve files and others swarms, a client is sent in a circle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Files, with a queue for their clients.
    Files,
    /// Swarms, as their coordinators.
    Swarms,
}

impl Purpose {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Swarms => "swarms",
        }
    }
}

/// True in the database while its tables have the version that this program
/// writes, and the mode that it was started in: no statement of ours changes
/// those of another one, which may have come while we run.
pub(super) fn current(mode: Mode) -> String {
    format!(
        "(SELECT count(*) = 2 FROM servent.meta
            WHERE (key, value) IN (('schema', '{SCHEMA}'), ('mode', '{}')))",
        mode.word()
    )
}

/// Makes the tables where there are none, migrates older ones, and sets the mode
/// of the site. The first member decides what it is there for.
///
/// # Errors
/// Tables of another program, or of a newer program, or a site that is there for
/// something else, or in the other mode while a member is in it: those are not
/// touched.
pub(super) async fn prepare(
    client: &mut Client,
    site: &Database,
    mode: Mode,
    purpose: Purpose,
) -> Result<(), StoreFailure> {
    let failed = |why| site.unusable(&why);
    let txn = client.transaction().await.map_err(failed)?;
    txn.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await.map_err(failed)?;
    let found = version(&txn, site).await?;
    if found > SCHEMA {
        return Err(StoreFailure::NewerSite { at: site.to_string(), found, known: SCHEMA });
    }
    for step in &STEPS[found as usize..] {
        txn.batch_execute(step).await.map_err(failed)?;
    }
    if found < SCHEMA {
        let set = "INSERT INTO servent.meta VALUES ('schema', $1)
            ON CONFLICT (key) DO UPDATE SET value = excluded.value";
        txn.execute(set, &[&SCHEMA.to_string()]).await.map_err(failed)?;
    }
    let first = "INSERT INTO servent.meta VALUES ('serves', $1) ON CONFLICT (key) DO NOTHING";
    txn.execute(first, &[&purpose.word()]).await.map_err(failed)?;
    if purpose_of(&txn, site).await? != Some(purpose) {
        let swarms = purpose == Purpose::Files;
        return Err(StoreFailure::OtherPurpose { at: site.to_string(), swarms });
    }
    if mode_of(&txn, site).await? != mode {
        turn_to(mode, &txn, site).await?;
    }
    txn.commit().await.map_err(failed)
}

/// The version of the tables, which must be there and known.
///
/// # Errors
/// There are none, or they are another program's, or a newer program's.
pub(super) async fn known(txn: &Transaction<'_>, site: &Database) -> Result<u32, StoreFailure> {
    match version(txn, site).await? {
        0 => Err(StoreFailure::NoSite { at: site.to_string() }),
        found if found > SCHEMA => {
            Err(StoreFailure::NewerSite { at: site.to_string(), found, known: SCHEMA })
        }
        found => Ok(found),
    }
}

/// How the servents of the site go about it.
///
/// # Errors
/// The database does not answer.
pub(super) async fn mode_of(txn: &Transaction<'_>, site: &Database) -> Result<Mode, StoreFailure> {
    let read = "SELECT 1 FROM servent.meta WHERE key = 'mode' AND value = $1";
    let divided = txn.query_opt(read, &[&Mode::Divided.word()]).await;
    let divided = divided.map_err(|why| site.unusable(&why))?;
    Ok(divided.map_or(Mode::Led, |_| Mode::Divided))
}

/// What the site is there for; `None`: no program has said it yet.
///
/// # Errors
/// The database does not answer.
pub(super) async fn purpose_of(
    txn: &Transaction<'_>,
    site: &Database,
) -> Result<Option<Purpose>, StoreFailure> {
    let read = "SELECT value FROM servent.meta WHERE key = 'serves'";
    let found = txn.query_opt(read, &[]).await.map_err(|why| site.unusable(&why))?;
    let word = found.map(|row| row.get::<_, String>(0)).unwrap_or_default();
    Ok([Purpose::Files, Purpose::Swarms].into_iter().find(|purpose| purpose.word() == word))
}

/// Sets the mode of a site without members. A member that was in it and only sleeps
/// finds nothing of its own when it wakes up: every number has counted up.
async fn turn_to(mode: Mode, txn: &Transaction<'_>, site: &Database) -> Result<(), StoreFailure> {
    let failed = |why| site.unusable(&why);
    let there = format!(
        "SELECT count(*) FROM servent.member
        WHERE seen BETWEEN now() - interval '{0} seconds' AND now() + interval '{0} seconds'",
        GONE.as_secs()
    );
    if txn.query_one(&there, &[]).await.map_err(failed)?.get::<_, i64>(0) > 0 {
        let divided = mode == Mode::Led;
        return Err(StoreFailure::OtherMode { at: site.to_string(), divided });
    }
    let turn = format!(
        "UPDATE servent.meta SET value = '{}' WHERE key = 'mode';
        UPDATE servent.lease SET fence = fence + 1, holder = '', free = true;
        UPDATE servent.part SET fence = fence + 1, holder = NULL;
        DELETE FROM servent.member;",
        mode.word()
    );
    txn.batch_execute(&turn).await.map_err(failed)?;
    if mode == Mode::Divided {
        let rows = "SELECT id, value FROM servent.rows WHERE kind = $1";
        let rows = txn.query(rows, &[&(RowKind::Queue as i16)]).await.map_err(failed)?;
        let (mut ids, mut parts) = (Vec::<&[u8]>::new(), Vec::new());
        for row in &rows {
            let place: StoredEntry =
                decode(row.get(1)).map_err(|why| site.alien(&why.to_string()))?;
            ids.push(row.get(0));
            parts.push(number_of(Partition::containing(place.file)));
        }
        let set = "UPDATE servent.rows AS r SET part = p.part
            FROM unnest($2::bytea[], $3::smallint[]) AS p (id, part)
            WHERE r.kind = $1 AND r.id = p.id";
        txn.execute(set, &[&(RowKind::Queue as i16), &ids, &parts]).await.map_err(failed)?;
    }
    Ok(())
}

/// A part as the database counts them.
pub(super) fn number_of(part: Partition) -> i16 {
    i16::try_from(part.0).unwrap_or(i16::MAX)
}

/// Why a servent may not write any more that did until now: the tables have
/// become a newer program's, or another mode was chosen, or others have taken
/// over.
pub(super) async fn why_lost(site: &Database, mode: Mode) -> StoreFailure {
    let found = async {
        let (mut client, _task) = site.connect().await?;
        let txn = client.transaction().await.map_err(|e| site.unusable(&e))?;
        known(&txn, site).await?;
        mode_of(&txn, site).await
    };
    let at = site.to_string();
    match (found.await, mode) {
        (Err(newer @ StoreFailure::NewerSite { .. }), _) => newer,
        (Ok(Mode::Divided), Mode::Led) => StoreFailure::OtherMode { at, divided: true },
        (Ok(Mode::Led), Mode::Divided) => StoreFailure::OtherMode { at, divided: false },
        (_, Mode::Led) => StoreFailure::Replaced { at },
        (_, Mode::Divided) => StoreFailure::TakenOver { at },
    }
}

/// The version of the tables; 0 when there are none.
async fn version(txn: &Transaction<'_>, site: &Database) -> Result<u32, StoreFailure> {
    let failed = |why| site.unusable(&why);
    let alien = |why: &str| site.alien(why);
    let there = "SELECT to_regnamespace('servent') IS NOT NULL,
        (SELECT count(*) FROM information_schema.columns WHERE table_schema = 'servent'
            AND table_name = 'meta' AND column_name IN ('key', 'value') AND data_type = 'text')";
    let row = txn.query_one(there, &[]).await.map_err(failed)?;
    let (schema, columns): (bool, i64) = (row.get(0), row.get(1));
    if !schema {
        return Ok(0);
    }
    if columns != 2 {
        return Err(alien("it has no table that says whose it is"));
    }
    let read = "SELECT value FROM servent.meta WHERE key = 'schema'
        AND EXISTS (SELECT 1 FROM servent.meta WHERE key = 'program' AND value = 'servent')";
    let row = txn.query_opt(read, &[]).await.map_err(failed)?;
    let text: String = row.map(|row| row.get(0)).ok_or_else(|| alien("it is another program's"))?;
    match text.parse() {
        Ok(found) if found > 0 => Ok(found),
        _ => Err(alien("its version is no number")),
    }
}
