//! Redirects of one source: how many are followed, and what a cookie changes.

use crate::fetch_support;

use fetch_support::{Desk, FETCH, addr};
use servent_core::fetch::{DownloadSource, Event, FetchAnswer, Input, SourceTrouble};

const A: &str = "80.1.1.1:6346";

/// The server answers the next request with that head, and the host resolves where it
/// leads: a path of the same server.
fn redirected(desk: &mut Desk, head: &str) {
    let asked = desk.connect();
    desk.reply(asked.conn, &format!("HTTP/1.1 {head}\nContent-Length: 0"));
    let answers = desk.answers();
    let Some(FetchAnswer::Moved { from, to, .. }) = answers.last() else { return };
    let target = DownloadSource { at: addr(A), target: to.clone(), host: from.host.clone() };
    let from = from.clone();
    desk.input(Input::Moved { fetch: FETCH, from, to: Some(target) });
}

fn lost(desk: &Desk) -> Option<SourceTrouble> {
    desk.events.iter().find_map(|event| match event {
        Event::SourceLost { why, .. } => Some(*why),
        _ => None,
    })
}

#[test]
fn the_same_address_is_asked_again_when_a_cookie_is_new() {
    let mut desk = Desk::getting(None, &[A]);
    redirected(&mut desk, "302 Found\nSet-Cookie: sid=7\nLocation: /ck");
    redirected(&mut desk, "302 Found\nSet-Cookie: sid=8\nLocation: /ck");
    let asked = desk.connect();
    assert_eq!((asked.head.target.as_str(), asked.header("Cookie")), ("/ck", Some("sid=8")));
    redirected(&mut desk, "302 Found\nSet-Cookie: sid=8\nLocation: /ck");
    assert_eq!(lost(&desk), Some(SourceTrouble::Circle), "the cookie was known");
}

#[test]
fn ten_redirects_in_a_row_are_followed_and_no_more() {
    let mut desk = Desk::getting(None, &[A]);
    for n in 1..=10 {
        redirected(&mut desk, &format!("302 Found\nSet-Cookie: n={n}\nLocation: /{n}"));
        assert_eq!(lost(&desk), None, "{n}");
    }
    redirected(&mut desk, "302 Found\nLocation: /11");
    assert_eq!(lost(&desk), Some(SourceTrouble::Redirects));
}
