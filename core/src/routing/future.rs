//! What a router's future depends on, for exploration: two routers that print the
//! same here behave the same. Counters are no part of it, nor is the order in
//! which a table was filled.

use core::fmt::{self, Debug, Formatter};

use super::Router;
use super::links::NeighbourLink;

/// All that a router's future depends on besides its configuration.
#[derive(Clone, Copy)]
pub struct RouterFuture<'a>(&'a Router);

impl Router {
    /// All that its future depends on besides its configuration.
    #[must_use]
    #[doc(hidden)]
    pub const fn future(&self) -> RouterFuture<'_> {
        RouterFuture(self)
    }
}

impl Debug for RouterFuture<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let router = self.0;
        for (_, table) in router.tables() {
            write!(f, "{:?}", table.future())?;
        }
        f.debug_list().entries(router.links.iter().map(future_of)).finish()?;
        write!(f, "{:?}{:?}", router.links.used, router.links.paces)?;
        let Router { rng, targets, searches, deepenings, agenda, .. } = router;
        write!(f, "{rng:?}{targets:?}{searches:?}{deepenings:?}{agenda:?}")?;
        write!(f, "{:?}", (router.leaves_changed, router.told_leaves))
    }
}

/// A neighbour, without what only counts.
fn future_of(link: &NeighbourLink) -> impl Debug + '_ {
    let known =
        (&link.conn, &link.route, &link.flow, &link.keywords, &link.hops_flow, link.dialed_back);
    let proxies = (&link.proxied, &link.proxy);
    let pings = (&link.pongs, &link.pinged, &link.pongs_due, &link.answered);
    (known, proxies, pings, (&link.heard, &link.took, &link.strikes, &link.told))
}
