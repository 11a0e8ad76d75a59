//! A neighbour that floods: what becomes of its neighbours' routes, and what
//! its flood costs.

use core::net::{Ipv4Addr, SocketAddrV4};

use servent_core::engine::{Effect, Engine as _};
use servent_core::id::{ConnId, FileIndex, Guid};
use servent_core::rng::Rng;
use servent_core::routing::{Config, Input, Output};
use servent_core::wire::gnutella::{
    HitBuilder, MessageBody, OverlayMessage, Quality, Query, Wishes,
};

use super::{begin, release, router};
use crate::measure::now;
use crate::report::{Report, Target};

/// Honest queries that wait for answers.
const HONEST: u64 = 10_000;

pub(crate) fn run(report: &mut Report, quick: bool) {
    let flood = if quick { 200_000 } else { 1_000_000 };
    let (mut router, mut fx) = router(Config::default());
    let mut dice = Rng::new(31);
    let honest: Vec<Guid> = (0..HONEST).map(|_| Guid(dice.bytes())).collect();
    let query = Query::new(Wishes::default(), "some words of a title", &[]);
    let ask =
        |guid| OverlayMessage { guid, ttl: 4, hops: 2, body: MessageBody::Query(query.clone()) };
    for guid in &honest {
        let input = Input::Message { conn: ConnId(0), message: ask(*guid) };
        router.handle(begin(), input, &mut fx);
        release(&mut router, &mut fx);
    }
    let began = now();
    for n in 0..flood {
        let input = Input::Message { conn: ConnId(7), message: ask(Guid(dice.bytes())) };
        router.handle(begin(), input, &mut fx);
        fx.drain().for_each(drop);
        if n % 64 == 0 {
            release(&mut router, &mut fx);
        }
    }
    let rate = f64::from(flood) / began.elapsed().as_secs_f64();
    let mut left = 0.0;
    for (n, guid) in honest.iter().enumerate() {
        let at = SocketAddrV4::new(Ipv4Addr::new(80, 0, 2, 1), 6_346);
        let servent = Guid([n as u8; 16]);
        let mut hit = HitBuilder::new(at, 1, (*b"TEST", Quality::default()), servent, 4_096);
        assert!(hit.add(FileIndex(1), 1, &format!("some words of a title {n}"), None));
        let body = MessageBody::Hit(hit.finish().expect("a file"));
        let message = OverlayMessage { guid: *guid, ttl: 4, hops: 1, body };
        router.handle(begin(), Input::Message { conn: ConnId(3), message }, &mut fx);
        let back = |effect: Effect<Output, _>| matches!(effect, Effect::Output(Output::Send { to, .. }) if to == [ConnId(0)]);
        left += fx.drain().filter_map(|effect| back(effect).then_some(1.0)).sum::<f64>();
        release(&mut router, &mut fx);
    }
    let case = format!("routes of {HONEST} honest queries left after a flood of {flood}");
    report.add(("routing", case, "routes"), left, ("", None), &Target::AtLeast(HONEST as f64));
    let kilobytes = router.table_bytes() as f64 / 1_024.0;
    let case = "all tables after that".to_owned();
    report.add(("routing", case, "KiB"), kilobytes, ("", None), &Target::AtMost(16_384.0));
    let case = "queries of the flooder looked at".to_owned();
    report.add(("routing", case, "1/s"), rate, ("", None), &Target::None);
}
