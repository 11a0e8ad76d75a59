//! A turn of the adaptive queue is so many bytes, not one file.

use crate::queue_support;

use queue_support::{Bench, Client, Got, config, secs};
use servent_core::id::FileKey;
use servent_core::queue::Dialect::{Active, Parq, Passive};
use servent_core::queue::server::Input;
use servent_core::queue::{Config, Dialect, Event, QueuePolicy};

const KIB: u64 = 1 << 10;

fn adaptive(slots: u32) -> Config {
    Config { policy: QueuePolicy::Adaptive, ..config(slots) }
}

/// Asks for the next file on the connection there is.
fn next_file(bench: &mut Bench, client: &mut Client, bytes: u64) -> Got {
    (client.file, client.bytes) = (FileKey(client.file.0 + 1), bytes);
    (client.ticket, client.told) = (None, None);
    bench.ask(client)
}

/// A client that had a file, and is in the slot with the second on the same
/// connection.
fn collector(bench: &mut Bench, dialect: Dialect) -> Client {
    let mut client = bench.upload(dialect);
    bench.finish(&client);
    assert_eq!(next_file(bench, &mut client, 100 * KIB), Got::Slot);
    client
}

#[test]
fn qa_7_small_files_on_one_connection_share_a_turn_while_others_wait() {
    for dialect in [Active, Parq, Passive] {
        let mut bench = Bench::new(adaptive(1));
        let mut client = collector(&mut bench, dialect);
        let mut waiting = bench.queue(Parq);
        let mut files = 1;
        loop {
            bench.finish(&client);
            if next_file(&mut bench, &mut client, 100 * KIB) != Got::Slot {
                break;
            }
            files += 1;
        }
        assert_eq!(files, 40, "4 MiB of files of 100 KiB");
        assert_eq!(bench.position(&client), 2, "the next turn is one of its own");
        bench.pass(secs(30));
        assert_eq!(bench.ask(&mut waiting), Got::Slot);
    }
}

#[test]
fn qa_7_a_file_that_does_not_fit_belongs_to_the_next_turn() {
    let mut bench = Bench::new(adaptive(1));
    let mut client = collector(&mut bench, Parq);
    bench.queue(Parq);
    bench.finish(&client);
    next_file(&mut bench, &mut client, 4_000 * KIB).place();
    assert_eq!(bench.position(&client), 2);
}

#[test]
fn qa_7_a_turn_ends_with_its_time() {
    let mut bench = Bench::new(adaptive(1));
    let mut client = collector(&mut bench, Parq);
    bench.queue(Passive);
    bench.pass(secs(30));
    bench.finish(&client);
    next_file(&mut bench, &mut client, KIB).place();
}

#[test]
fn qa_7_the_slot_waits_half_a_second_for_the_next_file_and_not_for_a_client_that_hangs_up() {
    for hangs_up in [false, true] {
        let mut bench = Bench::new(adaptive(1));
        let client = collector(&mut bench, Parq);
        let mut waiting = bench.client(Parq);
        waiting.waits = true;
        let begun = |bench: &Bench| {
            let starts = |e: &&Event| matches!(e, Event::Started { .. });
            bench.events.iter().filter(starts).count()
        };
        bench.input(Input::Request(waiting.request()));
        let before = begun(&bench);
        bench.finish(&client);
        if hangs_up {
            bench.gone(&client);
        } else {
            bench.pass(servent_core::time::Duration::from_millis(499));
            assert_eq!(begun(&bench), before);
            bench.pass(servent_core::time::Duration::from_millis(1 + 100));
        }
        assert_eq!(begun(&bench), before + 1);
    }
}

#[test]
fn qa_7_a_client_that_takes_one_file_keeps_no_other_waiting() {
    let mut bench = Bench::new(adaptive(1));
    let client = bench.upload(Parq);
    bench.queue(Passive);
    bench.finish(&client);
    assert_eq!(bench.server.free(), 1);
}

#[test]
fn qa_7_the_text_counts_files() {
    let mut bench = Bench::new(config(1));
    let mut client = collector(&mut bench, Parq);
    bench.queue(Parq);
    bench.finish(&client);
    assert_eq!(bench.server.free(), 1);
    next_file(&mut bench, &mut client, KIB).place();
}
