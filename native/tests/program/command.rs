//! The program as a user calls it: help, configuration, completions, and
//! what it says when it is called wrongly.

use crate::program;

use program::{Place, complains};
use serde_json::Value;

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn every_command_explains_itself_with_examples() {
    let place = Place::new();
    let help = text(&place.run(&["--help"]).stdout);
    assert!(help.contains("Exit codes:"), "{help}");
    for command in [
        "share", "get", "send", "receive", "status", "sim", "replay", "trace", "lab", "demo",
        "config",
    ] {
        assert!(help.contains(&format!("  {command}")), "{command} is not in the help");
        let output = place.run(&[command, "--help"]);
        assert!(output.status.success());
        assert!(text(&output.stdout).contains("Examples:"), "{command}");
    }
}

#[test]
fn the_effective_configuration_names_every_origin() {
    let place = Place::new();
    std::fs::write(place.path("c.toml"), "[queue]\nslots = 3\nper_ip = 7\n").unwrap();
    let mut command =
        place.servent(&["config", "--json", "--config", "c.toml", "--set", "queue.calls=5"]);
    let output = command.env("SERVENT_QUEUE_PER_IP", "9").output().unwrap();
    let config: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of = |key: &str| {
        (config[key]["value"].clone(), text(config[key]["origin"].as_str().unwrap().as_bytes()))
    };
    assert_eq!(of("queue.slots"), (Value::from(3), "c.toml:2".into()));
    assert_eq!(of("queue.per_ip"), (Value::from(9), "SERVENT_QUEUE_PER_IP".into()));
    assert_eq!(of("queue.calls"), (Value::from(5), "--set queue.calls".into()));
    assert_eq!(of("queue.remanence"), (Value::from("300s"), "default".into()));
}

#[test]
fn a_failure_is_an_event_with_its_kind_and_status() {
    let place = Place::new();
    place.share("song", 10);
    let running = place.sharing(&["--lab", "off"]);
    let url = format!("http://{}/get/77/missing", running.at);
    let output = place.run(&["get", &url, "-o", "x", "--state", "get", "--json"]);
    assert_eq!(output.status.code(), Some(9));
    let said = text(&output.stdout);
    let last: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!((&last["event"], &last["kind"]), (&"failed".into(), &"refused".into()), "{said}");
    assert_eq!((&last["exit"], &last["status"]), (&9.into(), &404.into()), "{said}");
    let none = place.run(&["status", "--state", "none", "--json"]);
    let failed: Value = serde_json::from_slice(&none.stdout).unwrap();
    assert_eq!((&failed["kind"], &failed["exit"]), (&"running".into(), &7.into()));
    let wrong = place.run(&["get", "--json", "--nonsense"]);
    let failed: Value = serde_json::from_slice(&wrong.stdout).unwrap();
    assert_eq!(failed["kind"], "usage");
    assert!(place.run(&["status", "--state", "none"]).stdout.is_empty());
}

/// As a service manager sets a variable that has no value.
#[test]
fn a_configuration_that_is_named_by_nothing_is_not_named() {
    let place = Place::new();
    let origin = |variable: &str, more: &[&str]| {
        let mut command = place.servent(&[&["config", "--json"], more].concat());
        let output = command.env("SERVENT_CONFIG", variable).output().unwrap();
        let config: Value = serde_json::from_slice(&output.stdout).ok()?;
        Some(config["queue.slots"]["origin"].as_str()?.to_owned())
    };
    std::fs::write(place.path("c.toml"), "[queue]\nslots = 3\n").unwrap();
    assert_eq!(origin("", &[]).unwrap(), "default");
    assert_eq!(origin("c.toml", &[]).unwrap(), "c.toml:2");
    assert_eq!(origin("", &["--config", "c.toml"]).unwrap(), "c.toml:2");
    assert_eq!(origin("", &["--config", ""]), None, "a flag without its value is a mistake");
    let output = place.run(&["share", "--set", "limit_rate=5"]);
    complains(&output, 2, "unknown key `limit_rate`; did you mean `upload_rate`?");
}

#[test]
fn a_malformed_configuration_names_file_line_and_key() {
    let place = Place::new();
    for (body, part) in [
        (
            "[queue]\nslotz = 2\n",
            "c.toml:2: unknown key `queue.slotz`; did you mean `queue.slots`?",
        ),
        ("agent = 'x'\n[queue]\nslots = 'two'\n", "c.toml:3: `queue.slots` is a whole number"),
        ("\n\nlisten = [\n", "c.toml:3"),
        (
            "[limits]\nidle_deadline = 'soon'\n",
            "c.toml:2: `limits.idle_deadline` is a length of time",
        ),
        ("listen = ['nowhere']\n", "c.toml:1: `listen`"),
    ] {
        std::fs::write(place.path("c.toml"), body).unwrap();
        complains(&place.run(&["config", "--config", "c.toml"]), 2, part);
    }
    complains(&place.run(&["config", "--config", "missing.toml"]), 4, "missing.toml");
    let output = place.servent(&["config"]).env("SERVENT_QUEUE_SLOTS", "many").output().unwrap();
    complains(&output, 2, "SERVENT_QUEUE_SLOTS");
}

#[test]
fn what_config_prints_is_a_configuration_file() {
    let place = Place::new();
    let first = place.run(&["config", "--set", "queue.remanence=90s"]).stdout;
    let plain: String = text(&first)
        .lines()
        .map(|l| format!("{}\n", l.split("  #").next().unwrap().trim_end()))
        .collect();
    std::fs::write(place.path("again.toml"), &first).unwrap();
    let again = text(&place.run(&["config", "--config", "again.toml"]).stdout);
    let again: String = again
        .lines()
        .map(|l| format!("{}\n", l.split(" # again.toml").next().unwrap().trim_end()))
        .collect();
    assert_eq!(plain, again);
}

#[test]
fn completions_and_manual_pages_are_complete() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = text(&place.run(&["completions", shell]).stdout);
        assert!(script.contains("servent") && script.contains("replay"), "{shell}");
    }
    assert!(text(&place.run(&["man"]).stdout).starts_with(".ie"));
    assert!(place.run(&["man", "--dir", "man"]).status.success());
    let page = std::fs::read_to_string(place.path("man/servent-share.1")).unwrap();
    for inner in ["servent-swarm-get.1", "servent-swarm-serve.1", "servent-trace-export.1"] {
        assert!(place.path("man").join(inner).exists(), "{inner}");
    }
    assert!(page.contains("servent\\-share") || page.contains("servent-share"), "{page}");
}

#[test]
fn wrong_calls_say_what_would_be_right() {
    let place = Place::new();
    complains(&place.run(&["share"]), 2, "nothing to share");
    complains(&place.run(&["share", "/"]), 2, "/ holds more than one shares");
    complains(&place.run(&["add", "."]), 2, "holds more than one shares");
    let urn = "urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB";
    complains(&place.run(&["get", urn]), 2, "no peer of the overlay is known yet");
    complains(&place.run(&["get", "ftp://host/file"]), 2, "ftp://host/file");
    complains(&place.run(&["config", "--set", "queue.slots"]), 2, "KEY=VALUE");
    complains(&place.run(&["status"]), 7, "no servent runs");
    std::fs::write(place.path("binary"), [0xff, 0xfe, 0]).unwrap();
    complains(&place.run(&["sim", "./binary"]), 8, "not a scenario");
    complains(&place.run(&["lab", "missing.sqlog"]), 4, "cannot read missing.sqlog");
    complains(&place.run(&["swarm", "serve", "missing"]), 4, "missing: no such file");
    for wrong in ["7000", "localhost:7000", ":x"] {
        for command in ["share", "receive", "lab", "get"] {
            let output = place.run(&[command, "--listen", wrong]);
            assert_eq!(output.status.code(), Some(2), "{command} {wrong}");
            assert!(text(&output.stderr).contains("127.0.0.1:7000, or :7000"), "{command}");
        }
    }
    assert_eq!(place.run(&["dance"]).status.code(), Some(2));
}

#[test]
fn the_service_starts_as_its_unit_says() {
    let place = Place::new();
    place.share("song", 1_000);
    let here = |text: &str| {
        let places = [
            ("/etc/servent/config.toml", "config.toml"),
            ("/var/lib/servent", "state"),
            ("/srv/servent", "shared"),
        ];
        places.iter().fold(text.to_owned(), |text, (there, here)| {
            text.replace(there, place.path(here).to_str().unwrap())
        })
    };
    let config = here(include_str!("../../packaging/config.toml"));
    std::fs::write(place.path("config.toml"), config).unwrap();
    let unit = here(include_str!("../../packaging/servent.service"));
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/servent "));
    let mut arguments: Vec<&str> = start.unwrap().split(' ').collect();
    arguments.extend(["--listen", "127.0.0.1:0", "--json"]);
    let mut running = program::Running::start(place.servent(&arguments));
    running.event("listening");
    assert_eq!(running.event("hashed")["files"], 1);
    running.signal("TERM");
    assert!(running.ended().success());
}
