//! Five routers in a line, joined by lists instead of sockets: the first searches, the
//! last one has the file, and the hit finds its way back by what each remembers (RT-2).

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use servent_core::engine::{Engine, Fx};
use servent_core::id::{ConnId, FileIndex, Guid};
use servent_core::rng::Rng;
use servent_core::routing::{Config, Event, Input, Neighbour, Output, Router};
use servent_core::time::Instant;
use servent_core::wire::gnutella::{HitBuilder, Quality, Query, Wishes};

const ROUTERS: usize = 5;
const LEFT: ConnId = ConnId(0);
const RIGHT: ConnId = ConnId(2);

pub(crate) fn main() {
    let now = Instant::from_secs(1_000);
    let router = |seed| Router::new(Config::default(), Rng::new(seed));
    let mut routers: Vec<Router> = (0..ROUTERS as u64).map(router).collect();
    // What each is told, in order: which router, and what happened.
    let mut todo: VecDeque<(usize, Input)> = VecDeque::new();
    for at in 0..ROUTERS {
        let sides = [(LEFT, at.checked_sub(1)), (RIGHT, Some(at + 1).filter(|it| *it < ROUTERS))];
        for (conn, other) in sides {
            let Some(other) = other else { continue };
            let peer = SocketAddr::from((Ipv4Addr::new(192, 0, 2, other as u8 + 1), 6346));
            let neighbour = Neighbour { relays: true, ..Neighbour::default() };
            todo.push_back((at, Input::Opened { conn, peer, neighbour }));
        }
    }
    let query = Query::new(Wishes::default(), "blue moon", &[]);
    todo.push_back((0, Input::Search { guid: Guid([7; 16]), query }));

    let (mut fx, mut hops) = (Fx::<Output, Event>::new(), None);
    while let Some((at, input)) = todo.pop_front() {
        routers[at].handle(now, input, &mut fx);
        let outputs: Vec<Output> = fx.outputs().cloned().collect();
        fx.drain().for_each(drop);
        for output in outputs {
            match output {
                Output::Send { to, message } => {
                    for conn in to {
                        let (other, back) =
                            if conn == LEFT { (at - 1, RIGHT) } else { (at + 1, LEFT) };
                        println!(
                            "{at} to {other}: {:?}, hops {}",
                            message.body.kind(),
                            message.hops
                        );
                        todo.push_back((
                            other,
                            Input::Message { conn: back, message: message.clone() },
                        ));
                    }
                }
                Output::Query { guid, hops, .. } if at == ROUTERS - 1 => {
                    let at = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 5), 6346);
                    let about = (*b"EXAM", Quality::default());
                    let mut hit = HitBuilder::new(at, 1_000, about, Guid([5; 16]), 4_096);
                    assert!(hit.add(FileIndex(1), 3_000_000, "blue moon.ogg", None));
                    let hit = hit.finish().expect("one file");
                    todo.push_back((ROUTERS - 1, Input::Answer { guid, hops, hit }));
                }
                Output::Hit { hops: far, .. } => hops = Some(far),
                _ => {}
            }
        }
    }
    assert_eq!(hops, Some(ROUTERS as u8 - 2));
    println!("the hit came back over {} others", ROUTERS - 2);
}
