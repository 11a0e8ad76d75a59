//! A coordinator that keeps its ledger in a database.

use servent_core::swarm::LedgerRow;

use crate::members::Site;
use crate::program::{assert_same, free_port, until};
use crate::swarm_program::{client, coordinator};

#[test]
fn st_5_a_coordinator_that_dies_keeps_its_ledger_and_its_clients_go_on() {
    let Some(site) = Site::new() else { return };
    let at = format!("127.0.0.1:{}", free_port());
    let mut extra = vec!["--upload-rate", "200k", "--store", &site.url];
    extra.extend(["--set", "store_password_file=secret"]);
    let (server, bytes) = coordinator(&site.place, 1_500_000, &at, &extra);
    let mut clients = ["one", "two"].map(|name| client(&site.place, server.at, name, &[]));
    clients[0].event("progress");
    let ledger = "SELECT count(*) FROM servent.rows WHERE kind = 10";
    until("the ledger is kept", || site.server.sql(&site.url, ledger) != "0");
    server.kill();
    // The one that comes waits until the dead one's lease is over.
    let (again, _) = coordinator(&site.place, 1_500_000, &at, &extra);
    assert_ne!(site.server.sql(&site.url, ledger), "0");
    for (name, client) in ["one", "two"].iter().zip(&mut clients) {
        client.event("done");
        assert_same(&site.place.path(name), &bytes);
    }
    drop(again);
}

/// To take the next piece from a peer is no promise: a client in the swarm and
/// a client that comes go on, and what they gave and took is kept as soon as it can be.
#[test]
fn st_7_a_swarm_goes_on_while_the_database_of_its_coordinator_is_away() {
    let Some(site) = Site::new() else { return };
    let at = format!("127.0.0.1:{}", free_port());
    let mut extra = vec!["--upload-rate", "200k", "--store", &site.url];
    extra.extend(["--set", "store_password_file=secret"]);
    let (server, bytes) = coordinator(&site.place, 1_500_000, &at, &extra);
    let mut one = client(&site.place, server.at, "one", &[]);
    one.event("progress");
    // All clients have one address.
    let taken = || {
        let rows = "SELECT encode(value, 'hex') FROM servent.rows WHERE kind = 10";
        let row = site.server.sql(&site.url, rows);
        let row = data_encoding::HEXLOWER.decode(row.trim().as_bytes()).unwrap();
        if row.is_empty() { 0 } else { postcard::from_bytes::<LedgerRow>(&row).unwrap().bytes_down }
    };
    until("the ledger is kept", || taken() > 0);
    let before = taken();
    site.server.stop();
    let mut two = client(&site.place, server.at, "two", &[]);
    for (name, client) in [("one", &mut one), ("two", &mut two)] {
        client.event("done");
        assert_same(&site.place.path(name), &bytes);
    }
    site.server.start_again();
    // A client that came then has taken the whole file.
    until("what they gave and took is kept", || taken() >= before + bytes.len() as u64);
}
