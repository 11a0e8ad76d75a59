//! What a servent does not use: one sentence, and nothing is touched.

use crate::members::Site;
use crate::program::complains;

#[test]
fn st_1_a_site_that_cannot_be_used_is_said_in_one_sentence() {
    let Some(site) = Site::new() else { return };
    let one = site.member("one");
    let at = one.at.to_string();
    let run = |store: &str, secret: &str| {
        let mut arguments = vec!["share", "shared", "--state", "state", "--lab", "off"];
        arguments.extend(["--listen", &at, "--store", store, "--set", secret]);
        site.place.run(&arguments)
    };
    let file = "store_password_file=secret";
    complains(&run("mysql://db/x", file), 2, "postgres://");
    complains(&run("postgres://a:b@db/x", file), 2, "store_password_file");
    complains(&run("postgres://servent@127.0.0.1:1/x", file), 3, "cannot be used");
    std::fs::write(site.place.path("wrong"), "wrong\n").unwrap();
    let refused = run(&site.url, "store_password_file=wrong");
    complains(&refused, 3, "does not let us in");
    assert!(!String::from_utf8_lossy(&refused.stderr).contains(crate::postgres::PASSWORD));
    complains(&run(&site.url, "store_password_file=none"), 3, "does not let us in (none cannot");
    complains(&site.ask_status(&[]), 2, "no site is in");
    site.server.sql(&site.url, "CREATE SCHEMA servent; CREATE TABLE servent.mine (n int)");
    complains(&run(&site.url, file), 8, "no servent's");
    site.server.sql(&site.url, "DROP SCHEMA servent CASCADE");
    let leading = site.leads(&one);
    leading.signal("INT");
    assert!(leading.end().success());
    for more in [&[][..], &["--divide"]] {
        let mut arguments = vec!["swarm", "serve", "shared/file", "--state", "swarm"];
        arguments.extend(["--listen", &at, "--store", &site.url, "--set", file]);
        arguments.extend(more);
        complains(&site.place.run(&arguments), 2, "serves files: name another database for swarms");
    }
    site.server.sql(&site.url, "UPDATE servent.meta SET value = '99' WHERE key = 'schema'");
    complains(&run(&site.url, file), 8, "use the newer program");
}
