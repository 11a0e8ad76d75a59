//! One connection to the database, and the statements on it.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};
use tokio::task::AbortHandle;
use tokio_postgres::{Client, Statement};

use super::Database;
use super::reach::Opens;
use super::rows::{Pending, RowCollector, pieces_of};
use super::schema::{self, Mode};
use crate::error::StoreFailure;
use crate::store::Remembered;

/// Longer keys do not fit the index; a digest stands for them there.
const LONGEST_ID: usize = 1_024;

/// Everything a turn changes, in one statement. The first part is the fence: it
/// finds nothing when another servent has taken the lease, or the tables are not
/// of our version (CURRENT), and holds back a member that takes it until this
/// statement is done.
const WRITE: &str = "
    WITH held AS MATERIALIZED (
        SELECT 1 FROM servent.lease
        WHERE part = 0 AND holder = $1 AND fence = $2 AND CURRENT
        FOR SHARE
    ), pieceless AS (
        DELETE FROM servent.rows AS r USING unnest($9::bytea[], $10::bytea[]) AS u (low, high)
        WHERE r.kind = 12 AND r.id BETWEEN u.low AND u.high AND EXISTS (SELECT 1 FROM held)
        AND NOT (r.id = ANY ($4::bytea[])) AND NOT (r.id = ANY ($6::bytea[]))
    ), gone AS (
        DELETE FROM servent.rows AS r USING unnest($3::smallint[], $4::bytea[]) AS g (kind, id)
        WHERE r.kind = g.kind AND r.id = g.id AND EXISTS (SELECT 1 FROM held)
    ), put AS (
        INSERT INTO servent.rows (kind, id, key, value)
        SELECT p.kind, p.id, p.key, p.value
        FROM unnest($5::smallint[], $6::bytea[], $7::bytea[], $8::bytea[]) AS p (kind, id, key, value)
        WHERE EXISTS (SELECT 1 FROM held)
        ON CONFLICT (kind, id) DO UPDATE SET value = excluded.value
    )
    SELECT count(*) FROM held";

/// A connection that holds the lease.
#[derive(Debug)]
pub(super) struct LeaseLink {
    client: Client,
    write: Statement,
    fence: i64,
    task: AbortHandle,
}

impl Opens for LeaseLink {
    const MODE: Mode = Mode::Led;

    /// For the holder of the lease; `None` when another member holds it.
    async fn open(site: &Database, holder: &[u8; 16]) -> Result<Option<Self>, StoreFailure> {
        let holder = &holder[..];
        let (client, task) = site.connect().await?;
        let current = schema::current(Mode::Led);
        let take = format!(
            "UPDATE servent.lease SET fence = fence + 1
            WHERE part = 0 AND holder = $1 AND {current} RETURNING fence"
        );
        let row = client.query_opt(&take, &[&holder]).await.map_err(|e| site.unusable(&e))?;
        match row {
            Some(row) => {
                let write = WRITE.replace("CURRENT", &current);
                let write = client.prepare(&write).await.map_err(|e| site.unusable(&e))?;
                Ok(Some(Self { client, write, fence: row.get(0), task }))
            }
            None => {
                task.abort();
                Ok(None)
            }
        }
    }
}

impl LeaseLink {
    /// Commits all changes or none; false when the lease is not ours any more.
    pub(super) async fn write(
        &self,
        holder: &[u8; 16],
        pending: &Pending,
    ) -> Result<bool, tokio_postgres::Error> {
        let holder = &holder[..];
        let ids: Vec<Cow<'_, [u8]>> = pending.rows.keys().map(|(_, key)| id_of(key)).collect();
        let (mut gone_kinds, mut gone_ids) = (Vec::new(), Vec::new());
        let (mut kinds, mut put_ids, mut keys, mut values) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (((kind, key), value), id) in pending.rows.iter().zip(&ids) {
            if let Some(value) = value {
                kinds.push(*kind as i16);
                put_ids.push(&**id);
                keys.push(matches!(id, Cow::Owned(_)).then_some(&**key));
                values.push(&**value);
            } else {
                gone_kinds.push(*kind as i16);
                gone_ids.push(&**id);
            }
        }
        let ranges: Vec<_> = pending.pieceless.iter().map(|file| pieces_of(*file)).collect();
        let low: Vec<&[u8]> = ranges.iter().map(|(low, _)| &low[..]).collect();
        let high: Vec<&[u8]> = ranges.iter().map(|(_, high)| &high[..]).collect();
        let row = self
            .client
            .query_one(
                &self.write,
                &[
                    &holder,
                    &self.fence,
                    &gone_kinds,
                    &gone_ids,
                    &kinds,
                    &put_ids,
                    &keys,
                    &values,
                    &low,
                    &high,
                ],
            )
            .await?;
        Ok(row.get::<_, i64>(0) == 1)
    }

    /// Reads everything.
    pub(super) async fn read(&self, site: &Database) -> Result<Remembered, StoreFailure> {
        let all = "SELECT kind, coalesce(key, id), value FROM servent.rows ORDER BY kind, id";
        let rows = self.client.query(all, &[]).await.map_err(|e| site.unusable(&e))?;
        let mut memory = RowCollector::default();
        for row in rows {
            let taken = memory.take(row.get(0), row.get(1), row.get(2));
            taken.map_err(|why| site.alien(&why.to_string()))?;
        }
        Ok(memory.remembered())
    }
}

impl Drop for LeaseLink {
    fn drop(&mut self) {
        self.task.abort(); // The socket is closed even if the database does not answer.
    }
}

/// What stands for a key in the index.
fn id_of(key: &[u8]) -> Cow<'_, [u8]> {
    if key.len() <= LONGEST_ID {
        return Cow::Borrowed(key);
    }
    let mut id = key[..LONGEST_ID].to_vec();
    id.extend_from_slice(&Sha256::digest(key));
    Cow::Owned(id)
}
