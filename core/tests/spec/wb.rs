//! The browser: what the queue and the downloads do for a servent that sleeps.
//! Each test is named after the requirement it holds us to.

use crate::fetch_support;
use crate::queue_support;

use fetch_support::{Desk, FETCH, ID, LOCAL, get};
use queue_support::{Bench, Client, config, secs};
use servent_core::fetch::{self, DialError};
use servent_core::queue::Dialect::{Active, Parq, Parq11, Passive};
use servent_core::queue::client::PlaceLoss;
use servent_core::queue::server::Input;
use servent_core::queue::{Config, PositionLoss, QueuePolicy};
use servent_core::wire::http::{HeadLimits, HeadWriter, RequestHead, ResponseHead};
use servent_core::wire::queue::{QueueReply, sleeps, write_place, write_sleeps};

const A: &str = "80.1.1.1:6346";
const LIMITS: HeadLimits = HeadLimits { bytes: 4_096, lines: 64 };

/// A client that says that it may sleep, with a place.
fn sleeper(bench: &mut Bench) -> Client {
    let mut client = bench.client(Parq);
    client.sleeps = true;
    bench.ask(&mut client).place();
    client
}

#[test]
fn wb_7_only_a_client_that_may_sleep_is_told_windows_wider_than_a_minute() {
    for policy in [QueuePolicy::Text, QueuePolicy::Adaptive] {
        for dialect in [Active, Parq, Parq11, Passive] {
            let mut bench = Bench::new(Config { policy, bandwidth: 100, ..config(1) });
            bench.upload(Parq);
            for position in 1..=40 {
                let [native, tab] = [false, true].map(|sleeps| {
                    let mut bench = bench.clone();
                    let mut client = bench.client(dialect);
                    (client.sleeps, client.bytes) = (sleeps, 1_000_000);
                    bench.ask(&mut client).place()
                });
                assert_eq!(
                    tab.retry_after, native.retry_after,
                    "{policy:?} {dialect:?} {position}"
                );
                let width = tab.lifetime.as_secs() - tab.retry_after.as_secs();
                assert!(width > 60, "{policy:?} {dialect:?} {position}: {width}");
                assert!(tab.lifetime >= native.lifetime);
                if position > 20 && dialect == Parq && policy == QueuePolicy::Text {
                    assert_eq!((native.lifetime, tab.lifetime), (secs(660), secs(780)));
                }
                let mut next = bench.client(Parq);
                next.bytes = 1_000_000;
                bench.ask(&mut next).place();
            }
        }
    }
}

#[test]
fn wb_7_a_client_that_may_sleep_comes_back_to_its_place_however_often_its_socket_dies() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let mut tab = sleeper(&mut bench);
    for _ in 0..10 {
        bench.gone(&tab);
        bench.pass(secs(299));
        tab.conn = bench.conn();
        assert_eq!(bench.ask(&mut tab).place().position, 1);
    }
    let mut native = bench.queue(Parq);
    for _ in 0..2 {
        bench.gone(&native);
        native.conn = bench.conn();
        bench.ask(&mut native);
    }
    assert_eq!(bench.lost(), [PositionLoss::BrokeTooOften], "only who does not sleep");
}

#[test]
fn wb_7_a_client_that_comes_too_late_is_told_once_why_its_place_is_gone() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let mut tab = sleeper(&mut bench);
    let mut stranger = bench.queue(Parq);
    bench.pass(secs(1_000));
    assert_eq!(bench.lost(), [PositionLoss::Overdue, PositionLoss::Overdue]);
    assert_eq!(bench.ask(&mut tab).place().lost, Some(PositionLoss::Overdue));
    bench.pass(secs(60));
    assert_eq!(bench.ask(&mut tab).place().lost, None, "it has a place");
    assert_eq!(bench.ask(&mut stranger).place().lost, None, "it announced nothing");
}

#[test]
fn wb_7_what_is_said_about_sleep_and_losses_is_read_back() {
    let mut head = HeadWriter::request("GET", "/get/1/a");
    write_sleeps(&mut head);
    let (head, _) = RequestHead::parse(&head.finish(), &LIMITS).unwrap().unwrap();
    assert!(sleeps(&head.headers));
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let (_, got) = bench.arrive(Parq);
    let mut place = got.place();
    place.lost = Some(PositionLoss::Unreachable);
    let mut head = HeadWriter::status(503, "Queued");
    write_place(&mut head, &place);
    let (head, _) = ResponseHead::parse(&head.finish(), &LIMITS).unwrap().unwrap();
    let QueueReply::Place(told) = QueueReply::parse(&head) else { panic!("no place") };
    assert_eq!((told.lost, told.ticket), (Some(PositionLoss::Unreachable), Some(place.ticket)));
}

#[test]
fn wb_5_a_client_that_waits_is_told_by_another_rule_from_now_on() {
    let mut bench = Bench::new(Config { bandwidth: 1_000, ..config(1) });
    let mut first = bench.client(Parq);
    first.bytes = 40_000;
    bench.ask(&mut first);
    let mut waits = bench.client(Parq);
    assert_eq!(bench.ask(&mut waits).place().retry_after, secs(30), "by its position");
    bench.input(Input::Policy(QueuePolicy::Adaptive));
    assert_eq!(bench.server.view(1, 1, bench.now).policy, QueuePolicy::Adaptive);
    bench.pass(secs(30));
    let told = bench.ask(&mut waits).place().retry_after;
    assert!(told < secs(30), "by what was measured: {told:?}");
    assert_eq!(bench.lost(), [], "the times told before still hold");
}

/// A place that keeps its connection.
fn told(position: u32, id: &str, more: &str) -> String {
    format!(
        "HTTP/1.1 503 Queued\nX-Queue: 1.0\nContent-Length: 0\nRetry-After: 30\n\
         X-Queued: position={position}; length=40; lifetime=300; ID={id}{more}"
    )
}

#[test]
fn wb_7_a_page_that_slept_asks_at_once_and_never_before_it_may() {
    let mut desk = Desk::getting(None, &[A]);
    let first = desk.connect();
    desk.reply(first.conn, &told(3, ID, ""));
    desk.secs(20);
    desk.input(fetch::Input::Closed { conn: first.conn });
    desk.input(fetch::Input::Woke);
    assert_eq!(desk.dials().len(), 1, "20 of 30 s");
    desk.secs(12);
    // The network is away: each failure puts off the next attempt for longer.
    for failure in 0..4 {
        let (dials, last) = (desk.dials().len(), *desk.dials().last().unwrap());
        desk.input(fetch::Input::DialFailed { conn: last.0, why: DialError::Unreachable });
        while failure < 3 && desk.dials().len() == dials {
            desk.secs(1);
        }
    }
    let before = desk.dials().len();
    desk.secs(1);
    assert_eq!(desk.dials().len(), before, "it waits for longer and longer");
    desk.input(fetch::Input::Woke);
    assert_eq!(desk.dials().len(), before + 1, "at once");
    let (conn, _) = *desk.dials().last().unwrap();
    desk.input(fetch::Input::Dialed { conn, local: LOCAL });
    assert_eq!(desk.last().header("X-Queued").unwrap(), format!("position=3; ID={ID}"));
}

#[test]
fn wb_7_a_servent_says_that_it_sleeps_and_learns_why_its_place_is_gone() {
    let mut config = fetch::Config::default();
    config.place.sleeps = true;
    let mut desk = Desk::new(config, Parq);
    desk.input(fetch::Input::Get(get(None, &[A])));
    let first = desk.connect();
    assert!(first.head.headers.lists("X-Features", "sleep/1.0"));
    desk.reply(first.conn, &told(3, ID, ""));
    desk.secs(32);
    let other = ID.replace(|c: char| c.is_ascii_digit(), "7");
    desk.reply(first.conn, &told(9, &other, "; lost=overdue"));
    let why = desk.events.iter().find_map(|event| match event {
        fetch::Event::PlaceLost { fetch: FETCH, why, .. } => Some(*why),
        _ => None,
    });
    assert_eq!(why, Some(PlaceLoss::Overdue));
    let source = |desk: &Desk| desk.fetches.view()[0].sources[0].clone();
    let now = source(&desk);
    assert_eq!((now.position, now.lost), (Some(9), Some(PlaceLoss::Overdue)));
    desk.secs(32);
    desk.serve(first.conn, 0, 10, 10);
    assert_eq!(source(&desk).lost, None, "that is over");
}
