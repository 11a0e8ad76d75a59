//! Holds the lease of the site, or waits for it: drives the lease of core over
//! a connection of its own.

use std::sync::Arc;
use std::time::Duration;

use servent_core::engine::{Engine as _, FxOf};
use servent_core::lease::{Config, Event, Input, Lease, LeaseState, Output};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::Database;
use super::lease_query::{Attends, LeaseQuery, QueryTroubles};
use super::log_dedup::LogDedup;
use super::schema::{self, Mode};
use crate::clock::Clock;
use crate::error::StoreFailure;

/// How long an answer about the lease may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// How long saying goodbye may take.
pub(super) const GOODBYE: Duration = Duration::from_secs(2);

/// What a servent of a site does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// It has not asked yet.
    #[default]
    Starting,
    /// Another one leads; it takes over when that one is silent.
    Standby,
    /// It leads.
    Leading,
}

/// The member that the others see.
#[derive(Debug, Clone)]
pub(super) struct AnnouncedMember {
    pub(super) holder: [u8; 16],
    pub(super) name: String,
    pub(super) serves: String,
}

/// Holds the lease in a task of its own.
#[derive(Debug)]
pub(super) struct LeaseTask {
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
    lost: watch::Receiver<bool>,
    troubles: QueryTroubles,
}

impl LeaseTask {
    /// Waits until this servent leads.
    ///
    /// # Errors
    /// A newer program has migrated the tables meanwhile, or the others divide
    /// the files, or its role has no listener any more.
    pub(super) async fn wait(
        database: Database,
        member: AnnouncedMember,
        role: Option<watch::Sender<Role>>,
    ) -> Result<Self, StoreFailure> {
        let clock = Clock::new();
        let lease = Lease::new(Config::default(), clock.now());
        let mut query = LeaseQuery::new(database);
        query.said = Some(LogDedup::default());
        let troubles = query.troubles();
        let mut tended = LeaseLoop { query, member, role, clock, lease, joined: false };
        let listens = tended.role.clone();
        let unwanted = async {
            match listens {
                Some(role) => role.closed().await,
                None => std::future::pending().await,
            }
        };
        let leads = async {
            while !tended.step().await? {}
            Ok(())
        };
        let waited = tokio::select! {
            leads = leads => Some(leads),
            () = unwanted => None,
        };
        match waited {
            Some(leads) => leads?,
            None => {
                tended.leave().await;
                return Err(StoreFailure::Unwanted);
            }
        }
        tended.query.said = None;
        let (stop, stopped) = oneshot::channel();
        let (tell, lost) = watch::channel(false);
        let task = tokio::spawn(async move {
            let leading = async { while tended.step().await.is_ok_and(|leads| leads) {} };
            tokio::select! {
                () = leading => drop(tell.send_replace(true)),
                _ = stopped => tended.leave().await,
            }
        });
        Ok(Self { stop: Some(stop), task, lost, troubles })
    }

    /// Waits until the database cannot be asked any more, and says why; `None`:
    /// another member has taken the lease.
    pub(super) async fn news(&mut self) -> Option<Arc<StoreFailure>> {
        let lost = async {
            if self.lost.wait_for(|lost| *lost).await.is_err() {
                std::future::pending::<()>().await; // Its task has said goodbye.
            }
        };
        tokio::select! {
            why = self.troubles.next() => Some(why),
            () = lost => None,
        }
    }

    /// Lets the lease run out.
    #[cfg(test)]
    pub(super) fn silence(&self) {
        self.task.abort();
    }

    /// Gives the lease back, so that another one leads at once.
    pub(super) async fn leave(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(()); // It may have lost the lease.
            let _ = tokio::time::timeout(GOODBYE, &mut self.task).await;
        }
    }
}

impl Drop for LeaseTask {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The lease, and what it is asked over.
struct LeaseLoop {
    query: LeaseQuery,
    member: AnnouncedMember,
    role: Option<watch::Sender<Role>>,
    clock: Clock,
    lease: Lease,
    joined: bool,
}

/// Removes stale members: an earlier process at this address, and any last
/// seen more than a day ago.
const JOIN: &str = "DELETE FROM servent.member WHERE id <> $1 AND
    ((name = $2 AND serves = $3) OR seen < now() - interval '1 day')";

impl LeaseLoop {
    /// Waits for the next timer and does what it asks. True when we lead after
    /// that.
    ///
    /// # Errors
    /// The tables are a newer program's, or of a site that divides its files.
    async fn step(&mut self) -> Result<bool, StoreFailure> {
        if let Some((at, _)) = self.lease.poll_timeout() {
            tokio::time::sleep_until(self.clock.wake_at(at)).await;
        }
        let mut fx = FxOf::<Lease>::new();
        self.lease.handle_timeout(self.clock.now(), &mut fx);
        self.obey(fx).await?;
        Ok(self.lease.leads())
    }

    /// Says goodbye.
    async fn leave(&mut self) {
        let mut fx = FxOf::<Lease>::new();
        self.lease.handle(self.clock.now(), Input::Stop, &mut fx);
        let _ = self.obey(fx).await; // A member that leaves need not know its successor.
        let gone = async {
            let client = self.query.client().await.ok()?;
            let gone = "DELETE FROM servent.member WHERE id = $1";
            client.execute(gone, &[&&self.member.holder[..]]).await.ok()
        };
        let _ = tokio::time::timeout(PATIENCE, gone).await; // A silent member is seen to be gone.
    }

    fn play(&self, role: Role) {
        if let Some(told) = &self.role {
            told.send_replace(role);
        }
    }

    async fn ask(&mut self, output: Output) -> Result<Input, StoreFailure> {
        let database = self.query.database.clone();
        let client = self.query.client().await?;
        let failed = |why| database.unusable(&why);
        let AnnouncedMember { holder, name, serves } = &self.member;
        let holder = &holder[..];
        if !self.joined {
            client.execute(JOIN, &[&holder, name, serves]).await.map_err(failed)?;
            self.joined = true;
        }
        // A member that asks shows that it is there.
        let there = "WITH there AS (INSERT INTO servent.member VALUES ($1, $2, $3, now(), now())
            ON CONFLICT (id) DO UPDATE SET seen = now())";
        match output {
            Output::Take(LeaseState { fence, beat, .. }) => {
                let take = "UPDATE servent.lease SET holder = $1, fence = fence + 1, beat = 0, free = false
                    WHERE part = 0 AND fence = $2 AND beat = $3 AND CURRENT RETURNING fence";
                let take = take.replace("CURRENT", &schema::current(Mode::Led));
                let (fence, beat) = (signed(fence), signed(beat));
                let row = client.query_opt(&take, &[&holder, &fence, &beat]).await;
                Ok(match row.map_err(failed)? {
                    Some(row) => Input::Taken(unsigned(row.get(0))),
                    None => Input::Missed,
                })
            }
            Output::Renew => {
                let renew = format!(
                    "{there} UPDATE servent.lease SET beat = beat + 1
                    WHERE part = 0 AND holder = $1 AND NOT free AND {}",
                    schema::current(Mode::Led)
                );
                let renewed = client.execute(&renew, &[&holder, name, serves]).await;
                Ok(if renewed.map_err(failed)? == 1 { Input::Renewed } else { Input::Missed })
            }
            Output::Free => {
                let free = "UPDATE servent.lease SET free = true WHERE part = 0 AND holder = $1";
                client.execute(free, &[&holder]).await.map_err(failed)?;
                Ok(Input::Renewed)
            }
            Output::Look | Output::Lead(_) | Output::Yield => {
                let look = format!(
                    "{there} SELECT fence, beat, free, {} FROM servent.lease WHERE part = 0",
                    schema::current(Mode::Led)
                );
                let row =
                    client.query_one(&look, &[&holder, name, serves]).await.map_err(failed)?;
                if !row.get::<_, bool>(3) {
                    return Err(schema::why_lost(&database, Mode::Led).await);
                }
                let (fence, beat) = (unsigned(row.get(0)), unsigned(row.get(1)));
                Ok(Input::Seen(LeaseState { fence, beat, free: row.get(2) }))
            }
        }
    }
}

impl Attends for LeaseLoop {
    type Engine = Lease;

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn engine(&mut self) -> &mut Lease {
        &mut self.lease
    }

    fn note(&self, event: &Event) {
        let at = &self.query.database;
        match event {
            Event::StandsBy { .. } => {
                tracing::info!("another servent leads the site in {at}");
                self.play(Role::Standby);
            }
            Event::Takes { fence, why } => tracing::info!("taking lease {fence} of {at}: {why}"),
            Event::Lost => tracing::info!("another servent has the lease of {at}"),
        }
    }

    async fn carry_out(&mut self, output: Output) -> Result<Option<Input>, StoreFailure> {
        match output {
            Output::Lead(_) => self.play(Role::Leading),
            Output::Yield => {}
            Output::Look | Output::Take(_) | Output::Renew | Output::Free => {
                let answer = tokio::time::timeout(PATIENCE, self.ask(output)).await;
                return Ok(Some(self.query.receive(answer)?.unwrap_or(Input::Away)));
            }
        }
        Ok(None)
    }
}

/// The database has no unsigned numbers; these are counts.
pub(super) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}
