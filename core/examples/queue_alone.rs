//! The upload queue without a node: one slot, two clients, and a clock of our
//! own. Nothing here needs an operating system; a server that already speaks
//! HTTP puts this behind its own requests.

use std::net::IpAddr;

use servent_core::engine::{Effect, Engine, Fx};
use servent_core::id::{ConnId, FileKey, Guid};
use servent_core::queue::server::{Input, Output, QueueRequest, QueueServer, QueueVerdict};
use servent_core::queue::{Config, Dialect, Event};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};

type Effects = Fx<Output, Event>;

pub(crate) fn main() {
    let config = Config { slots: 1, ..Config::default() };
    let mut queue = QueueServer::new(config, Rng::new(42));
    let mut fx = Fx::new();
    let mut now = Instant::from_secs(1_000);
    let (alice, bob) = (ConnId(0), ConnId(2));

    // The slot is free: Alice is served.
    let first = ask(&mut queue, now, request(alice, [192, 0, 2, 1], None), &mut fx);
    assert!(matches!(first, QueueVerdict::Start { .. }), "{first:?}");
    println!("alice is served");

    // It is taken: Bob gets a place, and hears when he may ask again.
    let second = ask(&mut queue, now, request(bob, [192, 0, 2, 2], None), &mut fx);
    let QueueVerdict::Wait(place) = second else { panic!("{second:?}") };
    println!("bob waits at {place:?}");

    // Alice has her file. The slot is free, and kept for Bob.
    now += Duration::from_secs(10);
    queue.handle(now, Input::Finished { conn: alice, last: true }, &mut fx);
    fx.drain().for_each(drop);
    println!("alice is done; free slots: {}", queue.free());

    // Time passes until Bob may ask. A host sleeps; we only say so.
    let ask_at = now + place.retry_after;
    while let Some((due, timer)) = queue.poll_timeout().filter(|(due, _)| *due <= ask_at) {
        println!("timer {timer} at {due:?}");
        queue.handle_timeout(due, &mut fx);
        fx.drain().for_each(drop);
    }

    // He does, and it is his turn.
    let third = ask(&mut queue, ask_at, request(bob, [192, 0, 2, 2], Some(place.ticket)), &mut fx);
    assert!(matches!(third, QueueVerdict::Start { .. }), "{third:?}");
    println!("bob is served; the line is {} long", queue.length());
}

/// A request in PARQ for the one file we have.
fn request(conn: ConnId, peer: [u8; 4], ticket: Option<Guid>) -> QueueRequest {
    QueueRequest {
        conn,
        peer: IpAddr::from(peer),
        dialect: Dialect::Parq,
        file: FileKey(7),
        bytes: 1_000_000,
        rest: 0,
        ticket,
        told: None,
        callback: None,
        waits: false,
        sleeps: false,
    }
}

/// Gives the queue a request; what became of it.
fn ask(
    queue: &mut QueueServer,
    now: Instant,
    request: QueueRequest,
    fx: &mut Effects,
) -> QueueVerdict {
    queue.handle(now, Input::Request(request), fx);
    let mut verdict = None;
    for effect in fx.drain() {
        match effect {
            Effect::Output(Output::Reply { verdict: said, .. }) => verdict = Some(said),
            // A place is written to the store before it is told.
            Effect::Output(Output::Save(row)) => {
                println!("  to the store: {:?} of {}", row.state, row.peer);
            }
            Effect::Output(other) => println!("  to do: {other:?}"),
            Effect::Event(event) => println!("  event: {event:?}"),
        }
    }
    verdict.expect("a request is always answered")
}
