//! One connection over which a member of a divided site writes its parts.

use std::collections::{BTreeMap, BTreeSet};

use servent_core::lease::Partition;
use tokio::task::AbortHandle;
use tokio_postgres::{Client, Statement};

use super::Database;
use super::membership_table::part_of;
use super::reach::Opens;
use super::rows::Key;
use super::schema::{self, Mode, number_of};
use crate::error::StoreFailure;

/// Everything a turn changes, in one statement, all of it or nothing. The first
/// part is the fences: it finds fewer than it should when another member has
/// taken one of the parts, or the tables are not of our version and mode
/// (CURRENT), and holds back a member that takes one until this statement is done.
const WRITE: &str = "
    WITH held AS MATERIALIZED (
        SELECT p.part FROM servent.part AS p
        JOIN unnest($2::smallint[], $3::bigint[]) AS f (part, fence)
        ON p.part = f.part AND p.fence = f.fence
        WHERE p.holder = $1 AND CURRENT
        ORDER BY p.part FOR SHARE OF p
    ), allowed AS MATERIALIZED (
        SELECT count(*) FROM held HAVING count(*) = cardinality($2::smallint[])
    ), gone AS (
        DELETE FROM servent.rows AS r USING unnest($4::smallint[], $5::bytea[]) AS g (kind, id)
        WHERE r.kind = g.kind AND r.id = g.id AND EXISTS (SELECT 1 FROM allowed)
    ), put AS (
        INSERT INTO servent.rows (kind, id, value, part)
        SELECT p.kind, p.id, p.value, p.part
        FROM unnest($6::smallint[], $7::bytea[], $8::bytea[], $9::smallint[])
        AS p (kind, id, value, part)
        WHERE EXISTS (SELECT 1 FROM allowed)
        ON CONFLICT (kind, id) DO UPDATE SET value = excluded.value, part = excluded.part
    )
    SELECT count(*) FROM allowed";

/// What is to be saved of a row.
#[derive(Debug, Default)]
pub(super) struct PendingRow {
    /// The parts that it is or was in.
    pub(super) parts: BTreeSet<Partition>,
    /// Its part and value; `None` when it is gone.
    pub(super) row: Option<(Partition, Vec<u8>)>,
}

/// A connection of a member.
#[derive(Debug)]
pub(super) struct PartLink {
    client: Client,
    write: Statement,
    /// The numbers of the parts that the member held when it was opened.
    pub(super) fences: BTreeMap<Partition, i64>,
    task: AbortHandle,
}

impl Opens for PartLink {
    const MODE: Mode = Mode::Divided;

    async fn open(site: &Database, holder: &[u8; 16]) -> Result<Option<Self>, StoreFailure> {
        let (client, task) = site.connect().await?;
        let open = async {
            let current = schema::current(Mode::Divided);
            let ours = client.query_one(&format!("SELECT {current}"), &[]).await?;
            if !ours.get::<_, bool>(0) {
                return Ok(None);
            }
            // A statement that is still under way on a lost connection writes nothing.
            let count = format!(
                "UPDATE servent.part SET fence = fence + 1 WHERE holder = $1 AND {current}
                RETURNING part, fence"
            );
            let counted = client.query(&count, &[&&holder[..]]).await?;
            let fences = counted.iter().map(|row| (part_of(row.get(0)), row.get(1))).collect();
            let write = client.prepare(&WRITE.replace("CURRENT", &current)).await?;
            Ok(Some((fences, write)))
        };
        match open.await {
            Ok(Some((fences, write))) => Ok(Some(Self { client, write, fences, task })),
            Ok(None) => {
                task.abort();
                Ok(None)
            }
            Err(why) => {
                task.abort();
                Err(site.unusable(&why))
            }
        }
    }
}

impl PartLink {
    /// Commits all lines or none, if the parts with these numbers are still the
    /// holder's; false when one is not.
    pub(super) async fn write(
        &self,
        holder: &[u8; 16],
        fences: &BTreeMap<Partition, i64>,
        lines: &BTreeMap<Key, PendingRow>,
    ) -> Result<bool, tokio_postgres::Error> {
        let parts: Vec<i16> = fences.keys().copied().map(number_of).collect();
        let fences: Vec<i64> = fences.values().copied().collect();
        let (mut gone_kinds, mut gone) = (Vec::new(), Vec::new());
        let (mut kinds, mut put) = (Vec::new(), Vec::new());
        let (mut values, mut of) = (Vec::new(), Vec::new());
        for ((kind, key), line) in lines {
            if let Some((part, value)) = &line.row {
                kinds.push(*kind as i16);
                put.push(&key[..]);
                values.push(&value[..]);
                of.push(number_of(*part));
            } else {
                gone_kinds.push(*kind as i16);
                gone.push(&key[..]);
            }
        }
        let row = self
            .client
            .query_one(
                &self.write,
                &[&&holder[..], &parts, &fences, &gone_kinds, &gone, &kinds, &put, &values, &of],
            )
            .await?;
        Ok(row.get::<_, i64>(0) == 1)
    }
}

impl Drop for PartLink {
    fn drop(&mut self) {
        self.task.abort(); // The socket is closed even if the database does not answer.
    }
}
