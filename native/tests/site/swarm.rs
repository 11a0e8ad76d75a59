//! A coordinator that keeps its ledger in a database.

use crate::members::Site;
use crate::program::{assert_same, free_port};
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
    crate::program::until("the ledger is kept", || site.server.sql(&site.url, ledger) != "0");
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
