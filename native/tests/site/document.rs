//! What docs/site.md shows works as it is shown.

use std::process::Command;

use crate::members::Site;
use crate::program::{Running, noise};

/// The blocks of one language in the document.
pub(crate) fn blocks(language: &str) -> Vec<String> {
    let text = include_str!("../../../docs/site.md");
    let begin = format!("```{language}\n");
    let parts = text.split(&begin).skip(1);
    parts.map(|part| part.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn st_6_the_database_of_the_document_can_be_used_saved_and_brought_back() {
    let Some(mut site) = Site::new() else { return };
    for sql in blocks("sql").iter().flat_map(|block| block.split_inclusive(";\n")) {
        site.server.sql("postgres", sql);
    }
    let port = site.server.port;
    std::fs::write(site.place.path("secret"), "a long random word\n").unwrap();
    site.url = format!("postgres://archive@127.0.0.1:{port}/archive");
    let one = site.member("one");
    let leading = site.leads(&one);
    let _holder = one.occupy();
    let told = one.place(None, &[]);
    for line in blocks("sh")[0].lines() {
        let words = line.strip_prefix("servent ").unwrap().split(' ');
        let mut arguments: Vec<&str> = words.collect();
        arguments.extend(["--set", "store_password_file=secret", "--store", &site.url]);
        let output = site.place.run(&arguments);
        assert!(output.status.success(), "{line}: {output:?}");
    }
    leading.kill();
    let backup = &blocks("sh")[1];
    let mut lines = backup.lines();
    let run = |line: &str| {
        let done = Command::new("sh")
            .args(["-c", line])
            .current_dir(site.place.dir.path())
            .env("PGHOST", "127.0.0.1")
            .env("PGPORT", port.to_string())
            .env("PGUSER", "archive")
            .env("PGPASSWORD", "a long random word")
            .output()
            .unwrap();
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    };
    run(lines.next().unwrap());
    site.server.sql("archive", "DROP SCHEMA servent CASCADE");
    run(lines.next().unwrap());
    let two = site.member("two");
    let _again = site.leads(&two);
    assert_eq!(two.place(Some(&told), &[]).key(), told.key());
}

#[test]
fn st_6_the_coordinator_of_the_document_divides_its_swarms() {
    let Some(site) = Site::new() else { return };
    for file in ["film.mkv", "talk.mkv"] {
        std::fs::write(site.place.path(file), noise(10_000)).unwrap();
    }
    let line = blocks("sh")[2].replace("postgres://archive@db/swarms", &site.url);
    let line = line.replace("192.0.2.1:6086", "127.0.0.1:0");
    let words = line.trim().strip_prefix("servent ").unwrap().split(' ');
    let mut arguments: Vec<&str> = words.collect();
    arguments.extend(["--set", "store_password_file=secret"]);
    let mut serving = Running::start(site.place.servent(&arguments));
    serving.line(|line| line.contains("talk.mkv"));
}

#[test]
fn st_6_the_proxy_of_the_document_understands_its_configuration() {
    let Some(proxy) = crate::proxy::installed() else { return };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("haproxy.cfg");
    std::fs::write(&file, &blocks("haproxy")[0]).unwrap();
    let checked = Command::new(proxy).args(["-c", "-f"]).arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert!(checked.status.success() && !said.contains("WARNING"), "{said}");
}

/// The unit of the package together with the lines that a site adds to it.
#[test]
fn st_6_the_unit_of_the_document_is_one() {
    let unit = include_str!("../../packaging/servent.service");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("servent.service");
    let program = env!("CARGO_BIN_EXE_servent");
    let unit = unit.lines().map(|line| match line.strip_prefix("ExecStart=") {
        Some(command) => {
            let rest = command.split_once(' ').map_or("", |(_, rest)| rest);
            format!("ExecStart={program} {rest}\n")
        }
        None => format!("{line}\n"),
    });
    std::fs::write(&file, unit.collect::<String>()).unwrap();
    let added = dir.path().join("servent.service.d");
    std::fs::create_dir(&added).unwrap();
    std::fs::write(added.join("site.conf"), &blocks("ini")[0]).unwrap();
    let checked = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&file).output();
    let Ok(checked) = checked else {
        println!("left out: systemd-analyze is not installed (`sudo apt-get install systemd`)");
        return;
    };
    let said = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert!(checked.status.success(), "{said}");
    // A leader that was replaced ends with 7 and is to come back; one that finds a
    // newer program's tables ends with 8 and is not.
    let (mut never, key) = (Vec::new(), "RestartPreventExitStatus=");
    let both = format!("{}\n{}", include_str!("../../packaging/servent.service"), blocks("ini")[0]);
    for list in both.lines().filter_map(|line| line.strip_prefix(key)) {
        match list {
            "" => never.clear(),
            list => never.extend(list.split(' ').map(str::to_owned)),
        }
    }
    assert!(!never.contains(&"7".to_owned()) && never.contains(&"8".to_owned()), "{never:?}");
    let ours = said.lines().filter(|line| line.contains("servent.service"));
    assert_eq!(ours.collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn st_6_the_settings_of_the_document_are_settings() {
    let Some(site) = Site::new() else { return };
    for block in blocks("toml") {
        std::fs::write(site.place.path("config.toml"), &block).unwrap();
        let output = site.place.run(&["config", "--config", "config.toml", "--json"]);
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains("postgres://archive@db.example.org/archive"), "{said}");
    }
}
