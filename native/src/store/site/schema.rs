//! The tables of a site, made and migrated by the program. All of them are in
//! a schema of their own, so that the database may hold other things, too.

use tokio_postgres::{Client, Transaction};

use super::Database;
use crate::error::StoreFailure;

/// The version of tables and rows this program writes.
const SCHEMA: u32 = 1;
/// Of all who could make or migrate the tables, one does: the key of the lock
/// they take. Any number will do that nobody else uses.
const LOCK: i64 = 0x5e_57e4_7000;

/// How to reach each version from the one before it.
const STEPS: [&str; SCHEMA as usize] = ["
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
"];

/// True in the database while its tables have the version that this program
/// writes: no statement of ours changes those of another one, which may have
/// come while we run.
pub(super) fn current() -> String {
    format!("EXISTS (SELECT 1 FROM servent.meta WHERE key = 'schema' AND value = '{SCHEMA}')")
}

/// Makes the tables where there are none, and migrates older ones.
///
/// # Errors
/// Tables of somebody else, or of a newer program: those are not touched.
pub(super) async fn prepare(client: &mut Client, site: &Database) -> Result<(), StoreFailure> {
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
    txn.commit().await.map_err(failed)
}

/// The version of the tables, which must be there and known.
///
/// # Errors
/// There are none, or they are somebody else's, or a newer program's.
pub(super) async fn known(txn: &Transaction<'_>, site: &Database) -> Result<u32, StoreFailure> {
    match version(txn, site).await? {
        0 => Err(StoreFailure::Alien { at: site.to_string(), why: "there is none".into() }),
        found if found > SCHEMA => {
            Err(StoreFailure::NewerSite { at: site.to_string(), found, known: SCHEMA })
        }
        found => Ok(found),
    }
}

/// Why a servent may not write any more that did until now: the tables have
/// become a newer program's, or another servent leads.
pub(super) async fn why_lost(site: &Database) -> StoreFailure {
    let newer = async {
        let (mut client, _task) = site.connect().await?;
        let txn = client.transaction().await.map_err(|e| site.unusable(&e))?;
        known(&txn, site).await
    };
    match newer.await {
        Err(newer @ StoreFailure::NewerSite { .. }) => newer,
        _ => StoreFailure::Replaced { at: site.to_string() },
    }
}

/// The version of the tables; 0 when there are none.
async fn version(txn: &Transaction<'_>, site: &Database) -> Result<u32, StoreFailure> {
    let failed = |why| site.unusable(&why);
    let alien = |why: &str| StoreFailure::Alien { at: site.to_string(), why: why.to_owned() };
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
