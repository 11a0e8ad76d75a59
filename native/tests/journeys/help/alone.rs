//! What needs no peer.

use super::{ALONE, Stage};
use crate::machines::{World, stop};

/// What would take minutes here is executed with smaller numbers.
const LESS: [(&str, &str); 4] = [
    ("--sweep 10000", "--sweep 80"),
    ("--sweep 1000", "--sweep 20"),
    ("--sweep 100", "--sweep 2"),
    ("--seeds 1000", "--seeds 30"),
];

#[test]
fn examples_of_commands_that_need_no_peer() {
    let Some(world) = World::new() else { return };
    let mut stage = Stage::new(&world, &ALONE);
    simulated(&mut stage);
    lessons(&mut stage);
    stage.here.has("pub/song.ogg", 1_000);
    let share = stage.here.starts("servent share pub --trace run.sqlog", "hashed");
    stage.here.does("curl -sf http://127.0.0.1:6346/");
    stop(share);
    traces(&mut stage);
    settings(&mut stage);
    installed(&mut stage);
    stage.examples.end();
}

fn shortened(stage: &mut Stage, line: &str) -> String {
    let mut line = stage.says(line);
    for (long, short) in LESS {
        line = line.replace(long, short);
    }
    stage.here.does(&line)
}

fn simulated(stage: &mut Stage) {
    assert!(stage.does("servent sim").contains("rush-hour"));
    for line in [
        "servent sim rush-hour",
        "servent sim lose-last",
        "servent sim flooder",
        "servent sim deadlock",
        "servent sim deadlock --policy adaptive",
        "servent sim two-doors",
    ] {
        assert!(stage.does(line).contains("oracles silent"), "{line}");
    }
    let told = stage.does("servent sim rush-hour --seed 7 --json");
    assert!(told.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    for line in [
        "servent sim rush-hour --sweep 100",
        "servent sim random-unicast --sweep 100",
        "servent sim random-routing --sweep 100",
        "servent sim random-swarm --sweep 1000 --summary",
        "servent sim random-meet --sweep 100",
        "servent sim random-queue --sweep 10000 --shard 2/8 --json",
        "servent sim random-queue --sweep 10000 --shard 1/4 --json > 1.jsonl",
    ] {
        shortened(stage, line);
    }
    for part in 2..=4 {
        let part = format!("--shard {part}/4 --json > {part}.jsonl");
        stage.here.does(&format!("servent sim random-queue --sweep 80 {part}"));
    }
    let joined = stage.does("servent sim merge 1.jsonl 2.jsonl 3.jsonl 4.jsonl");
    assert_eq!(joined, stage.does("servent sim merge *.jsonl"));
    for line in
        ["servent sim all-of-two-messages --explore", "servent sim lose-last --explore --losses 2"]
    {
        stage.does(line);
    }
    stage.does("servent sim flooder --show > mine.json");
    stage.does("servent sim mine.json");
}

fn lessons(stage: &mut Stage) {
    assert!(stage.does("servent lesson list").contains("cut-the-wire"));
    stage.does("servent lesson show cut-the-wire > mine.toml");
    stage.does("servent lesson events mine.toml");
    let lost = stage.does("servent lesson events mine.toml --step 6 --seed 9 | grep queue.lost");
    assert!(lost.contains("queue.lost"));
    // Hundreds of seeds are minutes on a busy machine.
    let check = stage.says("servent lesson check mine.toml");
    stage.here.does(&format!("{check} --seeds 30"));
    shortened(stage, "servent lesson check mine.toml --seeds 1000");
    let check = stage.says("servent lesson check cut-the-wire");
    stage.here.does(&format!("{check} --seeds 30"));
    for line in
        ["servent lesson pack mine.toml", "servent lesson pack cut-the-wire --out week-3.zip"]
    {
        // Continuous integration may build the program before the page.
        let line = stage.says(line);
        stage.here.does(&format!("{line} 2> why || grep -q 'page is not in this program' why"));
    }
}

fn traces(stage: &mut Stage) {
    stage.does("servent trace export run.sqlog --pcapng -o run.pcapng");
    let captured = std::fs::read(stage.here.file("run.pcapng")).unwrap();
    stage.does("servent trace export run.sqlog --pcapng | wireshark -k -i -");
    assert_eq!(std::fs::read(stage.here.file("captured")).unwrap(), captured);
    if std::path::Path::new("/usr/bin/tshark").exists() {
        stage.does("tshark -r run.pcapng -Y http -V | less");
    } else {
        stage.says("tshark -r run.pcapng -Y http -V | less");
    }
    let www = concat!(env!("CARGO_MANIFEST_DIR"), "/../www");
    std::os::unix::fs::symlink(www, stage.here.file("www")).unwrap();
    for line in [
        "servent lab --open",
        "servent lab run.sqlog --listen 127.0.0.1:8000",
        "servent lab --www www",
    ] {
        let line = stage.says(line);
        stop(stage.here.starts(&line, "lab http://"));
    }
    assert!(std::fs::metadata(stage.here.file("opened")).is_ok());
}

fn settings(stage: &mut Stage) {
    stage.does("servent config > mine.toml");
    stage.here.does("servent config --config mine.toml");
    stage.does("servent config --explain | less");
    let differs = stage.does("SERVENT_QUEUE_SLOTS=2 servent config | grep '#'");
    assert!(differs.contains("SERVENT_QUEUE_SLOTS"), "{differs}");
    assert!(stage.does("servent config --json --set queue.per_ip=4").contains("per_ip"));
    stage.does("servent config set queue.slots 8");
    stage.does("servent config set share ~/Music,~/Films");
    stage.does("servent config set listen :7000 --config mine.toml");
    assert!(stage.here.does("servent config | grep 'slots = 8'").contains("config.toml"));
}

fn installed(stage: &mut Stage) {
    for folder in ["bash-completion/completions", "man/man1"] {
        stage.here.does(&format!("mkdir -p ~/.local/share/{folder} ~/.zfunc"));
    }
    stage.here.does("mkdir -p ~/.config/fish/completions");
    stage.all(&[
        "servent completions bash > ~/.local/share/bash-completion/completions/servent",
        "servent completions zsh > ~/.zfunc/_servent",
        "servent completions fish > ~/.config/fish/completions/servent.fish",
        "servent man --dir ~/.local/share/man/man1",
    ]);
    if std::path::Path::new("/usr/bin/man").exists() {
        assert!(stage.does("servent man | man -l -").contains("servent"));
    } else {
        stage.says("servent man | man -l -");
    }
}
