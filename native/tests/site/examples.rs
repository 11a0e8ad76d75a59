//! What the help shows about sites, executed.

use crate::members::Site;
use crate::program::examples::Examples;
use crate::program::{Running, noise, until};

#[test]
fn st_6_the_examples_of_the_help_work() {
    let Some(site) = Site::new() else { return };
    let of_a_site = |line: &str| line.contains("postgres://") || line.contains("servent site");
    let mut examples = Examples::collect(&["share", "swarm", "site"], of_a_site);
    let url = format!("{} --set store_password_file=secret", site.url);
    let film = format!("{} --set store_password_file=secret", site.server.database());
    let many = format!("{} --set store_password_file=secret", site.server.database());
    let mut words = |line: &str| {
        let line = examples.says(line).replace("postgres://servent@db/site", &url);
        let line = line.replace("postgres://servent@db/film", &film);
        let line = line.replace("postgres://servent@db/many", &many);
        line.split(' ').skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let starts = |line: Vec<String>, until: &str| {
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let mut running = Running::start(site.place.servent(&line));
        running.line(|line| line.contains(until));
        running
    };
    let does = |line: Vec<String>| {
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let output = site.place.run(&line);
        assert!(output.status.success(), "{line:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    std::fs::create_dir(site.place.path("pub")).unwrap();
    for file in ["pub/song.ogg", "film.mkv"] {
        std::fs::write(site.place.path(file), noise(10_000)).unwrap();
    }
    let mut share = words("servent share pub --store postgres://servent@db/site");
    // Other tests use the usual ports, too.
    share.extend(["--listen", "127.0.0.1:0", "--lab", "off"].map(str::to_owned));
    let share = starts(share, "hashed");
    let line = "servent site status --store postgres://servent@db/site --json";
    let status = words(line);
    assert!(does(status.clone()).contains("\"leads\":true"));
    for (key, value) in [("store", &site.url[..]), ("store_password_file", "secret")] {
        does(["config", "set", key, value].map(str::to_owned).to_vec());
    }
    assert!(does(words("servent site status")).contains("leads"));
    share.signal("INT");
    assert!(share.end().success());
    let line =
        "servent share pub --store postgres://servent@db/site --divide --listen 10.0.0.7:6346";
    let mut share = words(line);
    let at = share.iter_mut().find(|word| word.starts_with("10.")).unwrap();
    "127.0.0.1:0".clone_into(at);
    share.extend(["--lab", "off"].map(str::to_owned));
    let share = starts(share, "hashed");
    until("it has all parts", || does(status.clone()).contains("\"parts\":64"));
    drop(share);
    let serve = "servent swarm serve film.mkv --store postgres://servent@db/film";
    let mut serve = words(serve);
    serve.extend(["--listen", "127.0.0.1:0"].map(str::to_owned));
    drop(starts(serve, "pdtp://"));
    for name in ["a", "b"] {
        std::fs::write(site.place.path(name), noise(10_000)).unwrap();
    }
    let line = "servent swarm serve a b --store postgres://servent@db/many --divide --listen 10.0.0.7:6086";
    let mut serve = words(line);
    let at = serve.iter_mut().find(|word| word.starts_with("10.")).unwrap();
    "127.0.0.1:0".clone_into(at);
    drop(starts(serve, "pdtp://"));
    examples.end();
}
