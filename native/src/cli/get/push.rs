//! Asking a servent behind a firewall to connect to us (push).

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use servent::driver::Handle;
use servent_core::id::FetchId;
use servent_core::node::{FetchCommand, NodeCommand, OverlayCommand};
use tokio::time::Instant;

use super::source::PushFrom;
use crate::cli::search;
use crate::exit::{Exit, Failure};

/// Time between two pushes: longer than the interval at which others obey them.
const EVERY: Duration = Duration::from_secs(8);
/// Time to the next one when there was no route: a neighbour may be connecting.
const SOON: Duration = Duration::from_millis(500);
/// How long pushes are sent: two, and the second is waited for a little longer.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long one that can perhaps be reached is tried before.
const LATER: Duration = Duration::from_secs(3);

/// The pushes of one download; most need none.
pub(crate) struct Pushing {
    /// Those that are asked; the next one comes first.
    routes: VecDeque<PushRoute>,
    direct: bool,
    pub(crate) fetch: Option<FetchId>,
    next: Instant,
    until: Instant,
}

/// How one servent is asked to connect to us.
struct PushRoute {
    from: PushFrom,
    /// The neighbour that knows the route.
    via: Option<SocketAddr>,
    /// Its push proxies; the next one to ask comes first.
    proxies: Vec<SocketAddr>,
}

impl Pushing {
    /// `direct`: there are sources to ask without a push.
    pub(crate) fn new<'a>(from: impl Iterator<Item = &'a PushFrom>, direct: bool) -> Self {
        let now = Instant::now() + if direct { LATER } else { Duration::ZERO };
        let route =
            |from: &PushFrom| PushRoute { from: from.clone(), via: None, proxies: Vec::new() };
        let routes = from.map(route).collect();
        Self { routes, direct, fetch: None, next: now, until: now + PATIENCE }
    }

    /// Connects to the neighbours that know the routes.
    pub(crate) async fn join(&mut self, handle: &Handle) -> Result<(), Failure> {
        for PushRoute { from, via, proxies } in &mut self.routes {
            for at in search::peers(std::slice::from_ref(&from.peer)).await? {
                *via = Some(at);
                handle.command(NodeCommand::Overlay(OverlayCommand::Join { at })).await?;
            }
            for proxy in &from.proxies {
                // One that cannot be resolved is skipped; there are others.
                let found = search::peers(std::slice::from_ref(proxy)).await;
                proxies.extend(found.unwrap_or_default());
            }
        }
        Ok(())
    }

    /// There was no route just now.
    pub(crate) fn soon(&mut self) {
        self.next = self.next.min(Instant::now() + SOON);
    }

    /// Why nothing came: only servents that were to connect were asked.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let first = self.routes.front().filter(|_| !self.direct)?;
        let asked = "asked to connect to us, and";
        let what = match self.routes.len() {
            1 => format!("{} behind a firewall was {asked} did not", first.from.servent),
            n => format!("{n} servents behind firewalls were {asked} none did"),
        };
        let what = format!("{what} within {} s", PATIENCE.as_secs());
        Some(Failure::new(Exit::Network, what).next(
            "perhaps we cannot be reached either: open a port here and name it with --listen, or ask another source",
        ))
    }

    /// True while a push may still lead to a connection.
    pub(crate) fn may_help(&self) -> bool {
        !self.routes.is_empty() && Instant::now() < self.until
    }

    /// Sends a push when it is time to: to each of them so often as to one alone.
    pub(crate) async fn ask(&mut self, handle: &Handle) -> Result<(), Failure> {
        let now = Instant::now();
        let Some(fetch) = self.fetch.filter(|_| now >= self.next && now < self.until) else {
            return Ok(());
        };
        let each = EVERY / u32::try_from(self.routes.len().max(1)).unwrap_or(1);
        let Some(PushRoute { from, via, proxies }) = self.routes.front_mut() else { return Ok(()) };
        self.next = now + each;
        let (servent, index, via) = (from.servent, from.index, *via);
        handle
            .command(NodeCommand::Fetch(FetchCommand::ExpectGiv { fetch, servent, index }))
            .await?;
        let asked = proxies.clone();
        // If this one does not help, another one is asked next.
        let next = proxies.len().min(1);
        proxies.rotate_left(next);
        let ask = OverlayCommand::AskPush { servent, index, via, proxies: asked };
        handle.command(NodeCommand::Overlay(ask)).await?;
        self.routes.rotate_left(1);
        Ok(())
    }
}
