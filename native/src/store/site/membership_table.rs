//! What the database of a divided site knows of its members and their parts, and
//! what a member says there.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use servent_core::id::Guid;
use servent_core::lease::Partition;
use servent_core::lease::membership::{LeaseClaim, MemberSeat, MembershipTable, PartitionLease};
use servent_core::node::swarm::PartitionedAccount;
use servent_core::queue::StoredEntry;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};

use super::Database;
use super::lease_loop::{AnnouncedMember, signed, unsigned};
use super::rows::RowKind;
use super::schema::{self, Mode, number_of};
use crate::error::StoreFailure;
use crate::store::damage::RowError;
use crate::store::rows::decode;

/// Removes stale members: an earlier process at the same address, and any last
/// seen more than a day ago.
const JOIN: &str = "DELETE FROM servent.member
    WHERE id <> $1 AND serves = $2 OR seen < now() - interval '1 day'";

/// A member that looks shows that it is there. One that has nothing to hand over and was
/// silent for long is left out: a new process would wait for it.
const LOOK: &str = "WITH there AS (
        INSERT INTO servent.member AS m (id, name, serves, joined, seen)
        VALUES ($1, $2, $3, now(), now())
        ON CONFLICT (id) DO UPDATE SET seen = now(), beat = m.beat + 1
    )
    SELECT CURRENT, id, serves, beat, NULL::smallint FROM servent.member
    WHERE seen > now() - interval '20 seconds' OR id IN (SELECT holder FROM servent.part)
    UNION ALL SELECT CURRENT, holder, NULL, fence, part FROM servent.part";

/// In order, so that no two members wait for each other.
const TAKE: &str = "WITH seen AS MATERIALIZED (
        SELECT p.part FROM servent.part AS p
        JOIN unnest($2::smallint[], $3::bigint[], $4::bytea[]) AS c (part, fence, holder)
        ON p.part = c.part AND p.fence = c.fence AND p.holder IS NOT DISTINCT FROM c.holder
        WHERE CURRENT ORDER BY p.part FOR UPDATE OF p
    )
    UPDATE servent.part AS p SET holder = $1, fence = p.fence + 1
    FROM seen WHERE p.part = seen.part RETURNING p.part, p.fence";

const FREE: &str = "UPDATE servent.part SET holder = NULL WHERE holder = $1 AND part = ANY ($2)";

const LEAVE: &str = "WITH gone AS (DELETE FROM servent.member WHERE id = $1)
    UPDATE servent.part SET holder = NULL WHERE holder = $1";

const ROWS: &str = "SELECT kind, value FROM servent.rows WHERE part = ANY ($1)";

/// A member's connection to the membership table.
pub(super) struct Desk<'a> {
    pub(super) database: Database,
    pub(super) client: &'a Client,
    pub(super) member: &'a AnnouncedMember,
}

impl Desk<'_> {
    async fn tell(
        &self,
        statement: &str,
        with: &[&(dyn ToSql + Sync)],
    ) -> Result<(), StoreFailure> {
        let told = self.client.execute(statement, with).await;
        told.map(drop).map_err(|why| self.database.unusable(&why))
    }

    async fn query(
        &self,
        statement: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreFailure> {
        let rows = self.client.query(statement, parameters).await;
        rows.map_err(|why| self.database.unusable(&why))
    }

    fn us(&self) -> &[u8] {
        &self.member.holder
    }

    /// A new process begins.
    pub(super) async fn join(&self) -> Result<(), StoreFailure> {
        self.tell(JOIN, &[&self.us(), &self.member.serves]).await
    }

    /// Counts our heartbeat up and reads the membership table.
    pub(super) async fn look(&self) -> Result<MembershipTable, StoreFailure> {
        let Self { database, member, .. } = self;
        let look = LOOK.replace("CURRENT", &schema::current(Mode::Divided));
        let rows = self.query(&look, &[&self.us(), &member.name, &member.serves]).await?;
        if rows.first().is_some_and(|row| !row.get::<_, bool>(0)) {
            return Err(schema::why_lost(database, Mode::Divided).await);
        }
        let mut table = MembershipTable::default();
        for row in rows {
            let id = row.get::<_, Option<&[u8]>>(1).and_then(|id| Some(Guid(id.try_into().ok()?)));
            let count = unsigned(row.get(3));
            match (row.get::<_, Option<i16>>(4), id) {
                (Some(part), holder) => {
                    table.parts.insert(part_of(part), PartitionLease { fence: count, holder });
                }
                (None, Some(id)) => {
                    let at: Option<SocketAddr> = row.get::<_, &str>(2).parse().ok();
                    table.members.extend(at.map(|at| MemberSeat { id, at, beat: count }));
                }
                (None, None) => {}
            }
        }
        Ok(table)
    }

    /// Takes leases that are still as they were seen, and returns their new
    /// numbers.
    pub(super) async fn take(
        &self,
        claims: &[LeaseClaim],
    ) -> Result<BTreeMap<Partition, i64>, StoreFailure> {
        let take = TAKE.replace("CURRENT", &schema::current(Mode::Divided));
        let parts: Vec<i16> = claims.iter().map(|claim| number_of(claim.part)).collect();
        let fences: Vec<i64> = claims.iter().map(|claim| signed(claim.seen.fence)).collect();
        let holders = claims.iter().map(|claim| claim.seen.holder.as_ref().map(|it| &it.0[..]));
        let holders: Vec<Option<&[u8]>> = holders.collect();
        let taken = self.query(&take, &[&self.us(), &parts, &fences, &holders]).await?;
        Ok(taken.iter().map(|row| (part_of(row.get(0)), row.get(1))).collect())
    }

    /// Gives partitions back.
    pub(super) async fn free(&self, parts: &BTreeSet<Partition>) -> Result<(), StoreFailure> {
        let parts: Vec<i16> = parts.iter().copied().map(number_of).collect();
        self.tell(FREE, &[&self.us(), &parts]).await
    }

    /// Gives everything back and leaves the membership table.
    pub(super) async fn leave(&self) -> Result<(), StoreFailure> {
        self.tell(LEAVE, &[&self.us()]).await
    }

    /// What there is of these partitions: places and slots in order of arrival, and the
    /// ledgers of swarms.
    pub(super) async fn rows(
        &self,
        parts: &[Partition],
    ) -> Result<(Vec<StoredEntry>, Vec<PartitionedAccount>), StoreFailure> {
        let parts: Vec<i16> = parts.iter().copied().map(number_of).collect();
        let (mut queue, mut accounts) = (Vec::new(), Vec::new());
        let alien = |why: RowError| self.database.alien(&why.to_string());
        for row in self.query(ROWS, &[&parts]).await? {
            match row.get::<_, i16>(0) {
                kind if kind == RowKind::Queue as i16 => {
                    queue.push(decode::<StoredEntry>(row.get(1)).map_err(alien)?);
                }
                kind if kind == RowKind::Account as i16 => {
                    accounts.push(decode::<PartitionedAccount>(row.get(1)).map_err(alien)?);
                }
                kind => return Err(alien(RowError::Kind(kind))),
            }
        }
        queue.sort_by_key(|row| row.arrival);
        Ok((queue, accounts))
    }
}

/// A partition as core counts them.
pub(super) fn part_of(number: i16) -> Partition {
    Partition(u16::try_from(number).unwrap_or(u16::MAX))
}
