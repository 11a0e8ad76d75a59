//! The adaptive policy of the upload queue: told times follow what is
//! measured, and what is told is true.

use crate::queue_support;

use queue_support::{Bench, Client, config, secs};
use servent_core::queue::Dialect::{Active, Parq, Parq11, Passive};
use servent_core::queue::server::Input;
use servent_core::queue::{Config, Policy};

fn adaptive(slots: u32) -> Config {
    Config { policy: Policy::Adaptive, ..config(slots) }
}

/// Somebody in a slot who gets `bytes`.
fn uploading(bench: &mut Bench, bytes: u64) -> Client {
    let mut client = bench.client(Parq);
    client.bytes = bytes;
    bench.ask(&mut client);
    client
}

/// `seconds` in which a client gets so many bytes each second.
fn run(bench: &mut Bench, client: &Client, from: u64, seconds: u64, rate: u64) {
    for second in 1..=seconds {
        bench.pass(secs(1));
        bench.input(Input::Progress { conn: client.conn, bytes: from + second * rate });
    }
}

#[test]
fn qa_1_a_window_follows_the_expected_time_and_is_never_longer_than_the_texts() {
    let mut bench = Bench::new(Config { bandwidth: 1_000, ..adaptive(1) });
    uploading(&mut bench, 20_000);
    let told =
        |place: servent_core::queue::Place| (place.retry_after.as_secs(), place.lifetime.as_secs());
    assert_eq!(told(bench.arrive(Active).1.place()), (10, 85));
    assert_eq!(told(bench.arrive(Parq).1.place()), (11, 300));
    assert_eq!(told(bench.arrive(Passive).1.place()), (11, 300));
    let mut far = bench.client(Parq11);
    far.bytes = 1_000_000;
    assert_eq!(told(bench.ask(&mut far).place()), (12, 300));
    assert_eq!(told(bench.arrive(Parq).1.place()), (110, 300), "as in the text");
    assert_eq!(told(bench.arrive(Active).1.place()), (135, 360), "as in the text");
}

#[test]
fn qa_1_every_poll_comes_closer_to_the_slot_down_to_a_floor() {
    let mut bench = Bench::new(Config { bandwidth: 1_000, ..adaptive(1) });
    let running = uploading(&mut bench, 40_000);
    let mut head = bench.queue(Parq);
    let mut told = Vec::new();
    let mut sent = 0;
    for wait in [20, 10, 5, 3, 1, 1] {
        run(&mut bench, &running, sent * 1_000, wait, 1_000);
        sent += wait;
        told.push(bench.ask(&mut head).place().retry_after.as_secs());
    }
    assert_eq!((sent, told), (40, vec![10, 5, 3, 1, 1, 1]));
    let passive = bench.arrive(Passive).1.place();
    assert_eq!(passive.retry_after.as_secs(), 5, "whoever connects anew is spared");
}

#[test]
fn qa_1_nobody_is_punished_for_a_time_it_was_not_told() {
    let mut bench = Bench::new(Config { bandwidth: 1_000, ..adaptive(1) });
    uploading(&mut bench, 10_000);
    let mut clients: Vec<_> =
        [Active, Parq, Passive].map(|d| (bench.client(d), bench.now)).into_iter().collect();
    for _ in 0..60 {
        let (client, due) = clients.iter_mut().min_by_key(|(_, due)| *due).unwrap();
        bench.pass(due.since(bench.now));
        *due = bench.now + bench.ask(client).place().retry_after;
    }
    assert_eq!(bench.lost(), []);
}

#[test]
fn qa_5_the_rate_is_measured_and_the_running_uploads_count_as_far_as_they_are() {
    let mut bench = Bench::new(adaptive(1));
    let running = uploading(&mut bench, 100_000);
    assert_eq!(bench.arrive(Parq).1.place().eta, None, "nothing is measured yet");
    run(&mut bench, &running, 0, 10, 5_000);
    for (bytes, expected) in [(25_000, 11), (5_000, 16), (5_000, 17)] {
        let mut client = bench.client(Parq);
        client.bytes = bytes;
        assert_eq!(bench.ask(&mut client).place().eta, Some(secs(expected)));
    }
}

#[test]
fn qa_5_with_several_slots_the_estimate_is_of_the_one_that_falls_free_first() {
    let mut bench = Bench::new(Config { bandwidth: 2_000, ..adaptive(2) });
    uploading(&mut bench, 4_000);
    uploading(&mut bench, 30_000);
    let mut told = Vec::new();
    for bytes in [6_000, 50_000, 1_000] {
        let mut client = bench.client(Parq);
        client.bytes = bytes;
        told.push(bench.ask(&mut client).place().eta.unwrap().as_secs());
    }
    // The first slot at 4 s and, after 6 s of the next, at 10 s; the other at 30 s.
    assert_eq!(told, [4, 10, 30]);
}

#[test]
fn qa_5_a_held_slot_counts_with_the_time_it_is_held() {
    let mut bench = Bench::new(Config { bandwidth: 1_000, ..config(1) });
    let owner = uploading(&mut bench, 50_000);
    bench.input(Input::Broken { conn: owner.conn });
    bench.pass(secs(100));
    assert_eq!(bench.arrive(Passive).1.place().eta, Some(secs(200)));
}
