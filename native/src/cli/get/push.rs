//! Asking a servent that cannot be reached to connect to us.

use std::net::SocketAddr;
use std::time::Duration;

use servent::driver::Handle;
use servent_core::id::FetchId;
use servent_core::node::Command;
use tokio::time::Instant;

use super::source::PushFrom;
use crate::cli::search;
use crate::exit::Failure;

/// Time between two pushes: fewer than anybody obeys.
const EVERY: Duration = Duration::from_secs(8);
/// Time to the next one when nobody knew the way: a neighbour may be coming.
const SOON: Duration = Duration::from_millis(500);
/// Nobody came in all this time: nobody will.
const PATIENCE: Duration = Duration::from_secs(60);

/// The pushes of one download; none for most.
pub(crate) struct Pushing {
    from: Option<PushFrom>,
    /// Where the way is known.
    via: Option<SocketAddr>,
    /// Who passes pushes on to it; whoever is asked next is the first.
    proxies: Vec<SocketAddr>,
    pub(crate) fetch: Option<FetchId>,
    next: Instant,
    until: Instant,
}

impl Pushing {
    pub(crate) fn new(from: Option<&PushFrom>) -> Self {
        let now = Instant::now();
        Self {
            from: from.cloned(),
            via: None,
            proxies: Vec::new(),
            fetch: None,
            next: now,
            until: now + PATIENCE,
        }
    }

    /// Joins the overlay where the way is known.
    pub(crate) async fn join(&mut self, handle: &Handle) -> Result<(), Failure> {
        let Some(from) = &self.from else { return Ok(()) };
        for at in search::peers(std::slice::from_ref(&from.peer)).await? {
            self.via = Some(at);
            handle.command(Command::Join { at }).await?;
        }
        for proxy in &from.proxies {
            // One that cannot be found is none; there are others.
            self.proxies
                .extend(search::peers(std::slice::from_ref(proxy)).await.unwrap_or_default());
        }
        Ok(())
    }

    /// Nobody knew the way just now.
    pub(crate) fn soon(&mut self) {
        self.next = self.next.min(Instant::now() + SOON);
    }

    /// True while a push may still bring somebody.
    pub(crate) fn may_help(&self) -> bool {
        self.from.is_some() && Instant::now() < self.until
    }

    /// Asks, when it is time to.
    pub(crate) async fn ask(&mut self, handle: &Handle) -> Result<(), Failure> {
        let (Some(from), Some(fetch)) = (&self.from, self.fetch) else { return Ok(()) };
        let now = Instant::now();
        if now < self.next || now >= self.until {
            return Ok(());
        }
        self.next = now + EVERY;
        let (servent, index) = (from.servent, from.index);
        handle.command(Command::ExpectGiv { fetch, servent, index }).await?;
        let proxies = self.proxies.clone();
        handle.command(Command::AskPush { servent, index, via: self.via, proxies }).await?;
        // Should nobody come, another one is asked first.
        let next = self.proxies.len().min(1);
        self.proxies.rotate_left(next);
        Ok(())
    }
}
