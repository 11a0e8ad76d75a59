//! Shared files that change a moment before they are asked for.

use crate::program::{Place, Wire, noise};

/// The tag of an answer, its length and its bytes.
fn answer(wire: &mut Wire, target: &str) -> (Option<String>, usize, Vec<u8>) {
    let reply = wire.get(target, &[]);
    assert_eq!(reply.status, 200, "{target}: {reply:?}");
    let length = reply.header("content-length").unwrap().parse().unwrap();
    (reply.header("etag").map(str::to_owned), length, reply.body)
}

#[test]
fn a_file_is_announced_as_it_is_when_it_is_asked_for() {
    let place = Place::new();
    let (folder, bytes) = place.share("song.ogg", 5_000);
    let running = place.sharing(&[]);
    let mut wire = Wire::connect(running.at);
    let (mut tag, length, body) = answer(&mut wire, "/shared/song.ogg");
    assert_eq!((length, body == bytes), (5_000, true));
    for size in [7_000, 0, 3_000, 3_000] {
        let bytes = noise(size)[..].iter().map(|byte| byte ^ 1).collect::<Vec<_>>();
        std::fs::write(folder.join("song.ogg"), &bytes).unwrap();
        // The folder is looked at 0.2 s after a change: these come sooner.
        let (now, length, body) = answer(&mut wire, "/shared/song.ogg");
        assert_eq!(length, size);
        assert!(body == bytes, "other bytes");
        assert_ne!(now, tag, "the same tag for another file");
        tag = now;
    }
    // What the client has is not the same any more; the number leads there, too.
    std::fs::write(folder.join("song.ogg"), "new").unwrap();
    let condition = format!("If-None-Match: {}", tag.unwrap());
    let reply = wire.get("/get/0/song.ogg", &[&condition]);
    assert_eq!((reply.status, &reply.body[..]), (200, &b"new"[..]));
}

#[test]
fn a_file_that_is_gone_is_not_found_and_comes_back() {
    let place = Place::new();
    let (folder, bytes) = place.share("song.ogg", 5_000);
    let running = place.sharing(&[]);
    let mut wire = Wire::connect(running.at);
    std::fs::rename(folder.join("song.ogg"), place.path("aside")).unwrap();
    assert_eq!(wire.get("/shared/song.ogg", &[]).status, 404);
    // Back before the folder was looked at: nothing has changed there.
    std::fs::rename(place.path("aside"), folder.join("song.ogg")).unwrap();
    crate::program::until("it is shared again", || {
        let reply = Wire::connect(running.at).get("/shared/song.ogg", &[]);
        reply.status == 200 && reply.body == bytes
    });
}
