//! The router: messages a second, what a GUID costs, and what a flood does.

mod flood;
mod stream;
mod table;

use crate::report::Report;

/// Everything about the router.
pub(crate) fn run(report: &mut Report, quick: bool) {
    report.note("the router");
    stream::run(report, quick);
    table::run(report, quick);
    flood::run(report, quick);
}

use core::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use servent_core::engine::{Engine as _, Fx};
use servent_core::id::{ConnId, Guid};
use servent_core::rng::Rng;
use servent_core::routing::{Config, Event, Input, Neighbour, Output, Router};
use servent_core::time::Instant;

/// Neighbours of the router under measurement.
pub(crate) const NEIGHBOURS: u64 = 8;

pub(crate) type Effects = Fx<Output, Event>;

/// When everything happens.
pub(crate) const fn begin() -> Instant {
    Instant::from_secs(1_000)
}

/// A router with neighbours, ready for messages.
pub(crate) fn router(config: Config) -> (Router, Effects) {
    let mut router = Router::new(config, Rng::new(1));
    let mut fx = Fx::new();
    let ourselves = Input::Ourselves {
        servent: Guid([1; 16]),
        listen: Some(SocketAddrV4::new(Ipv4Addr::new(80, 0, 0, 1), 6_346)),
        files: 10,
        kilobytes: 10,
    };
    router.handle(begin(), ourselves, &mut fx);
    for n in 0..NEIGHBOURS {
        let peer = SocketAddr::from(([80, 0, 1, n as u8], 6_346));
        let neighbour = Neighbour { relays: true, bye: true, ggep: true, ..Neighbour::default() };
        router.handle(begin(), Input::Opened { conn: ConnId(n), peer, neighbour }, &mut fx);
    }
    release(&mut router, &mut fx);
    (router, fx)
}

/// The host has written everything.
pub(crate) fn release(router: &mut Router, fx: &mut Effects) {
    for n in 0..NEIGHBOURS {
        router.handle(begin(), Input::Backlog { conn: ConnId(n), bytes: 0 }, fx);
    }
    fx.drain().for_each(drop);
}
