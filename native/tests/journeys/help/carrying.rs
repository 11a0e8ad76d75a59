//! Sending and receiving, to one and to several, and swarms.

use super::{CARRYING, Stage};
use crate::machines::{World, code_in, sends, stop};
use crate::program::terminal::{INTERRUPT, Terminal};
use crate::program::{Running, assert_same};

#[test]
fn examples_of_sending_receiving_and_swarms() {
    let Some(world) = World::new() else { return };
    let mut stage = Stage::new(&world, &CARRYING);
    for at in [&stage.here, &stage.there] {
        for (name, size) in [("song.ogg", 50_000), ("docs/read.txt", 900), ("photos/a.jpg", 9_000)]
        {
            at.has(name, size);
        }
        for (name, size) in [("a.txt", 10), ("big", 400_000), ("film.mkv", 500_000)] {
            at.has(name, size);
        }
        at.has("pub/song.ogg", 1_000);
    }
    recorded(&mut stage);
    asked(&mut stage);
    unasked(&mut stage);
    piped(&mut stage);
    met(&mut stage);
    several(&world, &mut stage);
    swarms(&mut stage);
    stage.examples.end();
}

fn recorded(stage: &mut Stage) {
    let line = stage.says("servent share pub --trace run.sqlog");
    stop(stage.here.starts(&line, "hashed"));
    assert!(stage.does("servent replay run.sqlog").starts_with("verified "));
    stage.does("servent replay run.sqlog --json");
}

/// A receiver starts there; the code that is shown.
fn receives(stage: &mut Stage, line: &str) -> (Terminal, Running, String) {
    let line = stage.says(line);
    let (mut terminal, receiver) = stage.there.sits(&format!("exec {line}"));
    let code = code_in(&terminal.shows("give it"));
    (terminal, receiver, code)
}

fn over((mut terminal, receiver): (Terminal, Running)) {
    terminal.types(INTERRUPT);
    assert_eq!(receiver.end().code(), Some(0));
}

/// The receiver is asked, and says yes.
fn asked(stage: &mut Stage) {
    let (mut theirs, receiver, code) = receives(stage, "servent receive -o inbox/");
    for line in [
        "servent send 10.0.0.7 song.ogg",
        "servent send 10.0.0.7 docs/ photos/ a.txt",
        "servent send 10.0.0.7 big --trace s.sqlog",
        "servent send --wait 10.0.0.7 song.ogg",
    ] {
        let line = stage.says(line);
        let sender = sends(&stage.here, &line, &code);
        theirs.shows("[y/N]");
        theirs.types("y\n");
        assert_eq!(sender.end().code(), Some(0), "{line}");
    }
    over((theirs, receiver));
    assert!(stage.there.file("inbox/docs/read.txt").exists());
    assert!(stage.here.does("servent replay s.sqlog").starts_with("verified "));

    let line = stage.says("SERVENT_CODE=ocean-pepper-violin servent receive -o inbox/");
    stage.there.does("rm -r inbox");
    let (mut theirs, receiver) = stage.there.sits(&format!("exec env {line}"));
    theirs.shows("servent send");
    let line = stage.says("SERVENT_CODE=ocean-pepper-violin servent send 10.0.0.7 song.ogg");
    let sender = stage.here.begins(&mut stage.here.shell(&line));
    theirs.shows("[y/N]");
    theirs.types("y\n");
    stage.here.ends(&line, sender);
    over((theirs, receiver));
    assert!(stage.there.file("inbox/song.ogg").exists());
}

/// No person is asked, or there is only one file to come.
fn unasked(stage: &mut Stage) {
    let (theirs, receiver, code) = receives(stage, "servent receive -o inbox/ --yes");
    stage.there.does("rm inbox/song.ogg");
    let line = stage.says("servent send 10.0.0.7 song.ogg --trace t.sqlog");
    assert_eq!(sends(&stage.here, &line, &code).end().code(), Some(0));
    over((theirs, receiver));
    assert!(stage.there.file("inbox/song.ogg").exists());

    for line in [
        "servent receive -o song.ogg",
        "servent receive -o inbox/ --loss 5%",
        "servent receive --lab 127.0.0.1:0 -o inbox/",
    ] {
        stage.there.does("rm song.ogg inbox/song.ogg || true");
        let (mut theirs, receiver, code) = receives(stage, line);
        let sender = sends(&stage.here, "servent send 10.0.0.7 song.ogg", &code);
        theirs.shows("[y/N]");
        theirs.types("y\n");
        assert_eq!(sender.end().code(), Some(0), "{line}");
        if !line.contains("inbox") {
            assert_eq!(receiver.end().code(), Some(0));
            continue;
        }
        over((theirs, receiver));
    }

    let line = stage.says("servent receive -o inbox/ --open --yes");
    let receiver = stage.here.starts(&format!("{line} 2>&1"), "servent send");
    for line in [
        "servent send 127.0.0.1 big --open --loss 5%",
        "servent send 127.0.0.1 big --open --loss 5% --profile unicast3",
    ] {
        stage.does(line);
        assert_same(&stage.here.file("inbox/big"), &crate::program::noise(400_000));
        std::fs::remove_file(stage.here.file("inbox/big")).unwrap();
    }
    stop(receiver);
}

fn piped(stage: &mut Stage) {
    std::fs::remove_dir_all(stage.there.file("docs")).unwrap();
    let line = stage.says("tar c docs | servent send 10.0.0.7:7000");
    let (mut theirs, receiver) = stage.there.sits("servent receive --listen :7000 | tar x");
    let sender = sends(&stage.here, &line, &code_in(&theirs.shows("give it")));
    theirs.shows("[y/N]");
    theirs.types("y\n");
    assert_eq!((sender.end().code(), receiver.end().code()), (Some(0), Some(0)));
    assert!(stage.there.file("docs/read.txt").exists());

    let line = stage.says("servent receive --listen 127.0.0.1:7000 | tar x");
    let (mut theirs, receiver) = stage.there.sits(&line);
    let code = code_in(&theirs.shows("give it"));
    let sender = sends(&stage.there, "tar c photos | servent send 127.0.0.1:7000", &code);
    theirs.shows("[y/N]");
    theirs.types("y\n");
    assert_eq!((sender.end().code(), receiver.end().code()), (Some(0), Some(0)));
}

/// The receiver is found through a meeting place.
fn met(stage: &mut Stage) {
    for (line, until) in
        [("servent meet --relay 2M", "passes on"), ("servent meet --json", "listening")]
    {
        let line = stage.says(line);
        stop(stage.there.starts(&format!("{line} 2>&1"), until));
    }
    let line = stage.says("servent meet");
    let place = stage.there.starts(&format!("{line} 2>&1"), "meeting place");
    assert!(stage.does("servent doctor --via place.example.org").contains("no router"));
    let told = stage.does("servent doctor --via place.example.org --json");
    assert!(told.contains("\"mapping\":\"none\""), "{told}");
    let line = stage.says("servent send --via place.example.org song.ogg");
    carries_a_song(stage, "servent receive --via place.example.org -o inbox/", &line);
    several_at_place(stage);
    stop(place);
    near(stage);
}

/// A sender that its receivers find through the meeting place, by the link that it shows.
fn several_at_place(stage: &mut Stage) {
    let line = stage.says("servent send --to 3 --via place.example.org film.mkv");
    let line = line.replace("--to 3", "--to 1");
    let each = stage.says("servent receive --from meet://CODE@place.example.org -o inbox/");
    let (mut theirs, sender) = stage.there.sits(&line);
    let shown = theirs.shows("-o inbox/");
    let link = shown.split_whitespace().find(|word| word.starts_with("meet://")).unwrap();
    let each = each.replace("meet://CODE@place.example.org", link);
    let (mut ours, receiver) = stage.here.sits(&each);
    ours.shows("[y/N]");
    ours.types("y\n");
    assert_eq!((sender.end().code(), receiver.end().code()), (Some(0), Some(0)));
    assert!(stage.here.file("inbox/film.mkv").exists());
    stage.here.does("rm -rf inbox");
}

/// The receiver is found in the local network, by the code alone.
fn near(stage: &mut Stage) {
    // Multicast is not repaired: a first answer may be lost.
    let line = stage.says("servent send song.ogg").replace("send", "send --wait=60s");
    carries_a_song(stage, "servent receive --lan -o inbox/", &line);
}

/// A receiver is started by its example and asked, and a song arrives there.
fn carries_a_song(stage: &mut Stage, receive: &str, send: &str) {
    stage.there.does("rm -rf inbox");
    let (mut theirs, receiver, code) = receives(stage, receive);
    let sender = sends(&stage.here, send, &code);
    theirs.shows("[y/N]");
    theirs.types("y\n");
    assert_eq!(sender.end().code(), Some(0));
    assert!(stage.there.file("inbox/song.ogg").exists());
    over((theirs, receiver));
}

fn several(world: &World, stage: &mut Stage) {
    let (line, each) = (
        stage.says("servent send --to 3 film.mkv photos/"),
        stage.says("servent receive --from 10.0.0.7 -o inbox/"),
    );
    let (mut theirs, sender) = stage.there.sits(&line);
    let code = code_in(&theirs.shows("give it"));
    let all = ["here", "second", "third"].map(|name| world.machine(name, stage.here.pid));
    let receiving = all.each_ref().map(|one| {
        let (mut terminal, running) = one.sits(&each);
        terminal.shows("shows: ");
        terminal.types(&format!("{code}\n"));
        terminal.shows("[y/N]");
        terminal.types("y\n");
        (terminal, running)
    });
    assert_eq!(sender.end().code(), Some(0));
    for (one, (_terminal, running)) in all.iter().zip(receiving) {
        assert_eq!(running.end().code(), Some(0));
        assert!(one.file("inbox/film.mkv").exists() && one.file("inbox/photos/a.jpg").exists());
    }
}

fn swarms(stage: &mut Stage) {
    let film = std::fs::read(stage.there.file("film.mkv")).unwrap();
    std::fs::copy(stage.there.file("big"), stage.there.file("a")).unwrap();
    std::fs::copy(stage.there.file("big"), stage.there.file("b")).unwrap();
    let line = stage.says("servent swarm serve film.mkv");
    let serving = stage.there.starts(&line, "pdtp://");
    let fresh = |stage: &Stage| std::fs::remove_file(stage.here.file("film.mkv")).unwrap();
    fresh(stage);
    stage.does("servent swarm get pdtp://10.0.0.7/film.mkv");
    assert_same(&stage.here.file("film.mkv"), &film);
    for line in [
        "servent swarm get pdtp://10.0.0.7/film.mkv --seed-for 10m",
        "servent swarm get pdtp://10.0.0.7/film.mkv --passive --upload-rate 500k",
        "servent swarm get pdtp://host:7000/film.mkv -o film.mkv --seed-for 10m",
    ] {
        fresh(stage);
        let line = stage.says(line).replace("host:7000", "10.0.0.7:6086");
        if line.contains("--seed-for") {
            stop(stage.here.starts(&line, "film.mkv"));
        } else {
            stage.here.does(&line);
        }
        assert_same(&stage.here.file("film.mkv"), &film);
    }
    stop(serving);
    std::fs::create_dir(stage.there.file("course")).unwrap();
    std::fs::copy(stage.there.file("a.txt"), stage.there.file("course/a.txt")).unwrap();
    let line = stage.says("servent swarm serve course/");
    let serving = stage.there.starts(&line, "pdtp://");
    stage.does("servent swarm get pdtp://10.0.0.7/course/");
    assert!(stage.here.file("course/a.txt").exists());
    stage.does("servent swarm get pdtp://10.0.0.7/course/ -o lessons/");
    assert!(stage.here.file("lessons/course/a.txt").exists());
    stop(serving);
    for (line, until) in [
        ("servent swarm serve a b --listen :7000 --slots 8 --upload-rate 2M", "pdtp://"),
        ("servent swarm serve film.mkv --metrics 127.0.0.1:9100", "metrics at"),
        ("servent swarm serve film.mkv --lab 127.0.0.1:0", "lab http://"),
    ] {
        let line = stage.says(line);
        stop(stage.there.starts(&format!("{line} 2>&1"), until));
    }
}
