//! What every user of the database may see of its site.

use serde::Serialize;
use servent_core::lease::Config;

use super::Database;
use super::schema::{self, Mode, Purpose};
use crate::error::StoreFailure;

/// A site as it is now.
#[derive(Debug, Clone, Serialize)]
pub struct SiteStatus {
    /// Its database.
    pub database: String,
    /// The version of its tables.
    pub schema: u32,
    /// What it serves: `files` or `swarms`; `None`: no program has said it yet.
    pub serves: Option<&'static str>,
    /// How often the lease was taken, or all parts together.
    pub fence: i64,
    /// A member leads; of a divided site, every partition has a leader.
    pub led: bool,
    /// It is divided among its servents; otherwise one leads.
    pub divided: bool,
    /// Partitions of a divided site without a leader: they change hands.
    pub nobodys: i64,
    /// Places and slots of the upload queue.
    pub places: i64,
    /// Addresses that have given or taken something in a swarm.
    pub accounts: i64,
    /// Everything that is remembered.
    pub rows: i64,
    /// Its servents, the leader first, and those that are gone last.
    pub members: Vec<SiteMember>,
}

/// A servent of a site.
#[derive(Debug, Clone, Serialize)]
pub struct SiteMember {
    /// The name of its machine.
    pub name: String,
    /// Where it listens when it leads.
    pub serves: String,
    /// It was there within the last seconds. One that is not has died, sleeps, or
    /// does not reach the database; one that says goodbye is in the list no more.
    pub there: bool,
    /// It is there and has the lease, or a part.
    pub leads: bool,
    /// How many parts of a divided site it has.
    pub parts: i64,
    /// Seconds since it was last there; a second is usual.
    pub silent: f64,
    /// Seconds since it came.
    pub since: f64,
}

/// The first version of the tables that knows parts.
const PARTED: u32 = 2;

/// Those who were there not long ago, and those who have something, however long they
/// are silent. What they have is counted as parts, the lease of all as one.
const MEMBERS: &str = "SELECT name, serves, count(part),
        extract(epoch FROM now() - seen)::float8, extract(epoch FROM now() - joined)::float8
    FROM servent.member LEFT JOIN LEASES ON HELD
    GROUP BY id HAVING seen > now() - interval '10 minutes' OR count(part) > 0
    ORDER BY serves, seen DESC, id";

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
        let divided = schema >= PARTED && schema::mode_of(&txn, self).await? == Mode::Divided;
        let serves = schema::purpose_of(&txn, self).await?;
        let leases = if divided { "servent.part" } else { "servent.lease" };
        // A lease that is free has its last holder written on it.
        let held = if divided { "holder = id" } else { "holder = id AND NOT free" };
        let members = txn
            .query(&MEMBERS.replace("LEASES", leases).replace("HELD", held), &[])
            .await
            .map_err(failed)?;
        let mut members: Vec<SiteMember> = members.iter().map(member).collect();
        members.sort_by_key(|member| (!member.leads, !member.there));
        let all = format!(
            "SELECT sum(fence)::bigint, count(*),
                (SELECT count(*) FROM servent.rows WHERE kind = 1),
                (SELECT count(*) FROM servent.rows WHERE kind IN (10, 14)),
                (SELECT count(*) FROM servent.rows)
            FROM {leases}"
        );
        let all = txn.query_one(&all, &[]).await.map_err(failed)?;
        let leads = members.iter().filter(|member| member.leads);
        let nobodys = all.get::<_, i64>(1) - leads.map(|member| member.parts).sum::<i64>();
        Ok(SiteStatus {
            database: self.to_string(),
            schema,
            serves: serves.map(Purpose::word),
            fence: all.get(0),
            led: nobodys <= 0,
            divided,
            nobodys: if divided { nobodys } else { 0 },
            places: all.get(2),
            accounts: all.get(3),
            rows: all.get(4),
            members,
        })
    }
}

fn member(row: &tokio_postgres::Row) -> SiteMember {
    let (parts, silent) = (row.get::<_, i64>(2), row.get::<_, f64>(3).max(0.0));
    let there = silent < Config::default().patience.as_micros() as f64 / 1e6;
    SiteMember {
        name: row.get(0),
        serves: row.get(1),
        there,
        leads: there && parts > 0,
        parts,
        silent,
        since: row.get::<_, f64>(4).max(0.0),
    }
}
