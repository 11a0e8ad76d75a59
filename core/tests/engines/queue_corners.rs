//! Rules of the upload queue that only show in a corner.

use crate::queue_support;

use std::net::SocketAddr;

use queue_support::{Bench, Client, config, secs};
use servent_core::engine::{Engine, Fx};
use servent_core::id::Guid;
use servent_core::queue::Dialect::{Active, Parq, Passive};
use servent_core::queue::client::{self, QueueClient as Asker};
use servent_core::queue::server::QueueLane;
use servent_core::queue::{Config, Event, PositionLoss};
use servent_core::time::{Duration, Instant};

/// A client that says where it can be called.
fn callable(bench: &mut Bench) -> Client {
    let mut client = bench.client(Parq);
    client.callback = Some(SocketAddr::new(client.peer, 6346));
    bench.ask(&mut client).place();
    client
}

fn lane(bench: &Bench, ticket: Guid) -> QueueLane {
    let view = bench.server.view(1, u32::MAX, bench.now);
    view.places.iter().find(|place| place.ticket == ticket).expect("it waits").lane
}

#[test]
fn a_connection_that_asks_for_another_place_gives_up_its_own() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let (active, mut parq) = (bench.queue(Active), bench.queue(Parq));
    bench.pass(secs(50));
    parq.conn = active.conn;
    assert_eq!(bench.ask(&mut parq).place().position, 1);
    assert_eq!((bench.lost(), bench.server.length()), (vec![PositionLoss::Replaced], 1));
}

#[test]
fn no_slot_is_reserved_for_a_client_that_is_late_and_called() {
    let mut bench = Bench::new(config(1));
    let running = bench.upload(Parq);
    let late = callable(&mut bench);
    bench.pass(secs(200));
    let waits = bench.queue(Parq);
    bench.pass(secs(110));
    bench.finish(&running);
    let of = |client: &Client| client.ticket.expect("PARQ names it");
    let entitled = Event::Entitled { ticket: of(&waits) };
    let called = bench.events.iter().any(
        |event| matches!(event, Event::Called { ticket, attempt: 1, .. } if *ticket == of(&late)),
    );
    assert!(called && bench.events.contains(&entitled));
    let lapsed = |event: &&Event| matches!(event, Event::Lapsed { .. });
    assert_eq!(bench.events.iter().find(lapsed), None, "no slot was reserved for it");
}

#[test]
fn a_place_without_a_connection_is_shown_as_such_until_it_is_late() {
    let mut bench = Bench::new(Config { sync_places: 0, ..config(1) });
    bench.upload(Parq);
    let client = bench.queue(Parq);
    let ticket = client.ticket.expect("PARQ names it");
    assert_eq!(lane(&bench, ticket), QueueLane::Async);
    bench.pass(secs(40));
    assert_eq!(lane(&bench, ticket), QueueLane::Async, "it may ask, and need not yet");
    let late = bench.now + secs(1_000);
    let view = bench.server.view(1, 1, late);
    assert_eq!(view.places[0].lane, QueueLane::Grace);
}

#[test]
fn a_client_of_a_queue_names_the_time_of_its_next_request() {
    let (mut asker, mut fx) = (Asker::new(client::Config::default()), Fx::new());
    let now = Instant::from_secs(1_000);
    assert_eq!(asker.poll_timeout(), None);
    asker.handle(now, client::Input::Busy(Some(secs(60))), &mut fx);
    assert_eq!(asker.poll_timeout(), Some((now + secs(60), "ask")));
    asker.handle_timeout(now + secs(60) - Duration::from_micros(1), &mut fx);
    assert!(fx.is_empty());
    asker.handle_timeout(now + secs(60), &mut fx);
    assert_eq!((fx.outputs().count(), asker.poll_timeout()), (1, None));
}

#[test]
fn a_reserved_slot_passes_on_at_the_very_deadline_of_its_claimant() {
    let mut bench = Bench::new(config(1));
    // The other timers tick in steps, which this is none of.
    bench.now += Duration::from_micros(37);
    let running = bench.upload(Parq);
    let first = bench.queue(Passive);
    bench.finish(&running);
    let view = bench.server.view(1, 1, bench.now);
    let (kept, told) = (view.kept[0], view.places[0].deadline);
    assert_eq!((kept.peer, kept.until), (first.peer, told));
    assert_eq!(bench.server.poll_timeout(), Some((told, "reserve")));
}

#[test]
fn where_clients_are_not_called_an_address_to_call_saves_no_place() {
    let mut bench = Bench::new(Config { calls: 0, ..config(1) });
    bench.upload(Parq);
    let mut late = callable(&mut bench);
    let deadline = bench.server.view(1, 1, bench.now).places[0].deadline;
    bench.now = deadline + Duration::from_micros(1);
    bench.ask(&mut late).place();
    assert_eq!(bench.lost(), [PositionLoss::Overdue]);
}
