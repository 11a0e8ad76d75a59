//! What docs/site.md shows works as it is shown.

use std::process::Command;

use crate::members::Site;

/// The blocks of one language in the document.
fn blocks(language: &str) -> Vec<String> {
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
fn st_6_the_proxy_of_the_document_understands_its_configuration() {
    let Some(proxy) = ["/usr/sbin/haproxy", "/usr/bin/haproxy"]
        .into_iter()
        .find(|path| std::path::Path::new(path).is_file())
    else {
        println!("left out: HAProxy is not installed (`sudo apt-get install haproxy`)");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("haproxy.cfg");
    std::fs::write(&file, &blocks("haproxy")[0]).unwrap();
    let checked = Command::new(proxy).args(["-c", "-f"]).arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert!(checked.status.success() && !said.contains("WARNING"), "{said}");
}

#[test]
fn st_6_the_settings_of_the_document_are_settings() {
    let Some(site) = Site::new() else { return };
    std::fs::write(site.place.path("config.toml"), &blocks("toml")[0]).unwrap();
    let output = site.place.run(&["config", "--config", "config.toml", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("postgres://archive@db.example.org/archive"), "{said}");
}
