//! A host that did not run for a while, and says so.

use crate::node_support;

use node_support::{Host, config, status, var};
use servent_core::node::{ConnInput, Input, NodeCommand};
use servent_core::time::{Duration, Instant};

const PQ: &str = "X-Queue: 1.0\r\n";

#[test]
fn wb_7_a_client_that_waits_for_a_host_that_slept_keeps_its_place() {
    for (slept, kept) in [(Duration::from_secs(900), true), (Duration::ZERO, false)] {
        let mut config = config();
        config.limits.reader_rate = 0;
        let mut host = Host::new(config, &[100_000]);
        host.stalled = true;
        let (_, reply) = host.ask("9.9.9.1:1", PQ);
        assert_eq!(status(&reply), 200, "the only slot is taken");
        let (conn, told) = host.ask("9.9.9.2:1", PQ);
        host.input(Input::Connection(conn, ConnInput::Closed));
        // Nothing runs for a quarter of an hour, and then the host says so.
        host.now += Duration::from_secs(900);
        host.input(Input::Command(NodeCommand::Woke { slept }));
        host.wait(Duration::from_secs(1));
        let claim = format!(
            "{PQ}X-Queued: position={}; ID={}\r\n",
            var(&told, "position"),
            var(&told, "ID")
        );
        let (_, again) = host.ask("9.9.9.2:1", &claim);
        assert_eq!(var(&again, "ID") == var(&told, "ID"), kept, "{slept:?}\n{again}");
    }
}

#[test]
fn wb_7_what_is_dated_follows_a_clock_that_was_set_and_places_stay() {
    let mut config = config();
    config.limits.reader_rate = 0;
    let mut host = Host::new(config, &[100_000]);
    host.stalled = true;
    host.ask("9.9.9.1:1", PQ);
    let (conn, told) = host.ask("9.9.9.2:1", PQ);
    host.input(Input::Connection(conn, ConnInput::Closed));
    for (at, date) in [
        (784_111_777, "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"),
        (784_108_177, "Date: Sun, 06 Nov 1994 07:49:37 GMT\r\n"),
    ] {
        let at = Instant::from_secs(at);
        host.input(Input::Command(NodeCommand::Wall { at }));
        let (_, other) = host.ask("9.9.9.3:1", "");
        assert!(other.contains(date), "{other}");
    }
    host.wait(Duration::from_secs(40));
    let position = var(&told, "position");
    let claim = format!("{PQ}X-Queued: position={position}; ID={}\r\n", var(&told, "ID"));
    let (_, again) = host.ask("9.9.9.2:1", &claim);
    assert_eq!(var(&again, "ID"), var(&told, "ID"), "{again}");
}
