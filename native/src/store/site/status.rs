//! What everybody may see of a site who may use its database.

use serde::Serialize;

use super::{Database, schema};
use crate::error::StoreFailure;

/// A site as it is now.
#[derive(Debug, Clone, Serialize)]
pub struct SiteStatus {
    /// Its database.
    pub database: String,
    /// The version of its tables.
    pub schema: u32,
    /// How often the lease was taken.
    pub fence: i64,
    /// Somebody leads, or its time to be silent is not over.
    pub led: bool,
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
    /// It has the lease.
    pub leads: bool,
    /// Seconds since it was last there; a second is usual.
    pub silent: f64,
    /// Seconds since it came.
    pub since: f64,
}

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
            silent: row.get::<_, f64>(3).max(0.0),
            since: row.get::<_, f64>(4).max(0.0),
        };
        Ok(SiteStatus {
            database: self.to_string(),
            schema,
            fence: lease.get(0),
            led: lease.get(1),
            places: lease.get(3),
            rows: lease.get(4),
            members: members.iter().map(member).collect(),
        })
    }
}
