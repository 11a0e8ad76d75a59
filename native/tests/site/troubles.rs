//! What happens to a database while a member leads: each trouble has one clear
//! sentence, and nothing is promised that is not kept.

use std::path::Path;

use crate::members::Site;
use crate::postgres::Postgres;
use crate::program::until;

/// The lines of a log with these words.
pub(crate) fn said(log: &Path, words: &str) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap();
    text.lines().filter(|line| line.contains(words)).map(str::to_owned).collect()
}

#[test]
fn st_7_a_database_whose_disk_is_full_promises_nothing_until_there_is_room() {
    let Some(server) = Postgres::start_on_a_disk_of(192) else { return };
    let site = Site::with(server);
    let one = site.member("one");
    let (_leading, log) = site.logs(&one, "hashed");
    let _holder = one.occupy();
    let told = one.place(None, &[]);
    let make_room = site.server.fill_disk();
    // What is left of the pages that are there is still used.
    let mut kept = Vec::new();
    let refused = loop {
        let (wire, reply) = one.ask(None, &[]);
        match crate::members::Told::from_reply(wire, &reply) {
            Some(place) => kept.push(place),
            None => break reply,
        }
        assert!(kept.len() < 2_000, "its disk is never full");
    };
    assert_eq!((refused.status, refused.header("x-queued")), (503, None), "{refused:?}");
    assert!(refused.header("retry-after").is_some(), "{refused:?}");
    assert_eq!(one.ready(), 503);
    assert_eq!(one.ask(Some(&told), &[]).1.header("x-queued"), None);
    let sentence = said(&log, "its disk is full");
    assert_eq!(sentence.len(), 1, "it is said once: {sentence:?}");
    make_room();
    until("it resumes", || one.ready() == 200);
    for place in kept.iter().chain([&told]) {
        assert_eq!(one.place(Some(place), &[]).key(), place.key());
    }
    assert_eq!(said(&log, "is back").len(), 1);
}

/// A newer program has migrated the tables while this one leads and another one
/// stands by: both say so and end, and write nothing into what they do not know.
#[test]
fn st_1_tables_that_become_a_newer_programs_are_left_alone_by_the_leader() {
    let Some(site) = Site::new() else { return };
    let (one, two) = (site.member("one"), site.member("two"));
    let (mut leading, log) = site.logs(&one, "hashed");
    let _holder = one.occupy();
    one.place(None, &[]);
    let (mut standing, other) = site.logs(&two, "standby");
    let rows = "SELECT count(*) || ' ' || max(fence) FROM servent.rows, servent.lease";
    let before = site.server.sql(
        &site.url,
        &format!("UPDATE servent.meta SET value = '99' WHERE key = 'schema'; {rows}"),
    );
    for (running, log) in [(&mut leading, &log), (&mut standing, &other)] {
        assert_eq!(running.ended().code(), Some(8));
        assert_eq!(said(log, "use the newer program").len(), 1);
    }
    assert_eq!(site.server.sql(&site.url, rows), before);
}
