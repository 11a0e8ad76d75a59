//! Commands that ask a running servent, with its lab switched off.

use serde_json::Value;

use crate::program::{Place, Running, Wire, complains, until};

fn status(place: &Place) -> Option<Value> {
    let output = place.run(&["status", "--state", "state", "--json"]);
    output.status.success().then(|| serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn the_status_shows_a_servent_without_its_lab_and_the_downloads_beside_it() {
    let place = Place::new();
    place.share("film", 3_000_000);
    let mut running = place.sharing(&["--lab", "off", "--set", "upload_rate=100000"]);
    let servents = status(&place).unwrap()["servents"].as_array().unwrap().len();
    assert_eq!(servents, 1);

    let url = format!("http://{}/get/0/film", running.at);
    let get = ["get", &url, "-o", "film", "--state", "state", "--json"];
    let mut download = Running::start(place.servent(&get));
    download.line(|line| line.contains("\"receiving\""));
    let shown = status(&place).unwrap();
    let fetch = &shown["servents"][1]["view"]["fetches"][0];
    assert_eq!((fetch["name"].as_str(), fetch["size"].as_u64()), (Some("film"), Some(3_000_000)));
    let text = String::from_utf8(place.run(&["status", "--state", "state"]).stdout).unwrap();
    assert!(text.contains(&format!("get, process {}", download.pid())), "{text}");
    assert!(text.contains("down  film"), "{text}");

    // A download can be looked at without any `share`.
    running.signal("INT");
    running.ended();
    assert_eq!(status(&place).unwrap()["servents"][0]["name"], "get");
    download.kill();
    complains(&place.run(&["status", "--state", "state"]), 7, "no servent runs");
}

#[test]
fn new_files_are_there_at_once_after_a_rescan() {
    let place = Place::new();
    place.share("old", 1_000);
    complains(&place.run(&["rescan", "--state", "state"]), 7, "no servent runs");
    let running = place.sharing(&["--lab", "off"]);
    std::fs::write(place.path("shared/new"), "la").unwrap();
    assert!(place.run(&["rescan", "--state", "state"]).status.success());
    until("the new file is listed", || {
        let page = Wire::connect(running.at).get("/shared/", &[]);
        String::from_utf8_lossy(&page.body).contains("new")
    });
}
