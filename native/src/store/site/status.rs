//! What everybody may see of a site who may use its database.

use serde::Serialize;
use tokio_postgres::Transaction;

use super::Database;
use super::schema::{self, Mode};
use crate::error::StoreFailure;

/// A site as it is now.
#[derive(Debug, Clone, Serialize)]
pub struct SiteStatus {
    /// Its database.
    pub database: String,
    /// The version of its tables.
    pub schema: u32,
    /// How often the lease was taken, or all parts together.
    pub fence: i64,
    /// Somebody leads, or its time to be silent is not over; of a divided site,
    /// somebody leads every part.
    pub led: bool,
    /// The files are divided among its servents; otherwise one leads.
    pub divided: bool,
    /// Parts of a divided site that nobody leads: they change hands.
    pub nobodys: i64,
    /// Places and slots of the upload queue.
    pub places: i64,
    /// Everything that is remembered.
    pub rows: i64,
    /// Its servents, the leader first.
    pub members: Vec<SiteMember>,
}

/// A servent of a site.
#[derive(Debug, Clone, Serialize)]
pub struct SiteMember {
    /// The name of its machine.
    pub name: String,
    /// Where it listens when it leads.
    pub serves: String,
    /// It has the lease, or a part of the files.
    pub leads: bool,
    /// How many parts of a divided site it leads.
    pub parts: i64,
    /// Seconds since it was last there; a second is usual.
    pub silent: f64,
    /// Seconds since it came.
    pub since: f64,
}

/// The first version of the tables that knows parts.
const PARTED: u32 = 2;

impl Database {
    /// What is in it of a site. Changes nothing.
    ///
    /// # Errors
    /// It cannot be used, or no site is in it.
    pub async fn status(&self) -> Result<SiteStatus, StoreFailure> {
        let failed = |why| self.unusable(&why);
        let (mut client, _task) = self.connect().await?;
        let txn = client.transaction().await.map_err(failed)?;
        let schema = schema::known(&txn, self).await?;
        // Tables of an older program are read as they are.
        if schema >= PARTED && schema::mode_of(&txn, self).await? == Mode::Divided {
            return self.divided(&txn, schema).await;
        }
        let lease = "SELECT fence, NOT free, holder,
                (SELECT count(*) FROM servent.rows WHERE kind = 1),
                (SELECT count(*) FROM servent.rows)
            FROM servent.lease WHERE part = 0";
        let lease = txn.query_one(lease, &[]).await.map_err(failed)?;
        let members = "SELECT name, serves, id = $1,
                extract(epoch FROM now() - seen)::float8, extract(epoch FROM now() - joined)::float8
            FROM servent.member WHERE seen > now() - interval '10 minutes'
            ORDER BY id <> $1, seen DESC, id";
        let holder: &[u8] = lease.get(2);
        let members = txn.query(members, &[&holder]).await.map_err(failed)?;
        let member = |row: &tokio_postgres::Row| SiteMember {
            name: row.get(0),
            serves: row.get(1),
            leads: row.get(2),
            parts: 0,
            silent: row.get::<_, f64>(3).max(0.0),
            since: row.get::<_, f64>(4).max(0.0),
        };
        Ok(SiteStatus {
            database: self.to_string(),
            schema,
            divided: false,
            nobodys: 0,
            fence: lease.get(0),
            led: lease.get(1),
            places: lease.get(3),
            rows: lease.get(4),
            members: members.iter().map(member).collect(),
        })
    }

    async fn divided(
        &self,
        txn: &Transaction<'_>,
        schema: u32,
    ) -> Result<SiteStatus, StoreFailure> {
        let failed = |why| self.unusable(&why);
        let all = "SELECT sum(fence)::bigint, count(*) FILTER (WHERE holder IS NULL),
                (SELECT count(*) FROM servent.rows WHERE kind = 1),
                (SELECT count(*) FROM servent.rows)
            FROM servent.part";
        let all = txn.query_one(all, &[]).await.map_err(failed)?;
        // Whoever has parts is shown, however long it is silent.
        let members = "SELECT name, serves, count(part),
                extract(epoch FROM now() - seen)::float8, extract(epoch FROM now() - joined)::float8
            FROM servent.member LEFT JOIN servent.part ON holder = id
            GROUP BY id HAVING seen > now() - interval '10 minutes' OR count(part) > 0
            ORDER BY serves, seen DESC, id";
        let members = txn.query(members, &[]).await.map_err(failed)?;
        let member = |row: &tokio_postgres::Row| SiteMember {
            name: row.get(0),
            serves: row.get(1),
            leads: row.get::<_, i64>(2) > 0,
            parts: row.get(2),
            silent: row.get::<_, f64>(3).max(0.0),
            since: row.get::<_, f64>(4).max(0.0),
        };
        Ok(SiteStatus {
            database: self.to_string(),
            schema,
            divided: true,
            nobodys: all.get(1),
            fence: all.get(0),
            led: all.get::<_, i64>(1) == 0,
            places: all.get(2),
            rows: all.get(3),
            members: members.iter().map(member).collect(),
        })
    }
}
