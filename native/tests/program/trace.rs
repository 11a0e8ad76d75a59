//! A recorded run as a capture file, and simulated runs from the shell.

use crate::program;

use program::{Place, Wire, complains, lab_get, until};
use serde_json::Value;

/// A packet of a capture: interface, captured bytes, whole length, comment.
pub(crate) type Packet = (u32, Vec<u8>, u32, String);

/// The packets of a pcapng file.
pub(crate) fn packets(file: &[u8]) -> Vec<Packet> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let mut found = Vec::new();
    let mut at = 0;
    while at < file.len() {
        let length = word(at + 4) as usize;
        assert_eq!(word(at + length - 4) as usize, length, "block at {at}");
        if word(at) == 6 {
            let captured = word(at + 20) as usize;
            let bytes = file[at + 28..at + 28 + captured].to_vec();
            let options = at + 28 + captured.next_multiple_of(4);
            let comment = if options < at + length - 4 {
                assert_eq!(word(options) & 0xffff, 1);
                let size = (word(options) >> 16) as usize;
                String::from_utf8(file[options + 4..options + 4 + size].to_vec()).unwrap()
            } else {
                String::new()
            };
            found.push((word(at + 8), bytes, word(at + 24), comment));
        }
        at += length;
    }
    assert_eq!(at, file.len());
    found
}

#[test]
fn a_trace_becomes_a_capture_with_reasons() {
    let place = Place::new();
    place.share("file", 100_000);
    let mut running = place.sharing(&["--trace", "run.sqlog"]);
    let reply =
        Wire::connect(running.at).get("/get/0/file", &["X-Queue: 1.0", "Connection: close"]);
    assert_eq!(reply.body.len(), 100_000);
    // The servent hears of the last bytes a moment after we have them.
    until("the upload is told", || {
        let status = lab_get(running.lab.unwrap(), "/api/status").json();
        status["servents"][0]["counters"]["uploads_finished"] == 1
    });
    running.signal("INT");
    assert!(running.ended().success());
    let output = place.run(&["trace", "export", "run.sqlog", "--pcapng", "-o", "run.pcapng"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // What is there is not replaced.
    let again = place.run(&["trace", "export", "run.sqlog", "--pcapng", "-o", "run.sqlog"]);
    complains(&again, 4, "run.sqlog is there already");
    let packets = packets(&std::fs::read(place.path("run.pcapng")).unwrap());

    let has =
        |text: &str| packets.iter().any(|(_, b, ..)| String::from_utf8_lossy(b).contains(text));
    assert!(has("GET /get/0/file HTTP/1.1") && has("HTTP/1.1 200"));
    assert!(packets.iter().any(|(.., comment)| comment.contains("queue.started")));
    // Raw IPv4, our port where HTTP is expected, and every byte of the file accounted for.
    let mut file_bytes = 0;
    for (interface, bytes, whole, _) in &packets {
        assert_eq!((*interface, bytes[0]), (0, 0x45));
        let ports = [&bytes[20..22], &bytes[22..24]];
        assert!(ports.contains(&&8080u16.to_be_bytes()[..]));
        file_bytes += *whole as usize - bytes.len();
    }
    assert_eq!(file_bytes, 100_000);
    let syns = packets.iter().filter(|(_, b, ..)| b[33] == 0x02).count();
    assert_eq!(syns, 1);
}

#[test]
fn a_file_without_connections_is_no_capture() {
    let place = Place::new();
    std::fs::write(place.path("x.sqlog"), "hello").unwrap();
    complains(&place.run(&["trace", "export", "x.sqlog", "--pcapng"]), 8, "x.sqlog");
    complains(&place.run(&["trace", "export", "y.sqlog", "--pcapng"]), 4, "y.sqlog");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let place = Place::new();
    let run = |arguments: &[&str]| -> Value {
        let output = place.run(&[&["sim", "newcomer", "--json"], arguments].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let first = run(&["--seed", "7"]);
    assert_eq!(first, run(&["--seed", "7"]));
    assert_ne!(first["digest"], run(&["--seed", "8"])["digest"]);
    assert!(first["whole"].as_u64().unwrap() > 0, "{first}");
    assert_eq!(first["violations"], serde_json::json!([]));
}

#[test]
fn a_broken_rule_is_told_and_has_its_exit_code() {
    let place = Place::new();
    // Ten times its horizon is all the time a run gets to settle: 100 MB do
    // not come through in that, so a download is left undone.
    let scenario = r#"{"protocol":"queue","id":"hurry","horizon":1000000,
        "clients":[{"count":1,"size":100000000,"down":100000}]}"#;
    std::fs::write(place.path("hurry.json"), scenario).unwrap();
    assert!(place.run(&["sim", "hurry.json"]).status.success(), "safe as far as it came");
    complains(
        &place.run(&["sim", "hurry.json", "--settle"]),
        5,
        "a download never ended (rule finish",
    );
    let output = place.run(&["sim", "hurry.json", "--settle"]);
    let again = "next: see it again with: servent sim hurry.json --settle --seed 1";
    assert!(String::from_utf8_lossy(&output.stderr).contains(again));
}

#[test]
fn scenarios_are_listed_shown_swept_and_checked() {
    let place = Place::new();
    let text = |output: std::process::Output| String::from_utf8(output.stdout).unwrap();
    assert!(text(place.run(&["sim"])).contains("rush-hour"));
    let shown = text(place.run(&["sim", "impatient", "--show"]));
    std::fs::write(place.path("mine.json"), &shown).unwrap();
    let swept = place.run(&["sim", "mine.json", "--sweep", "2"]);
    assert!(swept.status.success());
    assert_eq!(text(swept).lines().count(), 2);
    let told = text(place.run(&["sim", "lose-last", "--settle"]));
    assert!(told.contains("9 of 9 messages read, 0 named as undelivered, 1 datagram lost"));
    let drawn = text(place.run(&["sim", "random-unicast", "--sweep", "3", "--json"]));
    assert_eq!(drawn.matches(r#""violations":[]"#).count(), 3, "{drawn}");
    for name in [
        "random-queue",
        "random-restarts",
        "random-site",
        "random-divided",
        "random-routing",
        "random-swarm",
    ] {
        let again = format!("servent sim {name} --seed 2: ");
        let summary = text(place.run(&["sim", name, "--sweep", "3", "--summary"]));
        assert!(
            summary.starts_with("3 runs, 0 broke a rule\n") && summary.contains(&again),
            "{name}: {summary}"
        );
    }
    let flood = text(place.run(&["sim", "cycles"]));
    let sums = "1 answer home; 86 messages, 36 useful, 50 duplicate, 0 dropped";
    assert!(flood.contains(sums), "{flood}");
    std::fs::write(place.path("two.json"), text(place.run(&["sim", "twins", "--show"]))).unwrap();
    let twins = text(place.run(&["sim", "two.json", "--json"]));
    let twins: Value = serde_json::from_str(&twins).unwrap();
    assert_eq!((&twins["searches"], &twins["answers"]), (&1.into(), &2.into()), "{twins}");
    let drawn = text(place.run(&["sim", "random-routing", "--sweep", "3", "--json"]));
    assert_eq!(drawn.matches(r#""violations":[]"#).count(), 3, "{drawn}");
    complains(&place.run(&["sim", "dance"]), 2, "no preset dance");
    std::fs::write(place.path("broken.json"), "{\n \"seed\": }").unwrap();
    complains(&place.run(&["sim", "broken.json"]), 8, "line 2");
    std::fs::write(place.path("untold.json"), r#"{"nodes": []}"#).unwrap();
    complains(&place.run(&["sim", "untold.json"]), 8, "does not name its protocol");
    // The example runs as any other, and is in no list.
    let echo = text(place.run(&["sim", "echo-again", "--settle"]));
    assert!(echo.contains("3 of 3 questions answered, 1 asked again"), "{echo}");
    let drawn = text(place.run(&["sim", "random-echo", "--sweep", "20", "--summary"]));
    assert!(drawn.starts_with("20 runs, 0 broke a rule"), "{drawn}");
    assert!(!text(place.run(&["sim"])).contains("echo"));
}

#[test]
fn links_of_the_overlay_are_dissected_as_what_they_are() {
    let place = Place::new();
    place.share("a rare song.ogg", 1_000);
    let sharing = place.sharing(&[]);
    let peer = sharing.at.to_string();
    // Deflated, as links are.
    let search = ["search", "rare", "--peer", &peer, "--wait", "4", "--trace", "run.sqlog"];
    let found = place.run(&search);
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    let output = place.run(&["trace", "export", "run.sqlog", "--pcapng", "-o", "run.pcapng"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let packets = packets(&std::fs::read(place.path("run.pcapng")).unwrap());
    let tcp = packets.iter().filter(|(_, bytes, ..)| bytes[9] == 6);
    let to_port =
        |bytes: &[u8]| [&bytes[20..22], &bytes[22..24]].contains(&&6346_u16.to_be_bytes()[..]);
    assert!(tcp.clone().count() > 3 && tcp.clone().all(|(_, bytes, ..)| to_port(bytes)));
    let hit = tcp.filter(|(_, bytes, ..)| String::from_utf8_lossy(bytes).contains("a rare song"));
    assert_eq!(hit.count(), 1, "the hit is shown unpacked");

    let read = |filter: &str| {
        let mut tshark = std::process::Command::new("tshark");
        tshark.arg("-r").arg(place.path("run.pcapng"));
        tshark.args(["-Y", filter, "-T", "fields", "-e", "gnutella.header.payload"]).output()
    };
    let Ok(out) = read("gnutella") else {
        eprintln!("skipped: tshark is not installed");
        return;
    };
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let kinds: Vec<&str> = text.split([',', '\n']).filter(|kind| !kind.is_empty()).collect();
    // Ping, query and query hit.
    for kind in ["0", "128", "129"] {
        assert!(kinds.contains(&kind), "no {kind} in {kinds:?}");
    }
    let malformed = read("gnutella && _ws.malformed").unwrap().stdout;
    assert_eq!(String::from_utf8_lossy(&malformed).trim(), "");
}
