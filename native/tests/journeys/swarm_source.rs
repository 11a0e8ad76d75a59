//! `swarm serve` of a file that changes or goes, and `swarm get` of another
//! one than is served.

use std::time::Duration;

use crate::program::{Place, complains, noise, pause};
use crate::swarm_program::{client, coordinator, number, url};

/// Two clients are under way when something happens to the file.
fn ends_with_a_sentence(what: impl Fn(&Place)) {
    let place = Place::new();
    let slow = ["--upload-rate", "100k"];
    let (mut server, _) = coordinator(&place, 3_000_000, "127.0.0.1:0", &slow);
    let mut clients = ["a", "b"].map(|name| client(&place, server.at, name, &[]));
    for client in &mut clients {
        while number(&client.event("progress"), "pieces") == 0 {}
    }
    // Its time of change has a granularity.
    pause(Duration::from_millis(20));
    what(&place);
    for client in &mut clients {
        assert_eq!(client.ended().code(), Some(9), "it was told");
    }
    assert!(!place.path("a").exists() && !place.path("b").exists());
    assert_eq!(server.ended().code(), Some(4), "nothing is left to give");
}

#[test]
fn a_source_whose_file_changes_says_so_to_every_client() {
    ends_with_a_sentence(|place| {
        std::fs::write(place.path("film.mkv"), noise(3_000_000).split_off(1)).unwrap();
    });
}

#[test]
fn a_source_whose_file_goes_says_so_to_every_client() {
    ends_with_a_sentence(|place| std::fs::remove_file(place.path("film.mkv")).unwrap());
}

#[test]
fn the_sentence_names_the_file_and_what_became_of_it() {
    let place = Place::new();
    let (server, _) = coordinator(&place, 300_000, "127.0.0.1:0", &[]);
    std::fs::remove_file(place.path("film.mkv")).unwrap();
    let url = url(server.at);
    let get = ["swarm", "get", &url, "-o", "a", "--state", "c", "--listen", "127.0.0.1:0"];
    complains(&place.run(&get), 9, "film.mkv is not given any more");
}

#[test]
fn another_file_than_was_asked_for_is_refused_before_a_byte_of_it_comes() {
    let place = Place::new();
    let (server, _) = coordinator(&place, 3_000_000, "127.0.0.1:0", &["--upload-rate", "10k"]);
    let (url, wrong) = (url(server.at), "0".repeat(64));
    let fixed = ["swarm", "get", &url, "-o", "x", "--sha256", &wrong, "--listen", "127.0.0.1:0"];
    // At this rate all of it would take five minutes.
    complains(&place.run(&fixed), 5, "is not the file asked for");
    assert!(!place.path("x").exists() && !place.path("x.part").exists());
}
