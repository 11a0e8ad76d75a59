//! Asking a servent behind a firewall to connect to us (push).

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
    from: Option<PushFrom>,
    direct: bool,
    /// The neighbour that knows the route.
    via: Option<SocketAddr>,
    /// Its push proxies; the next one to ask comes first.
    proxies: Vec<SocketAddr>,
    pub(crate) fetch: Option<FetchId>,
    next: Instant,
    until: Instant,
}

impl Pushing {
    /// `direct`: there are sources to ask without a push.
    pub(crate) fn new(from: Option<&PushFrom>, direct: bool) -> Self {
        let now = Instant::now() + if direct { LATER } else { Duration::ZERO };
        Self {
            from: from.cloned(),
            direct,
            via: None,
            proxies: Vec::new(),
            fetch: None,
            next: now,
            until: now + PATIENCE,
        }
    }

    /// Connects to the neighbour that knows the route.
    pub(crate) async fn join(&mut self, handle: &Handle) -> Result<(), Failure> {
        let Some(from) = &self.from else { return Ok(()) };
        for at in search::peers(std::slice::from_ref(&from.peer)).await? {
            self.via = Some(at);
            handle.command(NodeCommand::Overlay(OverlayCommand::Join { at })).await?;
        }
        for proxy in &from.proxies {
            // One that cannot be resolved is skipped; there are others.
            self.proxies
                .extend(search::peers(std::slice::from_ref(proxy)).await.unwrap_or_default());
        }
        Ok(())
    }

    /// There was no route just now.
    pub(crate) fn soon(&mut self) {
        self.next = self.next.min(Instant::now() + SOON);
    }

    /// Why nothing came: only the servent that was to connect was asked.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let from = self.from.as_ref().filter(|_| !self.direct)?;
        let what = format!(
            "{} behind a firewall was asked to connect to us, and did not within {} s",
            from.servent,
            PATIENCE.as_secs()
        );
        Some(Failure::new(Exit::Network, what).next(
            "perhaps we cannot be reached either: open a port here and name it with --listen, or ask another source",
        ))
    }

    /// True while a push may still lead to a connection.
    pub(crate) fn may_help(&self) -> bool {
        self.from.is_some() && Instant::now() < self.until
    }

    /// Sends a push when it is time to.
    pub(crate) async fn ask(&mut self, handle: &Handle) -> Result<(), Failure> {
        let (Some(from), Some(fetch)) = (&self.from, self.fetch) else { return Ok(()) };
        let now = Instant::now();
        if now < self.next || now >= self.until {
            return Ok(());
        }
        self.next = now + EVERY;
        let (servent, index) = (from.servent, from.index);
        handle
            .command(NodeCommand::Fetch(FetchCommand::ExpectGiv { fetch, servent, index }))
            .await?;
        let proxies = self.proxies.clone();
        handle
            .command(NodeCommand::Overlay(OverlayCommand::AskPush {
                servent,
                index,
                via: self.via,
                proxies,
            }))
            .await?;
        // If this one does not help, another one is asked next.
        let next = self.proxies.len().min(1);
        self.proxies.rotate_left(next);
        Ok(())
    }
}
