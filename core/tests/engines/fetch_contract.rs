//! The contract every engine keeps, put to the two engines that download: a
//! place at one server, and all downloads.

use crate::contract;
use crate::fetch_support;

use contract::{Step, keeps_the_contract};
use fetch_support::{FETCH, GOOD, LIMITS, LOCAL, addr, get, id};
use proptest::prelude::*;
use servent_core::fetch::{self, DialError, Fetches, StoreError};
use servent_core::id::{ConnId, Sha1, Tth};
use servent_core::queue::Dialect;
use servent_core::queue::client::{self, QueueClient};
use servent_core::thex::Tree;
use servent_core::time::Duration;
use servent_core::wire::http::ResponseHead;
use servent_core::wire::queue::QueueReply;
use servent_core::wire::thex;

fn head(kind: u8, n: u64) -> ResponseHead {
    let text = match kind % 6 {
        0 => format!("200 OK\r\nContent-Length: {n}"),
        1 => format!(
            "206 OK\r\nX-Thex-URI: /t;{}\r\nContent-Range: bytes 0-{n}/{}",
            tree(1).root(),
            n * 2 + 1
        ),
        2 => format!("503 Q\r\nX-Queue: position=1,pollMin={n},pollMax={}", n / 2),
        3 => format!("503 Q\r\nX-Queued: ID={}\r\nRetry-After: {n}", id()),
        4 => format!("416 No\r\nContent-Range: bytes */{n}"),
        _ => format!("503 Busy\r\nX-Alt: 80.3.0.{}\r\nRetry-After: {n}", n % 256),
    };
    let text = format!("HTTP/1.1 {text}\r\n\r\n");
    ResponseHead::parse(text.as_bytes(), &LIMITS).unwrap().unwrap().0
}

/// The hash tree of a file of so many bytes.
fn tree(size: u64) -> Tree {
    Tree::new(size, vec![Tth([7; 24])]).unwrap()
}

fn after() -> impl Strategy<Value = Duration> {
    (0..200_000_000_u64).prop_map(Duration::from_micros)
}

fn client_input() -> impl Strategy<Value = client::Input> {
    use client::Input as I;
    prop_oneof![
        Just(I::Want),
        Just(I::Rest),
        Just(I::Called),
        Just(I::AskNow),
        Just(I::Woke),
        Just(I::Served(Some(id()))),
        Just(I::Served(None)),
        (0..100_000_000_u64).prop_map(|us| I::Broken(Duration::from_micros(us))),
        (0..100_000_000_u64).prop_map(|us| I::Sleep(Duration::from_micros(us))),
        (0..6_u8, 0..700_u64).prop_map(|(kind, n)| match QueueReply::parse(&head(kind, n)) {
            QueueReply::Place(place) => I::Told(place),
            QueueReply::Busy { retry_after } => I::Busy(retry_after),
        }),
    ]
}

fn fetch_input() -> impl Strategy<Value = fetch::Input> {
    use fetch::Input as I;
    let conn = || (0..12_u64).prop_map(|n| ConnId(n * 4 + 1));
    prop_oneof![
        1 => Just(I::Woke),
        1 => Just(I::Get(get(Some(GOOD), &["80.1.1.1:6346", "80.2.2.2:6346"]))),
        4 => conn().prop_map(|conn| I::Dialed { conn, local: LOCAL }),
        1 => conn().prop_map(|conn| I::DialFailed { conn, why: DialError::Refused }),
        4 => (conn(), 0..6_u8, 0..5_000_u64)
            .prop_map(|(conn, kind, n)| I::Head { conn, head: head(kind, n) }),
        2 => (conn(), 0..6_000_u64).prop_map(|(conn, bytes)| I::Stored { conn, bytes }),
        3 => (conn(), any::<bool>()).prop_map(|(conn, good)| {
            let data = if good { thex::write(&tree(1)) } else { vec![1, 2, 3] };
            I::Collected { conn, data }
        }),
        2 => (0..3_u8).prop_map(|kind| {
            let tth = [None, Some(Tth([7; 24])), Some(Tth([8; 24]))][usize::from(kind)];
            I::Hashed { fetch: FETCH, start: 0, tth }
        }),
        1 => conn().prop_map(|conn| I::Closed { conn }),
        1 => conn().prop_map(|conn| I::Garbage { conn }),
        1 => conn().prop_map(|conn| I::DiskFailed { conn, why: StoreError::Full }),
        1 => any::<bool>().prop_map(|good| {
            I::Verified { fetch: FETCH, sha1: Some(if good { GOOD } else { Sha1([1; 20]) }) }
        }),
        1 => (0..9_u64).prop_map(|n| I::Called {
            conn: ConnId(n * 2), peer: addr("80.1.1.1:9"), ticket: id(), server: None,
        }),
        1 => Just(I::AskNow { fetch: FETCH }),
        1 => Just(I::Pause { fetch: FETCH }),
        1 => Just(I::GoOn { fetch: FETCH }),
        1 => Just(I::Cancel { fetch: FETCH }),
    ]
}

fn steps<I: std::fmt::Debug>(
    input: impl Strategy<Value = I>,
) -> impl Strategy<Value = Vec<Step<I>>> {
    let step = (after(), input).prop_map(|(after, input)| Step { after, input });
    prop::collection::vec(step, 0..40)
}

proptest! {
    #[test]
    fn a_place_at_a_server_keeps_the_contract(steps in steps(client_input())) {
        keeps_the_contract(|| QueueClient::new(client::Config::default()), &steps, 4);
    }

    #[test]
    fn downloads_keep_the_contract(steps in steps(fetch_input())) {
        let build = || {
            let config = fetch::Config { chunk: 500, ..fetch::Config::default() };
            Fetches::new(config, "Servent/test".into(), Dialect::Parq)
        };
        keeps_the_contract(build, &steps, 400);
    }
}
