//! Takes and gives back parts of a divided site: drives the division of core
//! over a connection of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use servent_core::engine::{Engine as _, FxOf};
use servent_core::id::Guid;
use servent_core::lease::membership::{Division, Event, Input, Leader, Output};
use servent_core::lease::{Config, PARTS, Partition};
use servent_core::node::swarm::PartitionedAccount;
use servent_core::queue::StoredEntry;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::Database;
use super::lease_loop::{AnnouncedMember, GOODBYE, PATIENCE};
use super::lease_query::{Attends, LeaseQuery, QueryTroubles};
use super::membership_table::Desk;
use crate::clock::Clock;
use crate::error::StoreFailure;

/// What changes in the division, in order.
#[derive(Debug)]
pub(super) enum PartitionNews {
    /// Who leads which part.
    Divide(Vec<Leader>),
    /// We lead these parts, with these numbers; what the database remembers of
    /// them.
    Lead(BTreeMap<Partition, i64>, Vec<StoredEntry>, Vec<PartitionedAccount>),
    /// These are to be given back, as soon as what was promised for them is saved.
    Hush(BTreeSet<Partition>),
    /// The database cannot be asked, and why.
    Away(Arc<StoreFailure>),
}

/// Looks at the membership table in a task of its own.
#[derive(Debug)]
pub(super) struct Divider {
    news: mpsc::Receiver<PartitionNews>,
    quiet: mpsc::Sender<BTreeSet<Partition>>,
    troubles: QueryTroubles,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Divider {
    /// Joins the site; `at` is where this member serves.
    pub(super) fn start(database: Database, member: AnnouncedMember, at: SocketAddr) -> Self {
        let (tell, news) = mpsc::channel(usize::from(PARTS));
        // A part is given back once before it is taken again.
        let (quiet, mut quieted) = mpsc::channel(usize::from(PARTS));
        let (stop, stopped) = oneshot::channel();
        let clock = Clock::new();
        let us = (Guid(member.holder), at);
        let division = Division::new(Config::default(), us, clock.now());
        let (taken, to_lead) = (BTreeMap::new(), BTreeMap::new());
        let query = LeaseQuery::new(database);
        let troubles = query.troubles();
        let mut tended =
            PartitionLoop { query, member, clock, division, joined: false, taken, to_lead, tell };
        let task = tokio::spawn(async move {
            tokio::select! {
                () = tended.attend(&mut quieted) => {}
                _ = stopped => tended.leave().await,
            }
        });
        Self { news, quiet, troubles, stop: Some(stop), task }
    }

    /// The next change; `None` when we were taken for dead, or the site is
    /// another one by now.
    pub(super) async fn news(&mut self) -> Option<PartitionNews> {
        tokio::select! {
            biased; // What was heard before comes first.
            news = self.news.recv() => news,
            why = self.troubles.next() => Some(PartitionNews::Away(why)),
        }
    }

    /// What was promised for these parts is saved, and nothing more is.
    pub(super) fn quiet(&self, parts: BTreeSet<Partition>) {
        let _ = self.quiet.try_send(parts); // A member that ends gives everything back.
    }

    /// Says nothing any more, as if the process were stopped.
    #[cfg(test)]
    pub(super) fn silence(&self) {
        self.task.abort();
    }

    /// Gives everything back, so that others lead it at once.
    pub(super) async fn leave(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(()); // It may have ended.
            let _ = tokio::time::timeout(GOODBYE, &mut self.task).await;
        }
    }
}

impl Drop for Divider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The division, and what it is asked over.
struct PartitionLoop {
    query: LeaseQuery,
    member: AnnouncedMember,
    clock: Clock,
    division: Division,
    joined: bool,
    /// The numbers of what was taken last.
    taken: BTreeMap<Partition, i64>,
    /// Parts whose rows are not read yet.
    to_lead: BTreeMap<Partition, i64>,
    tell: mpsc::Sender<PartitionNews>,
}

impl PartitionLoop {
    /// Runs until we are not in the site any more.
    async fn attend(&mut self, quieted: &mut mpsc::Receiver<BTreeSet<Partition>>) {
        while !self.tell.is_closed() {
            let Some((at, _)) = self.division.poll_timeout() else { return };
            let quiet = tokio::select! {
                biased;
                () = tokio::time::sleep_until(self.clock.wake_at(at)) => None,
                quiet = quieted.recv() => quiet,
            };
            let (now, mut fx) = (self.clock.now(), FxOf::<Division>::new());
            match quiet {
                Some(parts) => self.division.handle(now, Input::Quiet(parts), &mut fx),
                None => self.division.handle_timeout(now, &mut fx),
            }
            if self.obey(fx).await.is_err() || self.lead().await.is_err() {
                return;
            }
        }
    }

    /// Says goodbye.
    async fn leave(&mut self) {
        let mut fx = FxOf::<Division>::new();
        self.division.handle(self.clock.now(), Input::Stop, &mut fx);
        let _ = self.obey(fx).await; // A member that leaves need not know its successor.
    }

    async fn report(&self, news: PartitionNews) {
        let _ = self.tell.send(news).await; // A driver that has ended does not hear it.
    }

    /// Reads what the database remembers of new parts, all at once, so that their
    /// order of arrival is kept.
    async fn lead(&mut self) -> Result<(), StoreFailure> {
        if self.to_lead.is_empty() {
            return Ok(());
        }
        let parts: Vec<Partition> = self.to_lead.keys().copied().collect();
        let read = async { self.desk().await?.rows(&parts).await };
        // A long line takes longer than a heartbeat may.
        let read = tokio::time::timeout(2 * PATIENCE, read).await;
        if let Some((queue, accounts)) = self.query.receive(read)? {
            let numbers = std::mem::take(&mut self.to_lead);
            self.report(PartitionNews::Lead(numbers, queue, accounts)).await;
        }
        Ok(())
    }

    /// The membership table, over the connection for questions.
    async fn desk(&mut self) -> Result<Desk<'_>, StoreFailure> {
        let database = self.query.database.clone();
        let desk = Desk { database, client: self.query.client().await?, member: &self.member };
        if !self.joined {
            desk.join().await?;
            self.joined = true;
        }
        Ok(desk)
    }

    async fn ask(&mut self, output: Output) -> Result<Input, StoreFailure> {
        let desk = self.desk().await?;
        Ok(match output {
            Output::Take(claims) => {
                let taken = desk.take(&claims).await?;
                let parts = taken.keys().copied().collect();
                self.taken = taken;
                Input::Taken(parts)
            }
            Output::Free(parts) => {
                desk.free(&parts).await?;
                Input::Freed(parts)
            }
            _ => Input::Seen(desk.look().await?),
        })
    }
}

impl Attends for PartitionLoop {
    type Engine = Division;

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn engine(&mut self) -> &mut Division {
        &mut self.division
    }

    fn note(&self, event: &Event) {
        let site = &self.query.database;
        match event {
            Event::Came { at } => tracing::info!("{at} is in the site of {site}"),
            Event::Went { at, why } => tracing::warn!("{at} is gone from the site: {why}"),
            Event::Lost { part } => tracing::info!("part {} is led by another servent", part.0),
        }
    }

    async fn carry_out(&mut self, output: Output) -> Result<Option<Input>, StoreFailure> {
        match output {
            Output::Divide(leaders) => self.report(PartitionNews::Divide(leaders)).await,
            Output::Lead(parts) => {
                let numbers = std::mem::take(&mut self.taken);
                self.to_lead.extend(numbers.into_iter().filter(|(part, _)| parts.contains(part)));
            }
            Output::Hush(parts) => {
                self.to_lead.retain(|part, _| !parts.contains(part));
                self.report(PartitionNews::Hush(parts)).await;
            }
            // Its last wish: it wants to be run no more.
            Output::Yield => {}
            Output::Leave => {
                let left = async { self.desk().await?.leave().await };
                if let Ok(Err(why)) = tokio::time::timeout(PATIENCE, left).await {
                    tracing::info!("the others do not hear that this servent goes: {why}");
                }
            }
            Output::Look | Output::Take(_) | Output::Free(_) => {
                let answer = tokio::time::timeout(PATIENCE, self.ask(output)).await;
                return Ok(Some(self.query.receive(answer)?.unwrap_or(Input::Away)));
            }
        }
        Ok(None)
    }
}
