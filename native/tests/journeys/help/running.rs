//! Servents that run, and what is done with them meanwhile.

use super::{RUNNING, Stage};
use crate::machines::{World, stop};

#[test]
fn examples_of_what_runs_until_it_is_stopped() {
    let Some(world) = World::new() else { return };
    let mut stage = Stage::new(&world, &RUNNING);
    for folder in ["a", "b", "pub", "../Music", "../Films"] {
        stage.here.has(&format!("{folder}/song.ogg"), 10_000);
    }
    std::fs::write(stage.here.file("secret"), "nobody knows\n").unwrap();
    attended(&mut stage);
    shared(&mut stage);
    rooms(&mut stage);
    demos(&mut stage);
    stage.examples.end();
}

/// What is done while a servent runs here, and another one.
fn attended(stage: &mut Stage) {
    let line = stage.says("servent share ~/Music");
    let share = stage.here.starts(&line, "hashed");
    let line = stage.says("servent share pub --state /tmp/two --listen 127.0.0.1:0");
    let second = stage.here.starts(&line, "hashed");
    for line in ["servent status", "servent status --state /tmp/two"] {
        assert!(stage.does(line).contains("slots"), "{line}");
    }
    let line = stage.says("servent status --watch");
    stop(stage.here.starts(&line, "slots"));
    assert_eq!(stage.does("servent status --json | jq '.servents[0].view.queue.length'"), "0\n");

    let serves = |stage: &Stage, path: &str| {
        let url = format!("http://127.0.0.1:6346/{path}");
        stage.here.does(&format!("until curl -sf {url} -o got; do sleep 0.1; done"));
    };
    stage.does("servent add ~/Films");
    serves(stage, "Films/song.ogg");
    stage.does("servent remove ~/Films");
    stage
        .here
        .does("while curl -sf http://127.0.0.1:6346/Films/song.ogg -o got; do sleep 0.1; done");
    stage.all(&["servent add ~/Films --state /tmp/two", "servent remove ~/Films --state /tmp/two"]);
    stage.here.does("cp pub/song.ogg fresh.ogg && mv fresh.ogg song.ogg");
    stage.does("cp song.ogg ~/Music && servent rescan");
    serves(stage, "Music/song.ogg");
    stage.does("servent rescan --state /tmp/two");
    stage.does("servent state export backup.redb");
    stop(second);
    stop(share);
    stage.here.does("rm -r tmp/two ~/.local/state/servent");
    let two = "servent state import backup.redb --state /tmp/two";
    stage.all(&["servent state import backup.redb", two]);
}

fn shared(stage: &mut Stage) {
    let plain = [
        "servent share a b --slots 2 --listen :7000",
        "servent share pub --lan",
        "servent share pub --meet place.example.org",
        "servent share pub --place --relay 2M",
        "servent share pub --trace run.sqlog",
    ];
    for line in plain {
        let line = stage.says(line);
        stop(stage.here.starts(&line, "hashed"));
    }
    assert!(stage.here.does("servent replay run.sqlog").starts_with("verified "));

    stage.there.has("pub/other.ogg", 1_000);
    let other = stage.there.starts("servent share pub --lab off", "hashed");
    let line = stage.says("servent share pub --peer 10.0.0.7:6346");
    let share = stage.here.starts(&line, "hashed");
    stage.here.does("until servent status | grep -q 'neighbours 1'; do sleep 0.1; done");
    stop(share);
    stop(other);

    let secret = "servent share pub --tls-self-made --user ann --password-file secret";
    for (line, curl) in [
        ("servent share pub --access-log access.log", "http://127.0.0.1:6346/"),
        ("servent share pub --accept inbox", "-T a/song.ogg http://127.0.0.1:6346/"),
        ("servent share pub --tls-self-made", "-k https://127.0.0.1:6346/"),
        (secret, "-k -u 'ann:nobody knows' https://127.0.0.1:6346/"),
    ] {
        let line = stage.says(line);
        let share = stage.here.starts(&line, "hashed");
        stage.here.does(&format!("curl -sf {curl}"));
        stop(share);
    }
    assert!(stage.here.does("cat access.log").contains("\"GET / HTTP/1.1\" 200"));
    assert!(stage.here.file("inbox/song.ogg").exists());
}

fn rooms(stage: &mut Stage) {
    for line in [
        "servent room ~/Music",
        "servent room ~/Music --slots 1",
        "servent room ~/Music --code --names typed",
        "servent room ~/Music --record room.sqlog",
        "servent room ~/Music --allow-origin https://room.example.org",
    ] {
        let line = stage.says(line);
        stop(stage.here.starts(&line, "hashed"));
    }
    let line = stage.says("servent room --check");
    stop(stage.here.starts(&line, "two devices"));
    assert!(stage.does("servent room replay room.sqlog").contains("verified"));
    let told = stage.does("servent room export room.sqlog shown.sqlog");
    assert!(told.contains("under other names, all verified"), "{told}");
    let line = stage.says("servent room replay room.sqlog --lab");
    stop(stage.here.starts(&line, "lab http://"));
}

fn demos(stage: &mut Stage) {
    for line in ["servent demo", "servent demo --open", "servent demo --keep /tmp/demo"] {
        let line = stage.says(line);
        stop(stage.here.starts(&line, "http://127.0.0.1:6380/"));
    }
    assert!(stage.here.file("opened").exists() && stage.here.file("tmp/demo").exists());
    // The same for a shorter time.
    let line = stage.says("servent demo --seconds 30 --json").replace("30", "2");
    let told = stage.here.does(&line);
    assert!(told.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
}
